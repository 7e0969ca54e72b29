"""Base of generators that wrap a model of another package: find, describe, ask it."""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from contextvars import copy_context
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

from target_bench.core.contract import Generator
from target_bench.core.errors import ConfigError, TargetBenchError
from target_bench.core.model_objects import Foreign
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.core.settings import may_be_a_word, without_secrets
from target_bench.core.user_code import place, whole_traceback
from target_bench.models.remote.answer_cache import (
    Answer,
    AnswerCache,
    file,
    request_key,
    storable,
    storable_count,
    unrecorded,
)
from target_bench.models.remote.failures import Failure, Kind, Refused
from target_bench.models.remote.server_settings import is_local

_LONGEST = 500  # characters of an error's own words
_ADDRESSES = ("base_url", "openai_api_base", "api_base")
"""Where models of LangChain and LlamaIndex keep the address of their server."""

_KINDS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("context_overflow", frozenset(("ContextOverflowError",))),
    ("timeout", frozenset(("APITimeoutError", "TimeoutError", "TimeoutException", "Timeout"))),
    ("connection", frozenset(("APIConnectionError", "ConnectionError", "TransportError"))),
)
"""Names of clients' errors: of OpenAI and similar clients, httpx, requests."""


_Answering = Callable[[GenerationRequest], Generation]


class WrappedModel(Generator):
    """A generator that asks a model object, several requests at a time, each answer once.

    Answers are recorded by the model's class and settings and by the messages. A failed answer
    is not, nor is any where nothing identifies the model.

    Args:
        model: the object, or where to find it: ``module:name`` or ``path/file.py:name`` of one, or
            of a function or class that gives one when it is called without arguments.
        concurrency: how many requests are under way at most.
        cache: whether answers are recorded, and recorded ones used.
        kind: the class that a model is of.

    Raises:
        ConfigError: there is no such model, or a setting is invalid.
    """

    paid = True
    converses: ClassVar[bool] = True
    answers_are_noted: ClassVar[bool] = True  # as ``cache_use.answered`` has it

    def __init__(self, model: object, concurrency: int, cache: bool, kind: type) -> None:
        if concurrency < 1:
            raise ConfigError(f"concurrency={concurrency}: at least 1 is needed")
        self.model = model
        self.concurrency = concurrency
        self.cache = cache
        self._found = Foreign(model, "model", kind)
        self._model: Any = self._found.object
        self._secrets = self._found.secrets
        self.packages = (*self.packages, *self._found.packages)
        addresses = (getattr(self._model, name, None) for name in _ADDRESSES)
        self.paid = not any(isinstance(found, str) and is_local(found) for found in addresses)

    def config(self) -> Mapping[str, Any]:
        """Return class and settings of the model as far as known, without secrets.

        Raises:
            TypeError: nothing identifies the model; see ``Foreign.config``.
        """
        return self._found.config()

    def unanswered(self, requests: Iterable[GenerationRequest]) -> Iterator[GenerationRequest]:
        """Return the requests whose answers are not recorded."""
        described = self._described()
        if described is None:
            return iter(requests)
        return unrecorded(requests, lambda request: self._key(request, described))

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the answer to one request; any exception of the model makes it a failed one."""
        [answer] = self.generate_many([request], Observer())
        return answer

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        """Yield the answers as they come; see ``Generator.generate_many``.

        Raises:
            StoreError: answers cannot be recorded.
        """
        described = self._described()
        if described is None:
            yield from self._answers(requests, self._asked)
            return
        with closing(AnswerCache(file(), observer.warning)) as recorded:
            yield from self._answers(requests, lambda r: self._answer(r, described, recorded))

    @abstractmethod
    def _ask(self, request: GenerationRequest) -> Answer:
        """Ask the model, in any thread; an answer without text is a ``Failure``."""

    def _answers(
        self, requests: Iterable[GenerationRequest], answer: _Answering
    ) -> Iterator[Generation]:
        """Yield the result of ``answer`` for each request, which is drawn when a thread is free."""
        source = iter(requests)
        under_way: set[Future[Generation]] = set()
        with ThreadPoolExecutor(self.concurrency, "target-bench-requests") as pool:
            while True:
                for request in islice(source, self.concurrency - len(under_way)):
                    under_way.add(pool.submit(copy_context().run, answer, request))
                if not under_way:
                    return
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)

    def _described(self) -> Mapping[str, Any] | None:
        """Return the key under which answers are recorded, or None if they are not."""
        if not self.cache:
            return None
        try:
            return self.config()
        except TypeError:
            return None

    def _key(self, request: GenerationRequest, described: Mapping[str, Any]) -> str:
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        return request_key(type(self).__name__, "", {**described, "messages": messages})

    def _answer(
        self, request: GenerationRequest, described: Mapping[str, Any], recorded: AnswerCache
    ) -> Generation:
        """Return the recorded answer, else the model's, which is recorded."""
        key = self._key(request, described)
        found = recorded.get(key)
        if found is not None:
            return _generation(request, found, None)
        return self._asked(request, lambda answer: recorded.put(key, answer))

    def _asked(
        self, request: GenerationRequest, keep: Callable[[Answer], object] = bool
    ) -> Generation:
        start = time.perf_counter()
        try:
            answer = self._ask(request)
        except TargetBenchError:
            raise
        except Exception as error:
            problem, trace = error_text(error, self._secrets), None
            if problem.startswith("raised: "):  # not what a server said: perhaps a user's own code
                problem += without_secrets(place(error), self._secrets)
                trace = without_secrets(whole_traceback(error), self._secrets)
            return Generation(request.query_id, "", error=problem, traceback=trace)
        seconds = round(time.perf_counter() - start, 6)
        text = answer.text
        for secret in self._secrets:
            text = text if may_be_a_word(secret) else text.replace(secret, "***")
        answer = replace(answer, text=text)
        keep(answer)
        return _generation(request, answer, seconds)


