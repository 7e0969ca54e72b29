"""An offline baseline for table-to-text: highlighted cells put into a sentence of a template."""

from collections.abc import Sequence

from target_bench.core import highlights
from target_bench.core.highlights import Highlighted
from target_bench.core.interfaces import Generator
from target_bench.core.schema import GenerationRequest, Table

LONGEST = 12
"""The cells that stand in a sentence at most."""


class Template(Generator):
    """Says what the highlighted cells of the first table say, without any model.

    The title of the page is the subject, and each cell is told with the header next to it: "Colin
    Hanlon had Year 2015, Show The 12 and Role Pete." A table without highlighted cells is told by
    its titles. Without a table the query itself is the answer.

    Args:
        section: whether the title of the section stands beside that of the page.
    """

    def __init__(self, section: bool = False) -> None:
        self.section = section

    def generate(self, request: GenerationRequest) -> str:
        """Return the sentence."""
        if not request.tables:
            return request.query
        table = request.tables[0]
        subject = self._subject(table)
        told = _told(highlights.cells_of(table))
        if not told:
            return f"{subject}." if subject else request.query
        return f"{subject} had {told}." if subject else f"{told[0].upper()}{told[1:]}."

    def _subject(self, table: Table) -> str:
        title, section = (
            str(table.context.get(name) or "").strip() for name in ("title", "section_title")
        )
        if title and section and self.section:
            return f"{title} ({section})"
        return title or section


def _told(cells: Sequence[Highlighted]) -> str:
    parts = [_part(cell) for cell in cells if cell.text][:LONGEST]
    parts = list(dict.fromkeys(parts))
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _part(cell: Highlighted) -> str:
    named = cell.nearest and not cell.is_header
    return f"{cell.nearest} {cell.text}" if named else cell.text
