"""The contract between a task and what writes its prompts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

from target_bench.core.schema import Corpus, GenerationRequest, Message, Query, Table, TableId


@dataclass(frozen=True, slots=True)
class PromptedRequest:
    """A request, and how much of its tables it shows.

    ```python
    from target_bench import GenerationRequest, Message, PromptedRequest

    request = GenerationRequest("q1", "qa", (Message("user", "Who won?"),), "Who won?")
    print(PromptedRequest(request, shown_rows=(20, -1), truncated=True).shown_rows)  # (20, -1)
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
    from target_bench import GenerationRequest, Message, PromptedRequest, load

    class TitlesAlone:
        identity = {"version": 1}

        def choose_tables(self, corpus, ranking):
            return [corpus[table_id] for table_id in ranking[:3]]

        def write_prompt(self, query, tables):
            text = f"{query.text} Tables: {', '.join(table.id.label for table in tables)}"
            request = GenerationRequest(query.id, "qa", (Message("user", text),), query.text)
            return PromptedRequest(request, shown_rows=(0,) * len(tables), truncated=True)

    dataset = load("mini")
    writer, query = TitlesAlone(), dataset.queries[0]
    tables = writer.choose_tables(dataset.corpus, query.gold)
    print(writer.write_prompt(query, tables).request.messages[0])
    # Message(role='user', content='At the Games held in Barcelona, how many golds did the host
    #   nation take? Tables: olympics-1992-medals')
    ```
    """

    @property
    def identity(self) -> Mapping[str, Any]:
        """All of it that changes a request, as JSON."""

    def choose_tables(self, corpus: Corpus, ranking: Sequence[TableId]) -> Sequence[Table]:
        """Choose the tables of a prompt.

        Args:
            corpus: all tables.
            ranking: the tables that were retrieved for a query, best first; perhaps none.
        """

    def write_prompt(self, query: Query, tables: Sequence[Table]) -> PromptedRequest:
        """Write the request for a query, with as much of its tables as fits."""


CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for text in English; text in other scripts has more tokens."""


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Return an estimate of tokens, for limits and cost; the provider's count may differ."""
    return sum(estimate_text_tokens(message.content) for message in messages)


def estimate_text_tokens(text: str) -> int:
    """Return an estimate of the tokens of one text."""
    return ceil(len(text) / CHARACTERS_PER_TOKEN)
