"""The difference of two cells that belong together: its kind, its size, and what is equal."""

import re
from collections import Counter
from collections.abc import Container, Sequence
from contextlib import suppress
from datetime import date
from itertools import pairwise
from math import isclose
from typing import NamedTuple

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import token_sort_ratio

from target_bench.tables.comparison.values import (
    PERCENT,
    CellValue,
    Day,
    Unit,
    converted,
    days_of,
    signs,
    text_key,
    unit_label,
    with_header,
    words,
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
    "list": "list",
    "abbreviation": "abbreviation",
    "typo": "typo",
    "semantic": "reworded",
    "different": "other text",
    "type": "other type",
}
"""Kind of difference -> how it is called where people read it."""

PartialKind = str
"""How two cells differ: one of ``KINDS``.

``format``: the same value written otherwise. ``unit``: a number whose unit is missing, added or of
another kind. ``identifier``: an identifier that lost or won leading zeros, or is another one.
``relation``: the same number, but as an estimate (``~5``, ``±5``).
``numeric``, ``date``, ``time``, ``boolean``, ``list``: another value of that type.
``abbreviation``, ``typo``, ``semantic``: text that is shortened, has a few other letters, or shares
words. ``different``: other text. ``type``: a value of another type.
"""

_ROUNDING = 0.0025  # relative difference of a converted value that rounding explains

_POINT = re.compile(r"(?<=\d)\.(?=\d)")

_NOISE = 5e-16
"""Relative difference of equal numbers that programs have calculated: ``0.30000000000000004``."""

_TYPO = 0.25  # edits a character up to which other text is a slip
_SHARED = 0.5  # similarity of sorted words from which texts have to do with each other
_DAY = 86_400  # seconds of a day
_RELATED = 0.25  # share of a number that is wrong where one side has it as an estimate

_ZEROS_LOST = 0.5
"""Share of an identifier that is wrong without its leading zeros: no other table has it so."""

_REWORDED = 0.1  # share of a text that is wrong at least where its words stand in another order


class CellDifference(NamedTuple):
    """A difference between two cells.

    Attributes:
        kind: what it is.
        share: how much of the cell is wrong, from 0 (nothing) to 1.
        magnitude: the difference in the unit below; None where it has no size.
        unit: the reference's unit, ``days``, ``seconds``, ``edits`` or ``items``; empty for none.
    """

    kind: PartialKind
    share: float
    magnitude: float | None = None
    unit: str = ""


_FORMAT = CellDifference("format", 0.0)


def difference(
    reference: CellValue,
    prediction: CellValue,
    reference_unit: Unit | None = None,
    prediction_unit: Unit | None = None,
    scale: float = 0.0,
    identifies: bool = False,
    known: Container[str] = (),
) -> CellDifference | None:
    """Compare two cells of which neither is empty; None where they are the same text.

    Args:
        reference: the cell as it should be.
        prediction: the cell as it is.
        reference_unit: the unit in the header of the reference's column.
        prediction_unit: that of the prediction's column.
        scale: the mean size of the column's numbers in the unit of the reference's cell, which a
            numeric difference is divided by, as in the paper; 0 for the reference's own number.
        identifies: whether numbers of these columns are identifiers.
        known: words that are no slips, because the reference has them.
    """
    if (
        reference_unit == prediction_unit
        and reference.text.casefold() == prediction.text.casefold()
    ):
        return None if reference.text == prediction.text else _FORMAT
    types = {reference.type, prediction.type}
    units = (
        with_header(reference.unit, reference_unit),
        with_header(prediction.unit, prediction_unit),
    )
    if types == {"number"}:
        if identifies:
            return _identifiers(reference, prediction)
        return _numbers(reference, prediction, units, scale)
    if reference.text == prediction.text:
        return None
    if reference.key == prediction.key:
        return _FORMAT
    if len(types) > 1:
        return _types(reference, prediction, known)
    if reference.type == "date":
        return _dates(reference, prediction)
    if reference.type == "time":
        return _times(reference, prediction)
    if reference.type == "bool":
        return CellDifference("boolean", 1.0)
    if reference.type == "list":
        items = len(reference.items ^ prediction.items)
        share = items / len(reference.items | prediction.items)
        return CellDifference("list", share, float(items), "items")
    return _texts(reference.text, prediction.text, known)


def _identifiers(reference: CellValue, prediction: CellValue) -> CellDifference:
    if not _same(reference.number, prediction.number):
        return CellDifference("identifier", 1.0)
    zeros = [len(cell.text) - len(cell.text.lstrip("0")) for cell in (reference, prediction)]
    if zeros[0] == zeros[1]:
        return _FORMAT
    return CellDifference("identifier", _ZEROS_LOST, float(zeros[1] - zeros[0]), "leading zeros")


_Units = tuple[Unit | None, Unit | None]


