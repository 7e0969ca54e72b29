"""Texts as vectors, each encoded once: ``encoded``, and the files that remember.

There is one SQLite file for each encoder and kind of text, with a row for each text: 16 bytes of
its hash (never the text), its vector, whether it was cut, and a CRC-32 over all three. A damaged
row counts as not recorded.
"""

import hashlib
import json
import sqlite3
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import cache_use
from target_bench.core.errors import PluginError
from target_bench.core.files import cache_root
from target_bench.core.identity import plugin_identity
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.cache_file import CacheFile, claimed

CHUNK = 1024
"""Default number of texts that are encoded before they are recorded."""

FORMAT = 3
"""The version of the layout."""

FOLDER = "embeddings"
"""Folder in the cache."""

_TABLES = """
    BEGIN;
    CREATE TABLE header (encoder TEXT, kind TEXT, created TEXT);
    CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB, cut INTEGER, crc INTEGER);
"""
_VECTOR = np.dtype("<f4")
_SUFFIX = ".sqlite"
_AT_ONCE = 500  # keys in a statement; SQLite allows at least 999
_SHOWN = 60  # characters of a text in a message
_AFTER, _LONG = 20, 60  # seconds of encoding before a warning, and of what is left


def encoded(
    encoder: Encoder, texts: Sequence[str], kind: TextKind, *, cache: bool = True
) -> tuple[Vectors, int]:
    """Return the vectors of texts: recorded ones from disk, the others from the encoder.

    Each distinct text is encoded once and recorded for all runs. Texts are encoded longest first,
    in chunks that are recorded as they are finished, so a killed process loses one chunk at most.
    An encoder whose ``revision()`` is None, or that cannot be identified, is asked again each time.

    An encoder that finishes texts in its own order, as one behind a network does, or that cuts
    texts, may have ``encode_parts(texts, kind)``, which gives places in ``texts``, their vectors
    and, if it likes, which of them were cut; each part is recorded at once.

    Args:
        encoder: makes the vectors.
        texts: any texts, repeated ones too.
        kind: what they are.
        cache: whether vectors are recorded, and recorded ones used.

    Returns:
        (n, d) vectors in the order of the texts; equal texts have equal vectors; without any text
        d is 0. And how many different texts were longer than the encoder reads.

    Raises:
        PluginError: the encoder does not give a matrix with one row per text, or gives numbers that
            are not finite, or vectors of different lengths.
        StoreError: vectors cannot be recorded; those recorded before are kept.
    """
    if not texts:
        return np.zeros((0, 0), np.float32), 0
    keys = [text_key(text) for text in texts]
    distinct = dict(zip(keys, texts, strict=True))
    store = _store(encoder, kind) if cache and not cache_use.is_off() else None
    claim: AbstractContextManager[None] = nullcontext()
    if store is not None and getattr(type(encoder), "paid", False) and not store.has(keys):
        claim = claimed(store.path.with_suffix(".lock"), "embeddings")
    with claim:  # no text is sent by two processes at a time
        vectors, n_cut = _vectors_of(distinct, encoder, kind, store)
    if len(distinct) == len(keys):
        return vectors, n_cut
    places = dict(zip(distinct, range(len(distinct)), strict=True))
    return vectors[[places[key] for key in keys]], n_cut


