"""BM25F, against its formula written out for one query and one table at a time."""

from math import log
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25F
from tests.retrievers.tables import (
    ask,
    table,
)

SPECS = [
    "bm25f",
    "bm25f:fields=[title,header,rows],k1=0.4,b=0.3",
    "bm25f:weights=[1,2,0,3],b=[0,1,0.5,0.75]",
]
WORDS = st.lists(st.sampled_from("abcdef"), max_size=6).map(" ".join)
MADE = st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=6)


def score(query: str, place: int, tables: list[list[list[str]]], made: BM25F) -> float:
    """The formula; ``tables`` are lists of the tokens of each field."""
    weights = made.field_weights()
    b = [made.b] * len(weights) if isinstance(made.b, float) else made.b
    total = 0.0
    for term in set(query.split()):
        having = sum(
            any(w and term in field for w, field in zip(weights, fields, strict=True))
            for fields in tables
        )
        frequency = 0.0
        for number, weight in enumerate(weights):
            field = tables[place][number]
            average = sum(len(fields[number]) for fields in tables) / len(tables)
            if term in field:
                longer = 1 - b[number] + b[number] * len(field) / average
                frequency += weight * field.count(term) / longer
        idf = log(1 + (len(tables) - having + 0.5) / (having + 0.5))
        total += idf * frequency / (made.k1 + frequency) if frequency else 0.0
    return total


@settings(max_examples=60)
@given(
    MADE,
    WORDS,
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=4, max_size=4),
    st.one_of(
        st.sampled_from([0.0, 0.4, 1.0]),
        st.lists(st.sampled_from([0.0, 0.4, 1.0]), min_size=4, max_size=4),
    ),
    st.sampled_from([0.0, 0.5, 2.0]),
)
def test_is_the_formula(
    made: list[tuple[str, ...]], query: str, weights: list[float], b: Any, k1: float
) -> None:
    tables = MemoryCorpus(
        table(str(i), title, [header], [[cells]], section)
        for i, (title, section, header, cells) in enumerate(made)
    )
    retriever = BM25F(weights=weights, b=b, k1=k1, stopwords="none", stemmer="none")
    retriever.embed_corpus(tables)
    tokens = [[text.split() for text in texts] for texts in made]
    expected = {str(i): score(query, i, tokens, retriever) for i in range(len(made))}
    scores = {table_id.table_id: score for table_id, score in ask(retriever, [query], 100)[0]}
    assert scores == pytest.approx({i: s for i, s in expected.items() if s > 0}, rel=1e-8)
