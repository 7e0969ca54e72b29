"""Warnings about the data of a run, its rankings and its files, as texts."""

from collections.abc import Iterable, Iterator
from typing import Any

from target_bench.core.metric import Counts
from target_bench.core.schema import Dataset, Retrieval
from target_bench.core.task import Task
from target_bench.core.text_tables import counted
from target_bench.harness.stages.score import Scored


def too_deep(dataset: Dataset, depth: int) -> str:
    """Write the warning that rankings hold fewer tables than asked for."""
    return (
        f"top_k={depth} is more than the {counted(len(dataset.corpus), 'table')} of "
        f"{dataset.info.name} {dataset.split}, so recall@{depth} is 1 for a retriever that lists "
        "them all; a smaller --top-k tells more"
    )


def about_labels(dataset: Dataset, task: Task[Any], scored: Scored[Any]) -> Iterator[str]:
    """Write the warning about queries without a reference."""
    if scored.counts.unlabelled:
        yield _unlabelled(dataset, task, scored)


def _unlabelled(dataset: Dataset, task: Task[Any], scored: Scored[Any]) -> str:
    n_queries, n = len(dataset.queries), scored.counts.unlabelled
    what = "gold table" if task.answer == "ranking" else "reference answer"
    so = f"scores are over the other {n_queries - n:,}"
    if n == n_queries:
        so = "there are no scores"
        if task.answer == "ranking":
            so += ". target-bench report shows rankings side by side; docs/data.md says how to "
            so += "label tables"
        if scored.scores:
            so = f"only {', '.join(scored.scores)} are computed, which need none"
    how_many = f"{n:,} of {counted(n_queries, 'query')} {'has' if n == 1 else 'have'}"
    return f"{dataset.info.name} {dataset.split}: {how_many} no {what}: {so}"


def about_scores(label: str, counts: Counts, rankings: Iterable[Retrieval]) -> Iterator[str]:
    """Write the warnings about scores that do not give the order of a ranking."""
    if counts.resorted:
        yield (
            f"{label} gave {counts.resorted} of {counts.answered} rankings in another "
            "order than their scores; they were sorted by score, higher first. Return "
            "similarities rather than distances, or ids without scores."
        )
    scored = sum(1 for ranking in rankings if ranking.scores)
    if counts.cut > scored / 2:
        yield (
            f"{label}: in {counts.cut} of {scored} scored rankings a cutoff divides tables of "
            "equal score. Which of them count is decided by a hash of their ids. A retriever of "
            "your own should return scores that tell tables apart: as they are before any "
            "sigmoid, in double precision, not rounded; or ids without scores, best first."
        )
