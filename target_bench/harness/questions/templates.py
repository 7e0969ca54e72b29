"""Questions from templates, which ask for a cell of the row that a unique name stands for."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from target_bench.core.schema import Corpus, Table, TableId
from target_bench.data.languages import name_language, recognize_language
from target_bench.data.table_text import LANGUAGE, Serializer
from target_bench.harness.questions.table_view import (
    BLANKS,
    TOO_LONG,
    Draft,
    TableView,
    clean,
    normalize,
    seed_random,
    split_words,
)

TEMPLATES: Mapping[str, Sequence[str]] = {
    "en": ("What is the {column} of {key}?", "What is listed as {column} for {key}?"),
    "de": ("Was ist bei {key} als {column} angegeben?", "Was steht bei {key} als {column}?"),
}
"""Language -> ways to ask for a cell; the last one suits a column with a name in the plural."""

NO_QUESTION = (
    "tables without a column of unique names to ask about; a model (--generator) may find some"
)

_MAX_ROUNDS = 50
_MAX_WORDS = 8  # of a title or a key that a question names
_TITLE_SHARE = 0.7  # of the questions begin with the title
_PLURAL = re.compile(r"[^siu]s$")
# fmt: off
_DULL_NAMES = {
    "id", "ids", "uid", "key", "code", "codes", "url", "uri", "link", "email", "phone", "fax",
    "zip", "note", "notes", "no", "nr", "ref", "reference", "references", "source", "comment",
    "comments", "description", "details", "kommentar",
}
"""Words in the names of columns that nobody asks for."""
_TOTALS = {"total", "totals", "average", "sum", "all", "other", "others", "summe", "gesamt"}
# fmt: on


class TemplateWriter:
    """Writes questions from templates, in the language of each table.

    Attributes:
        name: what the metadata of the questions call it.
        dropped: reason -> number of tables left out.
    """

    name = "template"

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self._corpus, self._seed = corpus, seed
        self.dropped: Counter[str] = Counter()

    def write(self, tables: Sequence[TableId]) -> Iterator[Draft]:
        """Yield a question about each table, then another one about each, and so on."""
        for n_before in range(_MAX_ROUNDS):
            asked_about = []
            for table in tables:
                if draft := self._write_question(table, n_before):
                    asked_about.append(table)
                    yield draft
            tables = asked_about

    def _write_question(self, table: TableId, n_before: int) -> Draft | None:
        """Return the next question about a table; None, and the reason counted, if it has none."""
        view = TableView(self._corpus[table])
        if view.is_long:
            self.dropped[TOO_LONG] += 1
            return None
        language = _find_language(view.table) or self._corpus_language
        if language not in TEMPLATES:
            self.dropped[f"tables in {name_language(language)}, which no template speaks"] += 1
            return None
        targets = _find_targets(view)
        if not targets:
            self.dropped[NO_QUESTION] += 1
            return None
        # Every round shuffles in the same way, so that no question of a table comes twice, and then
        # draws words of its own.
        seed_random(self._seed, table).shuffle(targets)
        if n_before >= len(targets):
            return None
        rng = seed_random(self._seed, table, n_before)
        row, key_column, column = targets[n_before]
        key, cell, name = view.rows[row][key_column], view.rows[row][column], view.names[column]
        template = rng.choice(TEMPLATES[language])
        if _PLURAL.search(name):  # "what is the points of" is no English
            template = TEMPLATES[language][-1]
        text = template.format(column=name, key=clean(key))
        title = _choose_title(view) if rng.random() < _TITLE_SHARE else ""
        if title:
            text = f"{title}: {text[0].lower()}{text[1:]}"
        return Draft(
            table,
            text,
            answer=(cell,),
            cells=((row, column),),
            title_words=frozenset(split_words(title)),
            keys=frozenset({normalize(key)}),
            columns=frozenset({normalize(name)}),
            values=frozenset({normalize(cell)}),
        )

    @cached_property
    def _corpus_language(self) -> str:
        """The language of most of 100 tables, for those that do not show theirs."""
        step = max(1, len(self._corpus) // 100)
        languages = (_find_language(self._corpus[table]) for table in self._corpus.ids[::step])
        counts = Counter(filter(None, languages))
        return counts.most_common(1)[0][0] if counts else "en"


class _Target(NamedTuple):
    """A cell to ask for, and the column whose cell names its row."""

    row: int
    key_column: int
    column: int


def _find_targets(view: TableView) -> list[_Target]:
    """Return the cells that a template can ask for; none without a column of unique names."""
    key_column = next((column for column in view.names if _is_key(view, column)), None)
    if key_column is None:
        return []
    rows = [row for row, cells in enumerate(view.rows) if _names_row(view, cells[key_column])]
    columns = [
        column
        for column, name in view.names.items()
        if column != key_column
        and _DULL_NAMES.isdisjoint(split_words(name))
        and len({normalize(cells[column]) for cells in view.rows}) > 1  # else there is one answer
    ]
    return [
        _Target(row, key_column, column)
        for column in columns
        for row in rows
        if _is_answer(view.rows[row][column], view.rows[row][key_column])
    ]


def _is_key(view: TableView, column: int) -> bool:
    """Return whether the texts of a column, two or more, all differ and have letters."""
    texts = [normalize(row[column]) for row in view.rows]
    has_letters = all(any(map(str.isalpha, text)) for text in texts)
    return 1 < len(texts) == len(set(texts)) and has_letters


def _names_row(view: TableView, key: str) -> bool:
    """Return whether a key fits into a question and stands in no other row, in any column."""
    words = split_words(key)
    return (
        "\n" not in key
        and 0 < len(words) <= _MAX_WORDS
        and _TOTALS.isdisjoint(words)
        and len(view.rows_by_cell[normalize(key)]) == 1  # a runner-up may have won another year
    )


def _is_answer(cell: str, key: str) -> bool:
    return "\n" not in cell and normalize(cell) not in BLANKS | {normalize(key)}


def _choose_title(view: TableView) -> str:
    """Return title or section as a sentence names it; "" where neither is short enough."""
    for title in view.titles:
        text = clean(title.replace("_", " "))
        if text and len(text.split()) <= _MAX_WORDS:
            return text
    return ""


# How probable the language of a table has to be. It is low, since few words can be told apart in a
# table: without it a table gets the language of its corpus, and questions in a wrong one.
_SURE = 0.6
_write_first_rows = Serializer(rows=20)


def _find_language(table: Table) -> str | None:
    """Return the language that a table names or shows; None where it is unclear."""
    if code := table.context.get(LANGUAGE):
        return str(code)
    header = " ".join(table.header).lower()
    return recognize_language([header], _SURE) or recognize_language(
        [_write_first_rows(table)], _SURE
    )
