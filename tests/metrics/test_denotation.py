"""Denotation accuracy: the rules of WikiTableQuestions' evaluator, case by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.metrics.denotation import (
    DenotationAccuracy,
    JudgedValues,
    normal_form,
    value,
    values_of,
)


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
    assert value(text).meaning == meaning


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
        ("", [("Italy", "")], False),
    ],
)
def test_answers(answer: str, reference: list[tuple[str, str]], right: bool) -> None:
    examples = JudgedValues([answer], [("",)], [reference])
    assert DenotationAccuracy().statistics(examples).tolist() == [[float(right), 1.0]]


@given(st.text(max_size=20))
def test_any_answer_is_read(text: str) -> None:
    for each in values_of(text):
        assert each.matches(each)
