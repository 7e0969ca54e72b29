"""Every corpus says what it is; one that is declared by ``Columns`` reads a record as declared."""

from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from target_bench import Columns, CorpusInfo
from target_bench.core import registry
from target_bench.data.load import loader
from target_bench.data.reading import read
from tests.builders import json_lines

NAMES = registry.names("corpus")
HEADER, ROWS = ["planet", "moons"], [["Mars", "2"], ["Venus", "0"]]


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_is(name: str) -> None:
    info = loader(name).info
    assert info.name == name
    assert info.citation
    assert info.licence != CorpusInfo("").licence
    assert info.source
    assert {*info.tasks} <= {*registry.names("task")}


def is_declared(name: str) -> bool:
    corpus: Any = registry.resolve("corpus", name)
    return corpus.columns is not None and bool(corpus.info.fetched_splits)


@pytest.mark.parametrize("name", [*filter(is_declared, NAMES)])
def test_it_reads_a_record_as_declared(name: str, tmp_path: Path) -> None:
    corpus: Any = registry.resolve("corpus", name)
    for split in corpus.info.fetched_splits:
        for source in corpus.info.sources(split):
            path = tmp_path / split / source.patterns[0].replace("*", "0")
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, _make_record(corpus.columns))
        dataset = read(loader(name), tmp_path / split, split)
        ((table,), (query,)) = dataset.corpus, dataset.queries
        assert [list(row) for row in (table.header, *table.rows)] == [HEADER, *ROWS]
        assert (query.text, query.gold) == ("How many?", (table.id,))
        assert query.answer == ("two" if corpus.columns.answer else "")
        assert query.metadata.keys() == corpus.columns.metadata.keys()


def _make_record(columns: Columns) -> dict[str, Any]:
    """Return a record with a value in each field that is declared."""
    names = (columns.query_id, columns.table_id, columns.database_id)
    values = dict.fromkeys([*names, *columns.context.values(), *columns.metadata.values()], "1")
    record: dict[str, Any] = {}
    for path, value in {
        **values,
        columns.query: "How many?",
        columns.answer: "two",
        columns.table: [HEADER, *ROWS],
        columns.header: HEADER,
        columns.rows: ROWS,
    }.items():
        *outer, last = path.split(".")
        inner = record
        for name in outer:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return record


def _write(path: Path, record: dict[str, Any]) -> None:
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist([record]), path)
    else:  # a JSON list of one line is JSON lines of one list
        path.write_text(json_lines([[record] if path.suffix == ".json" else record]), "utf-8")
