"""The indexes of FAISS (Douze et al. 2024, The Faiss library): flat, and HNSW."""

import importlib.util
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.registry import installed_version
from target_bench.core.vectors import Vectors
from target_bench.search.indexes.exact import (
    Found,
    Rows,
    Scores,
    StoredVectors,
    rank_candidates,
    search_exactly,
)

_BUILDS = ("faiss-cpu", "faiss-gpu", "faiss-gpu-cu11", "faiss-gpu-cu12")
_MORE = 16  # candidates beyond k, so that ties are broken by our rule and not by FAISS's order
_MOST_ON_GPU = 2048  # rows that its GPU kernels return at most
_FILE = "library.index"
_SAMPLE = 200  # queries of which the recall is computed


@dataclass(eq=False, repr=False)
class FaissFlat(StoredVectors):
    """Exact search by ``IndexFlatIP``.

    Needs: extra dense.

    Where more vectors may tie for the last rank than FAISS returned, the query is searched again as
    by ``exact``.

    Args:
        gpu: whether to use the GPUs of ``faiss-gpu``. Default: if there are any.

    Raises:
        ConfigError: ``gpu=true`` without a GPU.
        MissingExtraError: FAISS is not installed, or was built without GPUs.
    """

    packages = ("faiss-cpu", "faiss-gpu-cu12", "numpy")

    gpu: bool | None = None

    def __post_init__(self) -> None:
        _check_installed("faiss-flat")

    def _prepare(self) -> None:
        faiss = _import_faiss()
        self._most = 2**31
        if not self.vectors.size:
            return
        self._index = faiss.IndexFlatIP(self.vectors.shape[1])
        if _on_gpu(faiss, self.gpu):
            self._most = _MOST_ON_GPU
            self._index = faiss.index_cpu_to_all_gpus(self._index)
        self._index.add(self.vectors)

    def _search(self, queries: Vectors, slacks: Scores, k: int) -> Found:
        n_rows = min(len(self.vectors), k + _MORE)
        if n_rows > self._most:
            return search_exactly(self.vectors, queries, slacks, k)
        products, rows = self._index.search(queries, n_rows)
        above = (products >= (products[:, k - 1] - slacks)[:, None]) & (rows >= 0)
        scores, ranked = rank_candidates(queries, self.vectors, np.where(above, rows, -1), k)
        if n_rows < len(self.vectors) and above[:, -1].any():
            again = np.flatnonzero(above[:, -1])
            scores[again], ranked[again] = search_exactly(
                self.vectors, queries[again], slacks[again], k
            )
        return scores, ranked


class _Sample(NamedTuple):
    """Queries and what was found for them, of which recall is computed."""

    queries: Vectors
    slacks: Scores
    scores: Scores
    rows: Rows


@dataclass(eq=False, repr=False)
class FaissHNSW(StoredVectors):
    """A graph of near neighbours (Malkov and Yashunin 2018), by ``IndexHNSWFlat``.

    Needs: extra dense.

    FAISS finds candidates; they are scored and ranked here.

    Args:
        m: neighbours a vector is linked to (twice as many in the lowest layer).
        ef_construction: candidates for the neighbours of a vector.
        ef_search: candidates for a query; at least as many as rows are asked for.
    """

    packages = ("faiss-cpu", "faiss-gpu-cu12", "numpy")
    exact = False

    m: int = 32
    ef_construction: int = 200
    ef_search: int = 128

    def __post_init__(self) -> None:
        _check_installed("faiss-hnsw")
        for name, least in (("m", 2), ("ef_construction", 1), ("ef_search", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name}={getattr(self, name)}: at least {least}")

    def config(self) -> Mapping[str, Any]:
        """Return the settings, and the one thread that builds, which stored runs name."""
        return {**super().config(), "threads": 1}

    def _prepare(self) -> None:
        self._index: Any = None
        self._samples: dict[int, list[_Sample]] = {}  # by k

    def build(self, vectors: Vectors) -> None:
        """Keep (m, d) vectors and have FAISS index them; see ``VectorIndex.build``."""
        super().build(vectors)
        if self.vectors.size:
            faiss = _import_faiss()
            d = self.vectors.shape[1]
            self._index = faiss.IndexHNSWFlat(d, self.m, faiss.METRIC_INNER_PRODUCT)
            self._index.hnsw.efConstruction = self.ef_construction
            threads = faiss.omp_get_max_threads()
            faiss.omp_set_num_threads(1)  # with more, each build gives another graph
            try:
                self._index.add(self.vectors)
            finally:
                faiss.omp_set_num_threads(threads)

    def _search(self, queries: Vectors, slacks: Scores, k: int) -> Found:
        n_rows = min(len(self.vectors), k + _MORE)
        settings = _import_faiss().SearchParametersHNSW(efSearch=max(self.ef_search, n_rows))
        _, candidates = self._index.search(queries, n_rows, params=settings)
        scores, rows = rank_candidates(queries, self.vectors, candidates.astype(np.int64), k)
        samples = self._samples.setdefault(k, [])
        left = _SAMPLE - sum(len(sample.queries) for sample in samples)
        if left > 0:  # copies, which keep no batch in memory
            parts: Any = (part[:left].copy() for part in (queries, slacks, scores, rows))
            samples.append(_Sample(*parts))
        return scores, rows

    def notes(self) -> Sequence[str]:
        """Return recall against exact search, over the first queries of each ``k``."""
        notes = []
        for k, samples in sorted(self._samples.items()):
            sample = _Sample(*map(np.concatenate, zip(*samples, strict=True)))
            best, _ = search_exactly(self.vectors, sample.queries, sample.slacks, k)
            recall = ((sample.rows >= 0) & (sample.scores >= best[:, -1:])).mean()
            notes.append(
                f"recall@{k} against exact search: {recall:.3f} over the first "
                f"{len(sample.queries)} queries"
            )
        return notes

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy and the index in its library's format."""
        super().save(folder)
        if self._index is not None:
            _import_faiss().write_index(self._index, str(folder / _FILE))

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote; the vectors stay on disk until they are used."""
        super().load(folder)
        if self.vectors.size:
            self._index = _import_faiss().read_index(str(folder / _FILE))


def _check_installed(index: str) -> None:
    if importlib.util.find_spec("faiss") is None:
        raise MissingExtraError("faiss-cpu", "dense", f"the index {index}")
    builds = [name for name in _BUILDS if installed_version(name) is not None]
    if len(builds) > 1:
        raise ConfigError(
            f"the index {index}: {' and '.join(builds)} are both installed, and each overwrites "
            f"files of the other. Remedy: pip uninstall {' '.join(builds)}; then pip install "
            f"{builds[-1]} for a GPU, or faiss-cpu without one"
        )


def _import_faiss() -> Any:
    with warnings.catch_warnings():  # some Python versions warn of its bindings
        warnings.simplefilter("ignore", DeprecationWarning)
        import faiss
    return faiss


def _on_gpu(faiss: Any, required: bool | None) -> bool:
    if required is False:
        return False
    has_kernels = hasattr(faiss, "StandardGpuResources")
    if required and not has_kernels:
        raise MissingExtraError("faiss-gpu-cu12", "gpu", "the index faiss-flat with gpu=true")
    n_gpus = faiss.get_num_gpus() if has_kernels else 0
    if required and not n_gpus:
        raise ConfigError("gpu=true: FAISS sees no GPU here; set gpu=false, or see nvidia-smi")
    return n_gpus > 0
