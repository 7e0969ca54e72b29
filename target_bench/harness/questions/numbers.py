"""Cells that hold a number, perhaps with a currency and a unit.

The pattern is plain on purpose: what it reads is certain.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

_NUMBER = re.compile(
    r"(?P<before>[$€£]?\s?[-−+]?)(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<after>\s?(?:(?!st|nd|rd|th)[^\W\d_]{1,12}[²³]?|[%°])?)"
)
_BLANK = frozenset({"", "-", "–", "—"})


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


def plain(value: Decimal) -> str:
    """Return all digits of a number, without zeros at the end of its fraction."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
