"""As many tables for each question as its scores speak for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, check_at_least_one
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.schema import Corpus
from target_bench.models.set_sizes import Sizes, by_gap, by_share
from target_bench.search.nested import Candidates, InnerRetriever, Wrapper

Rule = Literal["gap", "share"]

_SHARE = 0.5
"""The default share."""


@dataclass(eq=False, repr=False)
class Adaptive(Wrapper):
    """Cuts the ranking of another retriever where its scores say that the set ends.

    Args:
        retriever: whose ranking is cut: as written on the command line, or an object. It has to
            give scores.
        rule: ``gap`` cuts at the largest drop between two scores that follow each other, ``share``
            keeps tables with at least ``share`` of the first score.
        share: for the rule ``share``, from 0 to 1. ``examples/training/set_size.py`` finds the
            best one for a split. Default: 0.5.
        least: the smallest size of a set, unless fewer tables are found.
        depth: how many tables are looked at, and the largest size of a set.

    Raises:
        ConfigError: a setting is invalid or one of another rule.
    """

    packages = ("numpy",)

    retriever: Any = "bm25"
    rule: Rule = "gap"
    share: float | None = None
    least: int = 1
    depth: int = 50

    def __post_init__(self) -> None:
        if self.share is not None and not 0 <= self.share <= 1:
            raise ConfigError(f"share={self.share}: a share of the first score, from 0 to 1")
        check_at_least_one(least=self.least, depth=self.depth)
        if self.share is not None and self.rule != "share":
            raise ConfigError(
                f"share={self.share}: rule={self.rule} reads no share; write rule=share"
            )
        self._inner = InnerRetriever(self.retriever)
        if self.least > self.depth:
            raise ConfigError(f"least={self.least}: only depth={self.depth} tables are looked at")

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have the retriever index the tables."""
        self._ids = corpus.ids
        super().embed_corpus(corpus)

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the sets of several queries, each with its ``top_k`` best tables at most."""
        candidates = self._inner.candidates(queries, self.depth)
        scores = _scores_of(candidates)
        filled = candidates.rows >= 0
        sizes = np.maximum(self._sizes(scores, filled), self.least)
        kept = filled & (np.arange(filled.shape[1]) < sizes[:, None])
        rows, values = np.where(kept, candidates.rows, -1), np.where(kept, scores, 0.0)
        return Ranked(self._ids, rows[:, :top_k], values[:, :top_k])

    def _sizes(self, scores: NDArray[np.float64], filled: NDArray[np.bool_]) -> Sizes:
        if self.rule == "share":
            return by_share(scores, filled, _SHARE if self.share is None else self.share)
        return by_gap(scores, filled)


def _scores_of(candidates: Candidates) -> NDArray[np.float64]:
    """Return the scores.

    Raises:
        ConfigError: there are none.
    """
    if candidates.scores is None:
        raise ConfigError(
            f"{candidates.label} ranks without scores, which adaptive needs: name a retriever that "
            "gives scores"
        )
    return candidates.scores
