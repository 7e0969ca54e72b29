"""Two tables compared by rules, without a language model (TabAlign and TabCompare by rules)."""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from statistics import fmean

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import Cell, Table
from target_bench.tables.answer_tables import MOST_CELLS, AnswerTable
from target_bench.tables.cell_texts import strip_marks
from target_bench.tables.comparison.align import Grid, Merged, Pairs, align, find_merged
from target_bench.tables.comparison.differences import CellDifference, compare_cells, compare_texts
from target_bench.tables.comparison.rubric import CellPair, ColumnPair, IndexPair, Outcome
from target_bench.tables.comparison.show import TableComparison
from target_bench.tables.comparison.values import (
    Unit,
    Value,
    align_date_orders,
    are_identifiers,
    normalize_text,
    read_value,
)

AnyTable = Table | AnswerTable | Sequence[Sequence[Cell]]
"""A table, or its rows with the header first."""

MOST_ROWS = 2_000  # of a table that is compared: time grows with their square and more
MOST_COLUMNS = 200


def compare_tables(reference: AnyTable, prediction: AnyTable) -> TableComparison:
    """Compare a table with its reference by rules: align both, then compare cell by cell.

    Args:
        reference: the table as it should be: a ``Table``, an ``AnswerTable``, or rows of cells, the
            header first.
        prediction: the table as it is.

    Raises:
        ConfigError: one is not a table.
        DataError: a table has more rows, columns or cells than are compared.
    """
    first, second = _make_grid(reference, "reference"), _make_grid(prediction, "prediction")
    names_at = _find_transposed_names(first, second)
    if names_at is not None:
        columns = second.columns
        second = _make_grid([columns.pop(names_at), *columns], "transposed prediction")
    return compare_aligned(first, second, *align(first, second), transposed=names_at is not None)


def compare_aligned(
    reference: Grid, prediction: Grid, columns: Pairs, rows: Pairs, transposed: bool = False
) -> TableComparison:
    """Compare the cells of two tables whose rows and columns are paired.

    Args:
        reference: the table as it should be.
        prediction: the table as it is.
        columns: pairs of indices of columns.
        rows: pairs of indices of rows.
        transposed: whether the prediction was transposed before.
    """
    merged = find_merged(reference, prediction, columns, rows)
    for some in merged:  # the column that holds several is paired with the first of them
        i, j = (some.parts[0], some.whole) if some.in_prediction else (some.whole, some.parts[0])
        if i not in dict(columns) and j not in dict(columns).values():
            columns = sorted([*columns, (i, j)])
    pairs = _list_pairs(columns, len(reference.header), len(prediction.header))
    return TableComparison(
        reference,
        prediction,
        transposed,
        tuple(_compare_names(reference, prediction, pair, merged) for pair in pairs),
        tuple(_list_pairs(rows, len(reference.rows), len(prediction.rows))),
        tuple(_compare_all_cells(reference, prediction, columns, rows, merged)),
        merged,
    )


def _make_grid(table: AnyTable, role: str) -> Grid:
    """Return a table as a rectangle: rows filled with empty cells."""
    rows: Sequence[Sequence[Cell]]
    if isinstance(table, AnswerTable):
        rows = table.rows
    elif isinstance(table, Table):
        rows = [table.header, *table.rows]
    elif isinstance(table, list | tuple) and all(isinstance(row, list | tuple) for row in table):
        rows = table
    else:
        raise ConfigError(
            f"the {role} is {table!r:.60}, a {type(table).__name__}; expected a Table, an "
            "AnswerTable, or a list of lists with the header first"
        )
    width = max(map(len, rows), default=0)
    if len(rows) - 1 > MOST_ROWS or width > MOST_COLUMNS or (len(rows) - 1) * width > MOST_CELLS:
        raise DataError(
            f"the {role} has {len(rows) - 1:,} rows and {width:,} columns; tables are compared up "
            f"to {MOST_ROWS:,} rows, {MOST_COLUMNS:,} columns and {MOST_CELLS:,} cells"
        )
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    filled = [(*row, *[""] * (width - len(row))) for row in texts] or [()]
    return Grid(filled[0], tuple(filled[1:]))


