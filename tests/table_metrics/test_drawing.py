"""Sets of perturbed tables: one seed one set, even over changes."""

from collections import Counter

import pytest

from benchmarks.table_metrics.changes import CHANGES
from benchmarks.table_metrics.drawing import can_be_changed, draw
from tests.table_metrics.test_changes import TABLE

TABLES = {"0/a": TABLE, "0/b": (TABLE[0], *reversed(TABLE[1:])), "0/small": (("a",), ("b",))}


def test_one_seed_gives_one_set_of_which_smaller_ones_are_the_beginning() -> None:
    drawn = draw(TABLES, 200, seed=3)
    assert drawn == draw(dict(reversed(TABLES.items())), 200, seed=3)
    for n in range(1, 200):
        assert draw(TABLES, n, seed=3) == drawn[:n], n
    assert draw(TABLES, 200, seed=4) != drawn
    assert {table.change for table in drawn} == set(CHANGES)
    assert all((table.level is None) != table.is_error for table in drawn)


def test_changes_have_the_same_number_of_tables() -> None:
    many = {f"0/{n}": (TABLE[0], *TABLE[1 + n :], *TABLE[1 : 1 + n]) for n in range(4)}
    counts = Counter(table.change for table in draw(many, 90, seed=3))
    assert set(counts) == set(CHANGES)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_no_table_is_made_twice_from_one_reference() -> None:
    for changes in (None, ["transposed"], ["reordered_rows", "swapped_cells"]):
        drawn = draw(TABLES, 500, changes=changes)
        assert len({(table.reference, table.table) for table in drawn}) == len(drawn)
    assert len(draw(TABLES, 500, changes=["transposed"])) == 2
    rest = draw(TABLES, 50, changes=["transposed", "typo"])
    assert Counter(table.change for table in rest) == {"transposed": 2, "typo": 48}


def test_what_does_not_apply_leaves_its_share_to_the_others() -> None:
    plain = {"0/p": (("a", "b"), ("x", "y"), ("z", "w"))}
    drawn = draw(plain, 30)
    assert len(drawn) == 30
    assert not {"date_shifted", "scaled", "wrong_unit", "extra_cell"} & {o.change for o in drawn}
    with pytest.raises(ValueError, match="none of the changes applies to any of the 1 tables"):
        draw({"0/small": (("a",), ("b",))}, 5)


def test_tables_that_are_not_drawn() -> None:
    assert can_be_changed(TABLE)
    assert not can_be_changed((("a", "a"), ("1", "2"), ("3", "4")))
    assert not can_be_changed((("a", "b"), ("1",), ("3", "4")))
    assert not can_be_changed((("a", "b"), *[("1", "2")] * 500))
