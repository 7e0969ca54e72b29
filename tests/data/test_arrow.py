"""Tables in an Arrow file: what goes in comes out, and a damaged file is detected."""

import os
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given, settings

from target_bench.core.schema import Table, TableId
from target_bench.data import cache
from target_bench.data.cache import TABLES, ArrowCorpus, _write
from target_bench.data.tables import MemoryCorpus
from tests.data.strategies import exact, tables


@settings(deadline=None)
@given(tables())
def test_any_tables_come_back(
    tmp_path_factory: pytest.TempPathFactory, given_tables: list[Table]
) -> None:
    """Byte for byte, one by one and all in order, with the fingerprint of the tables in memory."""
    path = tmp_path_factory.mktemp("arrow") / "tables.arrow"
    _write(path, TABLES, given_tables, dict)
    found, held = ArrowCorpus(path), MemoryCorpus(given_tables)
    wanted = [exact(table) for table in given_tables]
    assert [exact(table) for table in found] == wanted
    assert [exact(found[table.id]) for table in given_tables] == wanted
    assert (found.ids, found.fingerprint, found.groups) == (held.ids, held.fingerprint, held.groups)
    assert len(found) == len(given_tables)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_batches_of_the_file(tmp_path: Path, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tables a batch of the file holds, each is found at its place."""
    monkeypatch.setattr(cache, "_BATCH_ROWS", 3)
    given_tables = [Table(TableId("0", str(i)), ["a"], [[i]]) for i in range(n)]
    _write(tmp_path / "t", TABLES, iter(given_tables), dict)
    corpus = ArrowCorpus(tmp_path / "t")
    assert list(corpus) == given_tables
    assert [corpus.at(i) for i in range(n)] == given_tables
    with pytest.raises(KeyError):
        corpus["0", "other"]


def test_large_tables_are_batched_by_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_BATCH_BYTES", 1000)
    given_tables = [Table(TableId("0", str(i)), ["a"], [["x" * 700]]) for i in range(5)]
    _write(tmp_path / "t", TABLES, given_tables, dict)
    with pyarrow.OSFile(str(tmp_path / "t")) as file:
        assert pyarrow.ipc.open_file(file).num_record_batches == 3 + 1  # of the record
    assert list(ArrowCorpus(tmp_path / "t")) == given_tables


def test_another_arrow_file(tmp_path: Path) -> None:
    table = pyarrow.table({"a": [1]})
    path = str(tmp_path / "t")
    with pyarrow.OSFile(path, "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match=r"its columns are \['a'\]"):
        ArrowCorpus(tmp_path / "t")


def test_the_file_may_go_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "t"
    given_tables = [Table(TableId("0", str(i)), ["a"], [["x" * 100]]) for i in range(50)]
    _write(path, TABLES, given_tables, dict)
    corpus = ArrowCorpus(path)
    if os.name == "posix":
        path.unlink()
    assert list(corpus) == given_tables
