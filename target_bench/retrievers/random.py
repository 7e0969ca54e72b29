"""Tables in an order that chance decides: the floor under every other retriever."""

import hashlib
from pathlib import Path

import numpy as np

from target_bench.interfaces import Corpus, Ranking, Retriever


class Random(Retriever):
    """A sample of tables without replacement, fixed by the seed and the query's text.

    Args:
        seed: another seed, another order.
    """

    packages = ("numpy",)

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def embed_corpus(self, corpus: Corpus) -> None:
        """Keep the ids."""
        self._ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """``top_k`` tables, all equally likely."""
        digest = hashlib.sha256(f"{self.seed}:{query}".encode("utf-8", "surrogatepass")).digest()
        generator = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        k = min(top_k, len(self._ids))
        return [self._ids[i] for i in generator.choice(len(self._ids), size=k, replace=False)]

    def save(self, folder: Path) -> None:
        """Write nothing: the corpus has the ids."""

    def load(self, folder: Path, corpus: Corpus) -> None:  # noqa: ARG002 (there is nothing in it)
        """Keep the ids."""
        self.embed_corpus(corpus)
