"""Cells and names of columns read as values: numbers with units, dates, times, yes or no, texts."""

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from target_bench.tables.cell_texts import strip_marks

ValueType = Literal["empty", "number", "date", "time", "bool", "string"]

Day = tuple[int | None, int | None, int | None]
"""Year, month and day; None where it is not said."""


class Unit(NamedTuple):
    """A unit; ``number * scale * factor + offset`` is in the base unit of its kind."""

    name: str = ""  # as it is shown; empty for a scale alone
    kind: str = ""  # what it measures
    factor: float = 1.0
    offset: float = 0.0  # of temperatures
    scale: float = 1.0  # 1e6 for millions

    def __str__(self) -> str:
        scale = "" if self.scale == 1 else _SCALE_NAMES.get(self.scale, f"{self.scale:g}")
        return f"{scale} {self.name}".strip()


NO_UNIT = Unit()
PERCENT = "%"

_MEASURES = """
length | meter 1 m meters metre metres | kilometer 1e3 km kilometers kilometre kilometres
 | centimeter .01 cm centimeters centimetre centimetres | mile 1609.344 mi miles
 | millimeter .001 mm millimeters millimetre millimetres | yard .9144 yd yds yards
 | foot .3048 ft feet | inch .0254 inches | nautical_mile 1852 nmi nautical_miles
mass | gram 1 g grams gramme grammes | kilogram 1e3 kg kgs kilograms kilogramme kilogrammes
 | milligram .001 mg milligrams | tonne 1e6 t tonnes | pound 453.59237 lb lbs pounds
 | ounce 28.349523125 oz ounces | stone 6350.29318
time | second 1 s sec secs seconds | millisecond .001 ms milliseconds | minute 60 min mins minutes
 | hour 3600 h hr hrs hours | day 86400 days | week 604800 weeks
temperature | degC 1 °c celsius | degF .5555555555555556 °f fahrenheit | kelvin 1
speed | kilometer/hour .2777777777777778 km/h kmh kph | mile/hour .44704 mph mi/h
 | meter/second 1 m/s | knot .5144444444444445 knots
area | meter² 1 m2 m² square_meters square_metres sq_m | hectare 1e4 ha hectares
 | kilometer² 1e6 km2 km² square_kilometers square_kilometres sq_km | acre 4046.8564224 acres
 | foot² .09290304 ft2 ft² sqft square_feet sq_ft | mile² 2589988.110336 mi2 mi² square_miles sq_mi
volume | liter 1 l liters litre litres | milliliter .001 ml milliliters millilitre millilitres
 | gallon 3.785411784 gal gallons | meter³ 1000 m3 m³
power | watt 1 w watts | kilowatt 1e3 kw kilowatts | megawatt 1e6 mw megawatts
 | horsepower 745.6998715822702 hp
energy | joule 1 j joules | kilojoule 1e3 kj | kilocalorie 4184 kcal | kilowatt_hour 3.6e6 kwh
frequency | hertz 1 hz | kilohertz 1e3 khz | megahertz 1e6 mhz | gigahertz 1e9 ghz
data | megabyte 1 mb megabytes | gigabyte 1e3 gb gigabytes | terabyte 1e6 tb terabytes
pressure | pascal 1 pa pascals | hectopascal 100 hpa | bar 1e5
% | % 1 percent per_cent percentage pct | basis_points .01 bps basis_point
USD | USD 1 $ us$ usd dollar dollars
EUR | EUR 1 € eur euro euros
GBP | GBP 1 £ gbp pound_sterling pounds_sterling
JPY | JPY 1 ¥ jpy yen
INR | INR 1 ₹ inr rs rupees
CHF | CHF 1 chf swiss_francs
"""
"""Kind of unit | name, factor, other spellings | ...; ``_`` is a blank."""

_OFFSETS = {"degF": -160 / 9, "kelvin": -273.15}


