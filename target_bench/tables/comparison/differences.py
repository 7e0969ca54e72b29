"""The difference of two cells that belong together: its kind, its size, and what is equal."""

import re
from collections import Counter
from contextlib import suppress
from datetime import date
from math import isclose
from typing import NamedTuple

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import token_sort_ratio

from target_bench.tables.comparison.values import (
    NO_UNIT,
    PERCENT,
    Day,
    Value,
    count_days,
    make_text_key,
    normalize_text,
    share_reading,
)

KINDS = {
    "format": "written otherwise",
    "unit": "unit",
    "identifier": "identifier",
    "numeric": "number",
    "relation": "estimate",
    "date": "date",
    "time": "time",
    "boolean": "yes or no",
    "abbreviation": "abbreviation",
    "typo": "typo",
    "semantic": "reworded",
    "different": "other text",
    "type": "other type",
}
"""Kind of difference -> how it is called where people read it; docs/table_comparison.md has all."""

_ROUNDING = 0.0025  # relative difference of a converted value that rounding explains
_TYPO = 0.25  # edits a character up to which other text is a slip
_SHARED = 0.5  # similarity of sorted words from which texts have to do with each other
_ESTIMATED = 0.25  # share of a number that is wrong where one side has it as an estimate
_ZEROS_LOST = 0.5  # share of an identifier that is wrong without its leading zeros
_STEM = 4  # letters of a word at least without the prefix that turns its meaning round
_REWORDED = 0.1  # share of a text that is wrong at least where its words stand in another order


class CellDifference(NamedTuple):
    """A difference between two cells."""

    kind: str  # one of ``KINDS``
    share: float  # how much of the cell is wrong, from 0 (nothing) to 1
    magnitude: float | None = None  # in the unit below; None where it has no size
    unit: str = ""  # the reference's unit, ``days``, ``seconds`` or ``edits``; empty for none


_FORMAT = CellDifference("format", 0.0)


def compare_cells(
    reference: Value,
    prediction: Value,
    mean: float = 0.0,
    are_identifiers: bool = False,
) -> CellDifference | None:
    """Compare two cells of which neither is empty; None where they are the same text.

    Args:
        reference: the cell as it should be.
        prediction: the cell as it is.
        mean: the mean size of the column's numbers in the unit of the reference's cell, by which a
            difference of numbers is divided, as in the paper; 0 for the reference's own number.
        are_identifiers: whether numbers of these columns are identifiers.
    """
    is_same_text = reference.text == prediction.text
    if reference.type == prediction.type == "number":
        if are_identifiers:
            apart = _compare_identifiers(reference, prediction)
        else:
            apart = _compare_numbers(reference, prediction, mean)
        return None if is_same_text and apart == _FORMAT else apart
    if is_same_text:
        return None
    if reference.key == prediction.key:
        return _FORMAT
    if reference.type != prediction.type:
        return _compare_types(reference, prediction)
    if reference.type == "date":
        if share_reading(reference, prediction):
            return _FORMAT
        gaps = [_count_days(a, b) for a in reference.readings for b in prediction.readings]
        gap = min(gaps, key=abs)
        return CellDifference("date", min(1.0, 0.25 + abs(gap) / 365.25), gap or None, "days")
    if reference.type == "time":
        gap = prediction.number - reference.number
        return CellDifference(
            "time", min(1.0, abs(gap) / max(reference.number, 1.0)), gap, "seconds"
        )
    if reference.type == "bool":
        return CellDifference("boolean", 1.0)
    return compare_texts(reference.text, prediction.text)


def _compare_identifiers(reference: Value, prediction: Value) -> CellDifference:
    if reference.number != prediction.number:
        return CellDifference("identifier", 1.0)
    zeros = [len(cell.text) - len(cell.text.lstrip("0")) for cell in (reference, prediction)]
    if zeros[0] == zeros[1]:
        return _FORMAT
    return CellDifference("identifier", _ZEROS_LOST, float(zeros[1] - zeros[0]), "leading zeros")


def _compare_numbers(reference: Value, prediction: Value, mean: float) -> CellDifference:
    """Compare two numbers; a unit of one side alone may be left out, its scale may not."""
    unit, other = reference.unit, prediction.unit
    has_both = bool(unit.kind and other.kind)
    if has_both and unit.kind != other.kind:
        return CellDifference("unit", 1.0, None, str(unit))
    if unit == other or (not has_both and unit.scale == other.scale):
        number, is_equal = prediction.number, reference.number == prediction.number
    else:
        number = prediction.amount
        if has_both:
            number = (prediction.in_base_unit - unit.offset) / unit.factor
        number /= unit.scale
        is_equal = isclose(reference.number, number, rel_tol=_ROUNDING, abs_tol=1e-12)
    apart, is_left_out = _FORMAT, (unit == NO_UNIT) != (other == NO_UNIT)
    if is_left_out and PERCENT in (unit.kind, other.kind):
        shares = (c.number * (0.01 if c.unit.kind else 1) for c in (reference, prediction))
        if is_equal or isclose(*shares, rel_tol=1e-9):
            is_equal, apart = True, CellDifference("unit", 0.0, 0.0, str(unit))
    if not is_equal:
        gap = float(number - reference.number)
        size = mean or abs(reference.number)
        is_unit = is_left_out and reference.number == prediction.number
        share = min(1.0, abs(gap) / size) if size else 1.0
        apart = CellDifference("unit" if is_unit else "numeric", share, gap, str(unit))
    if reference.estimate == prediction.estimate:
        return apart
    if is_equal:
        return CellDifference("relation", _ESTIMATED)
    return apart._replace(share=min(1.0, apart.share + _ESTIMATED))


