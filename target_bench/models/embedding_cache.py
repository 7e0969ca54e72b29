"""Texts as vectors, each encoded once: ``encode_texts``.

There is one file for each encoder and kind of text, with a row for each text: 16 bytes of its hash
(never the text), whether it was cut, and its vector.
"""

import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import cache_use
from target_bench.core.errors import PluginError
from target_bench.core.files import cache_root
from target_bench.core.identity import plugin_identity
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.cache import LAYOUT, Cache

CHUNK = 1024
"""Default number of texts that are encoded before they are recorded."""

FOLDER = "embeddings"
"""Folder in the cache."""

_VECTOR = np.dtype("<f4")
_SHOWN = 60  # characters of a text in a message
_AFTER, _LONG = 20, 60  # seconds of encoding before a warning, and of what is left


def encode_texts(
    encoder: Encoder, texts: Sequence[str], kind: TextKind, *, cache: bool = True
) -> tuple[Vectors, int]:
    """Return the vectors of texts: recorded ones from disk, the others from the encoder.

    Each distinct text is encoded once and recorded for all runs. Texts are encoded longest first,
    in chunks that are recorded as they are finished, so a killed process loses one chunk at most.
    An encoder whose ``revision()`` is None, or that cannot be identified, is asked again each time.

    An encoder that finishes texts in its own order, as one behind a network does, or that cuts
    texts, may have ``encode_parts(texts, kind)``, which gives positions in ``texts``, their vectors
    and, if it likes, which of them were cut; each part is recorded at once.

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
    keys = [hash_text(text) for text in texts]
    distinct = dict(zip(keys, texts, strict=True))
    with ExitStack() as stack:
        store = (
            open_cache(encoder, kind)
            if cache and not cache_use.is_embedding_cache_disabled()
            else None
        )
        if store is not None:
            stack.enter_context(closing(store))
            # Asked of the class: an object whose server is on this machine is not paid, and yet no
            # text should be sent to it by two processes.
            sends_texts = getattr(type(encoder), "paid", False)
            if sends_texts and not read_vectors(store, list(distinct))[0].all():
                stack.enter_context(store.claim("all"))
        vectors, n_cut = _encode_missing(distinct, encoder, kind, store)
    if len(distinct) == len(keys):
        return vectors, n_cut
    rows = dict(zip(distinct, range(len(distinct)), strict=True))
    return vectors[[rows[key] for key in keys]], n_cut


def hash_text(text: str) -> bytes:
    """Return the 16 bytes that a text is recorded by."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def open_cache(encoder: Encoder, kind: TextKind) -> Cache | None:
    """Return the file of an encoder's vectors, or None if the encoder cannot be identified."""
    if encoder.revision() is None:
        return None
    identity, warning = plugin_identity(encoder)
    if warning:
        return None
    other_prompt = "table_prompt" if kind == "query" else "query_prompt"
    config = {n: value for n, value in identity["config"].items() if n != other_prompt}
    content = json.dumps([LAYOUT, {**identity, "config": config}, kind], sort_keys=True)
    name = hashlib.sha256(content.encode()).hexdigest()[:16]
    return Cache(cache_root() / FOLDER / f"{name}.sqlite", "embeddings")


def read_vectors(store: Cache, keys: Sequence[bytes]) -> tuple[NDArray[np.bool_], Vectors, int]:
    """Return which of the texts are recorded, their (n, d) vectors, and how many were cut.

    The vectors of the others are zero; d is 0 while none is recorded.
    """
    is_known, vectors, n_cut = np.zeros(len(keys), bool), np.zeros((len(keys), 0), np.float32), 0
    rows = {key: row for row, key in enumerate(keys)}
    for key, value in store.get_many(keys):  # one by one: together they fill memory twice
        vector = np.frombuffer(value, _VECTOR, offset=1)
        if not vectors.shape[1]:
            vectors = np.zeros((len(keys), len(vector)), np.float32)
        if len(vector) != vectors.shape[1]:
            raise PluginError(
                f"{store.path} holds vectors of {vectors.shape[1]} and of {len(vector)} "
                "dimensions of one encoder. Its settings and its revision() must tell models "
                "apart; fix them, and delete the file"
            )
        vectors[rows[key]] = vector
        is_known[rows[key]] = True
        n_cut += value[0]
    return is_known, vectors, n_cut


def record_vectors(
    store: Cache, keys: Sequence[bytes], vectors: Vectors, cut: Sequence[bool] | None = None
) -> None:
    """Record the (n, d) vectors of texts, and which of the texts were cut; default: none."""
    flags = [False] * len(keys) if cut is None else cut
    values = zip(flags, vectors.astype(_VECTOR), strict=True)
    rows = (bytes([bool(flag)]) + vector.tobytes() for flag, vector in values)
    store.put(dict(zip(keys, rows, strict=True)))


