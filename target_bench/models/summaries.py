"""A name and a summary for each table, written by a language model, each asked for once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from target_bench.core.contract import Generator
from target_bench.core.files import parse_json
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.models.recorded_answers import RecordedAnswers

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "table_name": {
            "type": "string",
            "description": "table name (must be underscores and NO spaces)",
        },
        "table_summary": {
            "type": "string",
            "description": "short, concise summary/caption of the table",
        },
    },
    "required": ["table_name", "table_summary"],
    "additionalProperties": False,
}
"""JSON schema of an answer; names and descriptions are those of the original TARGET."""

_SYSTEM = "You are a helpful AI assistant."
_ASK = """\
Summarize the table below as JSON with two fields.

- "table_name": a name for the table, in snake case without spaces. It must be unique to the table \
and describe it while being concise; no generic name such as table or my_table.
- "table_summary": a short, concise summary or caption of the table.

Table:
{table}

Summary: """


@dataclass(frozen=True, slots=True)
class Summary:
    """Name and summary that a model wrote for a table."""

    name: str
    text: str


class Summarizer:
    """Asks a generator about tables.

    Args:
        generator: the generator.
        cache: whether answers of a generator that keeps none itself are recorded, and recorded
            ones used.

    Attributes:
        warnings: what the generator and the cache have said.
        failed: why there is no summary -> of how many tables.
    """

    def __init__(self, generator: Generator, cache: bool) -> None:
        self._asking = RecordedAnswers(generator, "table-summaries", _is_summary, cache)
        self.warnings = self._asking.warnings
        self.failed: Counter[str] = Counter()

    def summaries(self, tables: Sequence[str]) -> list[Summary | None]:
        """Return the summary of each table, or None; equal tables are asked about once.

        Args:
            tables: the tables as text.

        Raises:
            ConfigError: the generator cannot be asked.
            StoreError: answers cannot be recorded.
        """
        distinct = list(dict.fromkeys(tables))
        requests = [_request(str(i), table) for i, table in enumerate(distinct)]
        answers = self._asking.answers(requests)
        found = {distinct[int(answer.query_id)]: _read(answer) for answer in answers}
        summaries = [found.get(table, "no answer") for table in tables]
        self.failed = Counter(s for s in summaries if isinstance(s, str))
        return [None if isinstance(summary, str) else summary for summary in summaries]


def _is_summary(answer: Generation) -> bool:
    return isinstance(_read(answer), Summary)


def unique_names(summaries: Sequence[Summary | None]) -> list[Summary | None]:
    """Add ``_2``, ``_3``, ... to names that earlier tables have, in corpus order."""
    taken: set[str] = set()
    unique: list[Summary | None] = []
    for summary in summaries:
        if summary is not None:
            summary = replace(summary, name=_free(summary.name, taken))
            taken.add(summary.name)
        unique.append(summary)
    return unique


def _free(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _request(query_id: str, table: str) -> GenerationRequest:
    asked = _ASK.format(table=table)
    messages = (Message("system", _SYSTEM), Message("user", asked))
    return GenerationRequest(query_id, "table_summary", messages, asked, answer_schema=SCHEMA)


def _read(answer: Generation) -> Summary | str:
    """Return the summary in an answer, or why there is none."""
    if answer.error is not None:
        return answer.error.partition(":")[0]
    start, end = answer.text.find("{"), answer.text.rfind("}")
    try:
        fields = parse_json(answer.text[start : end + 1])
        name, text = fields["table_name"], fields["table_summary"]
    except (ValueError, KeyError, TypeError):
        return "no JSON of table_name and table_summary"
    if not (isinstance(name, str) and isinstance(text, str) and name.strip() and text.strip()):
        return "an empty name or summary"
    return Summary("_".join(name.split()), text.strip())
