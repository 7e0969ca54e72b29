"""Small entries, made by the real classes."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.reporting.leaderboard.documents import Card
from target_bench.reporting.leaderboard.entry import Entry, Finding, RunEntry

N = 60
CUTOFFS = (1, 5, 10)

Values = NDArray[np.float64]


def card(name: str = "System", **changes: Any) -> Card:
    fields: dict[str, Any] = {
        "name": name, "authors": ("Ann Other",), "retriever_kind": "dense",
        "parameters": 110_000_000, "training_data": {"alpha": "no", "beta": "no"},
        "chosen_on": "validation", "hardware": "2 cores", "licence": "Apache-2.0",
        "open_weights": True,
    }  # fmt: skip
    return Card(**{**fields, **changes})


def recalls(share: float, n: int = N) -> Values:
    """Recall of n queries: the first ``share`` of them have their table."""
    return (np.arange(n) < round(share * n)).astype(np.float64)


def retrieval(share: float, corpus: str = "alpha", n: int = N, **changes: Any) -> RunEntry:
    """A run of which ever more queries have their table, down to a ``share`` of them at 10."""
    values = {
        f"recall@{k}": recalls(share * part, n)
        for k, part in zip(CUTOFFS, (0.5, 0.8, 1), strict=True)
    }
    values["mrr"] = values["recall@1"]
    fields = {
        "corpus": corpus, "split": "test", "task": "retrieval", "retriever": "dense:model=m",
        "generator": None, "title": "", "about": None, "distractors": [], "basis": False,
        "answers": None, "environment": {}, "latency_ms": None, "generator_identity": {},
        "cutoffs": list(CUTOFFS), "scores": scores(values), "per_query": values,
        "query_ids": [f"{corpus}-{i}" for i in range(n)], "counts": Counts(n, n, 0, 0, 0, 0, 0),
        "corpus_fingerprint": hashed(corpus), "queries_fingerprint": hashed(corpus, "queries"),
        "timed_queries": n, "date": "2026-01-31",
        "seconds": {"retrieve": 0.6, "embed_corpus": 2.0},
        "retriever_identity": {"class": "target_bench.retrievers.dense:Dense"},
    }  # fmt: skip
    return RunEntry.model_construct(**{**fields, **changes})


def answers(share: float, basis: RunEntry, **changes: Any) -> RunEntry:
    """Answers to the same queries, of which a ``share`` are right."""
    n = len(basis.query_ids)
    values = {**basis.per_query, "accuracy": recalls(share, n)}
    fields = {
        "task": "fact_verification", "generator": "extractive", "basis": False, "about": None,
        "scores": scores(values), "per_query": values, "seconds": {"generate": 3.0},
        "answers": AnswerCounts(n, n, 1, 2, 0, 0, 100 * n, 0, 0.0), "timed_queries": 0,
        "generator_identity": {"class": "target_bench.generators.extractive:Extractive"},
        "queries_fingerprint": hashed(basis.corpus, "answers"),
    }  # fmt: skip
    return basis.model_copy(update={**fields, **changes})


def changed(model: Any, **fields: Any) -> Any:
    """A run or an entry with other values."""
    return replace(model, **fields) if isinstance(model, Entry) else model.model_copy(update=fields)


def scores(values: Mapping[str, Values]) -> dict[str, Score]:
    return {
        name: Score(float(v.mean()), max(0, v.mean() - 0.1), min(1, v.mean() + 0.1), len(v), "s")
        for name, v in values.items()
    }


def entry(id_: str, *runs: RunEntry, its_card: Card | None = None, **changes: Any) -> Entry:
    fields = {"verdict": "accepted", "findings": [], "checked_by": "target-bench 0.1.0"} | changes
    its_card = its_card or card(id_.capitalize())
    return Entry(id_, its_card, list(runs), fingerprint=hashed(id_), **fields)


def board() -> list[Entry]:
    """Five systems on two corpora, of which three have both."""
    bm25 = [retrieval(0.6, retriever="bm25"), retrieval(0.5, "beta", retriever="bm25")]
    best, also = retrieval(0.95), retrieval(0.9, "beta")
    finding = Finding("original", "note", "58 of 60 queries have all gold tables on top", 0)
    plain = card("Plain BM25", retriever_kind="lexical", parameters=0, chosen_on="nothing")
    by_far = card("Best, by far", training_data={"alpha": "yes", "beta": "no"})
    close = card("Close", parameters=7_000_000_000, open_weights=False, chosen_on="test")
    odd = card("Odd one", parameters=None, authors=("Somebody Else",))
    untold = card("Untold", training_data={"alpha": "unknown"})
    close_run = retrieval(0.93, seconds={"retrieve": 0.06})
    return [
        entry("bm25", *bm25, answers(0.4, bm25[0]), its_card=plain),
        entry("best", best, also, answers(0.9, best), its_card=by_far),
        entry("close", close_run, answers(0.7, close_run, generator="g:x=1"), its_card=close),
        entry(
            "odd", retrieval(0.3), retrieval(0.2, "beta"), its_card=odd, findings=[finding]
        ),
        entry("untold", retrieval(0.55, seconds={}, timed_queries=0), its_card=untold),
    ]  # fmt: skip


def hashed(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()
