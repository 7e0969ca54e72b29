"""Cells read as values: numbers, dates, times, lists, booleans, or text."""

import re
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from target_bench.tables.comparison.plain_text import text_key
from target_bench.tables.comparison.relations import Relation, relation_of
from target_bench.tables.comparison.units import CELL_SCALES, Unit, unit

DataType = Literal["number", "string", "bool", "date", "list", "time", "other", "empty"]
"""The type of a cell or a column; ``other`` is a column of several types."""

_EMPTY = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "none", "null", "nil", "?"})
_NAMES = frozenset({"Na", "Nan"})
"""What is written like ``NA`` and ``NaN``, but is a name: sodium."""

_BOOLS = {
    **dict.fromkeys(("yes", "true", "y", "✓", "✔", "☑"), True),
    **dict.fromkeys(("no", "false", "n", "✗", "✘", "☐"), False),
}
_DIGITS = r"\d{1,3}(?:[,  '’]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−–]?)\s*(?P<before>us\$|[$€£¥₹]|[a-z]{{3}}(?=\s))?\s*"
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
    r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4}|\d\d([-/.])\d\d\3\d\d"
    r"|(?=.*\d)(?:[a-z]{3,9},? )?"
    rf"(?:\d{{1,4}}(?:st|nd|rd|th)?[-/. ,]*(?:of )?)?{_MONTH}[-/. ,]*"
    r"(?:\d{1,4}(?:st|nd|rd|th)?(?:[-/. ,]+\d{4})?)?",
    re.IGNORECASE,
)
_TIMESTAMP = re.compile(
    r"(?P<date>.{6,24}?)(?:t|,? )(?P<time>\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?(?: ?[ap]\.?m\.?)?)"
    r"(?: ?(?:z|utc|gmt|\+00:?00))?"
)
_SEPARATORS = (re.compile(r"\s*;\s*"), re.compile(r"\s*\|\s*"), re.compile(r",\s+"))
_LIST_WORDS = 5
"""Words of an item, above which commas divide clauses, not items."""

LONGEST_VALUE = 80
"""Characters above which a cell is text."""

_SMALLEST, _LARGEST = 1e-150, 1e150
"""Sizes of numbers beyond which a cell is text: their products and sums overflow."""

_EXACT_DIGITS = 15
"""Digits of an integer that a float always keeps."""

Day = tuple[int | None, int | None, int | None]
"""Year, month and day; None where it is not said."""


class CellValue(NamedTuple):
    """A cell as a value.

    Attributes:
        type: its type.
        text: what it says, without spaces around it.
        key: equal for cells that say the same in any format.
        number: without unit and scale; seconds of a time, days of a date; 0 for other types. An
            integer of more than 15 digits, which a float would round, is an ``int``.
        unit: the unit of a number, where the cell has one.
        readings: of a date; two where day and month may be exchanged.
        items: of a list, as their keys.
        relation: what makes a number a bound or an estimate.
        clock: of a date, the seconds of its day, where it says a time.
    """

    type: DataType
    text: str
    key: object
    number: float = 0.0
    unit: Unit | None = None
    readings: frozenset[Day] = frozenset()
    items: frozenset[object] = frozenset()
    relation: Relation = ""
    clock: float = 0.0

    @property
    def scaled(self) -> float:
        """The number times the scale of its unit."""
        return self.number * self.unit.scale if self.unit else self.number


@lru_cache(maxsize=2**17)
def cell_value(text: str) -> CellValue:
    """Read a cell."""
    text = " ".join(text.split())
    plain = text.casefold()
    if plain in _EMPTY and text not in _NAMES:
        return CellValue("empty", text, "")
    if len(text) <= LONGEST_VALUE:
        for read in (_bool, _time, _date, _timestamp, _number, _list):
            found = read(text, plain)
            if found is not None:
                return found
    return CellValue("string", text, text_key(text))


def _bool(text: str, plain: str) -> CellValue | None:
    return CellValue("bool", text, _BOOLS[plain]) if plain in _BOOLS else None


def number_key(number: float, relation: Relation) -> object:
    """Return the key of a number: equal for equal numbers with the same relation."""
    return (relation, number) if relation else number


def _number(text: str, _plain: str) -> CellValue | None:
    if not any(map(str.isdigit, text)):
        return None
    relation, amount = relation_of(text)
    match = _NUMBER.fullmatch(amount)
    if match is None:
        return None
    written = f"{match['before'] or ''} {match['after'] or ''}".strip()
    of = (CELL_SCALES.get(written) or unit(written)) if written else None
    if written and of is None:
        return None
    digits = match["digits"]
    if _EUROPEAN.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    number = _read(re.sub(r"[^\d.]", "", digits), match["exponent"] or "")
    if number is None:
        return None
    signs = match["sign"] + match["sign2"]
    value = -number if match["open"] or signs.strip("+") else number
    has_scale = of is not None and of.scale != 1
    key = number_key(float(f"{value * of.scale:.12g}") if of and has_scale else value, relation)
    return CellValue("number", text, key, value, of, relation=relation)


def _read(digits: str, exponent: str) -> float | None:
    """Return a number; None for one too large or too small to calculate with."""
    number = float(digits + exponent)
    if number and not _SMALLEST < number < _LARGEST:
        return None
    is_long = len(digits) > _EXACT_DIGITS and digits.isdigit() and not exponent
    return int(digits) if is_long else number


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


def _timestamp(text: str, plain: str) -> CellValue | None:
    """Read a date with a time; midnight is what programs write for the date alone."""
    match = _TIMESTAMP.fullmatch(plain)
    day = match and _date(match["date"], match["date"])
    time = match and _time(match["time"], match["time"])
    if not day or not time:
        return None
    key = (day.key, time.number) if time.number else day.key
    return day._replace(text=text, key=key, clock=time.number)


def with_day_first(cell: CellValue, day_first: bool) -> CellValue:
    """Return a date of two readings as the one with the day, or with the month, first."""
    match = _TIMESTAMP.fullmatch(cell.text.casefold())
    day = _parsed(match["date"] if match else cell.text, day_first)
    if day is None:
        return cell
    key = ("date", day)
    return cell._replace(
        key=(key, cell.clock) if cell.clock else key, number=days(day), readings=frozenset({day})
    )


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
            keys = frozenset(text_key(item) for item in items)
            return CellValue("list", text, ("list", keys), items=keys)
    return None
