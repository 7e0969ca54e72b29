"""What a synthetic question asks of a table, the answer of the table, and who else answers it.

A question is a ``kind`` with names: words of the title, columns, values. The same function that
makes its answer is tried on every other table, so that a question is known to be answered by its
gold tables and by no other.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cache, cached_property
from typing import Literal, NamedTuple

from target_bench.core.schema import Corpus, Table, TableId
from target_bench.data.languages import Language
from target_bench.data.table_text import WORDS, Analyzer, cell_text, stop_words

Kind = Literal["lookup", "count", "highest", "lowest", "comparison"]
"""What is asked: cells of a row, or what follows from a column."""

LONGEST = 50_000
"""Rows of a table that are read at most; a longer one gets no question."""

FEWEST_NUMBERS = 3
"""Numbers that a column has at least to be ordered."""

_TOTALS = frozenset({"total", "totals", "average", "sum", "summe", "gesamt", "somme", "suma"})


@dataclass(frozen=True, slots=True)
class Ask:
    """What a question asks.

    Attributes:
        kind: what is asked.
        columns: names of the columns that a table needs, those that are asked for first.
        values: texts, each of which a cell of the row holds.
        n_asked: how many of ``columns`` are asked for.
        topic: words that title or section hold.
    """

    kind: Kind
    columns: tuple[str, ...]
    values: tuple[str, ...] = ()
    n_asked: int = 1
    topic: str = ""

    @property
    def names(self) -> str:
        """All that a table has to hold, as one text."""
        return " ".join((*self.columns, *self.values, self.topic))


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """The answer of a table.

    Attributes:
        answer: the values, each once.
        cells: the cells that it comes from: (row, column), from 0.
    """

    answer: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question about a table, not yet compared with other tables.

    Attributes:
        table: the table.
        text: the question.
        ask: what it asks; other tables that give ``evidence``, too, answer the question.
        evidence: what its table gives.
        solution: the answer, and the cells that it comes from.
    """

    table: TableId
    text: str
    ask: Ask
    evidence: tuple[str, ...]
    solution: TableAnswer


class TableView:
    """A table, as questions look at it.

    Args:
        table: the table; its first ``LONGEST`` rows are read.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows = [[cell_text(cell).strip() for cell in row] for row in table.rows[:LONGEST]]
        names = [spoken_name(name) for name in table.header]
        self.columns: Mapping[str, int] = {
            name: i for i, name in enumerate(names) if name and names.count(name) == 1
        }
        """Names of columns, as questions say them, that no other column of the table has."""

    @property
    def whole(self) -> bool:
        """Whether all rows were read."""
        return len(self.table.rows) <= LONGEST

    @cached_property
    def titles(self) -> list[str]:
        """Title and section, where there are any and they say more than the id of the table.

        The title of a file is its path, which nobody who asks knows.
        """
        context = (self.table.context.get(key) for key in ("title", "section_title"))
        texts = [" ".join(str(text).split()) for text in context if text]
        known = words(self.table.id.table_id)
        return [text for text in texts if words(text) != known]

    @cached_property
    def topic_words(self) -> frozenset[str]:
        """The words of title and section."""
        return frozenset(words(" ".join(self.titles)))

    @cached_property
    def every_word(self) -> frozenset[str]:
        """All words of titles, header and rows."""
        cells = (cell for row in self.rows for cell in row)
        return frozenset(words(" ".join([*self.titles, *self.table.header, *cells])))

    @cached_property
    def _cell_terms(self) -> list[list[str]]:
        return [[_with_and_without_brackets(cell) for cell in row] for row in self.rows]

    def rows_with(self, values: Sequence[str]) -> list[int]:
        """Return the rows in which a cell holds the terms of each value, one after the other."""
        phrases = [f" {terms(value)} " for value in values]
        return [
            number
            for number, row in enumerate(self._cell_terms)
            if all(any(value in cell for cell in row) for value in phrases)
        ]

    def cells(self, name: str) -> list[str]:
        """Return the cells of a column."""
        place = self.columns[name]
        return [row[place] for row in self.rows]

    def numbers(self, name: str) -> list[tuple[Decimal, int]]:
        """Return (number, row) of a column; nothing if they are not numbers of one unit.

        Nothing either of a table with a row of totals, which differ from the others.
        """
        parsed = [number_in(cell) for cell in self.cells(name)]
        numbers = [number for number in parsed if number is not None]
        dotted = [cell for cell in self.cells(name) if "." in cell]
        if dotted and all(map(_THREE_PLACES.fullmatch, dotted)):
            return []  # 1.234 is a thousand in one language, and little more than one in another
        units = {number.unit for number in numbers}
        if len(numbers) < len(parsed) or len(units) != 1 or self._has_totals:
            return []
        return [(number.value, row) for row, number in enumerate(numbers)]

    @cached_property
    def _has_totals(self) -> bool:
        first = (cell for row in self._cell_terms for cell in row[:2])
        return any(not _TOTALS.isdisjoint(cell.split()) for cell in first)


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case and without accents."""
    return _analyzer()(text)


