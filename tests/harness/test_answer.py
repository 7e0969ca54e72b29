"""A generator that answers, or fails to: what is recorded, what is counted, how a run goes on."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.contract import Generator
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.schema import Corpus, Generation, GenerationRequest, TableId
from target_bench.harness.consent import Estimate
from target_bench.harness.stored import make_manifest_again, score_again
from target_bench.runs.result import read_run
from tests.builders import Recorder, messages_of, same_scores
from tests.harness.answering import (
    FAULTY,
    NUMBER,
    QUESTIONS,
    Many,
    Odd,
    Own,
    answered,
    counts,
    ids,
    lines,
    raising,
)
from tests.target import TARGET

QUESTION = QUESTIONS[NUMBER]

UNFOUND: set[str] = set()
"""Texts of the queries that ``Shaky`` fails on."""


@pytest.fixture(autouse=True)
def _sound_world() -> Iterator[None]:
    yield
    FAULTY.clear()
    UNFOUND.clear()


def test_own_generator(tmp_path: Path) -> None:
    """One method, no base class; every question is asked once, with its tables."""
    own = Own()
    result = answered(tmp_path, own)
    for request, query in zip(own.asked, QUESTIONS, strict=True):
        assert (request.query_id, request.query) == (query.id, query.text)
        assert [table.id for table in request.tables] == list(query.gold)
        assert request.task == "question_answering"
        assert query.text in request.messages[1].content
    assert counts(result) == (144, 144, 0)
    names = (result.identity.task, result.command.generator, result.command.retriever)
    assert names == ("question_answering", "Own", "oracle")
    assert (result.run.reused, dict(result.errors)) == (False, {})
    written = lines(tmp_path)
    assert [line["text"] for line in written] == [f"answer to {q.id}" for q in QUESTIONS]
    assert all(line["seconds"] >= 0 for line in written)
    again = Own()
    assert answered(tmp_path, again).run.reused
    assert again.asked == []


def test_a_failure_that_was_mended_is_not_scored_again(tmp_path: Path) -> None:
    """A run in another way takes its answers from one that failed, and later from the mended."""

    class Failing(Generator):
        asked = 0

        def generate(self, request: GenerationRequest) -> str:
            Failing.asked += 1
            if Failing.asked == 20:
                raise RuntimeError("down")
            return "True"

    target = TARGET(("fv", "mini"), out=tmp_path, observer=Recorder())
    for failed in (1, 0):
        (first,) = target.run("oracle", generator=Failing())
        again = score_again(first, "fact-verification:labels=target", observer=Recorder())
        assert again.folder != first.folder
        assert again.stored.answers is not None
        assert again.stored.answers.failed == failed


def test_answers_that_are_scored_in_another_way_keep_their_prompt(tmp_path: Path) -> None:
    """The words of their command, also where the file of the prompt is gone."""
    path = tmp_path / "mine.yaml"
    parts = ("system", "user", "no_context_system", "no_context_user")
    path.write_text("".join(f"{part}: '{{{{ query }}}} {{{{ tables }}}}'\n" for part in parts))
    target = TARGET(("fv", "mini"), out=tmp_path, observer=Recorder())
    (first,) = target.run("bm25", generator="extractive", prompt=path, tables=2, limit=2)
    again = score_again(first, "fact-verification:labels=target", observer=Recorder())
    assert again.folder != first.folder
    other = read_run(again.folder)
    assert other.command.prompting == first.command.prompting
    assert make_manifest_again(other, observer=Recorder())[0].identity == other.identity
    path.unlink()
    back = score_again(other, "fact-verification", observer=Recorder())
    assert back.folder == first.folder


KEY = "a-key-for-nobody-1"
BAD: list[tuple[Callable[[GenerationRequest], Any], str]] = [
    (lambda _: None, "contract: generate returned None, not text or a Generation"),
    (lambda _: Generation("another", "x"), "contract: its query_id is 'another'; pass on"),
    (lambda r: Generation(r.query_id, 42), "its text is int"),  # type: ignore[arg-type]
    (lambda r: Generation(r.query_id, "", error="refused: no"), "refused: no"),
    (lambda r: Generation(r.query_id, "", error=f"401: {KEY}"), "401: ***"),
    (raising(ValueError(f"too long: {KEY}")), "raised: ValueError: too long: ***"),
    (lambda _: sys.exit(5), "raised: SystemExit: 5"),
]


def test_failed_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded, counted, shown with their queries; all others are answered."""
    monkeypatch.setenv("MY_API_KEY", KEY)
    queries = QUESTIONS[NUMBER : NUMBER + len(BAD)]
    odd = {query.id: answer for query, (answer, _) in zip(queries, BAD, strict=True)}
    result = answered(tmp_path, Odd(odd))
    n = len(BAD)
    assert counts(result) == (144, 144 - n, n)
    assert list(result.errors) == ids(queries)
    for query, line, (_, error) in zip(queries, lines(tmp_path)[NUMBER:], BAD, strict=False):
        assert error in result.errors[query.id]
        record = (line["query_id"], line["text"], line["error"])
        assert record == (query.id, "", result.errors[query.id])
        assert line["shown_rows"]
    scores = json.loads((result.folder / "scores.json").read_text(encoding="utf-8"))
    assert (scores["answers"]["asked"], scores["answers"]["failed"]) == (144, n)
    assert all(score["n"] == 144 for score in scores["scores"].values())


