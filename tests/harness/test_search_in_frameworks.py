"""A table search as a retriever of LangChain or LlamaIndex, and back."""

import pytest

from target_bench.data.table_text import Serializer
from target_bench.harness.search import TableSearch
from tests.harness.test_search import QUESTIONS, ranked


def test_langchain_documents_are_the_tables_of_the_search() -> None:
    """What goes to production can be evaluated as it is, through the retriever ``langchain``."""
    pytest.importorskip("langchain_core")
    from target_bench.retrievers.langchain import LangChainRetriever

    search = TableSearch("mini", "bm25")
    documents = search.as_langchain(k=3).invoke(QUESTIONS[0])
    hits = search.search(QUESTIONS[0], k=3)
    assert [document.metadata for document in documents] == [hit.metadata() for hit in hits]
    table = hits[0].table
    assert documents[0].page_content.startswith(str(table.context["title"]))
    assert "---|" in documents[0].page_content.replace("--- |", "---|")
    assert str(table.rows[-1][0]) in documents[0].page_content
    (document,) = search.as_langchain(1, Serializer(("header",))).invoke(QUESTIONS[0])
    assert document.page_content == " ".join(table.header)
    again = LangChainRetriever(search.as_langchain(), version="1")
    tables = search.corpus.shuffled
    again.embed_corpus(tables)
    assert ranked(again, tables) == ranked(search._retriever, tables)


def test_llama_index_nodes_are_the_tables_of_the_search() -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import MetadataMode

    from target_bench.retrievers.llama_index import LlamaIndexRetriever

    search = TableSearch("mini", "bm25")
    nodes = search.as_llama_index(k=3).retrieve(QUESTIONS[0])
    hits = search.search(QUESTIONS[0], k=3)
    assert [node.metadata for node in nodes] == [hit.metadata() for hit in hits]
    assert [node.score for node in nodes] == [hit.score for hit in hits]
    assert nodes[0].text.startswith(str(hits[0].table.context["title"]))
    assert "table_id" not in nodes[0].get_content(MetadataMode.LLM)
    again = LlamaIndexRetriever(search.as_llama_index(), version="1")
    tables = search.corpus.shuffled
    again.embed_corpus(tables)
    assert ranked(again, tables) == ranked(search._retriever, tables)
