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
    make_unreadable,
    match_tables,
    normalize_name,
)
from target_bench.tables.cell_texts import convert_decimal_commas, strip_marks
from target_bench.tables.comparison import TableComparison, compare_tables
from target_bench.tables.h_score import OFFICIAL, HScore, has_both_tables
from target_bench.tables.header_cell_scores import (
    BOTH,
    PRF,
    Grid,
    Headers,
    Part,
    Similar,
    Similarity,
    header_cell_scores,
    is_empty,
    rectangular,
)
from target_bench.tables.read_text import has_markdown
from target_bench.tables.reading import read_tables

PairScores = Mapping[Part, PRF]

_EMPTY = AnswerTable("", ())
_ROW_END = "<NEWLINE>"  # ends a row of a table in one line, as in Wu et al.'s files


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
            return make_unreadable("empty")
        read = read_tables(self.text, self.table_format)
        return excuse_faults(read, self.reference) if self.gold else read

    @cached_property
    def h_score(self) -> HScore | None:
        """The official H-Score; None where the official code has none for such a reference.

        It is for texts that name a team and a player, HTML and LaTeX. An answer that failed is an
        empty one; one that cannot be scored (longer than ``LONGEST``, nested too deeply) is 0, and
        None where the reference cannot either.
        """
        official = OFFICIAL.get(self.table_format)
        if official is None or (self.table_format == "text" and not has_both_tables(self.gold)):
            return None

        def score(text: str) -> HScore | None:
            # the official code has no lower bound: an endless answer would outweigh all others
            if max(len(text), len(self.gold)) > LONGEST:
                return None
            with suppress(UnreadableTableError):
                return official(text, self.gold)
            return None

        return score(self.plain) or (score(self.gold) and HScore({}, 0.0, 0.0))

    def pairs(self, similarity: Similarity | Similar) -> list[tuple[str, PairScores]]:
        """Return name and scores of each table of the reference that is not empty.

        Args:
            similarity: of two texts: ``exact``, ``chrf``, or a function.
        """
        if similarity not in self._pairs:
            pairs = self._pairs[similarity] = []
            answer, reference = self._normalized
            for i, j in match_tables(answer, reference):
                if j is not None:
                    rows = rectangular(() if i is None else answer.tables[i].rows)
                    gold = rectangular(reference.tables[j].rows)
                    scores = header_cell_scores(rows, gold, similarity, self.headers)
                    if scores is not None:
                        pairs.append((reference.tables[j].name, scores))
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

    def _is_same(self, table: AnswerTable, gold: AnswerTable) -> bool:
        if normalize_name(table.name) != normalize_name(gold.name):
            return False
        rows, gold_rows = table.pad_rows(), gold.pad_rows()
        if rows == gold_rows:
            return True
        # scores of headers and cells are of sets, in which repeated ones are lost
        if self._sort_lines(rows) != self._sort_lines(gold_rows):
            return False
        scores = header_cell_scores(rows, gold_rows, "exact", self.headers)
        return scores is not None and all(score.f1 == 1 for score in scores.values())

    def _sort_lines(self, rows: Grid) -> tuple[list[list[str]], list[list[str]]]:
        """Return what stands in each row and in each column, in any order, without the corner."""
        if self.headers.row and self.headers.column and rows:
            rows = [["", *rows[0][1:]], *rows[1:]]
        return sorted(map(sorted, rows)), sorted(map(sorted, zip(*rows, strict=True)))

    @property
    def ragged_partners(self) -> list[bool]:
        """Whether the partner of each table of the reference has rows of different length.

        Tables of the reference without room for a value are left out, as by Wu et al.; a partner
        that is missing has no such rows.
        """
        return [
            i is not None and self.answer.tables[i].is_ragged
            for i, j in match_tables(self.answer, self.reference)
            if j is not None
            and not is_empty(rectangular(self.reference.tables[j].rows), self.headers)
        ]

    @cached_property
    def comparisons(self) -> Sequence[TableComparison]:
        """The comparison of each table of the reference with its partner.

        A table that is missing, or too large to be compared, is an empty one. A reference that is
        too large is left out.
        """
        comparisons = []
        for i, j in match_tables(self.answer, self.reference):
            partners = [] if i is None else [self.answer.tables[i]]
            for partner in [] if j is None else [*partners, _EMPTY]:
                tables = self._add_header(self.reference.tables[j or 0]), self._add_header(partner)
                try:
                    comparisons.append(compare_tables(*tables))
                except DataError:
                    continue
                break
        return comparisons

    @cached_property
    def _normalized(self) -> tuple[ReadAnswer, ReadAnswer]:
        """Answer and reference with cells in one form, whatever format they are written in."""
        return (
            self._normalize(self.answer, self.text or ""),
            self._normalize(self.reference, self.gold),
        )

    def _normalize(self, read: ReadAnswer, text: str) -> ReadAnswer:
        tables = read.tables
        if not has_markdown(text, self.table_format):  # there they are stripped already
            tables = tuple(map(_strip_table, tables))
        if self.headers.column:  # rows of names and values are no columns
            tables = tuple(
                replace(t, rows=tuple(convert_decimal_commas(t.rows) or t.rows)) for t in tables
            )
        return replace(read, tables=tables)

    def _add_header(self, table: AnswerTable) -> AnswerTable:
        """Return the table with an empty header where columns have no names."""
        if self.headers.column:
            return table
        return replace(table, rows=(("",) * table.width, *table.rows))


def _strip_table(table: AnswerTable) -> AnswerTable:
    rows = tuple(tuple(map(strip_marks, row)) for row in table.rows)
    return AnswerTable(strip_marks(table.name), rows)
