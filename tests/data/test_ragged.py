"""Rows that are longer or shorter than their header."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench import Query, Table, TableId, corpora
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo
from target_bench.data.load import read
from target_bench.data.tables import rectangular
from tests.data.strategies import any_cell, any_text
from tests.data.written import asked, write_own

headers = st.lists(any_text, min_size=1, max_size=4)
grids = st.lists(st.lists(any_cell, max_size=6), max_size=6)
NOTE = (
    "rows are not as long as their header: short ones got empty cells, for long ones the header "
    "got columns without a name: "
)


def _squared(header: list[str], rows: list[list[Any]]) -> tuple[list[str], list[Any], list[str]]:
    release = Release(Path(), "")
    names, found = rectangular(release, header, rows, lambda number: f"row {number}")
    return list(names), list(found), release.notes


@given(headers, grids)
def test_no_cell_is_lost_and_the_order_is_kept(header: list[str], rows: list[list[Any]]) -> None:
    names, found, notes = _squared(header, rows)
    width = max(len(header), *map(len, rows), 0)
    ragged = [row for row in rows if len(row) != len(header)]
    assert names[: len(header)] == header
    assert set(names[len(header) :]) <= {""}
    assert len(names) == (width if ragged else len(header))
    assert len(found) == len(rows)
    for before, after in zip(rows, found, strict=True):
        assert len(after) == len(names)
        assert repr(list(after)[: len(before)]) == repr(before)
        assert set(after[len(before) :]) <= {"", None}
    assert len(notes) == bool(ragged)
    assert not ragged or notes[0].startswith(
        f"{NOTE}{len(ragged)} (the first: row {rows.index(ragged[0])}: "
    )
    again, same, silence = _squared(names, found)
    assert (again, repr(same), silence) == (names, repr(found), [])


@pytest.mark.parametrize(
    ("content", "grid", "first", "n"),
    [
        ("a,b\n1,2\n\n3\n", [["a", "b"], ["1", "2"], ["3", ""]], "line 4: 1 cells under 2", 1),
        ("a,b\n1,2,3\n4\n", [["a", "b", ""], ["1", "2", "3"], ["4", "", ""]], "line 2: 3 cells", 2),
        ('a\n"x\ny"\n1,2\n', [["a", ""], ["x\ny", ""], ["1", "2"]], "line 4: 2 cells under 1", 1),
    ],
)
def test_csv(tmp_path: Path, content: str, grid: list[list[str]], first: str, n: int) -> None:
    """Read from the files and from the cache alike, and said each time."""
    write_own(tmp_path, {"t.csv": content}, [asked("t")])
    for _ in range(2):
        dataset = corpora.load(tmp_path)
        (table,) = dataset.corpus
        assert [list(table.header), *map(list, table.rows)] == grid
        (note,) = (note for note in dataset.notes if "rows are not" in note)
        assert note.startswith(f"{NOTE}{n} (the first: {tmp_path / 'tables' / 't.csv'}, {first}")
        assert note.endswith("Is a cell that holds the separator without quotes?)")


class Loose(CorpusLoader):
    """A loader of somebody else's, whose rows are as they come."""

    info = CorpusInfo("loose", "Loose", ("retrieval",), ("test",), "CC0", "none", "none")

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """One table."""
        yield Table(TableId("0", "t"), ("a", "b"), [(1,), (1, 2, 3)], {"title": "T"})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """One question."""
        yield Query("q", "?", (TableId("0", "t"),))


def test_tables_of_a_plug_in(tmp_path: Path) -> None:
    dataset = read(Loose(), tmp_path, "test")
    assert dataset.corpus["0", "t"].rows == [[1, None, None], [1, 2, 3]]
    assert any(f"{NOTE}2 (the first: table 0/t, row 1: 1 cell" in note for note in dataset.notes)
