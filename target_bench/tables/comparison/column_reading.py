"""What a column says about how its cells are read: identifiers, and the order of its dates."""

import re
from collections.abc import Sequence
from itertools import product

from target_bench.tables.comparison.cell_values import CellValue, with_day_first

_ZEROS_FIRST = re.compile(r"0\d{2,}")
"""An integer of three digits or more that begins with zero: ``05`` is a month or a minute."""

_DIGITS = re.compile(r"\d+")
_LONG = 11
"""Digits from which integers may be identifiers, if nothing in the column is an amount."""

_DAY_OR_MONTH = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.]\d")
_MONTHS = 12

Cells = Sequence[CellValue]


def has_zeros_first(cells: Cells) -> bool:
    """Return whether a column has integers that begin with zero: codes, not amounts."""
    return any(cell.type == "number" and _ZEROS_FIRST.fullmatch(cell.text) for cell in cells)


def are_long_identifiers(cells: Cells) -> bool:
    """Return whether a column has long integers of one length that nobody calculates with.

    They have eleven digits or more and nothing else, and none ends in three zeros, as amounts do.
    """
    texts = [cell.text for cell in cells if cell.type != "empty"]
    return (
        len({len(text) for text in texts}) == 1
        and len(texts[0]) >= _LONG
        and all(_DIGITS.fullmatch(text) and not text.endswith("000") for text in texts)
    )


def in_one_order(cells: Cells) -> Cells:
    """Return a column with its dates in digits read in one order: the day, or the month, first.

    Dates that can be read in one way alone decide, by majority; without any the column stays as it
    is.
    """
    votes = 0
    for cell in cells:
        places = _DAY_OR_MONTH.match(cell.text) if cell.type == "date" else None
        if places is not None:
            first, second = int(places[1]), int(places[2])
            votes += (first > _MONTHS) - (second > _MONTHS)
    return _read(cells, votes > 0) if votes else cells


def in_order_of_each_other(one: Cells, two: Cells) -> tuple[Cells, Cells]:
    """Return two paired columns, each with its dates in one order: that in which most are equal.

    Args:
        one: cells of a column, a cell for each of ``two``.
        two: the cells beside them.
    """
    options = [
        [_read(side, False), _read(side, True)] if any(map(_is_open, side)) else [side]
        for side in (one, two)
    ]
    if len(options[0]) == len(options[1]) == 1:
        return one, two
    pairs = sorted(
        product(range(len(options[0])), range(len(options[1]))), key=lambda p: p[0] != p[-1]
    )
    choices = [(options[0][i], options[1][j]) for i, j in pairs]
    return max(choices, key=lambda pair: sum(map(_share_a_day, *pair)))


def _read(cells: Cells, day_first: bool) -> Cells:
    return [with_day_first(cell, day_first) if _is_open(cell) else cell for cell in cells]


def _is_open(cell: CellValue) -> bool:
    return len(cell.readings) > 1


def _share_a_day(one: CellValue, two: CellValue) -> bool:
    return not one.readings.isdisjoint(two.readings)
