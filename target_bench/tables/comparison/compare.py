"""Two tables compared by rules, without a language model (TabAlign and TabCompare by rules)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean
from typing import Any
from unicodedata import normalize

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Cell, Table
from target_bench.tables.answer_tables import MOST_CELLS, AnswerTable
from target_bench.tables.comparison.align import (
    Grid,
    Merged,
    Pairs,
    ReadTable,
    align,
    merged_columns,
    read_table,
)
from target_bench.tables.comparison.differences import CellDifference, difference
from target_bench.tables.comparison.rubric import CellPair, ColumnPair, PlacePair, TableComparison
from target_bench.tables.comparison.values import (
    CellValue,
    DataType,
    Unit,
    are_identifiers,
    cell_value,
    converted,
    in_order_of_each_other,
    name_of,
    text_value,
    with_header,
    words,
)

AnyTable = Table | AnswerTable | Grid | Sequence[Sequence[Cell]]
"""A table, or its rows with the header first; pandas data frames are taken, too."""

MOST_ROWS = 2_000
"""Rows of a table above which it is not compared: time grows with their square and more."""

MOST_COLUMNS = 200
"""Columns of a table above which it is not compared."""


def compare_tables(reference: AnyTable | Any, prediction: AnyTable | Any) -> TableComparison:
    """Compare a table with its reference by rules: align both, then compare cell by cell.

    Args:
        reference: the table as it should be: a ``Table``, an ``AnswerTable``, a pandas data frame,
            or rows of cells, the header first.
        prediction: the table as it is.

    Raises:
        ConfigError: one is not a table.
        DataError: a table has more rows, columns or cells than are compared.
    """
    grid, other = _grid(reference, "reference"), _grid(prediction, "prediction")
    _check_size(grid, "reference")
    _check_size(other, "prediction")
    names_at = _transposed_at(grid, other)
    if names_at is not None:
        other = _transposed(other, names_at)
        _check_size(other, "transposed prediction")
    first, second = read_table(grid), read_table(other)
    return _compared(first, second, *align(first, second), turned=names_at is not None)


def compare_aligned(
    reference: Grid, prediction: Grid, columns: Pairs, rows: Pairs, turned: bool = False
) -> TableComparison:
    """Compare the cells of two tables whose rows and columns are paired.

    Args:
        reference: the table as it should be.
        prediction: the table as it is.
        columns: pairs of places of columns.
        rows: pairs of places of rows.
        turned: whether the prediction was transposed before.
    """
    return _compared(read_table(reference), read_table(prediction), columns, rows, turned)


# Tables of any kind as rectangles: rows are filled with empty cells to one length.


def _grid(table: AnyTable | Any, role: str) -> Grid:
    """Return a table as a rectangle; headers of several rows become paths with dots.

    Raises:
        ConfigError: it is not a table.
    """
    if isinstance(table, Grid):
        return table
    rows: Sequence[Sequence[Cell]]
    if isinstance(table, AnswerTable):
        rows = table.rows
    elif isinstance(table, Table):
        has_levels = table.grid is not None and table.grid.header_rows > 1
        rows = [table.grid.header_paths() if table.grid and has_levels else table.header]
        rows = [*rows, *table.rows]
    elif hasattr(table, "itertuples"):
        rows = _rows_of_frame(table)
    elif isinstance(table, list | tuple) and all(isinstance(row, list | tuple) for row in table):
        rows = table
    else:
        raise ConfigError(
            f"the {role} is {table!r:.60}, a {type(table).__name__}. A Table, an AnswerTable, a "
            "pandas DataFrame, or a list of lists with the header first are compared"
        )
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    width = max(map(len, texts), default=0)
    filled = [(*row, *[""] * (width - len(row))) for row in texts]
    return Grid(filled[0], tuple(filled[1:])) if filled else Grid((), ())


def _rows_of_frame(frame: Any) -> list[list[Cell]]:
    """Return the header and the rows of a data frame; an index with a name is a column, too."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    header = [".".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    values = frame.astype(object).where(frame.notna(), None)
    return [header, *(list(row) for row in values.itertuples(index=False, name=None))]