def _generation(request: GenerationRequest, answer: Answer, seconds: float | None) -> Generation:
    """Return an answer as a ``Generation``; without seconds it is a recorded one."""
    return Generation(
        request.query_id,
        answer.text,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        seconds=seconds,
        cached=seconds is None,
        finish_reason=answer.finish_reason,
    )


def with_text(text: str | None, reason: object, refusal: object, counts: Sequence[Any]) -> Answer:
    """Return an answer of a model.

    Args:
        text: its text.
        reason: why it ended.
        refusal: why it was refused, if it was.
        counts: the tokens of prompt and answer, each None if it is not known.

    Raises:
        Failure: there is no text.
    """
    if refusal:
        raise Failure("refusal", str(refusal))
    if reason == "content_filter":
        raise Failure("content_filter", "the server's filter held the answer back")
    if text is None or not text.strip():
        raise Failure("empty_answer", f"no text (finish_reason {reason})")
    known = map(storable_count, counts)
    return Answer(storable(text), storable(str(reason)) if reason else None, *known)


def error_text(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Return kind and message of an error; the kind is its cause's where it has none itself.

    Args:
        error: what a model raised; clients of several providers name their errors alike.
        secrets: are taken out of it.
    """
    cause: BaseException | None = error
    while cause is not None:
        failure = _failure(cause)
        if failure is not None:
            return without_secrets(str(failure), secrets)
        cause = cause.__cause__
    words = " ".join(without_secrets(str(error), secrets).split())
    words = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
    return f"raised: {type(error).__name__}: {words}"


def _failure(error: BaseException) -> Failure | None:
    """Classify an error by the names of its classes and its HTTP status."""
    if isinstance(error, Failure):
        return error
    classes = {cls.__name__ for cls in type(error).__mro__}
    kind = next((kind for kind, names in _KINDS if classes & names), None)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and 400 <= status < 600:
        body = getattr(error, "body", None) or str(error)
        refused = Refused.read(status, body, None).failure()
        return Failure(kind, refused.message) if kind else refused
    return Failure(kind, _root(error)) if kind else None


def _root(error: BaseException) -> str:
    """Return the words of what an error goes back to."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"
