"""What a question mentions of a table, by its words: columns, cells and numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

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


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words; ``homeTeam`` and ``home_team`` are two words."""
    stem = _stemmer()
    return tuple(stem(word.lower()) for word in _WORD.findall(text))


def columns(question: str, table: Table) -> list[Column]:
    """Return the columns of a table, each with its mentions in the question."""
    said = words(question)
    facts = _facts(_Same(table))
    found = []
    for place, (name, core) in enumerate(zip(table.header, facts.cores, strict=True)):
        hits = [said.index(part) for part in core if part in said]
        score = len(hits) / len(core) if core else 0.0
        at = min(hits, default=len(said))
        found.append(Column(name, place, facts.numeric[place], score, at))
    return found


def values(question: str, table: Table, known: Sequence[Column]) -> list[Value]:
    """Return the text cells that the question quotes, longest first, none inside another."""
    text = question.lower()
    found = [
        Value(known[place], cell, *at)
        for place, cell, lower in _facts(_Same(table)).texts
        if lower in text and (at := _quoted_at(lower, text)) is not None
    ]
    kept: list[Value] = []
    for value in sorted(found, key=lambda v: (v.start - v.end, -v.column.score)):
        if all(value.end <= other.start or value.start >= other.end for other in kept):
            kept.append(value)
    return kept


def numbers(question: str, taken: Sequence[Value]) -> Iterator[tuple[str, int]]:
    """Yield the numbers of a question that are part of no quoted cell, and where they begin."""
    for match in _NUMBER.finditer(question):
        if all(match.end() <= value.start or match.start() >= value.end for value in taken):
            yield match[0].replace(",", ""), match.start()


def _quoted_at(cell: str, text: str) -> tuple[int, int] | None:
    place = text.find(cell)
    while place >= 0:
        end = place + len(cell)
        if not text[place - 1 : place].isalnum() and not text[end : end + 1].isalnum():
            return place, end
        place = text.find(cell, place + 1)
    return None


class _Same:
    """A table as a key, equal to itself alone: rows have no hash, and 1 is no 1.0 as text."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return id(self.table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.table is other.table


@dataclass(frozen=True, slots=True)
class _Facts:
    """What holds of a table whatever the question is.

    Attributes:
        cores: of each column the words of its name, without those of the table's name.
        numeric: of each column whether nearly all its cells are numbers.
        texts: the cells that a question may quote, each once: its column's place, the cell, and
            the cell as it is looked for.
    """

    cores: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    texts: tuple[tuple[int, str, str], ...]


@lru_cache(maxsize=128)  # questions about one database come one after the other
def _facts(key: _Same) -> _Facts:
    table = key.table
    own = set(words(table.id.table_id))
    cores = (tuple(part for part in words(name) if part not in own) for name in table.header)
    rows = list(table.rows[:ROWS])
    seen = {
        (place, cell): cell.strip().lower()
        for row in rows
        for place, cell in enumerate(row)
        if isinstance(cell, str)
    }
    return _Facts(
        tuple(core or words(name) for core, name in zip(cores, table.header, strict=True)),
        tuple(_numeric(table, place, rows[:_SAMPLE]) for place in range(len(table.header))),
        tuple((place, cell, lower) for (place, cell), lower in seen.items() if _quotable(lower)),
    )


def _quotable(cell: str) -> bool:
    return len(cell) >= 2 and cell not in _common() and not _is_number(cell)


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
