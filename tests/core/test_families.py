"""Families of shards and versions, and their recall."""

import pytest

from target_bench import score_rankings
from target_bench.core.families import find_family, fold_name, has_table_families, note_families
from target_bench.core.schema import CorpusInfo, Dataset, Query, Table, TableId
from target_bench.data.tables import MemoryCorpus


def _table(name: str, header: str = "a b", database: str = "shop") -> Table:
    return Table(TableId(database, name), header.split(), ())


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (_table("events_20210101"), _table("Events_20210102"), True),
        (_table("ga.events_2021"), _table("ga.events_2022"), True),
        (_table("orders"), _table("orders_v2"), True),
        (_table("events_20210101"), _table("events_20210102", "a c"), False),
        (_table("events_20210101"), _table("events_20210102", database="zoo"), False),
        (_table("level_1"), _table("level_2"), False),
        (_table("orders_v2"), _table("orders_v2x"), False),
        (_table("games-2016", database="0"), _table("games-2020", database="0"), False),
    ],
)
def test_what_is_a_family(first: Table, second: Table, same: bool) -> None:
    assert (find_family(first) == find_family(second)) is same


def _dataset(*gold: str) -> Dataset:
    tables = [_table(name) for name in ("e_20210101", "e_20210102", "e_20210103", "t", "u")]
    query = Query("q", "text", tuple(TableId("shop", name) for name in gold), database_id="shop")
    return Dataset(CorpusInfo("shop"), "test", MemoryCorpus(tables), (query,))


def test_recall_of_families() -> None:
    """A shard stands for all of its family, once."""
    dataset = _dataset("e_20210101", "e_20210102", "t")
    ranking = [TableId("shop", name) for name in ("u", "e_20210103", "e_20210101", "t")]
    scores = score_rankings(dataset, {"q": ranking}, [1, 2, 3, 4])
    assert [float(scores[f"recall[family]@{k}"]) for k in (1, 2, 3, 4)] == [0, 1 / 2, 1 / 2, 1]
    assert float(scores["recall@4"]) == pytest.approx(2 / 3)


def test_recall_of_families_only_where_gold_has_them() -> None:
    dataset = _dataset("e_20210101", "t")
    assert not has_table_families(dataset.queries)
    scores = score_rankings(dataset, {"q": []}, 1)
    assert "recall[family]@1" not in scores
    assert fold_name(TableId("s", "E_2021_v2")) == ("s", "e_#")


def test_the_note_counts_families() -> None:
    notes: list[str] = []
    tables = [*_dataset("t").corpus, _table("x_2001", database="0"), _table("x_2002", database="0")]
    assert list(note_families(tables, notes)) == tables
    assert notes[0].startswith("3 of 7 tables are shards or versions of 1 table: ")
