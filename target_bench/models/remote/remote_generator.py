"""Bases of generators with a model behind an API: requests in parallel, each sent once."""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import replace
from typing import Any, ClassVar

from target_bench.core.contract import Generator
from target_bench.core.credentials import mask_answer, without_secrets
from target_bench.core.errors import TargetBenchError, check_at_least_one
from target_bench.core.model_objects import ExternalObject
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.core.user_code import find_user_line, format_traceback
from target_bench.models.cache import AnswerCache, ModelReply, request_key, select_unrecorded
from target_bench.models.local_models import replace_surrogates
from target_bench.models.remote.failures import Failure, classify_error
from target_bench.models.remote.openai_client import is_local
from target_bench.models.remote.threads import imap_unordered

Ask = Callable[[GenerationRequest], tuple[ModelReply, float]]
"""Asks the model, in any thread: its answer and the seconds it took. May raise ``Failure``."""

_LONGEST = 500  # characters of an error's message
_LONGEST_REASON = 100  # characters of a finish_reason
_ADDRESSES = ("base_url", "openai_api_base", "api_base")  # of models of LangChain and LlamaIndex


class RemoteGenerator(Generator):
    """Base of generators that send requests in parallel, and each of them once.

    Answers are cached by all that determines them; failed ones are not. A cached answer is not paid
    again, in this run or any other, and equal requests at one time are sent once, whatever
    processes make them.

    Attributes:
        concurrency: how many requests are in flight at most.
        cache: whether answers are cached.
    """

    paid = True
    converses: ClassVar[bool] = True
    records_cache_hits: ClassVar[bool] = True  # read by ``cache_use.note_cached_answers``
    concurrency: int
    cache: bool

    @abstractmethod
    def answer_key(self) -> Callable[[GenerationRequest], str] | None:
        """Return the function from a request to its cache key; None if nothing is cached."""

    @abstractmethod
    def connect(self) -> AbstractContextManager[Ask]:
        """Return the function that asks the model within a ``with`` block."""

    def find_unanswered(self, requests: Iterable[GenerationRequest]) -> Iterator[GenerationRequest]:
        """Return the requests whose answers are not cached."""
        make_key = self.answer_key()
        return iter(requests) if make_key is None else select_unrecorded(requests, make_key)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the answer to one request. For many, ``generate_many`` is faster."""
        [answer] = self.generate_many([request], Observer())
        return answer

    def generate_many(
        self,
        requests: Iterable[GenerationRequest],
        observer: Observer,  # noqa: ARG002 (the contract's argument)
    ) -> Iterator[Generation]:
        """Yield the answers as they come, in any order; see ``Generator.generate_many``."""
        make_key = self.answer_key()
        with ExitStack() as stack:
            ask = stack.enter_context(self.connect())
            if make_key is None:
                yield from imap_unordered(
                    lambda r: self._ask_model(r, ask), requests, self.concurrency
                )
                return
            cache = stack.enter_context(closing(AnswerCache()))
            cache.put({})  # a file that cannot be written is reported before anything is paid

            def answer(request: GenerationRequest) -> Generation:
                key = make_key(request)
                cached = cache.get_reply(key)
                if cached is None:
                    with cache.claim(key):  # equal requests wait for one answer
                        cached = cache.get_reply(key)
                        if cached is None:
                            return self._ask_model(
                                request, ask, lambda reply: cache.put_reply(key, reply)
                            )
                return self._make_generation(request, cached, None)

            yield from imap_unordered(answer, requests, self.concurrency)

    def _ask_model(
        self,
        request: GenerationRequest,
        ask: Ask,
        save: Callable[[ModelReply], object] | None = None,
    ) -> Generation:
        """Return the model's answer, after saving it.

        A ``TargetBenchError`` ends the run; any other exception makes a failed answer.
        """
        messages = tuple(
            replace(m, content=replace_surrogates(m.content)) for m in request.messages
        )
        try:
            reply, seconds = ask(replace(request, messages=messages))
        except TargetBenchError:
            raise
        except Exception as error:
            return self._make_failure(request, error)
        end = reply.finish_reason
        reply = reply._replace(
            text=mask_answer(reply.text),
            finish_reason=end and mask_answer(end)[:_LONGEST_REASON],
        )
        if save is not None:
            save(reply)
        return self._make_generation(request, reply, seconds)

    def _make_failure(self, request: GenerationRequest, error: Exception) -> Generation:
        failure, trace = classify_error(error), None
        if failure is None:  # of no server: perhaps of a user's own code
            message = " ".join(without_secrets(str(error)).split())[:_LONGEST]
            problem = f"raised: {type(error).__name__}: {message}{find_user_line(error)}"
            trace = without_secrets(format_traceback(error))
        else:
            problem = str(failure)
        tokens = error.tokens if isinstance(error, Failure) else (None, None)
        return Generation(
            request.query_id,
            "",
            error=without_secrets(problem),
            traceback=trace,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost=self.cost(*tokens),
        )

    def _make_generation(
        self, request: GenerationRequest, reply: ModelReply, seconds: float | None
    ) -> Generation:
        """Return a reply as a ``Generation``; seconds are None for a cached one."""
        return Generation(
            request.query_id,
            reply.text,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost=self.cost(reply.input_tokens, reply.output_tokens),
            seconds=seconds,
            cached=seconds is None,
            finish_reason=reply.finish_reason,
        )

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:  # noqa: ARG002 (for those with prices)
        """Return the cost of an answer; None if it is not known."""
        return None


class ExternalModelGenerator(RemoteGenerator):
    """Base of generators with a model object of another package, such as LangChain.

    Answers are cached by the model's class and settings and the messages; nothing is cached where
    nothing identifies the model.

    Args:
        model: the object; or ``module:name`` or ``path/file.py:name`` of one, or of a function or
            class that returns one when called without arguments.
        concurrency: how many requests are in flight at most.
        cache: whether answers are cached.
        kind: the class of models.
    """

    def __init__(self, model: object, concurrency: int, cache: bool, kind: type) -> None:
        check_at_least_one(concurrency=concurrency)
        self.model = model
        self.concurrency = concurrency
        self.cache = cache
        self._foreign = ExternalObject(model, "model", kind)
        self._model: Any = self._foreign.object
        self.packages = (*self.packages, *self._foreign.packages)
        addresses = (getattr(self._model, name, None) for name in _ADDRESSES)
        self.paid = not any(isinstance(value, str) and is_local(value) for value in addresses)

    def config(self) -> Mapping[str, Any]:
        """Return class and settings of the model, without secrets.

        Raises:
            TypeError: nothing identifies the model; see ``ExternalObject.config``.
        """
        return self._foreign.config()

    def answer_key(self) -> Callable[[GenerationRequest], str] | None:
        """Return the function from a request to its cache key; None if nothing is cached."""
        if not self.cache:
            return None
        try:
            settings = self.config()
        except TypeError:
            return None

        def key(request: GenerationRequest) -> str:
            messages = [{"role": m.role, "content": m.content} for m in request.messages]
            return request_key(type(self).__name__, "", {**settings, "messages": messages})

        return key

    def connect(self) -> AbstractContextManager[Ask]:
        """Return the function that asks the model."""

        def ask(request: GenerationRequest) -> tuple[ModelReply, float]:
            start = time.perf_counter()
            reply = self._ask(request)
            return reply, round(time.perf_counter() - start, 6)

        return nullcontext(ask)

    @abstractmethod
    def _ask(self, request: GenerationRequest) -> ModelReply:
        """Ask the model, in any thread; an answer without text is a ``Failure``."""


def make_reply(
    text: object,
    reason: object = None,
    refusal: object = None,
    counts: tuple[Any, Any] = (None, None),
) -> ModelReply:
    """Make the reply of a model, or raise a ``Failure`` where it has no text.

    Args:
        text: its text.
        reason: its ``finish_reason``.
        refusal: the model's refusal, if it refused.
        counts: the tokens of prompt and answer, each None if unknown.
    """
    tokens = _read_count(counts[0]), _read_count(counts[1])
    if refusal:
        raise Failure("refusal", str(refusal), tokens=tokens)
    if reason == "content_filter":
        message = "the server's filter held the answer back"
        raise Failure("content_filter", message, tokens=tokens)
    if not isinstance(text, str) or not text.strip():
        if reason == "length":
            message = "max_tokens was spent before the first word of the answer"
            raise Failure("truncated", message, tokens=tokens)
        raise Failure("empty_answer", f"no text (finish_reason {reason})", tokens=tokens)
    end = replace_surrogates(reason) if isinstance(reason, str) and reason else None
    return ModelReply(replace_surrogates(text), end, *tokens)


def _read_count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 2**63 else None  # others are no counts
