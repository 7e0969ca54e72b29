"""The offline baseline of text-to-SQL: one query over one table, put together from templates.

A table is chosen, and its query made, by what the question mentions: name, columns, cells, numbers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from target_bench.core.schema import Cell, Table
from target_bench.sql.databases import quoted

ROWS = 2000
"""Number of rows of a table that are read."""

Texts = list[tuple[int, str, str]]
_KEPT: dict[int, tuple[Table, Table, Texts]] = {}  # by identity: rows have no hash
_MOSTLY = 0.9
_SAMPLE = 200  # rows that tell whether a column is numeric
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+(?:\.\d+)?|[^\W\d_]+")
_WHOLE_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
_TEXTUAL = ("CHAR", "TEXT", "CLOB", "DATE", "TIME")
_COUNT = re.compile(r"\bhow many\b|\bnumber of\b|\bcount\b", re.IGNORECASE)
_EACH = re.compile(
    r"\b(?:for each|of each|in each|each|per|every|for all|grouped by)\b", re.IGNORECASE
)
_ORDER = re.compile(
    r"\b(?:order(?:ed|ing)?|sort(?:ed)?|rank(?:ed)?|listed)\b.*?\b(?:by|of|in|from)\b(.*)"
    r"|\b(?:ascending|descending|alphabetical(?:ly)?)\b(.*)",
    re.IGNORECASE | re.DOTALL,
)
_DESCENDING = re.compile(
    r"\bdescending\b|\boldest to (?:the )?youngest\b|\bhigh\w* to low", re.IGNORECASE
)
_DISTINCT = re.compile(r"\b(?:different|distinct|unique)\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|isn't|except|excluding|other than)\W+(?:\w+\W+){0,2}\Z", re.IGNORECASE)
_ALL = re.compile(
    r"\b(?:all|every) (?:the )?(?:\w+ )?(?:information|info|details|columns)\b", re.IGNORECASE
)
_CLAUSE = re.compile(
    r"\b(?:whose|where|with|who|that|which|having|have|has|is|are|was|were|older|younger|more|less|"
    r"above|below|over|under|before|after|from|in)\b",
    re.IGNORECASE,
)
_AGGREGATES = {
    "avg": re.compile(r"\b(?:average|mean|avg)\b", re.IGNORECASE),
    "min": re.compile(r"\b(?:minimum|min)\b", re.IGNORECASE),
    "max": re.compile(r"\b(?:maximum|max)\b", re.IGNORECASE),
    "sum": re.compile(r"\b(?:total|sum|combined)\b", re.IGNORECASE),
}
_MOST = re.compile(
    r"\b(?:most|highest|largest|biggest|greatest|oldest|longest|latest|newest|tallest|heaviest|"
    r"top|best|richest)\b",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"\b(?:least|fewest|lowest|smallest|youngest|shortest|earliest|lightest|worst|cheapest)\b",
    re.IGNORECASE,
)
_COMPARISONS = (
    (">=", re.compile(r"(?:at least|no less than|or more)\W*\Z", re.IGNORECASE)),
    ("<=", re.compile(r"(?:at most|no more than)\W*\Z", re.IGNORECASE)),
    (
        ">",
        re.compile(
            r"(?:(?:more|greater|larger|higher|older|bigger|longer|later|heavier|taller) than"
            r"|above|over|after|exceed\w*)(?: \w+)?\W*\Z",
            re.IGNORECASE,
        ),
    ),
    (
        "<",
        re.compile(
            r"(?:(?:less|fewer|smaller|lower|younger|shorter|earlier|lighter) than"
            r"|below|under|before)(?: \w+)?\W*\Z",
            re.IGNORECASE,
        ),
    ),
)
_IMPLIED = {
    "age": ("old", "older", "oldest", "young", "younger", "youngest"),
    "year": ("earliest", "latest", "newest"),
    "weight": ("heavy", "heavier", "heaviest", "light", "lighter", "lightest"),
    "height": ("tall", "taller", "tallest"),
    "length": ("long", "longer", "longest", "short", "shorter", "shortest"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column, as far as the question is concerned.

    Attributes:
        name: as the table spells it.
        place: its position in the header.
        score: the share of the words of its name that the question says.
        at: where the question says the first of them, in words.
    """

    name: str
    place: int
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


def compose(question: str, tables: Sequence[Table]) -> str | None:
    """Return a query that may answer a question, by templates: no model, and no gold.

    Of the tables the one is taken that the question says most of: words of its name and columns,
    and cells. Cells that the question quotes and numbers that it compares become conditions; its
    words choose among selecting columns, counting, aggregating, grouping, ordering and the row
    with the most or the least. It knows no join and no subquery.

    Args:
        question: the question.
        tables: candidates, best first; equals are decided by this order. The names of table and
            columns are those of the database. ``context["column_types"]``, declared types in the
            order of the header, tells the kind of a column without cells.

    Returns:
        One SELECT statement in SQLite's SQL, or None if there is no table with a column.
    """
    drafts = [_Draft.of(question, *_in_memory(table)) for table in tables if table.header]
    if not drafts:
        return None
    return max(drafts, key=lambda draft: draft.score).sql()


