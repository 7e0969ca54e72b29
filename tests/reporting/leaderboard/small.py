"""Small entries, made by the real classes."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Score
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.submission import RunManifest
from target_bench.reporting.leaderboard.verify import Entry, ScoredRun

N = 60
CUTOFFS = (1, 5, 10)

Values = NDArray[np.float64]


def card(name: str = "System", **changes: Any) -> Card:
    fields: dict[str, Any] = {
        "name": name, "authors": ("Ann Other",), "kind": "dense", "parameters": 110_000_000,
        "trained_on": {"alpha": "no", "beta": "no"}, "chosen_on": "validation",
        "licence": "Apache-2.0",
    }  # fmt: skip
    return Card(**{**fields, **changes})


def recalls(share: float, n: int = N) -> Values:
    """Recall of n queries: the first ``share`` of them have their table."""
    return (np.arange(n) < round(share * n)).astype(np.float64)


def retrieval(share: float, corpus: str = "alpha", n: int = N, **changes: Any) -> ScoredRun:
    """A run of which ever more queries have their table, down to a ``share`` of them at 10.

    Args:
        changes: fields of the run or of its manifest.
    """
    values = {
        f"recall@{k}": recalls(share * part, n)
        for k, part in zip(CUTOFFS, (0.5, 0.8, 1), strict=True)
    }
    values["mrr"] = values["recall@1"]
    manifest = RunManifest.model_construct(
        corpus=corpus, split="test", task="retrieval", retriever="dense:model=m",
        distractors=[], top_k=list(CUTOFFS), corpus_fingerprint=hashed(corpus),
        queries_fingerprint=hashed(corpus, "queries"), date="2026-01-31",
    )  # fmt: skip
    ids = [f"{corpus}-{i}" for i in range(n)]
    return changed(ScoredRun(manifest, scores(values), ids, values, {"asked": n}), **changes)


def answers(share: float, basis: ScoredRun, **changes: Any) -> ScoredRun:
    """Answers to the same queries, of which a ``share`` are right."""
    values = {**basis.per_query, "accuracy": recalls(share, len(basis.query_ids))}
    fields = {
        "task": "fact_verification", "generator": "extractive", "is_basis": False, "about": None,
        "scores": scores(values), "per_query": values, "counts": {"asked": 60, "failed": 1},
        "queries_fingerprint": hashed(basis.manifest.corpus, "answers"),
    }  # fmt: skip
    return changed(basis, **{**fields, **changes})


def changed(run: ScoredRun, **fields: Any) -> ScoredRun:
    """A run with other values, of its own or of its manifest."""
    own = {name: fields.pop(name) for name in list(fields) if name in ScoredRun.__annotations__}
    return replace(run, manifest=run.manifest.model_copy(update=fields), **own)


def scores(values: Mapping[str, Values]) -> dict[str, Score]:
    return {
        name: Score(float(v.mean()), max(0, v.mean() - 0.1), min(1, v.mean() + 0.1), len(v), "s")
        for name, v in values.items()
    }


def entry(id_: str, *runs: ScoredRun, its_card: Card | None = None, notes: Any = ()) -> Entry:
    return Entry(id_, its_card or card(id_.capitalize()), list(runs), list(notes))


def board() -> list[Entry]:
    """Five systems on two corpora, of which three have both."""
    bm25 = [retrieval(0.6, retriever="bm25"), retrieval(0.5, "beta", retriever="bm25")]
    best, also = retrieval(0.95), retrieval(0.9, "beta")
    note = "58 of 60 queries have all gold tables on top"
    plain = card("Plain BM25", kind="lexical", parameters=0, chosen_on="nothing")
    by_far = card("Best, by far", trained_on={"alpha": "yes", "beta": "no"})
    close = card("Close", parameters=7_000_000_000, chosen_on="test")
    odd = card("Odd one", parameters=None, authors=("Somebody Else",))
    untold = card("Untold", trained_on={"alpha": "unknown"})
    close_run = retrieval(0.93)
    odd_runs = retrieval(0.3), retrieval(0.2, "beta")
    return [
        entry("bm25", *bm25, answers(0.4, bm25[0]), its_card=plain),
        entry("best", best, also, answers(0.9, best), its_card=by_far),
        entry("close", close_run, answers(0.7, close_run, generator="g:x=1"), its_card=close),
        entry("odd", *odd_runs, its_card=odd, notes=[note]),
        entry("untold", retrieval(0.55), its_card=untold),
    ]


def hashed(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()
