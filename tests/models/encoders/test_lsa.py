"""The encoder lsa has the vectors of the retriever lsa."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from target_bench.data.table_text import Serializer
from target_bench.models.encoders.lsa import LSAEncoder
from target_bench.retrievers.lsa import LSA
from tests.retrievers.tables import QUERIES, ask, corpus

WRITE = Serializer(rows="auto")
TEXTS = [WRITE(table) for table in corpus()]


def _fitted(texts: Sequence[str] = TEXTS, dims: int = 3) -> LSAEncoder:
    encoder = LSAEncoder(dims=dims)
    encoder.fit(iter(texts))
    return encoder


@pytest.mark.parametrize("dims", [1, 3, 512])
def test_cosines_are_the_scores_of_the_retriever(dims: int) -> None:
    encoder, retriever = _fitted(dims=dims), LSA(dims=dims)
    retriever.embed_corpus(corpus())
    tables, queries = encoder.encode(TEXTS, "table"), encoder.encode(QUERIES, "query")
    assert tables.dtype == queries.dtype == np.float32
    cosines = queries @ tables.T
    for row, ranking in zip(cosines, ask(retriever, k=100), strict=True):
        assert not ranking or len(ranking) == len(TEXTS)
        for table_id, score in ranking:
            assert row[corpus().positions[table_id]] == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("texts", [TEXTS, ["", "the of"], []])
def test_saving_changes_nothing(tmp_path: Path, texts: list[str]) -> None:
    encoder = _fitted(texts)
    encoder.save(tmp_path)
    other = LSAEncoder(dims=3)
    other.load(tmp_path)
    assert np.array_equal(encoder.encode(QUERIES, "query"), other.encode(QUERIES, "query"))
