"""Rankings that are completed along keys."""

import pytest

from target_bench.core.registry import create
from target_bench.core.schema import Table, TableId
from target_bench.data.tables import MemoryCorpus
from tests.builders import Counting
from tests.retrievers.tables import (
    ask,
    built,
    names,
)


def _table(name: str, *header: str, refers: str = "") -> Table:
    keys = [["x", refers]] if refers else []
    return Table(TableId("d", name), header, (), {"title": name, "foreign_keys": keys})


SHOP = MemoryCorpus(
    [
        _table("staff", "wage"),
        _table("orders", "day", refers="customers.id"),
        _table("customers", "address"),
        _table("orders archive", "day"),
    ]
)


def test_a_table_is_found_by_what_it_joins() -> None:
    ranking = ask(built("joins", SHOP), ["orders"])[0]
    assert names(ask(built("bm25", SHOP), ["orders"])[0]) == ["orders", "orders archive"]
    assert names(ranking) == ["orders", "orders archive", "customers"]
    shares = dict(ranking)
    assert shares[TableId("d", "orders")] == 1
    assert shares[TableId("d", "customers")] == pytest.approx(0.6)


def test_what_is_handed_is_added_to_the_own_score() -> None:
    query = "orders archive address"
    own = dict(ask(built("bm25", SHOP), [query])[0])
    first = max(own.values())
    shares = dict(ask(built("joins:weight=0.5", SHOP), [query])[0])
    ids = {name: TableId("d", name) for name in ("orders", "customers", "orders archive")}
    orders, customers = own[ids["orders"]] / first, own[ids["customers"]] / first
    assert shares[ids["orders archive"]] == pytest.approx(1)
    assert shares[ids["orders"]] == pytest.approx(orders + 0.5 * customers)
    assert shares[ids["customers"]] == pytest.approx(customers + 0.5 * orders)


def test_a_retriever_without_scores_counts_as_one_by_rank() -> None:
    retriever = type(create("retriever", "joins"))(retriever=Counting())
    retriever.embed_corpus(SHOP)
    assert max(score for _, score in ask(retriever, ["any"], 4)[0]) >= 1


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ("joins", ""),
        ("joins:keys=declared", ""),
        (
            "joins:keys=inferred,retriever=tfidf",
            "no two tables are joined by inferred keys: rankings are those of tfidf",
        ),
    ],
)
def test_no_join_is_noted(spec: str, note: str) -> None:
    """Of the tables last indexed."""
    tables = MemoryCorpus([_table("staff", "wage"), _table("orders", "day", refers="staff.id")])
    retriever = built(spec, tables)
    assert list(retriever.notes()) == [note][: bool(note)]
