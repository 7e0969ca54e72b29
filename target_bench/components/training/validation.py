"""After each epoch: does the model in training find the gold tables of the validation split?"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from target_bench.core import registry
from target_bench.core.schema import Dataset
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.metrics.retrieval import at_cutoffs, judge

DEPTH = 10
MEASURES = ("recall@1", "recall@10", "mrr")
DECISIVE = "mrr"
"""What decides which epoch is kept: the mean of 1 / rank, over the first ten tables."""

_BATCH = 64


class Validation:
    """Dense retrieval, as users run it, over splits that are not trained on.

    Args:
        model: the SentenceTransformer in training.
        datasets: the splits.
        writing: how tables are written: fields, rows and format.
    """

    def __init__(self, model: Any, datasets: Sequence[Dataset], writing: Mapping[str, Any]) -> None:
        self._datasets = datasets
        self._settings = {"encoder": _InTraining(model), "cache": False, **writing}

    def scores(self) -> dict[str, float]:
        """Return each of the measures, as a mean over the splits."""
        each = [self._of(dataset) for dataset in self._datasets]
        return {name: round(float(np.mean([s[name] for s in each])), 6) for name in MEASURES}

    def _of(self, dataset: Dataset) -> dict[str, float]:
        retriever: Any = registry.resolve("retriever", "dense")(**self._settings)
        retriever.embed_corpus(dataset.corpus)
        found = retriever.retrieve_batch([query.text for query in dataset.queries], DEPTH)
        rankings = [[table for table, _ in ranking] for ranking in found]
        judged = judge(rankings, [query.gold for query in dataset.queries], DEPTH)
        metrics = [m for m in at_cutoffs((1, DEPTH), False) if m.name in MEASURES]
        return {m.name: float(m.value(m.statistics(judged).sum(axis=0))) for m in metrics}


class _InTraining(Encoder):
    """The vectors of a model that changes."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        prompt = self._model.prompts["query" if kind == "query" else "document"]
        vectors: Vectors = self._model.encode(
            list(texts), prompt=prompt or None, batch_size=_BATCH, show_progress_bar=False
        )
        return vectors.astype(np.float32)
