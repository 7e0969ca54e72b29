"""The rules on results of SQL: by example, as Python compares rows, and in linear time.

Rows are equal as Python has it, however their hashes collide; Spider's search through orders of
columns is held against one that tries them all.
"""

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from math import nan
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.schema import Cell
from target_bench.metrics.sql_results import (
    Row,
    Rows,
    compare_results,
    drop_repeated,
    order_matters,
    same_multiset,
    same_set,
    same_table,
    soft_f1,
)

PRIME = 2**61 - 1  # by which Python reduces numbers to hashes

CELLS = st.sampled_from(
    [
        *(None, "", "a", b"a", b"", "1", "-1", "None", "é", "\ud800"),
        *(0, 1, -1, -2, 0.0, -0.0, 1.0, -1.0, -2.0, 0.5, nan, float("inf"), float("-inf")),
        *(PRIME, 2 * PRIME, PRIME + 1, float(PRIME), float(2**61), 2**61),
        *(2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), float(2**63), 2**127, 2.0**127),
        *(1e308, 5e-324, 4238894112),
    ]
)


def test_the_official_quick_reject_heeds_how_numbers_are_written() -> None:
    assert same_table([(1,)], [(1.0,)], ordered=False)
    assert same_table([(1, "b")], [(1.0, "b")], ordered=True)
    assert not same_table([(1, "1.")], [(1.0, "1.")], ordered=False)
    assert not same_table([(0.0, "-")], [(-0.0, "-")], ordered=True)


def test_order_by_is_overlooked_as_in_the_official_rule() -> None:
    assert not order_matters("SELECT a FROM t ORDER  BY a")
    assert order_matters("select a from t order by 1")
    assert order_matters("SELECT 'order by'")


def circles(*sizes: int) -> list[Row]:
    """Edges as rows, vertices as columns, of circles of these lengths."""
    rows: list[Row] = []
    first = 0
    for size in sizes:
        for i in range(size):
            ends = (first + i, first + (i + 1) % size)
            rows.append(tuple(int(vertex in ends) for vertex in range(sum(sizes))))
        first += size
    return rows


def reordered(rows: Rows, columns: list[int], seed: int) -> list[Row]:
    shuffled = [tuple(row[i] for i in columns) for row in rows]
    random.Random(seed).shuffle(shuffled)
    return shuffled


@st.composite
def results(draw: st.DrawFn) -> tuple[Rows, Rows]:
    """Two results that are often the same but for the order of rows or columns, or first cell."""
    width = draw(st.integers(1, 3))
    first = draw(st.lists(st.tuples(*[CELLS] * width), max_size=5))
    second = draw(
        st.one_of(st.permutations(first), st.lists(st.tuples(*[CELLS] * width), max_size=5))
    )
    order = draw(st.permutations(range(width)))
    turned = [tuple(row[i] for i in order) for row in second]
    written = draw(st.booleans())
    return first, [tuple(map(_as_float, row)) for row in turned] if written else turned


def _as_float(cell: Cell) -> Cell:
    return float(cell) if isinstance(cell, int) and abs(cell) < 2**62 else cell


@settings(max_examples=200, deadline=None)
@given(results())
def test_sets_and_multisets_are_pythons(pair: tuple[Rows, Rows]) -> None:
    first, second = pair
    assert same_set(first, second) is (set(first) == set(second))
    assert same_multiset(first, second) is (Counter(first) == Counter(second))
    assert drop_repeated(first) == list(dict.fromkeys(first))
    assert same_set(drop_repeated(first), first)


@settings(max_examples=200, deadline=None)
@given(results())
def test_tables_match_under_some_order_of_columns(pair: tuple[Rows, Rows]) -> None:
    """By trying every order, and Spider's quick reject."""
    first, second = pair
    for ordered in (False, True):
        assert same_table(first, second, ordered) is _matches(first, second, ordered), ordered


def _matches(first: Rows, second: Rows, ordered: bool) -> bool:
    if not first or not second:
        return not first and not second
    turned = [
        [tuple(row[i] for i in p) for row in second] for p in permutations(range(len(first[0])))
    ]
    if not any(first == rows if ordered else Counter(first) == Counter(rows) for rows in turned):
        return False
    kept = [[tuple(sorted(row, key=_key)) for row in rows] for rows in (first, second)]
    return kept[0] == kept[1] if ordered else set(kept[0]) == set(kept[1])


def _key(cell: Cell) -> str:
    return str(cell) + str(type(cell))


@settings(max_examples=200, deadline=None)
@given(results(), st.integers(1, 30))
def test_soft_f1_of_wide_rows_counts_as_that_of_narrow_ones(
    pair: tuple[Rows, Rows], times: int
) -> None:
    """Values are looked up by hash in wide rows and one by one in narrow ones."""
    wide = [[row * times for row in rows] for rows in pair]
    assert soft_f1(*wide) == pytest.approx(_naive_f1(*wide))


