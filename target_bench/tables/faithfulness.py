"""Faithfulness without a reference: what a text and a table say alike, read by the same rules.

``sentence_support`` compares a sentence with its table, ``table_support`` tables with their text.
Facts are numbers, dates and names. The rules follow the idea of entailment by a table (PARENT;
Dhingra et al. 2019) and of facts that a text supports (FActScore; Min et al. 2023), and have no
paper of their own.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import count, repeat
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from target_bench.core.metric import Metric, MetricDefinition, MetricSpec, by_name
from target_bench.core.reasoning import READING
from target_bench.metrics.means import MeanOfValues

VERSION = "support:2"
"""The version of the rules, for identities and signatures: raise it if values can change."""

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact or a cell of one side.

    Attributes:
        text: as it is written.
        supported: whether the other side says it.
        place: of a cell, the headers that say what it is; empty for a fact.
    """

    text: str
    supported: bool
    place: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """An answer and its source, each by the other.

    Attributes:
        claims: what the answer says, and whether the source supports it.
        expected: what the source says, and whether the answer has it.
        failed: whether there is no answer.
    """

    claims: tuple[Claim, ...] = ()
    expected: tuple[Claim, ...] = ()
    failed: bool = False

    @property
    def precision(self) -> float | None:
        """The share of claims that are supported: 0 of no answer, None of one that claims nothing.

        An answer that claims nothing has a coverage of 0 instead.
        """
        return 0.0 if self.failed else _share(self.claims)

    @property
    def coverage(self) -> float | None:
        """The share of what is expected that the answer has: 0 of no answer, None of no wish."""
        return 0.0 if self.failed else _share(self.expected)

    @property
    def doubted(self) -> list[Claim]:
        """The claims that are not supported."""
        return [claim for claim in self.claims if not claim.supported]

    def also(self, numbers: Container[int]) -> "Support":
        """Return it with more claims supported: those of ``doubted`` with these numbers, from 1."""
        number = count(1)
        claims = (
            c if c.supported else replace(c, supported=next(number) in numbers) for c in self.claims
        )
        return replace(self, claims=tuple(claims))


def _share(claims: Sequence[Claim]) -> float | None:
    return sum(claim.supported for claim in claims) / len(claims) if claims else None


def sentence_support(text: str | None, table: str, cells: Iterable[str]) -> Support:
    """Compare a sentence with its table.

    Args:
        text: the sentence; None for one that failed.
        table: all that may be said, as text: cells and titles, in separate lines.
        cells: the cells that the sentence should say.
    """
    if text is None:
        return Support(failed=True)
    return Support(_fact_claims(text, known(table)), cell_claims(cells, known(text)))


def table_support(tables: Iterable[Rows], text: str, places: Sequence[str] = ()) -> Support:
    """Compare tables with the text that they were written from.

    Args:
        tables: the cells of each that stand for themselves, without names of columns.
        text: the text.
        places: the headers of each of these cells, row by row; empty where they do not matter.
    """
    cells = [cell for rows in tables for row in rows for cell in row]
    return Support(
        cell_claims(cells, known(text), places), _fact_claims(text, known("\n".join(cells)))
    )


def _fact_claims(text: str, source: "Known") -> tuple[Claim, ...]:
    return tuple(Claim(fact.text, source.supports(fact)) for fact in facts(text))


def cell_claims(
    cells: Iterable[str], source: "Known", places: Sequence[str] = ()
) -> tuple[Claim, ...]:
    """Return the cells that say something, and whether a source supports each.

    A cell is supported if the source states its numbers and dates, and has all its other words but
    function words. A cell of equal text counts as often as it stands there. ``places`` are the
    headers of each cell, if they matter.
    """
    claims = []
    for cell, place in zip(cells, places or repeat(""), strict=False):
        stated, others = cell_facts(cell)
        if stated or others:
            supported = others <= source.words and all(map(source.supports, stated))
            claims.append(Claim(cell.strip(), supported, place))
    return tuple(claims)


