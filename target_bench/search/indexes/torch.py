"""Exact search with PyTorch, on a GPU or not: the method of ``exact``, with its operations."""

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.ranking import SINGLE
from target_bench.core.vectors import VectorIndex, Vectors
from target_bench.search.indexes.rescoring import (
    BLOCK,
    Found,
    Scores,
    Stored,
    inner_products,
    slack,
)

_CELLS = {"cpu": 8_000_000, "cuda": 256_000_000}
"""Scores held at a time."""

_FEWEST_ROWS = 64
"""Vectors that a part has at least; a device without memory for them is of no use."""

_PAIRS = 65_536
"""Candidates rescored at a time on a GPU."""


@dataclass(eq=False, repr=False)
class Torch(VectorIndex):
    """Compares each query with every vector on a device of PyTorch.

    Needs: extra dense.

    Products are of full single precision (no TF32), candidates are rescored in double precision.
    Where its memory does not suffice, blocks of queries are halved; where it does not hold the
    vectors beside one query, they are copied to it in parts. A note says so.

    Args:
        device: ``cuda``, ``cuda:1``, ... or ``cpu``; None: ``cuda`` where there is one.
    """

    packages = ("torch", "numpy")

    device: str | None = None

    def __post_init__(self) -> None:
        self._block = self._rows = 1  # queries, and vectors of a part, at a time
        self._whole: Any = None  # all vectors on the device
        if importlib.util.find_spec("torch") is None:
            raise MissingExtraError("torch", "dense", "exact search on a GPU")
        if self.device is not None and self.device.partition(":")[0] not in _CELLS:
            raise ConfigError(f"device={self.device!r}: expected cuda, cuda:0, ... or cpu")

    def build(self, vectors: Vectors) -> None:
        """Put (m, d) vectors on the device; see ``VectorIndex.build``.

        Raises:
            ConfigError: there is no such device.
        """
        self._place(Stored.from_array(vectors))

    def search(self, vectors: Vectors, k: int) -> Found:
        """Return the best rows for each of (n, d) vectors; see ``VectorIndex.search``.

        Raises:
            ConfigError: other dimension than the indexed vectors, or products too large; or the
                device has no memory for one query and a few vectors.
        """
        import torch

        queries, lengths = self._stored.checked_queries(vectors, k)
        slacks = slack(self._stored, lengths)
        while True:
            try:
                return self._in_parts(queries, slacks, k)
            except torch.OutOfMemoryError as error:
                if self._rows <= _FEWEST_ROWS:
                    raise ConfigError(
                        f"device={self._on}: out of memory with one query over {self._rows} "
                        "vectors; leave device out"
                    ) from error
                self._rows = -(-self._rows // 2)
                self._whole = None
                self._block = self._queries_at_once()

    def _in_parts(self, queries: Vectors, slacks: Scores, k: int) -> Found:
        """Return the best rows of all parts, of which one at a time is on the device."""
        n, m = len(queries), len(self._stored.vectors)
        best: Found = (np.empty((n, 0)), np.empty((n, 0), dtype=np.int64))
        for first in range(0, m, max(self._rows, 1)):
            scores, rows = self._in_part(self._on_device(first), queries, slacks, k)
            best = _merged(best, (scores, rows + first), min(k, m))
        return best

    def _on_device(self, first: int) -> tuple[Any, Vectors]:
        """Return a part of the vectors on the device, and here."""
        import torch

        here = self._stored.vectors[first : first + self._rows]
        if self._whole is not None:
            return self._whole, here
        return torch.tensor(here, device=self._on), here

    def _in_part(
        self, part: tuple[Any, Vectors], queries: Vectors, slacks: Scores, k: int
    ) -> Found:
        """Return the best rows of a part, by blocks of queries that its memory allows.

        Raises:
            OutOfMemoryError: it does not allow one query.
        """
        import torch

        n, k = len(queries), min(k, len(part[1]))
        scores, rows = np.empty((n, k)), np.empty((n, k), dtype=np.int64)
        start = 0
        while start < n and k:
            block = slice(start, start + self._block)
            try:
                with _full_precision(torch), torch.inference_mode():
                    scores[block], rows[block] = self._candidates(
                        part, queries[block], slacks[block], k
                    )
                start += self._block
            except torch.OutOfMemoryError:
                if self._block == 1:
                    raise
                self._block = min(self._block, n) // 2 or 1
                self._halved = True
            if self._halved and self._on.type == "cuda":
                torch.cuda.empty_cache()
        return scores, rows

    def notes(self) -> Sequence[str]:
        """Return whether memory ran short."""
        short = f"out of memory on {self._on}: "
        parts = -(-len(self._stored.vectors) // max(self._rows, 1))
        if parts > 1:
            return [f"{short}vectors are copied to it in {parts} parts for each search"]
        return [f"{short}searched in blocks of {self._block} queries"] if self._halved else []

    def save(self, folder: Path) -> None:
        """Write the vectors as .npy."""
        self._stored.save(folder)

    def load(self, folder: Path) -> None:
        """Read the files that ``save`` wrote.

        Raises:
            ConfigError: there is no such device.
        """
        self._place(Stored.load(folder))

    def _place(self, stored: Stored) -> None:
        import torch

        self._stored = stored
        self._halved = False
        self._rows = len(stored.vectors)
        self._whole = None
        name = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self._on: Any = torch.device(name)
            self._whole = torch.tensor(stored.vectors, device=self._on)
        except torch.OutOfMemoryError:
            self._rows = -(-self._rows // 2)
        except (RuntimeError, AssertionError) as error:
            raise ConfigError(f"device={name}: PyTorch has no such device ({error})") from error
        self._block = self._queries_at_once()

    def _queries_at_once(self) -> int:
        cells: int = _CELLS[self._on.type] // max(1, self._rows)
        return max(1, cells if self._on.type == "cuda" else min(BLOCK, cells))

    def _candidates(
        self, part: tuple[Any, Vectors], block: Vectors, slacks: Scores, k: int
    ) -> Found:
        import torch

        queries = torch.tensor(block, device=self._on)
        scores = queries @ part[0].T
        least = scores.topk(k, dim=1).values[:, -1].double()
        least -= torch.tensor(slacks, device=self._on)
        numbers, rows = (scores >= least[:, None]).nonzero(as_tuple=True)
        del scores
        products = self._inner_products(part, block, queries, numbers, rows)
        counts = numbers.bincount(minlength=len(queries))
        first = counts.cumsum(0) - counts
        places = torch.arange(len(numbers), device=self._on) - first[numbers]
        width = int(counts.max())
        table = torch.full((len(queries), width), -torch.inf, device=self._on, dtype=torch.float64)
        table[numbers, places] = products
        candidates = torch.zeros((len(queries), width), device=self._on, dtype=torch.int64)
        candidates[numbers, places] = rows
        # Candidates stand in the order of their rows, and a stable sort leaves ties in it.
        best = table.sort(dim=1, descending=True, stable=True).indices[:, :k]
        return table.gather(1, best).cpu().numpy(), candidates.gather(1, best).cpu().numpy()

    def _inner_products(
        self, part: tuple[Any, Vectors], block: Vectors, queries: Any, numbers: Any, rows: Any
    ) -> Any:
        """Return rounded products; on a CPU by numpy, which needs a fifth of PyTorch's time."""
        import torch

        if self._on.type == "cpu":
            pairs = numbers.numpy(), rows.numpy()
            return torch.from_numpy(inner_products(block, part[1], *pairs))
        doubles = queries.double()
        parts = [
            _rounded(torch, doubles[n], part[0][r].double())
            for n, r in zip(numbers.split(_PAIRS), rows.split(_PAIRS), strict=True)
        ]
        return torch.cat(parts)


def _merged(first: Found, second: Found, k: int) -> Found:
    """Return the k best of two rankings of each query: by score, then the earlier row."""
    scores, rows = (np.concatenate(pair, axis=1) for pair in zip(first, second, strict=True))
    best = np.lexsort((rows, -scores))[:, :k]
    return np.take_along_axis(scores, best, axis=1), np.take_along_axis(rows, best, axis=1)


def _rounded(torch: Any, left: Any, right: Any) -> Any:
    """Return the inner products of pairs of vectors, rounded as ``ranking.graded`` does."""
    unit = (left.square().sum(dim=1) * right.square().sum(dim=1)).sqrt()
    unit = torch.where(unit > 0, unit, 1.0)
    step = torch.exp2(unit.log2().round() - SINGLE)
    return ((left * right).sum(dim=1) / step).round() * step + 0.0


@contextmanager
def _full_precision(torch: Any) -> Iterator[None]:
    """Compute products in full single precision, regardless of the settings of the process."""
    if hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        places = [torch.backends.cuda.matmul, torch.backends.mkldnn.matmul]
        name: str = "fp32_precision"
        full: Any = "ieee"
    else:  # before PyTorch 2.9
        places = [torch.backends.cuda.matmul]
        name, full = "allow_tf32", False
    before = [getattr(place, name) for place in places]
    for place in places:
        setattr(place, name, full)
    try:
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            setattr(place, name, value)
