"""Which columns and rows of two tables are paired, and which are not."""

import random

from target_bench.tables.comparison import compare_tables

STEALS = [
    ["player", "steals", "points"],
    ["Ann", "", "10"],
    ["Bo", "", "12"],
    ["Cy", "3", "9"],
    ["Di", "", "8"],
]
COUNTS = [
    ["player", "points", "assists", "rebounds"],
    ["Ann", "10", "1", "7"],
    ["Bo", "12", "2", "6"],
    ["Cy", "9", "3", "5"],
]


def _named(prediction: list[list[str]]) -> list[tuple[str, str]]:
    found = compare_tables(STEALS, prediction)
    return [(column.name, column.predicted_name) for column in found.columns]


def test_empty_cells_are_no_evidence_that_columns_of_different_names_are_one() -> None:
    invented = [["player", "turnovers", "points"], *([row[0], "", row[2]] for row in STEALS[1:])]
    invented[1][1] = "5"
    left_out = [[row[0], row[2]] for row in STEALS]
    assert ("steals", "") in _named(invented)
    assert compare_tables(STEALS, invented).score() < compare_tables(STEALS, left_out).score() < 1


def test_a_renamed_column_is_found_by_a_cell_or_by_its_name() -> None:
    by_cell = [["player", "balls won", "points"], *STEALS[1:]]
    by_name = [["player", "steal", "points"], *([row[0], "", row[2]] for row in STEALS[1:])]
    assert ("steals", "balls won") in _named(by_cell)
    assert ("steals", "steal") in _named(by_name)


def test_a_transposed_table_is_recognised_with_its_names_in_any_column() -> None:
    rng = random.Random(0)
    for _ in range(10):
        turned = [list(row) for row in zip(*COUNTS, strict=True)]
        order = rng.sample(range(len(turned[0])), len(turned[0]))
        shuffled = [[row[j] for j in order] for row in turned]
        for one, two in ((COUNTS, shuffled), (shuffled, COUNTS)):
            found = compare_tables(one, two)
            assert found.transposed
            assert found.score() == 1
