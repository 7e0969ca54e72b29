"""Texts as vectors, each encoded once: what was encoded before comes from the embedding cache."""

import hashlib
import json
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from target_bench.core import cache_use
from target_bench.core.errors import PluginError
from target_bench.core.files import cache_root
from target_bench.core.identity import plugin_identity
from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.embedding_cache.embedding_files import FOLDER
from target_bench.models.embedding_cache.embedding_store import EmbeddingStore, Warn, text_key

CHUNK = 1024
"""Default number of texts that are encoded before they are stored."""

_SHOWN = 60  # characters of a text in a message


def encoded(
    encoder: Encoder,
    texts: Sequence[str],
    kind: TextKind,
    *,
    cache: bool = True,
    warn: Warn = warnings.warn,
) -> Vectors:
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
        warn: gets messages about damaged files.

    Returns:
        (n, d) vectors in the order of the texts; equal texts have equal vectors. Without any text
        d is 0 where it is not known.

    Raises:
        PluginError: the encoder does not give a matrix with one row per text, or gives numbers that
            are not finite, or vectors of different lengths.
        StoreError: vectors cannot be recorded; those recorded before are kept.
    """
    keys = [text_key(text) for text in texts]
    distinct = dict(zip(keys, texts, strict=True))
    store = _store(encoder, kind) if cache and not cache_use.is_off() else None
    if store is None:
        vectors = _encoded(encoder, list(distinct.values()), kind)
    else:
        vectors = _recorded(store, encoder, distinct, kind, warn)
    if len(distinct) == len(keys):
        return vectors
    places = dict(zip(distinct, range(len(distinct)), strict=True))
    return vectors[[places[key] for key in keys]]


def _encoded(encoder: Encoder, texts: Sequence[str], kind: TextKind) -> Vectors:
    if not texts:
        return np.zeros((0, 0), np.float32)
    return _checked(encoder.encode(texts, kind), texts, encoder)


def _recorded(
    store: EmbeddingStore,
    encoder: Encoder,
    distinct: Mapping[bytes, str],
    kind: TextKind,
    warn: Warn,
) -> Vectors:
    keys, texts = list(distinct), list(distinct.values())
    found, vectors = store.read(keys, warn)
    if found.any():
        known = [keys[i] for i in np.flatnonzero(found)]
        encoder.add_recorded(kind, len(known), store.n_cut(known))
        cache_use.found("embedding cache", store, known)
    missing = np.flatnonzero(~found)
    if not missing.size:
        return vectors
    store.prepare()
    asked = [texts[i] for i in missing]
    for some, made, *cut in _parts(encoder, asked, kind):
        places = missing[some]
        part = _checked(made, [texts[i] for i in places], encoder)
        part = store.append([keys[i] for i in places], part, warn, *cut)
        if not vectors.shape[1]:
            vectors = np.zeros((len(keys), part.shape[1]), np.float32)
        cache_use.made(store, [keys[i] for i in places])
        vectors[places] = part
        found[places] = True
    if not found.all():
        text = texts[int(np.argmin(found))]
        raise PluginError(f"{_name(encoder)} made no vector of the text {_beginning(text)}")
    return vectors


def _parts(encoder: Encoder, texts: Sequence[str], kind: TextKind) -> Iterator[tuple[Any, ...]]:
    """Yield places of texts, their vectors and perhaps flags, longest texts first."""
    order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
    ordered = [texts[place] for place in order]
    own = getattr(encoder, "encode_parts", None)  # optional
    for some, *made in own(ordered, kind) if callable(own) else _chunks(encoder, ordered, kind):
        yield [order[place] for place in some], *made


def _chunks(
    encoder: Encoder, texts: Sequence[str], kind: TextKind
) -> Iterator[tuple[Sequence[int], Any]]:
    for start in range(0, len(texts), CHUNK):
        chunk = texts[start : start + CHUNK]
        yield range(start, start + len(chunk)), encoder.encode(chunk, kind)


def _checked(found: Any, texts: Sequence[str], encoder: Encoder) -> Vectors:
    try:
        with np.errstate(over="ignore"):  # what overflows is not finite, which is reported below
            vectors: Vectors = np.ascontiguousarray(found, np.float32)
    except (TypeError, ValueError) as error:
        raise PluginError(f"{_name(encoder)} gave no matrix of numbers: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
        raise PluginError(
            f"{_name(encoder)} gave an array of shape {np.shape(found)} for {len(texts)} texts; "
            f"expected ({len(texts)}, d), one row per text. They begin with {_beginning(texts[0])}"
        )
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        text = texts[int(np.argmin(finite))]
        raise PluginError(
            f"{_name(encoder)} gave a vector with NaN or infinity for {len(texts) - finite.sum()} "
            f"of {len(texts)} texts, the first one {_beginning(text)}"
        )
    return vectors


def _name(encoder: Encoder) -> str:
    return f"the encoder {type(encoder).__name__}"


def _beginning(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _store(encoder: Encoder, kind: TextKind) -> EmbeddingStore | None:
    """Return where an encoder's vectors are recorded, or None if it cannot be identified."""
    identity = _identity(encoder, kind)
    return None if identity is None else _opened(str(cache_root() / FOLDER), identity, kind)


@lru_cache(maxsize=16)
def _opened(parent: str, identity: str, kind: TextKind) -> EmbeddingStore:
    key = hashlib.sha256(json.dumps([identity, kind]).encode()).hexdigest()[:16]
    return EmbeddingStore(Path(parent) / key, json.loads(identity), kind)


class _Known(NamedTuple):
    encoder: "weakref.ref[Encoder]"
    settings: str
    identity: str


_known: dict[int, _Known] = {}
"""Of encoders that are in use: hashing their code takes longer than finding a vector."""


def _identity(encoder: Encoder, kind: TextKind) -> str | None:
    own = encoder.recorded_as(kind)
    if own is not None:
        return json.dumps(dict(own), sort_keys=True)
    revision = getattr(encoder, "revision", None)
    if not callable(revision) or (weights := revision()) is None:
        return None
    try:
        settings = json.dumps([weights, dict(encoder.config())], sort_keys=True, default=repr)
    except Exception:
        return None  # as plugin_identity would find
    known = _known.get(id(encoder))
    if known and known.encoder() is encoder and known.settings == settings:
        return known.identity
    found, warning = plugin_identity(encoder)
    if warning:
        return None
    identity = json.dumps(found, sort_keys=True)
    place = id(encoder)
    gone = weakref.ref(encoder, lambda _: _known.pop(place, None))
    _known[place] = _Known(gone, settings, identity)
    return identity