def _read_measures() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for line in _MEASURES.strip().replace("\n |", " |").split("\n"):
        kind, *listed = map(str.strip, line.split("|"))
        for entry in listed:
            name, factor, *spellings = entry.split()
            unit = Unit(name.replace("_", " "), kind, float(factor), _OFFSETS.get(name, 0.0))
            names = (name.casefold(), *spellings)
            units |= dict.fromkeys((n.replace("_", " ") for n in names), unit)
    return units


_UNITS = _read_measures()
_CURRENCIES = ("USD", "EUR", "GBP", "JPY", "INR", "CHF")
_SCALES = {
    **dict.fromkeys(("k", "thousand", "thousands", "000s"), 1e3),
    **dict.fromkeys(("mn", "mln", "mil", "mill", "million", "millions"), 1e6),
    **dict.fromkeys(("bn", "billion", "billions"), 1e9),
    **dict.fromkeys(("tn", "trn", "trillion", "trillions"), 1e12),
}
_SCALES_OF_MONEY = _SCALES | {"m": 1e6, "b": 1e9, "t": 1e12}
# beside a number; in the name of a column M is metres
_SCALES_IN_CELLS = {"M": Unit(scale=1e6), "B": Unit(scale=1e9), "T": Unit(scale=1e12)}
_SCALE_NAMES = {1e3: "thousand", 1e6: "million", 1e9: "billion", 1e12: "trillion"}
_UNIT_SYMBOL = re.compile(r"us\$|[$€£¥₹%]")


@lru_cache(maxsize=2**14)
def read_unit(text: str) -> Unit | None:
    """Read a unit such as ``km/h``, ``£ million``, ``%`` or ``thousands``; None if it is none."""
    rest = text.casefold().strip(" .")
    units = {_UNITS[symbol] for symbol in _UNIT_SYMBOL.findall(rest)}
    rest = " ".join(w for w in _UNIT_SYMBOL.sub(" ", rest).split() if w not in ("in", "of"))
    candidates = {*units, *(_UNITS[word] for word in rest.split() if word in _UNITS)}
    is_money = any(unit.kind in _CURRENCIES for unit in candidates)
    scales = _SCALES_OF_MONEY if is_money else _SCALES
    scale = 1.0
    for word in [rest] if rest in _UNITS and rest not in scales else rest.split():
        if word in scales:
            scale *= scales[word]
        elif word in _UNITS:
            units.add(_UNITS[word])
        else:
            return None
    if len(units) > 1 or (not units and scale == 1):
        return None
    return (units.pop() if units else NO_UNIT)._replace(scale=scale)


def combine_units(cell: Unit, header: Unit) -> Unit:
    """Return the unit of a number from that of its cell and that in the name of its column.

    The cell's counts, and the column's adds what the cell does not say: ``$5`` in a column of
    millions is 5 million dollars, ``5 million`` in a column of dollars too.
    """
    if NO_UNIT in (cell, header):
        return header if cell == NO_UNIT else cell
    if cell.scale == 1 and header.name in ("", cell.name):
        return cell._replace(scale=header.scale)
    if not cell.name and header.scale == 1:
        return header._replace(scale=cell.scale)
    return cell


# Cells.


class Value(NamedTuple):
    """A cell as a value."""

    type: ValueType
    text: str  # without marks and without spaces around it
    key: Hashable  # equal for cells that say the same in any format
    number: float = 0.0  # without unit and scale; seconds of a time, days of a date
    unit: Unit = NO_UNIT  # of a number, from its cell and the name of its column
    readings: tuple[Day, ...] = ()  # of a date: the day first, then the month first if it may be
    estimate: str = ""  # ~ or ± before a number

    @property
    def amount(self) -> float:
        """The number times the scale of its unit."""
        return self.number * self.unit.scale

    @property
    def in_base_unit(self) -> float:
        """The number in the base unit of its kind."""
        return self.amount * self.unit.factor + self.unit.offset

    def convert(self) -> "Value":
        """Return a number in the base unit of its kind, other values as they are."""
        if self.type != "number":
            return self
        number = self.in_base_unit
        key = float(f"{number:.6g}")
        return self._replace(
            number=number,
            unit=self.unit._replace(scale=1.0),
            key=(self.estimate, key) if self.estimate else key,
        )


