"""The requests of the checks of a generator: every task, awkward texts, and a schema.

Every function makes new objects, so that a plug-in that changes what it is given spoils no other
check.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core import registry
from target_bench.core.schema import GenerationRequest, Message, Table
from target_bench.data.table_text import Serializer
from target_bench.testing import samples

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
"""What an answer to ``with_schema`` should follow."""

_SYSTEM = "Answer from the tables. Answer with nothing else."


def ordinary() -> list[GenerationRequest]:
    """Return three questions over three tables, under each task there is."""
    sample = samples.ordinary()
    shown = list(sample.corpus)[:3]
    return [
        _request(f"{task}-{number}", task, question, shown)
        for task in registry.names("task")
        for number, question in enumerate(sample.queries[:3])
    ]


def awkward() -> list[GenerationRequest]:
    """Return requests with ids and questions of all kinds, odd tables, no table."""
    task = registry.names("task")[0]
    odd = list(samples.odd().corpus)
    texts = ("", " ", *samples.SCRIPTS, *samples.OPERATORS, "river " * 2_000)
    return [
        *(_request(f"text {n}", task, text, odd[:1]) for n, text in enumerate(texts)),
        *(_request(f"odd {n}", task, "What is it?", [one]) for n, one in enumerate(_short(odd))),
        *(_request(name, task, f"Who is {n}?", []) for n, name in enumerate(_IDS)),
    ]


def with_schema() -> list[GenerationRequest]:
    """Return two questions whose answers should be JSON."""
    sample = samples.ordinary()
    task = registry.names("task")[0]
    shown = list(sample.corpus)[:3]
    return [
        _request(f"schema-{number}", task, question, shown, SCHEMA)
        for number, question in enumerate(sample.queries[:2])
    ]


_IDS = (
    "a/b c.csv", "https://example.org/w?x=1#top", 'it\'s "quoted"', "東京-🚲", "case", "CASE",
    " padded ", "x" * 300, "1", "-1",
)  # fmt: skip


def _short(odd: Sequence[Table]) -> list[Table]:
    """Return the requests that fit into the context of a small model."""
    return [table for table in odd if table.id.table_id not in ("wide", "long-cell", "long")]


def _request(
    query_id: str,
    task: str,
    question: str,
    shown: Sequence[Table],
    schema: Mapping[str, Any] | None = None,
) -> GenerationRequest:
    prompt = "\n\n".join([*map(Serializer(), shown), f"Question: {question}"])
    messages = (Message("system", _SYSTEM), Message("user", prompt))
    return GenerationRequest(query_id, task, messages, question, tuple(shown), schema)
