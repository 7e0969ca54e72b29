"""Labels of several people become one by majority; what is open or disputed is not taken."""

from typing import Any

import pytest

from target_bench.core.schema import TableId
from target_bench.reporting.labels.merged_labels import Merged, merged
from target_bench.reporting.labels.read_labels import Label, Labels, QuestionLabels, Verdict

A, B = TableId("0", "a"), TableId("0", "b")
YES: Label = "relevant"
NO: Label = "not relevant"
MAYBE: Label = "cannot say"


def said(
    tables: dict[TableId, Label | None], verdict: Verdict | None = None, text: str | None = None
) -> QuestionLabels:
    return QuestionLabels(verdict, text, tables)


def together(*given: QuestionLabels) -> Merged:
    people = [Labels(str(i), (), {"q": one}) for i, one in enumerate(given)]
    return merged(people)["q"]


@pytest.mark.parametrize(
    ("given", "state", "parts"),
    [
        ([{A: YES, B: NO}], "labelled", ([A], [B], [], [])),
        ([{A: YES, B: None}], "unfinished", ([A], [], [], [])),
        ([{A: YES, B: None}, {A: None, B: NO}], "labelled", ([A], [B], [], [])),
        ([{A: YES, B: NO}, {A: NO, B: NO}], "labelled", ([], [B], [A], [])),
        ([{A: YES, B: NO}, {A: NO, B: NO}, {A: YES, B: YES}], "labelled", ([A], [B], [], [])),
        ([{A: YES, B: MAYBE}], "labelled", ([A], [], [], [B])),
        ([{A: YES, B: MAYBE}, {A: YES, B: NO}], "labelled", ([A], [B], [], [])),
        ([{A: None, B: None}], "unfinished", ([], [], [], [])),
    ],
)
def test_tables(given: Any, state: str, parts: tuple[list[TableId], ...]) -> None:
    found = together(*map(said, given))
    assert found.state == state
    kept = (found.relevant, found.not_relevant, found.disputed, found.unclear)
    assert tuple(map(list, kept)) == parts


def test_questions() -> None:
    good, bad = said({}, "accepted"), said({}, "rejected")
    assert together(good).state == "labelled"
    assert together(good).reviewed
    assert together(bad).state == "rejected"
    assert together(good, bad).state == "disputed"
    assert together(good, bad, bad).state == "rejected"
    judged = said({A: YES})
    assert together(judged, bad).state == "disputed"
    assert not together(judged).reviewed
    assert together(said({A: None})).state == "unfinished"


def test_edits() -> None:
    one, other = said({}, "accepted", "in words"), said({}, "accepted", "in other words")
    assert (together(one).state, together(one).text) == ("labelled", "in words")
    assert together(one, one).text == "in words"
    assert (together(one, other).state, together(one, other).text) == ("disputed", None)
    assert together(one, said({}, "accepted")).state == "disputed"
    assert together(one, said({}, "rejected", "not this"), one).text == "in words"
