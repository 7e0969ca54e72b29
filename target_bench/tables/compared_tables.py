"""Answers beside their references, as every metric of tables reads them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from target_bench.core.errors import DataError
from target_bench.core.reasoning import without_reasoning
from target_bench.tables.answer_tables import (
    LONGEST,
    AnswerTable,
    ReadAnswer,
    TableFormat,
    UnreadableTableError,
    excuse_faults,
    match_tables,
    normalize_name,
)
from target_bench.tables.cell_texts import convert_decimal_commas, strip_marks
from target_bench.tables.comparison import TableComparison, compare_tables
from target_bench.tables.h_score import (
    HScore,
    h_score_html,
    h_score_latex,
    h_score_text,
    has_both_tables,
)
from target_bench.tables.header_cell_scores import (
    BOTH,
    PRF,
    Headers,
    Part,
    Similar,
    Similarity,
    header_cell_scores,
    is_empty,
    rectangular,
)
from target_bench.tables.plain_formats import has_markdown
from target_bench.tables.reading import read_tables

PairScores = Mapping[Part, PRF]

_EMPTY = AnswerTable("", ())
_ROW_END = "<NEWLINE>"
"""The end of a row of a table that is written in one line, as in Wu et al.'s files."""
_NO_H_SCORE = HScore({}, 0.0, 0.0)


