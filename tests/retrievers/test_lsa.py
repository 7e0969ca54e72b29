"""Latent semantic analysis, against numpy's full decomposition."""

from typing import Any

import numpy as np
import pytest
from sklearn.utils.extmath import randomized_svd

from target_bench.retrievers.lsa import LSA
from target_bench.retrievers.tfidf import TfIdf
from tests.retrievers.tables import (
    QUERIES,
    TABLES,
    ask,
    corpus,
)

NO_WORD = ("unheard-of", "", "  ?! ", "the of and")


@pytest.mark.parametrize("iterations", [0, 2, 4])
@pytest.mark.parametrize("turned", [False, True])
def test_axes_are_those_of_scikit_learn(iterations: int, turned: bool) -> None:
    retriever = TfIdf()
    retriever.embed_corpus(corpus())
    assert retriever._tables is not None
    vectors = retriever._tables if turned else retriever._tables.T.tocsr()
    axes = LSA(dims=4, iterations=iterations, seed=3)._decompose(vectors)
    _, _, expected = randomized_svd(vectors, 4, n_iter=iterations, random_state=3)
    assert np.abs(axes) == pytest.approx(np.abs(expected.T), abs=1e-12)  # signs change no cosine


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
