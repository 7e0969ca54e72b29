"""Two tables compared by rules, without a language model (TabAlign and TabCompare by rules)."""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean
from typing import Any
from unicodedata import normalize

from target_bench.core.errors import ConfigError
from target_bench.tables.comparison.alignment import (
    Columns,
    Pairs,
    align,
    align_columns,
)
from target_bench.tables.comparison.cell_values import CellValue, DataType, cell_value
from target_bench.tables.comparison.column_reading import (
    are_long_identifiers,
    has_zeros_first,
    in_one_order,
    in_order_of_each_other,
)
from target_bench.tables.comparison.differences import Difference, difference
from target_bench.tables.comparison.explained_comparison import TableComparison
from target_bench.tables.comparison.grids import AnyTable, grid_of, transposed
from target_bench.tables.comparison.headers import Name, name_of
from target_bench.tables.comparison.merged import merged_columns
from target_bench.tables.comparison.plain_text import text_key, words
from target_bench.tables.comparison.rubric import (
    CellPair,
    ColumnPair,
    Grid,
    Merged,
    Outcome,
    Pair,
)
from target_bench.tables.comparison.units import Unit, converted, with_header

Key = tuple[object, ...]
"""What the columns of a key say of a row."""


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
    one, two = (
        grid_of(table, role, any_size=bool(names))
        for table, role in ((reference, "reference"), (prediction, "prediction"))
    )
    if names:
        return _compared_by_key(Side(one), Side(two), names)
    names_at = transposed_at(one, two)
    turned = names_at is not None
    if names_at is not None:
        two = grid_of(transposed(two, names_at), "transposed prediction")
    first, second = Side(one), Side(two)
    columns, rows = align(first.columns, second.columns)
    return _compared(first, second, columns, rows, turned)


def _compared_by_key(one: "Side", two: "Side", names: Sequence[str]) -> TableComparison:
    places = [
        [_place_of(name, side.grid, role) for name in names]
        for side, role in ((one, "reference"), (two, "prediction"))
    ]
    rows, repeated = _rows_paired(one, two, places)
    keys = list(zip(*places, strict=True))
    columns = align_columns(one.columns, two.columns, rows, keys)
    return replace(_compared(one, two, columns, rows), repeated_keys=repeated)


def _rows_paired(one: "Side", two: "Side", places: Sequence[Sequence[int]]) -> tuple[Pairs, int]:
    """Return the pairs of rows with equal keys, and the number of keys of several rows.

    Keys of equal text come first, then those that are equal in another format: ``01`` and ``1``
    may be two keys of one table, and ``1`` and ``1.0`` one key of two. Dates of equal text but in
    columns of another order are not equal.
    """
    sides = list(zip((one, two), places, strict=True))
    texts = [_keys(side, at, lambda cell: (cell.text.strip(), cell.key)) for side, at in sides]
    read = [_keys(side, at, lambda cell: cell.key) for side, at in sides]
    pairs: Pairs = []
    repeated: set[Key] = set()
    for keys in (texts, read):
        done = [{pair[side] for pair in pairs} for side in (0, 1)]
        rows = [_rows_by_key(own, taken) for own, taken in zip(keys, done, strict=True)]
        for side, by_key in enumerate(rows):
            repeated |= {read[side][own[0]] for own in by_key.values() if len(own) > 1}
        for key, own in rows[0].items():
            pairs += zip(own, rows[1].get(key, ()), strict=False)
    return sorted(pairs), len(repeated)


def _keys(side: "Side", places: Sequence[int], said: Callable[[CellValue], object]) -> list[Key]:
    """Return what the columns of the key say of each row."""
    columns = [map(said, side.columns.values[place]) for place in places]
    return list(zip(*columns, strict=True))


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


def _rows_by_key(keys: Sequence[Key], done: Container[int]) -> dict[Key, list[int]]:
    """Return key -> the places of its rows, in their order, but those that are done."""
    rows: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        if row not in done:
            rows.setdefault(key, []).append(row)
    return rows


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
    return _compared(Side(reference), Side(prediction), columns, rows, turned)


