"""Sharded search: what the index over all vectors finds, however they are dealt."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.placement import Here, placed
from target_bench.core.vectors import Vectors
from target_bench.search.indexes.exact import Exact
from target_bench.search.indexes.sharded import Sharded


def some(n: int, seed: int = 0) -> Vectors:
    """Vectors of few values, so that many score the same."""
    return np.random.default_rng(seed).integers(-1, 2, (n, 3)).astype(np.float32)


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    shards=st.integers(1, 7),
    k=st.integers(1, 60),
    seed=st.integers(0, 1000),
)
def test_the_same_rows_in_the_same_order(sizes: list[int], shards: int, k: int, seed: int) -> None:
    parts = [some(n, seed + i) for i, n in enumerate(sizes)]
    exact, sharded = Exact(), Sharded(shards)
    exact.build(np.concatenate(parts))
    sharded.build_parts(iter(parts))
    queries = some(5, seed + 99)
    (scores, rows), (own_scores, own_rows) = exact.search(queries, k), sharded.search(queries, k)
    np.testing.assert_array_equal(rows, own_rows)
    np.testing.assert_array_equal(scores, own_scores)


def test_saved(tmp_path: Path) -> None:
    built = Sharded(3)
    built.build(some(20))
    built.save(tmp_path)
    read = Sharded(3)
    read.load(tmp_path)
    for one, other in zip(built.search(some(4), 7), read.search(some(4), 7), strict=True):
        np.testing.assert_array_equal(one, other)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(files) == 1 + 3 * 3
    for path in files:
        content = path.read_bytes()
        for damaged in (None, content[:-8], b""):
            path.unlink()
            if damaged is not None:
                path.write_bytes(damaged)
            with pytest.raises(DataError, match="index again"):
                Sharded(3).load(tmp_path)
            path.write_bytes(content)
    (tmp_path / "shard-0.npy").write_bytes((tmp_path / "shard-2.npy").read_bytes())
    with pytest.raises(DataError, match="rows of a shard are not those"):
        Sharded(3).load(tmp_path)


def test_shards_are_put_where_they_should_be() -> None:
    kept: list[Here] = []

    def elsewhere(make: object) -> Here:
        kept.append(Here(make))  # type: ignore[arg-type]
        return kept[-1]

    with placed(elsewhere):
        index = Sharded(4)
        index.build(some(2))
    assert len(kept) == 2  # no shard without a vector
    index.build(some(9))
    assert len(kept) == 2


def test_errors_of_a_shard_are_the_index_s() -> None:
    index = Sharded(2)
    index.build(some(9))
    with pytest.raises(ConfigError, match="at least one row"):
        index.search(some(1), 0)
    with pytest.raises(ConfigError, match="the first is number 5"):
        Sharded(3).build(np.where(np.arange(9)[:, None] == 5, np.nan, some(9)))
    with pytest.raises(ConfigError, match="the queries have 4 dimensions"):
        index.search(np.zeros((1, 4), np.float32), 1)


def test_impossible_settings() -> None:
    pytest.importorskip("hnswlib")
    with pytest.raises(ConfigError, match="shards=0"):
        Sharded(0)
    with pytest.raises(ConfigError, match="has to be an exact one"):
        Sharded(2, index="hnswlib")
