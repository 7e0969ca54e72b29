"""Two tables compared by rules, without a language model (TabAlign and TabCompare by rules)."""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean
from typing import Any, TypeGuard
from unicodedata import normalize

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Cell, Table
from target_bench.tables.answer_tables import MOST_CELLS, AnswerTable
from target_bench.tables.comparison.align import (
    Columns,
    Merged,
    Pairs,
    align,
    align_columns,
    merged_columns,
)
from target_bench.tables.comparison.differences import CellDifference, difference
from target_bench.tables.comparison.rubric import (
    CellPair,
    ColumnPair,
    Grid,
    Outcome,
    PlacePair,
    TableComparison,
)
from target_bench.tables.comparison.values import (
    CellValue,
    DataType,
    Unit,
    are_long_identifiers,
    cell_value,
    converted,
    has_zeros_first,
    in_one_order,
    in_order_of_each_other,
    name_of,
    text_value,
    with_compact_dates,
    with_header,
    words,
)

AnyTable = Table | AnswerTable | Grid | Sequence[Sequence[Cell]]
"""A table, or its rows with the header first; pandas data frames are taken, too."""

MOST_ROWS = 2_000
"""Rows of a table above which it is not compared: time grows with their square and more."""

MOST_COLUMNS = 200
"""Columns of a table above which it is not compared."""


def compare_tables(
    reference: AnyTable | Any, prediction: AnyTable | Any, *, key: str | Sequence[str] = ()
) -> TableComparison:
    """Compare a table with its reference by rules: align both, then compare cell by cell.

    Args:
        reference: the table as it should be: a ``Table``, an ``AnswerTable``, a pandas data frame,
            or rows of cells, the header first.
        prediction: the table as it is.
        key: names of the columns that say which row is which. Rows with equal keys belong together,
            and tables may have any number of rows: time grows with it, not with its square. Where
            several rows of a table have one key, they are paired in their order, and
            ``repeated_keys`` counts such keys. Keys of equal text are paired before those that are
            written otherwise. A prediction with a key is not looked at turned.
            None: rows are aligned by all their cells.

    Raises:
        ConfigError: one is not a table, or has no column, or several, of a name of the key.
        DataError: a table has more rows, columns or cells than are compared.
    """
    names = [key] if isinstance(key, str) else list(key)
    reference_grid, prediction_grid = _grid(reference, "reference"), _grid(prediction, "prediction")
    if names:
        return _compared_by_key(_ReadTable(reference_grid), _ReadTable(prediction_grid), names)
    _check_size(reference_grid, "reference")
    _check_size(prediction_grid, "prediction")
    names_at = _transposed_at(reference_grid, prediction_grid)
    if names_at is not None:
        prediction_grid = _transposed(prediction_grid, names_at)
        _check_size(prediction_grid, "transposed prediction")
    first, second = _ReadTable(reference_grid), _ReadTable(prediction_grid)
    columns, rows = align(first.columns, second.columns)
    return _compared(first, second, columns, rows, names_at is not None)


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
    return _compared(_ReadTable(reference), _ReadTable(prediction), columns, rows, turned)


# Tables of any kind as rectangles: rows are filled with empty cells to one length.


def _grid(table: AnyTable | Any, role: str) -> Grid:
    """Return a table as a rectangle; headers of several rows become paths with dots.

    Raises:
        ConfigError: it is not a table.
    """
    if isinstance(table, Grid):
        return table
    if isinstance(table, AnswerTable):
        return _rectangle(table.rows)
    if isinstance(table, Table):
        has_levels = table.grid is not None and table.grid.header_rows > 1
        header = table.grid.header_paths() if table.grid and has_levels else table.header
        return _rectangle([header, *table.rows])
    kind = type(table)
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame":
        return _rectangle(_rows_of_frame(table))
    return _rectangle(_checked_rows(table, role))


def _rectangle(rows: Sequence[Sequence[Cell]]) -> Grid:
    texts = [[_text(cell) for cell in row] for row in rows]
    if not texts:
        return Grid((), ())
    header = len(texts[0])
    width = max(map(len, texts))
    filled = [(*row, *[""] * (width - len(row))) for row in texts]
    return Grid(filled[0], tuple(filled[1:]), sum(len(row) != header for row in texts[1:]))


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell)


