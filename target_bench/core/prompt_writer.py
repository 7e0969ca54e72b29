"""The contract between a task and what writes its prompts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from target_bench.core.schema import (
    GenerationRequest,
    Message,
    Query,
    Table,
    TableId,
)

if TYPE_CHECKING:
    from target_bench.core.schema import Corpus


@dataclass(frozen=True, slots=True)
class Prompted:
    """A request, and what it shows.

    ```python
    from target_bench import GenerationRequest, Message, Prompted

    request = GenerationRequest("q1", "qa", (Message("user", "Who won?"),), "Who won?")
    print(Prompted(request, shown_rows=(20, -1), truncated=True).shown_rows)  # (20, -1)
    ```

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
    """Writes the requests of a task.

    ```python
    from target_bench import GenerationRequest, Message, Prompted, load

    class TitlesAlone:
        identity = {"version": 1}

        def tables(self, corpus, ranking):
            return [corpus[table_id] for table_id in ranking[:3]]

        def prompted(self, query, tables):
            text = f"{query.text} Tables: {', '.join(table.id.label for table in tables)}"
            request = GenerationRequest(query.id, "qa", (Message("user", text),), query.text)
            return Prompted(request, shown_rows=(0,) * len(tables), truncated=True)

    dataset = load("mini")
    writer, query = TitlesAlone(), dataset.queries[0]
    print(writer.prompted(query, writer.tables(dataset.corpus, query.gold)).request.messages[0])
    # Message(role='user', content='At the Games held in Barcelona, how many golds did the host
    #   nation take? Tables: olympics-1992-medals')
    ```
    """

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


# Estimates of tokens, without any model's tokeniser

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for text in English; text in other scripts has more tokens."""


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return an estimate of tokens, for limits and cost; the provider's count may differ."""
    return sum(tokens_in(message.content) for message in messages)


def tokens_in(text: str) -> int:
    """Return an estimate of the tokens of one text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
