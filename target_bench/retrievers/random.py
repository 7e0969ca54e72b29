"""Tables in an order that chance decides: the floor under every other retriever."""

import hashlib
from dataclasses import dataclass

import numpy as np

from target_bench.core.contract import Retriever
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus


@dataclass(eq=False, repr=False)
class Random(Retriever):
    """A permutation of the tables, fixed by the seed and the query's text.

    The first tables of a longer ranking are those of a shorter one.

    Args:
        seed: another seed, another order.
    """

    packages = ("numpy",)

    seed: int = 0

    def embed_corpus(self, corpus: Corpus) -> None:
        """Keep the ids."""
        self._ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return ``top_k`` tables, all equally likely."""
        digest = hashlib.sha256(f"{self.seed}:{query}".encode("utf-8", "surrogatepass")).digest()
        generator = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        n = len(self._ids)
        k = min(top_k, n)
        drawn = np.arange(k) + (generator.random(k) * np.arange(n, n - k, -1)).astype(np.int64)
        swapped: dict[int, int] = {}  # a shuffle (Fisher and Yates) that stops after k tables
        ranking = []
        for i, j in enumerate(drawn.tolist()):
            ranking.append(self._ids[swapped.get(j, j)])
            swapped[j] = swapped.get(i, i)
        return ranking
