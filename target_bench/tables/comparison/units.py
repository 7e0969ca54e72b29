"""Units of measure, currencies, percent and scale words, as cells and headers write them."""

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

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
    **dict.fromkeys(("tn", "trillion", "trillions"), 1e12),
}
_AFTER_CURRENCY = {"m": 1e6, "b": 1e9, "t": 1e12}
"""Scales that are one letter, read as such only beside a currency."""

_PERCENT = ("%", "percent", "per cent", "percentage", "pct")
_MEASURES = {
    name: pint_name
    for pint_name, names in {
        "meter": "m meter meters metre metres",
        "kilometer": "km kilometer kilometers kilometre kilometres",
        "centimeter": "cm centimeter centimeters centimetre centimetres",
        "millimeter": "mm millimeter millimeters millimetre millimetres",
        "mile": "mi mile miles",
        "yard": "yd yds yard yards",
        "foot": "ft foot feet",
        "inch": "inch inches",
        "nautical_mile": "nmi",
        "gram": "g gram grams gramme grammes",
        "kilogram": "kg kgs kilogram kilograms kilogramme kilogrammes",
        "milligram": "mg milligram milligrams",
        "tonne": "t tonne tonnes",
        "pound": "lb lbs pound pounds",
        "ounce": "oz ounce ounces",
        "stone": "stone",
        "second": "s sec secs second seconds",
        "millisecond": "ms millisecond milliseconds",
        "minute": "min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "day days",
        "week": "week weeks",
        "degC": "°c celsius",
        "degF": "°f fahrenheit",
        "kelvin": "kelvin",
        "kilometer/hour": "km/h kmh kph",
        "mile/hour": "mph mi/h",
        "meter/second": "m/s",
        "knot": "knot knots",
        "meter**2": "m2 m²",
        "kilometer**2": "km2 km²",
        "foot**2": "ft2 ft² sqft",
        "mile**2": "mi2 mi²",
        "hectare": "ha hectare hectares",
        "acre": "acre acres",
        "liter": "l liter liters litre litres",
        "milliliter": "ml milliliter milliliters millilitre millilitres",
        "gallon": "gal gallon gallons",
        "meter**3": "m3 m³",
        "watt": "w watt watts",
        "kilowatt": "kw kilowatt kilowatts",
        "megawatt": "mw megawatt megawatts",
        "horsepower": "hp horsepower",
        "joule": "j joule joules",
        "kilojoule": "kj",
        "kilocalorie": "kcal",
        "kilowatt_hour": "kwh",
        "hertz": "hz hertz",
        "kilohertz": "khz",
        "megahertz": "mhz",
        "gigahertz": "ghz",
        "megabyte": "mb megabyte megabytes",
        "gigabyte": "gb gigabyte gigabytes",
        "terabyte": "tb terabyte terabytes",
        "pascal": "pa pascal pascals",
        "bar": "bar",
        "hectopascal": "hpa",
    }.items()
    for name in names.split()
} | {
    "square feet": "foot**2",
    "sq ft": "foot**2",
    "square meters": "meter**2",
    "square metres": "meter**2",
    "sq m": "meter**2",
    "square kilometers": "kilometer**2",
    "square kilometres": "kilometer**2",
    "sq km": "kilometer**2",
    "square miles": "mile**2",
    "sq mi": "mile**2",
    "nautical miles": "nautical_mile",
}
_SYMBOL = re.compile(r"us\$|[$€£¥₹%]")
_FILLER = frozenset({"in", "of"})
PERCENT = "%"


class Unit(NamedTuple):
    """A unit.

    Attributes:
        name: as pint calls it, a currency's code, or ``%``; empty for a scale alone.
        scale: what numbers are multiplied with: 1e6 for millions.
    """

    name: str
    scale: float = 1.0


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


CELL_SCALES = {"M": Unit("", 1e6), "B": Unit("", 1e9)}
"""Capital letters that are scales beside a number; in the name of a column ``M`` is metres."""


_SCALE_NAMES = {1e3: "thousand", 1e6: "million", 1e9: "billion", 1e12: "trillion"}


def label(unit: Unit | None) -> str:
    """Return a unit in words: ``million GBP``, ``meter``, ``%``; empty for none."""
    if unit is None:
        return ""
    scale = "" if unit.scale == 1 else _SCALE_NAMES.get(unit.scale, f"{unit.scale:g}")
    return f"{scale} {unit.name}".strip()


@lru_cache(maxsize=2**14)
def unit(text: str) -> Unit | None:
    """Read a unit such as ``km/h``, ``£ million``, ``%`` or ``thousands``; None if it is none."""
    rest = text.casefold().strip(" .")
    found = [_name(symbol) for symbol in _SYMBOL.findall(rest)]
    rest = " ".join(word for word in _SYMBOL.sub(" ", rest).split() if word not in _FILLER)
    has_currency = any(word in _CURRENCIES for word in (*_SYMBOL.findall(text), *rest.split()))
    scales = _SCALES | _AFTER_CURRENCY if has_currency else _SCALES
    scale = 1.0
    whole = None if rest in scales else _name(rest)
    if rest and whole is not None:
        found.append(whole)
    elif rest:
        for word in rest.split():
            if word in scales:
                scale *= scales[word]
            elif (name := _name(word)) is not None:
                found.append(name)
            else:
                return None
    names = {name for name in found if name}
    if len(names) > 1 or (not names and scale == 1):
        return None
    return Unit(names.pop() if names else "", scale)


def _name(word: str) -> str | None:
    if word in _PERCENT:
        return PERCENT
    return _CURRENCIES.get(word) or _MEASURES.get(word)


@lru_cache(maxsize=2**12)
def factor(source: str, target: str) -> tuple[float, float] | None:
    """Return (factor, offset) that turn values of one unit into another; None if none do.

    Args:
        source: name of a unit, as ``unit`` gives it.
        target: the same.
    """
    if source == target:
        return 1.0, 0.0
    if {source, target} == {PERCENT, ""}:
        return (0.01, 0.0) if source == PERCENT else (100.0, 0.0)
    if not (_is_measure(source) and _is_measure(target)):
        return None
    quantity = _registry().Quantity
    try:
        zero, one = (float(quantity(value, source).to(target).magnitude) for value in (0.0, 1.0))
    except _registry_errors():
        return None
    return one - zero, zero


def converted(number: float, source: Unit | None, target: Unit | None) -> float | None:
    """Return a number of one unit in another, None if it cannot be converted.

    Where one of them names no unit, only their scales are converted.
    """
    one, two = source or Unit(""), target or Unit("")
    conversion = factor(one.name, two.name) if one.name and two.name else (1.0, 0.0)
    if conversion is None:
        return None
    return (number * one.scale * conversion[0] + conversion[1]) / two.scale


@cache
def _measures() -> frozenset[str]:
    return frozenset(_MEASURES.values())


def _is_measure(name: str) -> bool:
    return name in _measures()


@cache
def _registry() -> Any:
    from pint import UnitRegistry

    return UnitRegistry()


def _registry_errors() -> type[Exception]:
    from pint import DimensionalityError

    return DimensionalityError
