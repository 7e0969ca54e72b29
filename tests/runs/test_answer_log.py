"""``generations.jsonl``: what is written is found again, and damage is told."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.contract import generation_fault
from target_bench.core.errors import StoreError
from target_bench.core.files import sealed_line, unsealed_line
from target_bench.core.schema import Generation
from target_bench.runs.record_log import ANSWERS, Answered

odd_text = st.one_of(
    st.text(st.characters(), max_size=12),
    st.sampled_from(['"', "\\", "\n", "\r\n", "\u2028", "\x00", "\ud800", "\udfff\ud800", "é'"]),
)
amounts = st.none() | st.floats(0, allow_nan=False, allow_infinity=False)
generations = st.builds(
    Generation,
    odd_text,
    odd_text,
    st.none() | odd_text,
    st.none() | st.integers(0),
    st.none() | st.integers(0),
    amounts,
    amounts,
    st.booleans(),
)
answers = st.builds(
    Answered, generations, st.lists(st.integers(-1, 9**9), max_size=4).map(tuple), st.booleans()
)


def _write(path: Path, *values: Answered) -> None:
    with ANSWERS.log(path.parent) as log:
        log.append(values)


@given(st.lists(answers, max_size=4, unique_by=lambda a: a.generation.query_id))
def test_anything_comes_back(
    tmp_path_factory: pytest.TempPathFactory, given_answers: list[Answered]
) -> None:
    path = tmp_path_factory.mktemp("run") / "generations.jsonl"
    for answered in given_answers:
        _write(path, answered)
    assert list(ANSWERS.read(path.parent).values()) == given_answers


def test_what_is_not_known_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "generations.jsonl"
    _write(
        path, Answered(Generation("q1", "")), Answered(Generation("q2", "x", "no"), (2, -1), True)
    )
    first, second = map(json.loads, map(unsealed_line, path.read_bytes().splitlines()))
    assert first == {"query_id": "q1", "text": ""}
    assert second == {
        "query_id": "q2",
        "text": "x",
        "error": "no",
        "shown_rows": [2, -1],
        "truncated": True,
    }


def test_last_answer_counts(tmp_path: Path) -> None:
    path = tmp_path / "generations.jsonl"
    failed = Answered(Generation("q1", "", error="raised: ValueError: no"))
    mended = Answered(Generation("q1", "x"))
    _write(path, failed, mended)
    assert ANSWERS.read(path.parent) == {"q1": mended}


def test_no_file_no_answers(tmp_path: Path) -> None:
    assert ANSWERS.read(tmp_path) == {}


@pytest.mark.parametrize("left", range(1, 40))
def test_half_a_line_is_what_a_killed_process_leaves(tmp_path: Path, left: int) -> None:
    path = tmp_path / "generations.jsonl"
    whole = Answered(Generation("q1", "Ann"), (3,))
    _write(path, whole)
    kept = path.read_bytes()
    _write(path, Answered(Generation("q2", "a longer answer é"), (3,)))
    path.write_bytes(path.read_bytes()[: len(kept) + left])
    assert ANSWERS.read(path.parent) == {"q1": whole}
    _write(path)
    assert path.read_bytes() == kept


GOOD = {"query_id": "q2", "text": "x"}


@pytest.mark.parametrize(
    ("record", "part"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ("null", "damaged"),
        ({"query_id": "q2"}, "text"),
        ({"text": "x"}, "query_id"),
        (GOOD | {"text": None}, "its text is NoneType"),
        (GOOD | {"text": 5}, "its text is int"),
        (GOOD | {"query_id": 5}, "its query_id is int"),
        (GOOD | {"error": 1}, "its error is int"),
        (GOOD | {"cost": "0.1"}, "its cost is str"),
        (GOOD | {"cost": float("nan")}, "its cost is nan"),
        (GOOD | {"input_tokens": 1.5}, "its input_tokens is float"),
        (GOOD | {"cached": 1}, "its cached is int"),
        (GOOD | {"shown_rows": 5}, "damaged"),
        (GOOD | {"colour": "red"}, "colour"),
    ],
)
def test_damage_is_reported_with_its_place(tmp_path: Path, record: Any, part: str) -> None:
    path = tmp_path / "generations.jsonl"
    _write(path, Answered(Generation("q1", "Ann")))
    line = record if isinstance(record, str) else json.dumps(record)
    with path.open("ab") as file:
        file.write(sealed_line(line.encode()) + b"\n")
    with pytest.raises(StoreError, match=r"generations\.jsonl, line 2: damaged") as caught:
        ANSWERS.read(path.parent)
    assert part in str(caught.value)


def test_a_sound_answer_has_no_fault() -> None:
    assert generation_fault(Generation("q", "x", None, 1, 2, 3, 0.5, cached=True)) is None
