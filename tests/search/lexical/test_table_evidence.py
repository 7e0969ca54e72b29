"""Lexical evidence, against sums worked out term by term."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.schema import Table
from target_bench.data.tables import MemoryCorpus
from target_bench.search.lexical.table_evidence import (
    KINDS,
    Evidence,
    query_numbers,
    table_numbers,
)
from tests.retrievers.tables import QUERIES, corpus, table

GAMES = (
    table(
        "1990",
        "1990 Harbour season",
        ("home team", "crowd"),
        (("North Port", "1,200"), ("Old Town", "3.50")),
    ),
    table("1991", "1991 Harbour season", ("home team", "crowd"), (("Old Town", "1,200"),)),
    table("cup", "Harbour cup", ("winner",), (("Port North",), ("Town",))),
)


def evidence(query: str, tables: tuple[Table, ...] = GAMES) -> dict[str, list[float]]:
    """Kind -> what each table gets, times the weight of the query's words."""
    index = Evidence(MemoryCorpus(tables), "auto")
    features = index.features([query])
    return {kind: values[0].tolist() for kind, values in zip(KINDS, features, strict=True)}


def rarity(n_with: int, n_tables: int = 3) -> float:
    return math.log(1 + (n_tables - n_with + 0.5) / (n_with + 0.5))


def test_numbers_have_values() -> None:
    assert table_numbers("1,200 in 1990, 007 and 3.50") == [
        "#1200", "#1990", "#7", "#3.50", "#350",
    ]  # fmt: skip
    assert query_numbers("Three of 1,200 came 3rd, the second 0") == [
        "#1200",
        "#3",
        "#0",
        "#3",
        "#2",
    ]
    assert query_numbers("13.8 (86)") == ["#13.8", "#86"]


def test_a_number_is_found_by_its_value() -> None:
    share = rarity(2) / rarity(2)
    assert evidence("1200 crowd")["numbers"] == pytest.approx([share, share, 0])


def test_a_phrase_needs_its_order() -> None:
    words = 2 * rarity(2)  # north and port are in two tables each
    values = evidence("north port")
    assert values["phrases"] == pytest.approx([rarity(1) / words, 0, 0])
    assert values["cells"] == pytest.approx([rarity(1) / words, 0, 0])
    assert values["title_phrases"] == [0, 0, 0]
    assert evidence("harbour cup")["title_phrases"] == pytest.approx(
        [0, 0, rarity(1) / (rarity(3) + rarity(1))]
    )


def test_words_of_a_row_count_together() -> None:
    """``old`` and ``1,200`` stand in one row of the second table, in two rows of the first."""
    rows = evidence("old 1200")["row"]
    assert rows[1] > rows[0] > rows[2] == 0


def test_words_above_the_row_do_not_count_in_it() -> None:
    tables = (
        table("told", "Apples", ("fruit",), (("apples",),)),
        table("new", "Fruit", ("name",), (("apples",),)),
    )
    query_cell = 2  # the cell "apples" counts in both rows
    rows = evidence("apples", tables)["row"]
    assert rows[1] - rows[0] == pytest.approx(1.0)
    assert rows[0] == pytest.approx(query_cell / 2)


@given(st.lists(st.sampled_from((*QUERIES, "old town 1,200", "three kings from 1650")), max_size=5))
@settings(max_examples=40, deadline=None)
def test_evidence_of_a_batch_is_that_of_each_query(queries: list[str]) -> None:
    index = _index()
    together = index.features(queries)
    for i, query in enumerate(queries):
        for single, batch in zip(index.features([query]), together, strict=True):
            assert np.allclose(single[0], batch[i], atol=1e-12)


@cache
def _index() -> Evidence:
    return Evidence(corpus(), "auto")
