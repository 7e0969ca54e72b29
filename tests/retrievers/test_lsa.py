"""Latent semantic analysis, against numpy's full decomposition."""

from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.lsa import LSA
from target_bench.retrievers.tfidf import TfIdf
from tests.retrievers.tables import (
    QUERIES,
    TABLES,
    ask,
    built,
    corpus,
    names,
    table,
)

SPECS = ["lsa", "lsa:dims=3", "lsa:dims=3,seed=5,iterations=0", "lsa:ngram=2,smooth_idf=false"]
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


def test_all_dimensions_are_the_angles_of_tfidf() -> None:
    """A table that is itself the query scores 1, and tables that share no word score 0."""
    (ranking,) = ask(built("lsa:fields=[title]"), ["Fruit prices"])
    assert names(ranking)[0] == "fruit"
    assert ranking[0][1] == pytest.approx(1.0)
    assert all(abs(score) < 1e-9 for _, score in ranking[1:])


def test_scores_may_be_negative_and_k_tables_come_back() -> None:
    tables = MemoryCorpus(
        table(f"t{i}", title)
        for i, title in enumerate(["red car", "red bus", "blue bus", "blue car", "blue sky"])
    )
    (ranking,) = ask(built("lsa:dims=2,fields=[title]", tables), ["red"], k=5)
    assert len(ranking) == 5
    assert ranking[-1][1] < 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dims": 0}, "dims=0: at least one dimension is kept"),
        ({"iterations": -1}, "iterations=-1: a number from 0"),
        ({"seed": -1}, "seed=-1: a number from 0"),
        ({"ngram": 0}, "ngram=0"),
        ({"fields": []}, r"fields=\[\]"),
    ],
)
def test_bad_settings(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LSA(**arguments)
