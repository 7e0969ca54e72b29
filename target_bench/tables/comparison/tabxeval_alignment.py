"""Aligned tables as the published TabXEval pipeline writes and reads them.

An aligned table is Markdown whose cells hold both sides, ``left/right``. What is computed here is
equal to CoRAL-ASU/TabXEval (fuzzy_table_matching.py, comparison_utils.py), blank cells that shift
columns and rounded ratios included.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Indel

Rows = list[list[str]]
Record = dict[str, str | None]

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


def ratio(one: str, two: str) -> int:
    """Return the similarity of two texts in whole percent; a text and nothing have 0."""
    if one == two:
        return _MATCH
    return round(100 * Indel.normalized_similarity(one, two)) if one and two else 0


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
    start = next((i for i, (one, two) in enumerate(below) if "|" in one and "--" in two), None)
    return [] if start is None else _records(lines, start)


def _records(lines: Sequence[str], start: int) -> list[Record]:
    header = _cells(lines[start])
    found: list[Record] = []
    for line in lines[start + 1 :]:
        if "```" in line or not line.strip():
            break
        if "---" not in line:
            cells = _cells(line)
            padded = [*cells, *[None] * (len(header) - len(cells))]
            found.append(dict(zip(header, padded, strict=False)))
    return found


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
    found = _equal(cell)
    if found is None or found == "EM" or "/" not in found:
        return found
    left, right = (side.strip() for side in found.split("/", 1))
    return "EI" if left in _BLANK else "MI" if right in _BLANK else found


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
    one, two = _rows(reference), _rows(prediction)
    if not one or not two:
        return None
    columns: dict[int, int] = {}
    rows: dict[int, int] = {}
    for _ in range(2):
        scores = _cell_scores(one, two, rows) if rows else _name_scores(one, two)
        columns = _greedy(scores, columns)
        rows = _greedy(_row_scores(one, two, columns), {})
    header = [f"{one[0][i]}.T1 / {two[0][j]}.T2" for i, j in columns.items()]
    lines = [header, *([["---"] * len(header)] if rows else [])]
    lines += [[f"{one[r][i]} / {two[s][j]}" for i, j in columns.items()] for r, s in rows.items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _rows(text: str) -> Rows:
    """Read the rows of a Markdown table, without rows and columns that are empty."""
    lines = text.strip().split("\n")
    start = next((i for i, line in enumerate(lines) if "|" in line), None)
    if start is None:
        return []
    found = [[cell.strip() for cell in lines[start].strip().split("|")]]
    width = len(found[0])
    for line in lines[start + 1 :]:
        if "```" in line or not line.strip():
            break
        if "---" not in line:
            cells = [cell.strip() for cell in line.strip().split("|")]
            found.append([*cells, *[""] * (width - len(cells))])
    found = [row for row in found if any(row)]
    if not found:
        return []
    empty = {i for i in range(len(found[0])) if not any(row[i : i + 1] != [""] for row in found)}
    return [[cell for i, cell in enumerate(row) if i not in empty] for row in found]


Scores = dict[tuple[int, int], float]


def _name_scores(one: Rows, two: Rows) -> Scores:
    return {(i, j): ratio(a, b) for i, a in enumerate(one[0]) for j, b in enumerate(two[0])}


def _cell_scores(one: Rows, two: Rows, rows: Mapping[int, int]) -> Scores:
    return {
        (i, j): _mean_ratio((one[r][i], two[s][j]) for r, s in rows.items())
        for i in range(len(one[0]))
        for j in range(len(two[0]))
    }


def _row_scores(one: Rows, two: Rows, columns: Mapping[int, int]) -> Scores:
    return {
        (r, s): _mean_ratio((one[r][i], two[s][j]) for i, j in columns.items())
        for r in range(1, len(one))
        for s in range(1, len(two))
    }


def _mean_ratio(pairs: Iterable[tuple[str, str]]) -> float:
    found = [ratio(a, b) for a, b in pairs if a and b]
    return sum(found) / len(found) if found else 0.0


def _greedy(scores: Scores, known: Mapping[int, int]) -> dict[int, int]:
    """Add pairs of full score, in their order, of which neither side is taken."""
    found = dict(known)
    taken = set(found.values())
    for (i, j), score in scores.items():
        if score >= _MATCH and i not in found and j not in taken:
            found[i] = j
            taken.add(j)
    return found


_FIRST_NUMBER = re.compile(r"\d+\.\d+|\d+")


def first_number(text: str) -> float | None:
    """Return the first number of a text, without sign; commas do not count."""
    match = _FIRST_NUMBER.search(text.replace(",", ""))
    return float(match[0]) if match else None


def column_mean(records: Sequence[Record], column: str) -> float:
    """Return the mean of the first numbers on the left side of a column; 0 where it has none."""
    cells = [record.get(column) for record in records]
    found = [first_number(cell.split("/")[0]) for cell in cells if cell is not None and "/" in cell]
    numbers = [number for number in found if number is not None]
    return sum(numbers) / len(numbers) if numbers else 0.0
