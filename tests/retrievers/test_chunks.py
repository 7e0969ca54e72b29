"""Chunks of rows, against rankings of all chunks by hand."""

from typing import Any

import pytest

from target_bench.core.ranking import Ranking
from target_bench.core.schema import Corpus, TableId
from target_bench.data.row_chunks import RowChunks
from target_bench.data.tables import MemoryCorpus, digests_of
from target_bench.retrievers.chunks import Chunks
from tests.retrievers.tables import (
    TABLES,
    ask,
    built,
    names,
    same_rankings,
    table,
)

LONG = table("long", "Fruit", rows=[(f"plum{i}", i) for i in range(7)], section="Prices")


def rolled_up(retriever: Any, chunks: RowChunks, tables: Corpus, k: int = 5) -> list[Any]:
    """The definition: all chunks are ranked, and a table stands where its first chunk does."""
    retriever.embed_corpus(MemoryCorpus(chunks))
    rankings = []
    for ranking in ask(retriever, k=len(chunks)):
        best: dict[TableId, float] = {}
        for chunk, score in ranking:
            best.setdefault(tables.ids[int(chunks.tables[chunks.positions[chunk]])], score)
        rankings.append(list(best.items())[:k])
    return rankings


def test_chunks_have_the_header_and_context_of_their_table() -> None:
    chunks = RowChunks(MemoryCorpus([LONG, *TABLES]), 3, "all")
    first, second, third, *_ = chunks
    assert [len(chunk.rows) for chunk in (first, second, third)] == [3, 3, 1]
    assert first.id == LONG.id
    assert len({first.id, second.id, third.id}) == 3
    for chunk in (first, second, third):
        assert (chunk.header, chunk.context) == (LONG.header, LONG.context)
    assert [*first.rows, *second.rows, *third.rows] == list(LONG.rows)
    assert len(chunks) == len(list(chunks)) == 3 + len(TABLES)
    assert [chunks[name] for name in chunks.ids] == list(chunks)
    assert chunks.fingerprint == MemoryCorpus(chunks).fingerprint
    assert list(digests_of(chunks)) == list(chunks.digests)


@pytest.mark.parametrize("part", ["bm25", "tfidf", "hybrid:retrievers=[bm25,tfidf]"])
@pytest.mark.parametrize("k", [1, 3, 100])
def test_a_table_ranks_where_its_best_chunk_does(part: str, k: int) -> None:
    tables = MemoryCorpus([LONG, *TABLES])
    retriever = built(f"chunks:rows=1,retriever='{part}'", tables)
    chunks = RowChunks(tables, 1, "all")
    same_rankings(ask(retriever, k=k), rolled_up(built(part, tables), chunks, tables, k))


def test_a_long_table_hides_no_other() -> None:
    """The first chunks of a ranking are all of one table: more are asked for."""
    depths: list[int] = []

    class Counting:
        def embed_corpus(self, corpus: Corpus) -> None:
            self.ids = corpus.ids

        def retrieve(self, query: str, top_k: int) -> Ranking:
            depths.append(top_k)
            return self.ids[:top_k]

    many = table("many", rows=[("x", i) for i in range(40)])
    retriever = Chunks(Counting(), rows=1)
    retriever.embed_corpus(MemoryCorpus([many, *TABLES]))
    assert list(retriever.retrieve("x", 2)) == [many.id, TABLES[0].id]
    assert depths == [8, 32, 55]
    assert list(retriever.retrieve("x", 1)) == [many.id]
    assert depths[3:] == [4]


def test_rows_left_out_are_reported() -> None:
    retriever = built("chunks:rows=1,limit=1")
    assert "7 of 8 tables have more rows than limit=1 lets in" in retriever.notes()[0]
    assert not built("chunks:rows=1").notes()
    assert names(ask(retriever, ["pear"])[0]) == []
