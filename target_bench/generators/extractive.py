"""The offline baseline: copy answers from the tables by lexical match, without any model."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from math import log
from operator import itemgetter
from typing import NamedTuple

from target_bench.core.contract import Generator
from target_bench.core.errors import ConfigError, check_at_least_one
from target_bench.core.schema import GenerationRequest, Table
from target_bench.data.highlights import HIGHLIGHTED, cell_text, write_highlighted
from target_bench.data.languages import AnyLanguage, Language, guess_language
from target_bench.data.table_text import Analyzer, Serializer

NOT_ENOUGH = "Not Enough Information"

_WORD = r"[^\W_]+(?:[.,]\d+)*"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

_ROWS_OF_A_LANGUAGE = 20


@dataclass(eq=False, repr=False)
class Extractive(Generator):
    """Find the row with most words of the query, and answer with one of its cells.

    For a question the answer is the cell of the best row whose column the question mentions, else
    the first cell that the question does not contain. A statement is True when the best row has all
    its numbers, and all of its words that any row of the table has; else it is False: it is about
    another row. Where almost nothing matches, the answer is "Not Enough Information". A question
    about a database is answered with SQL that selects the columns it names from one table.
    Highlighted cells are listed with their column names. No table is written.

    Args:
        tables: how many of the retrieved tables are searched.
        coverage: the share of a statement's weight that a row, its header and its title need for a
            verdict.
        language: of stop words and stemmer; ``auto`` detects it for each question, from the
            question and its tables. Labels are English.
    """

    VERSION = "4"
    packages = ("PyStemmer",)

    tables: int = 3
    coverage: float = 0.2
    language: AnyLanguage = "en"

    def __post_init__(self) -> None:
        check_at_least_one(tables=self.tables)
        if not 0 <= self.coverage <= 1:
            raise ConfigError(f"coverage={self.coverage}: expected a number from 0 to 1")

    def generate(self, request: GenerationRequest) -> str:
        """Return the answer, as the task asks for it."""
        if request.answer == "sql":
            from target_bench.sql.baseline import compose

            return compose(request.query, request.tables) or ""
        if request.tables and request.tables[0].context.get(HIGHLIGHTED):
            return write_highlighted(request.tables[0])
        words = _make_words(self._choose_language(request))
        best = _find_best_row(words, request.query, request.tables[: self.tables])
        if best is None:
            return NOT_ENOUGH
        if request.answer == "label":
            return self._verify(words, request.query, best)
        return _answer_question(words, request.query, best.row)

    def _choose_language(self, request: GenerationRequest) -> Language:
        if self.language != "auto":
            return self.language
        tables = map(Serializer(rows=_ROWS_OF_A_LANGUAGE), request.tables[: self.tables])
        return guess_language([request.query, *tables])

    def _verify(self, words: "_Words", statement: str, best: "_BestRow") -> str:
        if best.coverage < self.coverage:
            return NOT_ENOUGH
        row, claimed = best.row, set(words(statement))
        here = set(words(" ".join([row.title, *row.table.header, *row.cells])))
        in_table = set().union(*(_word_set(words, each.text) for each in _list_rows(row.table)))
        numbers = {word for word in claimed if _NUMBER.fullmatch(word)}
        return str(not claimed & (in_table - here) and numbers <= here)


class _Row(NamedTuple):
    """A row of a table."""

    table: Table
    title: str  # of the table, with its section
    cells: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.cells)


class _BestRow(NamedTuple):
    """The row that has most of a query, of its words by weight."""

    row: _Row
    coverage: float  # the share of the weight that row, header and title have


def _find_best_row(words: "_Words", query: str, tables: Sequence[Table]) -> _BestRow | None:
    """Return the row with the most weight; among equals the first of the first table."""
    rows = [row for table in tables for row in _list_rows(table)]
    query_words = sorted(set(words(query)))  # sums of floats depend on the order
    if not rows or not query_words:
        return None
    row_words = [_word_set(words, row.text) for row in rows]
    counts = Counter(word for each in row_words for word in each.intersection(query_words))
    weights = {word: log(1 + len(rows) / (1 + counts[word])) for word in query_words}
    total = sum(weights.values())
    above = {id(r.table): _word_set(words, " ".join([r.title, *r.table.header])) for r in rows}
    best, highest = None, 0.0
    for row, in_row in zip(rows, row_words, strict=True):
        if in_row.isdisjoint(query_words):
            continue
        found = in_row | above[id(row.table)]
        weight = sum(weights[word] for word in query_words if word in found)
        if weight > highest:
            best, highest = _BestRow(row, weight / total), weight
    return best


def _list_rows(table: Table) -> list[_Row]:
    title = " ".join(str(table.context.get(name) or "") for name in ("title", "section_title"))
    return [_Row(table, title, tuple(map(cell_text, row))) for row in table.rows]


def _answer_question(words: "_Words", question: str, row: _Row) -> str:
    """Return the cell whose column has most words of a question, if it says something new."""
    question_words = set(words(question))
    cells = [
        (len(question_words.intersection(words(name))), cell)
        for name, cell in zip(row.table.header, row.cells, strict=True)
        if cell.strip()
    ]
    new = [(n, cell) for n, cell in cells if not question_words.issuperset(words(cell))]
    return max(new or cells, key=itemgetter(0), default=(0, NOT_ENOUGH))[1]


class _Words:
    """Stems of a text without stop words, and numbers: 1,000.0 and 1000 are the same."""

    def __init__(self, language: Language) -> None:
        self._tokens = Analyzer(_WORD, False, "en_plus", "english", (language,))

    def __call__(self, text: str) -> Iterator[str]:
        """Yield them in the order of the text."""
        for token in self._tokens(text):
            digits = token.replace(",", "")
            yield f"{Decimal(digits).normalize():f}" if _NUMBER.fullmatch(digits) else token


_make_words = cache(_Words)


@lru_cache(maxsize=8192)  # many queries are about the same rows
def _word_set(words: _Words, text: str) -> frozenset[str]:
    return frozenset(words(text))
