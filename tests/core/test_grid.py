"""Grids of cells with spans, and their rectangular view."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid, GridCell
from target_bench.core.schema import Table, TableId
from target_bench.data.cache import TABLES, ArrowCorpus, write_arrow
from target_bench.data.load import load
from target_bench.data.tables import MemoryCorpus

SPANS = st.integers(1, 3)
CELLS = st.builds(GridCell, st.text(max_size=3), SPANS, SPANS, st.booleans())
GRIDS = st.lists(st.lists(CELLS, max_size=4), min_size=1, max_size=5).map(
    lambda rows: CellGrid(tuple(map(tuple, rows)))
)
MEDALS = CellGrid.from_json(
    [
        [["Nation", 2, 1, True], ["Medals", 1, 2, True]],
        [["Gold", 1, 1, True], ["Silver", 1, 1, True]],
        [["Norway"], ["16"], ["8"]],
        [["Sweden", 2], ["8"]],
        [["0", 1, 2]],
    ]
)


def test_spans_are_repeated_and_gaps_are_empty() -> None:
    assert MEDALS.rectangular() == (
        ["Nation", "Medals Gold", "Medals Silver"],
        [["Norway", "16", "8"], ["Sweden", "8", ""], ["Sweden", "0", "0"]],
    )


@given(GRIDS)
def test_each_cell_keeps_its_place(grid: CellGrid) -> None:
    """It stands in the row where it begins, in the order of the row, and no place is invented."""
    places = grid.places()
    for i, row in enumerate(grid.rows):
        begins = [next(j for j, c in enumerate(places[i]) if c is cell) for cell in row]
        assert begins == sorted(begins)
    known = {id(cell) for row in grid.rows for cell in row}
    assert {id(cell) for row in places for cell in row if cell is not None} <= known


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("x", "expected a list of rows"),
        ([], "expected a list of rows"),
        ([["a"]], "row 1, cell 1"),
        ([[["a", 0]]], "row 1, cell 1: .*span from 1"),
        ([[["a", 1, True]]], "row 1, cell 1"),
        ([[["a"]], [["b"], [3]]], "row 2, cell 2"),
        ([[["a", 1, 1, True, 9]]], "row 1, cell 1"),
        ([3], "row 1: expected a list of cells"),
    ],
)
def test_not_a_grid(rows: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        CellGrid.from_json(rows)


def _table(grid: CellGrid | None) -> Table:
    header, rows = MEDALS.rectangular()
    return Table(TableId("0", "m"), header, rows, {"title": "Medals"}, grid)


@given(GRIDS | st.none())
def test_the_arrow_cache_keeps_it(tmp_path_factory: pytest.TempPathFactory, grid: Any) -> None:
    path = tmp_path_factory.mktemp("arrow") / "t.arrow"
    write_arrow(path, TABLES, [_table(grid)], dict)
    corpus, memory = ArrowCorpus(path), MemoryCorpus([_table(grid)])
    assert corpus["0", "m"].grid == grid
    assert corpus.fingerprint == memory.fingerprint


def test_a_grid_is_content_and_its_absence_changes_nothing() -> None:
    plain, with_grid = MemoryCorpus([_table(None)]), MemoryCorpus([_table(MEDALS)])
    assert plain.fingerprint != with_grid.fingerprint
    assert plain.fingerprint == FINGERPRINT_OF_0_1_0


FINGERPRINT_OF_0_1_0 = "28f62552c249ebc9667797481c26d047adfa83121ee96e6ad8a19fe629b17f18"


def test_layouts_that_carry_it(tmp_path: Path) -> None:
    """TARGET's in the field ``grid``, with or without ``table``."""
    query = {"query_id": "q", "query": "who?", "answer": "a", "table_id": "m"}
    target = tmp_path / "target"
    (target / "corpus").mkdir(parents=True)
    (target / "queries").mkdir()
    record = {"database_id": "0", "table_id": "m", "grid": MEDALS.to_json(), "context": {}}
    (target / "corpus" / "test.jsonl").write_text(json.dumps(record))
    (target / "queries" / "test.jsonl").write_text(json.dumps({"database_id": "0", **query}))
    read = load(f"{target}/").corpus["0", "m"]
    assert (read.grid, read.header) == (MEDALS, MEDALS.rectangular()[0])
    record["grid"] = [["x"]]
    (target / "corpus" / "test.jsonl").write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"field 'grid': row 1, cell 1"):
        load(f"{target}/")
