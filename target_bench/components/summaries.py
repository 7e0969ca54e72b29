"""A name and a summary for each table, written by a language model, each asked for once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from target_bench.components.remote.answer_cache import Answer, AnswerCache, file, request_key
from target_bench.core.contract import Generator
from target_bench.core.errors import ANY_ERROR, TargetBenchError
from target_bench.core.files import parse_json
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message

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
        self._generator = generator
        self._cache = cache and not hasattr(generator, "cache")  # those keep their own
        self.warnings: list[str] = []
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
        answers = self._answers([_request(str(i), table) for i, table in enumerate(distinct)])
        found = {distinct[int(answer.query_id)]: _read(answer) for answer in answers}
        summaries = [found.get(table, "no answer") for table in tables]
        self.failed = Counter(s for s in summaries if isinstance(s, str))
        return [None if isinstance(summary, str) else summary for summary in summaries]

    def _answers(self, requests: list[GenerationRequest]) -> Iterator[Generation]:
        keys = self._keys(requests)
        if keys is None:
            yield from self._asked(requests)
            return
        recorded = AnswerCache(file(), self.warnings.append)
        try:
            known = {r.query_id: recorded.get(keys[r.query_id]) for r in requests}
            for query_id, answer in known.items():
                if answer is not None:
                    yield Generation(query_id, answer.text, cached=True)
            for found in self._asked([r for r in requests if known[r.query_id] is None]):
                if found.error is None and isinstance(_read(found), Summary):
                    recorded.put(keys[found.query_id], Answer(found.text, found.finish_reason))
                yield found
        finally:
            recorded.close()

    def _keys(self, requests: Iterable[GenerationRequest]) -> dict[str, str] | None:
        """Return the key of recorded answers; None if nothing is recorded."""
        if not self._cache:
            return None
        identity, warning = plugin_identity(self._generator)
        if warning is not None:
            self.warnings.append(f"summaries are not recorded: {warning}")
            return None
        return {
            r.query_id: request_key(
                "table-summaries", "", {"generator": identity, "prompt": r.messages[-1].content}
            )
            for r in requests
        }

    def _asked(self, requests: list[GenerationRequest]) -> Iterator[Generation]:
        if not requests:
            return
        many = getattr(type(self._generator), "generate_many", Generator.generate_many)
        if many is not Generator.generate_many:
            yield from self._generator.generate_many(requests, _Listener(self.warnings))
            return
        for request in requests:
            try:
                answer = self._generator.generate(request)
            except TargetBenchError:
                raise
            except ANY_ERROR as error:
                answer = Generation(request.query_id, "", error=f"raised: {type(error).__name__}")
            yield Generation(request.query_id, answer) if isinstance(answer, str) else answer


class _Listener(Observer):
    """Keeps warnings."""

    def __init__(self, warnings: list[str]) -> None:
        self._warnings = warnings

    def warning(self, message: str) -> None:
        if message not in self._warnings:
            self._warnings.append(message)


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
