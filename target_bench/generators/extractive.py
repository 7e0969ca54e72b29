"""The offline baseline: answers copied out of the tables by lexical match, without any model."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from math import log

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
    """Finds the row that shares most with the query, and reads the answer off it.

    A question is answered with the cells of the best row: those under the column whose name the
    question mentions, else the first that the question does not hold already. A statement is True
    when the best row holds all its numbers, and all of its words that any row of the table holds;
    else it is False: it speaks of another row. Where next to nothing matches, the answer is "Not
    Enough Information". A question to a database is answered with SQL that selects what it names
    from one table. Highlighted cells are listed with their names. No table is written.

    Args:
        tables: how many of the retrieved tables to look at.
        coverage: the share of a statement's weight that a row, its header and its title have to
            hold for a verdict.
        language: whose stop words and stemmer are used; ``auto`` tells it for each question, from
            the question and its tables. Labels are English.
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
        words = _words_of(self._language(request))
        best = _best_row(words, request.query, request.tables[: self.tables])
        if best is None:
            return NOT_ENOUGH
        if request.answer == "label":
            return self._verdict(words, request.query, best)
        return _answer(words, request.query, best)

    def _language(self, request: GenerationRequest) -> Language:
        if self.language != "auto":
            return self.language
        tables = map(Serializer(rows=_ROWS_OF_A_LANGUAGE), request.tables[: self.tables])
        return guess_language([request.query, *tables])

    def _verdict(self, words: "_Words", statement: str, best: "_Row") -> str:
        if best.coverage < self.coverage:
            return NOT_ENOUGH
        claimed = set(words(statement))
        here = set(words(" ".join([best.title, *best.table.header, *best.cells])))
        row_words = (_word_set(words, " ".join(cells)) for _, cells in _rows(best.table))
        elsewhere = {word for words_of_row in row_words for word in words_of_row}
        numbers = {word for word in claimed if _NUMBER.fullmatch(word)}
        return str(not claimed & (elsewhere - here) and numbers <= here)


@dataclass(frozen=True)
class _Row:
    """A row of a table, judged against a query.

    Attributes:
        table: where it is.
        title: the words above the table.
        cells: its cells as text.
        score: the weight of the query's words in it, in its header and above its table.
        coverage: the same as a share of the weight of all of them.
    """

    table: Table
    title: str
    cells: tuple[str, ...]
    score: float
    coverage: float


def _best_row(words_of: "_Words", query: str, tables: Sequence[Table]) -> _Row | None:
    """Return the row with the most weight; among equals the first of the first table."""
    rows = [(table, title, cells) for table in tables for title, cells in _rows(table)]
    query_words = sorted(set(words_of(query)))  # sums of floats depend on the order
    if not rows or not query_words:
        return None
    words = [_word_set(words_of, " ".join(cells)) for _, _, cells in rows]
    count = Counter(word for row_words in words for word in row_words.intersection(query_words))
    weight = {word: log(1 + len(rows) / (1 + count[word])) for word in query_words}
    total = sum(weight.values())
    around = {id(t): _word_set(words_of, " ".join([title, *t.header])) for t, title, _ in rows}
    best: _Row | None = None
    for (table, title, cells), row_words in zip(rows, words, strict=True):
        own = sum(weight[word] for word in query_words if word in row_words)
        anywhere = row_words | around[id(table)]
        whole = sum(weight[word] for word in query_words if word in anywhere)
        if own > 0 and (best is None or whole > best.score):
            best = _Row(table, title, cells, whole, whole / total)
    return best


def _rows(table: Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    parts = (str(table.context.get(name) or "") for name in ("title", "section_title"))
    title = " ".join(parts)
    return ((title, tuple(map(cell_text, row))) for row in table.rows)


def _answer(words_of: "_Words", question: str, best: _Row) -> str:
    question_words = set(words_of(question))
    cells = list(zip(best.table.header, best.cells, strict=True))
    named = [
        (len(question_words & set(words_of(name))), cell) for name, cell in cells if cell.strip()
    ]
    unsaid = [(n, cell) for n, cell in named if not set(words_of(cell)) <= question_words]
    candidates = unsaid or named
    most = max((n for n, _ in candidates), default=0)
    if most == 0:
        return candidates[0][1] if candidates else NOT_ENOUGH
    return next(cell for n, cell in candidates if n == most)


class _Words:
    """The stems of words but stop words, and numbers: 1,000.0 and 1000 are the same.

    Args:
        language: of the words.
    """

    def __init__(self, language: Language) -> None:
        self._tokens = Analyzer(_WORD, False, "en_plus", "english", (language,))

    def __call__(self, text: str) -> Iterator[str]:
        """Yield them in the order of the text."""
        for token in self._tokens(text):
            digits = token.replace(",", "")
            yield f"{Decimal(digits).normalize():f}" if _NUMBER.fullmatch(digits) else token


_words_of = cache(_Words)


@lru_cache(maxsize=8192)  # many queries are about the same rows
def _word_set(words_of: _Words, text: str) -> frozenset[str]:
    return frozenset(words_of(text))
