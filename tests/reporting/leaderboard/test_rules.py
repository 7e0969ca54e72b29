"""The rules in the documents are the checks; every threshold catches what no other check does.

The rules are asked directly, with what a verified run of ``mini`` hands them.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from target_bench.core.schema import Generation, Query, Retrieval, TableId
from target_bench.core.task_names import make_task
from target_bench.data.load import load, of_task
from target_bench.reporting.leaderboard import checks, documents, submission
from target_bench.reporting.leaderboard.checks import CHECKS, at_least, by_chance, readable
from target_bench.reporting.leaderboard.copies import alike, likeness
from target_bench.reporting.leaderboard.submission import SubmittedPredictions
from target_bench.runs.record_log import Answered
from tests.builders import ROOT

MINI = load("mini")
RANKED = of_task(MINI, "retrieval")
HARD = set(range(0, len(RANKED.queries), 6))


def test_every_check_is_a_rule_in_the_documents() -> None:
    """In short on the page, in full in the reference, which is made of the docstrings."""
    page, reference = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("leaderboard.md", "api.md")
    )
    for name in CHECKS:
        assert f"\n| `{name}` | " in page
        assert f"\n::: target_bench.reporting.leaderboard.checks.{name}\n" in reference


def test_limits_are_those_of_the_rules() -> None:
    rule, limits = " ".join(str(readable.__doc__).split()), submission
    for limit in (
        f"at most {limits.LARGEST_ARCHIVE // limits.MEBI} MiB and {limits.MOST_FILES} files",
        f"at most {limits.LARGEST_TOTAL // limits.MEBI} MiB",
        f"{limits.LARGEST_RATIO} times",
        f"a line has at most {limits.LARGEST_LINE // limits.MEBI} MiB",
        f"a document {limits.LARGEST_DOCUMENT // limits.MEBI} MiB",
        f"together {limits.LARGEST_DOCUMENTS // limits.MEBI} MiB",
        f"{limits.MOST_LINES:,} lines",
        f"{documents.LONGEST_ANSWER:,} characters",
        f"{limits.LONGEST_ANSWERS:,} together",
        f"2^{documents.LARGEST_INTEGER.bit_length() - 1}",
        f"{limits.DEEPEST} levels",
    ):
        assert limit in rule


def test_bounds() -> None:
    """Against closed forms: all of n seen leaves 0.001 ** (1 / n)."""
    assert at_least(0, 10) == 0
    assert abs(at_least(280, 280) - 0.001 ** (1 / 280)) < 1e-9
    assert at_least(30, 30) < 0.8 < at_least(31, 31)
    assert at_least(50, 100) < 0.5
    assert abs(by_chance(2, 2, 2, 4) - 1 / 6) < 1e-12
    assert by_chance(0, 2, 2, 4) == 1


def test_alike() -> None:
    rankings = [(["g", "a", "b"], ["a", "g", "b"], "g"), (["x", "y", "g"], ["x", "y", "g"], "g")]
    assert alike(rankings) == (4, 1.0, 0.75, 1.0, 0.5)
    assert alike([(["x", "y"], ["x"], "g"), ([], ["x"], "g")]) == (1, 1.0, 1.0, 0.0, 0.5)


def _wrong(query: Query) -> tuple[TableId, ...]:
    return tuple(table for table in MINI.corpus.ids if table not in query.gold)[:10]


def _rankings(knows: Callable[[int], bool]) -> Any:
    """Rankings with the gold tables first, not in the order in which the gold file has them."""
    tops = [
        Retrieval(q.id, (*reversed(q.gold if knows(i) else ()), *_wrong(q))[:10])
        for i, q in enumerate(RANKED.queries)
    ]
    hard = [i in HARD for i in range(len(tops))]
    document = SimpleNamespace(retriever="mine", generator=None, identity={})
    return SimpleNamespace(answers=None, dataset=RANKED, top=tops, hard=hard, document=document)


@pytest.mark.parametrize(
    ("knows", "level", "message"),
    [
        (lambda _: True, "rejected", "280 of 280 queries have"),
        (lambda i: i in HARD or i % 6 < 4, "suspicious", "47 of 47 queries that BM25 fails have"),
        (lambda i: i % 2 == 0 if i not in HARD else i % 4 == 0, None, ""),
    ],
)
def test_gold_tables_on_top(knows: Callable[[int], bool], level: str | None, message: str) -> None:
    findings = list(checks.original(_rankings(knows)))
    assert [found_level for found_level, _ in findings] == ([level] if level else [])
    assert message in str(findings)


def _answers(task: str, texts: Mapping[str, str], identity: str = "mine") -> Any:
    """A run whose answers are as given, and the questions' own gold tables as its rankings."""
    dataset = of_task(MINI, task)
    answered = {name: Answered(Generation(name, text), (), False) for name, text in texts.items()}
    answers = SubmittedPredictions(answered)
    rankings = SubmittedPredictions({q.id: Retrieval(q.id, q.gold) for q in dataset.queries})
    document = SimpleNamespace(
        corpus="mini", split="test", task=task, corpus_fingerprint="", retriever="bm25",
        identity={"generator": {"class": identity}}, generator="mine", cutoffs=[10],
    )  # fmt: skip
    return SimpleNamespace(
        task=make_task(task), answers=answers, predictions=answers, rankings=rankings,
        dataset=dataset, document=document, top=list(rankings.by_query.values()), judgements={},
    )  # fmt: skip


