"""After each epoch: does the model in training find the gold tables of the validation split?"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from target_bench.core.schema import Dataset
from target_bench.metrics.retrieval import judge, metrics_at

DEPTH = 10
MEASURES = ("recall@1", "recall@10", "mrr")
DECISIVE = "mrr"
"""What decides which epoch is kept: the mean of 1 / rank, over the first ten tables."""


class Validation:
    """Retrieval, as users run it, over splits that are not trained on.

    Args:
        in_use: gives a retriever with the model in training, for as long as a block lasts.
        datasets: the splits.
    """

    def __init__(
        self, in_use: Callable[[], AbstractContextManager[Any]], datasets: Sequence[Dataset]
    ) -> None:
        self._in_use = in_use
        self._datasets = datasets

    def scores(self) -> dict[str, float]:
        """Return each of the measures, as a mean over the splits."""
        with self._in_use() as retriever:
            each = [_of(dataset, retriever) for dataset in self._datasets]
        return {name: round(float(np.mean([s[name] for s in each])), 6) for name in MEASURES}


def _of(dataset: Dataset, retriever: Any) -> dict[str, float]:
    retriever.embed_corpus(dataset.corpus)
    found = retriever.retrieve_batch([query.text for query in dataset.queries], DEPTH)
    rankings = [[table for table, _ in ranking] for ranking in found]
    judged = judge(rankings, [query.gold for query in dataset.queries], DEPTH)
    metrics = [m for m in metrics_at((1, DEPTH), False) if m.name in MEASURES]
    return {m.name: float(m.value(m.statistics(judged).sum(axis=0))) for m in metrics}