def _encode_missing(
    distinct: Mapping[bytes, str], encoder: Encoder, kind: TextKind, store: Cache | None
) -> tuple[Vectors, int]:
    """Return the vectors of different texts, and how many of these were cut."""
    keys, texts = list(distinct), list(distinct.values())
    is_known, vectors, n_cut = np.zeros(len(keys), bool), np.zeros((0, 0), np.float32), 0
    if store is not None:
        is_known, vectors, n_cut = read_vectors(store, keys)
        if is_known.any():
            read = [keys[i] for i in np.flatnonzero(is_known)]
            cache_use.record_reads("embedding cache", store.path, read)
        if is_known.all():
            return vectors, n_cut
        store.put({})  # see that it works before hours of encoding
    missing = np.flatnonzero(~is_known)
    progress = _Progress([texts[i] for i in missing], warns=store is not None)
    for some, made, *cut in _encode_parts(encoder, [texts[i] for i in missing], kind, store):
        rows = missing[some]
        flags = cut[0] if cut else [False] * len(rows)
        n_cut += sum(flags)
        part = _check_vectors(made, [texts[i] for i in rows], encoder)
        if vectors.shape[1] not in (0, part.shape[1]):
            raise PluginError(
                f"{_name(encoder)} gave vectors of {part.shape[1]} dimensions, and before of "
                f"{vectors.shape[1]}. Its settings and its revision() must tell models apart"
            )
        if not vectors.shape[1]:
            vectors = np.zeros((len(keys), part.shape[1]), np.float32)
        vectors[rows] = part
        is_known[rows] = True
        if store is not None:
            record_vectors(store, [keys[i] for i in rows], part, flags)
            cache_use.record_computed(store.path, [keys[i] for i in rows])
        progress.add(texts[i] for i in rows)
    if not is_known.all():
        text = texts[int(np.argmin(is_known))]
        raise PluginError(f"{_name(encoder)} made no vector of the text {_shorten(text)}")
    return vectors, n_cut


class _Progress:
    """Warns once where encoding takes long, by the characters that are done."""

    def __init__(self, texts: Sequence[str], warns: bool) -> None:
        self._n_texts = len(texts)
        self._n_characters, self._n_done = sum(map(len, texts)), 0
        self._start = time.monotonic()
        self._warns = warns

    def add(self, texts: Iterator[str]) -> None:
        self._n_done += sum(map(len, texts))
        seconds = time.monotonic() - self._start
        left = seconds * (self._n_characters / max(self._n_done, 1) - 1)
        if self._warns and seconds > _AFTER and left > _LONG:
            self._warns = False
            warnings.warn(
                f"encoding {self._n_texts:,} texts takes about {left / 60:,.0f} more minutes. "
                "Vectors are kept: if you interrupt it, run the same command again to resume",
                stacklevel=1,
            )


def _encode_parts(
    encoder: Encoder, texts: Sequence[str], kind: TextKind, store: Cache | None
) -> Iterator[tuple[Any, ...]]:
    """Yield positions of texts, their vectors and perhaps flags, longest texts first."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    ordered = [texts[i] for i in order]
    encode_parts = getattr(encoder, "encode_parts", None)  # optional
    if callable(encode_parts):
        for numbers, *made in encode_parts(ordered, kind):
            yield [order[i] for i in numbers], *made
    elif store is not None:
        for start in range(0, len(texts), CHUNK):
            end = start + CHUNK
            yield order[start:end], encoder.encode(ordered[start:end], kind)
    else:
        yield range(len(texts)), encoder.encode(texts, kind)


def _check_vectors(made: Any, texts: Sequence[str], encoder: Encoder) -> Vectors:
    try:
        with np.errstate(over="ignore"):  # what overflows is not finite, which is reported below
            vectors: Vectors = np.ascontiguousarray(made, np.float32)
    except (TypeError, ValueError) as error:
        raise PluginError(f"{_name(encoder)} gave no matrix of numbers: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
        raise PluginError(
            f"{_name(encoder)} gave an array of shape {np.shape(made)} for {len(texts)} texts; "
            f"expected ({len(texts)}, d), one row per text. They begin with {_shorten(texts[0])}"
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        text = texts[int(np.argmin(finite))]
        raise PluginError(
            f"{_name(encoder)} gave a vector with NaN or infinity for {len(texts) - finite.sum()} "
            f"of {len(texts)} texts, the first one {_shorten(text)}: the weights are broken, or "
            "their numbers are too large for float16 (try dtype=float32)"
        )
    return vectors


def _name(encoder: Encoder) -> str:
    return f"the encoder {type(encoder).__name__}"


def _shorten(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
