"""Encoders that need no model."""

import re
from collections.abc import Sequence

import numpy as np

from target_bench.core.vectors import Encoder, TextKind, Vectors


class Words(Encoder):
    """Counts words, each in a dimension that its bytes name, the same in every process."""

    def __init__(self, dims: int = 256, seed: int = 0) -> None:
        self.dims = dims
        self.seed = seed
        self.encoded: list[tuple[str, TextKind]] = []

    def revision(self) -> str:
        """Of these words."""
        return "words-1"

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """(n, dims) counts."""
        self.encoded += [(text, kind) for text in texts]
        vectors = np.zeros((len(texts), self.dims), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                number = sum(
                    byte * 31**i for i, byte in enumerate(word.encode("utf-8", "replace")[:16])
                )
                vector[(number + self.seed) % self.dims] += 1
        return vectors


class UnitWords(Words):
    """Vectors of length 1; zeros for a text without words."""

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """(n, dims) shares."""
        vectors = super().encode(texts, kind)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, 1)
        return vectors
