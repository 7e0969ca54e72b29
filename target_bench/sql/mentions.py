"""Mentions of a table in a question: its name, its columns, its cells, numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from target_bench.core.schema import Cell, Table

ROWS = 2000
"""How many rows of a table are looked at."""

_MOSTLY = 0.9
_SAMPLE = 200  # rows that tell whether a column is numeric
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+(?:\.\d+)?|[^\W\d_]+")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
_TEXTUAL = ("CHAR", "TEXT", "CLOB", "DATE", "TIME")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, as far as the question is concerned.

    Attributes:
        name: as the table spells it.
        place: its position in the header.
        numeric: whether nearly all its cells are numbers.
        score: the share of the words of its name that the question says.
        at: where the question says the first of them, in words.
    """

    name: str
    place: int
    numeric: bool
    score: float
    at: int


@dataclass(frozen=True, slots=True)
class Value:
    """A cell that the question quotes.

    Attributes:
        column: its column.
        cell: the cell.
        start: where in the question it begins.
        end: where it ends.
    """

    column: Column
    cell: Cell
    start: int
    end: int


def words(text: str) -> list[str]:
    """Return the stems of a text's words; ``homeTeam`` and ``home_team`` are two words."""
    stem = _stemmer()
    return [stem(word.lower()) for word in _WORD.findall(text)]


def columns(question: str, table: Table) -> list[Column]:
    """Return the columns of a table, each with its mentions in the question."""
    said = words(question)
    own = set(words(table.id.table_id))
    rows = table.rows[:ROWS]
    found = []
    for place, name in enumerate(table.header):
        parts = words(name)
        core = [part for part in parts if part not in own] or parts
        hits = [said.index(part) for part in core if part in said]
        score = len(hits) / len(core) if core else 0.0
        numeric = _numeric(table, place, rows[:_SAMPLE])
        found.append(Column(name, place, numeric, score, min(hits, default=len(said))))
    return found


def values(question: str, table: Table, known: Sequence[Column]) -> list[Value]:
    """Return the text cells that the question quotes, longest first, none inside another."""
    text = question.lower()
    found: dict[tuple[int, str], Value] = {}
    for row in table.rows[:ROWS]:
        for column in known:
            cell = row[column.place]
            if isinstance(cell, str) and not _is_number(cell) and (column.place, cell) not in found:
                place = _quoted_at(cell.strip().lower(), text)
                if place is not None:
                    found[column.place, cell] = Value(column, cell, *place)
    kept: list[Value] = []
    for value in sorted(found.values(), key=lambda v: (v.start - v.end, -v.column.score)):
        if all(value.end <= other.start or value.start >= other.end for other in kept):
            kept.append(value)
    return kept


def numbers(question: str, taken: Sequence[Value]) -> Iterator[tuple[str, int]]:
    """Yield the numbers of a question that are part of no quoted cell, and where they begin."""
    for match in _NUMBER.finditer(question):
        if all(match.end() <= value.start or match.start() >= value.end for value in taken):
            yield match[0].replace(",", ""), match.start()


def _quoted_at(cell: str, text: str) -> tuple[int, int] | None:
    if len(cell) < 2 or cell not in text or cell in _common() or _is_number(cell):
        return None
    place = text.find(cell)
    while place >= 0:
        end = place + len(cell)
        if not text[place - 1 : place].isalnum() and not text[end : end + 1].isalnum():
            return place, end
        place = text.find(cell, place + 1)
    return None


def _numeric(table: Table, place: int, rows: Sequence[Sequence[Cell]]) -> bool:
    """Return whether nearly all its cells are numbers; without cells by its declared type."""
    cells = [row[place] for row in rows if row[place] not in (None, "")]
    if cells:
        return sum(map(_is_number, cells)) >= _MOSTLY * len(cells)
    types = list(table.context.get("column_types") or ())
    known = len(types) == len(table.header)
    return known and not any(word in str(types[place]).upper() for word in _TEXTUAL)


def _is_number(cell: Cell) -> bool:
    if isinstance(cell, str):
        return re.fullmatch(r"[+-]?\d+(?:\.\d+)?", cell.strip()) is not None
    return isinstance(cell, int | float)


@cache
def _common() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)


@cache
def _stemmer():  # type: ignore[no-untyped-def]  # a bound method of a C class
    from Stemmer import Stemmer

    return Stemmer("english").stemWord