def _rows_of_frame(frame: Any) -> list[list[Cell]]:
    """Return the header and the rows of a data frame; an index with a name is a column, too."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    header = [".".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in frame.columns]
    values = frame.astype(object).where(frame.notna(), None)
    return [header, *(list(row) for row in values.itertuples(index=False, name=None))]


_ACCEPTED = (
    "A Table, an AnswerTable, a pandas DataFrame, or a list of rows with the header first are "
    "compared"
)


def _checked_rows(table: object, role: str) -> Sequence[Sequence[Cell]]:
    """Return the rows that a user gave, if they are a list of lists.

    Raises:
        ConfigError: it is another data frame, a text, a mapping, or anything else.
    """
    if not _is_list(table):
        raise ConfigError(f"the {role} is a {type(table).__name__}. {_ACCEPTED}")
    for number, row in enumerate(table):
        if not _is_list(row):
            raise ConfigError(f"the {role}: row {number} is {row!r:.40}, not a list. {_ACCEPTED}")
    return table


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _check_size(grid: Grid, role: str) -> None:
    rows, columns = len(grid.rows), len(grid.header)
    if rows > MOST_ROWS or columns > MOST_COLUMNS or rows * columns > MOST_CELLS:
        raise DataError(
            f"the {role} has {rows:,} rows and {columns:,} columns; tables are compared up to "
            f"{MOST_ROWS:,} rows, {MOST_COLUMNS:,} columns and {MOST_CELLS:,} cells. Tables of any "
            "number of rows are compared by a key: --key COLUMN, in Python key=[COLUMN]"
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
    names, columns = _edges(reference)
    other_names, other_columns = _edges(prediction)
    across = [_agreement(names, column) for column in other_columns]
    place = across.index(max(across))
    keys_across = [_agreement(column, other_names) for column in columns]
    keys = columns[keys_across.index(max(keys_across))]
    best = across[place], max(keys_across)
    along = (
        _agreement(names, other_names),
        max(_agreement(keys, column) for column in other_columns),
    )
    return place if sum(best) > sum(along) + 0.2 and max(best) >= _LEAST_ACROSS else None


def _edges(grid: Grid) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the names of the columns, and each column with its name."""
    names = tuple(name_of(name).text for name in grid.header)
    return names, list(zip(grid.header, *grid.rows, strict=True))


def _agreement(texts: Sequence[str], others: Sequence[str]) -> float:
    """Return how much of some texts stands among others, from 0 to 1."""
    filled = [text for text in texts if text.strip()]
    keys = {cell_value(text).key for text in others if text.strip()}
    return fmean(cell_value(text).key in keys for text in filled) if filled else 0.0


def _transposed(grid: Grid, names_at: int) -> Grid:
    """Return a table with its rows as columns; ``names_at`` is the column with their names."""
    columns = list(zip(*(grid.header, *grid.rows), strict=True))
    turned = [columns[names_at], *columns[:names_at], *columns[names_at + 1 :]]
    return Grid(turned[0], tuple(turned[1:]), grid.ragged)


# Rows paired by a key.

_Key = tuple[object, ...]
"""What the columns of a key say of a row."""


def _compared_by_key(
    reference: "_ReadTable", prediction: "_ReadTable", names: Sequence[str]
) -> TableComparison:
    places = [
        [_place_of(name, side.grid, role) for name in names]
        for side, role in ((reference, "reference"), (prediction, "prediction"))
    ]
    rows, repeated = _rows_paired(reference, prediction, places)
    columns = align_columns(
        reference.columns, prediction.columns, rows, list(zip(*places, strict=True))
    )
    return replace(_compared(reference, prediction, columns, rows), repeated_keys=repeated)


def _place_of(name: str, grid: Grid, role: str) -> int:
    """Return the place of the column of a name, as it is typed if need be.

    Raises:
        ConfigError: there is none, or there are several.
    """
    for places in (
        [i for i, other in enumerate(grid.header) if other == name],
        [i for i, other in enumerate(grid.header) if _as_typed(other) == _as_typed(name)],
    ):
        if len(places) == 1:
            return places[0]
        if places:
            raise ConfigError(f"key {name!r}: the {role} has {len(places)} columns of this name")
    raise ConfigError(
        f"key {name!r}: the {role} has no such column. Its columns are {', '.join(grid.header)}"
    )


