"""The baseline of text-to-SQL without a model: what a question names, selected from one table."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

from target_bench.core.schema import Table
from target_bench.sql.databases import quoted

ROWS = 2000
"""Number of rows of a table that are read."""

_COUNT = re.compile(r"\bhow many\b|\bnumber of\b|\bcount\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+(?:\.\d+)?|[^\W\d_]+")


def compose(question: str, tables: Sequence[Table]) -> str | None:
    """Return a query that may answer a question.

    It is a lower bound: a count of rows if the question asks how many, else the columns that it
    names, of the one table whose name, columns and cells it names most; where it quotes a cell of
    text, of the rows that hold it. There is no aggregate, no group, no order and no join.

    Args:
        question: the question.
        tables: candidates, best first; equals are decided by this order. The names of table and
            columns are those of the database.

    Returns:
        One SELECT statement in SQLite's SQL, or None if there is no table with a column.
    """
    best: tuple[float, str] | None = None
    for table in tables:
        if table.header:
            drafted = _draft(question, table)
            best = drafted if best is None or drafted[0] > best[0] else best
    return best[1] if best else None


def _draft(question: str, table: Table) -> tuple[float, str]:
    """Return how much of the question a table explains, and the query over it."""
    asked_for = words(question)
    own = set(words(table.id.table_id))
    named = {}  # the place of a column -> where the question names it
    for place, name in enumerate(table.header):
        parts = [word for word in words(name) if word not in own] or words(name)
        if parts and all(part in asked_for for part in parts):
            named[place] = asked_for.index(parts[0])
    conditions = dict(_find_quoted_cells(question.lower(), table))
    score = (
        2 * len(own.intersection(asked_for)) / (len(own) or 1) + len(named) + 1.5 * len(conditions)
    )
    chosen = sorted((place for place in named if place not in conditions), key=named.__getitem__)
    shown = ", ".join(quoted(table.header[place]) for place in chosen or [0])
    if _COUNT.search(question):
        shown = "count(*)"
    equal = (f"{quoted(table.header[at])} = {cell}" for at, cell in conditions.items())
    where = " AND ".join(equal)
    sql = f"SELECT {shown} FROM {quoted(table.id.table_id)}"  # noqa: S608 (names are quoted)
    return score, f"{sql} WHERE {where}" if where else sql


def _find_quoted_cells(question: str, table: Table) -> Iterator[tuple[int, str]]:
    """Yield the place of a column and a literal of its longest text that a question quotes."""
    for place in range(len(table.header)):
        cells = {cell for row in table.rows[:ROWS] if isinstance(cell := row[place], str)}
        held = [
            cell for cell in cells if len(cell) > 2 and _is_quoted(question, cell.strip().lower())
        ]
        if held:
            longest = max(held, key=lambda cell: (len(cell), cell))
            yield place, "'" + longest.replace("'", "''") + "'"


def _is_quoted(question: str, text: str) -> bool:
    return text in question and re.search(rf"\b{re.escape(text)}\b", question) is not None


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words; ``homeTeam`` and ``home_team`` are two words."""
    return tuple(_load_stemmer()(word.lower()) for word in _WORD.findall(text))


@cache
def _load_stemmer() -> Callable[[str], str]:
    from Stemmer import Stemmer

    stem: Callable[[str], str] = Stemmer("english").stemWord
    return stem
