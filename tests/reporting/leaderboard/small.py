"""Small entries, made by the real classes."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.reporting.leaderboard.documents import Card
from target_bench.reporting.leaderboard.entry import SUFFIX, Entry, Finding, RunEntry, Verdict

N = 60
CUTOFFS = (1, 5, 10)

Values = NDArray[np.float64]


def card(name: str = "System", **changed: Any) -> Card:
    fields: dict[str, Any] = {
        "name": name,
        "authors": ("Ann Other",),
        "retriever_kind": "dense",
        "parameters": 110_000_000,
        "training_data": {"alpha": "no", "beta": "no"},
        "hardware": "2 cores",
        "licence": "Apache-2.0",
        "open_weights": True,
    }
    return Card(**{**fields, **changed})


def found(share: float, n: int = N) -> Values:
    """Recall of n queries: the first ``share`` of them have their table."""
    return (np.arange(n) < round(share * n)).astype(np.float64)


def retrieval(share: float, corpus: str = "alpha", **changed: Any) -> RunEntry:
    """A run of which ever more queries have their table, down to a ``share`` of them at 10."""
    n = changed.pop("n", N)
    values = {
        f"recall@{k}": found(share * part, n)
        for k, part in zip(CUTOFFS, (0.5, 0.8, 1), strict=True)
    }
    values["mrr"] = values["recall@1"]
    ready = {
        "corpus": corpus,
        "split": "test",
        "task": "retrieval",
        "retriever": "dense:model=m",
        "generator": None,
        "title": "",
        "about": None,
        "distractors": [],
        "basis": False,
        "answers": None,
        "environment": {},
        "latency_ms": None,
        "generator_identity": {},
        "cutoffs": list(CUTOFFS),
        "scores": scores(values),
        "query_ids": [f"{corpus}-{i}" for i in range(n)],
        "per_query": values,
        "counts": Counts(n, n, 0, 0, 0, 0, 0),
        "corpus_fingerprint": hashed(corpus),
        "queries_fingerprint": hashed(corpus, "queries"),
        "predictions_sha256": hashed(share),
        "seconds": {"retrieve": 0.6, "embed_corpus": 2.0},
        "timed_queries": n,
        "retriever_identity": {"class": "target_bench.retrievers.dense:Dense"},
        "date": "2026-01-31",
    }
    return RunEntry.model_construct(**{**ready, **changed})


def answers(share: float, basis: RunEntry, **changed: Any) -> RunEntry:
    """Answers to the same queries, of which a ``share`` are right."""
    n = len(basis.query_ids)
    values = {**basis.per_query, "accuracy": found(share, n)}
    ready = {
        "task": "fact_verification",
        "generator": "extractive",
        "basis": False,
        "about": None,
        "scores": scores(values),
        "per_query": values,
        "answers": AnswerCounts(n, n, 1, 2, 0, 0, 100 * n, 0, 0.0),
        "seconds": {"generate": 3.0},
        "timed_queries": 0,
        "generator_identity": {"class": "target_bench.generators.extractive:Extractive"},
        "queries_fingerprint": hashed(basis.corpus, "answers"),
    }
    return basis.model_copy(update={**ready, **changed})


def changed(one: Any, **fields: Any) -> Any:
    """A run or an entry with other values."""
    return one.model_copy(update=fields)


def scores(values: Mapping[str, Values]) -> dict[str, Score]:
    return {
        name: Score(float(v.mean()), max(0, v.mean() - 0.1), min(1, v.mean() + 0.1), len(v), "s")
        for name, v in values.items()
    }


def entry(
    id_: str,
    *runs: RunEntry,
    its_card: Card | None = None,
    verdict: Verdict = "accepted",
    findings: Sequence[Finding] = (),
) -> Entry:
    made = its_card or card(id_.capitalize())
    return Entry.model_construct(
        id=id_,
        card=made,
        runs=list(runs),
        verdict=verdict,
        findings=list(findings),
        fingerprint=hashed(id_),
        checked_by="target-bench 0.1.0",
    )


def board() -> list[Entry]:
    """Five systems on two corpora, one of them suspicious, and one that was rejected."""
    bm25 = [retrieval(0.6, retriever="bm25"), retrieval(0.5, "beta", retriever="bm25")]
    best, also = retrieval(0.95), retrieval(0.9, "beta")
    return [
        entry(
            "bm25",
            *bm25,
            answers(0.4, bm25[0]),
            its_card=card("Plain BM25", retriever_kind="lexical", parameters=0),
        ),
        entry(
            "best",
            best,
            also,
            answers(0.9, best),
            answers(0.7, best, generator="other:model=x"),
            its_card=card("Best, by far", training_data={"alpha": "yes", "beta": "no"}),
        ),
        entry(
            "close",
            retrieval(0.93, seconds={"retrieve": 0.06}),
            its_card=card("Close", parameters=7_000_000_000, open_weights=False),
        ),
        entry(
            "odd",
            retrieval(0.3),
            retrieval(0.2, "beta"),
            its_card=card("Odd one", parameters=None, authors=("Somebody Else",)),
            verdict="suspicious",
            findings=[
                Finding(check="times", level="suspicious", message="faster than light", run=0)
            ],
        ),
        entry(
            "untold",
            retrieval(0.55, seconds={}, timed_queries=0),
            its_card=card("Untold", training_data={"alpha": "unknown"}),
        ),
        entry("forged", retrieval(1.0), its_card=card("Forged"), verdict="rejected"),
    ]


def write(folder: Path, entries: Sequence[Entry]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for i, one in enumerate(entries):
        one.write(folder / f"{i}{SUFFIX}")
    return folder


def hashed(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()


HOSTILE = (
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<a href=\"javascript:document.title='owned'\">link</a>",
    '"><svg onload=document.title="owned">',
    "]]></style></title></textarea><!-- <script> -->",
    "{{ 7 * 7 }} {% raw %} ${document.title} <%= 1 %>",
    "\u2028\u2029 line separators",
    "\u202egnirts desrever\u202c and \u2066isolate",
    "zero\u200bwidth, a\u0301ccents, \U0001f600, \ufeff",
)
"""Texts that try to be more than text."""
