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
    left, right = [["", "c"], ["row", "ab"]], [["", "c"], ["row", "ac"]]
    assert relative_mapping(left, right).f1 == 0.5
    assert relative_mapping([["", "c"], ["row", "10"]], [["", "c"], ["row", "11"]]).f1 == 0


def test_of_equal_keys_the_last_one_counts() -> None:
    table = [["", "c"], ["row", "1"], ["row", "2"]]
    assert relative_mapping(table, [["", "c"], ["row", "2"]]).f1 == 1
    assert relative_mapping(table, [["", "c"], ["row", "1"]]).f1 == 0


@pytest.mark.parametrize("text", ["nan", "inf", "1e999%"])
def test_what_is_no_finite_number_differs_from_itself(text: str) -> None:
    assert relative_mapping(_with(1, 1, text), _with(1, 1, text)).f1 == 3 / 4


def test_a_missing_row_costs_recall() -> None:
    scores = relative_mapping(TABLE, TABLE[:2])
    assert (scores.precision, scores.recall) == (1, 0.5)
    assert relative_mapping(TABLE, [["year"]]).f1 == 0


@given(GRIDS, GRIDS)
def test_bounds(left: list[list[str]], right: list[list[str]]) -> None:
    scores = relative_mapping(left, right)
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in scores)


def _edits(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def _alike(left: str, right: str) -> float:
    apart = _edits(left, right) / max(len(left), len(right))
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


def _of_values(left: str, right: str) -> float:
    number, value = _as_float(left), _as_float(right)
    if value is not None and number:
        apart = min(abs((number - value) / number), 1)
        return 1 - apart if apart < 0.1 else 0.0
    return 1.0 if left == right else _alike(left, right)


def _official(left: dict[str, str], right: dict[str, str]) -> tuple[float, float, float]:
    if not left or not right:
        return float(not right), float(not left), float(not left and not right)
    costs = [[1 - _alike(key, name) for name in right] for key in left]
    total = sum(
        (1 - costs[i][j]) * _of_values([*left.values()][i], [*right.values()][j])
        for i, j in zip(*linear_sum_assignment(costs), strict=True)
    )
    if not total:
        return 0.0, 0.0, 0.0
    precision, recall = total / len(right), total / len(left)
    return precision, recall, 2 * precision * recall / (precision + recall)


def test_300_pairs_are_scored_as_by_the_official_algorithm() -> None:
    for left, right in table_pairs(300, seed=11):
        turned = [list(column) for column in zip(*right, strict=True)]
        official = max(
            (_official(_points(left), _points(answer)) for answer in (turned, right)),
            key=lambda scores: scores[2],
        )
        scores = relative_mapping(left, right)
        assert (scores.precision, scores.recall, scores.f1) == pytest.approx(official), (
            left,
            right,
        )
