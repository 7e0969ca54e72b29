"""Parts of a set of queries."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.runs.slicing import Slice, parse, partition, parts

COLUMNS: dict[str, list[Any]] = {
    "difficulty": ["easy", "hard", None, "hard"],
    "gold_tables": [1, 2, 3, 1],
    "timed": [True, False, True, None],
}


def _of(*texts: str) -> dict[str, list[int]]:
    found = parts(COLUMNS, [parse(text) for text in texts], 4)
    return {name: mask.nonzero()[0].tolist() for name, mask in found.items()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("difficulty=hard", [1, 3]),
        ("difficulty!=hard", [0]),
        ("slice.difficulty = hard", [1, 3]),
        ("gold_tables>1", [1, 2]),
        ("gold_tables>=2", [1, 2]),
        ("gold_tables<2", [0, 3]),
        ("gold_tables<=2", [0, 1, 3]),
        ("gold_tables=3", [2]),
        ("gold_tables!=3", [0, 1, 3]),
        ("timed=true", [0, 2]),
    ],
)
def test_conditions(text: str, wanted: list[int]) -> None:
    (found,) = _of(text).values()
    assert found == wanted


def test_name_alone_makes_a_part_of_each_value() -> None:
    assert _of("difficulty") == {
        "difficulty=easy": [0],
        "difficulty=hard": [1, 3],
        "difficulty=(none)": [2],
    }


def test_several_hold_together() -> None:
    assert _of("gold_tables<3", "difficulty") == {
        "gold_tables<3, difficulty=easy": [0],
        "gold_tables<3, difficulty=hard": [1, 3],
    }
    assert _of() == {"": [0, 1, 2, 3]}


def test_text_comes_back() -> None:
    assert parse("gold_tables>=2") == Slice("gold_tables", ">=", "2")
    assert str(parse("gold_tables>=2")) == "gold_tables>=2"
    assert parse("evidence=a=b") == Slice("evidence", "=", "a=b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hardness=easy", "unknown slice 'hardness'; the queries have: difficulty, gold_tables"),
        ("difficulty=hrad", r"no query is in the slice difficulty=hrad; difficulty is easy, hard"),
        ("difficulty>easy", "difficulty is text; compare it with = or !="),
        ("gold_tables>one", "gold_tables is a number"),
        ("timed=yes", "timed is true or false"),
        ("difficulty=", "expected a name alone or with a value"),
        ("=hard", "expected a name alone or with a value"),
    ],
)
def test_faults(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _of(text)
    with pytest.raises(ConfigError, match="no query is in the slice difficulty=easy, gold_tables"):
        _of("difficulty=easy", "gold_tables=3")


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        (["10+", "<5", "5-9"], ["<5", "5-9", "10+"]),
        ([">1,000", "101–1,000", "1–9", "10–100"], ["1–9", "10–100", "101–1,000", ">1,000"]),
        (["≥ 0.5", "< 0.25", "0.25 to 0.5"], ["< 0.25", "0.25 to 0.5", "≥ 0.5"]),
        (["(10, 20]", "(0, 10]", "(100, 200]"], ["(0, 10]", "(10, 20]", "(100, 200]"]),
        (["db10", "db9", "Db1"], ["Db1", "db9", "db10"]),
        (["hard", "easy", "medium"], ["easy", "medium", "hard"]),
        ([10, 9, 100], [9, 10, 100]),
        (["b", "a", "C"], ["a", "b", "C"]),
    ],
)
def test_values_are_in_their_natural_order(values: list[Any], ordered: list[Any]) -> None:
    """Also if only the most frequent ones are kept."""
    divided = partition([*values, *values, values[0]])
    assert list(divided.values) == ordered
    kept = [divided.values[i] for i in divided.largest(2)]
    assert kept == [value for value in ordered if value in kept]
    assert values[0] in kept


@given(st.lists(st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.none())))
def test_any_values_have_an_order(values: list[Any]) -> None:
    """One that does not depend on the order of the queries."""
    divided, reverse = partition(values), partition(values[::-1])
    assert list(map(repr, divided.values)) == list(map(repr, reverse.values))
    assert divided.codes.tolist() == reverse.codes.tolist()[::-1]
