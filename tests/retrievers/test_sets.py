"""Sets of tables by learned probabilities."""

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.schema import Corpus, Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers import sets
from target_bench.search.lexical.schema_evidence import phrases_of, readable
from tests.retrievers.tables import (
    ask,
    built,
)

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
    assert readable("FCLT_BuildingIDs HTTPServer") == "fclt building i ds http server"
    assert phrases_of("The price of the product?") == [
        "price", "product",
    ]  # fmt: skip
    assert "number of sales" in phrases_of("Number of sales in Graz")


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
    assert ask(built("sets:encoder=none", shop()), ["unheard-of", ""], 5) == [[], []]
    assert ask(built("sets:encoder=none", shop()), question, 0) == [[]]


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
