"""Prompts that ask for tables: the query with the instruction that says how to write them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from target_bench.core.prompt_writer import Prompted
from target_bench.core.schema import Query, Table
from target_bench.models.prompts.prompting import Prompter

INSTRUCTIONS = {
    "text": "Write each table in Markdown, with its name and a colon on the line before it.",
    "html": "Write each table in HTML, with <table>, <tr>, <th> and <td>, its name as <caption>.",
    "latex": "Write each table as a LaTeX tabular, its name as the \\caption of a table around it.",
    "csv": "Write each table as comma-separated values, its name and a colon on a line before it.",
    "json": (
        'Write JSON: {"tables": [{"name": ..., "header": [...], "rows": [[...], ...]}, ...]}, with '
        "every cell as text."
    ),
}
"""Format -> how the answer should be written, where the data do not say it."""


@dataclass(frozen=True)
class TablePrompter(Prompter):
    """Writes the instruction of a query, or of the format, after the text of the query.

    A query with an empty instruction is one itself.

    Attributes:
        default_format: the format of a query that names none.
    """

    default_format: str = "text"

    def prompted(self, query: Query, tables: Sequence[Table]) -> Prompted:
        """Return the request; its ``query`` is the text alone."""
        table_format = str(query.metadata.get("format", self.default_format))
        own = query.metadata.get("instruction")
        instruction = INSTRUCTIONS.get(table_format) if own is None else own
        parts = [query.text, *([str(instruction)] if instruction else [])]
        prompted = super().prompted(replace(query, text="\n\n".join(parts)), tables)
        request = replace(prompted.request, query=query.text, written_as=table_format)
        return replace(prompted, request=request)
