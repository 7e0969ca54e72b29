"""Sets of tables by learned probabilities."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, Table, TableId
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.tables import (
    ask,
    built,
)

Sets = registry.resolve("retriever", "sets")
sets: Any = sys.modules[Sets.__module__]

ENCODER = "tests.retrievers.encoders:UnitWords"


def _table(database: str, name: str, header: list[str], keys: list[list[str]], *rows: str) -> Table:
    context = {"foreign_keys": keys}
    return Table(TableId(database, name), header, [(row,) * len(header) for row in rows], context)


def shop() -> Corpus:
    """Two databases; in the first, two tables are joined by a third."""
    sold = [["customer_id", "customers.id"], ["product_id", "products.id"]]
    return MemoryCorpus(
        (
            _table("shop", "customers", ["id", "city"], [], "Graz", "Linz"),
            _table("shop", "sales", ["customer_id", "product_id"], sold),
            _table("shop", "products", ["id", "price"], []),
            _table("zoo", "animals", ["id", "weight"], []),
            _table("zoo", "keepers", ["id", "name"], []),
        )
    )


def test_words_of_names_and_questions() -> None:
    assert sets.readable("FCLT_BuildingIDs HTTPServer") == "fclt building i ds http server"
    assert sets.phrases_of("The price of the product?") == [
        "price", "product",
    ]  # fmt: skip
    assert "number of sales" in sets.phrases_of("Number of sales in Graz")


def test_the_set_of_a_question() -> None:
    """Tables of another database have little; a cell names the table that has it."""
    retriever = built("sets:encoder=none,share=0", shop())
    (ranking,) = ask(retriever, ["price of the products that customers in Linz buy"], 5)
    databases = [table.database_id for table, _ in ranking]
    assert databases == ["shop"] * 3 + ["zoo"] * 2
    assert all(0 < p < 1 for _, p in ranking)
    probable = {table.table_id: p for table, p in ranking}
    (without,) = ask(retriever, ["price of the products that customers in Rome buy"], 5)
    less = {table.table_id: p for table, p in without}
    assert less["customers"] / less["products"] < probable["customers"] / probable["products"]


def test_share_and_k() -> None:
    question = ["price of the products that customers in Linz buy"]
    every = ask(built("sets:encoder=none,share=0", shop()), question, 5)[0]
    for share in (0.9, 0.1):
        kept = ask(built(f"sets:encoder=none,share={share}", shop()), question, 5)[0]
        assert kept == [pair for pair in every if pair[1] >= share * every[0][1]]
    assert ask(built("sets:encoder=none,share=0", shop()), question, 2)[0] == every[:2]
    assert ask(built("sets:encoder=none,size=2", shop()), question, 5)[0] == every[:2]
    assert ask(built("sets:encoder=none,size=9", shop()), question, 3)[0] == every[:3]
    for settings in ("size=0", "size=2,share=0.5"):
        with pytest.raises(ConfigError, match="a number of tables from 1, without share"):
            built(f"sets:{settings}", shop())
    assert ask(built("sets:encoder=none", shop()), ["unheard-of", ""], 5) == [[], []]
    assert ask(built("sets:encoder=none", shop()), question, 0) == [[]]


def test_what_makes_sets_small_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cutoff, which is 10 by default, and a pool larger than those that taught the share."""
    questions = ["price of the products that customers in Linz buy", "weight of animals"]

    def notes(settings: str, k: int) -> list[str]:
        retriever = built(f"sets:encoder=none{settings}", shop())
        ask(retriever, questions[:1], 1)  # a smaller cutoff does not count
        ask(retriever, questions, k)
        return list(retriever.notes()[1:])

    (cut,) = notes(",size=3", 2)
    assert cut.startswith(
        "as many tables as --top-k allows (2) are returned for 2 queries: a larger"
    )
    assert notes(",size=2", 2) == notes(",size=3", 4) == notes(",share=0", 2) == notes("", 5) == []
    monkeypatch.setattr(sets, "_LARGE_POOL", 4)
    (large,) = notes("", 5)
    assert large.startswith("the default share, learned in pools of 75 to 80 tables, finds few")
    assert notes(",share=0.5", 5) == notes(",size=2", 2) == []


