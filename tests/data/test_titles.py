"""Which tables have a name, and that it is their title where they have no other."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from target_bench import Query, Table, TableId, corpora
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo
from target_bench.data.load import read
from target_bench.data.table_text import Serializer
from target_bench.retrievers.bm25 import BM25
from tests.data.written import query, table, write_records, write_target
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


def test_a_title_is_kept(tmp_path: Path) -> None:
    assert _titles(tmp_path, table("ORG_KEYS", database_id="dw", title="Keys")) == ["Keys"]


def test_an_id_in_targets_layout_is_a_name(tmp_path: Path) -> None:
    """As in the BM25 of its paper: OTT-QA's copy has titles in its ids alone."""
    page = table("a", table_page_title="A", table_section_title="S")
    assert _titles(tmp_path, table("Moons_0", title=" "), table("b", title="B"), page) == [
        "Moons_0",
        "B",
        "A",
    ]
    assert corpora.load(tmp_path).notes == ()


def test_an_id_of_a_document_is_a_key(tmp_path: Path) -> None:
    """No retriever reads it, and a note says so."""
    documents = [{"_id": "2-77", "text": "x"}, {"_id": "b", "title": "B", "text": "y"}]
    write_records(tmp_path / "corpus.jsonl", documents)
    write_records(tmp_path / "queries.jsonl", [{"_id": "q", "text": "?"}])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tb\t1\n")
    dataset = corpora.load(tmp_path)
    assert [found.context.get("title") for found in dataset.corpus] == ["", "B"]
    assert dataset.notes[0] == (
        "1 of 2 tables have no title, and no retriever reads their ids (where an id is a name, "
        "give it as title)"
    )


def test_a_name_is_found(tmp_path: Path) -> None:
    """By a retriever that reads titles, with any names of columns and any cells."""
    tables = [table(name, ("1", "2"), database_id="dw") for name in ("PAYROLL", "FLEET_CARS")]
    write_target(tmp_path, tables, [query(1, "PAYROLL", database_id="dw")])
    dataset = corpora.load(tmp_path)
    assert Serializer(("title", "header"))(dataset.corpus["dw", "PAYROLL"]) == "PAYROLL a b"
    retriever = BM25()
    retriever.embed_corpus(dataset.corpus)
    assert names(ask(retriever, ["which cars are in the fleet"])[0]) == ["FLEET_CARS"]


class Warehouse(CorpusLoader):
    """A loader of somebody else's, which leaves the titles out."""

    info = CorpusInfo("house", "House", ("retrieval",), ("test",), "CC0", "none", "none")

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """One table."""
        yield Table(TableId("dw", "orders"), ["a"], [["1"]])

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """One question."""
        yield Query("q", "?", (TableId("dw", "orders"),))


def test_tables_of_a_plug_in(tmp_path: Path) -> None:
    (found,) = read(Warehouse(), tmp_path, "test").corpus
    assert found.context == {"title": "orders"}


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
