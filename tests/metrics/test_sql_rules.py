"""The rules on results: by example, by property, and against a search through all column orders."""

import random
import time
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.schema import Cell
from target_bench.metrics.sql import (
    Row,
    Rows,
    order_matters,
    same_multiset,
    same_set,
    same_table,
    soft_f1,
)

cells = st.one_of(
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, "a", "1", b"a", None]),
    st.text(max_size=2),
)


def results(width: int) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(*[cells] * width), max_size=5)


tables = st.integers(1, 4).flatmap(results)
pairs = st.integers(1, 3).flatmap(lambda width: st.tuples(results(width), results(width)))


def reordered(rows: Rows, columns: list[int], seed: int) -> list[Row]:
    shuffled = [tuple(row[i] for i in columns) for row in rows]
    random.Random(seed).shuffle(shuffled)
    return shuffled


def all_orders(gold: Rows, predicted: Rows, ordered: bool) -> bool:
    """Spider's rule, by trying every order of columns."""

    def sorted_row(row: Row) -> Row:
        return tuple(sorted(row, key=lambda value: str(value) + str(type(value))))

    if not gold or not predicted:
        return not gold and not predicted
    if len(gold) != len(predicted) or len(gold[0]) != len(predicted[0]):
        return False
    ours, theirs = [*map(sorted_row, gold)], [*map(sorted_row, predicted)]
    if ours != theirs if ordered else set(ours) != set(theirs):
        return False
    for columns in permutations(range(len(gold[0]))):
        rows = [tuple(row[i] for i in columns) for row in predicted]
        if rows == list(gold) if ordered else Counter(rows) == Counter(gold):
            return True
    return False


class TestExamples:
    def test_bird_ignores_order_and_duplicates_but_not_columns(self) -> None:
        gold: Rows = [(1, "a"), (2, "b"), (1, "a")]
        assert same_set(gold, [(2, "b"), (1, "a")])
        assert same_set(gold, [(1.0, "a"), (2, "b")])
        assert not same_set(gold, [("1", "a"), (2, "b")])
        assert not same_set(gold, [("a", 1), ("b", 2)])
        assert same_set([], [])
        assert same_set([(None,)], [(None,)])

    def test_multiset_counts_duplicates(self) -> None:
        assert same_multiset([(1,), (2,), (1,)], [(1,), (1,), (2,)])
        assert not same_multiset([(1,), (2,), (1,)], [(1,), (2,), (2,)])
        assert not same_multiset([(1,)], [(1,), (1,)])

    def test_spider_finds_the_order_of_columns(self) -> None:
        gold: Rows = [(1, "x", None), (2, "y", None), (2, "x", 5)]
        assert same_table(gold, [(None, 2, "y"), (5, 2, "x"), (None, 1, "x")], ordered=False)
        assert not same_table(gold, [(None, 2, "y"), (5, 2, "x"), (None, 1, "x")], ordered=True)
        assert same_table(gold, [(None, 1, "x"), (None, 2, "y"), (5, 2, "x")], ordered=True)
        assert not same_table(gold, [(None, 2, "x"), (5, 2, "y"), (None, 1, "x")], ordered=False)
        assert not same_table([(1,)], [(1, 1)], ordered=False)
        assert same_table([], [], ordered=True)

    def test_one_order_of_columns_holds_for_all_rows(self) -> None:
        assert not same_table([(1, 2), (3, 4)], [(1, 2), (4, 3)], ordered=False)

    def test_the_official_quick_reject_heeds_how_numbers_are_written(self) -> None:
        assert same_table([(1,)], [(1.0,)], ordered=False)
        assert same_table([(1, "b")], [(1.0, "b")], ordered=True)
        assert not same_table([(1, "1.")], [(1.0, "1.")], ordered=False)
        assert not same_table([(0.0, "-")], [(-0.0, "-")], ordered=True)

    def test_columns_of_one_kind_that_do_not_match(self) -> None:
        """Every vertex of a hexagon and of two triangles has two edges."""
        hexagon, triangles = circles(6), circles(3, 3)
        assert not same_table(hexagon, triangles, ordered=False)
        assert same_table(hexagon, reordered(hexagon, [3, 1, 0, 5, 2, 4], 1), ordered=False)

    @pytest.mark.parametrize("sql", ["SELECT a FROM t ORDER BY a", "select a from t order by 1"])
    def test_order_by_is_seen(self, sql: str) -> None:
        assert order_matters(sql)

    def test_order_by_is_overlooked_as_in_the_official_rule(self) -> None:
        assert not order_matters("SELECT a FROM t ORDER  BY a")
        assert order_matters("SELECT 'order by'")

    def test_soft_f1_goes_by_position(self) -> None:
        assert soft_f1([(1, 2), (3, 4)], [(2, 1), (3, 4)]) == 1
        assert soft_f1([(1, 2), (3, 4)], [(3, 4), (1, 2)]) == 0
        assert soft_f1([(1, 2), (1, 2), (3, 4)], [(1, 2), (3, 4)]) == 1
        assert soft_f1([(1, 2)], [(1, 9)]) == pytest.approx(0.5)
        assert soft_f1([(1,)], [(1,), (2,)]) == pytest.approx(2 / 3)
        assert soft_f1([(1,), (2,)], []) == 0
        assert soft_f1([], []) == 1


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


