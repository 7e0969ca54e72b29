"""Statistics, splits and heuristics of sets like ToTTo."""

from dataclasses import replace

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Query, Table, TableId
from target_bench.corpora import load
from target_bench.data.select import of_task
from target_bench.data.table_text import grid_rows
from target_bench.models.description_sets import (
    annotator_bleu,
    cell_matches,
    filtered_train,
    headers,
    matched,
    number_matches,
    overlap_split,
    statistics,
)

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
    """One reference against one other, over all pairs; never one against all others at once."""
    same = Query("a", "?", (), ("ann won the cup in may .", "ann won the cup in may ."))
    other = Query("b", "?", (), ("one two three four five", "six seven eight nine ten"))
    assert annotator_bleu([same]) == pytest.approx(100)
    assert annotator_bleu([other]) < 20
    assert annotator_bleu([other, same]) == pytest.approx(annotator_bleu([same, other]))
    third = Query("c", "?", (), (*other.references, other.references[0]))
    # equal are the first and the third: one pair of three, each in either order
    pairs = (100 + 2 * annotator_bleu([other])) / 3
    assert annotator_bleu([third]) == pytest.approx(pairs)
    with pytest.raises(DataError, match="two references"):
        annotator_bleu([Query("d", "?", (), ("one",))])


def test_the_overlap_is_of_whole_sets_of_headers() -> None:
    assert headers(TABLE) == {"nation", "gold", "total", "year"}
    reordered = replace(TABLE, header=("YEAR", "Gold", "Nation", "Total"))
    half = replace(TABLE, header=("Nation", "Gold", "Points", "Place"))
    mixed = replace(TABLE, header=("Gold", "Total", "Points", "Place"))
    asked = {"same": TABLE, "reordered": reordered, "half": half, "mixed": mixed}
    overlap = [name for name, yes in overlap_split(asked, [TABLE, half]).items() if yes]
    assert overlap == ["same", "reordered", "half"], "all values of mixed are seen, not together"
    assert not any(overlap_split(asked, []).values())


def test_header_sets_that_are_held_out_leave_train_unless_they_are_frequent() -> None:
    other = replace(TABLE, header=("A", "B", "C", "D"))
    train = {**{f"t{i}": TABLE for i in range(6)}, "other": other}
    assert filtered_train(train, [TABLE]) == list(train), "six are more than alpha"
    assert filtered_train(train, [TABLE], alpha=6) == ["other"]
    assert filtered_train(train, [other]) == [f"t{i}" for i in range(6)]
    assert filtered_train(train, []) == list(train)


def test_numbers_that_match() -> None:
    """Three non-zero digits, no year, with commas on either side."""
    assert number_matches("Spain won 13 of 1022 medals in 1992.", ROWS) == [(2, 2)]
    assert number_matches("14, 31, 9 and 0 in 1988", ROWS) == []
    assert number_matches("", ROWS) == []
    rows = grid_rows(replace(TABLE, rows=(("Rayyan", "17,219 (2010)", "300", "44.60"),)))
    assert number_matches("It had a population of 17,219 inhabitants", rows) == [(1, 1)]
    assert number_matches("300 in 2010 and 100", rows) == []
    assert number_matches("in 44.60 s", rows) == [(1, 3)]


def test_cells_of_one_row_that_match() -> None:
    assert cell_matches("Spain won 13 golds in 1992", ROWS) == [(2, 0), (2, 1), (2, 3)]
    assert cell_matches("Gold and Total", ROWS) == []


@pytest.mark.parametrize(
    ("sentence", "places"),
    [
        ("1,022 in all", [(2, 2)]),
        ("13 and 14 of 31", None),
        ("Cuba took 14 golds in 1992", [(1, 0), (1, 1), (1, 3)]),
        ("Cuba took 14 golds", None),
        ("", None),
    ],
)
def test_matching(sentence: str, places: list[tuple[int, int]] | None) -> None:
    assert matched(sentence, TABLE) == places