def _check_size(grid: Grid, role: str) -> None:
    rows, columns = len(grid.rows), len(grid.header)
    if rows > MOST_ROWS or columns > MOST_COLUMNS or rows * columns > MOST_CELLS:
        raise DataError(
            f"the {role} has {rows:,} rows and {columns:,} columns; tables are compared up to "
            f"{MOST_ROWS:,} rows, {MOST_COLUMNS:,} columns and {MOST_CELLS:,} cells"
        )


# Tables whose rows and columns were exchanged.

_LEAST_ACROSS = 0.5


def _transposed_at(reference: Grid, prediction: Grid) -> int | None:
    """Return the column of the prediction in which the names of the reference's columns stand.

    The names of columns and the cells of each column are compared, along and across: across, half
    of one of them has to agree, and both together better than along.

    Returns:
        its place, or None for a table that lies as the reference.
    """
    if not prediction.rows or not reference.header:
        return None
    (names, columns), (other_names, other_columns) = (
        ([name_of(name).text for name in grid.header], _lines(grid))
        for grid in (reference, prediction)
    )
    across = [_agreement(names, column) for column in other_columns]
    keys_across = [_agreement(column, other_names) for column in columns]
    keys = columns[keys_across.index(max(keys_across))]
    best = max(across), max(keys_across)
    along = (
        _agreement(names, other_names),
        max(_agreement(keys, column) for column in other_columns),
    )
    is_turned = sum(best) > sum(along) + 0.2 and max(best) >= _LEAST_ACROSS
    return across.index(max(across)) if is_turned else None


def _lines(grid: Grid) -> list[tuple[str, ...]]:
    """Return each column with its name."""
    return list(zip(grid.header, *grid.rows, strict=True))


def _agreement(texts: Sequence[str], others: Sequence[str]) -> float:
    """Return how much of some texts stands among others, from 0 to 1."""
    filled = [text for text in texts if text.strip()]
    keys = {cell_value(text).key for text in others if text.strip()}
    return fmean(cell_value(text).key in keys for text in filled) if filled else 0.0


def _transposed(grid: Grid, names_at: int) -> Grid:
    """Return a table with its rows as columns; ``names_at`` is the column with their names."""
    columns = _lines(grid)
    return Grid(columns[names_at], (*columns[:names_at], *columns[names_at + 1 :]))


# The comparison of aligned tables.


def _compared(
    reference: ReadTable, prediction: ReadTable, columns: Pairs, rows: Pairs, turned: bool = False
) -> TableComparison:
    merged = merged_columns(reference, prediction, columns, rows)
    columns = _with_merged(columns, merged)
    whole = {(i, j): each for each in merged for i, j in columns if each.has(i, j)}
    pairs = _all_pairs(columns, len(reference.names), len(prediction.names))
    return TableComparison(
        reference.grid,
        prediction.grid,
        turned,
        tuple(_column_pair(reference, prediction, pair, pair in whole) for pair in pairs),
        tuple(_all_pairs(rows, len(reference.grid.rows), len(prediction.grid.rows))),
        tuple(_cells(reference, prediction, columns, rows, whole)),
        merged,
    )


def _with_merged(columns: Pairs, merged: Sequence[Merged]) -> Pairs:
    """Pair a column that holds several with the first of them, if it is not paired."""
    paired = list(columns)
    for each in merged:
        sides = [{pair[side] for pair in paired} for side in (0, 1)]
        first = (each.parts[0], each.whole) if each.in_prediction else (each.whole, each.parts[0])
        if first[0] not in sides[0] and first[1] not in sides[1]:
            paired.append(first)
    return sorted(paired)


def _all_pairs(matched: Pairs, n: int, m: int) -> list[PlacePair]:
    """Return the places of both sides: paired ones and missing ones in order, then extra ones."""
    partner = dict(matched)
    taken = set(partner.values())
    return [
        *(PlacePair(i, partner.get(i)) for i in range(n)),
        *(PlacePair(None, j) for j in range(m) if j not in taken),
    ]


def _column_pair(
    reference: ReadTable, prediction: ReadTable, pair: PlacePair, is_merged: bool
) -> ColumnPair:
    name, other = (
        "" if place is None else table.grid.header[place]
        for table, place in zip((reference, prediction), pair, strict=True)
    )
    type_, other_type = (
        "empty" if place is None else _type(table, place)
        for table, place in zip((reference, prediction), pair, strict=True)
    )
    if pair.reference is None:
        return ColumnPair(pair, other, other, other_type, other_type)
    renamed = pair.is_matched and name != other and not is_merged
    return ColumnPair(
        pair, name, other, type_, other_type, _renamed(name, other) if renamed else None
    )


