"""Sentences about highlighted cells by a template, without any model."""

from collections.abc import Sequence
from itertools import groupby

from target_bench.core.schema import Table
from target_bench.data import highlights
from target_bench.data.highlights import Highlighted


def sentence(table: Table) -> str:
    """Write a sentence about the highlighted cells of a table, or its title without any.

    "In Final, Women's 800 metre freestyle had rank 5, name Lotte Friis and time 8:23.86." The
    title of the section comes first, that of the page is the subject. Each cell stands after the
    header next to it, which is said once: of a further row under the same headers only the values
    are listed, after a semicolon. A value that was said under its header is not said again.

    Args:
        table: with its highlighted cells in its context.
    """
    subject, section = _titles(table)
    cells = _listed(highlights.cells_of(table))
    if not cells:
        return f"{subject}." if subject else ""
    if not subject:
        return f"{cells[0].upper()}{cells[1:]}."
    return f"In {section}, {subject} had {cells}." if section else f"{subject} had {cells}."


def _titles(table: Table) -> tuple[str, str]:
    """Return the title of the page, and that of the section unless the first one says it."""
    title, section = (
        str(table.context.get(name) or "").strip() for name in ("title", "section_title")
    )
    if not title:
        return section, ""
    return title, "" if section.lower() in title.lower() else section


def _listed(cells: Sequence[Highlighted]) -> str:
    """List cells: those of like rows with semicolons between the rows."""
    rows: list[list[str]] = []
    named: set[str] = set()
    written: set[tuple[str, str]] = set()
    headers = {cell.nearest for cell in cells}
    listed = [c for c in cells if c.text and not (c.is_header and c.text in headers)]
    for _, row in groupby(sorted(listed, key=_row), _row):
        new = [cell for cell in dict.fromkeys(row) if (cell.nearest, cell.text) not in written]
        parts = [_part(cell, cell.nearest not in named) for cell in new]
        names = {cell.nearest for cell in new if cell.nearest}
        if rows and not named & names:
            rows[-1] += parts
        elif parts:
            rows.append(parts)
        named |= names
        written.update((cell.nearest, cell.text) for cell in new)
    if all(len(parts) == 1 for parts in rows[1:]):
        parts = [part for parts in rows for part in parts]
        return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
    return "; ".join(", ".join(parts) for parts in rows)


def _row(cell: Highlighted) -> int:
    return cell.row


def _part(cell: Highlighted, is_first: bool) -> str:
    name = cell.nearest
    if not is_first or not name or cell.is_header or name.lower() in cell.text.lower():
        return cell.text
    is_plain = len(name) > 1 and name[1:] == name[1:].lower()  # Year, and not UK or Award Name
    return f"{name.lower() if is_plain else name} {cell.text}"
