"""Cells that hold a number, a quantity, a date or a truth value, and how else they are written.

The patterns are plain and few on purpose: what they read is certain, and they are not those of any
metric under test.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

_NUMBER = re.compile(
    r"(?P<before>[$€£]?\s?[-−+]?)(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<after>\s?(?:(?!st|nd|rd|th)[^\W\d_]{1,12}[²³]?|[%°])?)"
)
_MONTHS = tuple(calendar.month_name)[1:]
_DATES = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"),
    re.compile(rf"(?P<d>\d{{1,2}}) (?P<m>{'|'.join(_MONTHS)}) (?P<y>\d{{4}})"),
    re.compile(rf"(?P<m>{'|'.join(_MONTHS)}) (?P<d>\d{{1,2}}), (?P<y>\d{{4}})"),
)

UNITS: dict[str, tuple[tuple[str, Decimal], ...]] = {
    unit: tuple((other, size / factor) for other, factor in family if other != unit)
    for family in (
        (("km", Decimal(1000)), ("m", Decimal(1)), ("cm", Decimal("0.01"))),
        (("kg", Decimal(1)), ("g", Decimal("0.001")), ("t", Decimal(1000))),
        (("h", Decimal(3600)), ("min", Decimal(60)), ("s", Decimal(1))),
        (("km²", Decimal(100)), ("ha", Decimal(1))),
        (("million", Decimal(1000)), ("thousand", Decimal(1))),
    )
    for unit, size in family
}
"""Unit -> the other units of its kind, and how many of them one of it is."""

_BLANK = frozenset({"", "-", "–", "—"})
_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}


@dataclass(frozen=True, slots=True)
class Number:
    """A number and what stands around it.

    Attributes:
        value: without its sign.
        before: currency and sign.
        after: unit or percent sign.
        grouped: whether thousands are divided by commas.
    """

    value: Decimal
    before: str
    after: str
    grouped: bool

    @property
    def unit(self) -> str:
        """The word after the number."""
        return self.after.strip()

    def written(self, value: Decimal) -> str:
        """Return another number, written in the same way."""
        if value == value.to_integral_value() and self.value == self.value.to_integral_value():
            value = value.to_integral_value()
        return f"{self.before}{value:{',' if self.grouped else ''}f}{self.after}"


def number_in(text: str) -> Number | None:
    """Return the number of a cell that is one, perhaps with currency and unit; else None."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    digits = found["digits"]
    return Number(Decimal(digits.replace(",", "")), found["before"], found["after"], "," in digits)


def is_blank(text: str) -> bool:
    """Return whether a cell holds nothing, or a dash for it."""
    return text in _BLANK


def unit_of_header(name: str) -> str:
    """Return the unit that a column name gives in brackets at its end, if it is one of ours."""
    unit = name.rpartition(" (")[2].removesuffix(")") if name.endswith(")") else ""
    return unit if unit in UNITS else ""


def plain(value: Decimal) -> str:
    """Return all digits of a number, without zeros at the end of its fraction."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def date_in(text: str) -> tuple[date, int] | None:
    """Return the day of a cell that is one, and the number of its format; else None."""
    for place, pattern in enumerate(_DATES):
        found = pattern.fullmatch(text)
        if found:
            month = found["m"]
            number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
            try:
                return date(int(found["y"]), number, int(found["d"])), place
            except ValueError:
                return None
    return None


def date_text(day: date, form: int) -> str:
    """Return a day in the format of a number: ISO, ``5 May 1998``, ``May 5, 1998``."""
    month = _MONTHS[day.month - 1]
    return (
        day.isoformat(),
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
    )[form]


DATE_FORMS = len(_DATES)


def opposite(text: str) -> str | None:
    """Return ``no`` for ``yes`` and the like, in the same case; None for any other text."""
    found = _OPPOSITES.get(text.casefold())
    if found is None:
        return None
    return found.upper() if text.isupper() else found.title() if text.istitle() else found
