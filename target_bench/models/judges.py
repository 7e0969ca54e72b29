"""Models as judges, and tasks whose answers are judged one by one, by rules or a model."""

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from target_bench.core import registry
from target_bench.core.contract import check_generator
from target_bench.core.credentials import without_secrets
from target_bench.core.errors import DataError
from target_bench.core.identity import plugin_identity
from target_bench.core.reasoning import READING, without_reasoning
from target_bench.core.schema import (
    Corpus,
    Dataset,
    Generation,
    GenerationRequest,
    Judgement,
    Message,
    Query,
    Retrieval,
)
from target_bench.core.task import FAILED, AnswerJudge, Predictions, Task
from target_bench.models.answer_reading import AnswerReader, check_time
from target_bench.models.generator_calls import ask_generator

ExamplesT = TypeVar("ExamplesT")

_UNANSWERED = "unanswered"
"""The fingerprint of a judgement that a judge failed to make: the next time asks again."""

_AT_ONCE = 64
"""Answers that a model is asked about together."""


class Wording(NamedTuple):
    """What a judge is told.

    Attributes:
        task: what it judges, for generators that tell tasks apart.
        version: of the wording, system message and prompts.
        system: the system message.
        temperature: how freely it draws its words; None to leave it to the generator.
    """

    task: str
    version: str
    system: str
    temperature: float | None = None


class ModelJudge:
    """A generator that judges.

    Args:
        generator: as written on the command line, or an object.
        wording: what it is told.

    Attributes:
        generator: the object.

    Raises:
        ConfigError: it is not a generator.
    """

    def __init__(self, generator: Any, wording: Wording) -> None:
        self._given = generator
        self._wording = wording
        self.generator = check_generator(registry.part("generator", generator))

    def replies(self, prompts: Mapping[str, str]) -> dict[str, Generation]:
        """Return name of each prompt -> the reply to it; some may have failed.

        Raises:
            TargetBenchError: what the generator raises on purpose, such as for a wrong key.
        """
        task, _, system, temperature = self._wording
        requests = [
            GenerationRequest(
                query_id=name,
                task=task,
                messages=(Message("system", system), Message("user", prompt)),
                query="",
                temperature=temperature,
            )
            for name, prompt in prompts.items()
        ]
        return ask_generator(self.generator, requests)

    def setting(self, name: str = "judge") -> str:
        """Return the entry of the judge in the settings of a task.

        Args:
            name: what it judges as.
        """
        spec = self._given
        if not isinstance(spec, str):
            spec = json.dumps(_describe(plugin_identity(self.generator)[0]))
        return f"{name}:{spec}|{self._wording.version}"


def _describe(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return class and settings of a plug-in and of its parts."""
    named = {name: identity[name] for name in ("class", "config", "unique") if name in identity}
    parts = {name: _describe(part) for name, part in identity.get("parts", {}).items()}
    return named | ({"parts": parts} if parts else {})


_FENCE = "```"
_LANGUAGE = re.compile(r"\s*[A-Za-z]*\s*")
_FLAT = re.compile(r"\{[^{}]*\}")


def last_object(reply: str) -> dict[str, Any] | None:
    """Read the last JSON object of a reply; None where there is none, or it is not JSON.

    It is that of the last fenced block, of any language or none, that begins with an object. A
    reply that begins with one may do without a fence. Where there is neither, it is the last object
    in the text that has no other one within. Blocks of reasoning are left out.
    """
    text = without_reasoning(reply)
    parts = (_LANGUAGE.sub("", part, count=1) for part in text.split(_FENCE))
    objects = [part for part in parts if part.startswith("{")] or _FLAT.findall(text)
    try:
        read, _ = json.JSONDecoder().raw_decode(objects[-1])
    except (IndexError, ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


class JudgedTask(Task[ExamplesT], AnswerJudge):
    """A task that judges each answer by itself; replies of a model are part of its judgements.

    A judgement is made again where the answer, the settings or what it follows from has changed.

    Args:
        read: reads the text of an answer, once each.
    """

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._reading = AnswerReader(read)

    @abstractmethod
    def follows_from(self, query: Query, corpus: Corpus, text: str | None) -> list[Any]:
        """List all that a judgement follows from besides the settings, as JSON.

        Args:
            query: the query.
            corpus: its tables.
            text: the answer; None for one that failed.
        """

    @abstractmethod
    def records(
        self, queries: Sequence[Query], corpus: Corpus, answers: Mapping[str, Generation]
    ) -> Iterable[Mapping[str, Any]]:
        """Judge some answers together; return the record of each, in the order of the queries.

        One with the entry ``FAILED`` is judged again the next time.
        """

    def unjudged(
        self,
        dataset: Dataset,
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
        known: Mapping[str, Judgement],
    ) -> list[Query]:
        """List the queries without a judgement of this answer, its data and these settings."""
        return [
            query
            for query in dataset.queries
            if query.id not in known
            or known[query.id].fingerprint
            != self._fingerprint(query, dataset.corpus, generations[query.id])
        ]

    def judged(
        self,
        queries: Sequence[Query],
        dataset: Dataset,
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
    ) -> Generator[Judgement, None, None]:
        """Read the answers, and ask the model, if there is one, about them.

        Raises:
            BudgetError: the time for all of them is over.
        """
        corpus = dataset.corpus
        for start in range(0, len(queries), _AT_ONCE):
            some = queries[start : start + _AT_ONCE]
            records = self.records(some, corpus, generations)
            for query, record in zip(some, records, strict=True):
                check_time()
                fingerprint = self._fingerprint(query, corpus, generations[query.id])
                yield Judgement(query.id, _UNANSWERED if FAILED in record else fingerprint, record)

    def _fingerprint(self, query: Query, corpus: Corpus, answer: Generation) -> str:
        known = self.follows_from(query, corpus, text_of(answer))
        whole = json.dumps([READING, *self.settings(), *known])
        return hashlib.sha256(whole.encode()).hexdigest()[:32]

    def record_of(self, query: Query, predictions: Predictions) -> Mapping[str, Any]:
        """Return the record of an answer.

        Raises:
            DataError: the answer is not judged.
        """
        if query.id not in predictions.judgements:
            raise DataError(
                f"task {self.name}: the answer to query {query.id!r} is not judged; judge the "
                "answers first, with judge_answers or target-bench score RUN"
            )
        return predictions.judgements[query.id].record


def text_of(answer: Generation) -> str | None:
    """Return the text of an answer; None for one that failed."""
    return None if answer.error is not None else answer.text


def failures(judge: str, replies: Iterable[Generation]) -> dict[str, dict[str, str]]:
    """Return the entry of a record about replies of a judge that failed; nothing if none did.

    Args:
        judge: what it judges as.
        replies: to one answer.
    """
    errors = [reply.error for reply in replies if reply.error is not None]
    return {FAILED: {judge: without_secrets(errors[0])}} if errors else {}
