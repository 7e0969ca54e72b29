"""A table search as a retriever of LlamaIndex, and back."""

import pytest

from target_bench.harness.search import TableSearch
from tests.harness.test_search import QUESTIONS, ranked

pytest.importorskip("llama_index.core")

from llama_index.core.schema import MetadataMode

from target_bench.retrievers.llama_index import LlamaIndexRetriever


def test_nodes_are_the_tables_of_the_search() -> None:
    search = TableSearch("mini", "bm25")
    nodes = search.as_llama_index(k=3).retrieve(QUESTIONS[0])
    hits = search.search(QUESTIONS[0], k=3)
    assert [node.metadata for node in nodes] == [hit.metadata() for hit in hits]
    assert [node.score for node in nodes] == [hit.score for hit in hits]
    assert nodes[0].text.startswith(str(hits[0].table.context["title"]))
    assert "table_id" not in nodes[0].get_content(MetadataMode.LLM)


def test_measured_again_it_ranks_the_same() -> None:
    search = TableSearch("mini", "bm25")
    again = LlamaIndexRetriever(search.as_llama_index(), version="1")
    again.embed_corpus(search.corpus)
    assert ranked(again, search.corpus) == ranked(search._retriever, search.corpus)
