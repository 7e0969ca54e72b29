"""RMS by hand, by properties, and beside the official algorithm written out cell by cell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from benchmarks.table_metrics.relative_mapping import relative_mapping
from tests.table_metrics.pairs import Grid, table_pairs

TABLE = [["year", "Rome", "Oslo"], ["1990", "10", "200"], ["1991", "20", "n/a"]]
CELLS = st.text("ab1.%", max_size=4)
GRIDS = st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
    lambda size: st.lists(
        st.lists(CELLS, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]
    )
)


def _with(row: int, column: int, text: str) -> list[list[str]]:
    return [
        [text if (i, j) == (row, column) else cell for j, cell in enumerate(cells)]
        for i, cells in enumerate(TABLE)
    ]


def test_numbers_within_a_tenth_count_in_part() -> None:
    assert relative_mapping(TABLE, _with(1, 2, "210")).f1 == pytest.approx((3 + 0.95) / 4)
    assert relative_mapping(TABLE, _with(1, 2, "220")).f1 == pytest.approx(3 / 4)


def test_texts_count_up_to_half_of_their_length() -> None:
    assert relative_mapping(TABLE, _with(2, 2, "n/b")).f1 == pytest.approx((3 + 2 / 3) / 4)
    assert relative_mapping(TABLE, _with(2, 2, "xyz")).f1 == pytest.approx(3 / 4)


def test_order_transposition_and_case_do_not_count() -> None:
    turned = [list(column) for column in zip(*TABLE, strict=True)]
    assert relative_mapping(TABLE, [TABLE[0], TABLE[2], TABLE[1]]).f1 == 1
    assert relative_mapping(TABLE, turned).f1 == 1
    assert relative_mapping(TABLE, _with(0, 1, "ROME")).f1 == 1


def test_a_text_at_half_of_its_length_is_kept_and_a_number_at_a_tenth_is_not() -> None:
    one, other = [["", "c"], ["row", "ab"]], [["", "c"], ["row", "ac"]]
    assert relative_mapping(one, other).f1 == 0.5
    assert relative_mapping([["", "c"], ["row", "10"]], [["", "c"], ["row", "11"]]).f1 == 0


def test_of_equal_keys_the_last_one_counts() -> None:
    one = [["", "c"], ["row", "1"], ["row", "2"]]
    assert relative_mapping(one, [["", "c"], ["row", "2"]]).f1 == 1
    assert relative_mapping(one, [["", "c"], ["row", "1"]]).f1 == 0


@pytest.mark.parametrize("text", ["nan", "inf", "1e999%"])
def test_what_is_no_finite_number_differs_from_itself(text: str) -> None:
    assert relative_mapping(_with(1, 1, text), _with(1, 1, text)).f1 == 3 / 4


def test_a_missing_row_costs_recall() -> None:
    found = relative_mapping(TABLE, TABLE[:2])
    assert (found.precision, found.recall) == (1, 0.5)
    assert relative_mapping(TABLE, [["year"]]).f1 == 0


@given(GRIDS, GRIDS)
def test_bounds(one: list[list[str]], other: list[list[str]]) -> None:
    found = relative_mapping(one, other)
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in found)


def _edits(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def _alike(one: str, other: str) -> float:
    apart = _edits(one, other) / max(len(one), len(other))
    return 1 - apart if apart <= 0.5 else 0.0


def _as_float(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


def _points(grid: Grid) -> dict[str, str]:
    points = {}
    header, *rows = [[cell.lower().strip() for cell in row] for row in grid]
    for row in rows:
        for name, cell in zip(header[1:], row[1:], strict=True):
            points[f"{row[0]} {name}"] = cell
    return points


def _of_values(one: str, other: str) -> float:
    number, said = _as_float(one), _as_float(other)
    if said is not None and number:
        apart = min(abs((number - said) / number), 1)
        return 1 - apart if apart < 0.1 else 0.0
    return 1.0 if one == other else _alike(one, other)


def _official(one: dict[str, str], other: dict[str, str]) -> tuple[float, float, float]:
    if not one or not other:
        return float(not other), float(not one), float(not one and not other)
    costs = [[1 - _alike(key, said) for said in other] for key in one]
    total = sum(
        (1 - costs[i][j]) * _of_values([*one.values()][i], [*other.values()][j])
        for i, j in zip(*linear_sum_assignment(costs), strict=True)
    )
    if not total:
        return 0.0, 0.0, 0.0
    precision, recall = total / len(other), total / len(one)
    return precision, recall, 2 * precision * recall / (precision + recall)


def test_300_pairs_are_scored_as_by_the_official_algorithm() -> None:
    for one, other in table_pairs(300, seed=11):
        turned = [list(column) for column in zip(*other, strict=True)]
        official = max(
            (_official(_points(one), _points(said)) for said in (turned, other)),
            key=lambda scores: scores[2],
        )
        found = relative_mapping(one, other)
        assert (found.precision, found.recall, found.f1) == pytest.approx(official), (one, other)
