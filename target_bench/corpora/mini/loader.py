"""Reads the embedded corpus ``mini``."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from target_bench.corpora.files import Release, field
from target_bench.corpora.store import dataset
from target_bench.errors import DataError
from target_bench.interfaces import CorpusLoader, Dataset
from target_bench.schema import CorpusInfo, Query, Table, TableId


class Mini(CorpusLoader):
    """120 tables in families of look-alikes; both splits ask about all of them."""

    info = CorpusInfo(
        name="mini",
        title="target-bench mini",
        tasks=("retrieval",),
        splits=("test", "validation"),
        licence="Apache-2.0, written for this project from public facts",
        citation="The target-bench authors",
        source="this package",
    )
    embedded = Path(__file__).parent / "data"

    def load(self, folder: Path, split: str) -> Dataset:
        release = Release(folder, self.info.source)
        tables = list(_tables(release))
        queries = [query for query, in_split in _queries(release) if in_split == split]
        return dataset(self.info, split, tables, queries, release.hashes)


def _tables(release: Release) -> Iterator[Table]:
    for place, record in release.json_lines(release.require("tables.jsonl")):
        table_id = field(record, "table_id", str, place)
        path = release.require(f"tables/{table_id}.csv")
        rows = list(csv.reader(io.StringIO(release.text(path), newline="")))
        if not rows:
            raise DataError(f"{path}: the file is empty; its first line is the header")
        context = {
            "title": field(record, "title", str, place),
            "section_title": field(record, "section_title", str, place),
        }
        yield Table(TableId("0", table_id), rows[0], rows[1:], context)


def _queries(release: Release) -> Iterator[tuple[Query, str]]:
    for place, record in release.json_lines(release.require("queries.jsonl")):
        gold = _texts(record, "table_id", place)
        answers = _texts(record, "answer", place)
        query = Query(
            id=field(record, "query_id", str, place),
            text=field(record, "query", str, place),
            gold=tuple(TableId("0", table_id) for table_id in gold),
            answer=answers[0] if len(answers) == 1 else answers,
            metadata={"task": field(record, "task", str, place)},
        )
        yield query, field(record, "split", str, place)


def _texts(record: Any, name: str, place: str) -> tuple[str, ...]:
    """A field that holds a text or a list of texts."""
    value = field(record, name, object, place)
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    if not texts or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{place}: field {name!r} should be a text or a list of texts: {value!r}")
    return texts
