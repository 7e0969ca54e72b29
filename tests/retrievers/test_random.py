"""Chance, but always the same."""

from collections import Counter

from target_bench.core.contract import Retriever
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.tables import QUERIES, TABLES, built


def _rankings(retriever: Retriever, k: int = 5) -> list[list[object]]:
    return [list(ranking) for ranking in retriever.retrieve_batch(QUERIES, k)]


def test_seed_and_query_decide() -> None:
    assert _rankings(built("random")) == _rankings(built("random:seed=0"))
    assert _rankings(built("random")) != _rankings(built("random:seed=1"))
    rankings = [tuple(map(str, ranking)) for ranking in _rankings(built("random"))]
    assert len(set(rankings)) > 1


def test_every_permutation_is_as_likely() -> None:
    retriever = built("random", MemoryCorpus(TABLES[:3]))
    counts = Counter(str(retriever.retrieve(f"question {i}", 3)) for i in range(3000))
    assert len(counts) == 6
    assert all(400 < n < 600 for n in counts.values())
