"""Facts of a text: its numbers, dates and names; and what a text knows, to support them."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from target_bench.tables.faithfulness.dates_in_text import Date, dates
from target_bench.tables.faithfulness.numbers_in_text import (
    Number,
    digit_values,
    numbers,
    spelled_values,
)

FactKind = Literal["number", "date", "name"]

# A run of blanks, digits or marks is looked at once, from its beginning: answers hold long ones.
_DASHES = re.compile(r"(?:(?<!\s)\s++)?[\u2010-\u2015\u2212]\s*|(?<=\d) - (?=\d)")
_ACCENTS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019.][^\W\d_]+)*|(?<!\d)\d++[^\W\d_]+")
_CONNECTORS = frozenset(
    """
    of the de da del di du van von der la le al bin and &
    """.split()  # noqa: SIM905 (words are easier to read so)
)
_FUNCTION_WORDS = frozenset(
    """
    a about after against all also although among an and another are as at be became because
    been before being between both but by can despite did do does during each eight either
    eleven five following for four from had has have he her here him his how however i if in
    into is it its last like many may more most much neither nine no not of on once one only
    or other our out over prior seven several she since six so some such ten than that the
    their them then there these they this those three through thus to twelve two under until
    up upon was we were what when where which while who whom whose will with within without
    would yet you
    """.split()  # noqa: SIM905 (words are easier to read so)
)
_MONTHS = frozenset(
    """
    january february march april june july august september october november december
    """.split()  # noqa: SIM905 (words are easier to read so)
)
_CACHED = 2048


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a text states, to be looked for in another one.

    Attributes:
        kind: what it is.
        text: as it is written.
        readings: a number, or the readings of a date; empty for a name.
        words: of a name, as ``words`` gives them; empty for others.
    """

    kind: FactKind
    text: str
    readings: tuple[Number, ...] | tuple[Date, ...] = ()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Known:
    """What a text knows.

    Attributes:
        text: the text.
    """

    text: str

    @cached_property
    def written(self) -> str:
        """The text with plain dashes."""
        return plain(self.text)

    @cached_property
    def plain(self) -> str:
        """The same in lower case."""
        return self.written.lower()

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words."""
        return frozenset(map(_folded, set(_WORD.findall(self.written))))

    @cached_property
    def digits(self) -> frozenset[float]:
        """The values of its numbers in digits."""
        return digit_values(self.plain)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The values of its numbers, those within dates included."""
        return self.digits | spelled_values(self.plain)

    @cached_property
    def years(self) -> dict[tuple[int, int | None], set[int | None]]:
        """Month and day of its dates, and month alone -> their years; None of one without."""
        found: dict[tuple[int, int | None], set[int | None]] = {}
        for date in (date for readings in dates(self.plain) for date in readings):
            for day in (date.day, None):
                found.setdefault((date.month, day), set()).add(date.year)
        return found

    @cached_property
    def _sorted_numbers(self) -> list[float]:
        return sorted(self.numbers)

    def supports(self, fact: Fact) -> bool:
        """Return whether it states a fact.

        A number needs an equal one, or one that rounds to it where it is a rounded one. A date
        needs a date with its month and day; its year may stand elsewhere. A name needs all its
        words, anywhere.
        """
        if fact.kind == "name":
            return fact.words <= self.words
        return any(
            self._has_date(one) if isinstance(one, Date) else self._has_number(one)
            for one in fact.readings
        )

    def _has_number(self, number: Number) -> bool:
        if number.value in self.digits or number.value in self.numbers:
            return True
        # the nearest number on either side decides, however many there are
        place = bisect_left(self._sorted_numbers, number.value)
        nearest = self._sorted_numbers[max(place - 1, 0) : place + 1]
        return number.unit > 0 and any(map(number.is_of, nearest))

    def _has_date(self, date: Date) -> bool:
        years = self.years.get((date.month, date.day), set())
        if date.year is None or date.year in years:
            return bool(years)
        return None in years and date.year in self.numbers


@lru_cache(maxsize=_CACHED)
def known(text: str) -> Known:
    """Return the facts of a text as a source; those of the last few thousand texts are kept."""
    return Known(text)


def plain(text: str) -> str:
    """Return the text with one form of letters, of dashes and of white space."""
    folded = text if text.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    may_have = " - " in folded or not folded.isascii()
    return " ".join((_DASHES.sub("-", folded) if may_have else folded).split())


def words(text: str) -> list[str]:
    """List the words of a text: without case, accents, full stops and a possessive s."""
    return [_folded(word) for word in _WORD.findall(plain(text))]


def _folded(word: str) -> str:
    if not word.isalpha():
        word = word.replace("\u2019", "'").removesuffix("'s").removesuffix("'").replace(".", "")
    return word.casefold()


def facts(text: str) -> list[Fact]:
    """List the facts of a text, equal ones once: dates, then other numbers, then names."""
    found = quantities(text)
    return _distinct([*found, *_names(text)])


def quantities(text: str) -> list[Fact]:
    """List the dates of a text, then its other numbers; vague ones (``one``) are none."""
    said = plain(text).lower()
    found = [Fact("date", readings[0].text, tuple(readings)) for readings in dates(said)]
    taken = _places(found)
    others = (one for one in numbers(said) if one.start not in taken and not one.vague)
    return [*found, *(Fact("number", one.text, (one,)) for one in others)]


def _places(found: Iterable[Fact]) -> set[int]:
    """Return the places of the text that dates and numbers take."""
    spans = ((one.readings[0].start, one.readings[0].end) for one in found)
    return {place for start, end in spans for place in range(start, end)}


def _names(text: str) -> list[Fact]:
    """List runs of capitalised words; connectors between them belong to them.

    Function words, months and single letters are left out.
    """
    found: list[Fact] = []
    for run in _runs(plain(text)):
        own = [(word, _folded(word)) for word in run]
        kept = [pair for pair in own if len(pair[1]) > 1 and not _is_function_word(pair[1])]
        if kept:
            written = " ".join(word for word, _ in kept)
            found.append(Fact("name", written, words=frozenset(folded for _, folded in kept)))
    return found


def _runs(text: str) -> Iterable[list[str]]:
    run: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        word = match[0]
        capital = word[0].isupper()
        connects = bool(run) and word in _CONNECTORS
        if run and (not (capital or connects) or text[end : match.start()].strip(" -&")):
            yield run
            run, connects = [], False
        if capital or connects:
            run.append(word)
            end = match.end()
    if run:
        yield run


def _is_function_word(word: str) -> bool:
    return word in _FUNCTION_WORDS or word in _MONTHS or word in _CONNECTORS


@lru_cache(maxsize=_CACHED)
def cell_facts(text: str) -> tuple[tuple[Fact, ...], frozenset[str]]:
    """Return the dates and numbers of a cell, and its other words but function words."""
    found = tuple(quantities(text))
    taken = _places(found)
    others = (
        _folded(match[0])
        for match in _WORD.finditer(plain(text))
        if taken.isdisjoint(range(*match.span()))
    )
    return found, frozenset(word for word in others if word not in _FUNCTION_WORDS)


def _distinct(found: Iterable[Fact]) -> list[Fact]:
    kept: dict[object, Fact] = {}
    for one in found:
        first = one.readings[0] if one.readings else None
        value = first.value if isinstance(first, Number) else None
        date = (first.year, first.month, first.day) if isinstance(first, Date) else None
        kept.setdefault((one.kind, value, date, one.words), one)
    return list(kept.values())
