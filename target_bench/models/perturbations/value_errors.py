"""Errors of single cells."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial
from random import Random

from target_bench.models.perturbations.cell_texts import (
    UNITS,
    date_in,
    date_text,
    is_blank,
    number_in,
    opposite,
    unit_of_header,
)
from target_bench.models.perturbations.perturbed import (
    Change,
    Changed,
    Difference,
    Level,
    Rows,
    places,
    some,
    with_cells,
)

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LONG = 5
"""Letters of a word that gets a typo or is cut."""


def _in_cells(
    change: Callable[[str, Random, Level], str | None], rows: Rows, rng: Random, level: Level
) -> Changed | None:
    """Change the cells of a table, each by itself."""
    found = {
        place: text
        for place in places(rows)
        if (text := change(rows[place[0]][place[1]], rng, level)) is not None
        and text != rows[place[0]][place[1]]
    }
    return _changed(rows, found, rng, level)


def _changed(
    rows: Rows, found: dict[tuple[int, int], str], rng: Random, level: Level
) -> Changed | None:
    if not found:
        return None
    chosen = sorted(some(sorted(found), rng, level))
    return Changed(
        with_cells(rows, {place: found[place] for place in chosen}),
        tuple(Difference("cell" if place[0] else "header", *place) for place in chosen),
    )


def _number_changed(text: str, rng: Random, level: Level) -> str | None:
    number = number_in(text)
    if number is None or not number.value:
        return None
    last = Decimal((0, (1,), int(number.value.as_tuple().exponent)))
    least, most = {"easy": (50, 95), "medium": (10, 20), "hard": (0, 1)}[level]
    away = (number.value * rng.randint(least, most) / 100).quantize(last)
    return number.written(number.value + (away or last) * rng.choice((1, -1)))


def _sign_flipped(text: str, rng: Random, level: Level) -> str | None:  # noqa: ARG001 (there is one other sign)
    number = number_in(text)
    if number is None or not number.value:
        return None
    if number.before.endswith(("-", "−")):
        return text.replace(number.before[-1], "", 1)
    return f"-{text.removeprefix('+')}"


def _scaled(text: str, rng: Random, level: Level) -> str | None:
    number = number_in(text)
    if number is None or not number.value:
        return None
    power = {"easy": 3, "medium": 2, "hard": 1}[level]
    larger = number.value.scaleb(power if rng.random() < 0.5 else -power)
    return number.written(larger)


def _wrong_unit(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Write another unit beside the same number, or in the header of the same numbers."""
    found = {}
    for j, name in enumerate(rows[0]):
        unit = unit_of_header(name)
        if unit and all(number_in(row[j]) for row in rows[1:] if not is_blank(row[j])):
            found[0, j] = f"{name.rpartition('(')[0]}({rng.choice(UNITS[unit])[0]})"
    for i, j in places(rows):
        number = number_in(rows[i][j])
        if number and number.value and number.unit in UNITS:
            found[i, j] = rows[i][j].removesuffix(number.unit) + rng.choice(UNITS[number.unit])[0]
    return _changed(rows, found, rng, level)


def _date_shifted(text: str, rng: Random, level: Level) -> str | None:
    found = date_in(text)
    if found is None:
        return None
    day, form = found
    days = {"easy": 1461, "medium": 60, "hard": 1}[level] * rng.choice((1, -1))
    try:
        return date_text(day + timedelta(days=days), form)
    except OverflowError:  # before the year 1, or after 9999
        return None


def _boolean_flipped(text: str, rng: Random, level: Level) -> str | None:  # noqa: ARG001 (there is one other value)
    return opposite(text)


def _list_item_lost(text: str, rng: Random, level: Level) -> str | None:  # noqa: ARG001 (one item is lost)
    for mark in ("; ", ", ", " / "):
        items = text.split(mark)
        if len(items) > 1 and all(items) and number_in(text) is None and date_in(text) is None:
            del items[rng.randrange(len(items))]
            return mark.join(items)
    return None


