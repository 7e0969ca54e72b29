"""Recall of an approximate index against exact search."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from target_bench.core.vectors import Vectors
from target_bench.search.indexes.exact import search_exactly
from target_bench.search.indexes.rescoring import Found, Rows, Scores
from target_bench.search.indexes.stored_vectors import Lengths, Stored

_SAMPLE = 200


class Recall:
    """Keeps a sample of the queries searched, and compares what was found with exact search.

    Every query draws a number from a fixed sequence, and those with the smallest are kept: the
    sample depends on the queries and their order, not on how they came in batches.

    Args:
        stored: the indexed vectors.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._samples: dict[int, _Sample] = {}

    def add(self, queries: Vectors, lengths: Lengths, approximate: Found) -> None:
        """Take note of (n, d) queries and what was found for them."""
        k = approximate[1].shape[1]
        if k and len(queries):
            self._samples.setdefault(k, _Sample()).add(queries, lengths, approximate)

    def notes(self) -> Sequence[str]:
        """Return one sentence for each number of rows that was asked for."""
        return [
            f"recall@{k} against exact search: {sample.recall(self._stored, k):.3f} "
            f"over {len(sample.drawn)} queries"
            for k, sample in sorted(self._samples.items())
        ]


class _Sample:
    def __init__(self) -> None:
        self._random = np.random.default_rng(0)
        self.drawn: NDArray[np.float64] = np.empty(0)
        self._kept: tuple[Vectors, Lengths, Scores, Rows] | None = None

    def add(self, queries: Vectors, lengths: Lengths, approximate: Found) -> None:
        n_kept = len(self.drawn)
        drawn = np.concatenate([self.drawn, self._random.random(len(queries))])
        chosen = np.argsort(drawn, kind="stable")[:_SAMPLE]
        old, new = chosen[chosen < n_kept], chosen[chosen >= n_kept] - n_kept
        self.drawn = drawn[np.concatenate([old, new + n_kept])]
        added = queries[new], lengths[new], approximate[0][new], approximate[1][new]
        if self._kept is None:
            self._kept = added
        elif len(new):
            vectors, sizes, scores, rows = self._kept
            self._kept = (
                np.concatenate([vectors[old], added[0]]),
                np.concatenate([sizes[old], added[1]]),
                np.concatenate([scores[old], added[2]]),
                np.concatenate([rows[old], added[3]]),
            )

    def recall(self, stored: Stored, k: int) -> float:
        """Return the share of the ``k`` found that score at least as the k-th best does."""
        assert self._kept is not None
        queries, lengths, scores, rows = self._kept
        best, _ = search_exactly(stored, queries, lengths, k)
        as_good = (rows >= 0) & (scores >= best[:, -1:])
        return float(as_good.mean())