def test_failures_are_asked_again(tmp_path: Path) -> None:
    bad = [QUESTIONS[0].id, QUESTION.id, QUESTIONS[-1].id]
    FAULTY.update(bad)
    result = answered(tmp_path, Own())
    assert messages_of(result) == dict.fromkeys(bad, "raised: RuntimeError: the model is gone")
    FAULTY.clear()
    mended = Own()
    whole = answered(tmp_path, mended)
    assert [request.query_id for request in mended.asked] == bad
    assert dict(whole.errors) == {}
    undisturbed = answered(tmp_path / "other", Own())
    same_scores(whole, undisturbed)
    scores = [(r.folder / "scores.json").read_bytes() for r in (whole, undisturbed)]
    assert scores[0] == scores[1]
    assert len(lines(tmp_path)) == 147


def test_failures_that_stay_end_no_run_that_has_answers(tmp_path: Path) -> None:
    FAULTY.update(ids(QUESTIONS[-12:]))
    result = answered(tmp_path, Own())
    again = Own()
    assert answered(tmp_path, again).errors == result.errors
    assert [request.query_id for request in again.asked] == ids(QUESTIONS[-12:])


def test_ten_failures_before_any_success_end_a_run(tmp_path: Path) -> None:
    """What is recorded is asked again by the same command."""
    FAULTY.update(ids(QUESTIONS))
    own = Own()
    with pytest.raises(PluginError, match=r"failed on the first 10 queries.*the model is gone"):
        answered(tmp_path, own)
    assert len(own.asked) == len(lines(tmp_path)) == 10
    FAULTY.clear()
    same_scores(answered(tmp_path, Own()), answered(tmp_path / "other", Own()))


@pytest.mark.parametrize("error", [KeyboardInterrupt("stop"), ConfigError("no key set")])
def test_what_ends_a_run_keeps_what_was_answered(tmp_path: Path, error: BaseException) -> None:
    """Ctrl-C, and a generator that says what the user has to change."""
    with pytest.raises(type(error), match=str(error)):
        answered(tmp_path, Odd({QUESTION.id: raising(error)}))
    assert [line["query_id"] for line in lines(tmp_path)] == ids(QUESTIONS[:NUMBER])


