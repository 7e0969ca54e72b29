"""Small entries, made by the real classes."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.harness.score import Scores
from target_bench.reporting.leaderboard.archive import SubmittedRun
from target_bench.reporting.leaderboard.card import Card
from target_bench.reporting.leaderboard.verify import Submission

N = 60
CUTOFFS = (1, 5, 10)

Values = NDArray[np.float64]


class Run(NamedTuple):
    manifest: SubmittedRun
    scores: Scores[Any]


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


def retrieval(share: float, corpus: str = "alpha", n: int = N, **changes: Any) -> Run:
    """A run of which ever more queries have their table, down to a ``share`` of them at 10.

    Args:
        changes: fields of its scores or of its manifest.
    """
    values = {
        f"recall@{k}": recalls(share * part, n)
        for k, part in zip(CUTOFFS, (0.5, 0.8, 1), strict=True)
    }
    values["mrr"] = values["recall@1"]
    manifest = SubmittedRun.model_construct(
        corpus=corpus, split="test", task="retrieval", retriever="dense:model=m",
        distractors=[], top_k=list(CUTOFFS), corpus_fingerprint=hashed(corpus),
        queries_fingerprint=hashed(corpus, "queries"), date="2026-01-31",
    )  # fmt: skip
    ids = [f"{corpus}-{i}" for i in range(n)]
    return changed(Run(manifest, Scores(scores(values), ids, values, {}, Counts(n))), **changes)


def answers(share: float, basis: Run, **changes: Any) -> Run:
    """Answers to the same queries, of which a ``share`` are right."""
    values = {**basis.scores.per_query, "accuracy": recalls(share, len(basis.scores.query_ids))}
    fields = {
        "task": "fact_verification", "generator": "extractive", "about": None,
        "by_metric": scores(values), "per_query": values,
        "counts": AnswerCounts(60, 0, 1, 0, 0, 0, None, None, None),
        "queries_fingerprint": hashed(basis.manifest.corpus, "answers"),
    }  # fmt: skip
    return changed(basis, **{**fields, **changes})


def changed(run: Run, **fields: Any) -> Run:
    """A run with other values, of its scores or of its manifest."""
    ours = {name: fields.pop(name) for name in list(fields) if name in Scores.__annotations__}
    return Run(run.manifest.model_copy(update=fields), replace(run.scores, **ours))


def scores(values: Mapping[str, Values]) -> dict[str, Score]:
    return {
        name: Score(float(v.mean()), max(0, v.mean() - 0.1), min(1, v.mean() + 0.1), len(v), "s")
        for name, v in values.items()
    }


def entry(id_: str, *runs: Run, its_card: Card | None = None, notes: Any = ()) -> Submission:
    """A submission whose run folders are ``run-0``, ``run-1`` and so on."""
    folders = {f"run-{i}": run for i, run in enumerate(runs)}
    manifests = {folder: run.manifest for folder, run in folders.items()}
    its_scores = {folder: run.scores for folder, run in folders.items()}
    return Submission(id_, its_card or card(id_.capitalize()), manifests, its_scores, notes)


def board() -> list[Submission]:
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
