"""PARENT of a sentence: its bounds, its limits, and where it is not defined by the script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.tables.descriptions.parent import SMOOTHING, Sentence, longest_common, parent

WORDS = st.lists(st.sampled_from(["a", "b", "c", "12", ","]), max_size=9)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, max_size=4))
def test_values_are_shares(
    said: list[str], references: list[list[str]], cells: list[list[str]]
) -> None:
    """Whatever is said, every part is between 0 and 1, and F between precision and recall."""
    known = {token for cell in cells for token in cell}
    found = parent(said, references, known, cells)
    assert all(0 <= value <= 1 + 1e-12 for value in found)
    assert min(found[:2]) - 1e-6 <= found.f <= max(found[:2]) + 1e-12


@given(WORDS, WORDS)
def test_longest_common_subsequence(one: list[str], other: list[str]) -> None:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, mine in enumerate(one):
        for j, theirs in enumerate(other):
            step = table[i][j] + 1 if mine == theirs else max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = step
    assert longest_common(one, Sentence(other, set()).places, len(other)) == table[-1][-1]


def test_the_best_reference_counts_and_the_first_of_equals() -> None:
    cells = [["ann"], ["2001"]]
    known = {"ann", "2001"}
    said = ["ann", "won", "in", "2001"]
    alone = parent(said, [said], known, cells)
    assert parent(said, [["no"], said, ["ann"]], known, cells) == alone
    assert alone.precision == pytest.approx(1)


def test_a_sentence_that_the_table_supports_is_precise_without_a_reference() -> None:
    known = {"ann", "2001"}
    found = parent(["ann", "2001"], [["she", "won"]], known, [["ann"], ["2001"]])
    assert found.precision > 0.001
    assert parent(["bob"], [["she", "won"]], known, [["ann"], ["2001"]]).f == 0


def test_nothing_wanted_leaves_the_reference() -> None:
    """Neither no value, nor a value without a token, is a division by zero."""
    said = ["ann", "won", "in", "may"]
    found = parent(said, [said], {"ann", "won", "in", "may"}, [])
    assert found == parent(said, [said], {"ann", "won", "in", "may"}, [[], []])
    assert found.recall == pytest.approx(1)


def test_an_empty_prediction() -> None:
    found = parent([], [["ann"]], {"ann"}, [["ann"]])
    assert found.precision == found.f == 0
    assert found.recall <= SMOOTHING


def test_without_a_reference() -> None:
    assert parent(["a"], [], {"a"}, [["a"]]) == (0, 0, 0)
