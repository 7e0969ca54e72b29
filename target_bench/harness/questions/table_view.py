"""A table as questions see it, and drafts of questions that can be looked up in any table."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from random import Random

from target_bench.core.schema import Table, TableId
from target_bench.data.highlights import cell_text

MAX_ROWS = 50_000
"""Rows of a table that are read; a longer table gets no questions of its own."""

TOO_LONG = "tables with more than 50,000 rows"
"""The reason why these are left out."""

BLANKS = frozenset({"", "-", "–", "—", "?", "n/a", "null", "nan", "none", "unknown"})
"""Normalized cells that hold no value."""


@dataclass(frozen=True)
class Draft:
    """A question about one table, in a form that can be looked up in every other table.

    Texts of the last four are as ``normalize`` returns them. Their examples are of *Capitals: who
    is the mayor of Oslo?*

    Attributes:
        table: the table.
        text: the question.
        answer: its answer.
        cells: the cells that the answer comes from: (row, column), from 0.
        title_words: words of the title or section that the question names: ``capitals``.
        keys: cells that it names, all of one row: ``oslo``.
        columns: names of the columns that hold the answer: ``mayor``.
        values: what ``table`` holds there: ``ann``.
    """

    table: TableId
    text: str
    answer: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]
    title_words: frozenset[str]
    keys: frozenset[str]
    columns: frozenset[str]
    values: frozenset[str]


class TableView:
    """The cells of a table as texts, and its columns by the names that questions use."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.is_long = len(table.rows) > MAX_ROWS

    @cached_property
    def rows(self) -> list[list[str]]:
        """The first ``MAX_ROWS`` rows."""
        return [[cell_text(cell).strip() for cell in row] for row in self.table.rows[:MAX_ROWS]]

    @cached_property
    def names(self) -> dict[int, str]:
        """Column -> its name, of the columns with a name that no other column has."""
        names = [clean_column_name(name) for name in self.table.header]
        counts = Counter(map(normalize, names))
        return {i: name for i, name in enumerate(names) if name and counts[normalize(name)] == 1}

    @cached_property
    def columns(self) -> dict[str, int]:
        """Normalized name -> column."""
        return {normalize(name): column for column, name in self.names.items()}

    @cached_property
    def titles(self) -> list[str]:
        """Title and section; not the name of the file, which somebody who asks does not know."""
        texts = (self.table.context.get(key) for key in ("title", "section_title"))
        file_words = split_words(self.table.id.table_id)
        return [str(text) for text in texts if text and split_words(str(text)) != file_words]

    @cached_property
    def title_words(self) -> frozenset[str]:
        """The words of title and section."""
        return frozenset(split_words(" ".join(self.titles)))

    @cached_property
    def rows_by_cell(self) -> dict[str, set[int]]:
        """Normalized cell -> the rows that hold it; "" -> all rows."""
        rows: dict[str, set[int]] = defaultdict(set)
        for number, row in enumerate(self.rows):
            for cell in row:
                rows[normalize(cell)].add(number)
        rows[""] = set(range(len(self.rows)))
        return rows

    def look_up(self, draft: Draft) -> frozenset[str]:
        """Return the normalized values that the table has for a question; empty where none."""
        if not draft.title_words <= self.title_words:
            return frozenset()
        keys = draft.keys or {""}
        rows = set.intersection(*(self.rows_by_cell.get(key, set()) for key in keys))
        columns = [self.columns[name] for name in draft.columns if name in self.columns]
        values = {normalize(self.rows[row][column]) for row in rows for column in columns}
        return frozenset(values - BLANKS)


_BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]")


def clean(cell: str) -> str:
    """Return a cell as it stands in a sentence: without brackets, footnote marks and quotes."""
    return " ".join(_BRACKETS.sub(" ", cell).split()).strip(" \"'“”„*†‡#,;:")


def normalize(cell: str) -> str:
    """Return the text by which cells, names and values are compared."""
    return clean(cell).casefold()


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"[^\W_]+", text.casefold())


def clean_column_name(name: str) -> str:
    """Return a name in one line, without brackets; "" if it does not read as one."""
    text = " ".join(name.partition("(")[0].replace("_", " ").split()).strip(" .:*#/-")
    if len(text) < 2 or not any(map(str.isalpha, text)):
        return ""
    return " ".join(word.lower() if word.istitle() else word for word in text.split())


def seed_random(seed: int, table: TableId, *more: int) -> Random:
    """Return random numbers for a table: the same for a seed, whatever other tables there are."""
    return Random(" ".join(map(repr, (seed, table, *more))))  # noqa: S311  # chance, no secret
