"""The retrievers ``rows`` and ``best``: the contract, their sums, settings."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.rows import WEIGHTS, Best, Rows
from target_bench.search.lexical.table_evidence import KINDS, Evidence
from tests.retrievers.models import Hashed
from tests.retrievers.tables import QUERIES, TABLES, ask, corpus, names, table


def built(make: Callable[[], Rows], tables: Any = TABLES) -> Rows:
    retriever = make()
    retriever.embed_corpus(MemoryCorpus(tables))
    return retriever


def test_scores_are_the_weighted_sums() -> None:
    weights = {"row": 0.0, "numbers": 2.0}
    retriever = built(lambda: Best(Hashed(), weights=weights, cosine=0.5, cache=False))
    evidence = Evidence(corpus(), "auto").features(QUERIES)
    expected = sum(
        {**WEIGHTS, **weights}[kind] * values for kind, values in zip(KINDS, evidence, strict=True)
    )
    written = [Best(Hashed())._write(t) for t in TABLES]
    vectors = [Hashed().encode(texts, "table") for texts in (QUERIES, written)]
    q, t = (v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9) for v in vectors)
    expected = expected + 0.5 * q @ t.T
    for i, ranking in enumerate(ask(retriever, k=100)):
        assert len(ranking) == len(TABLES)
        for table_id, score in ranking:
            place = corpus().positions[table_id]
            assert score == pytest.approx(expected[i, place], abs=1e-6)


def test_the_best_of_a_tables_vectors_counts() -> None:
    """As for one vector, but the largest cosine with a chunk of rows."""
    retriever = built(lambda: Best(Hashed(), chunk=1, weights=dict.fromkeys(KINDS, 0.0)))
    write = Best(Hashed())._write
    for query, ranking in zip(QUERIES, ask(retriever, k=100), strict=True):
        point = Hashed().encode([query], "query")[0]
        for table_id, score in ranking:
            whole = corpus()[table_id]
            parts = [replace(whole, rows=[row]) for row in whole.rows] or [whole]
            vectors = Hashed().encode([write(part) for part in parts], "table")
            lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(point)
            cosines = vectors @ point / np.where(lengths, lengths, 1)
            assert score == pytest.approx(cosines.max(), abs=1e-6)


def test_one_row_with_all_words_is_better_than_two() -> None:
    rows = [(f"name{i}", f"place{i}") for i in range(4)]
    mixed = [(f"name{i}", f"place{3 - i}") for i in range(4)]
    tables = [table("mixed", "People", rows=mixed), table("right", "People", rows=rows)]
    assert names(ask(built(Rows, tables), ["name1 was born in place1"])[0])[0] == "right"
    without = built(lambda: Rows(weights={"row": 0.0}), tables)
    assert names(ask(without, ["name1 was born in place1"])[0])[0] == "mixed"