def _in_memory(table: Table) -> tuple[Table, Texts]:
    """Return the table with the rows that are looked at, and its ``texts``; read once."""
    kept = _KEPT.get(id(table))
    if kept is None or kept[0] is not table:
        if len(_KEPT) == 128:
            _KEPT.clear()
        short = replace(table, rows=list(table.rows[:ROWS]))
        kept = _KEPT[id(table)] = table, short, texts(short)
    return kept[1:]


@dataclass(frozen=True, slots=True)
class _Draft:
    """One table as the place of the answer.

    Attributes:
        question: the question.
        table: the table.
        columns: what the question says of its columns.
        values: its cells that the question quotes.
        score: how much of the question it explains.
    """

    question: str
    table: Table
    columns: tuple[Column, ...]
    values: tuple[Value, ...]
    score: float

    @classmethod
    def of(cls, question: str, table: Table, cells: Texts) -> "_Draft":
        found = columns(question, table)
        quoted_cells = values(question, cells, found)
        said = set(words(question))
        name = words(table.id.table_id)
        named = sum(word in said for word in name) / len(name) if name else 0.0
        score = 2 * named + sum(c.score for c in found if c.score > 0.5) + 1.5 * len(quoted_cells)
        return cls(question, table, tuple(found), tuple(quoted_cells), score)

    def sql(self) -> str:
        conditions, used = self._conditions()
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        source = f" FROM {quoted(self.table.id.table_id)}{where}"
        mentioned = self._mentioned(used)
        group = self._group()
        if group is not None:
            return self._grouped(source, group, mentioned)
        if _COUNT.search(self.question):
            return f"SELECT {self._counted(mentioned)}{source}"
        aggregated = self._aggregated(mentioned)
        if aggregated:
            return f"SELECT {', '.join(aggregated)}{source}"
        return self._listed(source, mentioned)

    def _conditions(self) -> tuple[list[str], set[int]]:
        """Return the conditions, and the places of the columns that they are about."""
        found = []
        for value in self.values:
            sign = "<>" if _NOT.search(self.question[: value.start]) else "="
            literal = str(value.cell).replace("'", "''")
            found.append(f"{quoted(value.column.name)} {sign} '{literal}'")
        used = {value.column.place for value in self.values}
        for number, start in numbers(self.question, self.values):
            before = self.question[:start]
            operator = next((sign for sign, words_ in _COMPARISONS if words_.search(before)), None)
            column = self._compared(number, before, operator)
            if column is not None:
                found.append(f"{quoted(column.name)} {operator or '='} {number}")
                used.add(column.place)
        return found, used

    def _compared(self, number: str, before: str, operator: str | None) -> Column | None:
        """Return the numeric column that a number is about; uncompared, it has to hold it."""
        candidates = [c for c in self.columns if self._numeric(c)]
        if operator is None:
            candidates = [c for c in candidates if c.score > 0 and self._holds(c, number)]
        said = [column for column in candidates if self._says(column, before)]
        return max(said, key=lambda column: (column.score, -column.place), default=None)

    def _holds(self, column: Column, number: str) -> bool:
        return any(str(row[column.place]) == number for row in self.table.rows[:ROWS])

    def _says(self, column: Column, text: str) -> bool:
        there = set(re.findall(r"\w+", text.lower()))
        implied = any(there & set(_IMPLIED.get(part, ())) for part in words(column.name))
        return implied or column.score > 0.5

    def _mentioned(self, used: set[int]) -> list[Column]:
        """Return the columns that the question asks for, in its order."""
        named = [column for column in self.columns if column.score > 0.99]
        clause = _CLAUSE.search(self.question, 8)
        head = columns(self.question[: clause.start()], self.table) if clause else []
        asked = {column.place for column in head if column.score > 0.99}
        free = [column for column in named if column.place not in used or column.place in asked]
        return sorted(free, key=lambda column: (column.at, column.place))

    def _group(self) -> Column | None:
        each = _EACH.search(self.question)
        return self._first_said(self.question[each.end() :]) if each else None

    def _first_said(self, text: str) -> Column | None:
        """Return the column that a piece of the question names first and best."""
        near = columns(text, self.table)
        said = [column for column in near if column.score > 0.5 and column.at < 6]
        return min(said, key=lambda column: (-column.score, column.at, column.place), default=None)

    def _grouped(self, source: str, group: Column, mentioned: list[Column]) -> str:
        key = quoted(group.name)
        others = [column for column in mentioned if column.place != group.place]
        wanted = self._aggregated(others) if not _COUNT.search(self.question) else []
        return f"SELECT {', '.join([key, *(wanted or ['count(*)'])])}{source} GROUP BY {key}"

    def _counted(self, mentioned: list[Column]) -> str:
        if _DISTINCT.search(self.question) and mentioned:
            return f"count(DISTINCT {quoted(mentioned[0].name)})"
        return "count(*)"

    def _aggregated(self, mentioned: list[Column]) -> list[str]:
        target = next((c for c in mentioned if self._numeric(c)), None)
        if target is None:
            return []
        found = []
        for name, pattern in _AGGREGATES.items():
            match = pattern.search(self.question)
            if match:
                found.append((match.start(), f"{name}({quoted(target.name)})"))
        return [text for _, text in sorted(found)]

    def _listed(self, source: str, mentioned: list[Column]) -> str:
        order, descending = self._order()
        limit = ""
        if order is None:
            order, descending = self._extreme()
            limit = " LIMIT 1" if order is not None else ""
        chosen = [c for c in mentioned if order is None or c.place != order.place]
        chosen = chosen or [column for column in mentioned if not limit] or self._default()
        shown = ", ".join(quoted(column.name) for column in chosen)
        if _ALL.search(self.question):
            shown = "*"
        distinct = "DISTINCT " if _DISTINCT.search(self.question) else ""
        by = f" ORDER BY {quoted(order.name)}{' DESC' if descending else ''}" if order else ""
        return f"SELECT {distinct}{shown}{source}{by}{limit}"

    def _order(self) -> tuple[Column | None, bool]:
        match, down = _ORDER.search(self.question), _DESCENDING.search(self.question)
        return self._first_said(match[1] or match[2] or "") if match else None, bool(down)

    def _numeric(self, column: Column) -> bool:
        return _numeric(self.table, column.place)

    def _extreme(self) -> tuple[Column | None, bool]:
        """Return the numeric column of which the question wants the most or the least."""
        most, least = _MOST.search(self.question), _LEAST.search(self.question)
        if (found := most or least) is None:
            return None, False
        after = self._first_said(self.question[found.end() :])
        implied = (c for c in self.columns if self._says(c, found[0]) and self._numeric(c))
        column = after if after is not None and self._numeric(after) else next(implied, None)
        return column, most is not None

    def _default(self) -> list[Column]:
        """Return the column to show if none is named: one that holds names, else the first."""
        named = [c for c in self.columns if words(c.name)[-1:] in (("name",), ("titl",))]
        return (named or list(self.columns))[:1]


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words; ``homeTeam`` and ``home_team`` are two words."""
    stem = _stemmer()
    return tuple(stem(word.lower()) for word in _WORD.findall(text))


def columns(question: str, table: Table) -> list[Column]:
    """Return the columns of a table, each with its mentions in the question."""
    said = words(question)
    own = set(words(table.id.table_id))
    found = []
    for place, name in enumerate(table.header):
        parts = words(name)
        core = tuple(part for part in parts if part not in own) or parts
        hits = [said.index(part) for part in core if part in said]
        score = len(hits) / len(core) if core else 0.0
        found.append(Column(name, place, score, min(hits, default=len(said))))
    return found


def texts(table: Table) -> Texts:
    """Return place, cell and wording in lower case of each text that a question may quote."""
    cells = {(at, c): c for row in table.rows for at, c in enumerate(row) if isinstance(c, str)}
    found = [(*key, cell.strip().lower()) for key, cell in cells.items()]
    return [one for one in found if len(one[2]) > 1 and one[2] not in _common()]


def values(question: str, cells: Texts, known: Sequence[Column]) -> list[Value]:
    """Return the text cells that the question quotes, longest first, none inside another."""
    text = question.lower()
    quotes = [(known[at], cell, _quoted_at(wording, text)) for at, cell, wording in cells]
    found = [Value(column, cell, *place) for column, cell, place in quotes if place is not None]
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
    if cell not in text or _is_number(cell):
        return None
    place = text.find(cell)
    while place >= 0:
        end = place + len(cell)
        if not text[place - 1 : place].isalnum() and not text[end : end + 1].isalnum():
            return place, end
        place = text.find(cell, place + 1)
    return None


def _numeric(table: Table, place: int) -> bool:
    """Return whether nearly all its cells are numbers; without cells by its declared type."""
    cells = [row[place] for row in table.rows[:_SAMPLE] if row[place] not in (None, "")]
    if cells:
        return sum(map(_is_number, cells)) >= _MOSTLY * len(cells)
    types = list(table.context.get("column_types") or ())
    known = len(types) == len(table.header)
    return known and not any(word in str(types[place]).upper() for word in _TEXTUAL)


def _is_number(cell: Cell) -> bool:
    if isinstance(cell, str):
        return _WHOLE_NUMBER.fullmatch(cell.strip()) is not None
    return isinstance(cell, int | float)


@cache
def _common() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS)


@cache
def _stemmer():  # type: ignore[no-untyped-def]  # a bound method of a C class
    from Stemmer import Stemmer

    return Stemmer("english").stemWord
