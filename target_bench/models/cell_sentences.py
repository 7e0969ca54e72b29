"""Sentences about highlighted cells by a template, without any model."""

from collections.abc import Sequence

from target_bench.core.schema import Table
from target_bench.data import highlights
from target_bench.data.highlights import Highlighted

LONGEST = 12
"""The cells that stand in a sentence at most."""


def sentence(table: Table, section: bool = False) -> str:
    """Write a sentence about the highlighted cells of a table, or about its titles without any.

    The title of the page is the subject, and each cell stands with the header next to it: "Colin
    Hanlon had Year 2015, Show The 12 and Role Pete."

    Args:
        table: with its highlighted cells in its context.
        section: whether the title of the section stands beside that of the page.
    """
    subject = _subject(table, section)
    cells = _joined(highlights.cells_of(table))
    if not cells:
        return f"{subject}." if subject else ""
    return f"{subject} had {cells}." if subject else f"{cells[0].upper()}{cells[1:]}."


def _subject(table: Table, with_section: bool) -> str:
    title, section = (
        str(table.context.get(name) or "").strip() for name in ("title", "section_title")
    )
    if title and section and with_section:
        return f"{title} ({section})"
    return title or section


def _joined(cells: Sequence[Highlighted]) -> str:
    parts = list(dict.fromkeys(_part(cell) for cell in cells if cell.text))[:LONGEST]
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def _part(cell: Highlighted) -> str:
    named = cell.nearest and not cell.is_header
    return f"{cell.nearest} {cell.text}" if named else cell.text