def terms(text: str) -> str:
    """Return the words of a text with the marks that tell values apart, spaces between.

    ``-3`` is not ``3``, ``1-2`` not ``2-1``, ``1.5`` neither ``1`` nor ``5``, ``A+`` not ``A`` and
    ``$5`` not ``5%``.
    """
    return " ".join(words(_MARK.sub(lambda mark: _MARKS[mark[0][0]] * len(mark[0]), text)))


_MARK = re.compile(
    r"(?<![^\W_])[-−](?=\s?[$€£]?\d)|(?<=\d)[-−–.,:/](?=\d)|(?<=[^\W_])[+#]+|(?<=[^\W\d_])[-−](?![^\W_])"
    r"|[<>≤≥](?=\s?\d)|[$€£](?=\s?[-−+]?\d)|(?<=\d)%"
)
_MARKS = dict.fromkeys("-−–", "minus") | {
    **{".": "point", ",": "comma", ":": "colon", "/": "slash", "+": "plus", "#": "hash"},
    **{"<": "less", ">": "more", "≤": "most", "≥": "least"},
    **{"$": "dollar", "€": "euro", "£": "pound", "%": "percent"},
}

BRACKETS = re.compile(r"\s*[(\[][^)\]]*[)\]]")
"""What a cell says in brackets."""


def _with_and_without_brackets(cell: str) -> str:
    bounded = f" {terms(cell)} "
    return f"{bounded}| {terms(BRACKETS.sub('', cell))} " if "(" in cell or "[" in cell else bounded


@cache
def _analyzer() -> Analyzer:
    return Analyzer(WORDS, True, "none", "none")


def exactly() -> AbstractContextManager[Context]:
    """Return a context in which sums of the numbers of cells are exact, and means to two places."""
    return localcontext(prec=1000)


def spoken_name(name: str) -> str:
    """Return the name of a column as a question says it: one line, without what is in brackets."""
    text = " ".join(name.partition("(")[0].split()).strip(" .:*#/-")
    named = [word if not word.istitle() else word.lower() for word in text.split()]
    return " ".join(named) if any(c.isalpha() for c in text) and len(text) > 1 else ""


def solve(ask: Ask, view: TableView) -> TableAnswer | None:
    """Return the answer of a table; None where it has none."""
    if not view.columns.keys() >= set(ask.columns):
        return None
    if not view.topic_words >= frozenset(words(ask.topic)):
        return None
    solution = _SOLVERS[ask.kind](ask, view)
    if solution is None or not solution.answer or not BLANK.isdisjoint(solution.answer):
        return None
    return solution


def _row(ask: Ask, view: TableView) -> TableAnswer | None:
    rows = view.rows_with(ask.values)
    places = [(row, view.columns[name]) for row in rows for name in ask.columns[: ask.n_asked]]
    return _listed(view, places)


def _listed(view: TableView, places: Sequence[tuple[int, int]]) -> TableAnswer:
    texts = dict.fromkeys(view.rows[row][column] for row, column in places)
    return TableAnswer(tuple(texts), tuple(places))


def _count(ask: Ask, view: TableView) -> TableAnswer | None:
    rows = view.rows_with(ask.values)
    place = view.columns[ask.columns[0]]
    return TableAnswer((str(len(rows)),), tuple((row, place) for row in rows)) if rows else None


def _extreme(ask: Ask, view: TableView) -> TableAnswer | None:
    numbers = view.numbers(ask.columns[-1])
    if len(numbers) < FEWEST_NUMBERS:
        return None
    end = (max if ask.kind == "highest" else min)(number for number, _ in numbers)
    rows = [row for number, row in numbers if number == end]
    return _listed(view, [(row, view.columns[ask.columns[0]]) for row in rows])


def _comparison(ask: Ask, view: TableView) -> TableAnswer | None:
    rows = [view.rows_with([value]) for value in ask.values]
    numbers = {row: number for number, row in view.numbers(ask.columns[0])}
    if any(len(matching_rows) != 1 for matching_rows in rows) or not numbers:
        return None
    compared = [
        (numbers[matching_rows[0]], value)
        for matching_rows, value in zip(rows, ask.values, strict=True)
    ]
    if compared[0][0] == compared[1][0]:
        return None
    place = view.columns[ask.columns[0]]
    return TableAnswer(
        (max(compared)[1],), tuple((matching_rows[0], place) for matching_rows in rows)
    )


_SOLVERS: Mapping[Kind, Callable[[Ask, TableView], TableAnswer | None]] = {
    "lookup": _row,
    "count": _count,
    "highest": _extreme,
    "lowest": _extreme,
    "comparison": _comparison,
}


