"""Base of tasks whose answers are judged one by one, by rules and perhaps by a model."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from target_bench.core.errors import DataError
from target_bench.core.identity import plugin_identity
from target_bench.core.reasoning import READING
from target_bench.core.schema import Corpus, Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.settings import without_secrets
from target_bench.core.task import FAILED, AnswerJudge, Predictions, Task
from target_bench.models.answer_reading import Reading, check_time

ExamplesT = TypeVar("ExamplesT")

_UNANSWERED = "unanswered"
"""The fingerprint of a judgement that a judge failed to make: the next time asks again."""

_AT_ONCE = 64
"""Answers that a model is asked about together."""


class JudgedTask(Task[ExamplesT], AnswerJudge):
    """A task that judges each answer by itself; replies of a model are part of its judgements.

    A judgement is made again where the answer, the settings or what it follows from has changed.

    Args:
        read: reads the text of an answer, once each.
    """

    def __init__(self, read: Callable[[str], Any]) -> None:
        self._reading = Reading(read)

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
            found = self.records(some, corpus, generations)
            for query, record in zip(some, found, strict=True):
                check_time()
                of = self._fingerprint(query, corpus, generations[query.id])
                yield Judgement(query.id, _UNANSWERED if FAILED in record else of, record)

    def _fingerprint(self, query: Query, corpus: Corpus, given: Generation) -> str:
        known = self.follows_from(query, corpus, text_of(given))
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


def text_of(given: Generation) -> str | None:
    """Return the text of an answer; None for one that failed."""
    return None if given.error is not None else given.text


def failures(judge: str, replies: Iterable[Generation]) -> dict[str, dict[str, str]]:
    """Return the entry of a record about replies of a judge that failed; nothing if none did.

    Args:
        judge: what it judges as.
        replies: to one answer.
    """
    errors = [one.error for one in replies if one.error is not None]
    return {FAILED: {judge: without_secrets(errors[0])}} if errors else {}


def judge_setting(judge: Any, generator: object, version: str, name: str = "judge") -> str:
    """Return the entry of a judge in the settings of a task.

    Args:
        judge: the generator as it was given: as on the command line or as an object.
        generator: the object.
        version: of the wording of its prompt.
        name: what it judges as.
    """
    if isinstance(judge, str):
        return f"{name}:{judge}|{version}"
    return f"{name}:{json.dumps(_named(plugin_identity(generator)[0]))}|{version}"


def _named(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return class and settings of a plug-in and of its parts."""
    found = {name: identity[name] for name in ("class", "config", "unique") if name in identity}
    parts = {name: _named(part) for name, part in identity.get("parts", {}).items()}
    return found | ({"parts": parts} if parts else {})
