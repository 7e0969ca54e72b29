"""Sets of the size that the scores speak for."""

from collections.abc import Sequence
from typing import Any

import pytest

from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, TableId
from target_bench.retrievers.adaptive import Adaptive
from tests.builders import Counting
from tests.retrievers.tables import (
    corpus,
)


class Given(Retriever):
    """The first tables of the corpus, with these scores."""

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = scores

    def embed_corpus(self, corpus: Corpus) -> None:
        self._ids = corpus.ids

    def retrieve(self, query: str, top_k: int) -> list[tuple[TableId, float]]:
        return list(zip(self._ids, self.scores, strict=False))[:top_k]


def _size(scores: Sequence[float], k: int = 8, **settings: Any) -> int:
    retriever = Adaptive(Given(scores), **settings)
    retriever.embed_corpus(corpus())
    return len(list(retriever.retrieve("any", k)))


@pytest.mark.parametrize(
    ("scores", "size"),
    [
        ([9, 8, 3, 2], 2),
        ([9, 3, 2.5, 2], 1),
        ([9, 8, 7, 1], 3),
        ([5, 4, 3, 2], 1),  # of equal gaps the first
        ([5, 5, 5], 3),
        ([5], 1),
        ([], 0),
        ([-1, -2, -9], 2),
    ],
)
def test_the_largest_gap(scores: Sequence[float], size: int) -> None:
    assert _size(scores) == size


@pytest.mark.parametrize(
    ("scores", "share", "size"),
    [
        ([10, 8, 5, 4.9], 0.5, 3),
        ([10, 8, 5], 0.0, 3),
        ([10, 10, 9], 1.0, 2),
        ([-1, -1, -2], 0.5, 2),  # no share of a score that is not positive
        ([0, 0], 0.5, 2),
        ([], 0.5, 0),
    ],
)
def test_a_share_of_the_first_score(scores: Sequence[float], share: float, size: int) -> None:
    assert _size(scores, rule="share", share=share) == size


def test_limits_of_the_size() -> None:
    assert _size([9, 3, 2, 1], least=3) == 3
    assert _size([9, 3], least=3) == 2
    assert _size([9, 8, 7, 1], k=2) == 2
    assert _size([9, 8, 7, 1], depth=2) == 1
    assert _size([9, 8, 7, 6.9], rule="share", depth=3) == 3


def test_a_retriever_without_scores() -> None:
    retriever = Adaptive(Counting())
    retriever.embed_corpus(corpus())
    with pytest.raises(ConfigError, match="Counting ranks without scores, which adaptive needs"):
        retriever.retrieve("any", 3)