def _typo(text: str, rng: Random, level: Level) -> str | None:
    letters = [k for k, c in enumerate(text) if c.isalpha() and c.isascii()]
    edits = {"easy": 3, "medium": 2, "hard": 1}[level]
    if len(letters) < _LONG * edits:
        return None
    characters = list(text)
    for k in rng.sample(letters[1:], edits):
        other = rng.choice([c for c in _LETTERS if c != text[k].lower()])
        characters[k] = rng.choice((other, "", text[k] + text[k].lower()))
    return "".join(characters)


def _abbreviated(text: str, rng: Random, level: Level) -> str | None:  # noqa: ARG001 (abbreviations have no levels)
    words = text.split()
    if not words or not all(word.isalpha() for word in words):
        return None
    if len(words) > 1 and all(word[0].isupper() for word in words):
        return "".join(word[0] for word in words)
    return f"{text[:3]}." if len(words) == 1 and len(text) > _LONG else None


def _missing_cell(rows: Rows, rng: Random, level: Level) -> Changed | None:
    return _changed(
        rows, {(i, j): "" for i, j in places(rows) if not is_blank(rows[i][j])}, rng, level
    )


def _extra_cell(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Fill empty cells with a value that the column has elsewhere."""
    found = {}
    for i, j in places(rows):
        values = [row[j] for row in rows[1:] if not is_blank(row[j])]
        if is_blank(rows[i][j]) and values:
            found[i, j] = rng.choice(values)
    return _changed(rows, found, rng, level)


def _wrong_text(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Put the value of another row into a cell that holds a text."""
    found = {}
    for i, j in places(rows):
        text = rows[i][j]
        others = [row[j] for row in rows[1:] if row[j].casefold() != text.casefold()]
        others = [other for other in others if not is_blank(other)]
        if not is_blank(text) and others and number_in(text) is None and date_in(text) is None:
            found[i, j] = rng.choice(others)
    return _changed(rows, found, rng, level)


def _swapped_cells(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Exchange two values of a column between rows of other names, in one column or in several."""
    pairs: dict[int, list[tuple[int, int]]] = {}
    for j in range(1, len(rows[0])):
        for i, row in enumerate(rows[1:], start=1):
            others = [k for k in range(1, i) if rows[k][j] != row[j] and rows[k][0] != row[0]]
            pairs.setdefault(j, []).extend((i, k) for k in others)
    columns = [j for j, found in pairs.items() if found]
    if not columns:
        return None
    cells: dict[tuple[int, int], str] = {}
    for j in some(columns, rng, level):
        i, k = rng.choice(pairs[j])
        cells |= {(i, j): rows[k][j], (k, j): rows[i][j]}
    return Changed(
        with_cells(rows, cells), tuple(Difference("cell", *place) for place in sorted(cells))
    )


def _cell_change(
    name: str, about: str, change: Callable[[str, Random, Level], str | None]
) -> Change:
    return Change(name, about, partial(_in_cells, change))


VALUE_ERRORS = (
    Change("missing_cell", "cells are empty", _missing_cell),
    Change("extra_cell", "empty cells are filled", _extra_cell),
    Change("swapped_cells", "two values of a column are exchanged", _swapped_cells),
    Change("wrong_text", "texts stand in for others of their column", _wrong_text),
    Change("wrong_unit", "another unit stands beside the same number", _wrong_unit),
    _cell_change("number_changed", "numbers are too large or too small", _number_changed),
    _cell_change("sign_flipped", "numbers have the other sign", _sign_flipped),
    _cell_change("scaled", "numbers are ten, 100 or 1,000 times too large or small", _scaled),
    _cell_change("date_shifted", "dates are years, months or a day off", _date_shifted),
    _cell_change("boolean_flipped", "yes stands for no, or no for yes", _boolean_flipped),
    _cell_change("list_item_lost", "an item of a list is missing", _list_item_lost),
    _cell_change("typo", "letters are wrong, doubled or missing", _typo),
    _cell_change("abbreviated", "names are cut to initials or letters", _abbreviated),
)
