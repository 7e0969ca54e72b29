"""Latent semantic analysis, against numpy's full decomposition."""

from typing import Any

import numpy as np
import pytest

from target_bench.retrievers.lsa import LSA
from target_bench.retrievers.tfidf import TfIdf
from tests.retrievers.tables import (
    QUERIES,
    TABLES,
    ask,
    corpus,
)

NO_WORD = ("unheard-of", "", "  ?! ", "the of and")


@pytest.mark.parametrize("dims", [1, 2, 6, 100])
def test_is_the_cosine_in_the_space_of_the_singular_vectors(dims: int) -> None:
    settings: dict[str, Any] = {"fold": True, "stopwords": "en_plus", "stemmer": "english"}
    plain = TfIdf(**settings)
    plain.embed_corpus(corpus())
    assert plain._tables is not None
    matrix = plain._tables.toarray().T
    _, values, axes = np.linalg.svd(matrix, full_matrices=False)
    assert dims > len(values) or values[dims - 1] - values[dims] > 1e-3  # else any space will do
    space = axes[: min(dims, int((values > 1e-9).sum()))].T
    tables, queries = matrix @ space, plain._ngrams.vectors(QUERIES).toarray() @ space
    retriever = LSA(dims=dims, iterations=20)
    retriever.embed_corpus(corpus())
    for query, point, ranking in zip(QUERIES, queries, ask(retriever, k=100), strict=True):
        assert len(ranking) == (0 if query in NO_WORD else len(TABLES))
        for table_id, score in ranking:
            row = tables[corpus().positions[table_id]]
            norms = np.linalg.norm(row) * np.linalg.norm(point)
            assert score == pytest.approx(row @ point / norms if norms > 1e-9 else 0.0, abs=1e-6)
