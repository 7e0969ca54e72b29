"""What is read from an answer that should hold tables: the tables, and every fault met."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

TableFormat = Literal["text", "html", "latex", "csv", "json"]
"""How a table is written; ``text`` is Markdown, with or without outer bars and separators."""

FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)

Fault = Literal[
    "empty",
    "too_long",
    "too_deep",
    "syntax",
    "no_table",
    "missing_table",
    "extra_table",
    "truncated",
    "fenced",
    "prose",
    "ragged",
    "nested",
    "repeated",
    "no_table_tag",
    "macros",
]
"""What can be wrong with an answer; the first five leave no table to score."""

FATAL: frozenset[Fault] = frozenset({"empty", "too_long", "too_deep", "syntax", "no_table"})

FAULT_MEANINGS: dict[Fault, str] = {
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
    "no_table_tag": "it has no <table>",
    "macros": "LaTeX macros that are not of formatting are left as they are",
}
"""What each fault means, where people read it."""

LONGEST = 100_000
"""Characters of an answer above which it is not read."""

MOST_CELLS = 50_000
"""Places of a table above which it is not read: spans, or one long row, can make it very large."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")


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

    def padded(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows filled with empty cells to the length of the longest."""
        width = self.width
        return tuple(row + ("",) * (width - len(row)) for row in self.rows)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """Tables read from a text.

    Attributes:
        tables: in their order; none where there is a fatal fault.
        faults: every kind of fault once, in the order of ``Fault``.
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


def read_answer(tables: Sequence[AnswerTable], faults: Sequence[Fault] = ()) -> ReadAnswer:
    """Put tables and faults together: faults once and in order, ragged rows among them."""
    if any(len(table.rows) * table.width > MOST_CELLS for table in tables):
        return failed("too_long")
    found = set(faults)
    kept = tuple(table for table in tables if any(any(row) for row in table.rows))
    if any(table.is_ragged for table in kept):
        found.add("ragged")
    if not kept and not found & FATAL:
        found.add("no_table")
    if found & FATAL:
        kept = ()
    return ReadAnswer(kept, tuple(fault for fault in get_args(Fault) if fault in found))


def failed(fault: Fault) -> ReadAnswer:
    """Return an answer without a table."""
    return ReadAnswer((), (fault,))


def unfenced(text: str) -> tuple[str, list[Fault]]:
    """Return the text inside code fences, or all of it if there are none, and its faults."""
    marks = [match.span() for match in _FENCE.finditer(text)]
    if not marks:
        return text, []
    faults: list[Fault] = ["fenced"]
    if len(marks) % 2:
        faults.append("truncated")
        marks.append((len(text), len(text)))
    inside = [text[start[1] : end[0]] for start, end in zip(marks[::2], marks[1::2], strict=True)]
    ends = [0, *(end[1] for end in marks[1::2])]
    starts = [*(start[0] for start in marks[::2]), len(text)]
    outside = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    if any(part.strip() for part in outside):
        faults.append("prose")
    return "\n".join(inside), faults


def name_key(name: str) -> str:
    """Return the words of a name that identify a table: without case and the word ``table``."""
    return " ".join(word for word in _WORD.findall(name.casefold()) if word != "table")
