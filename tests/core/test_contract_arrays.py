"""Rankings as arrays, held to the contract."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from target_bench.core.contract import Retriever, retrieve
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.schema import Corpus, Query, Retrieval, Table, TableId
from target_bench.data.tables import MemoryCorpus

CORPUS = MemoryCorpus(Table(TableId("db", f"t{i}"), ("a",), ((str(i),),)) for i in range(6))
A, B, C, D, E, F = CORPUS.ids
K = 4


class Indexed(Retriever):
    """Answers with arrays; a query names its row."""

    def __init__(self, rows: list[list[int]], scores: list[list[float]]) -> None:
        self.rows, self.scores = np.array(rows), np.array(scores)

    def embed_corpus(self, corpus: Corpus) -> None:
        """Nothing to do."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Ranked:
        chosen = [int(query) for query in queries]
        return Ranked(CORPUS.ids, self.rows[chosen], self.scores[chosen])


def _ask(retriever: Any, *texts: str) -> list[Retrieval]:
    queries = [Query(f"id of {text}", text, (A,)) for text in texts]
    return retrieve(retriever, queries, K, CORPUS, stop=False)


def test_arrays() -> None:
    """-1 ends a ranking; the order is that of any scored ranking."""
    retriever = Indexed([[1, 0, -1], [-1, -1, -1], [2, 0, 3]], [[1, 2, 0], [9, 9, 9], [1, 1, 1]])
    found = _ask(retriever, "0", "1", "2")
    assert [r.tables for r in found] == [(A, B), (), (A, C, D)]
    assert [r.scores for r in found] == [(2.0, 1.0), (), (1.0, 1.0, 1.0)]
    assert [r.resorted for r in found] == [True, False, False]


@pytest.mark.parametrize(
    ("row", "scores", "fault"),
    [
        ([1, 1], [2, 1], "returned the table db/t1 twice"),
        ([0, 1], [2, float("nan")], "returned the score nan for table db/t1"),
        ([0, 6], [2, 1], ""),
        ([0, 600], [2, 1], ""),
    ],
)
def test_faults_in_arrays(row: list[int], scores: list[float], fault: str) -> None:
    """One ranking is at fault, the others of the batch stand."""
    retriever = Indexed([[0, 1], row, [2, 3]], [[2, 1], scores, [2, 1]])
    found = _ask(retriever, "0", "1", "2")
    assert [r.query_id for r in found] == ["id of 0", "id of 1", "id of 2"]
    assert [r.error is None for r in found] == [True, False, True]
    assert fault in (found[1].error or "")


@pytest.mark.parametrize("score", [9e10, 9e300, 9e-300])
def test_tied_scores_in_arrays_keep_the_order_of_the_tables(score: float) -> None:
    (found,) = _ask(Indexed([[2, 0, 1]], [[score] * 3]), "0")
    assert found.tables == tuple(CORPUS.ids[:3])
    assert found.tied
