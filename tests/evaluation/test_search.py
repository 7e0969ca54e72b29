"""Tables for one question, without labels."""

import pytest

from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus
from target_bench.evaluation.search import TableSearch


def test_the_best_tables_with_their_scores() -> None:
    search = TableSearch("mini", "bm25")
    hits = search.search("Which city hosted the Summer Olympics in 1964?", k=3)
    assert [hit.rank for hit in hits] == [1, 2, 3]
    scores = [hit.score for hit in hits]
    assert all(score is not None for score in scores)
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert search.label == "bm25"


@pytest.mark.parametrize(("question", "k", "fault"), [(" ", 3, "is empty"), ("x", 0, "not 0")])
def test_invalid_questions(question: str, k: int, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        TableSearch("mini").search(question, k)


class Broken:
    """Fails on every question."""

    def embed_corpus(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, top_k: int) -> Ranking:
        raise ValueError("no luck")


def test_a_retriever_that_fails() -> None:
    with pytest.raises(PluginError, match=r"retriever Broken: .*no luck"):
        TableSearch("mini", Broken()).search("x")