def _naive_f1(gold: Rows, predicted: Rows) -> float:
    if not gold and not predicted:
        return 1.0
    gold, predicted = list(dict.fromkeys(gold)), list(dict.fromkeys(predicted))
    right = wrong = missed = 0.0
    for ours, theirs in zip(gold, predicted, strict=False):
        right += sum(value in ours for value in theirs) / len(ours) if ours != theirs else 1
        wrong += sum(value not in ours for value in theirs) / len(ours)
        missed += sum(value not in theirs for value in ours) / len(ours)
    wrong += max(len(predicted) - len(gold), 0)
    missed += max(len(gold) - len(predicted), 0)
    return 2 * right / (2 * right + wrong + missed) if right else 0.0


def _bits(first: Cell, second: Cell, n: int) -> Rows:
    return [tuple(first if i >> k & 1 else second for k in range(14)) for i in range(n)]


@pytest.mark.parametrize(
    ("first", "second"),
    [(-1, -2), (1, 1 + PRIME), (0.5, 0.5 * 2.0**61), ("a", b"a"), (None, 4238894112), (2.0, 2**62)],
    ids=str,
)
def test_colliding_rows_take_time_in_proportion_to_their_number(first: Cell, second: Cell) -> None:
    """In a set of Python's 15,000 rows of -1 and -2 take 64 times as long as 1,875, not 8 times."""
    names = ("bird", "soft_f1", "spider")
    small, large = _bits(first, second, 1_875), _bits(first, second, 15_000)
    for ordered in ("", " order by 1"):
        least = min(_seconds(names, small, ordered) for _ in range(3))
        most = min(_seconds(names, large, ordered) for _ in range(2))
        assert most < 8 * 5 * least + 0.5


def _seconds(names: Sequence[str], rows: Rows, ordered: str) -> float:
    start = process_time()
    values = compare_results(names, rows, rows[::-1], ordered)
    assert values["bird"] == 1
    return process_time() - start


def test_wide_rows_are_not_compared_pair_by_pair() -> None:
    """100 rows of 1,900 columns have 361 million pairs of values."""
    rows: Rows = [tuple((i * k) % 997 for k in range(1_900)) for i in range(1, 101)]
    start = process_time()
    compare_results(("soft_f1", "spider"), rows, [row[::-1] for row in rows], "")
    assert process_time() - start < 20


@settings(deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda width: st.lists(
            st.tuples(*[st.sampled_from([0, 1, 1.0])] * width), min_size=2, max_size=6
        )
    ),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_the_search_finds_what_trying_all_finds_where_all_looks_alike(
    rows: Rows, rng: random.Random, ordered: bool
) -> None:
    columns = list(range(len(rows[0])))
    rng.shuffle(columns)
    other: list[list[Cell]] = [[row[i] for i in columns] for row in rows]
    changed = rng.choice(other)
    i, j = rng.choice(columns), rng.choice(columns)
    changed[i], changed[j] = changed[j], changed[i]
    predicted = [tuple(row) for row in other]
    assert same_table(rows, predicted, ordered) is _matches(rows, predicted, ordered)


def _judged(gold: Rows, predicted: Rows) -> bool:
    """The official search goes through up to 60 ** 60 orders of columns."""
    started = process_time()
    same = same_table(gold, predicted, ordered=False)
    assert process_time() - started < 10
    return same


def test_sixty_columns_all_but_one_identical() -> None:
    gold = [(*[i % 7] * 59, i % 5) for i in range(10_000)]
    columns = random.Random(1).sample(range(60), 60)
    predicted = reordered(gold, columns, 2)
    assert _judged(gold, predicted)
    last = columns.index(59)
    place = next(i for i, row in enumerate(predicted) if row[last] != row[last - 1])
    row = list(predicted[place])
    row[last], row[last - 1] = row[last - 1], row[last]
    predicted[place] = tuple(row)
    assert not _judged(gold, predicted)


def test_sixty_columns_of_the_same_values() -> None:
    rng = random.Random(1)
    gold = list(zip(*(rng.sample(range(2_000), 2_000) for _ in range(60)), strict=True))
    predicted = reordered(gold, rng.sample(range(60), 60), 2)
    assert _judged(gold, predicted)
    first, second, *rest = predicted
    assert not _judged(gold, [(*first[:30], *second[30:]), (*second[:30], *first[30:]), *rest])


def test_a_result_made_to_take_forever_ends() -> None:
    gold, predicted = circles(*[6] * 8), circles(*[3] * 8, *[6] * 4)
    assert not _judged(gold, predicted)
