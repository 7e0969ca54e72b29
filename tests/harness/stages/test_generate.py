"""A generator that answers, or fails to: what is recorded, what is counted, how a run goes on."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.harness.stages.consent import Estimate
from tests.builders import said, same_scores
from tests.harness.stages.answering import (
    FAULTY,
    NUMBER,
    QUESTIONS,
    UNFOUND,
    Odd,
    Own,
    Priced,
    Shaky,
    answered,
    ids,
    lines,
)

THE_ONE = QUESTIONS[NUMBER]


@pytest.fixture(autouse=True)
def _sound_world() -> Iterator[None]:
    yield
    FAULTY.clear()
    UNFOUND.clear()


def test_own_generator(tmp_path: Path) -> None:
    """One method, no base class; every question is asked once, with its tables."""
    own = Own()
    result = answered(tmp_path, own)
    assert [request.query_id for request in own.asked] == ids(QUESTIONS)
    assert [request.query for request in own.asked] == [query.text for query in QUESTIONS]
    for request, query in zip(own.asked, QUESTIONS, strict=True):
        assert [table.id for table in request.tables] == list(query.gold)
        assert request.task == "question_answering"
        assert query.text in request.messages[1].content
    assert result.answer_counts is not None
    assert (
        result.answer_counts.asked,
        result.answer_counts.answered,
        result.answer_counts.failed,
    ) == (144, 144, 0)
    assert (result.task, result.generator, result.retriever) == (
        "question_answering",
        "Own",
        "oracle",
    )
    assert not result.reused
    assert dict(result.errors) == {}
    written = lines(tmp_path)
    assert [line["text"] for line in written] == [f"answer to {q.id}" for q in QUESTIONS]
    assert all(line["seconds"] >= 0 for line in written)
    again = Own()
    assert answered(tmp_path, again).reused
    assert again.asked == []


def _raising(error: BaseException) -> Callable[[GenerationRequest], Any]:
    def answer(request: GenerationRequest) -> Any:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda _: None, "contract: generate returned None, not text or a Generation"),
        (lambda _: 42, "contract: generate returned 42,"),
        (lambda _: b"x", "contract: generate returned b'x'"),
        (lambda _: ["x"], "contract: generate returned ['x']"),
        (
            lambda _: Generation("another", "x"),
            "contract: generate returned Generation(query_id='a",
        ),
        (
            lambda r: Generation(r.query_id, None),  # type: ignore[arg-type]
            "contract: no Generation: its text is NoneType",
        ),
        (
            lambda r: Generation(r.query_id, 42),  # type: ignore[arg-type]
            "contract: no Generation: its text is int",
        ),
        (
            lambda r: Generation(r.query_id, "x", input_tokens=np.int64(3)),  # type: ignore[arg-type]
            "contract: no Generation: its input_tokens is int64",
        ),
        (lambda r: Generation(r.query_id, "x", cost=float("nan")), "its cost is nan"),
        (lambda r: Generation(r.query_id, "", error="refused: no"), "refused: no"),
        (_raising(ValueError("too long")), "raised: ValueError: too long"),
        (_raising(TimeoutError()), "raised: TimeoutError"),
        (lambda _: sys.exit(5), "raised: SystemExit: 5"),
        (lambda _: sys.exit(), "raised: SystemExit"),
    ],
)
def test_failed_answer(
    tmp_path: Path, answer: Callable[[GenerationRequest], Any], error: str
) -> None:
    """Recorded, counted, shown with its query; all others are answered."""
    odd = Odd(answer)
    result = answered(tmp_path, odd)
    assert len(odd.asked) == 143
    assert result.answer_counts is not None
    assert (
        result.answer_counts.asked,
        result.answer_counts.answered,
        result.answer_counts.failed,
    ) == (144, 143, 1)
    assert list(result.errors) == [THE_ONE.id]
    assert error in result.errors[THE_ONE.id]
    line = lines(tmp_path)[NUMBER]
    assert (line["query_id"], line["text"]) == (THE_ONE.id, "")
    assert line["error"] == result.errors[THE_ONE.id]
    assert line["shown_rows"]
    scores = json.loads((result.folder / "scores.json").read_text(encoding="utf-8"))
    assert (scores["answers"]["asked"], scores["answers"]["failed"]) == (144, 1)
    assert all(score["n"] == 144 for score in scores["scores"].values())


def test_failures_stay_until_they_are_asked_again(tmp_path: Path) -> None:
    bad = [QUESTIONS[0].id, THE_ONE.id, QUESTIONS[-1].id]
    FAULTY.update(bad)
    result = answered(tmp_path, Own())
    assert said(result) == dict.fromkeys(bad, "raised: RuntimeError: the model is gone")
    FAULTY.clear()
    again = Own()
    reused = answered(tmp_path, again)
    assert again.asked == []
    assert reused.reused
    assert reused.errors == result.errors
    assert reused.answer_counts == result.answer_counts
    mended = Own()
    whole = answered(tmp_path, mended, retry_failed=True)
    assert [request.query_id for request in mended.asked] == bad
    assert dict(whole.errors) == {}
    undisturbed = answered(tmp_path / "other", Own())
    same_scores(whole, undisturbed)
    scores = [(r.folder / "scores.json").read_bytes() for r in (whole, undisturbed)]
    assert scores[0] == scores[1]
    assert len(lines(tmp_path)) == 147


def test_interrupt_keeps_what_was_answered(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        answered(tmp_path, Odd(_raising(KeyboardInterrupt())))
    assert [line["query_id"] for line in lines(tmp_path)] == ids(QUESTIONS[:NUMBER])


def test_own_errors_end_the_run(tmp_path: Path) -> None:
    """A generator that says what the user has to change is heard at once."""
    with pytest.raises(ConfigError, match="no key set"):
        answered(tmp_path, Odd(_raising(ConfigError("no key set"))))
    assert len(lines(tmp_path)) == NUMBER


@pytest.mark.parametrize(
    ("generator", "part"),
    [
        (Own, "Own is a class; pass an object of it"),
        (object(), "object is not a generator: it has no method generate"),
        (None, "NoneType is not a generator"),
    ],
)
def test_no_generator(tmp_path: Path, generator: object, part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        answered(tmp_path, generator)


# retrieval


def test_failed_retrieval_is_a_failed_answer(tmp_path: Path) -> None:
    """Nobody is asked about it; when the tables are found at last, it is."""
    bad = [QUESTIONS[3], THE_ONE]
    UNFOUND.update(query.text for query in bad)
    own = Own()
    result = answered(tmp_path, own, Shaky(), on_error="record")
    assert len(own.asked) == 142
    message = "retrieval: raised RuntimeError: the index is gone"
    assert said(result) == {query.id: message for query in bad}
    assert result.answer_counts is not None
    assert (result.answer_counts.failed, result.counts.failed) == (2, 2)
    again = Own()
    assert answered(tmp_path, again, Shaky(), on_error="record").errors == result.errors
    assert again.asked == []

    UNFOUND.clear()
    mended = Own()
    whole = answered(tmp_path, mended, Shaky())
    assert [request.query_id for request in mended.asked] == ids(bad)
    assert dict(whole.errors) == {}
    same_scores(whole, answered(tmp_path / "other", Own(), Shaky()))


# money


def _agreeing(heard: list[Estimate], answer: bool) -> Callable[[Estimate], bool]:
    def agreed(estimate: Estimate) -> bool:
        heard.append(estimate)
        return answer

    return agreed


def test_paid_requests_are_agreed_to_first(tmp_path: Path) -> None:
    heard: list[Estimate] = []
    priced = Priced()
    with pytest.raises(ConfigError, match="nothing was sent"):
        answered(tmp_path, priced, confirm=_agreeing(heard, answer=False))
    assert priced.asked == 0
    (estimate,) = heard
    assert (estimate.plugin, estimate.requests, estimate.cost) == ("Priced", 144, 36.0)
    assert estimate.input_tokens is not None
    assert 144 * 50 < estimate.input_tokens < 144 * 2000

    result = answered(tmp_path, priced, confirm=_agreeing(heard, answer=True))
    assert priced.asked == 144
    assert result.answer_counts is not None
    assert (result.answer_counts.cost, result.answer_counts.input_tokens) == (36.0, 14400)
    answered(tmp_path, priced, confirm=_agreeing(heard, answer=False))
    assert len(heard) == 2, "nothing is left to be sent"
