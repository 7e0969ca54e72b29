"""The web tables of the corpus, read from its CSV files and checked."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MIN_ROWS, MAX_ROWS = 5, 14
MIN_COLUMNS, MAX_COLUMNS = 3, 7


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its identifier, its headings and its cells."""

    table_id: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def index(self, column: str) -> int:
        """Return the position of the named column; raise LookupError if there is none."""
        if column not in self.header:
            raise LookupError(f"{self.table_id}: no column {column!r}")
        return self.header.index(column)

    def column(self, name: str) -> list[str]:
        """Return all the cells of the named column, top to bottom."""
        position = self.index(name)
        return [row[position] for row in self.rows]

    def cell(self, keys: Iterable[str], column: str) -> str:
        """Return the cell of the named column in the only row that holds all the keys.

        A key is the whole text of any cell of the row, or `Column=text` for a given column.
        """
        listed = list(keys)
        rows = [row for row in self.rows if all(self._holds(row, key) for key in listed)]
        if len(rows) != 1:
            raise LookupError(f"{self.table_id}: {len(rows)} rows hold {listed}")
        return rows[0][self.index(column)]

    def _holds(self, row: tuple[str, ...], key: str) -> bool:
        column, equals, text = key.partition("=")
        return row[self.index(column)] == text if equals else key in row


def read_tables(folder: Path) -> dict[str, Table]:
    """Read every table that `tables.jsonl` lists, by identifier, in its order.

    Raises:
        ValueError: a table is malformed, repeated, or listed and not there, or the reverse.
    """
    lines = (folder / "tables.jsonl").read_text(encoding="utf-8").splitlines()
    listed = [str(json.loads(line)["table_id"]) for line in lines]
    stored = sorted(path.stem for path in (folder / "tables").iterdir())
    if sorted(listed) != stored:
        raise ValueError(f"tables.jsonl and tables/ differ: {sorted({*listed} ^ {*stored})}")
    made = {name: _read(folder / "tables" / f"{name}.csv") for name in listed}
    if len({table.rows for table in made.values()}) != len(made):
        raise ValueError("two tables have the same rows")
    return made


def _read(path: Path) -> Table:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    made = Table(path.stem, tuple(header), tuple(tuple(row) for row in rows))
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


def number(text: str) -> float:
    """Return the value of a numeric cell, parentheses (as in `(223)`) allowed."""
    match = re.fullmatch(r"\(?(\d+(?:\.\d+)?)\)?", text)
    if match is None:
        raise ValueError(f"not a number: {text!r}")
    return float(match.group(1))
