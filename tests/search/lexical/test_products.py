"""Scores -> rankings: every way against sorting all scores."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from target_bench.core.ranking import top_k
from target_bench.core.schema import TableId
from target_bench.search.lexical import products
from target_bench.search.lexical.products import QueryScorer

Rows = list[list[tuple[int, float]]]


def _simply(scores: NDArray[Any], k: int, offsets: NDArray[Any] | None = None) -> Rows:
    """All positive scores, sorted by rounded score and then by place."""
    rows = []
    for i, row in enumerate(scores):
        order, values = top_k((row + (0 if offsets is None else offsets[i]))[None], len(row))
        shifted = dict(zip(order[0].tolist(), values[0].tolist(), strict=True))
        places = [j for j in range(len(row)) if row[j] > 0]
        places.sort(key=lambda j: (-shifted[j], j))
        rows.append([(j, shifted[j]) for j in places[:k]])
    return rows


def _ranked(
    queries: Any, shards: Sequence[Any], k: int, offsets: NDArray[Any] | None = None
) -> Rows:
    ids = [TableId("0", str(i)) for i in range(sum(shard.shape[1] for shard in shards))]
    ranked = products.rank_product(queries, shards, ids, k, offsets)
    rows = np.asarray(ranked.rows)
    assert ((rows[:, 1:] < 0) | (rows[:, :-1] >= 0)).all()
    return [
        [(int(row), float(score)) for row, score in zip(places, values, strict=True) if row >= 0]
        for places, values in zip(ranked.rows, ranked.scores, strict=True)
    ]


def _random(seed: int, n_tables: int) -> tuple[Any, Any]:
    """Queries and weights with many ties and many scores that differ by less than rounding."""
    draw = np.random.default_rng(seed)
    weights = draw.choice([0, 0, 0, 1, 2, 3 + 4e-11, 3 - 4e-11, 1e-6], (6, n_tables))
    weights += draw.choice([0, 0, 1e-14], weights.shape) * (weights > 0)
    queries = draw.choice([0, 0, 1, 2], (4, 6)).astype(float)
    queries[draw.integers(4)] = 0
    return csr_matrix(queries), csr_matrix(weights)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_tables=st.sampled_from([1, 2, 63, 64, 65, 200, 700]),
    k=st.sampled_from([1, 2, 3, 10, 1000]),
    cuts=st.lists(st.integers(0, 700), max_size=3),
    wide=st.sampled_from([0, 100, 10_000]),
    shifted=st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_every_way_is_the_simple_way(
    seed: int, n_tables: int, k: int, cuts: list[int], wide: int, shifted: bool
) -> None:
    queries, weights = _random(seed, n_tables)
    offsets = np.array([0.0, 0.5, 1.25, 1e-6]) if shifted else None
    edges = sorted({0, n_tables, *(cut for cut in cuts if cut < n_tables)})
    shards = [weights[:, i:j].tocsr() for i, j in pairwise(edges)]
    expected = _simply((queries @ weights).toarray(), k, offsets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "WIDE", wide)
        assert _ranked(queries, shards, k, offsets) == expected


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 24), offset=st.sampled_from([0.0, 3.5]))
@settings(deadline=None, max_examples=50)
def test_candidates_hold_the_best(seed: int, k: int, offset: float) -> None:
    draw = np.random.default_rng(seed)
    weights = draw.choice([0.0, 1.0, 2.0], (3, 1500)) * draw.random((3, 1500)).round(
        draw.integers(1, 7)
    )
    queries = draw.choice([0.0, 1.0, 2.5], (1, 3))
    scores = (queries @ weights)[0]
    scorer = QueryScorer(csr_matrix(queries), csr_matrix(weights), k)
    places, sums = scorer.find_candidates(0, offset)
    assert (np.diff(places) > 0).all()
    np.testing.assert_allclose(sums, scores[places], rtol=1e-12)
    least = max(1e-300, np.sort(scores)[-k] * (1 - 1e-12))
    assert set(np.flatnonzero(scores >= least)) <= set(places)
    assert (sums > 0).all()


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, weights = _random(3, 700)
    monkeypatch.setattr(products, "WIDE", 0)
    rankings = []
    for n in (1, 2, 3):
        monkeypatch.setattr(products, "count_processors", lambda n=n: n)
        rankings.append(_ranked(queries, [weights], 10))
    assert rankings[0] == rankings[1] == rankings[2]
    assert _ranked(queries[:0], [weights], 10) == []
