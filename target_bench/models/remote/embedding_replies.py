"""Embeddings as servers send them: in any order, as base64 or as numbers."""

import base64
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from target_bench.core.vectors import Vectors
from target_bench.models.remote.failures import Failure


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one request.

    Attributes:
        places: of its texts, among all that are embedded.
        vectors: (n, d) of them, in this order.
        input_tokens: of its texts, where the server counts them.
        output_tokens: none.
    """

    places: Sequence[int]
    vectors: Vectors
    input_tokens: int | None
    output_tokens: int | None = 0


def read_embedded(
    body: Mapping[str, Any], places: Sequence[int], dimensions: int | None
) -> Embedded:
    """Return the vectors in what a server sent, in the order of the texts.

    Args:
        body: the JSON object.
        places: of the texts that were sent.
        dimensions: the length of a vector that was asked for, or None.

    Raises:
        Failure: they are not what was asked for.
    """
    data = body.get("data")
    n = len(places)
    if not isinstance(data, list) or len(data) != n:
        found = len(data) if isinstance(data, list) else "no"
        raise Failure("server_error", f"{found} vectors for {n} texts", again=True)
    try:
        order = [_place(item.get("index"), i) for i, item in enumerate(data)]
        rows = [_vector(item["embedding"]) for item in data]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Failure(
            "server_error", f"an embedding is not a vector: {error}", again=True
        ) from None
    lengths = {len(row) for row in rows}
    if set(order) != set(range(n)):
        raise Failure("server_error", f"the indexes of {n} vectors are {order!r:.80}", again=True)
    if len(lengths) != 1 or not all(lengths):
        raise Failure("server_error", f"vectors of {sorted(lengths)} dimensions", again=True)
    if dimensions is not None and lengths != {dimensions}:
        raise Failure(
            "bad_request",
            f"dimensions={dimensions} was asked for, and vectors of {lengths.pop()} came; the "
            "model cannot shorten them: leave dimensions out",
        )
    vectors = np.empty((n, lengths.pop()), np.float32)
    vectors[order] = rows
    return Embedded(places, vectors, _tokens(body.get("usage")))


def _place(index: Any, otherwise: int) -> int:
    """Return the index that a server gives, which some leave out."""
    return otherwise if index is None else operator.index(index)


def _vector(embedding: Any) -> Vectors:
    """Return (d,) numbers, which come as base64 or as a list."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    vector: Vectors = np.array(embedding, np.float32)
    if vector.ndim != 1:
        raise ValueError(f"an array of shape {vector.shape}")
    return vector


def _tokens(usage: Any) -> int | None:
    found = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return found if isinstance(found, int) and found >= 0 else None