def _find_transposed_names(reference: Grid, prediction: Grid) -> int | None:
    """Return the column of a transposed prediction in which the reference's names stand, or None.

    The names of columns and the cells of each column are compared, along and across: across, half
    of one of them has to agree, and both together better than along.
    """
    if not prediction.rows or not reference.header:
        return None
    names, other_names = ([name.text for name in grid.names] for grid in (reference, prediction))
    across = [_agree(names, column) for column in prediction.columns]
    keys_across = [_agree(column, other_names) for column in reference.columns]
    keys = reference.columns[keys_across.index(max(keys_across))]
    along = _agree(names, other_names), max(_agree(keys, c) for c in prediction.columns)
    best = max(across), max(keys_across)
    is_transposed = sum(best) > sum(along) + 0.2 and max(best) >= 0.5
    return across.index(max(across)) if is_transposed else None


def _agree(texts: Sequence[str], others: Sequence[str]) -> float:
    """Return how much of some texts stands among others, from 0 to 1."""
    filled = [text for text in texts if text.strip()]
    keys = {read_value(text).key for text in others if text.strip()}
    return fmean(read_value(text).key in keys for text in filled) if filled else 0.0


def _list_pairs(matched: Pairs, n: int, m: int) -> list[IndexPair]:
    """Return the indices of both sides: paired ones and missing ones in order, then extra ones."""
    partners = dict(matched)
    extra = sorted({*range(m)} - {*partners.values()})
    return [
        *(IndexPair(i, partners.get(i)) for i in range(n)),
        *(IndexPair(None, j) for j in extra),
    ]


def _compare_names(
    reference: Grid, prediction: Grid, pair: IndexPair, merged: Sequence[Merged]
) -> ColumnPair:
    i, j = pair
    other = "" if j is None else prediction.header[j]
    if i is None:
        return ColumnPair(pair, other, other)
    name, apart = reference.header[i], None
    if j is not None and name != other and not any(some.has(i, j) for some in merged):
        apart = compare_texts(reference.names[i].text, prediction.names[j].text)
    return ColumnPair(pair, name, other, apart)


def _compare_all_cells(
    reference: Grid, prediction: Grid, columns: Pairs, rows: Pairs, merged: Sequence[Merged]
) -> Iterator[CellPair]:
    """Yield the cells of paired rows and columns of which one is not empty, row by row."""
    compared = []
    for i, j in columns:
        holder = next((some for some in merged if some.has(i, j)), None)
        column, other = reference.values[i], prediction.values[j]
        cells = align_date_orders([column[r] for r, _ in rows], [other[s] for _, s in rows])
        mean = cache(partial(_average_size, column))
        compared.append((i, j, holder, are_identifiers(column, other), mean, cells))
    for at, (r, s) in enumerate(rows):
        for i, j, holder, identify, mean, cells in compared:
            first, second = cells[0][at], cells[1][at]
            empty = [cell.type == "empty" for cell in (first, second)]
            if all(empty):
                continue
            written = reference.rows[r][i], prediction.rows[s][j]
            cell = CellPair(IndexPair(r, s), IndexPair(i, j), *written, "exact")
            if holder is not None:
                apart = _compare_merged(reference.rows[r], prediction.rows[s], holder)
            elif any(empty):
                yield cell._replace(outcome="extra" if empty[0] else "missing")
                continue
            elif first.text.casefold() == second.text.casefold() and (
                reference.names[i].unit == prediction.names[j].unit
            ):
                apart = None  # 1.5m is 1.5M
            else:
                apart = compare_cells(first, second, mean(first.unit), identify)
            if apart is None and cell.reference.split() != cell.prediction.split():
                apart = CellDifference("format", 0.0)  # marks of Markdown in a cell
            outcome: Outcome = "partial" if apart and apart.share > 0 else "exact"
            yield cell._replace(outcome=outcome, difference=apart)


def _average_size(column: Sequence[Value], unit: Unit) -> float:
    """Return the mean size of a column's numbers in a unit; 0 without any."""
    numbers = [
        (cell.in_base_unit - unit.offset) / unit.factor / unit.scale
        for cell in column
        if cell.type == "number" and cell.unit.kind == unit.kind
    ]
    return fmean(map(abs, numbers)) if numbers else 0.0


def _compare_merged(
    reference: Sequence[str], prediction: Sequence[str], merged: Merged
) -> CellDifference | None:
    """Compare the cells of columns that were merged or split; None where nothing is lost."""
    apart, together = (reference, prediction) if merged.in_prediction else (prediction, reference)
    joined = strip_marks(" ".join(apart[i] for i in merged.parts))
    whole = strip_marks(together[merged.whole])
    if sorted(normalize_text(joined).split()) == sorted(normalize_text(whole).split()):
        return None
    first, second = (joined, whole) if merged.in_prediction else (whole, joined)
    return compare_texts(first, second)