def _numbers(
    reference: CellValue, prediction: CellValue, units: _Units, scale: float
) -> CellDifference | None:
    """Compare two numbers; to be an estimate on one side alone is a difference, too."""
    apart = _amounts(reference, prediction, units, scale)
    if reference.relation == prediction.relation:
        return apart
    if apart is None or not apart.share:
        return CellDifference("relation", _RELATED)
    return apart._replace(share=min(1.0, apart.share + _RELATED))


def _amounts(
    reference: CellValue, prediction: CellValue, units: _Units, scale: float
) -> CellDifference | None:
    """Compare two amounts: a unit of one side alone may be left out, its scale may not."""
    name = unit_label(units[0])
    is_same = _same(reference.number, prediction.number)
    in_names = reference.unit is None and prediction.unit is None
    known = units[0] or units[1] or Unit("")
    one_unit = None in units and units[0] != units[1]
    if one_unit and known.scale == 1 and not in_names:
        if reference.key == prediction.key and known.name != PERCENT:
            return _FORMAT
        if is_same or _is_percentage(reference, prediction, units):
            return CellDifference("unit", 0.0, 0.0, name)
        return _apart(reference.number, prediction.number, name, scale)._replace(kind="unit")
    if units[0] == units[1] or (one_unit and known.scale == 1):
        if not is_same:
            return _apart(reference.number, prediction.number, name, scale)
        return None if reference.text == prediction.text else _FORMAT
    value = converted(prediction.number, units[1], units[0])
    if value is None:
        return CellDifference("unit", 1.0, None, name)
    if _near(reference.number, value):
        return _FORMAT
    apart = _apart(reference.number, value, name, scale)
    is_left_out = one_unit and (is_same or (known.name and not in_names))
    return apart._replace(kind="unit") if is_left_out else apart


def _is_percentage(reference: CellValue, prediction: CellValue, units: _Units) -> bool:
    """Return whether one number is a share and the other the same share in percent."""
    percent = [unit is not None and unit.name == PERCENT for unit in units]
    first, second = (
        cell.number * (0.01 if is_percent else 1)
        for cell, is_percent in zip((reference, prediction), percent, strict=True)
    )
    return any(percent) and _near(first, second, 1e-9)


def _apart(reference: float, prediction: float, name: str, scale: float) -> CellDifference:
    gap = float(prediction - reference)
    size = scale or abs(reference)
    return CellDifference("numeric", min(1.0, abs(gap) / size) if size else 1.0, gap, name)


def _same(first: float, second: float) -> bool:
    """Return whether two numbers are equal but for noise; integers have none."""
    is_noise = isclose(first, second, rel_tol=_NOISE, abs_tol=0.0)
    return first == second or (is_noise and not first % 1 == second % 1 == 0)


def _near(first: float, second: float, share: float = _ROUNDING) -> bool:
    """Return whether a number is equal to a converted one, up to a relative difference."""
    return isclose(first, second, rel_tol=share, abs_tol=1e-12)


def _types(reference: CellValue, prediction: CellValue, known: Container[str]) -> CellDifference:
    by_type = {cell.type: cell for cell in (reference, prediction)}
    if by_type.keys() == {"bool", "number"} and by_type["number"].number == by_type["bool"].key:
        return _FORMAT
    if "string" in by_type or "list" in by_type:
        as_texts = _texts(reference.text, prediction.text, known)
        points = {len(_POINT.findall(cell.text)) for cell in (reference, prediction)}
        is_decimal = "number" in by_type and len(points) > 1  # 5-6 is not 5.6
        if as_texts.kind != "different" and not (as_texts.kind == "format" and is_decimal):
            return as_texts
    return CellDifference("type", 1.0)


def _dates(reference: CellValue, prediction: CellValue) -> CellDifference:
    if reference.readings & prediction.readings:
        gap = prediction.clock - reference.clock
        share = min(1.0, 0.25 + abs(gap) / _DAY)
        return CellDifference("time", share, gap, "seconds") if gap else _FORMAT
    gaps = [_days_apart(a, b) for a in reference.readings for b in prediction.readings]
    gap = min(gaps, key=abs)
    return CellDifference("date", min(1.0, 0.25 + abs(gap) / 365.25), gap or None, "days")


def _days_apart(day: Day, later: Day) -> float:
    """Return the days between two dates; about how many, where one says no year, month or day."""
    if None not in (*day, *later):
        with suppress(ValueError):
            return float((date(*later) - date(*day)).days)  # type: ignore[arg-type]  # no None
    both = [(a, b) if None not in (a, b) else (0, 0) for a, b in zip(day, later, strict=True)]
    first, second = zip(*both, strict=True)
    return round(days_of(second) - days_of(first), 1)


_FRACTION = re.compile(r"\.\d")


def _times(reference: CellValue, prediction: CellValue) -> CellDifference:
    first, second = _seconds(reference, prediction), _seconds(prediction, reference)
    gap = second - first
    if isclose(gap, 0.0, abs_tol=1e-9 * max(first, second, 1.0)):
        return _FORMAT
    return CellDifference("time", min(1.0, abs(gap) / max(first, 1.0)), gap, "seconds")