def _type(table: ReadTable, column: int) -> DataType:
    """Return the type of most cells of a column, ``other`` if none has most of them."""
    types = Counter(cell.type for cell in table.values[column] if cell.type != "empty")
    if not types:
        return "empty"
    most, count = types.most_common(1)[0]
    return most if count * 2 > types.total() else "other"


def _renamed(name: str, other: str) -> CellDifference:
    """Return how two names of a column differ, without their units."""
    apart = None
    if _as_typed(name) != _as_typed(other):
        apart = difference(text_value(name_of(name).text), text_value(name_of(other).text))
    return apart or CellDifference("format", 0.0)


_TYPED = str.maketrans("ı‐‑‒–—―−", "i-------", "^\u0307")
"""Dashes and letters of one meaning; ``^`` and the dot that lower case leaves of ``İ`` go."""


def _as_typed(name: str) -> str:
    """Return a name as a plain keyboard has it: ``Area (km²)`` and ``area (km^2)`` are one."""
    return " ".join(normalize("NFKC", name).casefold().translate(_TYPED).split())


def _cells(
    reference: ReadTable,
    prediction: ReadTable,
    columns: Pairs,
    rows: Pairs,
    merged: Mapping[tuple[int, int], Merged],
) -> Iterator[CellPair]:
    """Yield the cells of paired rows and columns of which one is not empty, row by row."""
    known = frozenset(  # what stands in the reference is no slip
        word
        for column in reference.values
        for cell in column
        if cell.type == "string"
        for word in words(cell.text).split()
    )

    @cache
    def scale(column: int, unit: Unit | None) -> float:
        """Return the mean size, in a unit, of a column's numbers that have one; 0 without any."""
        header = reference.units[column]
        numbers = (
            converted(cell.number, with_header(cell.unit, header), unit)
            for cell in reference.values[column]
            if cell.type == "number"
        )
        sizes = [abs(number) for number in numbers if number is not None]
        return fmean(sizes) if sizes else 0.0

    def compared(
        pair: tuple[int, int], first: CellValue, second: CellValue
    ) -> CellDifference | None:
        units = reference.units[pair[0]], prediction.units[pair[1]]
        is_number = first.type == "number"
        size = scale(pair[0], with_header(first.unit, units[0])) if is_number else 0.0
        return difference(first, second, *units, size, pair in identifying, known)

    identifying = {
        (k, m) for k, m in columns if are_identifiers(reference.values[k], prediction.values[m])
    }
    paired = []
    for k, m in columns:
        sides = (
            [reference.values[k][i] for i, _ in rows],
            [prediction.values[m][j] for _, j in rows],
        )
        paired.append(((k, m), list(zip(*in_order_of_each_other(*sides), strict=True))))
    for place, (i, j) in enumerate(rows):
        first_row, second_row = reference.grid.rows[i], prediction.grid.rows[j]
        for pair, cells in paired:
            empty = [cell.type == "empty" for cell in cells[place]]
            if all(empty):
                continue
            own = PlacePair(i, j), PlacePair(*pair), first_row[pair[0]], second_row[pair[1]]
            if any(empty) and pair not in merged:
                yield CellPair(*own, "extra" if empty[0] else "missing")
                continue
            if pair in merged:
                apart = _merged_apart(first_row, second_row, merged[pair])
            else:
                apart = compared(pair, *cells[place])
            yield CellPair(*own, "partial" if apart and apart.share > 0 else "exact", apart)


def _merged_apart(
    reference: Sequence[str], prediction: Sequence[str], merged: Merged
) -> CellDifference | None:
    """Compare the cells of columns that were merged or split; None where nothing is lost."""
    apart, together = (reference, prediction) if merged.in_prediction else (prediction, reference)
    parts, whole = " ".join(apart[part] for part in merged.parts), together[merged.whole]
    if sorted(words(parts).split()) == sorted(words(whole).split()):
        return None
    first, second = (parts, whole) if merged.in_prediction else (whole, parts)
    return difference(text_value(first), text_value(second))
