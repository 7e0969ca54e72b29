"""An encoder without a model: texts that share words have vectors that are close."""

import re
from collections.abc import Sequence

import numpy as np

from target_bench.vectors import Encoder, TextKind, Vectors


class Words(Encoder):
    """Counts words by a hash that is the same in every process."""

    def __init__(self, dims: int = 256) -> None:
        self.dims = dims
        self.calls: list[tuple[TextKind, int]] = []

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Vectors of length 1; zeros for a text without words."""
        self.calls.append((kind, len(texts)))
        vectors = np.zeros((len(texts), self.dims), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                number = sum(byte * 31**i for i, byte in enumerate(word.encode("utf-8", "replace")))
                vectors[row, number % self.dims] += 1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, 1)
        return vectors

    def revision(self) -> str:
        """The function never changes."""
        return "words-1"
