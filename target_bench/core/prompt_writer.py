"""The contract between a task and what writes its prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from target_bench.core.interfaces import Corpus
from target_bench.core.schema import Generation, GenerationRequest, Query, Table, TableId
from target_bench.core.serialization import Format

SchemaScope = Literal["database", "tables"]
"""What a prompt shows: all tables of the first retrieved database, or the retrieved ones alone."""


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """Settings of prompts: how the requests of a run are written.

    Attributes:
        prompt: a YAML file with the user's own templates; None for those of the task.
        prompt_tokens: about how many tokens the tables of a prompt may take.
        table_format: how tables are written.
        schema_scope: which tables of a database a prompt shows, for tasks about databases.
        structured: whether answers are asked for in JSON of the task's schema, if it has one.
    """

    prompt: Path | None = None
    prompt_tokens: int = 8000
    table_format: Format = "markdown"
    schema_scope: SchemaScope = "database"
    structured: bool = True


@dataclass(frozen=True, slots=True)
class Prompted:
    """A request, and what it shows.

    Attributes:
        request: what the generator is asked.
        shown_rows: for each table how many of its rows are shown; -1 for one of which not even the
            header is.
        truncated: whether any row was left out.
    """

    request: GenerationRequest
    shown_rows: tuple[int, ...]
    truncated: bool


class PromptWriter(Protocol):
    """Writes the requests of a task."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """All of it that changes a request, as JSON."""

    def tables(self, corpus: Corpus, ranking: Sequence[TableId]) -> Sequence[Table]:
        """Choose the tables of a prompt.

        Args:
            corpus: all tables.
            ranking: the tables that a query got, best first; perhaps none.
        """

    def prompted(self, query: Query, tables: Sequence[Table]) -> Prompted:
        """Write the request for a query, with as much of its tables as fits."""

    def repaired(self, prompted: Prompted, generation: Generation) -> Prompted | None:
        """Write the request for a better answer, if this one cannot be right; else None."""