def test_no_generator(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Own is a class; pass an object of it"):
        answered(tmp_path, Own)
    with pytest.raises(ConfigError, match="object is not a generator: it has no method generate"):
        answered(tmp_path, object())


class Shaky:
    """A retriever that fails on some queries."""

    def embed_corpus(self, corpus: Corpus) -> None:
        self._ids = tuple(corpus.ids)

    def retrieve(self, query: str, top_k: int) -> list[TableId]:
        if query in UNFOUND:
            raise RuntimeError("the index is gone")
        return list(self._ids[:top_k])


@pytest.mark.parametrize("n", [2, 12])
def test_failed_retrieval_is_a_failed_answer(tmp_path: Path, n: int) -> None:
    """Nobody is asked about it; when the tables are found at last, it is."""
    bad = [QUESTIONS[3], *QUESTIONS[NUMBER : NUMBER + n - 1]]
    UNFOUND.update(query.text for query in bad)
    own = Own()
    result = answered(tmp_path, own, Shaky())
    assert len(own.asked) == 144 - n
    message = "retrieval: raised RuntimeError: the index is gone"
    assert messages_of(result) == {query.id: message for query in bad}
    assert (counts(result)[2], result.stored.counts.failed) == (n, n)
    again = Own()
    assert answered(tmp_path, again, Shaky()).errors == result.errors
    assert again.asked == []

    UNFOUND.clear()
    mended = Own()
    whole = answered(tmp_path, mended, Shaky())
    assert [request.query_id for request in mended.asked] == ids(bad)
    assert dict(whole.errors) == {}
    same_scores(whole, answered(tmp_path / "other", Own(), Shaky()))


class Priced(Generator):
    """Costs money."""

    paid = True

    def __init__(self) -> None:
        self.asked = 0

    def config(self) -> dict[str, Any]:
        return {}

    def generate(self, request: GenerationRequest) -> Generation:
        self.asked += 1
        return Generation(request.query_id, "x", input_tokens=100, output_tokens=1, cost=0.25)

    def estimate_cost(self, n_requests: int, input_tokens: int) -> float:
        return n_requests * 0.25


def test_paid_requests_are_agreed_to_first(tmp_path: Path) -> None:
    estimates: list[Estimate] = []
    replies = iter([False, True])

    def confirm(estimate: Estimate) -> bool:
        estimates.append(estimate)
        return next(replies)

    priced = Priced()
    with pytest.raises(ConfigError, match="nothing was sent"):
        answered(tmp_path, priced, confirm=confirm)
    assert priced.asked == 0
    (estimate,) = estimates
    assert (estimate.plugin, estimate.requests, estimate.cost) == ("Priced", 144, 36.0)
    assert estimate.input_tokens is not None
    assert 144 * 50 < estimate.input_tokens < 144 * 2000

    result = answered(tmp_path, priced, confirm=confirm)
    assert priced.asked == 144
    assert result.stored.answers is not None
    assert (result.stored.answers.cost, result.stored.answers.input_tokens) == (36.0, 14400)
    answered(tmp_path, priced, confirm=confirm)
    assert len(estimates) == 2, "nothing is left to be sent"


# generators that answer many requests their own way: in any order, too often, not at all

Requests = Iterator[GenerationRequest]


def _good(request: GenerationRequest) -> Generation:
    return Generation(request.query_id, f"answer to {request.query_id}")


def _backwards(requests: Requests) -> Iterator[Generation]:
    return map(_good, reversed(list(requests)))


def _in_pairs(requests: Requests) -> Iterator[Generation]:
    for first, second in zip(requests, requests, strict=True):
        yield _good(second)
        yield _good(first)


def test_many_in_any_order(tmp_path: Path) -> None:
    one_by_one = answered(tmp_path / "one", Own())
    for answers in (_backwards, _in_pairs):
        result = answered(tmp_path / answers.__name__, Many(answers))
        assert counts(result) == (144, 144, 0)
        same_scores(result, one_by_one)


def test_requests_are_drawn_as_they_are_needed(tmp_path: Path) -> None:
    """An answer is on disk before the request after it is made."""
    on_disk = []

    def answers(requests: Requests) -> Iterator[Generation]:
        for request in requests:
            on_disk.append(len(lines(tmp_path)))
            yield _good(request)

    answered(tmp_path, Many(answers))
    assert on_disk == list(range(144))


@pytest.mark.parametrize(
    ("answers", "missing"),
    [
        (lambda rs: (_good(r) for r in rs if r.query_id != QUESTION.id), [QUESTION.id]),
        (lambda rs: (_good(next(rs)) for _ in range(NUMBER)), ids(QUESTIONS[NUMBER:])),
    ],
)
def test_never_answered(tmp_path: Path, answers: Any, missing: list[str]) -> None:
    """Those it drew and left, and those it did not even draw."""
    result = answered(tmp_path, Many(answers))
    assert dict(result.errors) == dict.fromkeys(missing, "missing: no answer was given")
    assert counts(result)[2] == len(missing)
    assert {line["query_id"] for line in lines(tmp_path)} == set(ids(QUESTIONS))


@pytest.mark.parametrize(
    ("odd", "parts"),
    [
        (raising(ValueError("no")), ["raised ValueError in generate_many: no"]),
        (lambda _: sys.exit(0), ["raised SystemExit in generate_many: 0"]),
        (lambda _: Generation("nobody", "x"), ["'nobody'", "that is open"]),
        (lambda _: Generation(QUESTIONS[0].id, "x"), [QUESTIONS[0].id, "is open"]),
    ],
)
def test_many_that_breaks(tmp_path: Path, odd: Any, parts: list[str]) -> None:
    """What came before is kept; the same command goes on."""

    def answers(requests: Requests) -> Iterator[Any]:
        for request in requests:
            yield odd(request) if request.query_id == QUESTION.id else _good(request)

    with pytest.raises(PluginError) as caught:
        answered(tmp_path, Many(answers))
    for part in ("generator Many", *parts):
        assert part in str(caught.value)
    assert [line["query_id"] for line in lines(tmp_path)] == ids(QUESTIONS[:NUMBER])
