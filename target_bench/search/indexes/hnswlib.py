"""The HNSW graph of hnswlib (Malkov and Yashunin 2018)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.vectors import Vectors
from target_bench.search.indexes.approximate import Approximate, at_least, needs, threads_note
from target_bench.search.indexes.rescoring import Rows


class HNSWLib(Approximate):
    """A graph of near neighbours.

    Needs: extra dense.

    Args:
        m: neighbours a vector is linked to (twice as many in the lowest layer).
        ef_construction: how many candidates are looked at for them.
        ef_search: how many are looked at for a query; at least as many as rows are asked for.
        seed: of the layers that vectors are put into.
        threads: that build the graph. With more than one, each build gives another graph: runs
            are not reproducible then.
    """

    packages = ("hnswlib", "numpy")

    def __init__(
        self,
        m: int = 32,
        ef_construction: int = 200,
        ef_search: int = 128,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        needs("hnswlib", "hnswlib", "hnswlib")
        self.m = m
        self.ef_construction = ef_construction
        self.ef_search = ef_search
        self.seed = seed
        self.threads = threads
        at_least(2, m=m)
        at_least(1, ef_construction=ef_construction, ef_search=ef_search, threads=threads)
        if not 0 <= seed < 2**31:
            raise ConfigError(f"seed={seed}: a number from 0 to {2**31 - 1}")

    def notes(self) -> Sequence[str]:
        """Return recall, and whether another build would find the same."""
        return [*super().notes(), *threads_note(self.threads)]

    def _built(self, vectors: Vectors) -> Any:
        m, d = vectors.shape
        index = _empty(d)
        index.init_index(
            max_elements=m, M=self.m, ef_construction=self.ef_construction, random_seed=self.seed
        )
        index.add_items(vectors, np.arange(m), num_threads=self.threads)
        return index

    def _candidates(self, queries: Vectors, n_rows: int) -> Rows:
        """Search all queries at once; each by itself where a query has too few rows."""
        self._index.set_ef(max(self.ef_search, n_rows))
        try:
            labels, _ = self._index.knn_query(queries, k=n_rows)
        except RuntimeError:
            if len(queries) > 1:
                each = [self._candidates(queries[i : i + 1], n_rows) for i in range(len(queries))]
                return np.concatenate(each)
            return self._reached(queries, n_rows)
        rows: Rows = labels.astype(np.int64)
        return rows

    def _reached(self, query: Vectors, n_rows: int) -> Rows:
        """Return all rows reachable from the graph's entry: hnswlib gives ``k`` rows or none."""
        rows = np.full((1, n_rows), -1, dtype=np.int64)
        low, high = 0, n_rows
        while high - low > 1:
            middle = (low + high) // 2
            try:
                rows[0, :middle] = self._index.knn_query(query, k=middle)[0][0]
                low = middle
            except RuntimeError:
                high = middle
        return rows

    def _write(self, index: Any, path: Path) -> None:
        index.save_index(str(path))

    def _read(self, path: Path) -> Any:
        index = _empty(self._stored.vectors.shape[1])
        try:
            index.load_index(str(path))
        except RuntimeError as error:
            raise DataError(f"{path}: no index of hnswlib ({error}); index again") from error
        return index

    def _shape(self, index: Any) -> tuple[int, int]:
        return index.get_current_count(), index.dim


def _empty(d: int) -> Any:
    import hnswlib

    return hnswlib.Index(space="ip", dim=d)
