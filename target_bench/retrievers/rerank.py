"""Rerank the best tables of another retriever with a cross-encoder."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.contract import get_constructor_arguments
from target_bench.core.errors import ConfigError, MissingExtraError, check_at_least_one
from target_bench.core.ranking import SINGLE_DIGITS, Ranked, Ranking, round_scores
from target_bench.core.ranking import top_k as best_columns
from target_bench.core.schema import Corpus, Field, Format, RowLimit
from target_bench.data.table_text import Serializer
from target_bench.models.cross_encoder import DType, Scorer
from target_bench.search.nested import BatchRetriever, Candidates, InnerRetriever

Floats = NDArray[np.float64]

DEPTH = 50


@dataclass(eq=False, repr=False)
class Rerank(BatchRetriever):
    """Rerank the best tables of another retriever by scores of query and table together.

    Needs: extra dense; a model (download).

    The score is the model's own, before any sigmoid. With a ``weight`` below 1 it is weight times
    the model's score plus (1 - weight) times the retriever's, each scaled so that the lowest of the
    query's candidates has 0 and the highest 1. Pairs longer than the model's limit are cut,
    counted and reported.

    Args:
        retriever: finds the candidates: as written on the command line, or an object.
        model: a CrossEncoder of sentence-transformers that gives one score: a folder, or a name on
            the Hugging Face hub.
        depth: how many candidates are scored. Default: 50, or ``top_k`` where that is more.
        weight: of the model's score, from 0 to 1; the rest is the retriever's.
        fields: the parts of a table that the model reads.
        rows: how many rows of each table: a number, ``all``, or ``auto``, which is all of a web
            table and the first 1,000 of a table in a database.
        format: how header and rows are written.
        max_tokens: of query and table together. Default: the model's limit.
        batch_size: how many pairs are scored at once; halved where memory does not suffice.
        device: as PyTorch names it. Default: the GPU if there is one.
        dtype: of the weights; ``auto`` is that of the model's file.
        commit: of a model on the hub: a commit, branch or tag.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        ConfigError: a setting is invalid.
    """

    packages = ("sentence-transformers", "transformers", "tokenizers", "torch", "numpy")

    retriever: Any = "bm25"
    model: str = "cross-encoder/ms-marco-MiniLM-L6-v2"
    depth: int | None = None
    weight: float = 1.0
    fields: Sequence[Field] = ("title", "section", "header", "rows")
    rows: RowLimit = "auto"
    format: Format = "text"
    max_tokens: int | None = None
    batch_size: int = 32
    device: str | None = None
    dtype: DType = "auto"
    commit: str | None = None

    def __post_init__(self) -> None:
        check_at_least_one(depth=self.depth, max_tokens=self.max_tokens, batch_size=self.batch_size)
        if not 0 <= self.weight <= 1:
            raise ConfigError(f"weight={self.weight}: the share of the model's score, from 0 to 1")
        self._write = Serializer(tuple(self.fields), self.format, self.rows)
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError("sentence-transformers", "dense", "the retriever rerank")
        self._inner = InnerRetriever(self.retriever)
        self._scorer = Scorer(
            self.model, self.commit, self.max_tokens, self.batch_size, self.device, self.dtype
        )

    def parts(self) -> Mapping[str, object]:
        """Return the model, and the retriever of the candidates."""
        return {"model": self._scorer, "retriever": self._inner.retriever}

    def config(self) -> Mapping[str, Any]:
        """Return the settings, with the kind of device in place of its number.

        Raises:
            ConfigError: there is no such device.
        """
        return {
            **get_constructor_arguments(self),
            "device": self._scorer.chosen_device.partition(":")[0],
        }

    def embed_corpus(self, corpus: Corpus) -> None:
        """Load the model, and have the retriever index the tables."""
        self._scorer.load()
        self._corpus = corpus
        self._inner.embed_corpus(corpus)

    def notes(self) -> Sequence[str]:
        """Return the notes of the retriever, and the number of cut pairs."""
        return [*self._inner.notes(), *self._scorer.notes()]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        candidates = self._inner.candidates(queries, self.depth or max(DEPTH, top_k))
        filled = candidates.rows >= 0
        scores = np.zeros(candidates.rows.shape)
        scores[filled] = self._scorer.scores(self._pairs(queries, candidates))
        if self.weight < 1:
            retrieved = self._scale_retriever_scores(candidates)
            scores = self.weight * _scale_scores(scores, filled) + (1 - self.weight) * retrieved
        return _rank_tables(self._corpus, candidates.rows, scores, top_k)

    def _pairs(self, queries: Sequence[str], candidates: Candidates) -> list[tuple[str, str]]:
        positions = np.unique(candidates.rows[candidates.rows >= 0]).tolist()
        ids = self._corpus.ids
        texts = {i: self._write(self._corpus[ids[i]]) for i in positions}
        return [
            (query, texts[i])
            for query, row in zip(queries, candidates.rows.tolist(), strict=True)
            for i in row
            if i >= 0
        ]

    def _scale_retriever_scores(self, candidates: Candidates) -> Floats:
        if candidates.scores is None:
            raise ConfigError(
                f"{self._inner.label} ranks without scores, which weight={self.weight} needs; "
                "use weight=1"
            )
        return _scale_scores(candidates.scores, candidates.rows >= 0)


def _scale_scores(scores: Floats, filled: NDArray[np.bool_]) -> Floats:
    """Scale each row from 0 for the lowest to 1 for the highest; 1 where all are equal."""
    lowest = np.min(scores, axis=1, keepdims=True, where=filled, initial=np.inf)
    highest = np.max(scores, axis=1, keepdims=True, where=filled, initial=-np.inf)
    spread = highest > lowest
    with np.errstate(invalid="ignore"):  # a row without a table has infinite ends
        scaled = (scores - lowest) / np.where(spread, highest - lowest, 1.0)
    return np.where(filled, np.where(spread, scaled, 1.0), 0.0)


def _rank_tables(corpus: Corpus, rows: NDArray[np.int64], scores: Floats, k: int) -> Ranked:
    """Return the first ``k`` candidates in the order of their new scores."""
    # in corpus order, which breaks ties
    columns = np.argsort(np.where(rows < 0, len(corpus), rows), axis=1)
    rows = np.take_along_axis(rows, columns, axis=1)
    scores = np.take_along_axis(scores, columns, axis=1)
    filled = rows >= 0
    largest = np.max(np.abs(scores), axis=1, keepdims=True, where=filled, initial=0.0)
    best, best_scores = best_columns(
        np.where(filled, round_scores(scores, largest, SINGLE_DIGITS), -np.inf), k
    )
    ranked = np.take_along_axis(rows, best, axis=1)
    return Ranked(corpus.ids, ranked, np.where(ranked < 0, 0.0, best_scores))
