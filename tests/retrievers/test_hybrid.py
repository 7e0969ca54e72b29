"""Late fusion, against the definitions written out for one query and one table at a time."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError, DataError, PluginError
from target_bench.core.index_store import load_index, save_index
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.registry import create
from target_bench.core.schema import Corpus, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25
from target_bench.retrievers.hybrid import Hybrid
from tests.builders import Counting
from tests.retrievers.tables import (
    TABLES,
    ask,
    built,
    corpus,
)

IDS = [table.id for table in TABLES]


class Given:
    """A retriever of a user's own, with two methods: the same ranking for every query."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking

    def embed_corpus(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return self.ranking[:top_k]


def scored(scores: dict[int, float]) -> list[tuple[TableId, float]]:
    """A ranking by scores of places in the corpus."""
    order = sorted(scores, key=lambda place: (-round(scores[place], 5), place))
    return [(IDS[place], scores[place]) for place in order]


def fused(parts: Sequence[Any], k: int = 100, **settings: Any) -> list[tuple[int, float]]:
    """Positions in the corpus with their scores."""
    hybrid = Hybrid(parts, **settings)
    hybrid.embed_corpus(corpus())
    (ranking,) = ask(hybrid, ["anything"], k)
    return [(IDS.index(table), score) for table, score in ranking]


def weighted(
    lists: list[dict[int, float]], weights: list[float], scale: str, depth: int
) -> dict[int, float]:
    """The definition: the weighted sum of scaled scores, table by table."""
    sums = dict.fromkeys(set().union(*lists), 0.0)
    for scores, weight in zip(lists, weights, strict=True):
        kept = {IDS.index(table): score for table, score in scored(scores)[:depth]}
        missing = min(kept.values(), default=0.0)
        if len(kept) < depth:
            missing = min(missing, 0.0)
        values = [*kept.values(), *([missing] if len(kept) < len(IDS) else [])]
        offset, unit = {
            "none": (0.0, 1.0),
            "max": (0.0, max(map(abs, values))),
            "minmax": (min(values), max(values) - min(values)),
            "zscore": (statistics.fmean(values), statistics.pstdev(values)),
        }[scale]
        for place in sums:
            sums[place] += weight * (kept.get(place, missing) - offset) / (unit or 1.0)
    return sums


SCORES = st.dictionaries(
    st.integers(0, len(TABLES) - 1), st.integers(-40, 40).map(lambda n: n / 8), max_size=8
)


@given(
    st.lists(SCORES, min_size=1, max_size=4),
    st.data(),
    st.sampled_from(["max", "minmax", "zscore", "none"]),
)
def test_weighted_sums_are_as_defined(
    lists: list[dict[int, float]], data: st.DataObject, scale: Any
) -> None:
    weights = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=4, max_size=4))
    depth = data.draw(st.integers(1, 10))
    weights = weights[: len(lists)]
    fusion = fused(
        [Given(scored(scores)) for scores in lists], weights=weights, normalise=scale, depth=depth
    )
    cut = [{IDS.index(t): s for t, s in scored(scores)[:depth]} for scores in lists]
    expected = weighted(cut, weights, scale, depth)
    assert dict(fusion) == pytest.approx(expected, abs=1e-5)
    for (place, better), (next_place, worse) in pairwise(fusion):
        assert (round(better, 5), -place) > (round(worse, 5), -next_place)


@given(st.lists(st.permutations(range(len(TABLES))), min_size=1, max_size=3), st.integers(1, 9))
def test_reciprocal_ranks_are_as_defined(orders: list[list[int]], depth: int) -> None:
    weights = [1.0, 2.0, 0.5][: len(orders)]
    parts = [Given([IDS[place] for place in order]) for order in orders]
    fusion = fused(parts, weights=weights, method="rrf", constant=7, depth=depth)
    expected: dict[int, float] = {}
    for order, weight in zip(orders, weights, strict=True):
        for rank, place in enumerate(order[:depth], 1):
            expected[place] = expected.get(place, 0.0) + weight / (7 + rank)
    assert dict(fusion) == pytest.approx(expected, abs=1e-5)