@dataclass(frozen=True)
class ComparedTables:
    """An answer and its reference.

    Attributes:
        text: the answer; None for one that failed.
        gold: the reference, in the format; empty where there is none.
        table_format: how both are written.
        headers: the kinds of headers of the tables.
        p_score: content and structure as a model judged them; None where none did.
        judged: whether a model was asked for the P-Score.
    """

    text: str | None
    gold: str
    table_format: TableFormat
    headers: Headers = BOTH
    p_score: tuple[float, float] | None = None
    judged: bool = False

    @cached_property
    def plain(self) -> str:
        """The answer without its blocks of reasoning, as a judge reads it; empty if it failed."""
        return without_reasoning(self.text or "")

    @property
    def written(self) -> str | None:
        """The answer as metrics of texts read it; None if it failed."""
        if self.text is None or _ROW_END not in self.gold:
            return None if self.text is None else self.plain
        return f" {_ROW_END} ".join(line.strip() for line in self.plain.strip().splitlines())

    @cached_property
    def reference(self) -> ReadAnswer:
        """The tables of the reference."""
        return read_tables(self.gold, self.table_format)

    @cached_property
    def answer(self) -> ReadAnswer:
        """The tables of the answer, with the faults that the reference, if any, does not have."""
        if self.text is None:
            return ReadAnswer((), ("empty",))
        read = read_tables(self.text, self.table_format)
        return excuse_faults(read, self.reference) if self.gold else read

    @cached_property
    def h_score(self) -> HScore | None:
        """The official H-Score; None where the official code has none for such a reference.

        It is for texts that name a team and a player, HTML and LaTeX. An answer that failed is an
        empty one; one that cannot be scored (longer than ``LONGEST``, nested too deeply) is 0, and
        None where the reference cannot either.
        """
        if self.table_format == "text" and not has_both_tables(self.gold):
            return None
        with suppress(UnreadableTableError):
            return self._official(self.plain)
        with suppress(UnreadableTableError):
            return self._official(self.gold) and _NO_H_SCORE
        return None

    def _official(self, text: str) -> HScore | None:
        # the official code has no lower bound: one endless answer would outweigh all others
        if max(len(text), len(self.gold)) > LONGEST:
            raise UnreadableTableError("too_long", f"more than {LONGEST:,} characters")
        if self.table_format == "text":
            return h_score_text(text, self.gold)
        if self.table_format == "html":
            return h_score_html(text, self.gold)
        return h_score_latex(text, self.gold) if self.table_format == "latex" else None

    def pairs(self, similarity: Similarity | Similar) -> list[tuple[str, PairScores]]:
        """Return name and scores of each table of the reference that is not empty.

        Args:
            similarity: of two texts: ``exact``, ``chrf``, or a function.
        """
        if similarity not in self._pairs:
            pairs: list[tuple[str, PairScores]] = []
            answer, reference = self._normalized
            for i, j in match_tables(answer, reference):
                if j is not None:
                    gold = reference.tables[j]
                    given = rectangular(() if i is None else answer.tables[i].rows)
                    rows = rectangular(gold.rows)
                    scores = header_cell_scores(given, rows, similarity, self.headers)
                    pairs += [] if scores is None else [(gold.name, scores)]
            self._pairs[similarity] = pairs
        return self._pairs[similarity]

    @cached_property
    def _pairs(self) -> dict[object, list[tuple[str, PairScores]]]:
        return {}

    @property
    def is_correct(self) -> bool:
        """Whether the answer has the tables of the reference and no others, named alike.

        Rows and columns may have another order, as for the scores of headers and cells; the corner
        above the names of rows and beside those of columns is no name.
        """
        answer, reference = self._normalized
        pairs = match_tables(answer, reference)
        return bool(pairs) and all(
            i is not None and j is not None and self._is_same(answer.tables[i], reference.tables[j])
            for i, j in pairs
        )

    def _is_same(self, given: AnswerTable, gold: AnswerTable) -> bool:
        if normalize_name(given.name) != normalize_name(gold.name) or _size(given) != _size(gold):
            return False
        if given.pad_rows() == gold.pad_rows():
            return True
        lines = [self._lines(table.pad_rows()) for table in (given, gold)]
        if lines[0] != lines[1]:
            return False  # scores of headers and cells are of sets, in which repeated ones are lost
        scores = header_cell_scores(given.pad_rows(), gold.pad_rows(), "exact", self.headers)
        return scores is not None and all(score.f1 == 1 for score in scores.values())

    def _lines(self, rows: Sequence[Sequence[str]]) -> tuple[list[list[str]], list[list[str]]]:
        """Return what stands in each row and in each column, in any order, without the corner."""
        if self.headers.row and self.headers.column and rows:
            rows = [["", *rows[0][1:]], *rows[1:]]
        return sorted(map(sorted, rows)), sorted(map(sorted, zip(*rows, strict=True)))

    @property
    def ragged_partners(self) -> list[bool]:
        """Whether the partner of each table of the reference has rows of different length.

        Tables of the reference without a place for a value are left out, as by Wu et al.; a partner
        that is missing has no such rows.
        """
        return [
            i is not None and self.answer.tables[i].is_ragged
            for i, j in match_tables(self.answer, self.reference)
            if j is not None
            and not is_empty(rectangular(self.reference.tables[j].rows), self.headers)
        ]

    @property
    def comparisons(self) -> Sequence[TableComparison]:
        """The comparison of each table of the reference with the one it is paired with.

        A table that is missing, or too large to be compared, is an empty one. A reference that is
        too large is left out.
        """
        return list(self._comparisons.values())

    @cached_property
    def _comparisons(self) -> Mapping[int, TableComparison]:
        """Place of a table of the reference -> its comparison."""
        answer, reference = self._with_headers
        comparisons: dict[int, TableComparison] = {}
        for i, j in match_tables(answer, reference):
            for given in (_EMPTY if i is None else answer.tables[i], _EMPTY):
                if j is not None and j not in comparisons:
                    with suppress(DataError):
                        comparisons[j] = compare_tables(reference.tables[j], given)
        return comparisons

    @cached_property
    def _normalized(self) -> tuple[ReadAnswer, ReadAnswer]:
        """Answer and reference with one form of a cell, whatever format they are written in."""
        texts = ("" if self.text is None else self.text, self.gold)
        return tuple(  # type: ignore[return-value]  # two of them
            self._normalize(read, has_markdown(text, self.table_format))
            for read, text in zip((self.answer, self.reference), texts, strict=True)
        )

    def _normalize(self, read: ReadAnswer, is_unmarked: bool) -> ReadAnswer:
        tables = read.tables if is_unmarked else [_strip_marks(table) for table in read.tables]
        if self.headers.column:  # rows of names and values are no columns
            tables = [
                replace(table, rows=tuple(convert_decimal_commas(table.rows) or table.rows))
                for table in tables
            ]
        return replace(read, tables=tuple(tables))

    @property
    def _with_headers(self) -> tuple[ReadAnswer, ReadAnswer]:
        """Answer and reference; where columns have no names, an empty header stands above."""
        if self.headers.column:
            return self.answer, self.reference
        return _with_header(self.answer), _with_header(self.reference)


def _size(table: AnswerTable) -> tuple[int, int]:
    return len(table.rows), table.width


def _strip_marks(table: AnswerTable) -> AnswerTable:
    rows = tuple(tuple(map(strip_marks, row)) for row in table.rows)
    return AnswerTable(strip_marks(table.name), rows)


def _with_header(read: ReadAnswer) -> ReadAnswer:
    tables = (replace(table, rows=(("",) * table.width, *table.rows)) for table in read.tables)
    return replace(read, tables=tuple(tables))
