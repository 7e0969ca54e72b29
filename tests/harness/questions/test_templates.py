"""Questions from templates."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench import Table, TableId
from target_bench.data.languages import Language
from target_bench.harness.questions.grounding import TableView, solve
from target_bench.harness.questions.templates import (
    _TEMPLATES,
    LANGUAGES,
    proposals,
)
from tests.harness.questions.test_grounding import FILMS

cell = st.text(alphabet="ab 1.,-()Öß\n", max_size=8)
tables = st.integers(1, 4).flatmap(
    lambda width: st.builds(
        Table,
        st.just(TableId("0", "t")),
        st.lists(cell, min_size=width, max_size=width),
        st.lists(st.lists(cell, min_size=width, max_size=width), max_size=6),
        st.fixed_dictionaries({}, optional={"title": cell, "section_title": cell}),
    )
)


@given(tables, st.integers())
def test_every_question_is_answered_by_its_table(table: Table, seed: int) -> None:
    view = TableView(table)
    for proposal in proposals(view, Random(seed), 20):
        assert solve(proposal.ask, view) == proposal.solution
        assert proposal.evidence == proposal.solution.answer
        assert proposal.text.endswith("?")
        assert all(0 <= row < len(view.rows) for row, _ in proposal.solution.cells)


def test_a_seed_decides() -> None:
    view = TableView(FILMS)
    first, same = (proposals(view, Random(3), 10) for _ in range(2))
    assert first == same
    assert len({proposal.text for proposal in first}) == 10
    assert first != proposals(view, Random(4), 10)


@pytest.mark.parametrize("language", LANGUAGES)
def test_templates_take_turns(language: Language) -> None:
    """No template is drawn twice before the others of its kind."""
    used: Counter[str] = Counter()
    proposals(TableView(FILMS), Random(1), 60, language, used)
    for ways in _TEMPLATES[language].values():
        counts = [used[way] for way in ways]
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    ("header", "cells", "expected"),
    [
        (
            "inhabitants",
            ("5300", "1200", "90"),
            {"How many inhabitants does", "How many inhabitants are listed for"},
        ),
        (
            "Total number of schools",
            ("5", "12", "9"),
            {"How many schools does", "How many schools are listed for"},
        ),
        (
            "Guests of honor",
            ("Ann Lee", "Bo Kim", "Cy Day"),
            {"What are the guests of honor of", "Which guests of honor are listed for"},
        ),
        (
            "Mayor",
            ("Ann Lee", "Bo Kim", "Cy Day"),
            {"Who is the mayor listed for", "Who is listed as the mayor for"},
        ),
        ("homeCountry", ("Iran", "Peru", "Chad"), {"What is the home country of", "Which home"}),
    ],
)
def test_questions_ask_with_the_word_that_fits(
    header: str, cells: Sequence[str], expected: set[str]
) -> None:
    rows = [*zip(("Albury", "Barton", "Carrow"), cells, strict=True)]
    view = TableView(Table(TableId("0", "t"), ["town", header], rows))
    texts = [
        proposal.text
        for proposal in proposals(view, Random(0), 60)
        if proposal.ask.kind == "lookup" and len(proposal.ask.columns) == 1
    ]
    assert len(texts) > 3
    assert all(text.startswith(tuple(expected)) for text in texts)


@pytest.mark.parametrize("value", ["at Oslo", "vs. Peru", "3.0"])
def test_a_value_that_nobody_says_is_not_named(value: str) -> None:
    rows = [["Albury", value], ["Barton", value], ["Carrow", value]]
    view = TableView(Table(TableId("0", "t"), ["town", "country"], rows))
    questions = proposals(view, Random(0), 60)
    assert questions
    assert not any(value in proposal.ask.values for proposal in questions)


@pytest.mark.parametrize("header", ["also", "July", "to", "f/lap", "Listed", "PetID", "UK", "No."])
def test_a_column_whose_name_is_no_noun_is_not_asked_about(header: str) -> None:
    rows = [["Albury", "Iran"], ["Barton", "Peru"], ["Carrow", "Chad"]]
    view = TableView(Table(TableId("0", "t"), ["town", header], rows))
    assert proposals(view, Random(0), 60) == []