Difficulty = Literal["easy", "medium", "hard"]
"""At least four rare words, two or three, or fewer."""

RARE = 0.01
"""The share of tables that hold a rare word at most; one table in any case."""

_LEAST: dict[Difficulty, int] = {"easy": 4, "medium": 2, "hard": 0}


class Rarity:
    """How many tables of a corpus hold each word.

    Args:
        corpus: the tables.
        languages: whose stop words are not rare.
    """

    def __init__(self, corpus: Corpus, languages: Sequence[Language] = ("en",)) -> None:
        self._stop_words = frozenset[str]().union(*map(stop_words, languages))
        self.tables: Counter[str] = Counter()
        for table in corpus:
            self.tables.update(TableView(table).every_word)
        self._most = max(1, int(RARE * len(corpus)))

    def rare_words(self, text: str, view: TableView) -> list[str]:
        """Return the words of a question that its table holds and few others, each once."""
        known = dict.fromkeys(words(text)).keys() & view.every_word
        return sorted(word for word in known - self._stop_words if self.tables[word] <= self._most)

    def rarest(self, text: str) -> str:
        """Return the word of a text that the fewest tables hold."""
        return min(words(text), key=lambda word: (self.tables[word], word))


def difficulty_of(rare_words: int) -> Difficulty:
    """Return the difficulty of a question with this many rare words."""
    return next(name for name, least in _LEAST.items() if rare_words >= least)


Answers = tuple[dict[TableId, TableAnswer], list[TableId]]
"""The tables that give the answer of a question, and those that give another one."""


def answers(
    asks: Sequence[tuple[Ask, Sequence[str]]], corpus: Corpus, rarity: Rarity
) -> list[Answers]:
    """Find the tables that answer questions, in one pass over the corpus.

    Args:
        asks: what each question asks, and its answer.
        corpus: the tables.
        rarity: of this corpus. A table is tried if it holds the rarest word of what is asked.
    """
    answered_by: list[Answers] = [({}, []) for _ in asks]
    by_word: dict[str, list[int]] = defaultdict(list)
    for i, (ask, _) in enumerate(asks):
        by_word[rarity.rarest(ask.names)].append(i)
    for table in corpus:
        view = TableView(table)
        for i in (i for word in by_word.keys() & view.every_word for i in by_word[word]):
            ask, answer = asks[i]
            given = solve(ask, view)
            if given is None:
                continue
            same, others = answered_by[i]
            if _same(given.answer, answer):
                same[table.id] = given
            else:
                others.append(table.id)
    return answered_by


def _same(left: Iterable[str], right: Iterable[str]) -> bool:
    return set(map(terms, left)) == set(map(terms, right))


ALIKE = 0.8
"""The Jaccard index of the words of two questions about one table from which on they are one."""


def is_repeated(text: str, earlier: Iterable[str]) -> bool:
    """Return whether a question says nearly what an earlier one about the same table says."""
    question_words = frozenset(words(text))
    others = (frozenset(words(other)) for other in earlier)
    return any(
        len(question_words & other) >= ALIKE * len(question_words | other) for other in others
    )


NUMBER = re.compile(
    r"(?P<before>[$€£]?\s?[-−+]?)"
    r"(?:(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"|(?P<comma>\d{1,3}(?:[.\s]\d{3})+(?:,\d+)|\d+,\d{1,2}))"
    r"(?P<after>\s?(?:(?!st|nd|rd|th)[^\W\d_]{1,12}[²³]?|[%°€])?)"
)
_THREE_PLACES = re.compile(r"\D*[1-9]\d{0,2}(?:\.\d{3})+\D*")
BLANK = frozenset({"", "-", "–", "—", "?", "N/A", "n/a", "NULL", "nan", "Unknown", "unknown"})
"""What a cell without a value holds."""


class Number(NamedTuple):
    """The number of a cell, and its currency and unit."""

    value: Decimal
    unit: str


def number_in(text: str) -> Number | None:
    """Return the number of a cell that is one, perhaps with currency and unit; else None.

    ``1,234.5`` and ``1.234,5`` are one number, so is ``2,5``; ``1.234`` is little more than one.
    """
    match = NUMBER.fullmatch(text)
    if match is None:
        return None
    digits = match["digits"] or re.sub(r"[.\s]", "", match["comma"]).replace(",", ".")
    value = Decimal(digits.replace(",", ""))
    is_negative = not {"-", "−"}.isdisjoint(match["before"])
    unit = match["before"].strip("-−+ ") + match["after"].strip()
    return Number(value.copy_negate() if is_negative else value, unit)


def plain(value: Decimal) -> str:
    """Return all digits of a number, without zeros at the end of its fraction."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
