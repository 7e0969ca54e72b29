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
    generators find them there. Where a query highlights none, its own text is asked for.
    """

    def prompted(self, query: Query, tables: Sequence[Table]) -> Prompted:
        """Return the request for a query, with its cells in place of its text."""
        marked = [highlights.highlighted(query, table) for table in tables]
        words = highlights.in_words(marked[0]) if marked else ""
        return super().prompted(replace(query, text=words or query.text), marked)
