"""Tables with one known error, or written otherwise without one: 25 errors and 6 harmless changes.

``CHANGES[name].apply(rows, rng, level)`` changes a table and says where it now differs.
"""

import calendar
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from random import Random
from typing import Literal, NamedTuple, TypeVar, get_args

from benchmarks.table_metrics.numbers import WrittenNumber, is_blank, written_number

Rows = tuple[tuple[str, ...], ...]
"""The cells of a table, the header first."""

Level = Literal["easy", "medium", "hard"]
"""How hard an error is to notice: many places or a large change, some, one place or a small one."""

LEVELS: tuple[Level, ...] = get_args(Level)

Part = Literal["row", "column", "header", "cell"]

_SHARE: dict[Level, float] = {"easy": 1 / 3, "medium": 1 / 8, "hard": 0.0}

T = TypeVar("T")


class Difference(NamedTuple):
    """One true difference of a changed table.

    Attributes:
        part: what differs.
        row: its row in the reference, the header being 0; None of a column.
        column: its column in the reference; None of a row.
        extra: whether the reference does not have it; then the places are those in the changed
            table.
    """

    part: Part
    row: int | None = None
    column: int | None = None
    extra: bool = False


class Changed(NamedTuple):
    """A changed table and its true differences; none of a change that keeps the meaning."""

    rows: Rows
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A way to change tables.

    Attributes:
        name: as in ``missing_row``.
        about: what it does, in a few words.
        apply: rows (rectangular, two rows and columns at least beside the header), random numbers
            and a level -> the changed table; None where it does not apply.
    """

    name: str
    about: str
    apply: Callable[[Rows, Random, Level], Changed | None]


def some(items: Sequence[T], rng: Random, level: Level, most: int | None = None) -> list[T]:
    """Draw as many items as the level says, one at least: a third, an eighth, or one.

    Args:
        items: what to draw from; not empty.
        rng: random numbers.
        level: how many.
        most: the largest number.
    """
    n = max(1, round(_SHARE[level] * len(items)))
    return rng.sample(items, min(n, len(items) if most is None else max(1, most)))


def with_cells(rows: Rows, cells: dict[tuple[int, int], str]) -> Rows:
    """Return the table with other texts in some cells, by row and column."""
    return tuple(
        tuple(cells.get((i, j), cell) for j, cell in enumerate(row)) for i, row in enumerate(rows)
    )


def places(rows: Rows) -> list[tuple[int, int]]:
    """Return row and column of every cell below the header."""
    return [(i, j) for i, row in enumerate(rows) if i for j in range(len(row))]


# Errors of rows, columns and headers


def _missing_row(rows: Rows, rng: Random, level: Level) -> Changed | None:
    lost = some(range(1, len(rows)), rng, level, len(rows) - 2)
    kept = tuple(row for i, row in enumerate(rows) if i not in lost)
    return Changed(kept, tuple(Difference("row", i) for i in sorted(lost)))


def _invented(rows: Rows, rng: Random) -> tuple[str, ...] | None:
    """Return a row under a new name with values of the columns; None if no such name is found."""
    for _ in range(20):
        row = tuple(rng.choice([other[j] for other in rows[1:]]) for j in range(len(rows[0])))
        marked = (f"{row[0]} {rng.choice(('II', 'North', 'New', 'B'))}", *row[1:])
        if row[0] and marked[0] not in {other[0] for other in rows}:
            return marked
    return None


def _extra_row(rows: Rows, rng: Random, level: Level) -> Changed | None:
    table, differences = list(rows), []
    for _ in some(range(1, len(rows)), rng, level):
        row = _invented(tuple(table), rng)
        if row is None:
            return None
        table.append(row)
        differences.append(Difference("row", len(table) - 1, extra=True))
    return Changed(tuple(table), tuple(differences))


def _duplicated_row(rows: Rows, rng: Random, level: Level) -> Changed | None:
    twice = some(range(1, len(rows)), rng, level)
    table: list[tuple[str, ...]] = []
    differences = []
    for i, row in enumerate(rows):
        table.append(row)
        if i in twice:
            table.append(row)
            differences.append(Difference("row", len(table) - 1, extra=True))
    return Changed(tuple(table), tuple(differences))


def _truncated(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Cut the table off: the last rows are missing, and the last cells of the last one left."""
    lost = len(some(range(1, len(rows)), rng, level, len(rows) - 2))
    end = len(rows) - lost
    cut = rng.randint(1, len(rows[0]) - 1)
    short = rows[end - 1][:cut]
    cut_off = [j for j in range(cut, len(rows[0])) if not is_blank(rows[end - 1][j])]
    cells = [Difference("cell", end - 1, j) for j in cut_off]
    gone = [Difference("row", i) for i in range(end, len(rows))]
    return Changed((*rows[: end - 1], short), (*cells, *gone))


