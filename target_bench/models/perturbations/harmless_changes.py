"""Changes that keep the meaning of a table: a good metric scores the result as the table itself."""

from collections.abc import Callable
from functools import partial
from random import Random

from target_bench.models.perturbations.cell_texts import (
    DATE_FORMS,
    UNITS,
    date_in,
    date_text,
    is_blank,
    number_in,
    plain,
    unit_of_header,
)
from target_bench.models.perturbations.perturbed import Change, Changed, Level, Rows, with_cells


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
    numbers = {text: number_in(text) for text in cells if not is_blank(text)}
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
    found = (date_in(text) for text in column[1:])
    pairs = zip(found, column[1:], strict=True)
    return [column[0], *(text if day is None else date_text(day[0], form) for day, text in pairs)]


def _number_format(column: list[str], rng: Random) -> list[str] | None:  # noqa: ARG001
    found = [number_in(text) for text in column[1:]]
    if not any(number.grouped for number in found if number):
        return None
    plainly = (
        text.replace(",", "") if n else text for n, text in zip(found, column[1:], strict=True)
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
