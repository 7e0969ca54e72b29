"""Pools hold the first tables of all rankings, and nothing of who found them."""

from dataclasses import replace

import pytest

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Dataset, Query, TableId
from target_bench.reporting.labels.pooling import check_tables, pooled, to_label, to_review
from target_bench.runs.result import Result


def test_a_pool_is_the_union_of_the_first_tables(shop: Dataset, shop_runs: list[Result]) -> None:
    found = pooled(shop.queries, shop_runs, 2)
    for pool in found.pools:
        firsts = [run.rankings[pool.query.id].tables[:2] for run in shop_runs]
        assert set(pool.tables) == {table for first in firsts for table in first}
        assert len(set(pool.tables)) == len(pool.tables)
    assert [pool.query for pool in found.pools] == list(shop.queries)
    alone = sum(
        len(set(run.rankings[query.id].tables[:2]) - set(other.rankings[query.id].tables[:2]))
        for query in shop.queries
        for run, other in (shop_runs, shop_runs[::-1])
    )
    assert sum(found.found_alone.values()) == alone
    assert pooled(shop.queries, shop_runs, 2) == found


def test_the_order_of_runs_and_of_their_rankings_does_not_show(
    shop: Dataset, shop_runs: list[Result]
) -> None:
    found = pooled(shop.queries, shop_runs, 3)
    assert pooled(shop.queries, shop_runs[::-1], 3).pools == found.pools
    orders = [pooled(shop.queries, shop_runs, 3, seed).pools[0].tables for seed in range(8)]
    assert len(set(orders)) > 1


def test_judged_tables_are_not_asked_about_again(shop: Dataset, shop_runs: list[Result]) -> None:
    query = shop.queries[2]
    whole = pooled([query], shop_runs, 3).pools[0].tables
    known = replace(query, metadata={"not_relevant": [whole[0].table_id]})
    (left,) = pooled([known], shop_runs, 3).pools
    assert set(left.tables) == set(whole[1:])
    done = replace(query, gold=whole)
    left_out = pooled([done], shop_runs, 3)
    assert (left_out.pools, left_out.judged, left_out.not_found) == ((), 1, 0)
    assert len(pooled([done], shop_runs, 3, keep_empty=True).pools) == 1


def test_faults(shop: Dataset, shop_runs: list[Result]) -> None:
    with pytest.raises(ConfigError, match="depth=0: a pool takes at least the first table"):
        pooled(shop.queries, shop_runs, 0)
    with pytest.raises(ConfigError, match=r"depth=4: the rankings of .* have 3 tables"):
        pooled(shop.queries, shop_runs, 4)
    with pytest.raises(DataError, match="has no ranking of the question 'other'"):
        pooled([Query("other", "?", ())], shop_runs, 1)


def test_runs_on_other_tables_are_refused(shop: Dataset, shop_runs: list[Result]) -> None:
    from target_bench.data.own_data import from_dataframe

    check_tables(shop_runs, shop)
    other = from_dataframe(
        {"films": {"film": ["Heat"]}}, [{"query_id": "a", "query": "?", "table_id": "films"}]
    )
    with pytest.raises(DataError, match="is a run on other tables than those of frames test"):
        check_tables(shop_runs, other)


def _with(shop: Dataset, *queries: Query) -> Dataset:
    return replace(shop, queries=queries)


def test_which_questions_are_asked_about(shop: Dataset) -> None:
    gold = (TableId("0", "films"),)
    plain, pool = Query("a", "?", gold), Query("b", "?", gold, metadata={"not_relevant": []})
    none, synthetic = Query("c", "?", ()), Query("d", "?", gold, metadata={"synthetic": True})
    assert to_label(_with(shop, plain, pool, none), every=False) == [pool, none]
    assert to_label(_with(shop, plain, none), every=True) == [plain, none]
    assert to_review(_with(shop, plain, none)) == [plain]
    assert to_review(_with(shop, plain, synthetic)) == [synthetic]
    with pytest.raises(ConfigError, match="every question has gold tables already; --all asks"):
        to_label(_with(shop, plain), every=False)
    with pytest.raises(ConfigError, match="there are no questions"):
        to_label(_with(shop), every=False)
    with pytest.raises(ConfigError, match="no question has a gold table"):
        to_review(_with(shop, none))