def _seconds(cell: CellValue, other: CellValue) -> float:
    """Return the seconds of a time; ``3:45`` is minutes and seconds beside ``3:45.00``."""
    is_plain = cell.text.replace(":", "", 1).isdigit()
    beside_fraction = other.text.count(":") == 1 and _FRACTION.search(other.text)
    return cell.number / 60 if is_plain and beside_fraction else cell.number


def _texts(reference: str, prediction: str, known: Container[str]) -> CellDifference:
    first, second = words(reference), words(prediction)
    if text_key(reference) == text_key(prediction):
        return _FORMAT
    edits = OSA.distance(first, second)
    other = CellDifference("different", 1.0, float(edits), "edits")
    if _are_opposite_texts(first, second):
        return other
    # a slip in a digit is another number
    keeps_digits = [c for c in first if c.isdigit()] == [c for c in second if c.isdigit()]
    if keeps_digits and (is_abbreviation(first, second) or is_abbreviation(second, first)):
        return CellDifference("abbreviation", 0.25)
    share = edits / max(len(first), len(second))
    is_slip = not any(word in known for word in {*second.split()} - {*first.split()})
    if is_slip and share <= _TYPO and keeps_digits and signs(reference) == signs(prediction):
        return CellDifference("typo", share, float(edits), "edits")
    # Alike letters, as of male and female, say nothing of the meaning: a word is shared, or the
    # same letters are divided otherwise. Texts without letters, such as results, say another thing
    # in another order.
    shares_words = not set(first.split()).isdisjoint(second.split())
    shares_words |= first.replace(" ", "") == second.replace(" ", "")
    has_letters = any(map(str.isalpha, reference + prediction))
    similarity = token_sort_ratio(first, second) / 100
    if shares_words and has_letters and similarity >= _SHARED:
        return CellDifference("semantic", max(_REWORDED, 1 - similarity), float(edits), "edits")
    return other


def is_abbreviation(short: str, long: str) -> bool:
    """Return whether one text, in normal form, is the initials or shortened words of another."""
    parts, whole = short.split(), long.split()
    if not parts or not whole or len(short) > len(long) - 2:
        return False
    initials = {"".join(w[0] for w in whole), "".join(w[0] for w in whole if w not in _SMALL)}
    if len(whole) > 1 and short.replace(" ", "") in initials:
        return True
    least = 1 if len(whole) > 1 else 2
    return len(parts) == len(whole) and all(
        len(a) >= min(least, len(b)) and _shortens(a, b) for a, b in zip(parts, whole, strict=True)
    )


_SMALL = frozenset({"of", "the", "and", "for", "in", "de", "la"})
"""Words that initials may leave out: ``USA`` is ``United States of America``."""


def _shortens(short: str, long: str) -> bool:
    """Return whether a word is another one with letters left out, the first one kept."""
    if short == long or long.startswith(short):
        return True
    rest = iter(long)
    shorter = len(short) <= len(long) / 2 and short[0] == long[0]
    return shorter and all(letter in rest for letter in short)


# Texts that differ in a negation say the opposite: guilty, not guilty; legal, illegal.

_NEGATIONS = {
    *("not", "no", "non", "never", "without", "neither", "nor", "none", "nothing", "nobody"),
    *("cannot", "except", "excluding", "lacking"),
}
_NEGATING_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "anti", "de", "mis", "counter")
_STEM = 4  # letters of a word at least without the prefix that turns its meaning round


def _are_opposite_texts(text: str, other: str) -> bool:
    """Return whether two texts, in normal form, differ in what turns the meaning round."""
    if text.replace(" ", "") == other.replace(" ", ""):
        return False
    first, second = _joined_words(text), _joined_words(other)
    if _negations(first) != _negations(second):
        return True
    gone, new = Counter(first) - Counter(second), Counter(second) - Counter(first)
    return any(
        f"{prefix}{word}" in ours
        for ours, theirs in ((gone, new), (new, gone))
        for word in theirs
        if len(word) >= _STEM
        for prefix in _NEGATING_PREFIXES
    )


def _joined_words(text: str) -> list[str]:
    """Return the words of a text; ``non profit`` is one word, as ``nonprofit``."""
    words: list[str] = []
    for word in text.split():
        if words and words[-1] == "non" and len(word) >= _STEM:
            words[-1] += word
        else:
            words.append(word)
    return words


def _negations(words: Sequence[str]) -> int:
    """Count the words that negate; ``no`` at the end, before a number or ``of`` means number."""
    count = 0
    for word, following in pairwise([*words, ""]):
        is_number = word == "no" and (following in ("", "of") or following.isdigit())
        is_contracted = word.endswith("n") and following == "t"  # isn't
        count += is_contracted or (word in _NEGATIONS and not is_number)
    return count
