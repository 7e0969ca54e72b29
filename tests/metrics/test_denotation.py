"""Denotation accuracy: the rules of WikiTableQuestions' evaluator, case by case."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from target_bench.metrics.denotation import (
    DenotationAccuracy,
    JudgedValues,
    normal_form,
    parse_value,
    split_values,
)
from target_bench.metrics.text import MOST_CHARACTERS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  São   Paulo. ", "sao paulo"),
        ("“Fire” – ’n’ Ice", "\"fire\" - 'n' ice"),
        ('"Quoted"', "quoted"),
        ('"A" and "B"', '"a" and "b"'),
        ("Ann Bell[1][note 2]", "ann bell"),
        ("[3]", ""),
        ("[sic] words", "[sic] words"),
        ("12†*", "12"),
        ("*", ""),
        ("Oslo (capital) (Norway)", "oslo"),
        ("(all of it)", "(all of it)"),
        ('"Song" (live)[4]', "song"),
        ("U.S..", "u.s."),
        ("", ""),
    ],
)
def test_normal_form(text: str, expected: str) -> None:
    assert normal_form(text) == expected


OF_THE_EVALUATOR = (
    re.compile(r"((?<!^)\[[^\]]*\]|\[\d+\]|[•♦†‡*#+])*$"),
    re.compile(r"(?<!^)( \([^)]*\))*$"),
    re.compile(r'^"([^"]*)"$'),
)


@given(st.text('[]() *"a1†', max_size=14))
@example("[1[2]")
@example("[a*[2]")
@example("a (b (c) (d)")
def test_what_is_stripped_is_what_the_evaluator_strips(text: str) -> None:
    citations, details, quoted = OF_THE_EVALUATOR
    expected, before = text, None
    while expected != before:
        before = expected
        expected = citations.sub("", expected.strip(), count=1)
        expected = details.sub("", expected.strip(), count=1)
        expected = quoted.sub(r"\1", expected.strip())
    assert normal_form(text) == " ".join(expected.split())


@pytest.mark.parametrize("part", ["*", "[", "[[]", " (", " (a)[1]", '"', " ()", "[1]x"])
def test_long_values_are_read_from_the_right(part: str) -> None:
    """By the evaluator's expressions each of these takes minutes."""
    for end in ("x", ""):
        stripped = normal_form(part * (90_000 // len(part)) + end)
        assert normal_form(stripped) == stripped


def test_an_answer_that_is_too_long_is_wrong() -> None:
    texts = ["Italy" + " " * (MOST_CHARACTERS - 5), "Italy" + " " * MOST_CHARACTERS]
    examples = JudgedValues(texts, [("",)] * 2, [[("Italy", "")]] * 2)
    assert DenotationAccuracy().statistics(examples)[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("7", 7),
        ("7.0", 7),
        ("1e3", 1000),
        ("0.5", 0.5),
        ("7,000", None),
        ("1_000", None),
        ("nan", None),
        ("inf", None),
        ("1990-12-01", (1990, 12, 1)),
        ("XX-12-xx", (-1, 12, -1)),
        ("1990-xx-xx", 1990),
        ("xx-xx-xx", None),
        ("1990-13-01", None),
        ("1-2", None),
    ],
)
def test_what_a_text_means(text: str, meaning: object) -> None:
    assert parse_value(text).meaning == meaning


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        ("Italy", [("Italy", "")], True),
        ("italy (team)", [("Italy", "")], True),
        ("17", [("17 years", "17.0")], True),
        ("17", [("17 years", "")], False),
        ("17.0000001", [("17", "")], True),
        ("2006|2004\n2005", [("2004", ""), ("2005", ""), ("2006", "")], True),
        ("2004|2004.0|2005", [("2004", ""), ("2005", "")], True),
        ("2004", [("2004", ""), ("2005", "")], False),
        ("2004 | 2005 | 2006", [("2004", ""), ("2005", "")], False),
        ("xx-01-12", [("12 January", "1990-01-12")], False),
        ("9" * 400, [("half", "0.5")], False),  # too large for a float
        ("", [("Italy", "")], False),
    ],
)
def test_answers(answer: str, reference: list[tuple[str, str]], right: bool) -> None:
    examples = JudgedValues([answer], [("",)], [reference])
    assert DenotationAccuracy().statistics(examples).tolist() == [[float(right), 1.0]]


@given(st.text(max_size=20))
def test_any_answer_is_read(text: str) -> None:
    for each in split_values(text):
        assert each.matches(each)
