"""Cells, and names of columns, read as values: numbers with units, dates, times, lists, or text."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import cache, lru_cache
from itertools import product
from typing import Any, Literal, NamedTuple

from target_bench.tables.cell_texts import without_marks

DataType = Literal["number", "string", "bool", "date", "list", "time", "other", "empty"]
"""The type of a cell or a column; ``other`` is a column of several types."""

Relation = Literal["", "~", "±"]
"""What makes a number an estimate; empty: the number itself."""

Day = tuple[int | None, int | None, int | None]
"""Year, month and day; None where it is not said."""


class Unit(NamedTuple):
    """A unit.

    Attributes:
        name: as pint calls it, a currency's code, or ``%``; empty for a scale alone.
        scale: what numbers are multiplied with: 1e6 for millions.
    """

    name: str
    scale: float = 1.0


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
        relation: what makes a number an estimate.
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


Cells = Sequence[CellValue]

_EMPTY = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "none", "null", "nil", "?"})
_NAMES_LIKE_EMPTY = frozenset({"Na", "Nan"})
"""What is written like ``NA`` and ``NaN``, but is a name."""

_LONGEST_VALUE = 80  # characters above which a cell is text


@lru_cache(maxsize=2**17)
def cell_value(text: str) -> CellValue:
    """Read a cell."""
    text = " ".join(without_marks(text).split())
    plain = text.casefold()
    if plain in _EMPTY and text not in _NAMES_LIKE_EMPTY:
        return CellValue("empty", text, "")
    if len(text) <= _LONGEST_VALUE:
        for read in (_bool, _time, _date, _timestamp, _number, _list):
            value = read(text, plain)
            if value is not None:
                return value
    return text_value(text)


def text_value(text: str) -> CellValue:
    """Return a text as a value that is compared as text."""
    return CellValue("string", text, text_key(text))


_BOOLS = {
    **dict.fromkeys(("yes", "true", "y", "✓", "✔", "☑"), True),
    **dict.fromkeys(("no", "false", "n", "✗", "✘", "☐"), False),
}


def _bool(text: str, plain: str) -> CellValue | None:
    return CellValue("bool", text, _BOOLS[plain]) if plain in _BOOLS else None


_DIGITS = r"\d{1,3}(?:[,  '’]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−–]?)\s*(?P<before>us\$|[$€£¥₹]|[a-z]{{3}}(?=\s))?\s*"
    rf"(?P<sign2>[-+−–]?)\s*(?P<digits>{_DIGITS})(?P<exponent>e[-+]?\d{{1,3}})?"
    rf"(?:(?:st|nd|rd|th)\b)?\s*(?P<after>[^\d()]{{0,24}}?[\d²³]?)\s*(?(open)\))",
    re.IGNORECASE,
)
_EUROPEAN = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+")
_SMALLEST, _LARGEST = 1e-150, 1e150
"""Sizes of numbers beyond which a cell is text: their products and sums overflow."""

_EXACT_DIGITS = 15  # digits of an integer that a float always keeps

_CELL_SCALES = {"M": Unit("", 1e6), "B": Unit("", 1e9), "T": Unit("", 1e12)}
"""Capital letters that are scales beside a number; in the name of a column ``M`` is metres."""


_DECADE = re.compile(r"[12]\d\d0['’]?s", re.IGNORECASE)
"""``1990s``: ten years, and no number of seconds."""


def _number(text: str, _plain: str) -> CellValue | None:
    if not any(map(str.isdigit, text)) or _DECADE.fullmatch(text):
        return None
    relation, amount = _relation_of(text)
    match = _NUMBER.fullmatch(amount)
    if match is None:
        return None
    written = f"{match['before'] or ''} {match['after'] or ''}".strip()
    own_unit = (_CELL_SCALES.get(written) or unit(written)) if written else None
    if written and own_unit is None:
        return None
    digits = match["digits"]
    if _EUROPEAN.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    number = _amount(re.sub(r"[^\d.]", "", digits), match["exponent"] or "")
    if number is None:
        return None
    signs = match["sign"] + match["sign2"]
    value = -number if match["open"] or signs.strip("+") else number
    has_scale = own_unit is not None and own_unit.scale != 1
    key = number_key(
        float(f"{value * own_unit.scale:.12g}") if own_unit and has_scale else value, relation
    )
    return CellValue("number", text, key, value, own_unit, relation=relation)


def _amount(digits: str, exponent: str) -> float | None:
    """Return a number; None for one too large or too small to calculate with."""
    number = float(digits + exponent)
    if number and not _SMALLEST < number < _LARGEST:
        return None
    is_long = len(digits) > _EXACT_DIGITS and digits.isdigit() and not exponent
    return int(digits) if is_long else number


def number_key(number: float, relation: Relation) -> object:
    """Return the key of a number: equal for equal numbers with the same relation."""
    return (relation, number) if relation else number


_TIME = re.compile(
    r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?:\.(\d{1,6}))?\s*(?:([ap])\.?(?:m\.?)?(?![a-z]))?",
    re.IGNORECASE,
)


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


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4}|\d\d([-/.])\d\d\3\d\d"
    r"|(?=.*\d)(?:[a-z]{3,9},? )?"
    rf"(?:\d{{1,4}}(?:st|nd|rd|th)?[-/. ,]*(?:of )?)?{_MONTH}[-/. ,]*"
    r"(?:\d{1,4}(?:st|nd|rd|th)?(?:[-/. ,]+\d{4})?)?",
    re.IGNORECASE,
)
_TIMESTAMP = re.compile(
    r"(?P<date>.{6,24}?)(?:t|,? )(?P<time>\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?(?: ?[ap]\.?m\.?)?)z?"
)


def _date(text: str, plain: str) -> CellValue | None:
    if _DATE.fullmatch(plain) is None:
        return None
    in_digits = not any(map(str.isalpha, plain))
    days = {_parsed(plain, first) for first in ((False, True) if in_digits else (True,))}
    readings = frozenset(day for day in days if day is not None)
    if not readings:
        return None
    key = min(readings, key=lambda day: tuple(part or 0 for part in day))
    return CellValue("date", text, ("date", key), days_of(key), readings=readings)


def _timestamp(text: str, plain: str) -> CellValue | None:
    """Read a date with a time; midnight is what programs write for the date alone."""
    match = _TIMESTAMP.fullmatch(plain)
    day = match and _date(match["date"], match["date"])
    time = match and _time(match["time"], match["time"])
    if not day or not time:
        return None
    key = (day.key, time.number) if time.number else day.key
    return day._replace(text=text, key=key, clock=time.number)


def days_of(day: Day) -> float:
    """Return about how many days a date is after the year 0; a part that is not said adds none."""
    return sum((part or 0) * length for part, length in zip(day, (365.25, 30.44, 1), strict=True))


_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 2))


def _parsed(text: str, day_first: bool) -> Day | None:
    """Return what a date says: the parts that are the same whatever is put in for missing ones."""
    from dateutil.parser import parse

    year_first = text[:4].isdigit()
    try:
        early, late = (
            parse(text, dayfirst=day_first and not year_first, yearfirst=year_first, default=d)
            for d in _DEFAULTS
        )
    except (ValueError, OverflowError):
        return None
    return (
        early.year if early.year == late.year else None,
        early.month if early.month == late.month else None,
        early.day if early.day == late.day else None,
    )


_SEPARATORS = (re.compile(r"\s*;\s*"), re.compile(r"\s*\|\s*"), re.compile(r",\s+"))
_ITEM_WORDS = 5  # words of an item, above which commas divide clauses, not items


def _list(text: str, _plain: str) -> CellValue | None:
    inside = text[1:-1] if text[:1] + text[-1:] in ("[]", "{}") else text
    for separator in _SEPARATORS:
        items = [item.strip(" '\"") for item in separator.split(inside)]
        if len(items) > 1 and all(items) and max(len(i.split()) for i in items) <= _ITEM_WORDS:
            keys = frozenset(text_key(item) for item in items)
            return CellValue("list", text, ("list", keys), items=keys)
    return None


# What a whole column says about its cells: booleans, identifiers, and the order of its dates.


def read_column(texts: Sequence[str]) -> Cells:
    """Read the cells of a column, each as the others say that it is meant.

    ``Y`` and ``N`` are texts unless most cells are booleans, ``20240105`` is a date where all cells
    are dates, and dates in digits have the day or the month first, as most that can be read in one
    way alone.
    """
    cells = [cell_value(text) for text in texts]
    types = Counter(cell.type for cell in cells)
    if types["bool"] * 2 <= len(cells) - types["empty"]:
        cells = [
            text_value(cell.text) if cell.type == "bool" and cell.text in {*"YyNn"} else cell
            for cell in cells
        ]
    dates = [_compact_date(cell) or cell for cell in cells]
    if {"date", "empty"}.issuperset(cell.type for cell in dates):
        cells = dates
    votes = 0
    for cell in cells:
        places = _DAY_OR_MONTH.match(cell.text) if cell.type == "date" else None
        if places is not None:
            votes += (int(places[1]) > 12) - (int(places[2]) > 12)
    return _with_order(cells, votes > 0) if votes else cells


_ZEROS_FIRST = re.compile(r"0\d{2,}")
"""An integer of three digits or more that begins with zero: ``05`` is a month or a minute."""

_LONG_IDENTIFIER = 11
"""Digits from which integers may be identifiers, if nothing in the column is an amount."""

_DAY_OR_MONTH = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.]\d")


def are_identifiers(reference: Cells, prediction: Cells) -> bool:
    """Return whether the numbers of paired columns are codes or long integers, not amounts.

    Codes, such as postal ones, begin with zero in either column: all have one length, or most of
    them begin so (one ``007`` among amounts makes no codes of them). Long integers of the reference
    have one length of eleven digits or more, and none ends in three zeros, as amounts do.
    """
    for cells in (reference, prediction):
        integers = [cell.text for cell in cells if cell.type == "number" and cell.text.isdecimal()]
        n = sum(1 for text in integers if _ZEROS_FIRST.fullmatch(text))
        if n > 0 and (len(set(map(len, integers))) == 1 or 2 * n > len(integers)):
            return True
    texts = [cell.text for cell in reference if cell.type != "empty"]
    return (
        len(set(map(len, texts))) == 1
        and len(texts[0]) >= _LONG_IDENTIFIER
        and all(re.fullmatch(r"\d+", text) and not text.endswith("000") for text in texts)
    )


_COMPACT_DATE = re.compile(r"((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def _compact_date(cell: CellValue) -> CellValue | None:
    match = _COMPACT_DATE.fullmatch(cell.text) if cell.type == "number" else None
    written = "-".join(match.groups()) if match else ""
    date = _date(written, written)
    return date._replace(text=cell.text) if date else None


def in_order_of_each_other(first: Cells, second: Cells) -> tuple[Cells, Cells]:
    """Return two paired columns, each with its dates in one order: that in which most are equal.

    Args:
        first: cells of a column, a cell for each of ``second``.
        second: the cells beside them.
    """
    options = [
        [_with_order(side, False), _with_order(side, True)] if any(map(_is_open, side)) else [side]
        for side in (first, second)
    ]
    if len(options[0]) == len(options[1]) == 1:
        return first, second
    # the same order in both columns goes before two orders that fit as well
    pairs = sorted(
        product(range(len(options[0])), range(len(options[1]))), key=lambda p: p[0] != p[-1]
    )
    choices = [(options[0][i], options[1][j]) for i, j in pairs]
    return max(choices, key=lambda pair: sum(map(_share_a_day, *pair)))


def _with_order(cells: Cells, day_first: bool) -> Cells:
    return [_with_day_first(cell, day_first) if _is_open(cell) else cell for cell in cells]


def _with_day_first(cell: CellValue, day_first: bool) -> CellValue:
    match = _TIMESTAMP.fullmatch(cell.text.casefold())
    day = _parsed(match["date"] if match else cell.text, day_first)
    if day is None:
        return cell
    key: object = ("date", day)
    return cell._replace(
        key=(key, cell.clock) if cell.clock else key,
        number=days_of(day),
        readings=frozenset({day}),
    )


def _is_open(cell: CellValue) -> bool:
    return len(cell.readings) > 1


def _share_a_day(first: CellValue, second: CellValue) -> bool:
    return not first.readings.isdisjoint(second.readings)


# Names of columns, with the unit that stands in them.

_BRACKETS = re.compile(r"(?P<name>.*?)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*")
_IN = re.compile(r"(?P<name>.+?)[ ,]+in (?P<unit>[^()\[\]]+)", re.IGNORECASE)
_LONGEST_NAME = 500
"""Characters of a name above which no unit is looked for: the time grows with their square."""


class Name(NamedTuple):
    """The name of a column.

    Attributes:
        text: without its unit.
        unit: of its numbers; None where the name has none.
    """

    text: str
    unit: Unit | None = None


@lru_cache(maxsize=2**13)
def name_of(header: str) -> Name:
    """Read a header such as ``Distance (km)``, ``Cost [£ million]``, ``Height in m``."""
    header = without_marks(header)
    if len(header) > _LONGEST_NAME:
        return Name(header.strip())
    for pattern in (_BRACKETS, _IN):
        match = pattern.fullmatch(header)
        if match is not None and (own_unit := unit(match["unit"])) is not None:
            return Name(match["name"].strip(), own_unit)
    return Name(header.strip(), unit(header) if " " in header.strip() else None)


# Units of measure, currencies, percent and scale words, as cells and headers write them.

PERCENT = "%"
_PERCENT_WORDS = ("%", "percent", "per cent", "percentage", "pct")
_BASIS_POINT = Unit(PERCENT, 0.01)
_BASIS_POINTS = ("bps", "basis point", "basis points")
_CURRENCIES = {
    **dict.fromkeys(("$", "us$", "usd", "dollar", "dollars"), "USD"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "EUR"),
    **dict.fromkeys(("£", "gbp", "pound sterling", "pounds sterling"), "GBP"),
    **dict.fromkeys(("¥", "jpy", "yen"), "JPY"),
    **dict.fromkeys(("₹", "inr", "rs", "rupees"), "INR"),
    **dict.fromkeys(("chf", "swiss francs"), "CHF"),
}
_SCALES = {
    **dict.fromkeys(("k", "thousand", "thousands", "000s"), 1e3),
    **dict.fromkeys(("mn", "mln", "mil", "mill", "million", "millions"), 1e6),
    **dict.fromkeys(("bn", "billion", "billions"), 1e9),
    **dict.fromkeys(("tn", "trn", "trillion", "trillions"), 1e12),
}
_AFTER_CURRENCY = {"m": 1e6, "b": 1e9, "t": 1e12}
"""Scales that are one letter, read as such only beside a currency."""

_SCALE_NAMES = {1e3: "thousand", 1e6: "million", 1e9: "billion", 1e12: "trillion"}
_MEASURES = {
    name: pint_name
    for pint_name, names in {
        "meter": "m,meter,meters,metre,metres",
        "kilometer": "km,kilometer,kilometers,kilometre,kilometres",
        "centimeter": "cm,centimeter,centimeters,centimetre,centimetres",
        "millimeter": "mm,millimeter,millimeters,millimetre,millimetres",
        "mile": "mi,mile,miles",
        "yard": "yd,yds,yard,yards",
        "foot": "ft,foot,feet",
        "inch": "inch,inches",
        "nautical_mile": "nmi,nautical miles",
        "gram": "g,gram,grams,gramme,grammes",
        "kilogram": "kg,kgs,kilogram,kilograms,kilogramme,kilogrammes",
        "milligram": "mg,milligram,milligrams",
        "tonne": "t,tonne,tonnes",
        "pound": "lb,lbs,pound,pounds",
        "ounce": "oz,ounce,ounces",
        "stone": "stone",
        "second": "s,sec,secs,second,seconds",
        "millisecond": "ms,millisecond,milliseconds",
        "minute": "min,mins,minute,minutes",
        "hour": "h,hr,hrs,hour,hours",
        "day": "day,days",
        "week": "week,weeks",
        "degC": "°c,celsius",
        "degF": "°f,fahrenheit",
        "kelvin": "kelvin",
        "kilometer/hour": "km/h,kmh,kph",
        "mile/hour": "mph,mi/h",
        "meter/second": "m/s",
        "knot": "knot,knots",
        "meter**2": "m2,m²,square meters,square metres,sq m",
        "kilometer**2": "km2,km²,square kilometers,square kilometres,sq km",
        "foot**2": "ft2,ft²,sqft,square feet,sq ft",
        "mile**2": "mi2,mi²,square miles,sq mi",
        "hectare": "ha,hectare,hectares",
        "acre": "acre,acres",
        "liter": "l,liter,liters,litre,litres",
        "milliliter": "ml,milliliter,milliliters,millilitre,millilitres",
        "gallon": "gal,gallon,gallons",
        "meter**3": "m3,m³",
        "watt": "w,watt,watts",
        "kilowatt": "kw,kilowatt,kilowatts",
        "megawatt": "mw,megawatt,megawatts",
        "horsepower": "hp,horsepower",
        "joule": "j,joule,joules",
        "kilojoule": "kj",
        "kilocalorie": "kcal",
        "kilowatt_hour": "kwh",
        "hertz": "hz,hertz",
        "kilohertz": "khz",
        "megahertz": "mhz",
        "gigahertz": "ghz",
        "megabyte": "mb,megabyte,megabytes",
        "gigabyte": "gb,gigabyte,gigabytes",
        "terabyte": "tb,terabyte,terabytes",
        "pascal": "pa,pascal,pascals",
        "bar": "bar",
        "hectopascal": "hpa",
    }.items()
    for name in names.split(",")
}
_UNIT_SYMBOL = re.compile(r"us\$|[$€£¥₹%]")
_FILLER = frozenset({"in", "of"})


@lru_cache(maxsize=2**14)
def unit(text: str) -> Unit | None:
    """Read a unit such as ``km/h``, ``£ million``, ``%`` or ``thousands``; None if it is none."""
    rest = text.casefold().strip(" .")
    if rest in _BASIS_POINTS:
        return _BASIS_POINT
    units = [_unit_name(symbol) for symbol in _UNIT_SYMBOL.findall(rest)]
    rest = " ".join(word for word in _UNIT_SYMBOL.sub(" ", rest).split() if word not in _FILLER)
    has_currency = any(w in _CURRENCIES for w in (*_UNIT_SYMBOL.findall(text), *rest.split()))
    scales = _SCALES | _AFTER_CURRENCY if has_currency else _SCALES
    scale = 1.0
    whole = None if rest in scales else _unit_name(rest)
    if rest and whole is not None:
        units.append(whole)
    elif rest:
        for word in rest.split():
            if word in scales:
                scale *= scales[word]
            elif (name := _unit_name(word)) is not None:
                units.append(name)
            else:
                return None
    names = {name for name in units if name}
    if len(names) > 1 or (not names and scale == 1):
        return None
    return Unit(names.pop() if names else "", scale)


def _unit_name(word: str) -> str | None:
    if word in _PERCENT_WORDS:
        return PERCENT
    return _CURRENCIES.get(word) or _MEASURES.get(word)


def with_header(own: Unit | None, header: Unit | None) -> Unit | None:
    """Return the unit of a number from that of its cell and that in the name of its column.

    The cell's counts, and the column's adds what the cell does not say: ``$5`` in a column of
    millions is 5 million dollars, ``5 million`` in a column of dollars too.
    """
    if own is None or header is None:
        return own or header
    if own.scale == 1 and header.name in ("", own.name):
        return Unit(own.name, header.scale)
    if not own.name and header.scale == 1:
        return Unit(header.name, own.scale)
    return own


def unit_label(unit: Unit | None) -> str:
    """Return a unit in words: ``million GBP``, ``meter``, ``%``; empty for none."""
    if unit is None:
        return ""
    if unit == _BASIS_POINT:
        return "basis points"
    scale = "" if unit.scale == 1 else _SCALE_NAMES.get(unit.scale, f"{unit.scale:g}")
    return f"{scale} {unit.name}".strip()


def converted(number: float, source: Unit | None, target: Unit | None) -> float | None:
    """Return a number of one unit in another, None if it cannot be converted.

    Where one of them names no unit, only their scales are converted.
    """
    source_unit, target_unit = source or Unit(""), target or Unit("")
    conversion = (
        _factor(source_unit.name, target_unit.name)
        if source_unit.name and target_unit.name
        else (1.0, 0.0)
    )
    if conversion is None:
        return None
    return (number * source_unit.scale * conversion[0] + conversion[1]) / target_unit.scale


@lru_cache(maxsize=2**12)
def _factor(source: str, target: str) -> tuple[float, float] | None:
    """Return (factor, offset) that turn values of one unit into another; None if none do."""
    if source == target:
        return 1.0, 0.0
    if not {source, target} <= set(_MEASURES.values()):
        return None
    from pint import DimensionalityError

    quantity = _pint().Quantity
    try:
        zero, unity = (float(quantity(value, source).to(target).magnitude) for value in (0.0, 1.0))
    except DimensionalityError:
        return None
    return unity - zero, zero


@cache
def _pint() -> Any:
    from pint import UnitRegistry

    return UnitRegistry()


# What makes a number beside it an estimate: ``~``, ``about``, ``±``.

_ESTIMATE = re.compile(
    r"(?:(?P<plus_minus>±|\+/-|\+-)|[~∼≈≃]|(?:about|around|approx\.?|approximately|roughly|circa|ca\.?)\s|c\.)"
    r"\s*(?=[-+−–(.$€£¥₹\d]|[a-z]{2,3}[$ ])",
    re.IGNORECASE,
)


def _relation_of(text: str) -> tuple[Relation, str]:
    """Return the relation that a number is written with, and the text without it."""
    match = _ESTIMATE.match(text)
    if match is None:
        return "", text
    return "±" if match["plus_minus"] else "~", text[match.end() :]


# Texts in normal form: their words, without case and punctuation, but with signs of numbers.

_SPOKEN = {
    **dict.fromkeys("-−–", "minus"),
    **dict.fromkeys(("<",), "under"),
    **dict.fromkeys((">",), "over"),
    **dict.fromkeys(("≤", "⩽", "<=", "=<"), "at most"),
    **dict.fromkeys(("≥", "⩾", ">=", "=>"), "at least"),
    **dict.fromkeys("~∼≈", "about"),
    **dict.fromkeys(("±", "+/-"), "plus minus"),
    **dict.fromkeys(("=", "=="), "equals"),
    **dict.fromkeys(("≠", "!="), "is not"),
    **dict.fromkeys("↑▲△⬆", "up"),
    **dict.fromkeys("↓▼▽⬇", "down"),
    **dict.fromkeys(("→", "->", "➔", "➡"), "to"),
    **dict.fromkeys("%", "percent"),
    **{"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee"},
    **{"+": "plus", "#": "sharp"},
}
_SIGN = re.compile(
    r"(?<![\w)])[-−–](?=\d)"  # -5
    r"|->|[<>!=]=|=[<>]|\+/-|[<>≤≥⩽⩾=≠±↑▲△⬆↓▼▽⬇→➔➡]"
    r"|[~∼≈$€£¥₹](?=\s*[-\d.$€£¥₹])"  # ~5, $5
    r"|(?<=\d)\s*[%$€£¥₹]"  # 5%
    r"|\+(?!\d)|(?<=[\w+])\+"  # A++, a + b, 3+4, but not +5
    r"|(?<=[\w#])#(?![\w])"  # C#
    r"|(?:(?<=\b[a-z])|(?<=\b[a-z]{2})|(?<=\b[a-z]{3}))[-−](?=$|[,;/)])"  # BBB-
)
_RAISED = re.compile(r"(?<=\d)(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])")
_SYMBOLS = "←-⇿∀-∑∓∔√-∻∽-⋿■-➿⬀-⯿\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
"""Arrows, mathematics, shapes, pictures: two texts with different ones say different things."""

_SYMBOL = re.compile(f"[{_SYMBOLS}]")
_NOT_WORD = re.compile(rf"(?:[^\w{_SYMBOLS}]|_)+")
_LETTERS_APART = re.compile(r"(?<!\w)([^\W\d_]) (?=[^\W\d_](?!\w))")


@lru_cache(maxsize=2**16)
def words(text: str) -> str:
    """Return the words of a text without case and punctuation.

    Signs that change what is said become words: minus, percent, currencies, ``<``, ``≥``, ``=``,
    ``~``, arrows, the plus of ``A+`` and the minus of ``BBB-``. Other symbols are kept as they are.
    """
    plain = _plain(text)
    spoken = _SIGN.sub(lambda match: f" {_SPOKEN[match[0].strip()]} ", plain)
    apart = _SYMBOL.sub(r" \g<0> ", spoken)
    return _NOT_WORD.sub(" ", apart).strip() or plain.strip()


@lru_cache(maxsize=2**16)
def text_key(text: str) -> str:
    """Return the words of a text with single letters put together: ``U.S.`` is ``US``."""
    return _LETTERS_APART.sub(r"\1", words(text))


def signs(text: str) -> list[str]:
    """Return the signs and symbols of a text that change what it says, in their order."""
    plain = _plain(text)
    return [_SPOKEN[sign.strip()] for sign in _SIGN.findall(plain)] + _SYMBOL.findall(plain)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", _RAISED.sub(" ", text)).casefold()
