"""Tables in an Arrow file: what goes in comes out, and a damaged file is detected."""

from pathlib import Path

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
