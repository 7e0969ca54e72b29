"""The shape of one demonstration table, and how the compact literals become one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MIN_ROWS, MAX_ROWS = 5, 14
MIN_COLUMNS, MAX_COLUMNS = 3, 7


@dataclass(frozen=True)
class Table:
    """One table: its identity, its human-readable headings and its cells."""

    table_id: str
    title: str
    section: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def index(self, column: str) -> int:
        """Position of the named column; raises LookupError if there is none."""
        if column not in self.header:
            raise LookupError(f"{self.table_id}: no column {column!r}")
        return self.header.index(column)

    def column(self, name: str) -> list[str]:
        """All the cells of the named column, top to bottom."""
        position = self.index(name)
        return [row[position] for row in self.rows]

    def cell(self, keys: Iterable[str], column: str) -> str:
        """Cell of the named column in the only row that holds all the keys.

        A key is the whole text of any cell of the row, or `Column=text` for a given column.
        """
        wanted = list(keys)
        found = [row for row in self.rows if all(self._holds(row, key) for key in wanted)]
        if len(found) != 1:
            raise LookupError(f"{self.table_id}: {len(found)} rows hold {wanted}")
        return found[0][self.index(column)]

    def _holds(self, row: tuple[str, ...], key: str) -> bool:
        column, equals, text = key.partition("=")
        return row[self.index(column)] == text if equals else key in row


def number(text: str) -> float:
    """Value of a numeric cell, parentheses (as in `(223)`) allowed."""
    match = re.fullmatch(r"\(?(\d+(?:\.\d+)?)\)?", text)
    if match is None:
        raise ValueError(f"not a number: {text!r}")
    return float(match.group(1))


def lines(body: str) -> list[list[str]]:
    """Cells of a literal that has one row a line and `|` between the cells."""
    return [[cell.strip() for cell in line.split("|")] for line in body.strip().splitlines()]


def table(table_id: str, title: str, section: str, header: str, rows: list[list[str]]) -> Table:
    """Checked table; raises ValueError when the literal is malformed."""
    made = Table(
        table_id=table_id,
        title=title,
        section=section,
        header=tuple(header.split("|")),
        rows=tuple(tuple(row) for row in rows),
    )
    check(made)
    return made


def check(made: Table) -> None:
    """Raise ValueError for a table that is ragged, too small, too large or has blanks."""
    width = len(made.header)
    problems = {
        "slug": re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", made.table_id) is None,
        "width": not MIN_COLUMNS <= width <= MAX_COLUMNS,
        "height": not MIN_ROWS <= len(made.rows) <= MAX_ROWS,
        "ragged": any(len(row) != width for row in made.rows),
        "blank": any(not cell for row in (made.header, *made.rows) for cell in row),
        "repeated row": len(set(made.rows)) != len(made.rows),
        "repeated column": len(set(made.header)) != width,
    }
    wrong = [name for name, bad in problems.items() if bad]
    if wrong:
        raise ValueError(f"{made.table_id}: {', '.join(wrong)}")
