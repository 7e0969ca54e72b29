"""Facts of texts, what supports them, and the metrics of support."""

from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.grid import GridCell
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.descriptions import JudgedDescriptions
from target_bench.tables.faithfulness import (
    cell_claims,
    cell_facts,
    facts,
    known,
    numbers,
    sentence_support_metrics,
    table_support_metrics,
)
from target_bench.tables.totto_text import evidence

texts = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            """12 1,234.5 2.5 million two hundred and five twenty-one first 1982-84 March 4, 2001
            2001-03-04 3/4/2001 May of Oslo's The O'Neill \u0130 \uff15 \u00b2 \u2013 - . | U.S.
            9/99/2000""".split()  # noqa: SIM905 (words are easier to read so)
        )
    ).map(" ".join),
)


def _values(text: str) -> set[float]:
    return {number.readings[0][0] for number in numbers(text)}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,234.50", {1234.5}),
        ("12,345,678 people", {12345678.0}),
        ("2.5 million", {2.5e6}),
        ("the 21st", {21.0}),
        ("the 1990s", {1990.0}),
        ("45%", {45.0}),
        ("1982-84", {1982.0, 1984.0}),
        ("95-88", {95.0, 88.0}),
        ("twenty-one", {21.0}),
        ("two hundred and five", {205.0}),
        ("three thousand two hundred", {3200.0}),
        ("third", {3.0}),
        ("b52", set()),
        ("", set()),
    ],
)
def test_numbers(text: str, values: set[float]) -> None:
    assert _values(text) == values


@pytest.mark.parametrize(
    ("claim", "source", "supported"),
    [
        ("about 2.5 million", "2,481,120", True),
        ("2.5 million", "2,581,120", False),
        ("33.3", "33.33", True),
        ("33", "33.33", False),
        ("four assists", "4", True),
        ("4 assists", "four", True),
        ("12 March 2004", "2004-03-12", True),
        ("March 2004", "12 March 2004", True),
        ("12 March 2004", "March 2004", False),
        ("12 March 2004", "12 March | 2004", True),
        ("13 March 2004", "12 March 2004", False),
        ("12 March 2005", "12 March 2004", False),
        ("3/4/2001", "4 March 2001", True),
        ("3/4/2001", "3 April 2001", True),
        ("In 2004", "12 March 2004", True),
        ("Andre Agassi won", "Agassi, Andre", True),
        ("Andre Agassi's", "andre agassi", True),
        ("Beyoncé", "Beyonce", True),
        ("University of Oslo", "Oslo", False),
        ("The Hawks", "Atlanta Hawks", True),
    ],
)
def test_support(claim: str, source: str, supported: bool) -> None:
    claims = facts(claim)
    assert claims
    assert all(known(source).supports(fact) for fact in claims) is supported


def test_facts_are_listed_once_with_their_kind() -> None:
    claims = facts("On 12 March 2004 Oslo beat Bergen 4-2; four days later Oslo lost.")
    assert [(fact.kind, fact.text) for fact in claims] == [
        ("date", "12 march 2004"),
        ("number", "4"),
        ("number", "2"),
        ("name", "Oslo"),
        ("name", "Bergen"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "two hundred and " * 200,
        "trillion " * 20_000,
        "1" * 200_000,
        "\u00e9" + " " * 200_000 + "b",
        "1 may " * 30_000,
        " ".join(f"{i % 28 + 1} may {1000 + i % 2000}" for i in range(20_000)),
        " ".join(f"{i}.{i % 7 + 1}" for i in range(20_000)),
    ],
    ids=["hundreds", "trillions", "digits", "blanks", "dates", "other dates", "decimals"],
)
def test_a_loop_of_a_model_is_read_in_time(text: str) -> None:
    """Repetition is how language models fail: no such answer may stop the scoring of all."""
    start = process_time()
    source = known("Oslo won 205 games.\n3.5\n1 May 2001\n" + " ".join(map(str, range(2_000))))
    for fact in facts(text):
        source.supports(fact)
    cell_facts(text)
    values = known(text)
    for fact in facts("Oslo won 205 games, 3.5 a day, on 1 May 2001."):
        values.supports(fact)
    assert process_time() - start < 5


ROWS = [
    [GridCell("Year", is_header=True), GridCell("Winner", is_header=True)],
    [GridCell("2000"), GridCell("Andre Agassi")],
    [GridCell("2001"), GridCell("Thomas Johansson")],
]
REPORT = "The Hawks (46-12) beat the Magic 95-88. Al Horford had four assists."


def _sentences(*texts: str | None) -> JudgedDescriptions:
    cells = evidence(ROWS, [(1, 0), (1, 1)], "Australian Open")
    return JudgedDescriptions(list(texts), [()] * len(texts), [cells] * len(texts))


def _per_query(metrics: list, examples: object) -> list[list[float]]:  # type: ignore[type-arg]
    return [list(m.per_query(m.statistics(examples))) for m in metrics]


def test_sentences_need_no_reference() -> None:
    examples = _sentences(
        "Andre Agassi won the Australian Open in 2000.",
        "Andre Agassi won it in 1999.",
        "A man won.",
        None,
    )
    facts, cells = _per_query(sentence_support_metrics(judged=False), examples)
    assert facts == [1.0, 0.5, pytest.approx(np.nan, nan_ok=True), 0.0]
    assert cells == [1.0, 0.5, 0.0, 0.0]


def _table(answer: str | None, source: str | None = REPORT) -> ComparedTables:
    gold = "| | Points |\n|---|---|\n| Hawks | 95 |"
    return ComparedTables(answer, gold, "text", source=source)


def test_tables_need_no_reference() -> None:
    examples = [
        _table("| | Points | Wins |\n|---|---|---|\n| Hawks | 95 | 46 |\n| Magic | 89 | |"),
        _table("no table"),
        _table(None),
        _table("| | Points |\n|---|---|\n| Hawks | 95 |", None),
    ]
    cells, facts = _per_query(table_support_metrics(), examples)
    assert cells == [0.8, 0.0, 0.0, pytest.approx(np.nan, nan_ok=True)]
    assert facts[0] == pytest.approx(4 / 8)
    assert facts[1:3] == [0.0, 0.0]
    assert np.isnan(facts[3])


@given(st.lists(st.text(max_size=20), max_size=6))
def test_a_text_with_all_cells_supports_them(cells: list[str]) -> None:
    text = "\n".join(f"| {cell} |" for cell in cells)
    claims = cell_claims(cells, known(text))
    assert len(claims) <= len(cells)
    for cell, claim in zip([c for c in cells if cell_claims([c], known(""))], claims, strict=True):
        assert claim.text == cell.strip()
