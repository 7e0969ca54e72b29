"""A table search as a retriever of LangChain, and back."""

import pytest

from target_bench.data.table_text import Serializer
from target_bench.harness.search import TableSearch
from tests.harness.test_search import QUESTIONS, ranked

pytest.importorskip("langchain_core")


from target_bench.retrievers.langchain import LangChainRetriever


def test_documents_are_the_tables_of_the_search() -> None:
    search = TableSearch("mini", "bm25")
    documents = search.as_langchain(k=3).invoke(QUESTIONS[0])
    hits = search.search(QUESTIONS[0], k=3)
    assert [document.metadata for document in documents] == [hit.metadata() for hit in hits]
    table = hits[0].table
    assert documents[0].page_content.startswith(str(table.context["title"]))
    assert "| --- |" in documents[0].page_content.replace("---|", "--- |")
    assert str(table.rows[-1][0]) in documents[0].page_content


def test_the_serializer_writes_the_documents() -> None:
    search = TableSearch("mini", "bm25")
    (document,) = search.as_langchain(1, Serializer(("header",))).invoke(QUESTIONS[0])
    (hit,) = search.search(QUESTIONS[0], 1)
    assert document.page_content == " ".join(hit.table.header)


def test_measured_again_it_ranks_the_same() -> None:
    """What goes to production can be evaluated as it is, through the retriever ``langchain``."""
    search = TableSearch("mini", "bm25")
    again = LangChainRetriever(search.as_langchain(), version="1")
    again.embed_corpus(search.corpus)
    assert ranked(again, search.corpus) == ranked(search._retriever, search.corpus)
