"""Statistics, splits and heuristics of sets like ToTTo."""

from dataclasses import replace

import pytest

from target_bench.components.description_sets import (
    annotator_bleu,
    cell_matches,
    headers,
    matched,
    number_matches,
    overlap_split,
    statistics,
)
from target_bench.components.table_text import grid_rows
from target_bench.core.errors import DataError
from target_bench.core.schema import Query, Table, TableId
from target_bench.corpora import load
from target_bench.data.select import of_task

TABLE = Table(
    TableId("0", "t"),
    ("Nation", "Gold", "Total", "Year"),
    (("Cuba", "14", "31", "1992"), ("Spain", "13", "1,022", "1992"), ("Spain", "0", "9", "1988")),
)
ROWS = grid_rows(TABLE)


def test_statistics_of_mini() -> None:
    found = statistics(of_task(load("mini"), "table_to_text"))
    assert (found.examples, found.references) == (30, 65)
    assert found.unique_tables <= found.examples
    assert 2 <= found.highlighted_cells.mean <= 4
    assert 5 < found.target_length.median < 20
    assert found.vocabulary < found.target_tokens
    assert found.to_json()["rows_per_table"]["median"] > 5


def test_statistics_without_highlighted_cells() -> None:
    with pytest.raises(DataError, match="no query has highlighted cells"):
        statistics(of_task(load("mini"), "retrieval"))


def test_bleu_between_annotators() -> None:
    same = Query("a", "?", (), ("ann won the cup in may .", "ann won the cup in may ."))
    other = Query("b", "?", (), ("one two three four five", "six seven eight nine ten"))
    assert annotator_bleu([same]) == pytest.approx(100)
    assert annotator_bleu([other]) < 20
    assert annotator_bleu([other, same]) == pytest.approx(annotator_bleu([same, other]))
    third = Query("c", "?", (), (*same.references, same.references[0]))
    assert annotator_bleu([other, third]) == pytest.approx(100), "others have fewer references"
    with pytest.raises(DataError, match="two references"):
        annotator_bleu([Query("d", "?", (), ("one",))])


def test_headers_and_overlap() -> None:
    assert headers(TABLE) == {"nation", "gold", "total", "year"}
    half = replace(TABLE, header=("NATION", "Gold", "Points", "Place"))
    none = replace(TABLE, header=("A", "B", "C", "D"))
    empty = replace(TABLE, header=("", "", "", ""))
    asked = {"half": half, "none": none, "empty": empty, "same": TABLE}
    assert [n for n, yes in overlap_split(asked, [TABLE]).items() if yes] == ["half", "same"]
    assert [n for n, yes in overlap_split(asked, [TABLE], 0.5).items() if yes] == ["same"]
    assert not any(overlap_split(asked, []).values())


def test_numbers_that_match() -> None:
    """Neither years nor zeros, with commas on either side."""
    assert number_matches("Spain won 13 of 1022 medals in 1992.", ROWS) == [(2, 1), (2, 2)]
    assert number_matches("0 of 31 in B9", ROWS) == [(1, 2)]
    assert number_matches("", ROWS) == []


def test_cells_of_one_row_that_match() -> None:
    assert cell_matches("Spain won 13 golds in 1992", ROWS) == [(2, 0), (2, 1), (2, 3)]
    assert cell_matches("Gold and Total", ROWS) == []


@pytest.mark.parametrize(
    ("sentence", "places"),
    [
        ("13 and 14 of 31", [(1, 1), (1, 2), (2, 1)]),
        ("Cuba took 14 golds in 1992", [(1, 0), (1, 1), (1, 3)]),
        ("Cuba took 14 golds", None),
        ("", None),
    ],
)
def test_matching(sentence: str, places: list[tuple[int, int]] | None) -> None:
    assert matched(sentence, TABLE) == places