def _rows_paired(
    reference: "_ReadTable", prediction: "_ReadTable", places: Sequence[Sequence[int]]
) -> tuple[Pairs, int]:
    """Return the pairs of rows with equal keys, and the number of keys of several rows.

    Keys of equal text come first, then those that are equal in another format: ``01`` and ``1``
    may be two keys of one table, and ``1`` and ``1.0`` one key of two. Dates of equal text but in
    columns of another order are not equal.
    """
    sides = list(zip((reference, prediction), places, strict=True))
    texts = [_keys(side, at, lambda cell: (cell.text.strip(), cell.key)) for side, at in sides]
    read = [_keys(side, at, lambda cell: cell.key) for side, at in sides]
    pairs: Pairs = []
    repeated: set[_Key] = set()
    for keys in (texts, read):
        done = [{pair[side] for pair in pairs} for side in (0, 1)]
        rows = [_rows_by_key(own, taken) for own, taken in zip(keys, done, strict=True)]
        for side, by_key in enumerate(rows):
            repeated |= {read[side][own[0]] for own in by_key.values() if len(own) > 1}
        for key, own in rows[0].items():
            pairs += zip(own, rows[1].get(key, ()), strict=False)
    return sorted(pairs), len(repeated)


def _keys(
    side: "_ReadTable", places: Sequence[int], read: Callable[[CellValue], object]
) -> list[_Key]:
    """Return what the columns of the key say of each row."""
    columns = [map(read, side.columns.values[place]) for place in places]
    return list(zip(*columns, strict=True))


def _rows_by_key(keys: Sequence[_Key], done: Container[int]) -> dict[_Key, list[int]]:
    """Return key -> the places of its rows, in their order, but those that are done."""
    rows: dict[_Key, list[int]] = {}
    for row, key in enumerate(keys):
        if row not in done:
            rows.setdefault(key, []).append(row)
    return rows


# The comparison of aligned tables.


class _ReadTable:
    """A table with its cells and names read.

    Attributes:
        grid: the table.
        names: the names of its columns, with their units.
        columns: its columns as they are aligned.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.names = [name_of(name) for name in grid.header]
        read = [[cell_value(cell) for cell in row] for row in grid.rows]
        values = (
            [
                in_one_order(with_compact_dates(_letters_as_text(column)))
                for column in zip(*read, strict=True)
            ]
            if read
            else [[] for _ in self.names]
        )
        self.columns = Columns(
            [name.text for name in self.names], values, [name.unit for name in self.names]
        )

    def type(self, column: int) -> DataType:
        """Return the type of most cells of a column, ``other`` if none has most of them."""
        types = Counter(cell.type for cell in self.columns.values[column] if cell.type != "empty")
        if not types:
            return "empty"
        most, count = types.most_common(1)[0]
        return most if count * 2 > types.total() else "other"

    def unit(self, column: int, cell: CellValue) -> Unit | None:
        """Return the unit of a number, which its cell or the name of its column says."""
        return with_header(cell.unit, self.names[column].unit)

    def scale(self, column: int, unit: Unit | None) -> float:
        """Return the mean size, in a unit, of a column's numbers that have one; 0 without any."""
        numbers = (
            converted(cell.number, self.unit(column, cell), unit)
            for cell in self.columns.values[column]
            if cell.type == "number"
        )
        sizes = [abs(number) for number in numbers if number is not None]
        return fmean(sizes) if sizes else 0.0

    def words(self) -> frozenset[str]:
        """Return the words of its texts: what stands in the reference is no slip."""
        return frozenset(
            word
            for column in self.columns.values
            for cell in column
            if cell.type == "string"
            for word in words(cell.text).split()
        )


def _letters_as_text(column: Sequence[CellValue]) -> Sequence[CellValue]:
    """Return a column with its ``Y`` and ``N`` as texts unless most of its cells are booleans."""
    types = Counter(cell.type for cell in column)
    if not types["bool"] or types["bool"] * 2 > len(column) - types["empty"]:
        return column
    return [
        text_value(cell.text) if cell.type == "bool" and cell.text in {*"YyNn"} else cell
        for cell in column
    ]


