"""Tables for one question, without labels."""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.contract import RetrieverLike
from target_bench.core.errors import ConfigError, DataError, MissingExtraError, PluginError
from target_bench.core.ranking import Ranking
from target_bench.core.retrieve import retrieve_tables
from target_bench.core.schema import Cell, Corpus, Query, Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.harness.search import TableSearch
from target_bench.retrievers.bm25 import BM25

QUESTIONS = [
    "Which city hosted the Summer Olympics in 1964?",
    "How long is the Rhine?",
    "Who won the Formula One championship in 1991?",
]


def ranked(retriever: RetrieverLike, corpus: Corpus) -> list[Sequence[TableId]]:
    """The rankings that a retriever gives for the questions."""
    queries = [Query(str(i), text, ()) for i, text in enumerate(QUESTIONS)]
    return [ranking.tables for ranking in retrieve_tables(retriever, queries, 5, corpus)]


def test_the_best_tables_with_their_scores() -> None:
    search = TableSearch("mini", "bm25")
    hits = search.search("Which city hosted the Summer Olympics in 1964?", k=3)
    assert [hit.rank for hit in hits] == [1, 2, 3]
    scores = [hit.score for hit in hits]
    assert all(score is not None for score in scores)
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    assert search.label == "bm25"


@pytest.mark.parametrize(
    ("question", "k", "fault"),
    [
        (" ", 3, "is empty"),
        (None, 3, "is not a text: None"),
        ("x", 0, "k=0: expected a whole"),
        ("x", "a", "'a'"),
    ],
)
def test_invalid_questions(question: Any, k: Any, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        TableSearch("mini").search(question, k)


def test_what_is_no_corpus() -> None:
    """The retriever is not blamed for it."""
    with pytest.raises(ConfigError, match="dict is not a corpus: give its name, its path"):
        TableSearch({"prices": [["item"]]})  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", ["bm25", "bm25:b=0.5", "hybrid:retrievers=[bm25,bm25:b=0]"])
def test_a_saved_search_answers_as_before(spec: str, tmp_path: Path) -> None:
    search = TableSearch("mini", spec)
    search.save(tmp_path / "index")
    loaded = TableSearch.load(tmp_path / "index", "mini", spec)
    assert loaded.search(QUESTIONS[0]) == search.search(QUESTIONS[0])
    with pytest.raises(DataError, match="is for other tables, or another retriever, settings"):
        TableSearch.load(tmp_path / "index", "mini", "bm25:k1=0.3")


def test_a_retriever_without_save_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Random cannot save or load its index"):
        TableSearch("mini", "random").save(tmp_path / "index")


class OneAtATime(BM25):
    """Fails if a question comes while another one is answered, and on one question."""

    busy = False

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        if queries == ["x"]:
            raise ValueError("no luck")
        assert not self.busy
        self.busy = True
        rankings = super().retrieve_batch(queries, top_k)
        self.busy = False
        return rankings


def test_threads_are_answered_one_after_the_other() -> None:
    search = TableSearch("mini", OneAtATime())
    with ThreadPoolExecutor(4) as pool:
        hits = list(pool.map(search.search, QUESTIONS * 20))
    assert hits == [search.search(text) for text in QUESTIONS] * 20
    with pytest.raises(PluginError, match=r"retriever OneAtATime: .*no luck"):
        search.search("x")


@pytest.mark.parametrize(
    ("package", "method"),
    [("langchain_core", "as_langchain"), ("llama_index", "as_llama_index")],
)
def test_without_the_extra(package: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=f"{method} needs the package"):
        getattr(TableSearch("mini"), method)()


def test_documents_and_hits_are_never_whole_lakes() -> None:
    """An error, a notebook or a prompt would hold 300,000 rows."""
    rows: list[list[Cell]] = [[f"chrome {i}", "shoes " * 40] for i in range(3_000)]
    corpus = MemoryCorpus([Table(TableId("0", "weblog"), ["browser", "bought"], rows)])
    (hit,) = (search := TableSearch(corpus)).search("chrome shoes")
    assert len(repr(hit)) < 300
    assert "Table('weblog', 2 columns, 3,000 rows)" in repr(hit)
    pytest.importorskip("langchain_core")
    (document,) = search.as_langchain().invoke("chrome shoes")
    assert len(document.page_content) <= 20_000
    last = document.page_content.splitlines()[-1]
    assert last == "(cut after 20,000 characters; the table has 3,000 rows)"
    (short,) = search.as_langchain(max_chars=500).invoke("chrome shoes")
    assert len(short.page_content) <= 500
    with pytest.raises(ConfigError, match="max_chars=0: expected a whole number from 1"):
        search.as_langchain(max_chars=0)
