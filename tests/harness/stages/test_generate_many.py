"""A generator that answers many requests its own way: in any order, too often, not at all."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import PluginError
from target_bench.core.schema import Generation, GenerationRequest
from tests.builders import same_scores
from tests.harness.stages.answering import (
    NUMBER,
    QUESTIONS,
    Many,
    Own,
    answered,
    good,
    ids,
    lines,
)

THE_ONE = QUESTIONS[NUMBER]


def _raising(error: BaseException) -> Callable[[GenerationRequest], Any]:
    def answer(request: GenerationRequest) -> Any:
        raise error

    return answer


def _backwards(requests: Iterator[GenerationRequest]) -> Iterator[Generation]:
    return map(good, reversed(list(requests)))


def _in_pairs(requests: Iterator[GenerationRequest]) -> Iterator[Generation]:
    for first, second in zip(requests, requests, strict=True):
        yield good(second)
        yield good(first)


@pytest.mark.parametrize("answers", [_backwards, _in_pairs, lambda r: map(good, r)])
def test_many_in_any_order(tmp_path: Path, answers: Any) -> None:
    result = answered(tmp_path, Many(answers))
    assert result.answer_counts is not None
    assert (result.answer_counts.answered, result.answer_counts.failed) == (144, 0)
    same_scores(result, answered(tmp_path / "one", Own()))


def test_requests_are_drawn_as_they_are_needed(tmp_path: Path) -> None:
    """An answer is on disk before the request after it is made."""
    seen = []

    def answers(requests: Iterator[GenerationRequest]) -> Iterator[Generation]:
        for request in requests:
            found = list(tmp_path.glob("question-answering-*/generations.jsonl"))
            seen.append(found[0].read_bytes().count(b"\n"))
            yield good(request)

    answered(tmp_path, Many(answers))
    assert seen == list(range(144))


def _without_the_one(requests: Iterator[GenerationRequest]) -> Iterator[Generation]:
    return (good(request) for request in requests if request.query_id != THE_ONE.id)


def _first_ones(requests: Iterator[GenerationRequest]) -> Iterator[Generation]:
    return (good(next(requests)) for _ in range(NUMBER))


@pytest.mark.parametrize(
    ("answers", "missing"),
    [
        (_without_the_one, [THE_ONE.id]),
        (_first_ones, ids(QUESTIONS[NUMBER:])),
        (lambda _: iter(()), ids(QUESTIONS)),
    ],
)
def test_never_answered(tmp_path: Path, answers: Any, missing: list[str]) -> None:
    """Those it drew and left, and those it did not even draw."""
    result = answered(tmp_path, Many(answers))
    assert dict(result.errors) == dict.fromkeys(missing, "missing: no answer was given")
    assert result.answer_counts is not None
    assert result.answer_counts.failed == len(missing)
    assert {line["query_id"] for line in lines(tmp_path)} == set(ids(QUESTIONS))


def _odd_at_the_one(odd: Callable[[GenerationRequest], Any]) -> Any:
    def answers(requests: Iterator[GenerationRequest]) -> Iterator[Any]:
        for request in requests:
            yield odd(request) if request.query_id == THE_ONE.id else good(request)

    return answers


@pytest.mark.parametrize(
    ("answers", "parts"),
    [
        (_odd_at_the_one(_raising(ValueError("no"))), ["raised ValueError in generate_many: no"]),
        (_odd_at_the_one(lambda _: sys.exit(0)), ["raised SystemExit in generate_many: 0"]),
        (_odd_at_the_one(lambda _: None), ["gave None", "no Generation for a request"]),
        (_odd_at_the_one(lambda _: "x"), ["gave 'x'", "no Generation for a request"]),
        (_odd_at_the_one(lambda _: Generation("nobody", "x")), ["'nobody'", "that is open"]),
        (_odd_at_the_one(lambda _: Generation(QUESTIONS[0].id, "x")), [QUESTIONS[0].id, "is open"]),
    ],
)
def test_many_that_breaks(tmp_path: Path, answers: Any, parts: list[str]) -> None:
    """What came before is kept; the same command goes on."""
    with pytest.raises(PluginError) as caught:
        answered(tmp_path, Many(answers))
    for part in ("generator Many", *parts):
        assert part in str(caught.value)
    assert caught.value.exit_code == 3
    assert [line["query_id"] for line in lines(tmp_path)] == ids(QUESTIONS[:NUMBER])