def text_key(text: str) -> bytes:
    """Return the 16 bytes that a text is known by."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _vectors_of(
    distinct: Mapping[bytes, str],
    encoder: Encoder,
    kind: TextKind,
    store: "EmbeddingStore | None",
) -> tuple[Vectors, int]:
    """Return the vectors of different texts, and how many of these were cut."""
    keys, texts = list(distinct), list(distinct.values())
    known, vectors, n_cut = np.zeros(len(keys), bool), np.zeros((0, 0), np.float32), 0
    if store is not None:
        known, vectors, n_cut = store.read(keys)
        if known.any():
            read = [keys[i] for i in np.flatnonzero(known)]
            cache_use.record_reads("embedding cache", store.path, read)
        if known.all():
            return vectors, n_cut
        store.append([], vectors[:0])  # see that it works before hours of encoding
    missing = np.flatnonzero(~known)
    n_characters, n_encoded = sum(len(texts[i]) for i in missing), 0
    start, warned = time.monotonic(), store is None
    for some, made, *cut in _parts(encoder, [texts[i] for i in missing], kind, store is not None):
        places = missing[some]
        flags = cut[0] if cut else [False] * len(places)
        n_cut += sum(flags)
        part = _checked(made, [texts[i] for i in places], encoder)
        if vectors.shape[1] not in (0, part.shape[1]):
            raise PluginError(
                f"{_name(encoder)} gave vectors of {part.shape[1]} dimensions, and before of "
                f"{vectors.shape[1]}. Its settings and its revision() must tell models apart"
            )
        if not vectors.shape[1]:
            vectors = np.zeros((len(keys), part.shape[1]), np.float32)
        vectors[places] = part
        known[places] = True
        if store is not None:
            store.append([keys[i] for i in places], part, flags)
            cache_use.record_computed(store.path, [keys[i] for i in places])
        n_encoded += sum(len(texts[i]) for i in places)
        seconds = time.monotonic() - start
        left = seconds * (n_characters / max(n_encoded, 1) - 1)
        if seconds > _AFTER and left > _LONG and not warned:
            warned = True
            warnings.warn(
                f"{len(missing):,} texts are encoded, which takes about {left / 60:,.0f} minutes "
                "more. Vectors are kept: stopped, the same command goes on from there",
                stacklevel=1,
            )
    if not known.all():
        text = texts[int(np.argmin(known))]
        raise PluginError(f"{_name(encoder)} made no vector of the text {_beginning(text)}")
    return vectors, n_cut


def _parts(
    encoder: Encoder, texts: Sequence[str], kind: TextKind, in_chunks: bool
) -> Iterator[tuple[Any, ...]]:
    """Yield places of texts, their vectors and perhaps flags, longest texts first."""
    order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
    ordered = [texts[place] for place in order]
    own = getattr(encoder, "encode_parts", None)  # optional
    if callable(own):
        for places, *made in own(ordered, kind):
            yield [order[place] for place in places], *made
    elif in_chunks:
        for start in range(0, len(texts), CHUNK):
            end = start + CHUNK
            yield order[start:end], encoder.encode(ordered[start:end], kind)
    else:
        yield range(len(texts)), encoder.encode(texts, kind)


def _checked(made: Any, texts: Sequence[str], encoder: Encoder) -> Vectors:
    try:
        with np.errstate(over="ignore"):  # what overflows is not finite, which is reported below
            vectors: Vectors = np.ascontiguousarray(made, np.float32)
    except (TypeError, ValueError) as error:
        raise PluginError(f"{_name(encoder)} gave no matrix of numbers: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
        raise PluginError(
            f"{_name(encoder)} gave an array of shape {np.shape(made)} for {len(texts)} texts; "
            f"expected ({len(texts)}, d), one row per text. They begin with {_beginning(texts[0])}"
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        text = texts[int(np.argmin(finite))]
        raise PluginError(
            f"{_name(encoder)} gave a vector with NaN or infinity for {len(texts) - finite.sum()} "
            f"of {len(texts)} texts, the first one {_beginning(text)}: the weights are broken, or "
            "their numbers are too large for float16 (try dtype=float32)"
        )
    return vectors


def _name(encoder: Encoder) -> str:
    return f"the encoder {type(encoder).__name__}"


def _beginning(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _store(encoder: Encoder, kind: TextKind) -> "EmbeddingStore | None":
    """Return where an encoder's vectors are recorded, or None if it cannot be identified."""
    if encoder.revision() is None:
        return None
    identity, warning = plugin_identity(encoder)
    if warning:
        return None
    other_prompt = "table_prompt" if kind == "query" else "query_prompt"
    config = {n: value for n, value in identity["config"].items() if n != other_prompt}
    written = json.dumps({**identity, "config": config}, sort_keys=True)
    name = hashlib.sha256(json.dumps([written, kind]).encode()).hexdigest()[:16]
    return EmbeddingStore(cache_root() / FOLDER / f"{name}{_SUFFIX}", written, kind)