def test_weights_are_never_of_the_tables_that_are_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = list(shop())
    digests = [sets.schema_digest(table) for table in tables]
    learned = sets.learned_weights()
    for met, note in (
        ({"spider": [], "bird": []}, "Spider validation and BIRD validation"),
        ({"spider": digests[:1], "bird": []}, "BIRD validation"),
        ({"spider": [], "bird": digests[-1:]}, "Spider validation"),
    ):
        monkeypatch.setattr(sets, "learned_weights", lambda met=met: {**learned, "tables": met})
        retriever = built("sets:encoder=none", shop())
        assert retriever.notes() == [f"weights learned from {note}"]
    monkeypatch.setattr(
        sets, "learned_weights", lambda: {**learned, "tables": {"spider": digests, "bird": digests}}
    )
    with pytest.raises(ConfigError, match="weights=auto: this corpus has tables of Spider and of"):
        built("sets:encoder=none", shop())
    (note,) = built("sets:encoder=none,weights=bird", shop()).notes()
    assert note == "weights learned from BIRD validation, 5 of whose tables are in this corpus"


def test_the_file_of_weights_fits() -> None:
    """Each set of weights has a number for every input."""
    evidence = {
        True: built(f"sets:encoder={ENCODER}", shop()),
        False: built("sets:encoder=none", shop()),
    }
    for vectors, retriever in evidence.items():
        assert isinstance(retriever, sets.Sets)
        (both,) = retriever.evidence(["price"])
        sizes = {
            "first": sets.first_inputs(both.tables).shape[-1] + 1,
            "database": 2 + 2 * len(both.databases),
            "table": 5 + 2 * len(both.tables) + 1,
        }
        for named in sets.WEIGHTS:
            values = sets.learned_weights()["weights"][named]["minilm" if vectors else "none"]
            assert {name: len(values[name]) for name in sizes} == sizes
            assert 0 < values["share"] < 1
            assert np.isfinite(values["first"]).all()


def _named(name: str, *header: str, database: str = "d", **context: Any) -> Table:
    return Table(TableId(database, name), header, (), {"title": name, **context})


def _joins(*tables: Table) -> dict[tuple[str, str], float]:
    corpus = MemoryCorpus(tables)
    weights = sets.join_weights(corpus).tocoo()
    pairs = {
        (corpus.ids[a].table_id, corpus.ids[b].table_id): float(weight)
        for a, b, weight in zip(weights.row, weights.col, weights.data, strict=True)
    }
    assert all(pairs[b, a] == weight for (a, b), weight in pairs.items())
    return {pair: weight for pair, weight in pairs.items() if pair[0] < pair[1]}


ROOMS = _named("rooms", "id", "building_id", foreign_keys=[["building_id", "Buildings.id"]])
BUILDINGS = _named("buildings", "id", "name")
CITIES = _named("cities", "id", "name")


def test_declared_keys_in_any_case() -> None:
    assert _joins(ROOMS, BUILDINGS, CITIES) == {("buildings", "rooms"): 1}
    alone = _named("rooms", "b", foreign_keys=[["b", "buildings"]])
    assert _joins(alone, BUILDINGS) == {("buildings", "rooms"): 1}


def test_a_column_named_like_a_named() -> None:
    for column in ("building_id", "BuildingID", "Building Key", "buildings_code"):
        assert _joins(_named("rooms", column), _named("Buildings", "pk")) == {
            ("Buildings", "rooms"): 1
        }
    for title in ("cities", "CITY"):
        joins = _joins(_named("a", "city_id"), _named("b", "pk", title=title))
        assert joins == {("a", "b"): 1}
    assert _joins(_named("rooms", "building"), _named("buildings", "pk")) == {}


def test_columns_of_one_name_weigh_by_how_few_tables_have_them() -> None:
    tables = [_named(name, "load_date", *("term",) * (name < "c")) for name in "abcd"]
    assert _joins(*tables) == {
        ("a", "b"): 1,
        **dict.fromkeys([("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")], 1 / 3),
    }


def test_inferred_keys_where_a_database_declares_none() -> None:
    """Databases are apart, and tables in no database join nothing."""
    other = [_named(name, "term", database="e") for name in "xy"]
    web = [_named(name, "term", database="0") for name in "vw"]
    tables = (ROOMS, BUILDINGS, CITIES, *other, *web)
    assert _joins(*tables) == {("buildings", "rooms"): 1, ("x", "y"): 1}
    undeclared = _joins(_named("rooms", "id", "building_id"), BUILDINGS, CITIES)
    assert undeclared[("buildings", "cities")] == 1  # name, in two tables
    assert undeclared[("cities", "rooms")] == 0.5  # id, in three


def test_edited_weights_make_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file lies beside the retriever, whose own file is its identity."""
    retriever = Sets(encoder="none")
    before = retriever.config()
    edited = tmp_path / "edited.json"
    edited.write_text("{}")
    monkeypatch.setattr(sets, "WEIGHTS_FILE", str(edited))
    assert retriever.config() != before