# The metrics: means over answers of precision (``support``) or coverage.


def _define(
    name: str, label: str, description: str, scored: str, read: str, **more: Any
) -> MetricDefinition:
    """Define the mean of a share.

    Args:
        name: of the metric; ``coverage[...]`` is that of coverage, others of precision.
        label: as people call it.
        description: in one line.
        scored: ``descriptions`` or ``tables``.
        read: the field of the examples with the supports of all sentences, or of each of the
            examples with the support of its tables.
        **more: other fields of the declaration.
    """
    spec = MetricSpec(name, label, description, scores=scored, **more)
    share = attrgetter("coverage" if name.startswith("coverage") else "precision")

    def measure(examples: Any) -> Iterator[list[float]]:
        in_one = scored == "descriptions"
        supports = getattr(examples, read) if in_one else map(attrgetter(read), examples)
        for value in map(share, supports):
            yield [] if value is None else [value]

    def make(reading: str = READING) -> MeanOfValues:
        signature = f"{name}|{VERSION}|facts:numbers,dates,names|{reading}"
        return MeanOfValues(spec, measure, lambda: signature)

    return MetricDefinition(spec, make)


_BY_A_JUDGE: dict[str, Any] = {"deterministic": False, "needs": ("a judge",)}

_OF_SENTENCES = (
    _define(
        "support[facts]",
        "facts supported",
        "mean share of a sentence's numbers, dates and names that the table supports",
        "descriptions",
        "supports",
    ),
    _define(
        "coverage[cells]",
        "cells covered",
        "mean share of the highlighted cells that the sentence says",
        "descriptions",
        "supports",
    ),
    _define(
        "support[judged]",
        "facts supported (judged)",
        "the same with the facts that a judge finds supported (needs judged_by=GENERATOR)",
        "descriptions",
        "judged",
        **_BY_A_JUDGE,
    ),
)
_OF_TABLES = (
    _define(
        "support[cells]",
        "cells supported",
        "mean share of a table's cells that the text supports",
        "tables",
        "support",
    ),
    _define(
        "coverage[facts]",
        "facts covered",
        "mean share of the text's numbers, dates and names that the tables hold",
        "tables",
        "support",
    ),
    _define(
        "support[judged_cells]",
        "cells supported (judged)",
        "the same with the cells that a judge finds supported (needs cells_judged_by=GENERATOR)",
        "tables",
        "judged_support",
        **_BY_A_JUDGE,
    ),
)

DEFINITIONS = by_name(*_OF_SENTENCES, *_OF_TABLES[:2])
"""The metrics of faithfulness, in the order in which they are listed."""


def sentence_support_metrics(judged: bool, reading: str = READING) -> list[Metric[Any]]:
    """Make the metrics of table-to-text that need no reference.

    Args:
        judged: whether a model was asked about the facts that rules do not support.
        reading: how the answers were read, for the signatures.
    """
    return [definition.make(reading) for definition in _OF_SENTENCES[: 3 if judged else 2]]


def table_support_metrics(judged: bool = False, reading: str = READING) -> list[Metric[Any]]:
    """Make the metrics of text-to-table that need no reference; arguments as for sentences."""
    return [definition.make(reading) for definition in _OF_TABLES[: 3 if judged else 2]]


# Facts: what a text claims, and what it knows.

_CACHED = 2048
# A run of blanks, digits or marks is looked at once, from its beginning: answers hold long ones.
_DASHES = re.compile(r"(?:(?<!\s)\s++)?[\u2010-\u2015\u2212]\s*|(?<=\d) - (?=\d)")
_ACCENTS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019.][^\W\d_]+)*|(?<!\d)\d++[^\W\d_]+")
_CONNECTORS = frozenset("of the de da del di du van von der la le al bin and &".split())  # noqa: SIM905
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
_MONTHS = """
january february march april may june july august september october november december
""".split()  # noqa: SIM905


