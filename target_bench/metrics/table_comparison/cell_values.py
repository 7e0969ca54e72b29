"""Cells read as values: numbers, dates, times, lists, booleans, or text."""

import re
import unicodedata
from datetime import datetime
from functools import lru_cache
from math import isfinite
from typing import Literal, NamedTuple

from target_bench.metrics.table_comparison.units import Unit, unit

DataType = Literal["number", "string", "bool", "date", "list", "time", "other", "empty"]
"""The type of a cell or a column; ``other`` is a column of several types."""

_EMPTY = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "none", "null", "nil", "?"})
_BOOLS = {
    **dict.fromkeys(("yes", "true", "y", "✓", "✔", "☑"), True),
    **dict.fromkeys(("no", "false", "n", "✗", "✘", "☐"), False),
}
_DIGITS = r"\d{1,3}(?:[,  '’]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−–±]?)\s*(?P<before>us\$|[$€£¥₹]|[a-z]{{3}}(?=\s))?\s*"
    rf"(?P<sign2>[-+−–]?)\s*(?P<digits>{_DIGITS})(?P<exponent>e[-+]?\d{{1,3}})?"
    rf"(?:(?:st|nd|rd|th)\b)?\s*(?P<after>[^\d()]{{0,24}}?[\d²³]?)\s*(?(open)\))",
    re.IGNORECASE,
)
_EUROPEAN = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+")
_TIME = re.compile(
    r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?:\.(\d{1,6}))?\s*([ap])?\.?(?:m\.?)?", re.I
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}|(?=.*\d)(?:[a-z]{3,9},? )?"
    rf"(?:\d{{1,4}}(?:st|nd|rd|th)?[-/. ,]*(?:of )?)?{_MONTH}[-/. ,]*"
    r"(?:\d{1,4}(?:st|nd|rd|th)?(?:[-/. ,]+\d{4})?)?",
    re.IGNORECASE,
)
_SEPARATORS = (re.compile(r"\s*;\s*"), re.compile(r"\s*\|\s*"), re.compile(r",\s+"))
_LIST_WORDS = 5
"""Words of an item, above which commas divide clauses, not items."""

_MINUS = re.compile(r"(?<![\w)])[-−–](?=\d)")
_NOT_WORD = re.compile(r"[\W_]+")
LONGEST_VALUE = 80
"""Characters above which a cell is text."""

Day = tuple[int | None, int | None, int | None]
"""Year, month and day; None where it is not said."""


class CellValue(NamedTuple):
    """A cell as a value.

    Attributes:
        type: its type.
        text: what it says, without spaces around it.
        key: equal for cells that say the same in any format.
        number: without unit and scale; seconds of a time, days of a date; 0 for other types.
        unit: the unit of a number, where the cell has one.
        readings: of a date; two where day and month may be exchanged.
        items: of a list, as their keys.
    """

    type: DataType
    text: str
    key: object
    number: float = 0.0
    unit: Unit | None = None
    readings: frozenset[Day] = frozenset()
    items: frozenset[object] = frozenset()

    @property
    def scaled(self) -> float:
        """The number times the scale of its unit."""
        return self.number * self.unit.scale if self.unit else self.number


@lru_cache(maxsize=2**17)
def cell_value(text: str) -> CellValue:
    """Read a cell."""
    text = " ".join(text.split())
    plain = text.casefold()
    if plain in _EMPTY:
        return CellValue("empty", text, "")
    if len(text) <= LONGEST_VALUE:
        for read in (_bool, _time, _date, _number, _list):
            found = read(text, plain)
            if found is not None:
                return found
    return CellValue("string", text, words(text))


@lru_cache(maxsize=2**16)
def words(text: str) -> str:
    """Return the words of a text without case and punctuation, but with minus signs."""
    plain = _MINUS.sub("minus ", unicodedata.normalize("NFKC", text).casefold())
    return _NOT_WORD.sub(" ", plain).strip() or plain.strip()


def _bool(text: str, plain: str) -> CellValue | None:
    return CellValue("bool", text, _BOOLS[plain]) if plain in _BOOLS else None


def _number(text: str, plain: str) -> CellValue | None:
    match = _NUMBER.fullmatch(plain) if any(map(str.isdigit, plain)) else None
    if match is None:
        return None
    written = f"{match['before'] or ''} {match['after'] or ''}".strip()
    of = unit(written) if written else None
    if written and of is None:
        return None
    digits = match["digits"]
    if _EUROPEAN.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    number = float(re.sub(r"[^\d.]", "", digits) + (match["exponent"] or ""))
    signs = match["sign"] + match["sign2"]
    value = -number if match["open"] or signs.strip("+±") else number
    scaled = value * of.scale if of else value
    if not isfinite(scaled):
        return None
    return CellValue("number", text, float(f"{scaled:.12g}"), value, of)


def _time(text: str, plain: str) -> CellValue | None:
    match = _TIME.fullmatch(plain)
    if match is None:
        return None
    first, second, third, fraction, half = match.groups()
    hours = int(first)
    if half:
        hours = hours % 12 + (12 if half == "p" else 0)
    if third is None and fraction is not None:
        seconds = hours * 60.0 + int(second)
    else:
        seconds = hours * 3600.0 + int(second) * 60 + int(third or 0)
    seconds += float(f"0.{fraction}") if fraction else 0.0
    return CellValue("time", text, ("time", seconds), seconds)


def _date(text: str, plain: str) -> CellValue | None:
    if _DATE.fullmatch(plain) is None:
        return None
    in_digits = not any(map(str.isalpha, plain))
    found = {_parsed(plain, first) for first in ((False, True) if in_digits else (True,))}
    readings = frozenset(day for day in found if day is not None)
    if not readings:
        return None
    key = min(readings, key=lambda day: tuple(part or 0 for part in day))
    return CellValue("date", text, ("date", key), days(key), readings=readings)


def days(day: Day) -> float:
    """Return about how many days a date is after the year 0; a part that is not said adds none."""
    return sum((part or 0) * length for part, length in zip(day, (365.25, 30.44, 1), strict=True))


_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 2))


def _parsed(text: str, day_first: bool) -> Day | None:
    from dateutil.parser import parse

    year_first = text[:4].isdigit()
    try:
        one, two = (
            parse(text, dayfirst=day_first and not year_first, yearfirst=year_first, default=d)
            for d in _DEFAULTS
        )
    except (ValueError, OverflowError):
        return None
    return (
        one.year if one.year == two.year else None,
        one.month if one.month == two.month else None,
        one.day if one.day == two.day else None,
    )


def _list(text: str, _plain: str) -> CellValue | None:
    inside = text[1:-1] if text[:1] + text[-1:] in ("[]", "{}") else text
    for separator in _SEPARATORS:
        items = [item.strip(" '\"") for item in separator.split(inside)]
        if len(items) > 1 and all(items) and max(len(i.split()) for i in items) <= _LIST_WORDS:
            keys = frozenset(words(item) for item in items)
            return CellValue("list", text, ("list", keys), items=keys)
    return None