class TestProperties:
    @settings(deadline=None)
    @given(tables, st.booleans())
    def test_every_result_equals_itself(self, rows: Rows, ordered: bool) -> None:
        assert same_set(rows, rows)
        assert same_multiset(rows, rows)
        assert same_table(rows, rows, ordered)
        assert soft_f1(rows, rows) >= 1

    @settings(deadline=None)
    @given(pairs, st.booleans())
    def test_the_rules_are_symmetric(self, pair: tuple[Rows, Rows], ordered: bool) -> None:
        ours, theirs = pair
        assert same_set(ours, theirs) == same_set(theirs, ours)
        assert same_multiset(ours, theirs) == same_multiset(theirs, ours)
        assert same_table(ours, theirs, ordered) == same_table(theirs, ours, ordered)

    @settings(deadline=None)
    @given(pairs, st.integers())
    def test_rows_may_come_in_any_order(self, pair: tuple[Rows, Rows], seed: int) -> None:
        ours, theirs = pair
        shuffled = random.Random(seed).sample(theirs, len(theirs))
        assert same_set(ours, shuffled) == same_set(ours, theirs)
        assert same_multiset(ours, shuffled) == same_multiset(ours, theirs)
        assert same_table(ours, shuffled, False) == same_table(ours, theirs, False)

    @settings(deadline=None)
    @given(tables, st.randoms(use_true_random=False))
    def test_columns_may_come_in_any_order(self, rows: Rows, rng: random.Random) -> None:
        columns = list(range(len(rows[0]) if rows else 0))
        rng.shuffle(columns)
        assert same_table(rows, reordered(rows, columns, rng.randrange(99)), False)
        assert same_table(rows, [tuple(row[i] for i in columns) for row in rows], True)

    @settings(deadline=None)
    @given(pairs)
    def test_a_stricter_rule_implies_a_milder_one(self, pair: tuple[Rows, Rows]) -> None:
        ours, theirs = pair
        if same_multiset(ours, theirs):
            assert same_set(ours, theirs)
        if same_table(ours, theirs, ordered=True):
            assert same_table(ours, theirs, ordered=False)

    @settings(deadline=None)
    @given(pairs, st.booleans())
    def test_the_search_finds_what_trying_all_finds(
        self, pair: tuple[Rows, Rows], ordered: bool
    ) -> None:
        assert same_table(*pair, ordered) == all_orders(*pair, ordered)

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
        self, rows: list[Row], rng: random.Random, ordered: bool
    ) -> None:
        columns = list(range(len(rows[0])))
        rng.shuffle(columns)
        other: list[list[Cell]] = [[row[i] for i in columns] for row in rows]
        changed = rng.choice(other)
        i, j = rng.choice(columns), rng.choice(columns)
        changed[i], changed[j] = changed[j], changed[i]
        predicted = [tuple(row) for row in other]
        assert same_table(rows, predicted, ordered) == all_orders(rows, predicted, ordered)


class TestWideResults:
    """The official search goes through up to 60 ** 60 orders of columns."""

    def judged(self, gold: Rows, predicted: Rows) -> bool:
        started = time.process_time()
        same = same_table(gold, predicted, ordered=False)
        assert time.process_time() - started < 10
        return same

    def test_sixty_columns_all_but_one_identical(self) -> None:
        gold = [(*[i % 7] * 59, i % 5) for i in range(10_000)]
        columns = random.Random(1).sample(range(60), 60)
        predicted = reordered(gold, columns, 2)
        assert self.judged(gold, predicted)
        last = columns.index(59)
        place = next(i for i, row in enumerate(predicted) if row[last] != row[last - 1])
        row = list(predicted[place])
        row[last], row[last - 1] = row[last - 1], row[last]
        predicted[place] = tuple(row)
        assert not self.judged(gold, predicted)

    def test_sixty_identical_columns(self) -> None:
        gold = [(i % 7,) * 60 for i in range(10_000)]
        assert self.judged(gold, gold[::-1])
        assert not self.judged(gold, [*gold[1:], (9,) * 60])

    def test_sixty_columns_of_the_same_values(self) -> None:
        rng = random.Random(1)
        gold = list(zip(*(rng.sample(range(2_000), 2_000) for _ in range(60)), strict=True))
        predicted = reordered(gold, rng.sample(range(60), 60), 2)
        assert self.judged(gold, predicted)
        first, second, *rest = predicted
        assert not self.judged(
            gold, [(*first[:30], *second[30:]), (*second[:30], *first[30:]), *rest]
        )

    def test_a_result_made_to_take_forever_ends(self) -> None:
        gold, predicted = circles(*[6] * 10), circles(*[3] * 10, *[6] * 5)
        assert not self.judged(gold, predicted)
