"""Errors of rows, columns and headers."""

from random import Random

from target_bench.models.perturbations.cell_texts import is_blank
from target_bench.models.perturbations.perturbed import (
    Change,
    Changed,
    Difference,
    Level,
    Rows,
    some,
)


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
    Change("wrong_header", "columns have names of something else", _wrong_header),
)
