"""Exact search over shards: each finds its best rows, and the best of those are the best of all.

The k best of all vectors are among the k best of their shards, and inner products depend on their
two vectors only, so that rows, order and scores are those of one index over all vectors.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core import registry
from target_bench.core.array_files import read_array, read_json, write_array, write_json
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.placement import Held, hold
from target_bench.core.ranking import top_k
from target_bench.core.vectors import VectorIndex, Vectors
from target_bench.search.indexes.rescoring import Found, Rows
from target_bench.search.indexes.stored_vectors import Stored

_RECORD = "shards.json"


class Sharded(VectorIndex):
    """Deals vectors over shards and merges what they find.

    The shards are threads of this process. Under the executor ``ray`` they are spread over the
    nodes of the cluster, and no node holds all vectors.

    Args:
        shards: over how many; fewer where there are fewer vectors.
        index: what searches a shard: an exact index by name, with settings.

    Raises:
        ConfigError: fewer than one shard, or an index that is not exact.
    """

    packages = ("numpy",)

    def __init__(self, shards: int = 2, index: str = "exact") -> None:
        self.shards = shards
        self.index = index
        if shards < 1:
            raise ConfigError(f"shards={shards}: at least 1 is needed")
        self._inner: VectorIndex = registry.create("index", index)
        if not self._inner.exact:
            raise ConfigError(f"index={index!r}: the index of a shard has to be an exact one")

    def parts(self) -> Mapping[str, object]:
        """Return the index of the shards."""
        return {"index": self._inner}

    def build(self, vectors: Vectors) -> None:
        """Deal (m, d) vectors; see ``VectorIndex.build``."""
        self.build_parts([vectors])

    def build_parts(self, parts: Iterable[Vectors]) -> None:
        """Deal vectors as they come, each part evenly; this process keeps none of them."""
        dealt: list[list[Rows]] = [[] for _ in range(self.shards)]
        self._held: list[Held] = []
        start = 0
        for part in parts:
            vectors = Stored.of(part).vectors
            rows = np.arange(start, start + len(vectors))
            start += len(vectors)
            n = min(self.shards, max(1, len(vectors)))
            while len(self._held) < n:
                self._held.append(self._shard())
            pieces = zip(np.array_split(vectors, n), np.array_split(rows, n), strict=True)
            calls = []
            for number, (piece, places) in enumerate(pieces):
                dealt[number].append(places)
                calls.append(self._held[number].call("add", piece))
            for call in calls:
                call.result()  # no more than a part is on its way
        self._rows = [np.concatenate(places) for places in dealt[: len(self._held)]]
        self._all("finish")

    def search(self, vectors: Vectors, k: int) -> Found:
        """Return the best rows of all shards for (n, d) vectors; see ``VectorIndex.search``."""
        found = self._all("search", vectors, k)
        scores = np.concatenate([scores for scores, _ in found], axis=1)
        places = zip(self._rows, found, strict=True)
        rows = np.concatenate([own[rows] for own, (_, rows) in places], axis=1)
        in_order = rows.argsort(axis=1)  # of equal scores the earlier row is better
        scores = np.take_along_axis(scores, in_order, axis=1)
        rows = np.take_along_axis(rows, in_order, axis=1)
        best, scores = top_k(scores, k)
        return scores, np.take_along_axis(rows, best, axis=1)

    def notes(self) -> Sequence[str]:
        """Return the notes of the shards, each once."""
        return list(dict.fromkeys(note for notes in self._all("notes") for note in notes))

    def save(self, folder: Path) -> None:
        """Have every shard write its index into a folder of its own."""
        folders = [folder / f"shard-{number}" for number in range(len(self._held))]
        for own, rows in zip(folders, self._rows, strict=True):
            own.mkdir()
            write_array(own.with_suffix(".npy"), rows)
        self._each("save", folders)
        write_json(folder / _RECORD, [len(rows) for rows in self._rows])

    def load(self, folder: Path) -> None:
        """Have every shard read what it wrote.

        Raises:
            DataError: a file is missing or damaged.
        """
        try:
            sizes = [int(size) for size in read_json(folder / _RECORD)]
            folders = [folder / f"shard-{number}" for number in range(len(sizes))]
            self._rows = [np.asarray(read_array(own.with_suffix(".npy"))) for own in folders]
            if [rows.shape for rows in self._rows] != [(size,) for size in sizes]:
                raise ValueError(f"the rows of a shard are not those that {_RECORD} tells of")
        except (OSError, ValueError, TypeError, EOFError) as error:
            raise DataError(f"{folder}: no shards ({error}); index again") from error
        self._held = [self._shard() for _ in folders]
        self._each("load", folders)

    def _each(self, method: str, folders: Sequence[Path]) -> None:
        """Have every shard do something with its folder."""
        pairs = zip(self._held, folders, strict=True)
        for call in [held.call(method, folder) for held, folder in pairs]:
            call.result()

    def _shard(self) -> Held:
        return hold(partial(_Shard, self.index))

    def _all(self, method: str, *arguments: Any) -> list[Any]:
        """Return the results of all shards, which work at the same time."""
        calls = [held.call(method, *arguments) for held in self._held]
        return [call.result() for call in calls]


class _Shard:
    """Some of the vectors, and their index."""

    def __init__(self, index: str) -> None:
        self._index: VectorIndex = registry.create("index", index)
        self._parts: list[Vectors] = []

    def add(self, vectors: Vectors) -> None:
        """Keep more vectors; what another process gave is copied out of its store."""
        self._parts.append(np.array(vectors))

    def finish(self) -> None:
        """Index those that were added."""
        self._index.build_parts(self._parts)
        self._parts = []

    def search(self, vectors: Vectors, k: int) -> Found:
        scores, rows = self._index.search(vectors, k)
        return scores.astype(np.float64, copy=False), rows

    def notes(self) -> Sequence[str]:
        return self._index.notes()

    def save(self, folder: Path) -> None:
        self._index.save(folder)

    def load(self, folder: Path) -> None:
        self._index.load(folder)
