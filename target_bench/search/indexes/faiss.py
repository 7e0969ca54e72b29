"""The indexes of FAISS (Douze et al. 2024, The Faiss library): flat, and HNSW."""

import importlib.util
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.registry import installed_version
from target_bench.core.vectors import VectorIndex, Vectors
from target_bench.search.indexes.exact import search_exactly
from target_bench.search.indexes.rescoring import (
    Found,
    Stored,
    rank_candidates,
    slack,
)

_MORE = 16
"""Candidates beyond ``k``, so that ties are broken by the rule and not by FAISS's order."""

_FILE = "library.index"
_SAMPLE = 200  # queries of which the recall is taken


@dataclass(eq=False, repr=False)
class FaissFlat(VectorIndex):
    """Exact search by ``IndexFlatIP``.

    Needs: extra dense.

    Where more vectors may tie for the last place than the library was asked for, the query is
    searched again by the rule of ``exact``.

    Args:
        gpu: on the GPUs of ``faiss-gpu``; None: where there are any.
    """

    packages = ("faiss-cpu", "faiss-gpu-cu12", "numpy")

    gpu: bool | None = None

    def __post_init__(self) -> None:
        _needs_faiss("faiss-flat")

    def build(self, vectors: Vectors) -> None:
        """Index (m, d) vectors; see ``VectorIndex.build``.

        Raises:
            ConfigError: ``gpu=true`` without a GPU.
            MissingExtraError: ``gpu=true`` and FAISS was built without it.
        """
        self._index_stored(Stored.from_array(vectors))

    def search(self, vectors: Vectors, k: int) -> Found:
        """Return the best rows for each of (n, d) vectors; see ``VectorIndex.search``.

        Raises:
            ConfigError: other dimension than the indexed vectors, or products too large.
        """
        stored = self._stored
        queries, lengths = stored.checked_queries(vectors, k)
        n, m = len(queries), len(stored.vectors)
        k = min(k, m)
        n_rows = min(m, k + _MORE)
        if n == 0 or n_rows > self._most or not stored.vectors.size:
            return search_exactly(stored, queries, lengths, k)
        products, rows = self._index.search(queries, n_rows)
        least = products[:, k - 1] - slack(stored, lengths)
        above = (products >= least[:, None]) & (rows >= 0)
        ranked = rank_candidates(queries, stored, np.where(above, rows, -1), k)
        unclear = np.flatnonzero(above[:, -1]) if n_rows < m else np.empty(0, dtype=np.intp)
        if len(unclear):
            again = search_exactly(stored, queries[unclear], lengths[unclear], k)
            ranked[0][unclear], ranked[1][unclear] = again
        return ranked

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy: the library's format adds nothing to them."""
        self._stored.save(folder)

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote."""
        self._index_stored(Stored.load(folder))

    def _index_stored(self, stored: Stored) -> None:
        faiss = _library()
        self._stored = stored
        self._most = 2**31
        if not stored.vectors.size:
            return
        index = faiss.IndexFlatIP(stored.vectors.shape[1])
        if _on_gpu(faiss, self.gpu):
            self._most = 2048  # the most that its GPU kernels select
            index = faiss.index_cpu_to_all_gpus(index)
        index.add(stored.vectors)
        self._index = index


@dataclass(eq=False, repr=False)
class FaissHNSW(VectorIndex):
    """A graph of near neighbours (Malkov and Yashunin 2018), by ``IndexHNSWFlat``.

    Needs: extra dense.

    FAISS names candidates; they are scored and ranked here.

    Args:
        m: neighbours a vector is linked to (twice as many in the lowest layer).
        ef_construction: how many candidates are looked at for them.
        ef_search: how many are looked at for a query; at least as many as rows are asked for.
    """

    packages = ("faiss-cpu", "faiss-gpu-cu12", "numpy")
    exact = False

    m: int = 32
    ef_construction: int = 200
    ef_search: int = 128

    def __post_init__(self) -> None:
        self._index: Any = None
        _needs_faiss("faiss-hnsw")
        for name, least in (("m", 2), ("ef_construction", 1), ("ef_search", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}={getattr(self, name)}: at least {least}")

    def config(self) -> Mapping[str, Any]:
        """Return the settings; threads, one as ever, are named in stored runs."""
        return {**super().config(), "threads": 1}

    def build(self, vectors: Vectors) -> None:
        """Keep (m, d) vectors and have FAISS index them; see ``VectorIndex.build``."""
        self._keep(Stored.from_array(vectors))
        if self._stored.vectors.size:
            faiss = _library()
            d = self._stored.vectors.shape[1]
            self._index = faiss.IndexHNSWFlat(d, self.m, faiss.METRIC_INNER_PRODUCT)
            self._index.hnsw.efConstruction = self.ef_construction
            threads = faiss.omp_get_max_threads()
            faiss.omp_set_num_threads(1)  # with more, each build gives another graph
            try:
                self._index.add(self._stored.vectors)
            finally:
                faiss.omp_set_num_threads(threads)

    def search(self, vectors: Vectors, k: int) -> Found:
        """Return the rows for each of (n, d) vectors; see ``VectorIndex.search``.

        Raises:
            ConfigError: other dimension than the indexed vectors, or products too large.
        """
        queries, lengths = self._stored.checked_queries(vectors, k)
        n, m = len(queries), len(self._stored.vectors)
        k = min(k, m)
        if self._index is None or n == 0:
            # Vectors of no dimension all score 0.
            rows = np.tile(np.arange(k, dtype=np.int64), (n, 1))
            return np.zeros((n, k)), rows
        n_rows = min(m, k + _MORE)
        looked_at = _library().SearchParametersHNSW(efSearch=max(self.ef_search, n_rows))
        _, candidates = self._index.search(queries, n_rows, params=looked_at)
        ranked = rank_candidates(queries, self._stored, candidates.astype(np.int64), k)
        sample = self._sample.setdefault(k, [])
        left = _SAMPLE - sum(len(earlier) for earlier, *_ in sample)
        if left > 0:  # copies, which keep no batch in memory
            sample.append(tuple(part[:left].copy() for part in (queries, lengths, *ranked)))
        return ranked

    def notes(self) -> Sequence[str]:
        """Return recall against exact search, over the first queries of each ``k``."""
        notes = []
        for k, batches in sorted(self._sample.items()):
            queries, lengths, scores, rows = map(np.concatenate, zip(*batches, strict=True))
            best, _ = search_exactly(self._stored, queries, lengths, k)
            recall = ((rows >= 0) & (scores >= best[:, -1:])).mean()
            notes.append(
                f"recall@{k} against exact search: {recall:.3f} over the first {len(queries)} "
                "queries"
            )
        return notes

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy and the index in its library's format."""
        self._stored.save(folder)
        if self._index is not None:
            _library().write_index(self._index, str(folder / _FILE))

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used."""
        self._keep(Stored.load(folder))
        if self._stored.vectors.size:
            self._index = _library().read_index(str(folder / _FILE))

    def _keep(self, stored: Stored) -> None:
        self._stored = stored
        self._index = None
        self._sample: dict[int, list[Any]] = {}  # k -> queries, lengths, scores, rows


def _needs_faiss(index: str) -> None:
    """See that FAISS is installed, and once: its builds overwrite each other's files.

    Raises:
        ConfigError: builds for CPUs and for GPUs are installed side by side.
        MissingExtraError: it is not installed.
    """
    if importlib.util.find_spec("faiss") is None:
        raise MissingExtraError("faiss-cpu", "dense", f"the index {index}")
    builds = [name for name in _BUILDS if installed_version(name) is not None]
    if len(builds) > 1:
        raise ConfigError(
            f"the index {index}: {' and '.join(builds)} are both installed, and each overwrites "
            f"files of the other. Remedy: pip uninstall {' '.join(builds)}; then pip install "
            f"{builds[-1]} for a GPU, or faiss-cpu without one"
        )


_BUILDS = ("faiss-cpu", "faiss-gpu", "faiss-gpu-cu11", "faiss-gpu-cu12")


def _library() -> Any:
    with warnings.catch_warnings():  # its bindings set off warnings of some Python versions
        warnings.simplefilter("ignore", DeprecationWarning)
        import faiss
    return faiss


def _on_gpu(faiss: Any, required: bool | None) -> bool:
    if required is False:
        return False
    built_for_it = hasattr(faiss, "StandardGpuResources")
    if required and not built_for_it:
        raise MissingExtraError("faiss-gpu-cu12", "gpu", "the index faiss-flat with gpu=true")
    n_gpus = faiss.get_num_gpus() if built_for_it else 0
    if required and not n_gpus:
        raise ConfigError("gpu=true: FAISS sees no GPU here; set gpu=false, or see nvidia-smi")
    return n_gpus > 0
