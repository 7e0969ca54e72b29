"""The score of the published TabXEval pipeline (Pancholi et al. 2025; CoRAL-ASU/TabXEval).

The pipeline asks a model for an aligned table, Markdown whose cells hold both sides as
``left/right``, and for a tuple a cell, ``[Type/Type], [entity/entity], [unit/unit], missing or
extra, difference``. What is computed from these is here, equal to fuzzy_table_matching.py,
comparison_utils.py and eval_scores.ipynb: blank cells that shift columns and rounded ratios
included. ``published_penalty(alignment, statistics(alignment, tuples))`` is the score's penalty.

It is held against vectors of that code (``test_golden_tabxeval``), and benchmarks score with it
what the authors released of their models (Tables 3 to 5 of the paper).
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rapidfuzz.distance import Indel

Rows = list[list[str]]
Record = dict[str, str | None]
"""Column -> cell of a row."""

Parsed = list[Any]
"""The parts of a tuple: None, a text, or a list."""

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
    counted = Statistics()
    records = read_records(alignment)
    for row in read_tuples(tuples):
        marks: dict[str, str | None] = {}
        for column, text in row.items():
            marks[column] = None
            if text is not None:
                try:
                    marks[column] = _count(counted, column, parse_tuple(text), records)
                except (TypeError, IndexError, AttributeError) as error:
                    raise UnscorableTupleError(f"{text!r:.200}: {error}") from error
        counted.marks.append(marks)
    return counted


def _count(
    counted: Statistics, column: str, parts: Parsed, records: Sequence[Record]
) -> str | None:
    """Count a tuple; return ``EI`` or ``MI`` for a cell that is on one side only."""
    counts = counted.columns.setdefault(column, ColumnCounts())
    if len(parts) < 2:
        return None
    if parts[0] == "-" and len(parts) > 4:
        parts = parts[1:]
    if parts[0] == "-" and parts[1] == "-":
        parts = [["Empty", "Empty"], *parts[1:]]
    types = parts[0]
    kind = types[0].lower()
    if len(types) < 2 or types[0] != types[1]:
        return _one_sided(counted, types)
    if kind == "numerical" and parts[1][0].lower() not in ("date", "time"):
        if _number(counted, counts, parts, records, column):
            _add(counted, "Partial", types[0])
            return None
    elif kind in ("date", "time") or (parts[1][0].lower() in ("date", "time") and kind != "list"):
        _date(counted, parts)
    elif kind == "string":
        if _text(counted, counts, parts):
            _add(counted, "Partial", types[0])
            return None
    elif kind == "boolean":
        counted.types["bool"] += 1
        counted.booleans["similar" not in parts[4][0]] += 1
    elif kind == "list":
        _list(counted, parts)
    elif kind == "empty":
        return None
    else:
        counted.types["Others"] += 1
    _add(counted, "Partial", types[0] if types[0] in TYPES else "Others")
    return None


def _add(counted: Statistics, side: str, kind: str) -> None:
    counted.empty[side][kind] = counted.empty[side].get(kind, 0) + 1


def _one_sided(counted: Statistics, types: Sequence[str]) -> str | None:
    left, right = (types[place].lower() == "empty" for place in (0, 1))
    if left == right:
        return None
    side, kind = ("EI", types[1]) if left else ("MI", types[0])
    _add(counted, side, kind if kind in TYPES else "Others")
    return side


def _note_side(counts: ColumnCounts, parts: Parsed) -> None:
    if isinstance(parts[3], list):
        counts.missing += "missing" in parts[3][0].lower()
        counts.extra += "missing" not in parts[3][0].lower() and "extra" in parts[3][0].lower()


def _number(
    counted: Statistics, counts: ColumnCounts, parts: Parsed, records: Sequence[Record], column: str
) -> bool:
    """Count a number; return whether the entities differ, which ends its counting."""
    counted.types["Numerical"] += 1
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
            counted.numerical += min(1, share)
    units = parts[2]
    counts.unit_mismatch += len(units) > 1 and units[0].lower() != units[1].lower()
    return False


def _date(counted: Statistics, parts: Parsed) -> None:
    kinds = {parts[1][0].lower(), parts[0][0].lower()}
    if "date" in kinds:
        counted.types["Date"] += 1
        judgement = parts[3] if len(parts) < 5 and parts[3] is not None else parts[4]
        if len(parts) < 5 or isinstance(judgement, list):
            gap = first_number(judgement[1])
            counted.date_gaps += [gap] if gap else []
            counted.dates += bool(gap)
    else:
        counted.types["Time"] += 1
        judgement = parts[4] if len(parts) > 4 and parts[4] is not None else parts[3]
        if judgement is not None:
            gap = first_number(judgement[1])
            counted.time_gaps += [gap] if gap else []


def _text(counted: Statistics, counts: ColumnCounts, parts: Parsed) -> bool:
    """Count a text; return whether nothing is said of its difference."""
    if parts[1][0] != parts[1][1]:
        counts.texts["entity"] += 1
        _note_side(counts, parts)
    judgement = parts[4] if len(parts) > 4 else parts[3] if len(parts) > 3 else None
    if isinstance(judgement, list) and judgement:
        judgement = judgement[0]
    counted.types["String"] += 1
    if judgement is None:
        return True
    if "abbreviated" in judgement:
        counts.texts["abbreviated"] += 1
    elif "spell" in judgement and "error" in judgement:
        counts.texts["spell"] += 1
    elif "semantically" in judgement:
        counts.texts["similar" if "similar" in judgement else "different"] += 1
    elif "other" in judgement:
        counts.texts["other"] += 1
    return False


def _list(counted: Statistics, parts: Parsed) -> None:
    counted.types["List"] += 1
    try:
        judgement = parts[4] if len(parts) > 4 and parts[4] is not None else parts[3]
        left, right = ({str(item).lower() for item in judgement[place]} for place in (1, 2))
    except (TypeError, IndexError):
        return
    for place, items in enumerate((left - right, right - left, left & right)):
        counted.items[place] += len(items)


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
    weight_of = weights.types
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
    return sum(weight_of.get(kind, 1.0) * amount for kind, amount in amounts.items())


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


_MATCH = 100
_BLANK = frozenset({"", "-"})


class Frame(NamedTuple):
    """A table with named columns.

    Attributes:
        columns: their names.
        rows: the cells of each row, None where the text has none.
    """

    columns: list[str]
    rows: list[list[str | None]]


class Compared(NamedTuple):
    """An aligned table, cell by cell.

    Attributes:
        marked: cells as ``EM`` (equal), ``EI`` (extra), ``MI`` (missing), or as they are.
        different: rows and columns in which a cell is on both sides and not equal.
        unequal: the table without rows and columns of which all cells are equal.
    """

    marked: Frame
    different: Frame
    unequal: Frame


def ratio(left: str, right: str) -> int:
    """Return the similarity of two texts in whole percent; a text and nothing have 0."""
    if left == right:
        return _MATCH
    return round(100 * Indel.normalized_similarity(left, right)) if left and right else 0


def read_records(text: str, without_reasoning: bool = False) -> list[Record]:
    """Read the rows of a Markdown table as column -> cell.

    Empty cells are left out, so that later ones move to the left; the table ends at an empty line
    or a fence.

    Args:
        text: the first line with a bar is the header.
        without_reasoning: whether to leave out what stands before ``</think>``.
    """
    if without_reasoning and "</think>" in text:
        text = text.split("</think>", 1)[1]
    lines = text.replace("markdown", "").strip().split("\n")
    start = next((i for i, line in enumerate(lines) if "|" in line), None)
    return [] if start is None else _records(lines, start)


def read_tuples(text: str) -> list[Record]:
    """Read the Markdown table of comparison tuples, whose header has a rule below it."""
    lines = text.replace("markdown", "").strip().split("\n")
    below = zip(lines, [*lines[1:], ""], strict=True)
    start = next((i for i, (line, rule) in enumerate(below) if "|" in line and "--" in rule), None)
    return [] if start is None else _records(lines, start)


def _records(lines: Sequence[str], start: int) -> list[Record]:
    header = _cells(lines[start])
    records: list[Record] = []
    for line in lines[start + 1 :]:
        if "```" in line or not line.strip():
            break
        if "---" not in line:
            cells = _cells(line)
            padded = [*cells, *[None] * (len(header) - len(cells))]
            records.append(dict(zip(header, padded, strict=False)))
    return records


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().split("|") if cell.strip()]


def compare_aligned_text(alignment: str) -> Compared:
    """Mark the cells of an aligned table as equal, extra, missing or different."""
    frame = _frame(read_records(alignment))
    marked = Frame(frame.columns, [[_mark(cell) for cell in row] for row in frame.rows])
    equal = Frame(frame.columns, [[_equal(cell) for cell in row] for row in frame.rows])
    return Compared(
        marked,
        _without(marked, lambda cells: set(cells) <= {"EM", "EI", "MI"}, {"EM", "EI", "MI"}),
        _without(equal, lambda cells: set(cells) == {"EM"}, {"EM"}),
    )


def _frame(records: Sequence[Mapping[str, str | None]]) -> Frame:
    columns = list(dict.fromkeys(name for record in records for name in record))
    return Frame(columns, [[record.get(name) for name in columns] for record in records])


def _equal(cell: str | None) -> str | None:
    sides = ["", ""] if cell is None else [side.strip() for side in cell.split("/")]
    return "EM" if len(sides) == 2 and ratio(*sides) == _MATCH else cell


def _mark(cell: str | None) -> str | None:
    mark = _equal(cell)
    if mark is None or mark == "EM" or "/" not in mark:
        return mark
    left, right = (side.strip() for side in mark.split("/", 1))
    return "EI" if left in _BLANK else "MI" if right in _BLANK else mark


def _without(frame: Frame, drops: Callable[[Iterable[str | None]], bool], blank: set[str]) -> Frame:
    """Return a table without rows and columns of a kind, and with ``-`` for cells of a kind."""
    rows = [i for i, row in enumerate(frame.rows) if not drops(row)]
    columns = [
        j for j in range(len(frame.columns)) if frame.rows and not drops(r[j] for r in frame.rows)
    ]
    cells = [[frame.rows[i][j] for j in columns] for i in rows]
    return Frame(
        [frame.columns[j] for j in columns],
        [["-" if cell in blank else cell for cell in row] for row in cells],
    )


def fuzzy_prealign(reference: str, prediction: str) -> str | None:
    """Return the aligned table of the rows and columns that are equal, as Markdown.

    Columns are matched by equal names, rows by equal cells of these, then both once more by cells.
    Rows and columns without a match are left out; None where a side has no table.
    """
    reference_rows, prediction_rows = _rows(reference), _rows(prediction)
    if not reference_rows or not prediction_rows:
        return None
    columns: dict[int, int] = {}
    rows: dict[int, int] = {}
    for _ in range(2):
        scores = (
            _cell_scores(reference_rows, prediction_rows, rows)
            if rows
            else _name_scores(reference_rows, prediction_rows)
        )
        columns = _greedy(scores, columns)
        rows = _greedy(_row_scores(reference_rows, prediction_rows, columns), {})
    header = [f"{reference_rows[0][i]}.T1 / {prediction_rows[0][j]}.T2" for i, j in columns.items()]
    lines = [header, *([["---"] * len(header)] if rows else [])]
    for r, s in rows.items():
        pairs = ((reference_rows[r][i], prediction_rows[s][j]) for i, j in columns.items())
        lines.append([f"{cell} / {its_pair}" for cell, its_pair in pairs])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _rows(text: str) -> Rows:
    """Read the rows of a Markdown table, without rows and columns that are empty."""
    lines = text.strip().split("\n")
    start = next((i for i, line in enumerate(lines) if "|" in line), None)
    if start is None:
        return []
    rows = [[cell.strip() for cell in lines[start].strip().split("|")]]
    width = len(rows[0])
    for line in lines[start + 1 :]:
        if "```" in line or not line.strip():
            break
        if "---" not in line:
            cells = [cell.strip() for cell in line.strip().split("|")]
            rows.append([*cells, *[""] * (width - len(cells))])
    rows = [row for row in rows if any(row)]
    if not rows:
        return []
    empty = {i for i in range(len(rows[0])) if not any(row[i : i + 1] != [""] for row in rows)}
    return [[cell for i, cell in enumerate(row) if i not in empty] for row in rows]


Scores = dict[tuple[int, int], float]


def _name_scores(reference: Rows, prediction: Rows) -> Scores:
    return {
        (i, j): ratio(a, b) for i, a in enumerate(reference[0]) for j, b in enumerate(prediction[0])
    }


def _cell_scores(reference: Rows, prediction: Rows, rows: Mapping[int, int]) -> Scores:
    return {
        (i, j): _mean_ratio((reference[r][i], prediction[s][j]) for r, s in rows.items())
        for i in range(len(reference[0]))
        for j in range(len(prediction[0]))
    }


def _row_scores(reference: Rows, prediction: Rows, columns: Mapping[int, int]) -> Scores:
    return {
        (r, s): _mean_ratio((reference[r][i], prediction[s][j]) for i, j in columns.items())
        for r in range(1, len(reference))
        for s in range(1, len(prediction))
    }


def _mean_ratio(pairs: Iterable[tuple[str, str]]) -> float:
    ratios = [ratio(a, b) for a, b in pairs if a and b]
    return sum(ratios) / len(ratios) if ratios else 0.0


def _greedy(scores: Scores, known: Mapping[int, int]) -> dict[int, int]:
    """Add pairs of full score, in their order, of which neither side is taken."""
    pairs = dict(known)
    taken = set(pairs.values())
    for (i, j), score in scores.items():
        if score >= _MATCH and i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs


_FIRST_NUMBER = re.compile(r"\d+\.\d+|\d+")


def first_number(text: str) -> float | None:
    """Return the first number of a text, without sign; commas do not count."""
    match = _FIRST_NUMBER.search(text.replace(",", ""))
    return float(match[0]) if match else None


def column_mean(records: Sequence[Record], column: str) -> float:
    """Return the mean of the first numbers on the left side of a column; 0 where it has none."""
    cells = [record.get(column) for record in records]
    firsts = [
        first_number(cell.split("/")[0]) for cell in cells if cell is not None and "/" in cell
    ]
    numbers = [number for number in firsts if number is not None]
    return sum(numbers) / len(numbers) if numbers else 0.0


_LIST_DIFFERENCE = re.compile(r"list difference:(.+)")
_MOST = 5


def parse_tuple(text: str) -> Parsed:
    """Read the parts of a tuple: ``a/b`` and ``a:b`` as lists, ``None`` as None, others as text."""
    if "list/list" in text.lower():
        return _tuple_of_lists(text)
    parts = text.split(", ")
    if len(parts) > _MOST:
        parts = [*parts[: _MOST - 1], ", ".join(parts[_MOST - 1 :])]
    return [_part(part) for part in parts]


def _part(part: str) -> Any:
    bare = part.replace("[", "").replace("]", "")
    for mark in (":", "/"):
        if mark in part:
            return bare.split(mark)
    return (
        None if bare.strip().lower() == "none" else part.strip().replace("[", "").replace("]", "")
    )


def _tuple_of_lists(text: str) -> Parsed:
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    match = _LIST_DIFFERENCE.search(text)
    parts = [
        _simple(item)
        for item in (text[: match.start()].rstrip(",") if match else text).split(",")
        if item.strip()
    ]
    lists = _three_lists(match[1]) if match else None
    return [*parts, ["list difference", *lists]] if lists else parts


def _simple(item: str) -> Any:
    item = item.strip()
    if "/" in item:
        return item.split("/")[:2]
    return None if item == "None" else item


def _three_lists(text: str) -> Sequence[Any] | None:
    """Read three lists that are divided by colons; None where they are not three."""
    parts = text.split("]:[")
    if len(parts) != 3:
        return None
    try:
        return [
            ast.literal_eval(part) for part in (f"{parts[0]}]", f"[{parts[1]}]", f"[{parts[2]}")
        ]
    except (SyntaxError, ValueError):
        return None
