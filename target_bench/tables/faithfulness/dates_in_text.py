"""Dates of a text, as year, month and day."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_MONTHS = """
january february march april may june july august september october november december
""".split()  # noqa: SIM905 (words are easier to read so)
_MONTH = "|".join(rf"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"[12]\d{3}"
_WRITTEN = re.compile(
    rf"\b(?P<day>{_DAY})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b\.?"
    rf"(?:,? (?P<year>{_YEAR})\b)?"
    rf"|\b(?P<month2>{_MONTH})\.? (?P<day2>{_DAY})(?:st|nd|rd|th)?\b(?!\.?\d)"
    rf"(?:,? (?P<year2>{_YEAR})\b)?"
    rf"|\b(?P<month3>{_MONTH})\.?,? (?P<year3>{_YEAR})\b"
)
_DIGIT = re.compile(r"\d")
_IN_DIGITS = re.compile(
    rf"\b(?P<year>{_YEAR})-(?P<month>\d\d?)-(?P<day>\d\d?)\b"
    rf"|\b(?P<first>\d\d?)(?P<mark>[./])(?P<second>\d\d?)(?P=mark)(?P<year2>{_YEAR})\b"
)


class Date(NamedTuple):
    """A date of a text.

    Attributes:
        year: None where it has none.
        month: from 1.
        day: None where it has none.
        text: as it is written.
        start: where it begins.
        end: where it ends.
    """

    year: int | None
    month: int
    day: int | None
    text: str
    start: int
    end: int


def dates(text: str) -> Iterator[list[Date]]:
    """Yield the dates of a text in lower case: the possible readings of each.

    ``3/4/2001`` has two readings, all others have one.
    """
    if not _DIGIT.search(text):
        return
    for match in _WRITTEN.finditer(text):
        named = match.groupdict()
        year, month, day = (
            next((named[f"{part}{n}"] for n in ("", 2, 3) if named.get(f"{part}{n}")), None)
            for part in ("year", "month", "day")
        )
        yield [_date(match, year, _month(month or ""), day)]
    for match in _IN_DIGITS.finditer(text):
        year = match["year"] or match["year2"]
        pairs = {(match["month"], match["day"])} if match["month"] else _either(match)
        found = [_date(match, year, int(month), day) for month, day in sorted(pairs)]
        found = [date for date in found if 1 <= date.month <= 12 and 1 <= (date.day or 1) <= 31]
        if found:
            yield found


def _either(match: re.Match[str]) -> set[tuple[str, str]]:
    first, second = match["first"], match["second"]
    return {(first, second), (second, first)}


def _month(name: str) -> int:
    return next(n for n, month in enumerate(_MONTHS, start=1) if month[:3] == name[:3])


def _date(match: re.Match[str], year: str | None, month: int, day: str | None) -> Date:
    known = int(year) if year else None
    return Date(known, month, int(day) if day else None, match[0], match.start(), match.end())
