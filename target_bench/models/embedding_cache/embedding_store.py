"""Recorded embeddings, found by their texts; ``embedding_files`` has the layout."""

import hashlib
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import portalocker
from numpy.typing import NDArray

from target_bench.core.errors import PluginError, StoreError
from target_bench.core.files import DamageError
from target_bench.core.vectors import Vectors
from target_bench.models.embedding_cache.embedding_files import (
    KEYS,
    RECORD,
    VECTOR,
    VECTORS,
    Header,
    create,
    locked,
    move_aside,
    read_header,
    whole_rows,
    write_at,
)

Warn = Callable[[str], object]

_SECONDS_BETWEEN_SYNCS = 1.0


def text_key(text: str) -> bytes:
    """Return the 16 bytes that a text is found by."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class EmbeddingStore:
    """The recorded vectors of one encoder; safe for several threads and processes.

    Args:
        folder: where they lie; made when the first is recorded.
        encoder: the identity of the encoder.
        kind: of the texts.
    """

    def __init__(self, folder: Path, encoder: Mapping[str, Any], kind: str) -> None:
        self._folder = folder
        self._encoder = encoder
        self._kind = kind
        self._lock = RLock()
        self._synced = time.monotonic()
        self._writes = False
        self._forget()

    def _forget(self) -> None:
        self._header: Header | None = None
        self._rows: dict[bytes, int] = {}
        self._seen = 0

    def prepare(self) -> None:
        """See that something can be recorded here, before it is worked out for hours.

        Raises:
            StoreError: the folder cannot be written.
        """
        with self._lock, self._writing():
            pass

    def read(self, keys: Sequence[bytes], warn: Warn) -> tuple[NDArray[np.bool_], Vectors]:
        """Return the recorded vectors of texts.

        Args:
            keys: of the texts, see ``text_key``.
            warn: is called for a damaged folder, which is moved aside, and damaged rows, which
                count as not recorded.

        Returns:
            (n,) which are recorded, and their (n, d) vectors, the others zero; d is 0 while
            nothing is recorded.

        Raises:
            StoreError: the files cannot be read.
        """
        with self._lock, self._usable("read"):
            self._catch_up(warn)
            if self._header is None:
                return _nothing(len(keys), 0)
            dimension = self._header.dimension
            try:
                return self._gathered(keys, dimension, warn)
            except (FileNotFoundError, ValueError):  # the cache was cleared just now
                self._forget()
                return _nothing(len(keys), dimension)

    def n_cut(self, keys: Sequence[bytes]) -> int:
        """Return how many of these texts, all of them recorded, were longer than the model reads.

        Raises:
            StoreError: the files cannot be read.
        """
        with self._lock, self._usable("read"):
            rows = [self._rows[key] for key in keys if key in self._rows]
            if not rows:
                return 0
            try:
                records = np.memmap(self._folder / KEYS, RECORD, "r", shape=(self._seen,))
            except (FileNotFoundError, ValueError):  # the cache was cleared just now
                return 0
            return int(np.count_nonzero(records["cut"][rows]))

    def append(
        self,
        keys: Sequence[bytes],
        vectors: Vectors,
        warn: Warn,
        cut: Sequence[bool] = (),
    ) -> Vectors:
        """Record the vectors of texts that are not recorded yet.

        Args:
            keys: of the texts, each once.
            vectors: (n, d) finite numbers.
            warn: as for ``read``.
            cut: which of the texts were longer than the model reads; none of them if empty.

        Returns:
            (n, d) vectors as they are recorded: another process may have been faster.

        Raises:
            PluginError: the vectors are not of the length of those recorded before.
            StoreError: they cannot be written; those recorded before are kept.
        """
        with self._lock, self._writing():
            recorded, earlier = self.read(keys, warn)
            if self._header is None:
                self._forget()
                self._header = create(self._folder, self._encoder, self._kind, vectors.shape[1])
            elif vectors.shape[1] != self._header.dimension:
                raise PluginError(self._another_length(vectors.shape[1], self._header.dimension))
            else:
                vectors = np.where(recorded[:, None], earlier, vectors)
            new = np.flatnonzero(~recorded)
            flags = np.asarray(cut, bool) if len(cut) else np.zeros(len(keys), bool)
            self._write([keys[i] for i in new.tolist()], vectors[new], flags[new])
            self._catch_up(warn)
        return vectors

    def _another_length(self, found: int, recorded: int) -> str:
        return (
            f"{self._encoder['class']} made vectors of {found} dimensions, and those that are "
            f"recorded in {self._folder} have {recorded}. Its settings and its revision() must "
            "tell models apart; fix them, or delete the folder."
        )

    def _catch_up(self, warn: Warn) -> None:
        """Take note of what was recorded since, by whomever."""
        header = self._header_on_disk(warn)
        if header is None or self._header is None or header.id != self._header.id:
            self._forget()
            self._header = header
        if header is None:
            return
        there = whole_rows(self._folder, header.dimension)
        if there < self._seen:
            self._forget()
            self._header = header
        if there > self._seen:
            with (self._folder / KEYS).open("rb") as file:
                file.seek(self._seen * RECORD.itemsize)
                records = np.fromfile(file, RECORD, there - self._seen)
            there = self._seen + len(records)
            self._rows.update(zip(records["key"].tolist(), range(self._seen, there), strict=True))
            self._seen = there

    def _header_on_disk(self, warn: Warn) -> Header | None:
        try:
            return read_header(self._folder)
        except FileNotFoundError:
            return None
        except DamageError:
            return self._moved_aside(warn)

    def _moved_aside(self, warn: Warn) -> Header | None:
        """Move a damaged folder aside, unless another process has just done so."""
        with self._writing():
            try:
                return read_header(self._folder)
            except FileNotFoundError:
                return None
            except DamageError as error:
                aside = move_aside(self._folder)
                warn(
                    f"the recorded embeddings in {self._folder} cannot be used ({error}); the "
                    f"folder was moved to {aside.name} and a new one begun"
                )
                return None

    def _gathered(
        self, keys: Sequence[bytes], dimension: int, warn: Warn
    ) -> tuple[NDArray[np.bool_], Vectors]:
        rows = np.fromiter((self._rows.get(key, -1) for key in keys), np.int64, len(keys))
        places = np.flatnonzero(rows >= 0)
        found, vectors = _nothing(len(keys), dimension)
        if not places.size:
            return found, vectors
        shape = (self._seen, dimension)
        vectors[places] = np.memmap(self._folder / VECTORS, VECTOR, "r", shape=shape)[rows[places]]
        records = np.memmap(self._folder / KEYS, RECORD, "r", shape=(self._seen,))
        flags = records["cut"][rows[places]].tolist()
        crcs = [
            _crc(keys[place], vectors[place], flag)
            for place, flag in zip(places.tolist(), flags, strict=True)
        ]
        whole = records["crc"][rows[places]] == np.array(crcs, np.uint32)
        found[places] = whole
        self._drop([keys[place] for place in places[~whole].tolist()], warn)
        vectors[~found] = 0
        return found, vectors

    def _drop(self, damaged: Sequence[bytes], warn: Warn) -> None:
        for key in damaged:
            del self._rows[key]
        if damaged:
            warn(
                f"{len(damaged)} of the embeddings recorded in {self._folder} are damaged; these "
                "texts are encoded again"
            )

    def _write(self, keys: Sequence[bytes], vectors: Vectors, cut: NDArray[np.bool_]) -> None:
        if not keys:
            return
        records = np.empty(len(keys), RECORD)
        records["key"] = np.frombuffer(b"".join(keys), "V16")
        records["cut"] = cut
        records["crc"] = [_crc(*row) for row in zip(keys, vectors, cut.tolist(), strict=True)]
        width = vectors.shape[1] * VECTOR.itemsize
        parts = (
            (self._folder / VECTORS, self._seen * width, vectors.astype(VECTOR).tobytes()),
            (self._folder / KEYS, self._seen * RECORD.itemsize, records.tobytes()),
        )
        syncs = time.monotonic() - self._synced > _SECONDS_BETWEEN_SYNCS
        try:
            for path, end, content in parts:
                write_at(path, end, content, syncs)
        except OSError:
            for path, end, _ in parts:
                with suppress(OSError):
                    os.truncate(path, end)
            raise
        if syncs:
            self._synced = time.monotonic()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Keep other writers out; may be nested."""
        if self._writes:
            yield
            return
        with self._usable("written"), locked(self._folder.parent):
            self._writes = True
            try:
                yield
            finally:
                self._writes = False

    @contextmanager
    def _usable(self, what: str) -> Iterator[None]:
        try:
            yield
        except (OSError, portalocker.LockException) as error:
            file = getattr(error, "filename", None)
            raise StoreError(
                f"embeddings cannot be {what} in {file or self._folder} ({error}). Free disk "
                "space or fix its permissions, name another folder with $TARGET_BENCH_CACHE, or "
                "encode without the cache (cache=false); what was recorded is kept."
            ) from error


def _nothing(n: int, dimension: int) -> tuple[NDArray[np.bool_], Vectors]:
    return np.zeros(n, bool), np.zeros((n, dimension), np.float32)


def _crc(key: bytes, vector: Vectors, cut: int) -> int:
    """Return the CRC-32 of key, vector and flag, which also finds a misplaced vector."""
    return zlib.crc32(bytes([cut]), zlib.crc32(vector.data, int.from_bytes(key[:4], "little")))
