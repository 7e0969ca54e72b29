"""The differences of two tables, sorted into the error types of Struc-Bench.

``structure``: tables, rows or columns that are missing or too many. ``structure_naming``: names of
tables, columns or rows that differ. ``element_format``: a cell with the right value, written
otherwise. ``element``: a cell with another value, or without one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from target_bench.metrics.tables.answer_tables import AnswerTable, ReadAnswer, name_key
from target_bench.metrics.tables.reading import matched

ErrorType = Literal["element", "element_format", "structure", "structure_naming"]

ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)

_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+")
_NOT_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class TableDiff:
    """The number of differences of each type, and of what was compared.

    Attributes:
        errors: error type -> number of differences.
        cells: values of the reference.
        names: names of the reference: tables, columns, rows.
    """

    errors: dict[ErrorType, int] = field(default_factory=lambda: dict.fromkeys(ERROR_TYPES, 0))
    cells: int = 0
    names: int = 0


def table_diff(answer: ReadAnswer, reference: ReadAnswer) -> TableDiff:
    """Count the differences of an answer from its reference.

    Columns and rows are aligned by their names (normalised), those that are left in their order.
    """
    found = TableDiff()
    cells = names = 0
    for i, j in matched(answer, reference):
        if i is None or j is None:
            found.errors["structure"] += 1
        if j is None:
            continue
        gold = reference.tables[j]
        cells += sum(1 for row in gold.padded()[1:] for cell in row[1:] if cell)
        names += len(gold.rows) + gold.width - 1
        if i is not None:
            _compare(answer.tables[i], gold, found.errors)
    return TableDiff(found.errors, cells, names)


def _compare(answer: AnswerTable, gold: AnswerTable, errors: dict[ErrorType, int]) -> None:
    left, right = answer.padded(), gold.padded()
    errors["structure"] += abs(len(left) - len(right)) + abs(answer.width - gold.width)
    errors["structure_naming"] += name_key(answer.name) != name_key(gold.name)
    columns = _aligned(left[0], right[0])
    rows = _aligned([row[0] for row in left], [row[0] for row in right])
    errors["structure_naming"] += sum(left[0][i] != right[0][j] for i, j in columns[1:])
    errors["structure_naming"] += sum(left[i][0] != right[j][0] for i, j in rows[1:])
    for i, j in rows[1:]:
        for k, m in columns[1:]:
            kind = _difference(left[i][k], right[j][m])
            if kind is not None:
                errors[kind] += 1


def _aligned(answer: Sequence[str], gold: Sequence[str]) -> list[tuple[int, int]]:
    """Return (place, place) pairs: the first ones, equal names, then the rest in their order."""
    left: dict[str, list[int]] = {}
    for place, name in enumerate(answer[1:], start=1):
        left.setdefault(normalised(name), []).append(place)
    found: dict[int, int] = {}
    for place, name in enumerate(gold[1:], start=1):
        same = left.get(normalised(name))
        if same:
            found[place] = same.pop(0)
    rest = sorted(place for places in left.values() for place in places)
    wanted = [place for place in range(1, len(gold)) if place not in found]
    found |= dict(zip(wanted, rest, strict=False))
    return [(0, 0), *((found[place], place) for place in sorted(found))]


def normalised(text: str) -> str:
    """Return a text by what it says: numbers by value, words without case and punctuation."""
    bare = text.strip().strip("$€£%").strip()
    if _NUMBER.fullmatch(bare):
        return f"{float(bare.replace(',', '')):g}"
    return _NOT_WORD.sub(" ", text.casefold()).strip()


def _difference(answer: str, gold: str) -> ErrorType | None:
    if answer == gold:
        return None
    return "element_format" if normalised(answer) == normalised(gold) else "element"
