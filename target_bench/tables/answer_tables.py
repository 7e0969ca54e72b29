"""Tables as answers hold them, and the faults that are met where they are read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from target_bench.core.errors import DataError
from target_bench.core.grid import GridCell

TableFormat = Literal["text", "html", "latex", "csv", "json"]
"""How a table is written; ``text`` is Markdown, with or without outer bars and separators."""

FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)

Fault = str
"""What can be wrong with an answer: one of ``FAULT_MEANINGS``."""

FATAL = frozenset({"empty", "too_long", "too_deep", "syntax", "no_table"})
"""The faults that leave no table to score."""

FAULT_MEANINGS = {
    "empty": "it is empty",
    "too_long": "it is too long: over 100,000 characters, or a table of over 50,000 cells",
    "too_deep": "tags, groups or brackets are over 64 levels deep",
    "syntax": "it cannot be parsed",
    "no_table": "there is no table in it",
    "missing_table": "it has fewer tables than the reference",
    "extra_table": "it has more tables than the reference",
    "truncated": "it is cut off: a fence, tag, environment, bracket or quote is not closed",
    "fenced": "there is a code fence around the tables",
    "prose": "there is text around the tables",
    "ragged": "rows differ in length, or spans do not fit: rows are filled with empty cells",
    "nested": "a cell holds a table or a list, which is read as text",
    "repeated": "a JSON object names a field twice: the last value counts",
    "last_comma": "a comma stands before a closing bracket of JSON",
    "no_table_tag": "it has no <table>",
}
"""Each fault, in the order in which they are listed, and what it means."""

LONGEST = 100_000  # characters of an answer that is read
DEEPEST = 64  # levels of tags, groups or brackets of an answer that is read
MOST_CELLS = 50_000  # of a table that is read: spans, or a long row, can make it very large

Cells = tuple[tuple[GridCell, ...], ...]
"""The cells of each row as a format has them, with their spans."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")


class UnreadableTableError(DataError):
    """A table that cannot be read; the message begins with the kind of fault."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """A table as it is written in an answer.

    Attributes:
        name: its title or caption; empty if it has none.
        rows: the cells of each row, the header first; rows may differ in length.
    """

    name: str
    rows: tuple[tuple[str, ...], ...]

    @property
    def width(self) -> int:
        """Cells of the longest row."""
        return max(map(len, self.rows), default=0)

    @property
    def is_ragged(self) -> bool:
        """Whether rows differ in length."""
        return len(set(map(len, self.rows))) > 1

    def pad_rows(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows filled with empty cells to the length of the longest."""
        width = self.width
        return tuple(row + ("",) * (width - len(row)) for row in self.rows)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """Tables read from a text.

    Attributes:
        tables: in their order; none where there is a fatal fault.
        faults: every kind of fault once, in the order of ``FAULT_MEANINGS``.
    """

    tables: tuple[AnswerTable, ...]
    faults: tuple[Fault, ...] = ()

    @property
    def error(self) -> Fault | None:
        """The fault for which there is no table; None where there is one."""
        return next((fault for fault in self.faults if fault in FATAL), None)

    @property
    def strict_error(self) -> Fault | None:
        """The first fault, for readers that accept none; None where there is none."""
        return self.faults[0] if self.faults else None


def make_answer(tables: Sequence[AnswerTable], faults: Sequence[Fault] = ()) -> ReadAnswer:
    """Put tables and faults together: faults once and in order, ragged rows among them."""
    if any(len(table.rows) * table.width > MOST_CELLS for table in tables):
        return make_unreadable("too_long")
    kinds = set(faults)
    filled = tuple(table for table in tables if any(any(row) for row in table.rows))
    if any(table.is_ragged for table in filled):
        kinds.add("ragged")
    if not filled and not kinds & FATAL:
        kinds.add("no_table")
    if kinds & FATAL:
        filled = ()
    return ReadAnswer(filled, tuple(fault for fault in FAULT_MEANINGS if fault in kinds))


def make_unreadable(fault: Fault) -> ReadAnswer:
    """Return an answer without a table."""
    return ReadAnswer((), (fault,))


def strip_fences(text: str) -> tuple[str, list[Fault]]:
    """Return the text inside code fences, or all of it if there are none, and its faults."""
    outside, *rest = _FENCE.split(text)
    if not rest:
        return text, []
    faults = ["fenced"]
    if len(rest) % 2:
        faults.append("truncated")
    if any(map(str.strip, [outside, *rest[1::2]])):
        faults.append("prose")
    return "\n".join(rest[::2]), faults


def check_depth(text: str) -> None:
    """Refuse a text whose brackets or braces are nested too deeply.

    Raises:
        UnreadableTableError: there are more than ``DEEPEST`` levels, escaped ones counted.
    """
    depth = 0
    for character in text:
        depth = max(depth + (character in "[{") - (character in "]}"), 0)
        if depth > DEEPEST:
            raise UnreadableTableError("too_deep", f"nested more than {DEEPEST} levels deep")


def check_size(cells: Cells) -> None:
    """Refuse a table whose spans make it too large.

    Raises:
        UnreadableTableError: it has more than ``MOST_CELLS`` cells.
    """
    size = sum(c.column_span * min(c.row_span, len(cells)) for row in cells for c in row)
    if size > MOST_CELLS:
        raise UnreadableTableError("too_long", f"{size} cells")


def excuse_faults(answer: ReadAnswer, reference: ReadAnswer) -> ReadAnswer:
    """Return an answer without the faults of its reference, and with those of missing tables."""
    # a reference in HTML may be a list, and one with empty cells may be ragged
    if answer.error is not None:
        return make_unreadable(answer.error)
    faults = [fault for fault in answer.faults if fault not in reference.faults]
    if len(answer.tables) < len(reference.tables):
        faults.append("missing_table")
    if len(answer.tables) > len(reference.tables):
        faults.append("extra_table")
    return make_answer(answer.tables, faults)


def match_tables(answer: ReadAnswer, reference: ReadAnswer) -> list[tuple[int | None, int | None]]:
    """Pair the tables of an answer with those of a reference: by name, then in their order.

    Returns:
        (index in the answer, index in the reference), in the order of the reference, then those of
        the answer that are left; None where a side has no table.
    """
    left = {i: normalize_name(table.name) for i, table in enumerate(answer.tables)}
    partners: dict[int, int] = {}
    for j, table in enumerate(reference.tables):
        name = normalize_name(table.name)
        same = next((i for i, other in left.items() if name and other == name), None)
        if same is not None:
            partners[j] = same
            del left[same]
    rest = iter(list(left))
    pairs: list[tuple[int | None, int | None]] = [
        (partners[j] if j in partners else next(rest, None), j)
        for j in range(len(reference.tables))
    ]
    return [*pairs, *((i, None) for i in rest)]


def normalize_name(name: str) -> str:
    """Return the words of a name that identify a table: without case and the word ``table``."""
    return " ".join(word for word in _WORD.findall(name.casefold()) if word != "table")