def test_a_part_whose_arrays_have_the_ids_in_an_order_of_its_own() -> None:
    """The ids that they come with say which tables they are, as they do without a fusion."""

    class Backwards(Given):
        def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Ranked:
            rows = np.zeros((len(queries), 1), dtype=np.int64)
            return Ranked(IDS[::-1], rows, np.ones(rows.shape))

    assert [place for place, _ in fused([Backwards([])])] == [len(IDS) - 1]


def test_a_part_that_cannot_be_saved(tmp_path: Path) -> None:
    hybrid = Hybrid([BM25(), Given([])])
    hybrid.embed_corpus(corpus())
    with pytest.raises(ConfigError, match="Given cannot save or load its index"):
        hybrid.save(tmp_path)


def test_an_index_is_refused_for_other_parts(tmp_path: Path) -> None:
    spec = "hybrid:retrievers=[bm25,bm25:b=0.3]"
    save_index(built(spec), corpus(), tmp_path / "index")
    load_index(create("retriever", spec), corpus(), tmp_path / "index")
    with pytest.raises(DataError, match="another retriever, settings or code"):
        load_index(
            create("retriever", "hybrid:retrievers=[bm25,bm25:b=0.4]"), corpus(), tmp_path / "index"
        )


def test_a_part_without_scores_cannot_be_weighted() -> None:
    hybrid = Hybrid(["bm25", Counting()])
    hybrid.embed_corpus(corpus())
    with pytest.raises(ConfigError, match=r"Counting ranks without scores.*method=rrf"):
        hybrid.retrieve("apple", 3)


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        (None, "Given.* returned None"),
        ([("0", "nowhere")], "which is not the id of a table"),
        ([IDS[0], IDS[0]], "twice"),
        ([(IDS[0], float("nan"))], "returned the score nan"),
    ],
)
def test_a_part_is_held_to_the_contract(ranking: Any, message: str) -> None:
    part = Given(ranking)
    part.retrieve = lambda query, top_k: ranking  # type: ignore[method-assign]
    with pytest.raises(PluginError, match=message):
        fused([part], method="rrf")


def test_notes_carry_the_part_they_are_of() -> None:
    class Talking(Given):
        def notes(self) -> list[str]:
            return ["3 texts were cut"]

    assert Hybrid([Talking([]), "bm25", Given([])]).notes() == ["Talking: 3 texts were cut"]


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 3.7, 1e9])
@pytest.mark.parametrize(
    "settings", [{"normalise": "none"}, {"normalise": "max"}, {"method": "rrf"}]
)
def test_the_scale_of_a_part_does_not_make_ties(settings: dict[str, Any], scale: float) -> None:
    """As one part alone, in whatever scores, ranks: nothing of it is rounded away."""
    given_scores = {i: (7.0 - i) * scale for i in (3, 1, 0, 5, 2, 4)}
    retriever = Hybrid([Given(sorted(scored(given_scores), key=lambda pair: -pair[1]))], **settings)
    retriever.embed_corpus(corpus())
    ranking = [table for table, _ in ask(retriever, ["apple"], 6)[0]]
    assert ranking == [IDS[i] for i in range(6)]


def test_reciprocal_ranks_stay_apart_far_down() -> None:
    """1 / (60 + 400) and 1 / (60 + 401) differ by 5e-6."""
    tables = MemoryCorpus(replace(TABLES[0], id=TableId("0", f"{i:03d}")) for i in range(500))
    ids = tables.ids[::-1]
    retriever = Hybrid([Given(ids)], method="rrf", depth=500)
    retriever.embed_corpus(tables)
    assert [table for table, _ in ask(retriever, ["apple"], 500)[0]] == list(ids)
