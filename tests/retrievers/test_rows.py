"""The retrievers ``rows`` and ``best``: the contract, their sums, settings."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.index_store import load_index, save_index
from target_bench.core.registry import create
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers import rows as best
from target_bench.retrievers.rows import WEIGHTS, Best, Rows
from target_bench.search.lexical.table_evidence import KINDS, Evidence
from target_bench.testing import check_retriever
from tests.retrievers.models import Hashed
from tests.retrievers.tables import QUERIES, TABLES, ask, corpus, names, same_rankings, table

MAKERS: list[Callable[[], Rows]] = [
    Rows,
    lambda: Rows(weights={"row": 0.0, "title": 3.0}, rows=1),
    lambda: Best(Hashed(), cache=False),
    lambda: Best(Hashed(), weights={"cells": 0.0}, cosine=0.5, rows="all", cache=False),
    lambda: Best(Hashed(), chunk=1, cosine=2.0, cache=False),
]


def built(make: Callable[[], Rows], tables: Any = TABLES) -> Rows:
    retriever = make()
    retriever.embed_corpus(MemoryCorpus(tables))
    return retriever


@pytest.mark.parametrize("make", MAKERS)
def test_the_contract(make: Callable[[], Rows]) -> None:
    report = check_retriever(make)
    assert {outcome.check for outcome in report.skipped} == set()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("cells", [1, 20])
def test_batches_change_nothing(
    make: Callable[[], Rows], cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = built(make)
    together = ask(retriever)
    monkeypatch.setattr(best, "_CELLS", cells)
    same_rankings(ask(retriever), together)
    same_rankings([ask(retriever, [query])[0] for query in QUERIES], together)


def test_scores_are_the_weighted_sums() -> None:
    weights = {"row": 0.0, "numbers": 2.0}
    retriever = built(lambda: Best(Hashed(), weights=weights, cosine=0.5, cache=False))
    evidence = Evidence.build(corpus(), "auto").features(QUERIES)
    expected = sum(
        {**WEIGHTS, **weights}[kind] * found for kind, found in zip(KINDS, evidence, strict=True)
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
        asked = Hashed().encode([query], "query")[0]
        for table_id, score in ranking:
            whole = corpus()[table_id]
            parts = [replace(whole, rows=[row]) for row in whole.rows] or [whole]
            found = Hashed().encode([write(part) for part in parts], "table")
            lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(asked)
            cosines = found @ asked / np.where(lengths, lengths, 1)
            assert score == pytest.approx(cosines.max(), abs=1e-6)


def test_every_kind_has_a_weight() -> None:
    assert tuple(WEIGHTS) == KINDS


def test_one_row_with_all_words_is_better_than_two() -> None:
    rows = [(f"name{i}", f"place{i}") for i in range(4)]
    mixed = [(f"name{i}", f"place{3 - i}") for i in range(4)]
    tables = [table("mixed", "People", rows=mixed), table("right", "People", rows=rows)]
    assert names(ask(built(Rows, tables), ["name1 was born in place1"])[0])[0] == "right"
    without = built(lambda: Rows(weights={"row": 0.0}), tables)
    assert names(ask(without, ["name1 was born in place1"])[0])[0] == "mixed"


def test_tables_without_evidence_are_found_by_meaning_only() -> None:
    assert ask(built(Rows), ["unheard-of"]) == [[]]
    assert len(ask(built(MAKERS[2]), ["unheard-of"], k=3)[0]) == 3


@pytest.mark.parametrize("make", MAKERS)
def test_saving_changes_nothing(make: Callable[[], Rows], tmp_path: Path) -> None:
    saved = built(make)
    save_index(saved, corpus(), tmp_path / "index")
    loaded = make()
    load_index(loaded, corpus(), tmp_path / "index")
    assert ask(loaded) == ask(saved)
    assert {p.suffix for p in tmp_path.rglob("*") if p.is_file()} <= {".npy", ".json"}


@pytest.mark.parametrize("make", MAKERS)
def test_small_corpora(make: Callable[[], Rows]) -> None:
    assert ask(built(make, []), ["plum"]) == [[]]
    assert list(built(make).retrieve_batch([], 3)) == []
    assert names(ask(built(make, TABLES[:1]), ["apple"])[0]) == ["fruit"]


def test_another_dimension_is_refused() -> None:
    retriever = Best(Hashed(), cache=False)
    retriever.embed_corpus(corpus())
    retriever._encoding.encoder = Hashed(dims=8)
    with pytest.raises(ConfigError, match="queries 8 dimensions, and tables 64"):
        retriever.retrieve("plum", 3)


def test_the_encoder_is_part_of_the_identity() -> None:
    one, warning = plugin_identity(Best(Hashed()))
    assert warning is None
    assert one == plugin_identity(Best(Hashed(), cache=False))[0]
    assert one != plugin_identity(Best(Hashed(dims=8)))[0]
    assert list(Best(Hashed()).notes()) == ["1 text was cut"]


def test_vectors_of_zeros_are_reported() -> None:
    retriever = built(lambda: Best(Hashed(), cache=False))
    retriever.retrieve("?", 3)
    assert "for 1 queries, which are ranked by words alone" in " ".join(retriever.notes())


def test_names() -> None:
    assert isinstance(create("retriever", "rows:weights={row: 0.5}"), Rows)
    pytest.importorskip("sentence_transformers")
    assert isinstance(create("retriever", "best"), Best)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": {"rwo": 1.0}}, "'rwo' is none of title, all"),
        ({"weights": {"row": -1.0}}, "a weight is a number from 0"),
        ({"rows": -1}, "rows=-1"),
        ({"cosine": float("inf")}, "cosine=inf"),
        ({"chunk": 0}, "chunk=0: at least 1 row"),
        ({"encoder": 3}, "encoder=3 is not an Encoder"),
    ],
)
def test_bad_settings(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Best(**{"encoder": Hashed(), **arguments})
