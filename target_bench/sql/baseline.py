"""The baseline of text-to-SQL without a model: what a question names, selected from one table."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache

from target_bench.core.schema import Table
from target_bench.sql.databases import quote

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
    stems = stem_words(question)
    title = set(stem_words(table.id.table_id))
    columns = {}  # index of a column -> where the question names it
    for i, name in enumerate(table.header):
        rest = [stem for stem in stem_words(name) if stem not in title] or stem_words(name)
        if rest and all(stem in stems for stem in rest):
            columns[i] = stems.index(rest[0])
    conditions = dict(_find_quoted_cells(question.lower(), table))
    score = 2 * len(title.intersection(stems)) / (len(title) or 1)
    score += len(columns) + 1.5 * len(conditions)
    chosen = sorted((i for i in columns if i not in conditions), key=columns.__getitem__)
    selected = ", ".join(quote(table.header[i]) for i in chosen or [0])
    if _COUNT.search(question):
        selected = "count(*)"
    where = " AND ".join(f"{quote(table.header[i])} = {cell}" for i, cell in conditions.items())
    sql = f"SELECT {selected} FROM {quote(table.id.table_id)}"  # noqa: S608 (names are quoted)
    return score, f"{sql} WHERE {where}" if where else sql


def _find_quoted_cells(question: str, table: Table) -> Iterator[tuple[int, str]]:
    """Yield the index of a column and a literal of its longest text that a question quotes."""
    for i in range(len(table.header)):
        cells = {cell for row in table.rows[:ROWS] if isinstance(cell := row[i], str)}
        matches = [
            cell for cell in cells if len(cell) > 2 and _is_quoted(question, cell.strip().lower())
        ]
        if matches:
            longest = max(matches, key=lambda cell: (len(cell), cell))
            yield i, "'" + longest.replace("'", "''") + "'"


def _is_quoted(question: str, text: str) -> bool:
    return text in question and re.search(rf"\b{re.escape(text)}\b", question) is not None


@lru_cache(maxsize=4096)
def stem_words(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words; ``homeTeam`` and ``home_team`` are two words."""
    return tuple(_load_stemmer()(word.lower()) for word in _WORD.findall(text))


@cache
def _load_stemmer() -> Callable[[str], str]:
    from Stemmer import Stemmer

    stem: Callable[[str], str] = Stemmer("english").stemWord
    return stem
