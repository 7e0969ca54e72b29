"""Parts of a set of queries."""

from typing import Any

import pytest

from target_bench.core.errors import ConfigError
from target_bench.runs.slicing import Slice, parse, parts

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