Values = Sequence[Value]

_EMPTY = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "none", "null", "nil", "?"})
_NAMES_LIKE_EMPTY = frozenset({"Na", "Nan"})  # a chemical element and a name, unlike NA and NaN
LONGEST_VALUE = 80  # characters above which a cell is text


@lru_cache(maxsize=2**17)
def read_value(text: str) -> Value:
    """Read a cell."""
    text = " ".join(strip_marks(text).split())
    plain = text.casefold()
    if plain in _EMPTY and text not in _NAMES_LIKE_EMPTY:
        return Value("empty", text, "")
    if plain in _BOOLS:
        return Value("bool", text, _BOOLS[plain])
    if len(text) <= LONGEST_VALUE and any(map(str.isdigit, text)):
        value = _read_time(plain) or _read_date(plain) or _read_number(text)
        if value is not None:
            return value._replace(text=text)
    return as_text(text)


def as_text(text: str) -> Value:
    """Return a text as a value that is compared as text."""
    return Value("string", text, make_text_key(text))


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
_DECADE = re.compile(r"[12]\d\d0['’]?s", re.IGNORECASE)  # 1990s are no seconds
_SMALLEST, _LARGEST = 1e-150, 1e150  # beyond these products and sums overflow: such a cell is text
_EXACT_DIGITS = 15  # digits of an integer that a float always keeps
_ESTIMATE = re.compile(
    r"(?:(?P<plus_minus>±|\+/-|\+-)|[~∼≈≃]|(?:about|around|approx\.?|approximately|roughly|circa|ca\.?)\s|c\.)"
    r"\s*(?=[-+−–(.$€£¥₹\d]|[a-z]{2,3}[$ ])",
    re.IGNORECASE,
)


def _read_number(text: str) -> Value | None:
    estimate = _ESTIMATE.match(text)
    match = _NUMBER.fullmatch(text, estimate.end() if estimate else 0)
    if match is None or _DECADE.fullmatch(text):
        return None
    written = f"{match['before'] or ''} {match['after'] or ''}".strip()
    unit = (_SCALES_IN_CELLS.get(written) or read_unit(written)) if written else NO_UNIT
    if unit is None:
        return None
    digits, exponent = match["digits"], match["exponent"] or ""
    if _EUROPEAN.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    digits = re.sub(r"[^\d.]", "", digits)
    number = float(f"{float(digits + exponent):.15g}")  # 0.30000000000000004 is 0.3
    if number and not _SMALLEST < number < _LARGEST:
        return None
    if len(digits) > _EXACT_DIGITS and digits.isdigit() and not exponent:
        number = int(digits)  # which a float would round
    if match["open"] or (match["sign"] + match["sign2"]).strip("+"):
        number = -number
    sign = ("±" if estimate["plus_minus"] else "~") if estimate else ""
    key = number if unit.scale == 1 else float(f"{number * unit.scale:.12g}")
    return Value("number", text, (sign, key) if sign else key, number, unit, estimate=sign)


_TIME = re.compile(
    r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?:\.(\d{1,6}))?\s*(?:([ap])\.?(?:m\.?)?(?![a-z]))?"
)


def _read_time(text: str) -> Value | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    first, second, third, fraction, half = match.groups()
    hours = int(first) % 12 + 12 * (half == "p") if half else int(first)
    seconds = hours * 3600.0 + int(second) * 60 + int(third or 0)
    if third is None and fraction is not None:  # 3:45.50 is minutes and seconds
        seconds /= 60
    seconds += float(f"0.{fraction or 0}")
    return Value("time", text, ("time", seconds), seconds)


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4}|\d\d([-/.])\d\d\3\d\d"
    r"|(?:[a-z]{3,9},? )?"
    rf"(?:\d{{1,4}}(?:st|nd|rd|th)?[-/. ,]*(?:of )?)?{_MONTH}[-/. ,]*"
    r"(?:\d{1,4}(?:st|nd|rd|th)?(?:[-/. ,]+\d{4})?)?"
)
_MIDNIGHT = re.compile(r"(?:t|,? )00:00(?::00(?:\.0+)?)?z?$")  # as programs write a date alone