class EmbeddingStore:
    """The recorded vectors of one encoder; safe for several threads and processes.

    Args:
        path: the file; made when the first vector is recorded.
        encoder: the identity of the encoder, as JSON.
        kind: of the texts.
    """

    def __init__(self, path: Path, encoder: str, kind: str) -> None:
        self.path = path
        self._header = encoder, kind

    def read(self, keys: Sequence[bytes]) -> tuple[NDArray[np.bool_], Vectors, int]:
        """Return the recorded vectors of texts; a damaged one counts as not recorded.

        Args:
            keys: of the texts, see ``text_key``, each once.

        Returns:
            (n,) which are recorded; their (n, d) vectors, the others zero; d is 0 while none is
            recorded; and how many of the recorded texts were longer than the model reads.

        Raises:
            StoreError: the file cannot be read.
            PluginError: it holds vectors of different lengths.
        """
        known, vectors, n_cut = np.zeros(len(keys), bool), np.zeros((len(keys), 0), np.float32), 0
        if not self.path.exists():
            return known, vectors, n_cut
        places = {key: place for place, key in enumerate(keys)}

        def gather(database: sqlite3.Connection) -> None:
            nonlocal vectors, n_cut
            for key, row, cut, crc in _rows(database, keys):  # together they fill memory twice
                if crc != _crc(key, row, cut):
                    continue
                vector = np.frombuffer(row, _VECTOR)
                if not vectors.shape[1]:
                    vectors = np.zeros((len(keys), len(vector)), np.float32)
                if len(vector) != vectors.shape[1]:
                    raise PluginError(
                        f"{self.path} holds vectors of {vectors.shape[1]} and of {len(vector)} "
                        "dimensions of one encoder. Its settings and its revision() must tell "
                        "models apart; fix them, and delete the file"
                    )
                vectors[places[key]] = vector
                known[places[key]] = True
                n_cut += cut

        self._do(gather)
        return known, vectors, n_cut

    def has(self, keys: Sequence[bytes]) -> bool:
        """Return whether the vectors of all texts are recorded."""
        return bool(self.read(list(dict.fromkeys(keys)))[0].all())

    def append(
        self, keys: Sequence[bytes], vectors: Vectors, cut: Sequence[bool] | None = None
    ) -> None:
        """Record the vectors of texts, all or none; without any, see that the file can be written.

        Args:
            keys: of the texts, each once.
            vectors: (n, d) finite numbers.
            cut: which of the texts were longer than the model reads; default: none.

        Raises:
            StoreError: they cannot be written; those recorded before are kept.
        """
        flags = [False] * len(keys) if cut is None else map(bool, cut)
        rows = [
            (key, row := vector.astype(_VECTOR).tobytes(), flag, _crc(key, row, flag))
            for key, vector, flag in zip(keys, vectors, flags, strict=True)
        ]
        header = (*self._header, time.strftime("%Y-%m-%dT%H:%M:%S%z"))

        def write(database: sqlite3.Connection) -> None:
            with database:  # commits, or rolls back
                database.execute("BEGIN IMMEDIATE")
                database.execute(
                    "INSERT INTO header SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM header)",
                    header,
                )
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)

        self._do(write)

    def _do(self, work: Callable[[sqlite3.Connection], None]) -> None:
        with closing(CacheFile(self.path, _TABLES, FORMAT, "embeddings")) as file:
            file.do(work)


def _rows(database: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        query = f"SELECT key, vector, cut, crc FROM vectors WHERE key IN ({marks})"  # noqa: S608 (marks alone)
        yield from database.execute(query, some)


def _crc(*row: Any) -> int:
    """Return the CRC-32 of a row, which also finds the vector of another text."""
    key, vector, cut = row
    whole = type(vector) is bytes and cut in (0, 1)  # damage may have made them anything
    return zlib.crc32(key + vector + bytes([cut])) if whole else -1
