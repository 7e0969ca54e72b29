"""Properties of queries, and the parts that they make of a set of queries."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError
from target_bench.core.metric import MetricSpec
from target_bench.core.schema import Query, TableId
from target_bench.runs.slicing import (
    Condition,
    divide,
    make_mean,
    parse_condition,
    read_properties,
    score_part,
    select_parts,
)

COLUMNS: dict[str, list[Any]] = {
    "difficulty": ["easy", "hard", None, "hard"],
    "gold_tables": [1, 2, 3, 1],
    "timed": [True, False, True, None],
    "missing": [None] * 4,
    "id": [2**53, 2**53 + 1, 2**53 + 2, 7],  # 2^53 + 1 is no float
}


def _of(*texts: str) -> dict[str, list[int]]:
    masks = select_parts(COLUMNS, [parse_condition(text) for text in texts], 4)
    return {name: mask.nonzero()[0].tolist() for name, mask in masks.items()}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("difficulty=hard", [1, 3]),
        ("difficulty!=hard", [0]),
        ("difficulty=(none)", [2]),
        ("difficulty!=(none)", [0, 1, 3]),
        ("difficulty = hard", [1, 3]),
        ("gold_tables>1", [1, 2]),
        ("gold_tables>=2", [1, 2]),
        ("gold_tables<2", [0, 3]),
        ("gold_tables<=2", [0, 1, 3]),
        ("gold_tables=3", [2]),
        ("gold_tables!=3", [0, 1, 3]),
        ("id=9007199254740993", [1]),
        ("id>9007199254740992", [1, 2]),
        ("id<=7.5", [3]),
        ("timed=true", [0, 2]),
    ],
)
def test_conditions(text: str, places: list[int]) -> None:
    assert [*_of(text).values()] == [places]


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
    assert parse_condition("gold_tables>=2") == Condition("gold_tables", ">=", "2")
    assert str(parse_condition("gold_tables>=2")) == "gold_tables>=2"
    assert parse_condition("evidence=a=b") == Condition("evidence", "=", "a=b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "hardness=easy",
            "the queries have no property 'hardness'; they have: difficulty, gold_tables, timed",
        ),
        (
            "difficulty=hrad",
            r"no query is in the slice difficulty=hrad; difficulty has the values easy, hard",
        ),
        ("difficulty>easy", "difficulty is text; compare it with = or !="),
        ("gold_tables>one", "gold_tables is a number"),
        ("missing=one", r"no query is in the slice missing=one; missing has the values \(none\)"),
        ("missing>1", r"no query is in the slice missing>1; missing has the values \(none\)"),
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
    divided = divide([*values, *values, values[0]])
    assert list(divided.values) == ordered
    kept = [divided.values[i] for i in divided.find_frequent(2)]
    assert kept == [value for value in ordered if value in kept]
    assert values[0] in kept


@given(st.lists(st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.none())))
def test_any_values_have_an_order(values: list[Any]) -> None:
    """One that does not depend on the order of the queries."""
    divided, reverse = divide(values), divide(values[::-1])
    assert list(map(repr, divided.values)) == list(map(repr, reverse.values))
    assert divided.codes.tolist() == reverse.codes.tolist()[::-1]


def _query(name: str, n_gold: int, database_id: str, **metadata: object) -> Query:
    gold = tuple(TableId(database_id, str(i)) for i in range(n_gold))
    return Query(name, "?", gold, "", database_id, metadata)


def test_what_stands_beside_the_metrics_of_a_query() -> None:
    """Short values of one kind; metadata never hides what is ours."""
    queries = [
        _query("a", 1, "d", hardness="easy", n=3, cells=[[1, 2]], evidence="x" * 65, mixed=1),
        _query("b", 2, "e", hardness=None, evidence="short", mixed="one"),
    ]
    assert read_properties(queries) == {
        "gold_tables": [1, 2],
        "db_id": ["d", "e"],
        "hardness": ["easy", None],
        "n": [3, None],
    }
    assert read_properties([_query("a", 2, "0", gold_tables=7)]) == {"gold_tables": [2]}


@pytest.mark.parametrize(
    ("column", "groups"),
    [
        (["easy", "hard", "easy", None], True),
        (["a", "b"], True),
        (list("aabbcc"), True),
        (["same", "same", None], False),
        (range(100), False),
        ([None, None], False),
        ([], False),
    ],
)
def test_what_puts_queries_together(column: list[Any], groups: bool) -> None:
    """An index, or an id, stands beside the metrics, but no chart by it says anything."""
    assert divide(column).is_informative == groups


KINDS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from("abc"))


@given(st.lists(KINDS, max_size=30))
def test_parts_are_the_queries_that_have_a_value(column: list[object]) -> None:
    divided = divide(column)
    sizes = [int((divided.codes == i).sum()) for i in range(len(divided.values))]
    assert sum(sizes) == sum(value is not None for value in column)
    for i, value in enumerate(divided.values):
        chosen = [j for j, x in enumerate(column) if type(x) is type(value) and x == value]
        assert (divided.codes == i).nonzero()[0].tolist() == chosen
        assert chosen
    kept = divided.find_frequent(2)
    assert len(kept) == min(2, len(divided.values))
    rest = [size for i, size in enumerate(sizes) if i not in kept]
    assert all(sizes[i] >= size for i in kept for size in rest)


def test_queries_without_a_value_are_a_part_of_their_own() -> None:
    masks = divide(["a", None, "b"]).masks()
    assert {name: mask.tolist() for name, mask in masks.items()} == {
        "a": [True, False, False],
        "b": [False, False, True],
        "(none)": [False, True, False],
    }
    assert list(divide(["a", None]).masks(include_none=False)) == ["a"]


def test_nan_is_no_value() -> None:
    column = [1.0, float("nan"), 2.0, float("nan"), None]
    divided = divide(column)
    assert (list(divided.values), divided.codes.tolist()) == ([1, 2], [0, -1, 1, -1, -1])
    (other,) = select_parts({"x": column}, [parse_condition("x!=1")], 5).values()
    assert other.tolist() == [False, False, True, False, False]


def test_a_mean_is_over_the_queries_that_have_a_value() -> None:
    spec, values = MetricSpec("m"), np.array([1, 0, 1, np.nan, np.nan])
    both = (make_mean("m", values[:n], spec) for n in (5, 3))
    with_others, alone = (score_part(each, ~np.isinf(each.values), None) for each in both)
    assert with_others == alone
    assert (alone.value, alone.n) == (2 / 3, 3)
    assert (with_others.low, with_others.high) == (alone.low, alone.high)
