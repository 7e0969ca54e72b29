"""Which tables have a name, and that it is their title where they have no other."""

from pathlib import Path

import pytest

from target_bench import Table, corpora
from target_bench.data.table_text import Serializer
from target_bench.retrievers.bm25 import BM25
from tests.data.written import query, table, write_target
from tests.retrievers.tables import ask, names


def _titles(folder: Path, *tables: Table) -> list[object]:
    gold = tables[0].id
    write_target(folder, tables, [query(1, gold.table_id, database_id=gold.database_id)])
    return [found.context.get("title") for found in corpora.load(folder).corpus]


@pytest.mark.parametrize("title", [{}, {"title": ""}, {"title": " "}, {"title": None}])
def test_a_table_of_a_database_is_called_by_its_name(
    tmp_path: Path, title: dict[str, str | None]
) -> None:
    nameless = table("ORG_KEYS", database_id="dw", **title)
    assert _titles(tmp_path, nameless) == ["ORG_KEYS"]


def test_an_id_in_targets_layout_is_a_name(tmp_path: Path) -> None:
    """As in the BM25 of its paper: OTT-QA's copy has titles in its ids alone."""
    page = table("a", table_page_title="A", table_section_title="S")
    assert _titles(tmp_path, table("Moons_0", title=" "), table("b", title="B"), page) == [
        "Moons_0",
        "B",
        "A",
    ]
    assert corpora.load(tmp_path).notes == ()


def test_a_name_is_found(tmp_path: Path) -> None:
    """By a retriever that reads titles, with any names of columns and any cells."""
    tables = [table(name, ("1", "2"), database_id="dw") for name in ("PAYROLL", "FLEET_CARS")]
    write_target(tmp_path, tables, [query(1, "PAYROLL", database_id="dw")])
    dataset = corpora.load(tmp_path)
    assert Serializer(("title", "header"))(dataset.corpus["dw", "PAYROLL"]) == "PAYROLL a b"
    retriever = BM25()
    retriever.embed_corpus(dataset.corpus)
    assert names(ask(retriever, ["which cars are in the fleet"])[0]) == ["FLEET_CARS"]


def test_a_frame_without_a_title_is_called_by_its_id() -> None:
    dataset = corpora.from_dataframe(
        {"films": {"a": [1]}, "cups": {"a": [2]}},
        [{"query_id": "q", "query": "?", "table_id": "films"}],
        context={"films": {"section_title": "S"}, "cups": {"title": "Won"}},
    )
    assert [dict(found.context) for found in dataset.corpus] == [
        {"title": "films", "section_title": "S"},
        {"title": "Won"},
    ]
