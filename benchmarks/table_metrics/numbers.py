"""Numbers of cells with what is written around them, so that they can be written anew."""

import re
from dataclasses import dataclass
from decimal import Decimal

NUMBER = re.compile(
    r"(?P<before>[$€£]?\s?[-−+]?)"
    r"(?:(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"|(?P<comma>\d{1,3}(?:[.\s]\d{3})+(?:,\d+)|\d+,\d{1,2}))"
    r"(?P<after>\s?(?:(?!st|nd|rd|th)[^\W\d_]{1,12}[²³]?|[%°€])?)"
)
BLANK = frozenset({"", "-", "–", "—", "?", "N/A", "n/a", "NULL", "nan", "Unknown", "unknown"})
"""What a cell without a value holds."""


@dataclass(frozen=True, slots=True)
class WrittenNumber:
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


def written_number(text: str) -> WrittenNumber | None:
    """Return the number of a cell that is one, perhaps with currency and unit; else None."""
    match = NUMBER.fullmatch(text)
    if match is None:
        return None
    comma = (match["comma"] or "").translate({ord(sign): None for sign in ". \t\n\u00a0\u202f"})
    digits = match["digits"] or comma.replace(",", ".")
    value = Decimal(digits.replace(",", ""))
    return WrittenNumber(value, match["before"], match["after"], "," in digits)


def is_blank(text: str) -> bool:
    """Return whether a cell holds nothing, or a dash for it."""
    return text in BLANK
