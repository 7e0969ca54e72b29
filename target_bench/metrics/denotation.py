"""Denotation accuracy of answers that are sets of values, as WikiTableQuestions defines it.

An answer is right if it has as many different values as the reference, and each of the reference's
matches one of its own: by normal form, as a number, or as a date (Pasupat & Liang 2015; the rules
of the release's ``evaluator.py``, version 1.0.2).
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from target_bench.core.metric import Floats, MetricDefinition, MetricSpec, RatioMetric, by_name
from target_bench.metrics.text import TextAnswers

_QUOTES = str.maketrans(
    dict.fromkeys("‘’´`", "'") | dict.fromkeys("“”", '"') | dict.fromkeys("‐‑‒–—−", "-")
)
_FOOTNOTE_MARKS = "•♦†‡*#+"
_SEPARATOR = re.compile(r"[\t\n|]")
_CLOSE = 1e-6


@dataclass(frozen=True)
class JudgedValues(TextAnswers):
    """Answers, and references that may be lists of values; n queries.

    Attributes:
        values: for each query the values of its reference, each as two texts: the value, and the
            number or date that it stands for (empty where that is not known).
    """

    values: Sequence[Sequence[tuple[str, str]]]


Number = int | float
Date = tuple[int, int, int]
"""Year, month and day; -1 for one that is not known."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value: its normal form, and its meaning if it is a number or a date."""

    text: str
    meaning: Number | Date | None = None

    @property
    def key(self) -> tuple[type, object]:
        """What is equal for values that count as one."""
        kind = type(self.meaning) if isinstance(self.meaning, tuple) else float
        return (str, self.text) if self.meaning is None else (kind, self.meaning)

    def matches(self, other: "Value") -> bool:
        """Return whether normal form, number or date is the same."""
        if self.text == other.text:
            return True
        mine, theirs = self.meaning, other.meaning
        if isinstance(mine, int | float) and isinstance(theirs, int | float):
            with suppress(OverflowError):  # a whole number too large for a float is far from any
                return abs(mine - theirs) < _CLOSE
        return mine is not None and mine == theirs


def normal_form(text: str) -> str:
    """Return a text in lower case without accents, citations, details in brackets and quotes."""
    decomposed = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in decomposed if unicodedata.category(c) != "Mn").translate(_QUOTES)
    before = None
    while text != before:
        before = text
        text = _strip_citations(text.strip()).strip()
        text = _strip_details(text).strip()
        if text[:1] == text[-1:] == '"' and text.count('"') == 2:
            text = text[1:-1]
    return re.sub(r"\s+", " ", text.removesuffix(".")).lower().strip()


def _strip_citations(text: str) -> str:
    """Remove ``[1]``, ``[note]`` and marks at the end; a text that is all in brackets stays."""
    # from the right: the evaluator's expressions from the left take the square of the length
    end = len(text)
    while end:
        if text[end - 1] in _FOOTNOTE_MARKS:
            end -= 1
            continue
        if text[end - 1] != "]":
            break
        start = text.find("[", text.rfind("]", 0, end - 1) + 1, end - 1)
        if start == 0 and not text[1 : end - 1].isdecimal():
            start = text.find("[", 1, end - 1)
        if start < 0:
            break
        end = start
    return text[:end]


def _strip_details(text: str) -> str:
    """Remove `` (in brackets)`` at the end."""
    end = len(text)
    while text[end - 1 : end] == ")":
        start = text.find(" (", text.rfind(")", 0, end - 1) + 1, end - 1)
        if start < 0:
            break
        end = start
    return text[:end]


def parse_value(text: str, canonical: str = "") -> Value:
    """Read a value; ``canonical`` is the number or date that it stands for, if that is known."""
    meaning: Number | Date | None = _read_number(canonical or text)
    if meaning is None:
        meaning = _read_date(canonical or text)
        if meaning is not None and meaning[1:] == (-1, -1):  # only a year: a number
            meaning = meaning[0]
    is_number = isinstance(meaning, int | float)
    return Value(str(meaning) if is_number and not text else normal_form(text), meaning)


def _read_number(text: str) -> Number | None:
    if "_" in text:  # Python's own notation, which the evaluator's Python 2 did not have
        return None
    try:
        return int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return None
    if not isfinite(number):
        return None
    return int(number) if abs(number - round(number)) < _CLOSE else number


def _read_date(text: str) -> Date | None:
    """Return the date that ``1990-12-01`` or ``xx-12-xx`` is."""
    fields = text.lower().split("-")
    if len(fields) != 3 or "_" in text:
        return None
    unknown = (("xx", "xxxx"), ("xx",), ("xx",))
    try:
        year, month, day = (
            -1 if field in names else int(field)
            for field, names in zip(fields, unknown, strict=True)
        )
    except ValueError:
        return None
    is_date = (month == -1 or 1 <= month <= 12) and (day == -1 or 1 <= day <= 31)
    return (year, month, day) if is_date and (year, month, day) != (-1, -1, -1) else None


def is_right(answer: Iterable[Value], reference: Iterable[Value]) -> bool:
    """Return whether both have as many values, and each of the reference has a match."""
    predicted, expected = _drop_repeated(answer), _drop_repeated(reference)
    return len(predicted) == len(expected) and all(
        any(value.matches(other) for other in predicted) for value in expected
    )


def _drop_repeated(values: Iterable[Value]) -> list[Value]:
    first: dict[tuple[type, object], Value] = {}
    for value in values:
        first.setdefault(value.key, value)
    return list(first.values())


def split_values(answer: str) -> list[Value]:
    """Read the values of an answer, which lines, tabs or ``|`` separate."""
    return [parse_value(part.strip()) for part in _SEPARATOR.split(answer) if part.strip()]


class DenotationAccuracy(RatioMetric[JudgedValues]):
    """The share of answers with the values of the reference.

    ``tagged`` says for how many queries the numbers and dates behind values are known.
    """

    spec = MetricSpec(
        "denotation",
        "Denotation",
        "share of answers with the values of the reference, as numbers, dates or texts",
        "Pasupat & Liang 2015; WikiTableQuestions' evaluator.py",
        scores="texts",
        needs=("references that are lists of values",),
        rank=3,
        references="short",
        decides=True,
    )

    def __init__(self, tagged: Literal["yes", "some", "no"] = "no") -> None:
        self.tagged = tagged

    @property
    def signature(self) -> str:
        """The rules, for how many queries values are tagged, and what separates values."""
        rules = f"WikiTableQuestions 1.0.2|tagged:{self.tagged}"
        return f"denotation|{rules}|between values:tab, newline, |"

    def statistics(self, examples: JudgedValues) -> Floats:
        """Return (n, 2): whether each answer is right, and 1."""
        right = []
        for text, reference in zip(examples.readable, examples.values, strict=True):
            expected = [parse_value(name, canonical) for name, canonical in reference]
            right.append(text is not None and is_right(split_values(text), expected))
        return np.column_stack([np.array(right, dtype=np.float64), np.ones(len(right))])


DEFINITIONS = by_name(MetricDefinition(DenotationAccuracy.spec, DenotationAccuracy))
