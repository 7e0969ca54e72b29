"""The real databases: where they lie, and the queries on them."""

import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.registry import create
from target_bench.core.schema import Dataset
from target_bench.sql.databases import open_sqlite
from tests.real.data import DATA

SPIDER = DATA / "spider"
BIRD = DATA / "bird"

needs_databases = pytest.mark.skipif(
    not (SPIDER / "database").is_dir() or not (BIRD / "dev_databases").is_dir(),
    reason=f"no Spider and BIRD in {DATA} (set TARGET_BENCH_DATA)",
)


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a ``.json.gz`` or ``.jsonl.gz`` file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        if path.name.endswith(".jsonl.gz"):
            return [json.loads(line) for line in file]
        listed: list[dict[str, Any]] = json.load(file)
        return listed


def spider_file(database_id: str) -> Path:
    return SPIDER / "database" / database_id / f"{database_id}.sqlite"


def bird_file(database_id: str) -> Path:
    return BIRD / "dev_databases" / database_id / f"{database_id}.sqlite"


@contextmanager
def bird_schema(database_id: str) -> Iterator[sqlite3.Connection]:
    """A BIRD database: the file where it is here, else its schema without rows, in memory."""
    path = bird_file(database_id)
    if path.exists():
        with open_sqlite(path) as connection:
            yield connection
        return
    with closing(sqlite3.connect(":memory:")) as connection:
        script = BIRD / "schema_only" / f"{database_id}.sql"
        connection.executescript(script.read_text(encoding="utf-8"))
        yield connection


def share_of_databases_found(dataset: Dataset, retriever: str) -> float:
    """How often the best table is of the gold database."""
    made: Any = create("retriever", retriever)
    made.embed_corpus(dataset.corpus)
    rankings = made.retrieve_batch([query.text for query in dataset.queries], 1)
    pairs = zip(rankings, dataset.queries, strict=True)
    hits = [bool(r) and r[0][0].database_id == query.database_id for r, query in pairs]
    return hits.count(True) / len(dataset.queries)