def _read_date(text: str) -> Value | None:
    text = _MIDNIGHT.sub("", text)
    if _DATE.fullmatch(text) is None:
        return None
    orders = (True,) if any(map(str.isalpha, text)) else (True, False)
    days = dict.fromkeys(_parse_day(text, day_first) for day_first in orders)
    readings = tuple(day for day in days if day is not None)
    if not readings:
        return None
    first = min(readings, key=count_days)
    return Value("date", text, ("date", first), count_days(first), readings=readings)


def count_days(day: Day) -> float:
    """Return about how many days a date is after the year 0; a part that is not said adds none."""
    return sum((part or 0) * length for part, length in zip(day, (365.25, 30.44, 1), strict=True))


def _parse_day(text: str, day_first: bool) -> Day | None:
    """Return what a date says: the parts that are the same whatever is put in for missing ones."""
    from dateutil.parser import parse

    year_first = text[:4].isdigit()
    try:
        early, late = (
            parse(
                text, dayfirst=day_first and not year_first, yearfirst=year_first, default=default
            )
            for default in (datetime(2000, 1, 1), datetime(2004, 2, 2))
        )
    except (ValueError, OverflowError):
        return None
    parts = ((early.year, late.year), (early.month, late.month), (early.day, late.day))
    year, month, day = (one if one == other else None for one, other in parts)
    return year, month, day


# What a whole column says about its cells: booleans, identifiers, and the order of its dates.


def read_column(texts: Sequence[str], header: Unit = NO_UNIT) -> list[Value]:
    """Read the cells of a column, each as the others say that it is meant.

    ``Y`` and ``N`` are texts unless most cells are booleans, and dates in digits have the day or
    the month first, as most that can be read in one way alone.
    """
    cells = [read_value(text) for text in texts]
    types = Counter(cell.type for cell in cells)
    if types["bool"] * 2 <= len(cells) - types["empty"]:
        cells = [as_text(c.text) if c.type == "bool" and c.text in "YyNn" else c for c in cells]
    if header != NO_UNIT:
        cells = [
            c._replace(unit=combine_units(c.unit, header)) if c.type == "number" else c
            for c in cells
        ]
    days = [_DAY_OR_MONTH.match(cell.text) for cell in cells if cell.type == "date"]
    votes = sum((int(day[1]) > 12) - (int(day[2]) > 12) for day in days if day)
    return _order_dates(cells, votes > 0) if votes else cells


_DAY_OR_MONTH = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.]\d")


def align_date_orders(first: Values, second: Values) -> tuple[Values, Values]:
    """Return two paired columns, each with its dates in one order: that in which most are equal."""
    # of equals the first counts: one order in both columns before two that fit as well
    choices = [
        (_order_dates(first, left), _order_dates(second, right))
        for left, right in ((False, False), (True, True), (False, True), (True, False))
    ]
    return max(choices, key=lambda pair: sum(map(share_reading, *pair)))


def share_reading(first: Value, second: Value) -> bool:
    """Return whether two dates may be the same day."""
    return not set(first.readings).isdisjoint(second.readings)


def _order_dates(cells: Values, day_first: bool) -> list[Value]:
    """Return cells in which dates that may be read in two ways are read in one."""
    ordered = []
    for cell in cells:
        if len(cell.readings) > 1:
            day = cell.readings[not day_first]
            cell = cell._replace(key=("date", day), number=count_days(day), readings=(day,))
        ordered.append(cell)
    return ordered


_ZEROS_FIRST = re.compile(r"0\d{2,}")  # 05 is a month or a minute
_LONG_IDENTIFIER = 11  # digits from which integers that are no round amounts are identifiers


