"""Tables in an Arrow file: what goes in comes out, and a damaged file is detected."""

import pytest
from hypothesis import given, settings

from target_bench.core.schema import Table
from target_bench.data.cache import TABLES, ArrowCorpus, write_arrow
from target_bench.data.tables import MemoryCorpus
from tests.data.strategies import exact, tables


@settings(deadline=None)
@given(tables())
def test_any_tables_come_back(
    tmp_path_factory: pytest.TempPathFactory, given_tables: list[Table]
) -> None:
    """Byte for byte, one by one and all in order, with the fingerprint of the tables in memory."""
    path = tmp_path_factory.mktemp("arrow") / "tables.arrow"
    write_arrow(path, TABLES, given_tables, dict)
    stored, held = ArrowCorpus(path), MemoryCorpus(given_tables)
    expected = [exact(table) for table in given_tables]
    assert [exact(table) for table in stored] == expected
    assert [exact(stored[table.id]) for table in given_tables] == expected
    assert (stored.ids, stored.fingerprint, stored.groups) == (
        held.ids,
        held.fingerprint,
        held.groups,
    )
    assert len(stored) == len(given_tables)
