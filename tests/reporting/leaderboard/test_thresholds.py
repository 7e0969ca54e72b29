"""Every threshold that accuses catches something that no other check does.

The rules are asked directly, with what a verified run of ``mini`` hands them.
"""

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from target_bench.core.schema import Generation, Query, Retrieval, TableId
from target_bench.core.task_names import make_task
from target_bench.data.load import load, of_task
from target_bench.reporting.leaderboard import checks
from target_bench.reporting.leaderboard.copies import copied
from target_bench.reporting.leaderboard.submission import SubmittedPredictions
from target_bench.runs.record_log import Answered

MINI = load("mini")
RANKED = of_task(MINI, "retrieval")
OTHERS = tuple(MINI.corpus.ids)
HARD = set(range(0, len(RANKED.queries), 6))


def _wrong(query: Query) -> tuple[TableId, ...]:
    return tuple(table for table in OTHERS if table not in query.gold)[:10]


def _gold_on_top(query: Query) -> tuple[TableId, ...]:
    """The gold tables first, not in the order in which the gold file has them."""
    return (*reversed(query.gold), *_wrong(query))[:10]


def _rankings(knows: Callable[[int], bool]) -> Any:
    tops = [
        Retrieval(q.id, _gold_on_top(q) if knows(i) else _wrong(q))
        for i, q in enumerate(RANKED.queries)
    ]
    hard = [i in HARD for i in range(len(tops))]
    document = SimpleNamespace(retriever="mine", generator=None, identity={})
    return SimpleNamespace(answers=None, dataset=RANKED, top=tops, hard=hard, document=document)


def test_all_gold_tables_on_top_are_rejected_in_any_order() -> None:
    [(level, said)] = checks.original(_rankings(lambda _: True))
    assert level == "rejected"
    assert "280 of 280 queries have" in said
    assert "queries that BM25 fails have" in said


def test_gold_tables_of_hard_queries_alone() -> None:
    found = checks.original(_rankings(lambda i: i in HARD or i % 6 < 4))
    [(level, said)] = found
    assert level == "suspicious"
    assert said.startswith("47 of 47 queries that BM25 fails have all their gold tables on top")


def test_rankings_that_know_a_part_are_not_accused() -> None:
    knows_half = _rankings(lambda i: i % 2 == 0 if i not in HARD else i % 4 == 0)
    assert list(checks.original(knows_half)) == []


def _answers(task: str, said: Mapping[str, str], identity: str = "mine") -> Any:
    """A run whose answers are as given, and the questions' own gold tables as its rankings."""
    dataset = of_task(MINI, task)
    found = {name: Answered(Generation(name, text), (), False) for name, text in said.items()}
    answers = SubmittedPredictions(found)
    rankings = SubmittedPredictions({q.id: Retrieval(q.id, q.gold) for q in dataset.queries})
    document = SimpleNamespace(
        corpus="mini",
        split="test",
        task=task,
        corpus_fingerprint="",
        identity={"generator": {"class": identity}},
        retriever="bm25",
        generator="mine",
        cutoffs=[10],
    )
    return SimpleNamespace(
        task=make_task(task),
        answers=answers,
        predictions=answers,
        rankings=rankings,
        dataset=dataset,
        document=document,
        top=list(rankings.by_query.values()),
        judgements={},
        basis=False,
        name="theirs",
        whole=False,
        authors=frozenset({"ann other"}),
    )


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_long_references_word_for_word(share: float) -> None:
    """Where the tables hold the answers, so that a right one proves nothing."""
    queries = [q for q in of_task(MINI, "table_to_text").queries if q.references]
    told = queries[: round(share * len(queries))]
    run = _answers("table_to_text", {q.id: q.references[0] for q in told})
    found = list(checks.original(run))
    assert [level for level, _ in found] == (["suspicious"] if share == 1 else [])
    assert all("long references are given word for word" in said for _, said in found)


def _wrong_answers(n_shared: int, words: int = 6) -> tuple[dict[str, str], dict[str, str]]:
    queries = of_task(MINI, "question_answering").queries
    theirs = {q.id: " ".join([f"w{i}"] * words) for i, q in enumerate(queries)}
    mine = {name: text if i < n_shared else "no" for i, (name, text) in enumerate(theirs.items())}
    return mine, theirs


@pytest.mark.parametrize(
    ("n_shared", "words", "identity", "level"),
    [
        (80, 6, "mine", "suspicious"),
        (60, 6, "mine", None),
        (80, 4, "mine", None),
        (80, 6, "theirs", None),
    ],
)
def test_wrong_answers_of_another(
    n_shared: int, words: int, identity: str, level: str | None
) -> None:
    """Half of at least five words, of another generator."""
    mine, theirs = _wrong_answers(n_shared, words)
    run = _answers("question_answering", mine, identity)
    other = _answers("question_answering", theirs, "theirs")
    card: Any = SimpleNamespace(authors=("Eve Copier",))
    assert [found for found, _ in copied(run, card, other)] == ([level] if level else [])


def _timed(seconds: float = 1.0, n: int = 280, **latency: float) -> Any:
    document = SimpleNamespace(
        seconds={"retrieve": seconds}, timed_queries=n, latency_ms=latency, retriever="mine"
    )
    return SimpleNamespace(document=document, dataset=RANKED, answers=None)


def _answered(together: float, *each: float) -> Any:
    document = SimpleNamespace(seconds={"generate": together}, latency_ms=None)
    generations = [Generation(str(x), "no", seconds=x) for x in each]
    answers = SubmittedPredictions({one.query_id: Answered(one, (), False) for one in generations})
    return SimpleNamespace(document=document, dataset=RANKED, answers=answers)


TIMES: dict[str, Any] = {
    "less than nothing": _timed(p50=-1.0),
    "were needed to rank no query": _timed(n=0),
    "queries were ranked in": _timed(seconds=1e-5),
    "percentiles of latency fall": _timed(p50=3.0, p95=2.0, p99=4.0),
    "more than there are": _timed(p50=3.0, queries=281.0),
    "half of all queries took less": _timed(p50=1e-4),
    "answers took": _answered(1e-6, 1.0, 2.0),
    "one answer took": _answered(2.0, 1.0, 5.0),
}


@pytest.mark.parametrize("said", TIMES)
def test_impossible_times(said: str) -> None:
    found: Iterator[tuple[str, str]] = checks.times(TIMES[said])
    assert any(level == "rejected" and said in message for level, message in found)


@pytest.mark.parametrize("p50", [4000.0, 0.003])
def test_a_single_query_a_thousand_times_its_share(p50: float) -> None:
    """The share is 3.6 ms."""
    [(level, said)] = checks.times(_timed(p50=p50))
    assert level == "suspicious"
    assert "in a batch" in said


def test_times_that_can_be() -> None:
    for run in (_timed(p50=3.0, p95=4.0, p99=4.0, queries=280.0), _answered(7.0, 1.0, 5.0)):
        assert list(checks.times(run)) == []
