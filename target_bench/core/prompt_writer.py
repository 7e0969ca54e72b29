"""The contract between a task and what writes its prompts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from target_bench.core.errors import ConfigError
from target_bench.core.schema import (
    Generation,
    GenerationRequest,
    Message,
    Query,
    Table,
    TableFormat,
    TableId,
)
from target_bench.core.settings import Read, choice, option, path, truth, whole

if TYPE_CHECKING:
    from target_bench.core.schema import Corpus

SchemaScope = Literal["database", "tables"]
"""What a prompt shows: all tables of the first retrieved database, or the retrieved ones alone."""


PAPER = "paper"
"""The name of the prompts of TARGET's paper."""

_PAPER_PROMPTS = Path(__file__).parents[1] / "models" / "prompts" / PAPER


def _prompts(name: str, value: Any) -> Path | None:
    """Read the path of prompts; ``paper`` stands for those of the paper."""
    return _PAPER_PROMPTS if value is not None and str(value) == PAPER else path(name, value)


@dataclass(frozen=True, slots=True)
class PromptOptions(Read):
    """Settings of prompts, each with its help: how the requests of a run are written.

    Raises:
        ConfigError: an invalid value.
    """

    prompt: Path | None = option(
        None,
        "A YAML file with your own prompts, or paper: the prompts of TARGET's paper.",
        _prompts,
        sweep="prompts",
        axis=True,
    )
    tables: int | None = option(
        None,
        "Number of retrieved tables in a prompt. Default: the largest cutoff.",
        whole(1),
        sweep="tables",
        axis=True,
    )
    table_format: TableFormat = option(
        "markdown",
        "How tables are written in a prompt.",
        choice(TableFormat),
        sweep="table_formats",
        axis=True,
    )
    schema_scope: SchemaScope = option(
        "database",
        "Text-to-SQL: show all tables of the first retrieved database, or the retrieved ones.",
        choice(SchemaScope),
        sweep="schema_scopes",
        axis=True,
    )
    structured: bool = option(
        True,
        "Whether an answer must be JSON: in text-to-SQL, and in fact verification if the "
        "generator follows JSON schemas.",
        truth,
        flag="--structured/--free-text",
        sweep="structured",
    )

    def check_tables(self, depth: int) -> None:
        """See that a prompt holds no more tables than are retrieved.

        Args:
            depth: how many tables are retrieved.

        Raises:
            ConfigError: it would hold more.
        """
        if self.tables is not None and self.tables > depth:
            raise ConfigError(
                f"tables={self.tables}: a prompt holds no more tables than are retrieved "
                f"(top_k={depth})"
            )


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

    def tables(self, corpus: "Corpus", ranking: Sequence[TableId]) -> Sequence[Table]:
        """Choose the tables of a prompt.

        Args:
            corpus: all tables.
            ranking: the tables that a query got, best first; perhaps none.
        """

    def prompted(self, query: Query, tables: Sequence[Table]) -> Prompted:
        """Write the request for a query, with as much of its tables as fits."""

    def repaired(self, prompted: Prompted, generation: Generation) -> Prompted | None:
        """Write the request for a better answer, if this one cannot be right; else None."""


# Estimates of tokens, without any model's tokeniser

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for text in English; text in other scripts has more tokens."""


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return an estimate of tokens, for limits and cost; the provider's count may differ."""
    return sum(tokens_in(message.content) for message in messages)


def tokens_in(text: str) -> int:
    """Return an estimate of the tokens of one text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