def are_identifiers(reference: Values, prediction: Values) -> bool:
    """Return whether the numbers of paired columns are codes or long integers, not amounts.

    Codes, such as postal ones, begin with zero in either column: all have one length, or most of
    them begin so (one ``007`` among amounts makes no codes of them). Long integers of the reference
    have one length of eleven digits or more, and none ends in three zeros, as amounts do.
    """
    for cells in (reference, prediction):
        integers = [cell.text for cell in cells if cell.type == "number" and cell.text.isdecimal()]
        n = sum(1 for text in integers if _ZEROS_FIRST.fullmatch(text))
        if n and (len(set(map(len, integers))) == 1 or 2 * n > len(integers)):
            return True
    texts = [cell.text for cell in reference if cell.type != "empty"]
    return (
        len(set(map(len, texts))) == 1
        and len(texts[0]) >= _LONG_IDENTIFIER
        and all(re.fullmatch(r"\d+", text) and not text.endswith("000") for text in texts)
    )


# Names of columns, with the unit that stands in them.

_BRACKETS = re.compile(r"(?P<name>.*?)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*")
_IN = re.compile(r"(?P<name>.+?)[ ,]+in (?P<unit>[^()\[\]]+)", re.IGNORECASE)
_LONGEST_NAME = 500  # characters above which no unit is looked for: the time is their square


class Name(NamedTuple):
    """The name of a column without its unit, and that unit."""

    text: str
    unit: Unit = NO_UNIT


@lru_cache(maxsize=2**13)
def read_name(header: str) -> Name:
    """Read a header such as ``Distance (km)``, ``Cost [£ million]``, ``Height in m``."""
    header = strip_marks(header).strip()
    if len(header) > _LONGEST_NAME:
        return Name(header)
    for pattern in (_BRACKETS, _IN):
        match = pattern.fullmatch(header)
        if match is not None and (unit := read_unit(match["unit"])) is not None:
            return Name(match["name"].strip(), unit)
    return Name(header, (read_unit(header) if " " in header else None) or NO_UNIT)


# Texts in normal form: their words without case and punctuation, and signs that say something.

_PLAIN = {
    **{"->": "→", ">=": "≥", "=>": "≥", "<=": "≤", "=<": "≤", "!=": "≠", "==": "=", "+/-": "±"},
    **{"⩾": "≥", "⩽": "≤", "∼": "~", "≈": "~", "−": "-", "–": "-"},
}
_SPELLING = re.compile("|".join(map(re.escape, _PLAIN)))
_PERCENT = re.compile(r"(?<=\d)\s*%")
_TOKEN = re.compile(
    r"(?<![\w)])-(?=\d)"  # -5
    r"|(?:(?<=\b[a-z])|(?<=\b[a-z]{2})|(?<=\b[a-z]{3}))-(?=$|[,;/)])"  # BBB-
    r"|\+(?!\d)|(?<=[\w+])\+"  # A++, a + b, 3+4, but not +5
    r"|(?<=[\w#])#(?!\w)"  # C#
    r"|[<>=≤≥≠±~$€£¥₹]"
    r"|[←-⇿∀-∑∓∔√-∻∽-⋿■-➿⬀-⯿\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]"  # pictures
    r"|[^\W_]+"
)
_RAISED = re.compile(r"(?<=\d)(?=[⁰¹²³⁴⁵⁶⁷⁸⁹])")
_LETTERS_APART = re.compile(r"(?<!\w)([^\W\d_]) (?=[^\W\d_](?!\w))")


@lru_cache(maxsize=2**16)
def normalize_text(text: str) -> str:
    """Return the words of a text without case and punctuation, and its signs.

    Signs that change what is said stay: of numbers, currencies, comparisons, arrows, pictures, the
    plus of ``A+`` and the minus of ``BBB-``.
    """
    plain = unicodedata.normalize("NFKC", _RAISED.sub(" ", text)).casefold()
    plain = _PERCENT.sub(" percent ", _SPELLING.sub(lambda match: _PLAIN[match[0]], plain))
    return " ".join(_TOKEN.findall(plain)) or plain.strip()


@lru_cache(maxsize=2**16)
def make_text_key(text: str) -> str:
    """Return the words of a text with single letters put together: ``U.S.`` is ``US``."""
    return _LETTERS_APART.sub(r"\1", normalize_text(text))