class Fact(NamedTuple):
    """A fact that a text states, to be looked for in another one.

    Attributes:
        kind: what it is.
        text: as it is written.
        readings: of a number its value, without a sign, and the unit of its last written digit, as
            0.1 or 1,000,000 (0 where it is exact); of a date each year, month and day that may be
            meant, with None for what is not said. Empty for a name.
        words: of a name, folded; empty for others.
        start: where it begins.
        end: where it ends.
    """

    kind: Literal["number", "date", "name"]
    text: str
    readings: tuple[tuple[Any, ...], ...] = ()
    words: frozenset[str] = frozenset()
    start: int = 0
    end: int = 0


class Known:
    """What a text knows: ``known(text).supports(fact)``."""

    def __init__(self, text: str) -> None:
        self._written = _plain(text)
        self._lower = self._written.lower()

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words."""
        return frozenset(map(_folded, set(_WORD.findall(self._written))))

    @cached_property
    def _digits(self) -> frozenset[float]:
        """The values of its numbers in digits."""
        years = (float(m["century"] + m["last"]) for m in _YEARS.finditer(self._lower))
        digits = (_in_digits(written)[0] for written in set(_IN_DIGITS.findall(self._lower)))
        return frozenset([*years, *digits])

    @cached_property
    def _number_set(self) -> frozenset[float]:
        """The values of its numbers, those in words and within dates included."""
        return self._digits.union(map(_in_words, set(_IN_WORDS.findall(self._lower))))

    @cached_property
    def _numbers(self) -> list[float]:
        return sorted(self._number_set)

    @cached_property
    def _years(self) -> dict[tuple[int, int | None], set[int | None]]:
        """Month and day of its dates, and month alone -> their years; None of one without."""
        years: dict[tuple[int, int | None], set[int | None]] = {}
        for year, month, day in (
            reading for date in _dates(self._lower) for reading in date.readings
        ):
            for known_day in (day, None):
                years.setdefault((month, known_day), set()).add(year)
        return years

    def supports(self, fact: Fact) -> bool:
        """Return whether it states a fact.

        A number needs an equal one, or one that rounds to it where it is a rounded one. A date
        needs a date with its month and day; its year may stand elsewhere. A name needs all its
        words, anywhere.
        """
        if fact.kind == "name":
            return fact.words <= self.words
        has = self._has_number if fact.kind == "number" else self._has_date
        return any(has(*reading) for reading in fact.readings)

    def _has_number(self, number: float, unit: float) -> bool:
        if number in self._digits or number in self._number_set:
            return True
        # the nearest number on either side decides, however many there are
        place = bisect_left(self._numbers, number)
        nearest = self._numbers[max(place - 1, 0) : place + 1]
        return any(abs(number - value) <= unit / 2 for value in nearest)

    def _has_date(self, year: int | None, month: int, day: int | None) -> bool:
        years = self._years.get((month, day), set())
        if year is None or year in years:
            return bool(years)
        return None in years and year in self._number_set


@lru_cache(maxsize=_CACHED)
def known(text: str) -> Known:
    """Return the facts of a text as a source; those of the last few thousand texts are kept."""
    return Known(text)


def facts(text: str) -> list[Fact]:
    """List the facts of a text, equal ones once: dates, then other numbers, then names."""
    distinct: dict[object, Fact] = {}
    for fact in [*_quantities(text), *_names(text)]:
        first = fact.readings[0] if fact.readings else ()
        value = first[:1] if fact.kind == "number" else first
        distinct.setdefault((fact.kind, value, fact.words), fact)
    return list(distinct.values())


@lru_cache(maxsize=_CACHED)
def cell_facts(text: str) -> tuple[tuple[Fact, ...], frozenset[str]]:
    """Return the dates and numbers of a cell, and its other words but function words."""
    stated = tuple(_quantities(text))
    taken = _places(stated)
    others = (
        _folded(match[0])
        for match in _WORD.finditer(_plain(text))
        if taken.isdisjoint(range(*match.span()))
    )
    return stated, frozenset(word for word in others if word not in _FUNCTION_WORDS)


def _quantities(text: str) -> list[Fact]:
    """List the dates of a text, then its other numbers; vague ones (``one``) are none."""
    lower = _plain(text).lower()
    dates = list(_dates(lower))
    taken = _places(dates)
    return [*dates, *(n for n in numbers(lower) if n.start not in taken and n.text not in _VAGUE)]


def _places(stated: Iterable[Fact]) -> set[int]:
    """Return the places of the text that dates and numbers take."""
    return {place for fact in stated for place in range(fact.start, fact.end)}


def _plain(text: str) -> str:
    """Return the text with one form of letters, of dashes and of white space."""
    folded = text if text.isascii() else _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    may_have = " - " in folded or not folded.isascii()
    return " ".join((_DASHES.sub("-", folded) if may_have else folded).split())


def _folded(word: str) -> str:
    """Return a word without case, full stops and a possessive s."""
    if not word.isalpha():
        word = word.replace("\u2019", "'").removesuffix("'s").removesuffix("'").replace(".", "")
    return word.casefold()


def _names(text: str) -> Iterator[Fact]:
    """Yield runs of capitalised words; connectors between them belong to them.

    Function words, months and single letters are left out.
    """
    left_out = {*_FUNCTION_WORDS, *_MONTHS, *_CONNECTORS}
    for run in _runs(_plain(text)):
        kept = {word: _folded(word) for word in run}
        kept = {word: folded for word, folded in kept.items() if len(folded) > 1}
        kept = {word: folded for word, folded in kept.items() if folded not in left_out}
        if kept:
            written = " ".join(word for word in run if word in kept)
            yield Fact("name", written, words=frozenset(kept.values()))


def _runs(text: str) -> Iterator[list[str]]:
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


# Numbers, in digits or in words, as values that can be compared.

_UNITS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
""".split()  # noqa: SIM905
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
""".split()  # noqa: SIM905
_SMALL = (
    {word: n for n, word in enumerate(_UNITS)}
    | {word: 20 + 10 * n for n, word in enumerate(_TENS)}
    | {word: n for n, word in enumerate(_ORDINALS, start=1)}
)
_SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_VAGUE = frozenset({"zero", "one", "first", "second", *_SCALES})
"""Words that often mean no amount: a text that has them claims no number, but they support one."""

_ORDINAL = "|".join(sorted(_ORDINALS, key=len, reverse=True))
_CARDINAL = "|".join(sorted([*_UNITS, *_TENS, *_SCALES], key=len, reverse=True))
_MOST_WORDS = 30
"""Words of a number: those up to trillions need 25, and no product of 30 words is out of range."""

_IN_WORDS = re.compile(
    rf"\b(?:(?:{_CARDINAL})(?:(?: |-| and )(?:{_CARDINAL})){{0,{_MOST_WORDS - 1}}}"
    rf"(?:[ -](?:{_ORDINAL}))?|{_ORDINAL})\b"
)
_IN_DIGITS = re.compile(
    r"\d(?<![a-z\d]\d)(?:\d{0,2}(?:,\d{3})+(?!\d)|\d{0,14})(?:\.\d{1,15})?"
    rf"(?:(?:st|nd|rd|th|s|%)(?![a-z\d])|[ -](?:{'|'.join(_SCALES)})\b)?"
)
_YEARS = re.compile(r"(?P<century>1\d|20)(?<!\w\d\d)(?P<first>\d\d)-(?P<last>\d\d)(?![-\d])")
_NOT_DIGITS = re.compile(r"[^\d.]")
_MOST_DIGITS = 9


def numbers(text: str) -> Iterator[Fact]:
    """Yield the numbers of a text in lower case, with plain dashes.

    Digits may have commas between thousands, a decimal point, the end of an ordinal, a percent sign
    and a scale (``2.5 million``). ``1982-84`` is 1982 and 1984. Numbers in words are up to
    trillions, and the ordinals up to twentieth; after ``_MOST_WORDS`` words another number begins.
    A number with decimals or a scale is a rounded one.
    """
    cut = set()
    for match in _YEARS.finditer(text):
        cut.add(match.start("last"))
        year = float(match["century"] + match["last"])
        yield _fact("number", match, (year, 0.0), group="last")
    for match in _IN_DIGITS.finditer(text):
        if match.start() not in cut:
            yield _fact("number", match, _in_digits(match[0]))
    for match in _IN_WORDS.finditer(text):
        if not match.start() or not text[match.start() - 2 : match.start() - 1].isdigit():
            yield _fact("number", match, (_in_words(match[0]), 0.0))


def _fact(
    kind: Literal["number", "date"],
    match: re.Match[str],
    *readings: tuple[Any, ...],
    group: int | str = 0,
) -> Fact:
    return Fact(kind, match[group], readings, frozenset(), *match.span(group))


@lru_cache(maxsize=2**15)
def _in_digits(text: str) -> tuple[float, float]:
    """Read value and unit."""
    digits = _NOT_DIGITS.sub("", text)
    scale = _SCALES.get(re.split("[ -]", text)[-1], 1)
    decimals = len(digits.partition(".")[2])
    unit = scale / 10**decimals if decimals or scale > 1 else 0.0
    return round(float(digits) * scale, _MOST_DIGITS), unit


def _in_words(text: str) -> float:
    total, group = 0, 0
    for word in re.split(r"[ -]+", text):
        scale = _SCALES.get(word)
        if scale is None:
            group += _SMALL.get(word, 0)
        elif scale == _SCALES["hundred"]:
            group = (group or 1) * scale
        else:
            total, group = total + (group or 1) * scale, 0
    return float(total + group)


# Dates.

_MONTH = "|".join(rf"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"[12]\d{3}"
_DATE_IN_WORDS = re.compile(
    rf"\b(?P<day>{_DAY})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b\.?"
    rf"(?:,? (?P<year>{_YEAR})\b)?"
    rf"|\b(?P<month2>{_MONTH})\.? (?P<day2>{_DAY})(?:st|nd|rd|th)?\b(?!\.?\d)"
    rf"(?:,? (?P<year2>{_YEAR})\b)?"
    rf"|\b(?P<month3>{_MONTH})\.?,? (?P<year3>{_YEAR})\b"
)
_DATE_IN_DIGITS = re.compile(
    rf"\b(?P<year>{_YEAR})-(?P<month>\d\d?)-(?P<day>\d\d?)\b"
    rf"|\b(?P<first>\d\d?)(?P<mark>[./])(?P<second>\d\d?)(?P=mark)(?P<year2>{_YEAR})\b"
)
_DIGIT = re.compile(r"\d")


def _dates(text: str) -> Iterator[Fact]:
    """Yield the dates of a text in lower case: ``3/4/2001`` has two readings, others have one."""
    if not _DIGIT.search(text):
        return
    for match in _DATE_IN_WORDS.finditer(text):
        named = match.groupdict()
        year, month, day = (
            next((named[f"{part}{n}"] for n in ("", 2, 3) if named.get(f"{part}{n}")), None)
            for part in ("year", "month", "day")
        )
        number = next(n for n, name in enumerate(_MONTHS, 1) if name[:3] == (month or "")[:3])
        yield _fact("date", match, (year and int(year), number, day and int(day)))
    for match in _DATE_IN_DIGITS.finditer(text):
        year = int(match["year"] or match["year2"])
        pairs = {(match["month"], match["day"])}
        if not match["month"]:
            pairs = {(match["first"], match["second"]), (match["second"], match["first"])}
        dates = [(year, int(month), int(day)) for month, day in sorted(pairs)]
        readings = [date for date in dates if 1 <= date[1] <= 12 and 1 <= date[2] <= 31]
        if readings:
            yield _fact("date", match, *readings)