@pytest.mark.parametrize(("share", "levels"), [(1.0, ["suspicious"]), (0.3, [])])
def test_long_references_word_for_word(share: float, levels: list[str]) -> None:
    """Where the tables hold the answers, so that a right one proves nothing."""
    queries = [q for q in of_task(MINI, "table_to_text").queries if q.references]
    copies = {q.id: q.references[0] for q in queries[: round(share * len(queries))]}
    findings = list(checks.original(_answers("table_to_text", copies)))
    assert [level for level, _ in findings] == levels
    assert all("long references are given word for word" in message for _, message in findings)


@pytest.mark.parametrize(
    ("n_shared", "words", "identity", "kind"),
    [(80, 6, "mine", "similar"), (60, 6, "mine", ""), (80, 4, "mine", ""), (80, 6, "theirs", "")],
)
def test_wrong_answers_of_another(n_shared: int, words: int, identity: str, kind: str) -> None:
    """Half of at least five words, of another generator."""
    queries = of_task(MINI, "question_answering").queries
    theirs = {q.id: " ".join([f"w{i}"] * words) for i, q in enumerate(queries)}
    mine = {name: text if i < n_shared else "no" for i, (name, text) in enumerate(theirs.items())}
    run = _answers("question_answering", mine, identity)
    other = _answers("question_answering", theirs, "theirs")
    assert likeness(run, other.document, other.rankings, other.answers, "theirs")[0] == kind


@pytest.mark.parametrize(
    ("times", "n_answers", "message"),
    [
        ({"p50": -1.0}, 0, "less than nothing"),
        ({"retrieve": 1e-5}, 0, "280 queries ranked in"),
        ({"p50": 1e-4}, 0, "median query ranked in"),
        ({"generate": 1e-6}, 2, "2 answers given in"),
        ({"retrieve": 1.0, "p50": 3.0, "p95": 4.0, "generate": 7.0}, 2, None),
        ({}, 0, None),
    ],
)
def test_impossible_times(times: dict[str, float], n_answers: int, message: str | None) -> None:
    document = SimpleNamespace(
        seconds={name: x for name, x in times.items() if name in ("retrieve", "generate")},
        latency_ms={name: x for name, x in times.items() if name.startswith("p")},
        timed_queries=280,
    )
    answers = SubmittedPredictions({str(i): None for i in range(n_answers)})
    run: Any = SimpleNamespace(document=document, answers=answers if n_answers else None)
    findings = list(checks.times(run))
    assert [level for level, _ in findings] == (["rejected"] if message else [])
    assert message is None or message in findings[0][1]
