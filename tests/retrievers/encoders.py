"""Encoders that need no model."""

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from target_bench.vectors import Encoder, TextKind, Vectors

DIMENSIONS = 32


class Words(Encoder):
    """Counts words, each in a dimension that its checksum names."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.encoded: list[tuple[str, TextKind]] = []

    def revision(self) -> str:
        """Of these words."""
        return "words-1"

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """(n, 32) counts."""
        self.encoded += [(text, kind) for text in texts]
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                vector[(zlib.crc32(word.encode("utf-8", "replace")) + self.seed) % DIMENSIONS] += 1
        return vectors


class Learned(Words):
    """Knows the words of the corpus only; never cached."""

    def __init__(self) -> None:
        super().__init__()
        self.known: set[str] = set()

    def revision(self) -> str | None:  # type: ignore[override]  # none is known
        """Another with every corpus."""

    def fit(self, texts: Iterable[str]) -> None:
        """Learn the words."""
        self.known = {word for text in texts for word in text.lower().split()}

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Counts of the known words."""
        kept = [" ".join(w for w in text.split() if w.lower() in self.known) for text in texts]
        return super().encode(kept, kind)

    def save(self, folder: Path) -> None:
        """Write the words."""
        (folder / "words.txt").write_text("\n".join(sorted(self.known)), encoding="utf-8")

    def load(self, folder: Path) -> None:
        """Read them."""
        self.known = set((folder / "words.txt").read_text(encoding="utf-8").split("\n"))
