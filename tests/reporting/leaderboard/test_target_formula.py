"""The scoring of the original package, against sums by hand."""

from functools import partial
from math import log
from typing import Any

import pytest

from benchmarks.leaderboard.target_formula import TargetFormula
from target_bench import corpora
from target_bench.core.schema import Dataset, Query, Table, TableId
from target_bench.data.tables import MemoryCorpus
from target_bench.testing import check_retriever

IDS = [TableId("0", name) for name in ("Red_cars", "Blue_boats", "Green", "Grey", "Black")]
TABLES = [
    Table(IDS[0], ["year", "the maker"], [["1", "2"]], {"section_title": "fast", "title": "slow"}),
    Table(IDS[1], ["year", "maker"], [["red", "cars"]]),
    Table(IDS[2], ["length"], [["1"]]),
    Table(IDS[3], ["length"], [["1"]]),
    Table(IDS[4], ["length", "length"], [["1", "2"]]),
]


def _built(*settings: Any) -> Any:
    retriever = TargetFormula(*settings)
    retriever.embed_corpus(MemoryCorpus(TABLES))
    return retriever


def test_tfidf_by_hand() -> None:
    """idf counts twice; a stop word and the underscore of an id break pairs."""
    idf = log(4.5 / 1.5)
    ((table, score),) = _built("tfidf").retrieve("RED cars?", 5)
    assert table == IDS[0]
    assert score == pytest.approx(2 * idf**2 * log(2) ** 2, abs=1e-5)
    assert _built("tfidf").retrieve("the maker of cars year", 5)[0] == (
        IDS[0],
        pytest.approx((idf**2 + 2 * log(3.5 / 2.5) ** 2) * log(2) ** 2, abs=1e-5),
    )


def test_bm25_by_hand() -> None:
    """Lengths are those of all terms: red, cars, year, maker for the first table."""
    idf = log(4.5 / 1.5)
    mean = (4 + 5 + 2 + 2 + 4) / 5
    weight = 2.5 / (1 + 1.5 * (0.25 + 0.75 * 4 / mean))
    ((_, score),) = _built("bm25").retrieve("red cars", 5)
    assert score == pytest.approx(2 * idf**2 * log(2) * weight, abs=1e-5)


def test_what_is_not_seen() -> None:
    """Title, section and cells; and a term of most tables, whose idf is cut off at 0."""
    retriever = _built()
    assert not any(list(retriever.retrieve(query, 5)) for query in ("fast slow", "1 2", "length"))
    assert not _built("bm25", ("header",)).retrieve("red cars", 5)


def test_contract() -> None:
    for scoring in ("bm25", "tfidf"):
        check_retriever(
            partial(TargetFormula, scoring), skip={"opaque_ids": "the original indexes ids"}
        )


def test_range_of_ties() -> None:
    """``year`` is in two tables alike but for their length; ``grey`` in one."""
    gold = {"year": IDS[1], "grey": IDS[3], "red": IDS[2], "unknown": IDS[2]}
    queries = [Query(text, text, (table,)) for text, table in gold.items()]
    data = Dataset(corpora.loader("mini").info, "test", MemoryCorpus(TABLES), tuple(queries))
    for k, database, expected in (
        (1, False, (0.25, 0.5)),
        (2, False, (0.5, 0.5)),
        (1, True, (0.75, 0.75)),
    ):
        assert TargetFormula("tfidf").range_of_ties(data, k, database=database) == expected
