"""Recall of an approximate index against exact search."""

from collections.abc import Sequence

import numpy as np

from target_bench.core.vectors import Vectors
from target_bench.search.indexes.exact import search_exactly
from target_bench.search.indexes.rescoring import Found
from target_bench.search.indexes.stored_vectors import Lengths, Stored

_SAMPLE = 200


class Recall:
    """Keeps the first queries searched, and compares what was found with exact search.

    Args:
        stored: the indexed vectors.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._searched: dict[int, list[tuple[Vectors, Lengths, Found]]] = {}

    def add(self, queries: Vectors, lengths: Lengths, approximate: Found) -> None:
        """Take note of (n, d) queries and what was found for them."""
        scores, rows = approximate
        batches = self._searched.setdefault(scores.shape[1], [])
        n = _SAMPLE - sum(len(earlier) for earlier, *_ in batches)
        if n > 0:
            first = scores[:n].copy(), rows[:n].copy()  # copies, which keep no batch in memory
            batches.append((queries[:n].copy(), lengths[:n], first))

    def notes(self) -> Sequence[str]:
        """Return one sentence for each number of rows that was asked for."""
        notes = []
        for k, batches in sorted(self._searched.items()):
            good = []
            for queries, lengths, (scores, rows) in batches:
                best, _ = search_exactly(self._stored, queries, lengths, k)
                good.append((rows >= 0) & (scores >= best[:, -1:]))
            as_good = np.concatenate(good)
            notes.append(
                f"recall@{k} against exact search: {as_good.mean():.3f} over the first "
                f"{len(as_good)} queries"
            )
        return notes
