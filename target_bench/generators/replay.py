"""Recorded answers of another system, from a predictions file."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.contract import Generator
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.files import parse_json
from target_bench.core.release import Release, field
from target_bench.core.schema import Generation, GenerationRequest, Query
from target_bench.core.text_tables import count_noun
from target_bench.core.unicode_text import compose

_SQL_FIELDS = ("SQL", "sql", "query")
_TEXT_FIELDS = ("text", "prediction", "pred", "answer", *_SQL_FIELDS)
_DATABASE_FIELDS = ("db_id", "database_id")
_ID_FIELDS = ("query_id", "question_id", "feta_id", "id")
_BIRD = "\t----- bird -----\t"
"""Separator of SQL and database in BIRD's predictions."""
_SPIDER = re.compile(r"(.*)\t([A-Za-z_][\w-]*)\s*\Z", re.DOTALL)
_SELECT = re.compile(r"[\s(]*(?:SELECT|WITH)\b", re.IGNORECASE)


@dataclass(eq=False, repr=False)
class Replay(Generator):
    """Read answers from a file, plain, gzipped or zipped.

    Needs: a file of answers.

    The file has one of these forms:

    - JSON lines or a JSON list of objects with ``query_id`` (or ``question_id``, ``feta_id``,
      ``id``) and ``text`` (or ``prediction``, ``pred``, ``answer``, ``SQL``, ``sql``, ``query``);
      SQL may have its ``db_id``. A run's ``generations.jsonl`` is such a file.
    - A JSON object of query id -> text, or one whose only value is such an object (OTT-QA).
    - A JSON object of position -> SQL, with or without its database (BIRD). Keys "0", "1" and so
      on, one a query, are positions, unless queries have these ids.
    - Plain text with one answer a line (FeTaQA's T5 predictions), or ``SQL<TAB>database`` (Spider).

    A record with an ``error``, or null, is not an answer; two answers to a query are refused.

    Args:
        file: the predictions.
        order: for a file without query ids (BIRD's predictions, one answer per line), a JSON list
            of the query ids in its order.

    Attributes:
        query_ids: the order of a file without query ids and without ``order``; the harness sets it.
        repeated: query id -> the id of the earlier query with the same id in its release; BIRD
            mini-dev has such. A file may answer that id as often, or once for all.
        in_corpus_order: whether answers without ids were read in the order of ``query_ids``.
        by_position: whether answers without ids were read, in any order.
    """

    file: str
    order: str | None = None

    def __post_init__(self) -> None:
        for name in (self.file, self.order):
            if name is not None and not Path(name).is_file():
                raise ConfigError(f"{name}: there is no such file")
        self.query_ids: Sequence[str] | None = None
        self.repeated: dict[str, str] = {}
        self._sampled = False
        self.in_corpus_order = False
        self.by_position = False

    def config(self) -> Mapping[str, Any]:
        """Return the hashes of the files, and of ``query_ids`` where they are the order."""
        names = [name for name in (self.file, self.order) if name]
        contents = [Path(name).read_bytes() for name in names]
        if self.order is None and self.query_ids is not None:
            contents.append(json.dumps(list(self.query_ids)).encode())
        return {"sha256": [hashlib.sha256(content).hexdigest() for content in contents]}

    def note_queries(self, queries: Sequence[Query], sampled: bool = False) -> None:
        """Find the queries that share an id in their release: ``7#2`` repeats ``7``.

        Args:
            queries: the queries of the run.
            sampled: whether the corpus has more, to which the file may have answers too.
        """
        self._sampled = sampled and all("index" in query.metadata for query in queries)
        self.repeated = {}
        for query in queries:
            first, _, index = query.id.rpartition("#")
            if first and index == str(query.metadata.get("index")):
                self.repeated[query.id] = first

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the recorded answer; a missing one is a failure."""
        return self.answer(request.query_id)

    def answer(self, query_id: str) -> Generation:
        """Return the recorded answer to a query, as ``generate`` does."""
        text = self.answers.get(query_id)
        if text is None:
            error = f"missing: no answer in {Path(self.file).name}"
            return Generation(query_id, "", error=error, cached=True)
        return Generation(query_id, text, cached=True)

    @cached_property
    def answers(self) -> dict[str, str]:
        """Query id -> answer.

        Raises:
            DataError: the file is damaged, empty, of an unknown form, of another length than its
                order, or answers a query twice.
        """
        path = Path(self.file)
        release = Release(path.parent, self.file)
        text = release.text(path)
        if not text:
            raise DataError(f"{path}: the file is empty")
        start = text.lstrip()[:1]
        if self.order is not None and not _is_json(text):
            start = ""  # one answer a line: the first one may begin with a bracket
        if start == "[":
            records = enumerate(release.json(path), start=1)
            return self._by_id(_read_record(f"{path}, record {n}", each) for n, each in records)
        if start == "{":
            return self._from_object(release, path, text)
        self.in_corpus_order = self.order is None
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        return self._in_order(path, "line", _convert_spider_lines(lines))

    def _from_object(self, release: Release, path: Path, text: str) -> dict[str, str]:
        """Read one JSON object, or one a line."""
        first = text.lstrip().partition("\n")[0]
        if _is_json(first) and text.strip() != first.strip():
            records = release.json_lines(path)
            return self._by_id(_read_record(location, record) for location, record in records)
        answers = release.json(path)
        if any(name in answers for name in _ID_FIELDS):
            return self._by_id([_read_record(str(path), answers)])
        values = list(answers.values())
        if len(values) == 1 and isinstance(values[0], dict):
            answers = values[0]
        texts = {
            compose(name): None if value is None else _text(value, f"{path}, {name}")
            for name, value in answers.items()
        }
        is_bird = any(_BIRD in (value or "") for value in texts.values())
        if is_bird and texts.keys() <= set(self.query_ids or ()) and not _are_positions(texts):
            is_bird = False  # BIRD's form of answers, but with ids in place of positions
        if not is_bird and not self._is_by_position(path, answers):
            return self._by_id(_Answer(str(path), *item) for item in texts.items())
        self.in_corpus_order = self.order is None and not is_bird
        positions = [str(position) for position in range(len(texts))]
        if missing := set(positions) - texts.keys():
            raise DataError(f"{path}: no answer at position {min(missing, key=int)!r}")
        return self._in_order(path, "answer", [texts[position] for position in positions])

    def _by_id(self, recorded: Iterable["_Answer"]) -> dict[str, str]:
        """Return query id -> answer.

        Raises:
            DataError: an id has more answers than queries.
        """
        queries: dict[str, list[str]] = {}  # id in the file -> the ids of its queries
        for query_id, first in self.repeated.items():
            queries.setdefault(first, [first]).append(query_id)
        answers: dict[str, str] = {}
        for answer in recorded:
            if answer.text is None:
                continue
            file_id = compose(answer.file_id)
            open_ids = [each for each in queries.get(file_id, [file_id]) if each not in answers]
            if not open_ids and self._sampled and file_id not in queries:
                continue  # to the other query of this id, which is not in the sample
            if not open_ids:
                raise DataError(f"{answer.location}: query {file_id!r} was answered before")
            answers[open_ids[0]] = answer.text
        for query_id, first in self.repeated.items():
            if first in answers:
                answers.setdefault(query_id, answers[first])
        return answers

    def _is_by_position(self, path: Path, answers: Mapping[str, Any]) -> bool:
        """Return whether the keys are positions rather than ids.

        Raises:
            DataError: they may be either.
        """
        if self.order is None and self.query_ids is None:
            return False
        if not _are_positions(answers):
            return False
        ids = self._read_order()
        if self.order is not None:
            return True
        if answers.keys() <= set(ids):
            return False
        if len(answers) == len(ids):
            return True
        raise DataError(
            f"{path}: its keys '0' to '{len(answers) - 1}' are not all query ids, and as positions "
            f"they cover {len(answers)} of {len(ids)} queries. Name the order of the answers with "
            "--order (order=FILE), a JSON list of query ids, or use their ids as keys"
        )

    def _in_order(self, path: Path, what: str, answers: Sequence[str | None]) -> dict[str, str]:
        ids = self._read_order()
        self.by_position = True
        if len(answers) != len(ids):
            hint = "; name their order with --order (order=FILE), a JSON list of query ids"
            expected = f"queries{hint}" if self.order is None else f"query ids in {self.order}"
            found = count_noun(len(answers), what)
            raise DataError(f"{path}: {found} for {len(ids)} {expected}")
        pairs = zip(ids, answers, strict=True)
        return {query_id: answer for query_id, answer in pairs if answer is not None}

    def _read_order(self) -> Sequence[str]:
        if self.order is None:
            if self.query_ids is None:
                raise DataError(
                    f"{self.file}: names no query ids; list them in JSON with --order (order=FILE)"
                )
            return self.query_ids
        path = Path(self.order)
        ids = Release(path.parent, self.order).json(path)
        if not isinstance(ids, list):
            raise DataError(f"{path}: expected a JSON list of query ids")
        order: dict[str, None] = {}
        for number, query_id in enumerate(ids, start=1):
            if type(query_id) not in (str, int) or str(query_id) in order:
                problem = f"{query_id!r:.80} is not a query id, or is a duplicate"
                raise DataError(f"{path}, entry {number}: {problem}")
            order[str(query_id)] = None
        return list(order)


class _Answer(NamedTuple):
    """A recorded answer."""

    location: str  # file and line, for messages
    file_id: str  # of the query in the file
    text: str | None  # None for an error, or null


def _convert_spider_lines(lines: list[str]) -> list[str]:
    """Bring lines of Spider's form (SQL, tab, database) into BIRD's; leave others as they are."""
    matches = [_SPIDER.match(line) for line in lines]
    n_selects = sum(_SELECT.match(line) is not None for line in lines)
    if not all(matches) or 2 * n_selects < len(lines):
        return lines
    return [f"{match[1]}{_BIRD}{match[2]}" for match in matches if match]


def _are_positions(names: Mapping[str, Any]) -> bool:
    return names.keys() == {str(position) for position in range(len(names))}


def _is_json(line: str) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def _read_record(location: str, record: Any) -> _Answer:
    fields = field({"record": record}, "record", dict, location)
    query_id = str(_find_field(fields, _ID_FIELDS, location))
    if fields.get("error") is not None:
        return _Answer(location, query_id, None)
    value = _find_field(fields, _TEXT_FIELDS, location)
    database = next((fields[name] for name in _DATABASE_FIELDS if name in fields), None)
    is_sql = any(name in fields for name in _SQL_FIELDS)
    if is_sql and isinstance(value, str) and isinstance(database, str):
        value = f"{value}{_BIRD}{database}"
    return _Answer(location, query_id, None if value is None else _text(value, location))


def _find_field(record: Mapping[str, Any], names: Sequence[str], location: str) -> Any:
    for name in names:
        if name in record:
            return record[name]
    raise DataError(f"{location}: no field {' or '.join(names)}; it has {', '.join(record)}")


def _text(value: Any, location: str) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    raise DataError(f"{location}: expected an answer as text, found {value!r:.80}")
