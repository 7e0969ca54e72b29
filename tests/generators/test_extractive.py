"""The offline baseline: which row it finds, which cell it reads off, and when it says nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.schema import AnswerKind, Cell, GenerationRequest, Table, TableId
from target_bench.generators.extractive import NOT_ENOUGH, Extractive

MEDALS = Table(
    TableId("0", "medals"),
    ["Nation", "Gold", "Silver", "Points"],
    [
        ["Norway", 16, 8, "1,200.50"],
        ["Germany", 12, 10, "900"],
        ["Soviet Union", "12", None, "7.5"],
    ],
    {"title": "Winter Olympics", "section_title": "Beijing"},
)
CUP = Table(
    TableId("0", "cup"),
    ["Year", "Winner", "Runner-up"],
    [["2001", "Ann Lee", "Bo Li"], ["2002", "Cy Young", "Ann Lee"]],
    {"title": "The Cup"},
)

KINDS: list[AnswerKind] = ["text", "label", "tables"]


def _ask(query: str, *tables: Table, answer: AnswerKind = "text", **settings: Any) -> str:
    request = GenerationRequest("q", "a_task", (), query, tables, answer=answer)
    return Extractive(**settings).generate(request)


def _check(statement: str, *tables: Table, **settings: Any) -> str:
    return _ask(statement, *tables, answer="label", **settings)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many gold medals did Norway win?", "16"),
        ("How many silvers did Germany win?", "10"),
        ("What were Germany's points?", "900"),
        ("Which nation has 1200.5 points?", "Norway"),
        ("Germany?", "12"),
        ("Who was the winner in 2002?", "Cy Young"),
        ("Who came second, as the runner-up, in 2001?", "Bo Li"),
        ("Beijing: the points of the Soviet Union", "7.5"),
    ],
)
def test_questions(question: str, answer: str) -> None:
    assert _ask(question, MEDALS, CUP) == answer


@pytest.mark.parametrize(
    ("statement", "label"),
    [
        ("Norway won 16 gold medals.", "True"),
        ("Norway won 12 gold medals.", "False"),
        ("Norway won 17 gold medals.", "False"),
        ("Norway had 1200.50 points.", "True"),
        ("Norway had 1,200.5 points.", "True"),
        ("Ann Lee was the winner of the cup in 2001.", "True"),
        ("Bo Li was the winner of the cup in 2002.", "False"),
        ("The price of tea rose in China.", NOT_ENOUGH),
    ],
)
def test_statements(statement: str, label: str) -> None:
    assert _check(statement, MEDALS, CUP) == label


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("query", "tables"),
    [
        ("Who won?", ()),
        ("", (MEDALS,)),
        ("Who is it?", (MEDALS,)),
        ("?!", (MEDALS,)),
        ("quantum chromodynamics", (MEDALS, CUP)),
        ("Winter Olympics", (MEDALS,)),
        ("Norway", (Table(TableId("0", "t"), ["Norway"], [], {}),)),
    ],
)
def test_not_enough(kind: AnswerKind, query: str, tables: tuple[Table, ...]) -> None:
    """No table, no row, no word, or none that a row holds."""
    assert _ask(query, *tables, answer=kind) == NOT_ENOUGH


words = st.sampled_from(
    ["Norway", "1,000.0", "1000", "-", "", "12th", "²", "٣", "the", "é", "1.2.3"]
)
cell: st.SearchStrategy[Cell] = (
    words | st.text(max_size=8) | st.integers() | st.floats() | st.none() | st.binary(max_size=3)
)


@given(
    st.lists(words | st.text(max_size=8), max_size=5).map(" ".join),
    st.lists(st.lists(cell, min_size=2, max_size=2), max_size=5),
    st.lists(words, min_size=2, max_size=2),
    st.sampled_from(KINDS),
)
def test_any_table_is_answered_from(
    query: str, rows: list[list[Cell]], header: list[str], kind: AnswerKind
) -> None:
    """With a cell, a label or the refusal, and always the same one."""
    table = Table(TableId("0", "t"), header, rows, {"title": None})
    answer = _ask(query, table, answer=kind)
    assert isinstance(answer, str)
    assert answer
    assert answer == _ask(query, table, answer=kind)
    if kind == "label":
        assert answer in ("True", "False", NOT_ENOUGH)
