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
    batches_change_nothing,
    built,
    hash_seed_changes_nothing,
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


def test_only_the_first_tables_hand_on_their_scores() -> None:
    assert "customers" in names(ask(built("joins:seeds=2", SHOP), ["orders archive"])[0])
    assert "customers" not in names(ask(built("joins:seeds=1", SHOP), ["orders archive"])[0])


@pytest.mark.parametrize("spec", ["joins:weight=0", "joins:keys=inferred"])
def test_where_nothing_is_handed_on_the_ranking_stays(spec: str) -> None:
    for query in ("orders", "wage", "address day", "nothing"):
        found = ask(built(spec, SHOP), [query])[0]
        alone = names(ask(built("bm25", SHOP), [query])[0])
        assert names(found)[: len(alone)] == alone


def test_a_retriever_without_scores_counts_as_one_by_rank() -> None:
    retriever = create("retriever", "joins")
    retriever = type(retriever)(retriever=Counting())
    retriever.embed_corpus(SHOP)
    found = dict(ask(retriever, ["any"], 4)[0])
    assert sorted(found.values(), reverse=True)[0] >= 1


def test_no_more_than_k() -> None:
    assert len(ask(built("joins", SHOP), ["orders"], 2)[0]) == 2
    assert ask(built("joins", SHOP), ["unheard-of"])[0] == []


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


def test_invariances() -> None:
    batches_change_nothing("joins")
    hash_seed_changes_nothing("joins")


def test_saving_changes_nothing(tmp_path: Path) -> None:
    saved = tmp_path / "index"
    saved.mkdir()
    retriever = built("joins", SHOP)
    retriever.save(saved)
    loaded = create("retriever", "joins")
    loaded.load(saved, SHOP)
    assert ask(loaded, ["orders"]) == ask(retriever, ["orders"])


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


def test_the_note_of_an_earlier_corpus_is_forgotten() -> None:
    web = MemoryCorpus([Table(TableId("0", name), ("a",), (), {}) for name in "xy"])
    retriever = built("joins", web)
    (note,) = retriever.notes()
    assert note.startswith("no two tables are joined by declared or inferred keys: rankings are")
    retriever.embed_corpus(SHOP)
    assert not retriever.notes()
