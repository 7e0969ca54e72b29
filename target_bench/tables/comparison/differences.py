"""The difference of two cells that belong together: its kind, its size, and what is equal."""

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from itertools import pairwise, product
from math import isclose
from typing import NamedTuple

from rapidfuzz.distance import OSA
from rapidfuzz.fuzz import token_sort_ratio

from target_bench.tables.comparison.values import (
    PERCENT,
    CellValue,
    Day,
    Unit,
    are_opposite_bounds,
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
    "relation": "bound or estimate",
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
``relation``: the same number, but as a bound or an estimate (``<5``, ``about 5``).
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
_RELATED = 0.25  # share of a number that is wrong where one side has it as a bound or an estimate

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
    if types == {"number", "time"} and (apart := _durations(reference, prediction, units)):
        return apart
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
    """Compare two numbers; to be a bound or an estimate of one side alone is a difference, too."""
    apart = _amounts(reference, prediction, units, scale)
    if reference.relation == prediction.relation:
        return apart
    more = 1.0 if are_opposite_bounds(reference.relation, prediction.relation) else _RELATED
    if apart is None or not apart.share:
        return CellDifference("relation", more)
    return apart._replace(share=min(1.0, apart.share + more))


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
    if _are_in_two_zones(reference, prediction):
        reference, prediction = _in_utc(reference), _in_utc(prediction)
    if reference.readings & prediction.readings:
        gap = prediction.clock - reference.clock
        share = min(1.0, 0.25 + abs(gap) / _DAY)
        if gap:
            return CellDifference("time", share, gap, "seconds")
        return _zones(reference, prediction)
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


def _are_in_two_zones(reference: CellValue, prediction: CellValue) -> bool:
    zones = {reference.zone, prediction.zone}
    return len(zones) == 2 and None not in zones


def _in_utc(cell: CellValue) -> CellValue:
    """Return a date with a time as in UTC, where it may be another day."""
    days, clock = divmod(cell.clock - (cell.zone or 0.0), _DAY)
    readings: set[Day] = set()
    for day in cell.readings:
        try:
            moved = date(*day) + timedelta(days)  # type: ignore[arg-type]
            readings.add((moved.year, moved.month, moved.day))
        except (TypeError, OverflowError):  # no day is said, as in "May 2020, 10:30"; year 9999
            readings.add(day)
    return cell._replace(readings=frozenset(readings), clock=clock, zone=0.0)


def _zones(reference: CellValue, prediction: CellValue) -> CellDifference:
    """Return the difference of two equal times: none, but where one names no time zone."""
    if reference.zone == prediction.zone or None not in (reference.zone, prediction.zone):
        return _FORMAT
    return CellDifference("unit", 0.0)


_FRACTION = re.compile(r"\.\d")


def _times(reference: CellValue, prediction: CellValue) -> CellDifference:
    first, second = _seconds(reference, prediction), _seconds(prediction, reference)
    gap = second - first
    if _are_in_two_zones(reference, prediction):
        later = gap - (prediction.zone or 0.0) + (reference.zone or 0.0)
        gap = (later + _DAY / 2) % _DAY - _DAY / 2  # the nearest, as no date is said
    if isclose(gap, 0.0, abs_tol=1e-9 * max(first, second, 1.0)):
        return _zones(reference, prediction)
    return CellDifference("time", min(1.0, abs(gap) / max(first, 1.0)), gap, "seconds")


def _durations(reference: CellValue, prediction: CellValue, units: _Units) -> CellDifference | None:
    """Compare ``1:30:00`` with ``1 h 30 min``; None where the number is no amount of time."""
    options = list(map(_options_in_seconds, (reference, prediction), units))
    if not all(options):
        return None
    first, second = min(product(*options), key=lambda pair: abs(pair[1] - pair[0]))
    if _near(first, second):
        return _FORMAT
    gap = second - first
    return CellDifference("time", min(1.0, abs(gap) / max(first, 1.0)), gap, "seconds")


def _options_in_seconds(cell: CellValue, unit: Unit | None) -> list[float]:
    """Return what a time, or an amount of time, may be in seconds: ``3:45`` may be minutes."""
    if cell.type == "time":
        return [cell.number, *([cell.number / 60] if cell.text.count(":") == 1 else [])]
    seconds = converted(cell.number, unit, Unit("second")) if unit and unit.name else None
    return [] if seconds is None else [seconds]


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
    names = [known_name(text_key(text)) for text in (reference, prediction)]
    same_name = names[0] is not None and names[0] == names[1]
    if same_name or (
        keeps_digits and (is_abbreviation(first, second) or is_abbreviation(second, first))
    ):
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


# Texts of nearly the same letters that say the opposite, and names of one thing. A text says the
# opposite of another where the two differ in a negation (guilty, not guilty; with, without), in a
# prefix that negates (legal, illegal), in two prefixes of opposite meaning (hypertension,
# hypotension), or in two words of a short list.

_NEGATING_WORDS = """
not no non never without neither nor none nothing nobody cannot except excluding lacking
"""

_NEGATING_PREFIXES = "un in im il ir dis non anti de mis counter"

_OPPOSITE_PREFIXES = """
hyper/hypo in/de in/ex im/ex in/out as/des ac/de ap/de en/dis con/pro pre/post ante/post over/under
up/down north/south east/west inter/intra macro/micro max/min mono/poly multi/mono homo/hetero
sub/super endo/exo intro/extro pro/anti inter/exter
"""

_OPPOSITE_WORDS = """
male/female man/woman men/women he/she his/her boy/girl major/minor more/less most/least
former/latter inner/outer upper/lower buyer/seller lender/borrower employer/employee payer/payee
winner/loser debit/credit profit/loss asset/liability assets/liabilities income/expense gain/loss
rise/fall rising/falling rose/fell win/loss wins/losses won/lost pass/fail passed/failed true/false
yes/no on/off open/closed left/right top/bottom up/down in/out above/below before/after first/last
early/late hot/cold high/low higher/lower highest/lowest large/small larger/smaller long/short
longer/shorter near/far old/new old/young older/younger heavy/light fast/slow hard/easy dead/alive
day/night morning/evening am/pm north/south east/west northern/southern eastern/western
northeast/southeast northwest/southwest front/rear positive/negative plus/minus accept/reject
accepted/rejected approved/rejected allowed/denied granted/refused present/absent presence/absence
public/private single/married benign/malignant acute/chronic solid/liquid offense/defense
offensive/defensive offence/defence attack/defence home/away arrival/departure arrivals/departures
domestic/foreign urban/rural buy/sell bought/sold ancestor/descendant parent/child mother/father
son/daughter brother/sister husband/wife king/queen hired/fired start/end begin/end odd/even
mandatory/optional sender/receiver symmetric/asymmetric typical/atypical septic/aseptic moral/amoral
symptomatic/asymptomatic synchronous/asynchronous periodic/aperiodic normal/abnormal
"""


def _both_ways(pairs: str) -> list[tuple[str, str]]:
    split = [pair.partition("/")[::2] for pair in pairs.split()]
    return [*split, *((other, word) for word, other in split)]


_STEM = 4  # letters of a word at least without the prefix that turns its meaning round

_NEGATIONS = frozenset(_NEGATING_WORDS.split())
_NEGATED_BY = tuple(_NEGATING_PREFIXES.split())
_PREFIX_PAIRS = _both_ways(_OPPOSITE_PREFIXES)
_OPPOSITES = {
    word: [other for left, other in _both_ways(_OPPOSITE_WORDS) if left == word]
    for word, _ in _both_ways(_OPPOSITE_WORDS)
}
_ALIASES = {
    alias: names[0]
    for names in (
        ("united states", "usa", "us", "united states of america", "america"),
        ("united kingdom", "uk", "great britain", "britain", "gb"),
        ("united arab emirates", "uae", "emirates"),
        ("european union", "eu"),
        ("soviet union", "ussr", "union of soviet socialist republics"),
        ("russia", "russian federation"),
        ("south korea", "republic of korea", "korea republic of", "korea south"),
        ("north korea", "korea north", "korea democratic people s republic of", "dprk"),
        ("czechia", "czech republic"),
        ("democratic republic of the congo", "drc", "dr congo", "congo kinshasa"),
        ("ivory coast", "côte d ivoire", "cote d ivoire"),
        ("vietnam", "viet nam"),
        ("turkey", "türkiye", "turkiye"),
        ("myanmar", "burma"),
        ("netherlands", "the netherlands", "holland"),
        ("switzerland", "ch", "swiss confederation"),
        ("people s republic of china", "prc", "china"),
    )
    for alias in names
}
"""Name, in normal form -> the first of the names of the same thing."""


def known_name(text: str) -> str | None:
    """Return one name for all names of a thing that has several; None for any other text."""
    return _ALIASES.get(text)


def _are_opposite_texts(text: str, other: str) -> bool:
    """Return whether two texts, in normal form, differ in what turns the meaning round."""
    if text.replace(" ", "") == other.replace(" ", ""):
        return False
    first, second = _joined_words(text), _joined_words(other)
    if _negations(first) != _negations(second):
        return True
    gone, new = Counter(first) - Counter(second), Counter(second) - Counter(first)
    return any(opposite in new for word in gone for opposite in _opposites(word))


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


def _opposites(word: str) -> Iterator[str]:
    """Yield what would be the opposite of a word, whether there is such a word or not."""
    yield from _OPPOSITES.get(word, ())
    if len(word) >= _STEM:
        yield from (prefix + word for prefix in _NEGATED_BY)
    turned = [*((prefix, "") for prefix in _NEGATED_BY), *_PREFIX_PAIRS]
    for prefix, other in turned:
        stem = word.removeprefix(prefix)
        if stem != word and len(stem) >= _STEM:
            yield other + stem
