"""Rankings that are completed along keys."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
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
    found = ask(built("joins", SHOP), ["orders"])[0]
    assert names(ask(built("bm25", SHOP), ["orders"])[0]) == ["orders", "orders archive"]
    assert names(found) == ["orders", "orders archive", "customers"]
    shares = dict(found)
    assert shares[TableId("d", "orders")] == 1
    assert shares[TableId("d", "customers")] == pytest.approx(0.6)


def test_what_is_handed_is_added_to_the_own_score() -> None:
    query = "orders archive address"
    own = dict(ask(built("bm25", SHOP), [query])[0])
    first = max(own.values())
    found = dict(ask(built("joins:weight=0.5", SHOP), [query])[0])
    ids = {name: TableId("d", name) for name in ("orders", "customers", "orders archive")}
    orders, customers = own[ids["orders"]] / first, own[ids["customers"]] / first
    assert found[ids["orders archive"]] == pytest.approx(1)
    assert found[ids["orders"]] == pytest.approx(orders + 0.5 * customers)
    assert found[ids["customers"]] == pytest.approx(customers + 0.5 * orders)


def test_a_retriever_without_scores_counts_as_one_by_rank() -> None:
    retriever = create("retriever", "joins")
    retriever = type(retriever)(retriever=Counting())
    retriever.embed_corpus(SHOP)
    found = dict(ask(retriever, ["any"], 4)[0])
    assert sorted(found.values(), reverse=True)[0] >= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("weight=-1", "weight=-1"),
        ("seeds=0", "seeds=0: at least 1"),
        ("depth=0", "depth=0: at least 1"),
        ("keys=some", "keys"),
    ],
)
def test_invalid_settings(settings: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        create("retriever", f"joins:{settings}")


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
def test_no_join_is_noted(spec: str, note: str, tmp_path: Path) -> None:
    """Of the tables last indexed, also where the index was read."""
    one = _table("staff", "wage"), _table("orders", "day", refers="staff.id")
    retriever = built(spec, MemoryCorpus(one))
    assert list(retriever.notes()) == [note][: bool(note)]
    retriever.save(tmp_path)
    other = create("retriever", spec)
    assert not other.notes()
    other.load(tmp_path, MemoryCorpus(one))
    assert other.notes() == retriever.notes()
