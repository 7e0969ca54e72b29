"""What the lexical retrievers share: text -> tokens, and sparse scores -> rankings."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from target_bench.errors import ConfigError
from target_bench.ranking import rounded, top_k
from target_bench.schema import TableId
from target_bench.serialization import Field, Format, RowLimit, Serializer

Stemming = Literal["english", "none"]
StopWords = Literal["en_plus", "en", "none"]

_BLOCK_CELLS = 1_000_000
"""Scores held at a time, so that memory does not grow with the number of queries."""


@dataclass(slots=True)
class Analyzer:
    """Text -> tokens: lower case, regular expression, accents off, stop words out, stems.

    Args:
        tokens: the regular expression of a token.
        fold: leave accents off (Unicode NFKD without combining marks).
        stopwords: which of bm25s' lists to leave out: ``en`` (33 words), ``en_plus`` (179).
        stemmer: the Snowball stemmer, or none.

    Raises:
        ConfigError: the regular expression does not compile.
    """

    tokens: str
    fold: bool
    stopwords: StopWords
    stemmer: Stemming
    _find: Callable[[str], list[str]] = field(init=False)
    _normal: dict[str, str | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        try:
            self._find = re.compile(self.tokens).findall
        except re.error as error:
            raise ConfigError(f"tokens={self.tokens!r} is no regular expression: {error}") from error

    def __call__(self, text: str) -> list[str]:
        """The tokens of a text, in order."""
        found = self._find(text.lower())
        normal = self._normal
        for raw in set(found).difference(normal):
            normal[raw] = self._normalise(raw)
        return [token for raw in found if (token := normal[raw]) is not None]

    def _normalise(self, token: str) -> str | None:
        if self.fold and not token.isascii():
            decomposed = unicodedata.normalize("NFKD", token)
            token = "".join(c for c in decomposed if not unicodedata.combining(c))
        if token in _stop_words(self.stopwords):
            return None
        return str(_stemmer().stemWord(token)) if self.stemmer == "english" else token


@cache
def _stop_words(name: StopWords) -> frozenset[str]:
    from bm25s import stopwords

    lists = {"en": stopwords.STOPWORDS_EN, "en_plus": stopwords.STOPWORDS_EN_PLUS, "none": ()}
    return frozenset(lists[name])


@cache
def _stemmer() -> Any:
    from Stemmer import Stemmer

    return Stemmer("english")


def serializers(
    fields: Sequence[Field] | Sequence[Sequence[Field]], format: Format, rows: RowLimit
) -> list[Serializer]:
    """One serializer a field: ``[title, header]`` is one field, ``[[title], [header]]`` is two."""
    names = [name for name in fields if isinstance(name, str)]
    groups = [tuple(group) for group in fields if not isinstance(group, str)]
    if names and groups:
        raise ConfigError(f"fields={list(fields)!r}: either names or lists of names, not both")
    return [Serializer(group, format, rows) for group in groups or [tuple(names)]]


def rank(
    score_block: Callable[[slice], NDArray[np.float64]],
    n_queries: int,
    ids: Sequence[TableId],
    k: int,
    offsets: NDArray[np.float64] | None = None,
) -> list[list[tuple[TableId, float]]]:
    """Rankings from scores computed a block of queries at a time.

    Args:
        score_block: gives the (block, tables) scores of a slice of the queries.
        n_queries: how many there are.
        ids: the tables' ids, in corpus order.
        k: the most tables to return. Tables that score 0 or less match nothing and are left out,
            so fewer may come back.
        offsets: (n_queries,) what each query adds to the score of every table that matches.
    """
    rankings = []
    block = max(1, _BLOCK_CELLS // max(1, len(ids)))
    for start in range(0, n_queries, block):
        rows = slice(start, min(start + block, n_queries))
        scores = score_block(rows)
        if offsets is not None:
            scores = np.where(_positive(scores), scores + offsets[rows, None], 0.0)
        best = top_k(scores, k)
        found = np.take_along_axis(scores, best, axis=1)
        lengths = _positive(found).sum(axis=1)
        for columns, values, n in zip(best.tolist(), found.tolist(), lengths, strict=True):
            rankings.append([(ids[c], v) for c, v in zip(columns[:n], values[:n], strict=True)])
    return rankings


def distinct(tokens: Iterable[str]) -> list[str]:
    """Each token once, in the order of first occurrence."""
    return list(dict.fromkeys(tokens))


def _positive(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    return rounded(scores) > 0