def _compared(
    one: "Side", two: "Side", columns: Pairs, rows: Pairs, turned: bool = False
) -> TableComparison:
    merged = merged_columns(one.columns, two.columns, columns, rows)
    columns = _with_merged(columns, merged)
    whole = {(i, j): each for each in merged for i, j in columns if each.has(i, j)}
    column_pairs = _all_pairs(columns, len(one.grid.header), len(two.grid.header))
    row_pairs = _all_pairs(rows, len(one.grid.rows), len(two.grid.rows))
    return TableComparison(
        one.grid,
        two.grid,
        turned,
        tuple(_column_pair(one, two, pair, tuple(pair) in whole) for pair in column_pairs),
        tuple(row_pairs),
        tuple(_cells(one, two, columns, rows, whole)),
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


class Side:
    """A table with its cells and names read.

    Attributes:
        grid: the table.
        names: the names of its columns, with their units.
        columns: its columns as they are aligned.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.names: list[Name] = [name_of(name) for name in grid.header]
        read = [[cell_value(cell) for cell in row] for row in grid.rows]
        values = (
            [in_one_order(_letters_as_text(column)) for column in zip(*read, strict=True)]
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


def _letters_as_text(column: Sequence[CellValue]) -> Sequence[CellValue]:
    """Return a column with its ``Y`` and ``N`` as texts unless most of its cells are booleans."""
    types = Counter(cell.type for cell in column)
    if not types["bool"] or types["bool"] * 2 > len(column) - types["empty"]:
        return column
    return [
        text_value(cell.text) if cell.type == "bool" and cell.text in _LETTERS else cell
        for cell in column
    ]


_LETTERS = frozenset("YyNn")


def transposed_at(reference: Grid, prediction: Grid) -> int | None:
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
    found = across[place], max(keys_across)
    along = _agreement(names, other_names), max(_agreement(keys, one) for one in other_columns)
    return place if sum(found) > sum(along) + 0.2 and max(found) >= _LEAST_ACROSS else None


_LEAST_ACROSS = 0.5


def _edges(grid: Grid) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the names of the columns, and each column with its name."""
    names = tuple(name_of(name).text for name in grid.header)
    return names, list(zip(grid.header, *grid.rows, strict=True))


def _agreement(texts: Sequence[str], others: Sequence[str]) -> float:
    """Return how much of some texts stands among others, from 0 to 1."""
    said = [text for text in texts if text.strip()]
    keys = {cell_value(text).key for text in others if text.strip()}
    return fmean(cell_value(text).key in keys for text in said) if said else 0.0


def _all_pairs(matched: Pairs, n: int, m: int) -> list[Pair]:
    """Return the places of both sides: paired ones and missing ones in order, then extra ones."""
    found = dict(matched)
    taken = set(found.values())
    return [
        *(Pair(i, found.get(i)) for i in range(n)),
        *(Pair(None, j) for j in range(m) if j not in taken),
    ]


def _column_pair(one: Side, two: Side, pair: Pair, is_merged: bool) -> ColumnPair:
    names = "" if pair.reference is None else one.grid.header[pair.reference]
    other = "" if pair.prediction is None else two.grid.header[pair.prediction]
    types: list[DataType] = [
        "empty" if place is None else side.type(place)
        for side, place in zip((one, two), pair, strict=True)
    ]
    renamed = None
    if pair.is_matched and names != other and not is_merged:
        renamed = _renamed(names, other)
    return ColumnPair(
        pair,
        other if pair.reference is None else names,
        other,
        types[1] if pair.reference is None else types[0],
        types[1],
        renamed,
    )


def _renamed(name: str, other: str) -> Difference | None:
    """Return how two names of a column differ, without their units."""
    if _as_typed(name) == _as_typed(other):
        return Difference("format", 0.0)
    one, two = name_of(name).text, name_of(other).text
    found = difference(text_value(one), text_value(two))
    return Difference("format", 0.0) if found is None else found


_TYPED = str.maketrans("ı‐‑‒–—―−", "i-------", "^\u0307")
"""Dashes and letters of one meaning; ``^`` and the dot that lower case leaves of ``İ`` go."""


def _as_typed(name: str) -> str:
    """Return a name as a plain keyboard has it: ``Area (km²)`` and ``area (km^2)`` are one."""
    return " ".join(normalize("NFKC", name).casefold().translate(_TYPED).split())


def text_value(text: str) -> CellValue:
    """Return a text as a value that is compared as text."""
    return CellValue("string", text, text_key(text))


def _cells(
    one: Side,
    two: Side,
    columns: Pairs,
    rows: Pairs,
    merged: Mapping[tuple[int, int], Merged],
) -> Iterator[CellPair]:
    scale = cache(one.scale)
    known = _words_of(one)
    paired = [_PairedColumn(one, two, k, m, rows) for k, m in columns]
    for place, (i, j) in enumerate(rows):
        for column in paired:
            k, m = column.places
            first, second = column.cells[place]
            empty = (first.type == "empty", second.type == "empty")
            if all(empty):
                continue
            apart = None
            outcome: Outcome = "extra" if empty[0] else "missing" if empty[1] else "exact"
            if (k, m) in merged:
                apart = _merged_apart(one.grid.rows[i], two.grid.rows[j], merged[k, m])
                outcome = "partial" if apart is not None and apart.share > 0 else "exact"
            elif not any(empty):
                size = scale(k, one.unit(k, first)) if first.type == "number" else 0.0
                units = one.names[k].unit, two.names[m].unit
                apart = difference(first, second, *units, size, column.identifies, known)
                outcome = "partial" if apart is not None and apart.share > 0 else "exact"
            yield CellPair(
                Pair(i, j), Pair(k, m), one.grid.rows[i][k], two.grid.rows[j][m], outcome, apart
            )


def _merged_apart(one: Sequence[str], two: Sequence[str], merged: Merged) -> Difference | None:
    """Compare the cells of columns that were merged or split; None where nothing is lost."""
    apart, together = (one, two) if merged.in_prediction else (two, one)
    parts, whole = " ".join(apart[part] for part in merged.parts), together[merged.whole]
    if sorted(words(parts).split()) == sorted(words(whole).split()):
        return None
    first, second = (parts, whole) if merged.in_prediction else (whole, parts)
    return difference(text_value(first), text_value(second))


class _PairedColumn:
    """A column of both tables.

    Attributes:
        places: its places.
        identifies: whether its numbers are identifiers.
        cells: its cells in each pair of rows, their dates in one order.
    """

    def __init__(self, one: Side, two: Side, reference: int, prediction: int, rows: Pairs) -> None:
        first, second = one.columns.values[reference], two.columns.values[prediction]
        self.places = reference, prediction
        self.identifies = (
            has_zeros_first(first) or has_zeros_first(second) or are_long_identifiers(first)
        )
        sides = in_order_of_each_other([first[i] for i, _ in rows], [second[j] for _, j in rows])
        self.cells = list(zip(*sides, strict=True))


def _words_of(side: Side) -> frozenset[str]:
    """Return the words of a table's texts: what stands in the reference is no slip."""
    return frozenset(
        word
        for column in side.columns.values
        for cell in column
        if cell.type == "string"
        for word in words(cell.text).split()
    )
