"""Chance, but always the same."""

from collections import Counter
from pathlib import Path

import pytest

from target_bench.core.contract import Retriever
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.tables import QUERIES, TABLES, built, hash_seed_changes_nothing, reloaded


def _found(retriever: Retriever, k: int = 5) -> list[list[object]]:
    return [list(ranking) for ranking in retriever.retrieve_batch(QUERIES, k)]


def test_hash_seed_changes_nothing() -> None:
    hash_seed_changes_nothing("random:seed=3")


def test_single_is_batch() -> None:
    retriever = built("random")
    assert _found(retriever) == [list(retriever.retrieve(query, 5)) for query in QUERIES]
    assert list(retriever.retrieve_batch([], 5)) == []


def test_order_of_calls_changes_nothing() -> None:
    one, other = built("random"), built("random")
    forward = {query: list(one.retrieve(query, 5)) for query in QUERIES}
    assert {query: list(other.retrieve(query, 5)) for query in reversed(QUERIES)} == forward


def test_seed_and_query_decide() -> None:
    assert _found(built("random")) == _found(built("random:seed=0"))
    assert _found(built("random")) != _found(built("random:seed=1"))
    rankings = [tuple(map(str, ranking)) for ranking in _found(built("random"))]
    assert len(set(rankings)) > 1


@pytest.mark.parametrize("k", [1, 5, len(TABLES), len(TABLES) + 3])
def test_tables_without_repetition(k: int) -> None:
    ids = {t.id for t in TABLES}
    for ranking in _found(built("random"), k):
        assert len(ranking) == len(set(map(str, ranking))) == min(k, len(TABLES))
        assert all(table_id in ids for table_id in ranking)


def test_a_shorter_ranking_begins_a_longer_one() -> None:
    """So that recall@10 does not depend on the largest cutoff of a run."""
    retriever = built("random")
    whole = _found(retriever, len(TABLES))
    for k in range(1, len(TABLES)):
        assert _found(retriever, k) == [ranking[:k] for ranking in whole]


def test_every_permutation_is_as_likely() -> None:
    retriever = built("random", MemoryCorpus(TABLES[:3]))
    found = Counter(str(retriever.retrieve(f"question {i}", 3)) for i in range(3000))
    assert len(found) == 6
    assert all(400 < n < 600 for n in found.values())


def test_every_table_is_as_likely() -> None:
    retriever = built("random", MemoryCorpus(TABLES[:4]))
    first = Counter(str(retriever.retrieve(f"question {i}", 1)[0]) for i in range(2000))
    assert len(first) == 4
    assert all(400 < n < 600 for n in first.values())


def test_text_that_is_not_unicode() -> None:
    """A lone surrogate, as broken JSON may hold."""
    assert len(built("random").retrieve("\ud800", 3)) == 3


def test_saving_changes_nothing(tmp_path: Path) -> None:
    saved, loaded = reloaded("random:seed=3", tmp_path)
    assert _found(loaded) == _found(saved)
