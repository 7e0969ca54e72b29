# SPDX-License-Identifier: Apache-2.0
"""Query history: questions of a log that are like the one asked vote with their tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench import ConfigError, Corpus, Ranked
from target_bench.plugin_tools import (
    WORDS,
    Analyzer,
    Candidates,
    Fusion,
    InnerRetriever,
    Ranking,
    Wrapper,
    read_log,
)

_LEAST_SIMILARITY = 0.05
"""Questions below this cosine share a word or two of no weight."""


@dataclass(eq=False, repr=False)
class History(Wrapper):
    """Fuses a retriever with the votes of the most similar questions of a log for their tables.

    >>> History(log="shop/queries.csv", split="time:.8")  # doctest: +SKIP

    A vote weighs the cosine of TF-IDF vectors of the two questions' words and pairs of words;
    reciprocal ranks are added. A row of the log with the very text that is asked has no vote: a
    question of a test that stands in the log would be answered by itself.

    Args:
        log: a file of questions (CSV or JSON lines) with gold tables or with SQL; a row of SQL
            alone is compared by its SQL. In Python also questions.
        retriever: what is fused with: as written on the command line, or an object.
        split: the log is the first part of its file, as in ``time:.8`` or ``random:.8``. Default:
            the rows of the split ``train`` if there are any, else all.
        seed: of ``random``.
        neighbours: how many questions of the log vote.
        weight: of their ranking; the retriever's weighs 1.
        repeats: rows with the very text that is asked have a vote, as in a search that is no test.
        most_similar: questions of a greater cosine have no vote: near-paraphrases.
        language: of the questions: stop words are left out, and words are stemmed.
        depth: how many tables the retriever gives. Default: 200, or ``top_k`` where that is more.

    Raises:
        ConfigError: a part cannot be built, or a setting is invalid.
    """

    packages = ("scikit-learn", "bm25s", "PyStemmer", "numpy", "scipy")

    log: Any
    retriever: Any = "bm25"
    split: str | None = None
    seed: int = 0
    neighbours: int = 10
    weight: float = 1.0
    repeats: bool = False
    most_similar: float = 1.0
    language: Any = "en"
    depth: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("neighbours", 1), ("weight", 0), ("depth", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(f"{name}={value}: at least {least} is needed")
        self._inner = InnerRetriever(self.retriever)
        self._words = Analyzer(WORDS, True, "en_plus", "english", (self.language,))
        self._fusion = Fusion("rrf")
        self._texts: NDArray[Any] = np.array([], dtype=object)
        self._log_notes: list[str] = []
        self._asked: dict[str, bool] = {}  # question -> whether it stands in the log

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have the retriever index the tables, and read the log."""
        super().embed_corpus(corpus)
        self._read(corpus)

    def save(self, folder: Path) -> None:
        """Have the index of the retriever written; the log stays where it is."""
        self._inner.save(folder / "retriever")

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Have the index of the retriever read, and read the log."""
        self._inner.load(folder / "retriever", corpus)
        self._read(corpus)

    def _read(self, corpus: Corpus) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        if isinstance(self.log, str | Path):
            questions, self._log_notes = read_log(self.log, corpus, self.split, self.seed)
        else:
            questions, self._log_notes = [query for query in self.log if query.gold], []
        self._gold = [[corpus.positions[table] for table in query.gold] for query in questions]
        self._texts = np.array([_normalize(query.text) for query in questions], dtype=object)
        self._asked = {}
        vectorizer = TfidfVectorizer(
            tokenizer=self._words,
            token_pattern=None,
            lowercase=False,
            ngram_range=(1, 2),
            sublinear_tf=True,
        )
        self._vectors = None
        if any(map(self._words, self._texts)):
            self._vectors = vectorizer.fit_transform(self._texts).T.tocsr()
            self._vectorizer = vectorizer

    def notes(self) -> Sequence[str]:
        """Return what the log has, how many of its rows were asked, and the retriever's notes."""
        own = [f"the log has {len(self._texts):,} questions", *self._log_notes]
        if n_repeated := sum(self._asked.values()):
            own.append(
                f"{n_repeated:,} of {len(self._asked):,} questions stand in the log, and were "
                "answered without their own rows; later ones had a vote"
            )
        return [*own, *super().notes()]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, computed together."""
        if not len(self._inner.ids) or not queries:
            return [[] for _ in queries]
        depth = self.depth or max(200, top_k)
        lists = [self._inner.candidates(queries, depth), self._vote(queries)]
        n_tables = len(self._inner.ids)
        return Ranked(
            self._inner.ids, *self._fusion.fuse(lists, (1.0, self.weight), depth, n_tables, top_k)
        )

    def _vote(self, queries: Sequence[str]) -> Candidates:
        """Return the tables of the nearest questions of the log, by their votes."""
        pairs = zip(queries, self._compare(queries), strict=True)
        rankings = [self._count_votes(query, cosines) for query, cosines in pairs]
        width = max(map(len, rankings))
        rows, scores = np.full((len(queries), width), -1), np.zeros((len(queries), width))
        for row, score, votes in zip(rows, scores, rankings, strict=True):
            row[: len(votes)] = [table for table, _ in votes]
            score[: len(votes)] = [vote for _, vote in votes]
        return Candidates(rows, scores, "history")

    def _compare(self, queries: Sequence[str]) -> NDArray[np.float64]:
        """Return the (queries, log) cosines."""
        if self._vectors is None:
            return np.zeros((len(queries), len(self._texts)))
        texts = [_normalize(query) for query in queries]
        cosines: NDArray[np.float64] = (self._vectorizer.transform(texts) @ self._vectors).toarray()
        return cosines

    def _count_votes(self, query: str, cosines: NDArray[np.float64]) -> list[tuple[int, float]]:
        """Return the places of tables with their votes, most first."""
        is_repeat = self._texts == _normalize(query)
        self._asked[query] = bool(is_repeat.any()) and not self.repeats
        if not self.repeats:
            cosines = np.where(is_repeat, 0.0, cosines)
        votes: dict[int, float] = {}
        cosines = np.where(cosines > self.most_similar + 1e-9, 0.0, cosines)
        for number in np.argsort(-cosines, kind="stable")[: self.neighbours].tolist():
            if cosines[number] > _LEAST_SIMILARITY:
                for table in self._gold[number]:
                    votes[table] = votes.get(table, 0.0) + float(cosines[number])
        return sorted(votes.items(), key=lambda pair: (-pair[1], pair[0]))


def _normalize(text: str) -> str:
    return " ".join(text.lower().split())
