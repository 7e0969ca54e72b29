# SPDX-License-Identifier: Apache-2.0
"""InfoTabS and its translations, XInfoTabS: statements about infoboxes of Wikipedia articles."""

import csv
import io
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Literal

from target_bench import CorpusInfo, CorpusLoader, DataError, Query, Release, Table, TableId
from target_bench.plugin_tools import decode

Language = Literal["en", "de", "fr", "es", "af", "ru", "zh", "ar", "ko", "hi"]

_LABELS = {"E": "True", "C": "False", "N": "Not Enough Information"}
_FILE_PARTS = {"validation": "dev"}
_TITLES = {
    *("title", "titel", "titre", "título", "titulo", "название", "титул", "标题", "標題", "名称"),
    *("عنوان", "العنوان", "الاسم", "제목", "타이틀", "शीर्षक"),
}
"""What the key of the title is called; infoboxes without any of these begin with it."""


class InfoTabS(CorpusLoader):
    """Statements that an infobox entails, contradicts, or says nothing of.

    An infobox is a table of one row: its keys are the header, the values of a key stand in one cell
    with commas between; the title is one of them. In other languages than English the corpus is
    called ``infotabs-de`` and so on.

    Args:
        language: of infoboxes and statements.
    """

    info = CorpusInfo(
        name="infotabs",
        title="InfoTabS",
        tasks=("retrieval", "fact_verification"),
        splits=("alpha1", "alpha2", "alpha3", "validation", "train"),
        licence="MIT (translations), Apache-2.0 (InfoTabS)",
        citation="Gupta et al., INFOTABS: Inference on Tables as Semi-structured Data, ACL 2020; "
        "Minhas et al., XInfoTabS, FEVER 2022",
        source="https://github.com/bvbbvb/XInfoTabS",
        files=("<language>.zip of data/<language>/, or that folder: tables and statements",),
    )
    folder = "xinfotabs"

    def __init__(self, language: Language = "en") -> None:
        self.language = language
        if language != "en":
            name, title = f"{self.info.name}-{language}", f"XInfoTabS ({language})"
            self.info = replace(type(self).info, name=name, title=title)

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield all infoboxes in the order of their files' names."""
        for place, name, content in self._files(release):
            if name.endswith(".json"):
                yield _table(_id(name), place, decode(content, place))

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the statements of the split; an id is the place in the file, from 0."""
        part = _FILE_PARTS.get(split, split)
        splits, there = [], set()
        for place, name, content in self._files(release):
            if name.endswith(".json"):
                there.add(_id(name))
            elif name.endswith((".tsv", ".csv")) and part in PurePosixPath(name).stem:
                splits.append((place, name, content))
        if len(splits) > 1:
            raise DataError(f"{splits[1][0]}: {splits[0][1]} is the same split; keep one of them")
        if not splits:
            release.require(f"data/{self.language}/*{part}*.tsv")
        place, name, content = splits[0]
        for number, (line, record) in enumerate(_records(place, name, decode(content, place))):
            yield _query(f"{place}, line {line}", str(number), record, there)

    def _files(self, release: Release) -> Iterator[tuple[str, str, bytes]]:
        return release.bundled(self.language, f"data/{self.language}")


def _id(name: str) -> str:
    """Return the id of the table in a file, as in ``de_T2.json``."""
    return PurePosixPath(name).stem.rpartition("_")[2]


def _records(place: str, name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, record) of the statements; one quote too many would join lines."""
    between = "\t" if name.endswith(".tsv") else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=between, strict=True)
    try:
        for record in reader:
            if "\n" in (record.get("hypothesis") or ""):
                raise DataError(
                    f"{place}, line {reader.line_num}: quotes join it with lines before it; double "
                    "the quotes inside of a statement, or remove them"
                )
            yield reader.line_num, record
    except csv.Error as error:
        raise DataError(
            f"{place}, after line {reader.line_num}: the quotes are wrong ({error}); put a field "
            "that holds quotes between quotes, and double those inside"
        ) from error


def _query(place: str, query_id: str, record: dict[str, Any], there: Collection[str]) -> Query:
    table = record.get("table_id", record.get("table_ids"))
    text, label = record.get("hypothesis"), record.get("label")
    if not table or text is None or label not in _LABELS:
        raise DataError(
            f"{place}: expected table_id, hypothesis and a label that is one of "
            f"{', '.join(_LABELS)}, found {dict(record)!r:.200}"
        )
    if table not in there:
        raise DataError(f"{place}: table_id {table!r} has no file among the {len(there)} infoboxes")
    return Query(query_id, text, (TableId("0", table),), _LABELS[label])


def _table(table_id: str, place: str, text: str) -> Table:
    """Return an infobox; a key that occurs twice is two columns, as it is in the article."""
    try:
        pairs = [(key, values) for key, values in json.loads(text, object_pairs_hook=list)]
    except (ValueError, TypeError) as error:
        raise DataError(f"{place}: {_EXPECTED}") from error
    cells = [(key, _cell(place, key, values)) for key, values in pairs]
    if not cells:
        raise DataError(f"{place}: the infobox is empty")
    header, row = [key for key, _ in cells], [value for _, value in cells]
    title = next((value for key, value in cells if key.lower() in _TITLES), row[0])
    return Table(TableId("0", table_id), header, [row], {"title": title})


_EXPECTED = "expected an object of keys with lists of texts"


def _cell(place: str, key: Any, values: Any) -> str:
    texts = [key, *values] if isinstance(values, list) else []
    if not texts or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{place}: {_EXPECTED}, but {key!r:.80} has {values!r:.80}")
    return ", ".join(value.strip() for value in values)
