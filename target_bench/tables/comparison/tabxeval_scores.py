"""The statistics and the score that the published TabXEval pipeline computes of aligned tables.

Pancholi et al. (2025); equal to CoRAL-ASU/TabXEval (comparison_utils.py, eval_scores.ipynb).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from target_bench.tables.comparison.tabxeval_alignment import (
    Record,
    column_mean,
    compare_aligned_text,
    first_number,
    read_records,
    read_tuples,
)
from target_bench.tables.comparison.tabxeval_tuples import Parsed, parse_tuple

TYPES = ("Numerical", "String", "Bool", "Date", "List", "Time", "Others")
"""Types of cells, as tuples name them; any other one counts as ``Others``."""


class UnscorableTupleError(ValueError):
    """A comparison tuple that the published code cannot count."""


@dataclass(frozen=True, slots=True)
class PublishedWeights:
    """The weights of the published score.

    Attributes:
        cell: of a cell.
        row: of a row.
        column: of a column.
        missing: of what is missing.
        extra: of what is extra.
        partial: of cells that are partially right.
        types: data type in lower case -> weight of its partial cells; 1 where it has none.
    """

    cell: float = 1.0
    row: float = 1.0
    column: float = 1.0
    missing: float = 1.0
    extra: float = 1.0
    partial: float = 1.0
    types: Mapping[str, float] = field(default_factory=dict)


@dataclass
class ColumnCounts:
    """What is counted of a column: numbers, then texts."""

    unit_mismatch: int = 0
    entity_mismatch: int = 0
    missing: int = 0
    extra: int = 0
    deltas: list[float] = field(default_factory=list)
    texts: Counter[str] = field(default_factory=Counter)


@dataclass
class Statistics:
    """What is counted of an aligned table and its tuples.

    Attributes:
        types: data type -> partial cells.
        empty: ``MI``, ``EI`` and ``Partial`` -> data type -> cells.
        numerical: the sum of relative differences of numbers, each at most 1.
        dates: dates that differ by a number of days.
        columns: what is counted of each column.
        booleans: booleans that are the same, and that differ.
        date_gaps: differences of dates.
        time_gaps: differences of times.
        items: items of lists that are missing, extra, and on both sides.
        marks: for each row, column -> ``EI`` or ``MI``, None for other cells.
    """

    types: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("Numerical", "String", "bool", "Date", "List", "Time", "Others"), 0
        )
    )
    empty: dict[str, dict[str, int]] = field(
        default_factory=lambda: {"MI": {}, "EI": {}, "Partial": {}}
    )
    numerical: float = 0.0
    dates: int = 0
    columns: dict[str, ColumnCounts] = field(default_factory=dict)
    booleans: list[int] = field(default_factory=lambda: [0, 0])
    date_gaps: list[float] = field(default_factory=list)
    time_gaps: list[float] = field(default_factory=list)
    items: list[int] = field(default_factory=lambda: [0, 0, 0])
    marks: list[dict[str, str | None]] = field(default_factory=list)

    def summary(self) -> str:
        """Return the table of partial cells that the published score reads."""
        numbers = [
            f"[{name}, {c.unit_mismatch}, {c.entity_mismatch}, {round(_mean(c.deltas))}], "
            for name, c in self.columns.items()
            if c.unit_mismatch or c.entity_mismatch or c.missing or c.extra or _mean(c.deltas)
        ]
        texts = [
            f"[{name}, {', '.join(str(counts[kind]) for kind in _TEXTS)}], "
            for name, c in self.columns.items()
            if any((counts := c.texts)[kind] for kind in _TEXTS)
        ]
        lines = (
            ("Numerical", self.types["Numerical"], "".join(numbers)),
            ("String", self.types["String"], "".join(texts)),
            ("Boolean", self.types["bool"], f"{self.booleans[0]}, {self.booleans[1]}"),
            ("Date", self.types["Date"], _mean(self.date_gaps)),
            ("Time", self.types["Time"], _mean(self.time_gaps)),
            ("List", self.types["List"], ", ".join(map(str, self.items))),
        )
        return "Type| Count |Differences|\n" + "".join(f"{a} | {b} |{c}|\n" for a, b, c in lines)


_TEXTS = ("entity", "spell", "abbreviated", "similar", "different", "other")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0


def statistics(alignment: str, tuples: str) -> Statistics:
    """Count what comparison tuples say of an aligned table.

    Args:
        alignment: the aligned table, as Markdown.
        tuples: the table of tuples, as Markdown.

    Raises:
        UnscorableTupleError: the published code cannot count a tuple.
    """
    found = Statistics()
    records = read_records(alignment)
    for row in read_tuples(tuples):
        marks: dict[str, str | None] = {}
        for column, text in row.items():
            marks[column] = None
            if text is not None:
                try:
                    marks[column] = _count(found, column, parse_tuple(text), records)
                except (TypeError, IndexError, AttributeError) as error:
                    raise UnscorableTupleError(f"{text!r:.200}: {error}") from error
        found.marks.append(marks)
    return found


def _count(found: Statistics, column: str, parts: Parsed, records: Sequence[Record]) -> str | None:
    """Count a tuple; return ``EI`` or ``MI`` for a cell that is on one side only."""
    counts = found.columns.setdefault(column, ColumnCounts())
    if len(parts) < 2:
        return None
    if parts[0] == "-" and len(parts) > 4:
        parts = parts[1:]
    if parts[0] == "-" and parts[1] == "-":
        parts = [["Empty", "Empty"], *parts[1:]]
    types = parts[0]
    kind = types[0].lower()
    if len(types) < 2 or types[0] != types[1]:
        return _one_sided(found, types)
    if kind == "numerical" and parts[1][0].lower() not in ("date", "time"):
        if _number(found, counts, parts, records, column):
            _add(found, "Partial", types[0])
            return None
    elif kind in ("date", "time") or (parts[1][0].lower() in ("date", "time") and kind != "list"):
        _date(found, parts)
    elif kind == "string":
        if _text(found, counts, parts):
            _add(found, "Partial", types[0])
            return None
    elif kind == "boolean":
        found.types["bool"] += 1
        found.booleans["similar" not in parts[4][0]] += 1
    elif kind == "list":
        _list(found, parts)
    elif kind == "empty":
        return None
    else:
        found.types["Others"] += 1
    _add(found, "Partial", types[0] if types[0] in TYPES else "Others")
    return None


def _add(found: Statistics, side: str, kind: str) -> None:
    found.empty[side][kind] = found.empty[side].get(kind, 0) + 1


def _one_sided(found: Statistics, types: Sequence[str]) -> str | None:
    left, right = (types[place].lower() == "empty" for place in (0, 1))
    if left == right:
        return None
    side, kind = ("EI", types[1]) if left else ("MI", types[0])
    _add(found, side, kind if kind in TYPES else "Others")
    return side


def _note_side(counts: ColumnCounts, parts: Parsed) -> None:
    if isinstance(parts[3], list):
        counts.missing += "missing" in parts[3][0].lower()
        counts.extra += "missing" not in parts[3][0].lower() and "extra" in parts[3][0].lower()


def _number(
    found: Statistics, counts: ColumnCounts, parts: Parsed, records: Sequence[Record], column: str
) -> bool:
    """Count a number; return whether the entities differ, which ends its counting."""
    found.types["Numerical"] += 1
    if parts[1][0] != parts[1][1]:
        _note_side(counts, parts)
        counts.entity_mismatch += 1
        return True
    last = parts[min(len(parts) - 1, 4)] if len(parts) > 3 else None
    if last is not None and "absolute" in last[0] and "difference" in last[0]:
        number, mean = first_number(last[1]), column_mean(records, column)
        if number is None:
            if not mean or len(parts) == 4:
                raise TypeError("no number in the difference")
        else:
            share = number / mean if mean else number
            counts.deltas.append(share)
            found.numerical += min(1, share)
    units = parts[2]
    counts.unit_mismatch += len(units) > 1 and units[0].lower() != units[1].lower()
    return False


def _date(found: Statistics, parts: Parsed) -> None:
    kinds = {parts[1][0].lower(), parts[0][0].lower()}
    if "date" in kinds:
        found.types["Date"] += 1
        said = parts[3] if len(parts) < 5 and parts[3] is not None else parts[4]
        if len(parts) < 5 or isinstance(said, list):
            gap = first_number(said[1])
            found.date_gaps += [gap] if gap else []
            found.dates += bool(gap)
    else:
        found.types["Time"] += 1
        said = parts[4] if len(parts) > 4 and parts[4] is not None else parts[3]
        if said is not None:
            gap = first_number(said[1])
            found.time_gaps += [gap] if gap else []


def _text(found: Statistics, counts: ColumnCounts, parts: Parsed) -> bool:
    """Count a text; return whether nothing is said of its difference."""
    if parts[1][0] != parts[1][1]:
        counts.texts["entity"] += 1
        _note_side(counts, parts)
    said = parts[4] if len(parts) > 4 else parts[3] if len(parts) > 3 else None
    if isinstance(said, list) and said:
        said = said[0]
    found.types["String"] += 1
    if said is None:
        return True
    if "abbreviated" in said:
        counts.texts["abbreviated"] += 1
    elif "spell" in said and "error" in said:
        counts.texts["spell"] += 1
    elif "semantically" in said:
        counts.texts["similar" if "similar" in said else "different"] += 1
    elif "other" in said:
        counts.texts["other"] += 1
    return False


def _list(found: Statistics, parts: Parsed) -> None:
    found.types["List"] += 1
    try:
        said = parts[4] if len(parts) > 4 and parts[4] is not None else parts[3]
        one, two = ({str(item).lower() for item in said[place]} for place in (1, 2))
    except (TypeError, IndexError):
        return
    for place, items in enumerate((one - two, two - one, one & two)):
        found.items[place] += len(items)


def published_penalty(
    alignment: str, counted: Statistics, weights: PublishedWeights | None = None
) -> float:
    """Return the published penalty, from 0 (equal) to 1; the reported score is one less it.

    Columns that are extra are counted first and set aside, then missing columns, extra and missing
    rows, and the cells that are left. Columns are counted only where the tuples have all rows of
    the aligned table, rows only where they have all of its columns.

    Args:
        alignment: the aligned table, as Markdown.
        counted: what its tuples say.
        weights: None for all 1.
    """
    weights = weights or PublishedWeights()
    unequal = compare_aligned_text(alignment).unequal
    if not unequal.rows or not unequal.columns:
        return 0.0
    records = read_records(alignment, without_reasoning=True)
    n_rows, n_columns = len(records), len(records[0])
    left = _Marks(counted.marks)
    columns = {side: left.take_columns(side, n_rows) for side in ("EI", "MI")}
    rows = {side: left.take_rows(side, n_columns) for side in ("EI", "MI")}
    total = 0.0
    for side, weight in (("EI", weights.extra), ("MI", weights.missing)):
        total += weight * (
            weights.column * columns[side] / n_columns
            + weights.row * rows[side] / n_rows
            + weights.cell * left.count(side) / (n_rows * n_columns)
        )
    cells = _partial(counted, weights) / (n_rows * n_columns)
    return min(1.0, total + weights.partial * weights.cell * cells)


def _partial(counted: Statistics, weights: PublishedWeights) -> float:
    of = weights.types
    columns = counted.columns.values()
    texts = counted.types["String"] - sum(
        c.texts["abbreviated"] + c.texts["similar"] for c in columns
    )
    amounts = {
        "numerical": counted.numerical + sum(c.entity_mismatch for c in columns),
        "string": texts,
        "date": counted.types["Date"] + counted.types["Time"],
        "bool": counted.types["bool"],
        "list": counted.types["List"],
        "others": counted.types["Others"],
    }
    return sum(of.get(kind, 1.0) * amount for kind, amount in amounts.items())


class _Marks:
    """The cells on one side only, of rows and columns that are not set aside yet."""

    def __init__(self, marks: Sequence[Mapping[str, str | None]]) -> None:
        self._columns = list(dict.fromkeys(name for row in marks for name in row))
        self._rows = list(marks)

    def take_columns(self, side: str, n_rows: int) -> int:
        if len(self._rows) < n_rows:
            return 0
        taken = [
            name
            for name in self._columns
            if all(row.get(name) == side for row in self._rows) or _is_one_sided(name, side)
        ]
        self._columns = [name for name in self._columns if name not in taken]
        return len(taken)

    def take_rows(self, side: str, n_columns: int) -> int:
        if len(self._columns) < n_columns:
            return 0
        kept = [
            row for row in self._rows if not all(row.get(name) == side for name in self._columns)
        ]
        taken = len(self._rows) - len(kept)
        self._rows = kept
        return taken

    def count(self, side: str) -> int:
        return sum(1 for row in self._rows for name in self._columns if row.get(name) == side)


def _is_one_sided(name: str, side: str) -> bool:
    """Return whether the name of a column has one side; a lone T1 counts for both."""
    parts = name.split("/")
    if len(parts) == 1:
        return "T1" in parts[0]
    empty = parts[0] if side == "EI" else parts[1]
    return len(parts) == 2 and empty.strip() in ("-", "")