def _compared(
    reference: _ReadTable, prediction: _ReadTable, columns: Pairs, rows: Pairs, turned: bool = False
) -> TableComparison:
    merged = merged_columns(reference.columns, prediction.columns, columns, rows)
    columns = _with_merged(columns, merged)
    whole = {(i, j): each for each in merged for i, j in columns if each.has(i, j)}
    column_pairs = _all_pairs(columns, len(reference.grid.header), len(prediction.grid.header))
    return TableComparison(
        reference.grid,
        prediction.grid,
        turned,
        tuple(
            _column_pair(reference, prediction, pair, tuple(pair) in whole) for pair in column_pairs
        ),
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
    reference: _ReadTable, prediction: _ReadTable, pair: PlacePair, is_merged: bool
) -> ColumnPair:
    name = "" if pair.reference is None else reference.grid.header[pair.reference]
    other = "" if pair.prediction is None else prediction.grid.header[pair.prediction]
    types: list[DataType] = [
        "empty" if place is None else side.type(place)
        for side, place in zip((reference, prediction), pair, strict=True)
    ]
    renamed = pair.is_matched and name != other and not is_merged
    extra = pair.reference is None
    return ColumnPair(
        pair,
        other if extra else name,
        other,
        types[1] if extra else types[0],
        types[1],
        _renamed(name, other) if renamed else None,
    )


def _renamed(name: str, other: str) -> CellDifference:
    """Return how two names of a column differ, without their units."""
    if _as_typed(name) != _as_typed(other):
        apart = difference(text_value(name_of(name).text), text_value(name_of(other).text))
        if apart is not None:
            return apart
    return CellDifference("format", 0.0)


_TYPED = str.maketrans("ı‐‑‒–—―−", "i-------", "^\u0307")
"""Dashes and letters of one meaning; ``^`` and the dot that lower case leaves of ``İ`` go."""


def _as_typed(name: str) -> str:
    """Return a name as a plain keyboard has it: ``Area (km²)`` and ``area (km^2)`` are one."""
    return " ".join(normalize("NFKC", name).casefold().translate(_TYPED).split())


def _cells(
    reference: _ReadTable,
    prediction: _ReadTable,
    columns: Pairs,
    rows: Pairs,
    merged: Mapping[tuple[int, int], Merged],
) -> Iterator[CellPair]:
    """Yield the cells of paired rows and columns of which one is not empty, row by row."""
    scale = cache(reference.scale)
    known = reference.words()
    paired = [(pair, *_paired_column(reference, prediction, *pair, rows)) for pair in columns]
    for place, (i, j) in enumerate(rows):
        for (k, m), identifies, cells in paired:
            first, second = cells[place]
            empty = (first.type == "empty", second.type == "empty")
            if all(empty):
                continue
            apart = None
            outcome: Outcome = "extra" if empty[0] else "missing"
            if (k, m) in merged or not any(empty):
                if (k, m) in merged:
                    apart = _merged_apart(
                        reference.grid.rows[i], prediction.grid.rows[j], merged[k, m]
                    )
                else:
                    size = scale(k, reference.unit(k, first)) if first.type == "number" else 0.0
                    units = reference.names[k].unit, prediction.names[m].unit
                    apart = difference(first, second, *units, size, identifies, known)
                outcome = "partial" if apart is not None and apart.share > 0 else "exact"
            yield CellPair(
                PlacePair(i, j),
                PlacePair(k, m),
                reference.grid.rows[i][k],
                prediction.grid.rows[j][m],
                outcome,
                apart,
            )


def _paired_column(
    reference: _ReadTable, prediction: _ReadTable, place: int, other: int, rows: Pairs
) -> tuple[bool, list[tuple[CellValue, CellValue]]]:
    """Return whether a column's numbers are identifiers, and its cells in each pair of rows."""
    first, second = reference.columns.values[place], prediction.columns.values[other]
    identifies = has_zeros_first(first) or has_zeros_first(second) or are_long_identifiers(first)
    sides = in_order_of_each_other([first[i] for i, _ in rows], [second[j] for _, j in rows])
    return identifies, list(zip(*sides, strict=True))


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