def _ragged_row(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Leave a cell out, so that the rest of its row moves to the left."""
    table, differences = list(rows), []
    for i in some(range(1, len(rows)), rng, level):
        lost = rng.randrange(len(rows[0]))
        short = rows[i][:lost] + rows[i][lost + 1 :]
        if not all(map(is_blank, rows[i][lost:])):
            table[i] = short
            differences.append(Difference("row", i))
    return Changed(tuple(table), tuple(differences)) if differences else None


def _without(rows: Rows, columns: list[int]) -> Rows:
    return tuple(tuple(cell for j, cell in enumerate(row) if j not in columns) for row in rows)


def _missing_column(rows: Rows, rng: Random, level: Level) -> Changed | None:
    lost = some(range(len(rows[0])), rng, level, len(rows[0]) - 1)
    gone = tuple(Difference("column", None, j) for j in sorted(lost))
    return Changed(_without(rows, lost), gone)


def _extra_column(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Add columns of invented numbers under new names."""
    names = [name for name in ("Code", "Index", "Share", "Group") if name not in rows[0]]
    added = names[: len(some(range(len(rows[0])), rng, level, len(names)))]
    new = [(*added,), *([str(rng.randint(1, 999)) for _ in added] for _ in rows[1:])]
    table = tuple((*row, *more) for row, more in zip(rows, new, strict=True))
    width = len(rows[0])
    return Changed(
        table, tuple(Difference("column", None, width + k, extra=True) for k in range(len(added)))
    )


def _merged_columns(rows: Rows, rng: Random, level: Level) -> Changed | None:  # noqa: ARG001 (a table has one pair merged)
    j = rng.randrange(len(rows[0]) - 1)
    table = tuple((*row[:j], " ".join(filter(None, row[j : j + 2])), *row[j + 2 :]) for row in rows)
    return Changed(table, (Difference("column", None, j), Difference("column", None, j + 1)))


def _split_column(rows: Rows, rng: Random, level: Level) -> Changed | None:  # noqa: ARG001 (one column is split)
    """Divide a column whose cells have several words at the first space."""
    several = [
        j for j in range(len(rows[0])) if sum(" " in row[j] for row in rows[1:]) * 2 > len(rows) - 1
    ]
    if not several:
        return None
    j = rng.choice(several)
    halves = [(f"{rows[0][j]} 1", f"{rows[0][j]} 2")]
    halves += [(first, rest) for first, _, rest in (row[j].partition(" ") for row in rows[1:])]
    table = tuple((*row[:j], *half, *row[j + 1 :]) for row, half in zip(rows, halves, strict=True))
    return Changed(table, (Difference("column", None, j),))


def _swapped_columns(rows: Rows, rng: Random, level: Level) -> Changed | None:  # noqa: ARG001 (one pair is swapped)
    """Exchange the values of two columns under headers that stay."""
    pairs = [
        (j, k)
        for j in range(len(rows[0]))
        for k in range(j)
        if any(row[j] != row[k] for row in rows[1:]) and rows[0][j] != rows[0][k]
    ]
    if not pairs:
        return None
    j, k = rng.choice(pairs)
    order = list(range(len(rows[0])))
    order[j], order[k] = k, j
    body = (tuple(row[m] for m in order) for row in rows[1:])
    return Changed((rows[0], *body), (Difference("column", None, k), Difference("column", None, j)))


_STEPS: dict[Level, int] = {"easy": 3, "medium": 2, "hard": 1}


def _shifted_column(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Move the values of a column down against the others; the last ones come first."""
    by = min(_STEPS[level], len(rows) - 2)
    columns = [[row[j] for row in rows[1:]] for j in range(len(rows[0]))]
    moved = [[*column[-by:], *column[:-by]] for column in columns]
    able = [j for j, column in enumerate(columns) if moved[j] != column]
    if not able:
        return None
    j = rng.choice(able)
    cells = {(i, j): text for i, text in enumerate(moved[j], start=1) if text != rows[i][j]}
    return Changed(with_cells(rows, cells), tuple(Difference("cell", *place) for place in cells))


_NAMES = ("Remarks", "Category", "Source", "Reference", "Owner", "Version", "Grade", "Colour")


def _wrong_header(rows: Rows, rng: Random, level: Level) -> Changed | None:
    free = [name for name in _NAMES if name not in rows[0]]
    wrong = some(range(len(rows[0])), rng, level, len(free))
    names = dict(zip(wrong, rng.sample(free, len(wrong)), strict=True))
    header = tuple(names.get(j, name) for j, name in enumerate(rows[0]))
    return Changed((header, *rows[1:]), tuple(Difference("header", 0, j) for j in sorted(wrong)))


STRUCTURE_ERRORS = (
    Change("missing_row", "rows are missing", _missing_row),
    Change("extra_row", "rows are invented", _extra_row),
    Change("duplicated_row", "rows stand there twice", _duplicated_row),
    Change("truncated", "the table ends within a row", _truncated),
    Change("ragged_row", "a cell is left out and the rest of its row moves", _ragged_row),
    Change("missing_column", "columns are missing", _missing_column),
    Change("extra_column", "columns are invented", _extra_column),
    Change("merged_columns", "two columns are written as one", _merged_columns),
    Change("split_column", "a column is divided at the first space", _split_column),
    Change("swapped_columns", "the values of two columns are exchanged", _swapped_columns),
    Change("shifted_column", "the values of a column stand in other rows", _shifted_column),
    Change("wrong_header", "columns have names of something else", _wrong_header),
)


# Units, dates and truth values of cells

_MONTHS = tuple(calendar.month_name)[1:]
_DATES = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"),
    re.compile(rf"(?P<d>\d{{1,2}}) (?P<m>{'|'.join(_MONTHS)}) (?P<y>\d{{4}})"),
    re.compile(rf"(?P<m>{'|'.join(_MONTHS)}) (?P<d>\d{{1,2}}), (?P<y>\d{{4}})"),
)

UNITS: dict[str, tuple[tuple[str, Decimal], ...]] = {
    unit: tuple((other, size / factor) for other, factor in family if other != unit)
    for family in (
        (("km", Decimal(1000)), ("m", Decimal(1)), ("cm", Decimal("0.01"))),
        (("kg", Decimal(1)), ("g", Decimal("0.001")), ("t", Decimal(1000))),
        (("h", Decimal(3600)), ("min", Decimal(60)), ("s", Decimal(1))),
        (("km²", Decimal(100)), ("ha", Decimal(1))),
        (("million", Decimal(1000)), ("thousand", Decimal(1))),
    )
    for unit, size in family
}
"""Unit -> the other units of its kind, and how many of them one of it is."""

_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}


def unit_of_header(name: str) -> str:
    """Return the unit that a column name gives in brackets at its end, if it is one of ours."""
    unit = name.rpartition(" (")[2].removesuffix(")") if name.endswith(")") else ""
    return unit if unit in UNITS else ""


def date_in(text: str) -> tuple[date, int] | None:
    """Return the day of a cell that is one, and the number of its format; else None."""
    for place, pattern in enumerate(_DATES):
        match = pattern.fullmatch(text)
        if match:
            month = match["m"]
            number = int(month) if month.isdigit() else _MONTHS.index(month) + 1
            try:
                return date(int(match["y"]), number, int(match["d"])), place
            except ValueError:
                return None
    return None


def date_text(day: date, form: int) -> str:
    """Return a day in the format of a number: ISO, ``5 May 1998``, ``May 5, 1998``."""
    month = _MONTHS[day.month - 1]
    return (
        day.isoformat(),
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
    )[form]


DATE_FORMS = len(_DATES)


def opposite(text: str) -> str | None:
    """Return ``no`` for ``yes`` and the like, in the same case; None for any other text."""
    word = _OPPOSITES.get(text.casefold())
    if word is None:
        return None
    return word.upper() if text.isupper() else word.title() if text.istitle() else word


# Errors of single cells

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LONG = 5
"""Letters of a word that gets a typo or is cut."""


def _in_cells(
    change: Callable[[str, Random, Level], str | None], rows: Rows, rng: Random, level: Level
) -> Changed | None:
    """Change the cells of a table, each by itself."""
    changed = {
        place: text
        for place in places(rows)
        if (text := change(rows[place[0]][place[1]], rng, level)) is not None
        and text != rows[place[0]][place[1]]
    }
    return _changed(rows, changed, rng, level)


def _changed(
    rows: Rows, candidates: dict[tuple[int, int], str], rng: Random, level: Level
) -> Changed | None:
    if not candidates:
        return None
    chosen = sorted(some(sorted(candidates), rng, level))
    return Changed(
        with_cells(rows, {place: candidates[place] for place in chosen}),
        tuple(Difference("cell" if place[0] else "header", *place) for place in chosen),
    )


def _number_changed(text: str, rng: Random, level: Level) -> str | None:
    number = written_number(text)
    if number is None or not number.value:
        return None
    last = Decimal((0, (1,), int(number.value.as_tuple().exponent)))
    least, most = {"easy": (50, 95), "medium": (10, 20), "hard": (0, 1)}[level]
    away = (number.value * rng.randint(least, most) / 100).quantize(last)
    return written(number, number.value + (away or last) * rng.choice((1, -1)))


def written(number: WrittenNumber, value: Decimal) -> str:
    """Return another number, written in the same way."""
    if value == value.to_integral_value() and number.value == number.value.to_integral_value():
        value = value.to_integral_value()
    return f"{number.before}{value:{',' if number.grouped else ''}f}{number.after}"


def _sign_flipped(text: str, rng: Random, level: Level) -> str | None:  # noqa: ARG001 (there is one other sign)
    number = written_number(text)
    if number is None or not number.value:
        return None
    if number.before.endswith(("-", "−")):
        return text.replace(number.before[-1], "", 1)
    return f"-{text.removeprefix('+')}"


def _scaled(text: str, rng: Random, level: Level) -> str | None:
    number = written_number(text)
    if number is None or not number.value:
        return None
    power = {"easy": 3, "medium": 2, "hard": 1}[level]
    larger = number.value.scaleb(power if rng.random() < 0.5 else -power)
    return written(number, larger)


def _wrong_unit(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Write another unit beside the same number, or in the header of the same numbers."""
    changed = {}
    for j, name in enumerate(rows[0]):
        unit = unit_of_header(name)
        if unit and all(written_number(row[j]) for row in rows[1:] if not is_blank(row[j])):
            changed[0, j] = f"{name.rpartition('(')[0]}({rng.choice(UNITS[unit])[0]})"
    for i, j in places(rows):
        number = written_number(rows[i][j])
        if number and number.value and number.unit in UNITS:
            changed[i, j] = rows[i][j].removesuffix(number.unit) + rng.choice(UNITS[number.unit])[0]
    return _changed(rows, changed, rng, level)


def _date_shifted(text: str, rng: Random, level: Level) -> str | None:
    dated = date_in(text)
    if dated is None:
        return None
    day, form = dated
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
        if len(items) > 1 and all(items) and written_number(text) is None and date_in(text) is None:
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
    changed = {}
    for i, j in places(rows):
        values = [row[j] for row in rows[1:] if not is_blank(row[j])]
        if is_blank(rows[i][j]) and values:
            changed[i, j] = rng.choice(values)
    return _changed(rows, changed, rng, level)


def _wrong_text(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Put the value of another row into a cell that holds a text."""
    changed = {}
    for i, j in places(rows):
        text = rows[i][j]
        others = [row[j] for row in rows[1:] if row[j].casefold() != text.casefold()]
        others = [other for other in others if not is_blank(other)]
        if not is_blank(text) and others and written_number(text) is None and date_in(text) is None:
            changed[i, j] = rng.choice(others)
    return _changed(rows, changed, rng, level)


def _swapped_cells(rows: Rows, rng: Random, level: Level) -> Changed | None:
    """Exchange two values of a column between rows of other names, in one column or in several."""
    pairs: dict[int, list[tuple[int, int]]] = {}
    for j in range(1, len(rows[0])):
        for i, row in enumerate(rows[1:], start=1):
            others = [k for k in range(1, i) if rows[k][j] != row[j] and rows[k][0] != row[0]]
            pairs.setdefault(j, []).extend((i, k) for k in others)
    columns = [j for j, partners in pairs.items() if partners]
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


# Changes that keep the meaning


def _reordered_rows(rows: Rows, rng: Random, level: Level) -> Changed | None:  # noqa: ARG001 (harmless changes have no levels)
    body = list(rows[1:])
    rng.shuffle(body)
    return Changed((rows[0], *body)) if tuple(body) != rows[1:] else None


def _reordered_columns(rows: Rows, rng: Random, level: Level) -> Changed | None:  # noqa: ARG001
    order = list(range(len(rows[0])))
    rng.shuffle(order)
    table = tuple(tuple(row[j] for j in order) for row in rows)
    return Changed(table) if table != rows else None


def _transposed(rows: Rows, rng: Random, level: Level) -> Changed | None:  # noqa: ARG001
    return Changed(tuple(zip(*rows, strict=True)))


def _by_column(
    rewrite: Callable[[list[str], Random], list[str] | None],
    rows: Rows,
    rng: Random,
    level: Level,  # noqa: ARG001
) -> Changed | None:
    """Write every column otherwise for which there is another way."""
    cells: dict[tuple[int, int], str] = {}
    for j in range(len(rows[0])):
        new = rewrite([row[j] for row in rows], rng)
        cells |= {(i, j): text for i, text in enumerate(new or ())}
    table = with_cells(rows, cells)
    return Changed(table) if table != rows else None


def _other_units(column: list[str], rng: Random) -> list[str] | None:
    """Convert numbers with one unit beside them, or in brackets in the header."""
    name, *cells = column
    numbers = {text: written_number(text) for text in cells if not is_blank(text)}
    beside = {number.unit if number else None for number in numbers.values()}
    above = unit_of_header(name)
    unit = above if above and beside == {""} else beside.pop() if len(beside) == 1 else None
    if unit not in UNITS:
        return None
    other, factor = rng.choice(UNITS[unit])
    header = f"{name.rpartition('(')[0]}({other})" if unit == above else name
    written = {
        text: f"{number.before}{plain(number.value * factor)}{number.after.replace(unit, other)}"
        for text, number in numbers.items()
        if number
    }
    return [header, *(written.get(text, text) for text in cells)]


def _date_format(column: list[str], rng: Random) -> list[str] | None:
    dates = [date_in(text) for text in column[1:] if not is_blank(text)]
    if not dates or None in dates:
        return None
    used = {form for _, form in filter(None, dates)}
    form = rng.choice([k for k in range(DATE_FORMS) if k not in used] or [0])
    days = (date_in(text) for text in column[1:])
    pairs = zip(days, column[1:], strict=True)
    return [column[0], *(text if day is None else date_text(day[0], form) for day, text in pairs)]


def _number_format(column: list[str], rng: Random) -> list[str] | None:  # noqa: ARG001
    numbers = [written_number(text) for text in column[1:]]
    if not any(number.grouped for number in numbers if number):
        return None
    plainly = (
        text.replace(",", "") if n else text for n, text in zip(numbers, column[1:], strict=True)
    )
    return [column[0], *plainly]


HARMLESS = (
    Change("reordered_rows", "rows stand in another order", _reordered_rows),
    Change("reordered_columns", "columns stand in another order", _reordered_columns),
    Change("transposed", "rows are columns", _transposed),
    Change(
        "other_units", "columns are converted to another unit", partial(_by_column, _other_units)
    ),
    Change("date_format", "dates are written in another format", partial(_by_column, _date_format)),
    Change(
        "number_format",
        "no commas between thousands",
        partial(_by_column, _number_format),
    ),
)

ERRORS: Mapping[str, Change] = {
    change.name: change for change in (*STRUCTURE_ERRORS, *VALUE_ERRORS)
}
HARMLESS_CHANGES: Mapping[str, Change] = {change.name: change for change in HARMLESS}
CHANGES: Mapping[str, Change] = {**ERRORS, **HARMLESS_CHANGES}


def plain(value: Decimal) -> str:
    """Return all digits of a number, without zeros at the end of its fraction."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
