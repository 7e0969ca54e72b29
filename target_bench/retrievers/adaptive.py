"""As many tables for each question as its scores speak for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.schema import Corpus
from target_bench.models.set_sizes import LearnedSize, Sizes, by_gap, by_share
from target_bench.search.nested import Candidates, InnerRetriever, Wrapper

Rule = Literal["gap", "share", "trained"]

_SHARE, _DEPTH = 0.5, 50
"""Defaults."""


class Adaptive(Wrapper):
    """Cuts the ranking of another retriever where its scores say that the set ends.

    Args:
        retriever: whose ranking is cut: as written on the command line, or an object. It has to
            give scores.
        rule: ``gap`` cuts at the largest drop between two scores that follow each other, ``share``
            keeps tables with at least ``share`` of the first score, ``trained`` does so with the
            share that ``model`` has learned.
        share: for the rule ``share``, from 0 to 1. Default: 0.5.
        model: for the rule ``trained``, the folder that ``train set-size`` has written.
        least: the smallest size of a set, unless fewer tables are found.
        depth: how many tables are looked at, and the largest size of a set. Default: 50; with
            the rule ``trained`` that of the training, which is the only one it takes.

    Raises:
        ConfigError: a setting is invalid or one of another rule, or the model is missing, broken,
            or trained on another retriever.
    """

    packages = ("numpy",)

    def __init__(
        self,
        retriever: Any = "bm25",
        rule: Rule = "gap",
        share: float | None = None,
        model: str | None = None,
        least: int = 1,
        depth: int | None = None,
    ) -> None:
        self.retriever = retriever
        self.rule: Rule = rule
        self.share = share
        self.model = model
        self.least = least
        self.depth = depth
        if share is not None and not 0 <= share <= 1:
            raise ConfigError(f"share={share}: a share of the first score, from 0 to 1")
        for name in ("least", "depth"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name}={value}: at least 1 is needed")
        if (model is not None) != (rule == "trained"):
            raise ConfigError(
                f"rule={rule}, model={model}: rule=trained needs the folder of a model, and no "
                "other rule has one"
            )
        if share is not None and rule != "share":
            raise ConfigError(f"share={share}: rule={rule} reads no share; write rule=share")
        self._inner = InnerRetriever(retriever)
        self._changes: list[str] = []
        self._learned = self._read(model) if model is not None else None
        self._depth = (depth or _DEPTH) if self._learned is None else self._learned.depth
        if depth not in (None, self._depth):
            raise ConfigError(f"depth={depth}: the model was trained with depth={self._depth}")
        if least > self._depth:
            raise ConfigError(f"least={least}: only depth={self._depth} tables are looked at")

    def _read(self, model: str) -> LearnedSize:
        learned = LearnedSize(Path(model).expanduser())
        identity, label = plugin_identity(self._inner.retriever)[0], self._inner.label
        learned.check(identity, label)
        self._changes = learned.changes(identity, label)
        return learned

    def parts(self) -> Mapping[str, object]:
        """Return the retriever, and the model if there is one."""
        learned = {} if self._learned is None else {"model": self._learned}
        return {"retriever": self._inner.retriever, **learned}

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever, and whether it has changed since the training."""
        return [*super().notes(), *self._changes]

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have the retriever index the tables."""
        self._ids = corpus.ids
        super().embed_corpus(corpus)

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files that ``save`` wrote."""
        self._ids = corpus.ids
        super().load(folder, corpus)

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables of the set, best first."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the sets of several queries, each with its ``top_k`` best tables at most."""
        found = self._inner.candidates(queries, self._depth)
        scores = _scores_of(found)
        filled = found.rows >= 0
        sizes = np.maximum(self._sizes(scores, filled), self.least)
        kept = filled & (np.arange(filled.shape[1]) < sizes[:, None])
        rows, values = np.where(kept, found.rows, -1), np.where(kept, scores, 0.0)
        return Ranked(self._ids, rows[:, :top_k], values[:, :top_k])

    def _sizes(self, scores: NDArray[np.float64], filled: NDArray[np.bool_]) -> Sizes:
        if self._learned is not None:
            return self._learned.sizes(scores, filled)
        if self.rule == "share":
            return by_share(scores, filled, _SHARE if self.share is None else self.share)
        return by_gap(scores, filled)


def _scores_of(found: Candidates) -> NDArray[np.float64]:
    """Return the scores.

    Raises:
        ConfigError: there are none.
    """
    if found.scores is None:
        raise ConfigError(
            f"{found.label} ranks without scores, which adaptive needs: name a retriever that "
            "gives scores"
        )
    return found.scores