def _compare_types(reference: Value, prediction: Value) -> CellDifference:
    by_type = {cell.type: cell for cell in (reference, prediction)}
    if by_type.keys() == {"bool", "number"} and by_type["number"].number == by_type["bool"].key:
        return _FORMAT
    if "string" in by_type:
        as_texts = compare_texts(reference.text, prediction.text)
        points = {cell.text.count(".") for cell in (reference, prediction)}
        is_decimal = "number" in by_type and len(points) > 1  # 5-6 is not 5.6
        if as_texts.kind != "different" and not (as_texts.kind == "format" and is_decimal):
            return as_texts
    return CellDifference("type", 1.0)


def _count_days(day: Day, later: Day) -> float:
    """Return the days between two dates; about how many, where one says no year, month or day."""
    if None not in (*day, *later):
        with suppress(ValueError):
            return float((date(*later) - date(*day)).days)  # type: ignore[arg-type]  # no None
    both = [(a, b) if None not in (a, b) else (0, 0) for a, b in zip(day, later, strict=True)]
    first, second = zip(*both, strict=True)
    return round(count_days(second) - count_days(first), 1)


def compare_texts(reference: str, prediction: str) -> CellDifference:
    """Compare two texts."""
    first, second = normalize_text(reference), normalize_text(prediction)
    if make_text_key(reference) == make_text_key(prediction):
        return _FORMAT
    edits = OSA.distance(first, second)
    other = CellDifference("different", 1.0, float(edits), "edits")
    if _are_opposites(first, second):
        return other
    # a slip in a digit is another number, one in a sign another value
    keeps = [_find_digits_and_signs(text) for text in (first, second)]
    keeps_digits = keeps[0][0] == keeps[1][0]
    if keeps_digits and (is_abbreviation(first, second) or is_abbreviation(second, first)):
        return CellDifference("abbreviation", 0.25)
    share = edits / max(len(first), len(second))
    if share <= _TYPO and keeps[0] == keeps[1]:
        return CellDifference("typo", share, float(edits), "edits")
    # Alike letters, as of male and female, say nothing of the meaning: a word is shared, or the
    # same letters are divided otherwise. Texts without letters, such as results, say another thing
    # in another order.
    shares_words = not set(first.split()).isdisjoint(second.split())
    shares_words |= first.replace(" ", "") == second.replace(" ", "")
    similarity = token_sort_ratio(first, second) / 100
    if shares_words and any(map(str.isalpha, first + second)) and similarity >= _SHARED:
        return CellDifference("semantic", max(_REWORDED, 1 - similarity), float(edits), "edits")
    return other


def _find_digits_and_signs(text: str) -> tuple[str, list[str]]:
    """Return the digits of a text in normal form, and its signs."""
    signs = [word for word in text.split() if not word[0].isalnum()]
    return "".join(filter(str.isdigit, text)), signs


def is_abbreviation(short: str, long: str) -> bool:
    """Return whether one text, in normal form, is the initials or shortened words of another."""
    shorter, longer = short.split(), long.split()
    if not shorter or not longer or len(short) > len(long) - 2:
        return False
    if len(longer) > 1 and short.replace(" ", "") == "".join(word[0] for word in longer):
        return True
    least = 1 if len(longer) > 1 else 2
    return len(shorter) == len(longer) and all(
        len(a) >= min(least, len(b)) and _is_shortened(a, b)
        for a, b in zip(shorter, longer, strict=True)
    )


def _is_shortened(short: str, long: str) -> bool:
    """Return whether a word is another with letters left out, the first letter kept."""
    if long.startswith(short):
        return True
    rest = iter(long)
    is_shorter = len(short) <= len(long) / 2 and short[0] == long[0]
    return is_shorter and all(letter in rest for letter in short)


# Texts that differ in a negation say the opposite: guilty, not guilty; legal, illegal.

_NEGATIONS = (
    *("not", "no", "non", "never", "without", "neither", "nor", "none", "nothing", "nobody"),
    *("cannot", "except", "excluding", "lacking"),
)
_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "anti", "de", "mis", "counter")
_NOT = re.compile(r"(?<=n) t\b")  # isn't
_NUMBER_SIGN = re.compile(r"\bno(?= \d| of\b|$)")  # no. 5, no. of rooms
_NON = re.compile(r"\bnon (?=\w{4})")  # non profit is nonprofit


def _are_opposites(text: str, other: str) -> bool:
    """Return whether two texts, in normal form, differ in what turns the meaning round."""
    if text.replace(" ", "") == other.replace(" ", ""):
        return False
    first, second = (
        Counter(_NON.sub("non", _NUMBER_SIGN.sub("", _NOT.sub(" not", side))).split())
        for side in (text, other)
    )
    gone, new = first - second, second - first
    negations = [sum(side[word] for word in _NEGATIONS) for side in (gone, new)]
    return negations[0] != negations[1] or any(
        f"{prefix}{word}" in ours
        for ours, theirs in ((gone, new), (new, gone))
        for word in theirs
        if len(word) >= _STEM
        for prefix in _PREFIXES
    )
