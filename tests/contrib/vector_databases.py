"""The checks that all vector databases share."""

from typing import Any

import pytest

from target_bench.core.identity import plugin_identity
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.encoders import UnitWords
from tests.retrievers.tables import TABLES, ask, corpus, names

QUERIES = ["which river is the longest", "apple price", "東京", "plum rhine"]


def finds_the_nearest(retriever: Any) -> None:
    """Assert the tables and scores of the cosine; what was there before is gone."""
    retriever.embed_corpus(MemoryCorpus(TABLES[:2]))
    assert len(ask(retriever, ["river"], 9)[0]) == 2
    retriever.embed_corpus(corpus())
    texts = [Serializer()(table) for table in TABLES]
    tables = UnitWords().encode(texts, "table")
    for query in QUERIES:
        cosines = UnitWords().encode([query], "query")[0] @ tables.T
        ranking = ask(retriever, [query], 100)[0]
        assert len(ranking) == len(TABLES)
        assert [score for _, score in ranking] == sorted((s for _, s in ranking), reverse=True)
        for table_id, score in ranking:
            assert score == pytest.approx(cosines[corpus().positions[table_id]], abs=1e-5)
    assert names(ask(retriever, ["kings"], 1)[0]) == ["kings"]
    assert ask(retriever, ["?"], 3) == [[]]
    assert any("zeros for 1 queries" in note for note in retriever.notes())
    retriever.embed_corpus(MemoryCorpus([]))
    assert list(retriever.retrieve_batch(["x"], 3)) == [[]]


def is_identified_without_its_place(here: Any, elsewhere: Any, other: Any) -> None:
    """Assert that where the database is changes no identity, and what is embedded does."""
    identity, warning = plugin_identity(here)
    assert warning is None
    assert identity == plugin_identity(elsewhere)[0]
    assert identity != plugin_identity(other)[0]
