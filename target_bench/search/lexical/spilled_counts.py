"""Term counts and weights that do not fit into a memory limit: in a temporary folder instead."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from target_bench.core import array_files
from target_bench.core.errors import StoreError


class Spilled:
    """Shards of counts that become shards of weights, in a folder of their own.

    The folder is removed with this object, or with the process that made it.

    Raises:
        StoreError: the folder cannot be made; so do the methods if it cannot be written.
    """

    def __init__(self) -> None:
        with _storing():
            self._folder = Path(tempfile.mkdtemp(prefix="target-bench-"))
        weakref.finalize(self, _remove, self._folder, os.getpid())
        self._n_pieces: list[int] = []

    def add(self, pieces: Iterable[Sequence[Any]]) -> None:
        """Write the counts of a shard: pieces of consecutive tables, of each all fields."""
        with _storing():
            folder = self._counts_folder(len(self._n_pieces))
            folder.mkdir()
            n = 0
            for n, fields in enumerate(pieces, start=1):
                for name, counts in enumerate(fields):
                    array_files.write_sparse(folder, f"{n - 1}-{name}", counts)
            self._n_pieces.append(n)

    def counts(self, n_fields: int) -> Iterator[Iterator[list[Any]]]:
        """Yield the pieces of each shard; its counts are removed when the next one is asked for."""
        for shard, n in enumerate(self._n_pieces):
            folder = self._counts_folder(shard)
            yield (
                [array_files.read_sparse(folder, f"{i}-{name}") for name in range(n_fields)]
                for i in range(n)
            )
            shutil.rmtree(folder)

    def weighed(self, shards: Iterable[Any]) -> array_files.StoredShards:
        """Write the weights of all shards and return them."""
        for number, shard in enumerate(shards):
            with _storing():
                array_files.write_sparse(self._folder, array_files.shard_name(number), shard)
        return array_files.StoredShards(self._folder, len(self._n_pieces))

    def _counts_folder(self, shard: int) -> Path:
        return self._folder / f"counts-{shard}"


@contextmanager
def _storing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{tempfile.gettempdir()}: what is over the memory limit cannot be written there "
            f"({error}). Make room, or name another folder with $TMPDIR."
        ) from error


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)
