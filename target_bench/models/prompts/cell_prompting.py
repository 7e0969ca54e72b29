"""Prompts about highlighted cells: a table, and the cells of it that a sentence should describe."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from target_bench.core.prompt_writer import Prompted
from target_bench.core.schema import Query, Table
from target_bench.data import highlights
from target_bench.models.prompts.prompting import Prompter


@dataclass(frozen=True)
class CellPrompter(Prompter):
    """Makes requests that name the highlighted cells of a table.

    The tables of a request say in their context which cells are highlighted, so that formats and
    generators find them there. Where a query highlights none, its own text is asked for. An
    ``instruction`` in its metadata, as of a stage of ToTTo's annotation, follows the cells.
    """

    def prompted(self, query: Query, tables: Sequence[Table]) -> Prompted:
        """Return the request for a query, with its cells in place of its text."""
        marked = [highlights.highlighted(query, table) for table in tables]
        words = highlights.in_words(marked[0]) if marked else ""
        text = "\n".join(filter(None, (words or query.text, query.metadata.get("instruction"))))
        return super().prompted(replace(query, text=text), marked)
