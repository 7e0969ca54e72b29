"""Joins between tables, by hand."""

from typing import Any

from target_bench.core.schema import Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.search.join_keys import KeySource, join_weights

Pairs = dict[tuple[str, str], float]


def _table(name: str, *header: str, database: str = "d", **context: Any) -> Table:
    return Table(TableId(database, name), header, (), {"title": name, **context})


def _joins(*tables: Table, keys: KeySource = "auto") -> Pairs:
    corpus = MemoryCorpus(tables)
    weights = join_weights(corpus, keys).tocoo()
    pairs = {
        (corpus.ids[a].table_id, corpus.ids[b].table_id): float(weight)
        for a, b, weight in zip(weights.row, weights.col, weights.data, strict=True)
    }
    assert all(pairs[b, a] == weight for (a, b), weight in pairs.items())
    return {pair: weight for pair, weight in pairs.items() if pair[0] < pair[1]}


ROOMS = _table("rooms", "id", "building_id", foreign_keys=[["building_id", "Buildings.id"]])
BUILDINGS = _table("buildings", "id", "name")
CITIES = _table("cities", "id", "name")


def test_declared_keys_in_any_case() -> None:
    assert _joins(ROOMS, BUILDINGS, CITIES) == {("buildings", "rooms"): 1}
    alone = _table("rooms", "b", foreign_keys=[["b", "buildings"]])
    assert _joins(alone, BUILDINGS, keys="declared") == {("buildings", "rooms"): 1}


def test_links_of_rows() -> None:
    """To what is there, under any name of keys but their own nothing."""
    cup = _table("cup", "a", database="0", links=[["p", "gone"], [], ["p", "cup"]])
    passage = _table("p", "passage", database="0")
    assert _joins(cup, passage, keys="links") == {("cup", "p"): 1}
    assert _joins(cup, passage) == {}


def test_titles_in_cells() -> None:
    """In any case and punctuation, without what stands in brackets; two of a name share."""
    header, rows = ("a", "b"), (("Bo , Jr .", 7), (None, "Oslo"))
    cup = Table(TableId("0", "cup"), header, rows, {"title": "Cup"})
    others = [
        Table(TableId("0", name), ("passage",), (("Text .",),), {"title": name})
        for name in ("Bo, Jr.", "Oslo", "Oslo (band)", "7 (novel)", "")
    ]
    assert _joins(cup, *others, keys="titles") == {
        ("Bo, Jr.", "cup"): 1,
        ("Oslo", "cup"): 0.5,
        ("Oslo (band)", "cup"): 0.5,
        ("7 (novel)", "cup"): 1,
    }


def test_a_column_named_like_a_table() -> None:
    for column in ("building_id", "BuildingID", "Building Key", "buildings_code"):
        assert _joins(_table("rooms", column), _table("Buildings", "pk")) == {
            ("Buildings", "rooms"): 1
        }
    for title in ("cities", "CITY"):
        joins = _joins(_table("a", "city_id"), _table("b", "pk", title=title))
        assert joins == {("a", "b"): 1}
    assert _joins(_table("rooms", "building"), _table("buildings", "pk")) == {}


def test_columns_of_one_name_weigh_by_how_few_tables_have_them() -> None:
    tables = [_table(name, "load_date", *("term",) * (name < "c")) for name in "abcd"]
    assert _joins(*tables) == {
        ("a", "b"): 1,
        **dict.fromkeys([("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")], 1 / 3),
    }


def test_inferred_keys_where_a_database_declares_none() -> None:
    """Databases are apart, and tables in no database join nothing."""
    other = [_table(name, "term", database="e") for name in "xy"]
    web = [_table(name, "term", database="0") for name in "vw"]
    tables = (ROOMS, BUILDINGS, CITIES, *other, *web)
    assert _joins(*tables) == {("buildings", "rooms"): 1, ("x", "y"): 1}
    assert _joins(*tables, keys="declared") == {("buildings", "rooms"): 1}
    inferred = _joins(*tables, keys="inferred")
    assert inferred[("buildings", "cities")] == 1  # name, in two tables
    assert inferred[("cities", "rooms")] == 0.5  # id, in three
