"""Corpora written to disk in the layouts that are read."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow
from pyarrow import parquet

from target_bench.core.schema import Query, Table, TableId
from tests.builders import Record, json_lines

Form = Literal["parquet", "jsonl"]
Shape = Literal["local", "hub"]
FORMS: tuple[Form, ...] = ("parquet", "jsonl")
SHAPES: tuple[Shape, ...] = ("local", "hub")


def table(name: str, *rows: Sequence[Any], database_id: str = "0", **context: Any) -> Table:
    """A table with the columns ``a`` and ``b``."""
    return Table(TableId(database_id, name), ["a", "b"], rows or [("1", name)], context)


def query(number: int, *names: str, database_id: str = "0", **fields: Any) -> Query:
    """A query about tables of these names."""
    gold = tuple(TableId(database_id, name) for name in names)
    return Query(f"q{number}", f"Question {number}?", gold, f"answer {number}", database_id)


def corpus_records(tables: Iterable[Table]) -> list[Record]:
    """The records of TARGET's ``corpus``."""
    return [
        {
            "database_id": t.id.database_id,
            "table_id": t.id.table_id,
            "table": [list(t.header), *(list(row) for row in t.rows)],
            "context": dict(t.context),
        }
        for t in tables
    ]


def query_records(queries: Iterable[Query]) -> list[Record]:
    """The records of TARGET's ``queries``."""
    return [
        {
            "query_id": q.id,
            "query": q.text,
            "answer": q.answer,
            "table_id": [gold.table_id for gold in q.gold],
            "database_id": q.database_id,
        }
        for q in queries
    ]


def write_records(path: Path, records: Sequence[Record]) -> Path:
    """Parquet or JSON lines, as the suffix says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(list(records)), path)
    else:
        path.write_text(json_lines(records), encoding="utf-8")
    return path


def write_target(
    folder: Path,
    tables: Iterable[Table],
    queries: Iterable[Query],
    split: str = "test",
    form: Form = "jsonl",
    shape: Shape = "local",
) -> Path:
    """A folder in TARGET's layout: its own, or two repositories of the hub side by side."""
    parts = {"corpus": corpus_records(tables), "queries": query_records(queries)}
    for part, records in parts.items():
        if shape == "local":
            write_records(folder / part / f"{split}.{form}", records)
        else:
            place = folder / f"any-{part}" / "data"
            write_shards(place, split, records, 1 if len(records) < 2 else 2, form)
    return folder


def write_shards(
    place: Path, split: str, records: Sequence[Record], n: int, form: Form = "parquet"
) -> list[Path]:
    """``<split>-00000-of-0000n``, as the hub cuts its files."""
    size = -(-len(records) // n)
    return [
        write_records(
            place / f"{split}-{i:05}-of-{n:05}.{form}", records[i * size : (i + 1) * size]
        )
        for i in range(n)
    ]


def write_own(folder: Path, csvs: dict[str, str], queries: Sequence[Record]) -> Path:
    """A folder in the layout of a user's own data."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for name, text in csvs.items():
        (folder / "tables" / name).write_text(text, encoding="utf-8", newline="")
    write_queries(folder / "queries.jsonl", queries)
    return folder


def write_queries(path: Path, records: Sequence[Record]) -> Path:
    """A file in the form of ``queries.jsonl``."""
    path.write_text(json_lines(records), encoding="utf-8")
    return path


def asked(table_id: str, **changes: Any) -> Record:
    """A line of ``queries.jsonl``."""
    return {"query_id": "q1", "query": "What?", "table_id": table_id} | changes


def lines(path: Path) -> list[Any]:
    """The values in a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
