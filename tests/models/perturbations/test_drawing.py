"""Sets of perturbed tables: one seed one set, even over changes, read back as written."""

import json
from collections import Counter
from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.models.perturbations.drawing import (
    CHANGES,
    draw,
    is_drawn_from,
    read,
    write,
)
from tests.models.perturbations.test_changes import TABLE

TABLES = {"0/a": TABLE, "0/b": (TABLE[0], *reversed(TABLE[1:])), "0/small": (("a",), ("b",))}


def test_one_seed_gives_one_set_of_which_smaller_ones_are_the_beginning() -> None:
    drawn = draw(TABLES, 200, seed=3)
    assert drawn.perturbations == draw(dict(reversed(TABLES.items())), 200, seed=3).perturbations
    for n in range(1, 200):
        assert draw(TABLES, n, seed=3).perturbations == drawn.perturbations[:n], n
    assert draw(TABLES, 200, seed=4).perturbations != drawn.perturbations
    assert {one.change for one in drawn.perturbations} == set(CHANGES)
    assert drawn.absent == ()
    assert all((one.level is None) != one.is_error for one in drawn.perturbations)


def test_changes_have_the_same_number_of_tables() -> None:
    many = {f"0/{n}": (TABLE[0], *TABLE[1 + n :], *TABLE[1 : 1 + n]) for n in range(4)}
    counts = Counter(one.change for one in draw(many, 90, seed=3).perturbations)
    assert set(counts) == set(CHANGES)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_no_table_is_made_twice_from_one_reference() -> None:
    for changes in (None, ["transposed"], ["reordered_rows", "swapped_cells"]):
        found = draw(TABLES, 500, changes=changes).perturbations
        assert len({(one.reference, one.table) for one in found}) == len(found)
    assert len(draw(TABLES, 500, changes=["transposed"]).perturbations) == 2
    rest = draw(TABLES, 50, changes=["transposed", "typo"]).perturbations
    assert Counter(one.change for one in rest) == {"transposed": 2, "typo": 48}


def test_what_does_not_apply_is_named() -> None:
    plain = {"0/p": (("a", "b"), ("x", "y"), ("z", "w"))}
    drawn = draw(plain, 30)
    assert len(drawn.perturbations) == 30
    assert {"date_shifted", "scaled", "wrong_unit", "extra_cell"} <= set(drawn.absent)
    with pytest.raises(ConfigError, match="none of the changes applies to any of the 1 tables"):
        draw({"0/small": (("a",), ("b",))}, 5)
    with pytest.raises(ConfigError, match="unknown change 'typos'"):
        draw(plain, 5, changes=["typos"])


def test_what_was_not_reached_applies_all_the_same() -> None:
    assert draw(TABLES, 1).absent == ()
    plain = {"0/p": (("a", "b"), ("x", "y"), ("z", "w"))}
    assert draw(plain, 1).absent == draw(plain, 30).absent


def test_tables_that_are_not_drawn() -> None:
    assert is_drawn_from(TABLE)
    assert not is_drawn_from((("a", "a"), ("1", "2"), ("3", "4")))
    assert not is_drawn_from((("a", "b"), ("1",), ("3", "4")))
    assert not is_drawn_from((("a", "b"), *[("1", "2")] * 500))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    lines = {"0/lines": (("a", "b"), ("x\u2028y\x85z", "w"), ("long word", "v"))}
    drawn = draw(TABLES | lines, 60).perturbations
    assert any(one.table_id == "0/lines" for one in drawn)
    write(path, drawn)
    assert read(path) == list(drawn)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"change": "typos"}, "line 1: unknown change 'typos'"),
        ({"level": "none"}, "line 1: field 'level' is 'none' of the change typo"),
        ({"table": [["a", 1]]}, "line 1: field 'table' should be rows of texts"),
        ({"differences": [["cell"]]}, "line 1: field 'differences'"),
    ],
)
def test_broken_files(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "set.jsonl"
    write(path, draw(TABLES, 1, changes=["typo"]).perturbations)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match=message):
        read(path)
    path.write_text("{")
    with pytest.raises(DataError, match="line 1: not JSON"):
        read(path)
    path.write_text("")
    with pytest.raises(DataError, match="holds no tables"):
        read(path)
    with pytest.raises(DataError, match=r"cannot be read: No such file or directory$"):
        read(tmp_path / "none.jsonl")
