"""Models behind the OpenAI API: OpenAI's own, and those of any server that speaks it."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext
from typing import Any, ClassVar

from target_bench.core.contract import Generator, constructor_arguments
from target_bench.core.files import parse_json
from target_bench.core.observer import Observer
from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.core.tokens import estimated_tokens
from target_bench.models.remote.answer_cache import (
    Answer,
    AnswerCache,
    file,
    request_key,
    storable,
    storable_count,
    unrecorded,
)
from target_bench.models.remote.concurrency import ConcurrentRequests, Work
from target_bench.models.remote.endpoint import Asked, Endpoint, Reply, RetryPolicy
from target_bench.models.remote.failures import Failure
from target_bench.models.remote.openai_api import Connection, Server
from target_bench.models.remote.recorder import Recorder
from target_bench.models.remote.served_model import Served
from target_bench.models.remote.server_settings import (
    check_at_least_one,
    check_prices,
    is_local,
)

_OWN = ("model", "messages", "temperature", "max_tokens", "seed", "response_format", "stream", "n")
_CHANGES_NO_ANSWER = (
    "api_key_env",
    "timeout",
    "concurrency",
    "rpm",
    "tpm",
    "attempts",
    "prices",
    "cache",
)
_FENCE = re.compile(r"\A\s*```[A-Za-z]*\s*\n(?P<inner>.*?)\n?\s*```\s*\Z", re.DOTALL)
_Work = Work[GenerationRequest, Generation]


class OpenAI(Generator):
    """Asks a chat model, many requests at a time, each answer once and for all.

    Needs: extra openai; a server.

    An answer that was recorded is not asked for again, in this run or any other; its ``cost`` is
    then what it did cost. A failed one has an ``error`` that begins with its kind: see
    ``models.remote.failures``. A wrong key, model or address ends the run if no request has
    been answered yet.

    Args:
        model: the name of the model.
        base_url: the server; default: $OPENAI_BASE_URL, else OpenAI's own.
        api_key_env: the name of the variable that holds the key (never the key). A server named
            by ``base_url`` gets what is in it, and a placeholder if it is not set.
        temperature: how freely words are drawn where a request does not say it; None to leave it
            to the server always.
        max_tokens: of an answer; None to leave it to the server.
        seed: of the server's draws, where it has such; None to leave it out.
        timeout: seconds that one attempt may take.
        concurrency: how many requests are under way at most.
        rpm: requests per minute at most.
        tpm: tokens per minute at most, prompts and answers together.
        attempts: how often a request is sent at most.
        prices: of ``input`` and ``output``, per million tokens. Without them a server on this
            machine (localhost) costs nothing, and is not asked about.
        extra: further parameters of a request, as the server names them.
        cache: whether answers are recorded, and recorded ones used.
    """

    packages = ("openai",)
    paid = True
    converses = True
    follows_schema = True
    answers_are_noted: ClassVar[bool] = True  # as ``cache_use.answered`` has it
    retry_policy: ClassVar[RetryPolicy] = RetryPolicy()

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        temperature: float | None = 0.0,
        max_tokens: int | None = 512,
        seed: int | None = 0,
        timeout: float = 60.0,
        concurrency: int = 32,
        rpm: float | None = None,
        tpm: float | None = None,
        attempts: int = 6,
        prices: Mapping[str, float] | None = None,
        extra: Mapping[str, Any] | None = None,
        cache: bool = True,
    ) -> None:
        self.model = model
        self.base_url = base_url
        self.api_key_env = api_key_env
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.seed = seed
        self.timeout = timeout
        self.concurrency = concurrency
        self.rpm = rpm
        self.tpm = tpm
        self.attempts = attempts
        self.prices = prices
        self.extra = extra
        self.cache = cache
        check_at_least_one(max_tokens=max_tokens)
        both = "both, per million tokens, as in {input: 0.15, output: 0.60}"
        check_prices(prices, ("input", "output"), both)
        self._served = Served(
            "the generator openai",
            _OWN,
            self.retry_policy,
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            timeout=timeout,
            concurrency=concurrency,
            rpm=rpm,
            tpm=tpm,
            attempts=attempts,
            extra=extra,
        )
        self._server = self._served.server
        self.paid = prices is not None or not is_local(self._server.address)

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change an answer, the real address of requests included."""
        settings = constructor_arguments(self)
        kept = {name: value for name, value in settings.items() if name not in _CHANGES_NO_ANSWER}
        return kept | {"base_url": self._server.address}

    def unanswered(self, requests: Iterable[GenerationRequest]) -> Iterator[GenerationRequest]:
        """Return the requests whose answers are not recorded."""
        return unrecorded(requests, self.key) if self.cache else iter(requests)

    def estimated_cost(self, n_requests: int, input_tokens: int) -> float | None:
        """Return the most that these requests can cost for these tokens; None without prices."""
        if self.prices is None or self.max_tokens is None:
            return None
        return self._cost(input_tokens, n_requests * self.max_tokens)

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the answer to one request. For many, ``generate_many`` is faster."""
        [answer] = self.generate_many([request], Observer())
        return answer

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        """Yield the answers as they come, in any order; see ``Generator.generate_many``.

        Raises:
            ConfigError: key, model or address are wrong, and nothing was answered yet.
            StoreError: answers cannot be recorded.
        """
        text_instead: list[str] = []

        def waiting(reason: str, seconds: float) -> None:
            running.post(lambda: observer.waiting(reason, seconds))

        def warning(message: str) -> None:
            running.post(lambda: observer.warning(message))

        @asynccontextmanager
        async def session() -> AsyncIterator[_Work]:
            recorder = Recorder(AnswerCache(file(), warning)) if self.cache else None
            endpoint: Endpoint[Answer] = self._served.endpoint(recorder, waiting, self.seed or 0)
            asking = _Asking(self, endpoint, self._server, text_instead.append)
            async with nullcontext() if recorder is None else aclosing(recorder):
                try:
                    yield asking.generation
                finally:
                    await asking.close()

        width = 2 * self.concurrency  # half of them wait for a place, so that none stays empty
        running = ConcurrentRequests[GenerationRequest, Generation](session, width)
        yield from running.results(requests)
        if text_instead:
            observer.warning(
                f"{len(text_instead)} answers were not the JSON that was asked for; they were "
                "read as text"
            )

    def body(self, request: GenerationRequest) -> dict[str, Any]:
        """Return the body of the request: all that determines the answer, except the address."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        }
        for name in ("temperature", "max_tokens", "seed"):
            if getattr(self, name) is not None:
                body[name] = getattr(self, name)
        if self.temperature is not None and request.temperature is not None:
            body["temperature"] = request.temperature
        if request.answer_schema is not None:
            schema = {"name": "answer", "schema": dict(request.answer_schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def key(self, request: GenerationRequest) -> str:
        """Return the key of a recorded answer."""
        return self.key_of(self.body(request))

    def key_of(self, body: Mapping[str, Any]) -> str:
        """Return the key of the recorded answer to a body."""
        extra = dict(self.extra or {})
        return request_key("openai", self._server.address, {**body, "extra": extra})

    def _cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        if self.prices is None or input_tokens is None or output_tokens is None:
            return None
        parts = self.prices["input"] * input_tokens, self.prices["output"] * output_tokens
        return sum(parts) / 1_000_000

    def answered(self, request: GenerationRequest, reply: Reply[Answer]) -> Generation:
        """Return a reply as a ``Generation``."""
        answer = reply.answer
        return Generation(
            request.query_id,
            answer.text,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cost=self._cost(answer.input_tokens, answer.output_tokens),
            seconds=reply.seconds,
            cached=reply.cached,
            finish_reason=answer.finish_reason,
        )

    def failed(self, request: GenerationRequest, failure: Failure) -> Generation:
        """Return a failure as a ``Generation``; what its last attempt took is counted."""
        return Generation(
            request.query_id,
            "",
            error=str(failure),
            input_tokens=failure.tokens[0],
            output_tokens=failure.tokens[1],
            cost=self._cost(*failure.tokens),
        )


class _Asking:
    """One event loop's way from requests to answers; connects when the first one is sent."""

    def __init__(
        self,
        model: OpenAI,
        endpoint: Endpoint[Answer],
        server: Server,
        text_instead: Callable[[str], None],
    ) -> None:
        self._model = model
        self._text_instead = text_instead
        self._endpoint = endpoint
        self._connection = Connection(server, "/chat/completions")

    async def generation(self, request: GenerationRequest) -> Generation:
        body = self._model.body(request)
        sent = body | dict(self._model.extra or {})
        with_schema = request.answer_schema is not None
        as_text = request.schema_optional

        async def send() -> Answer:
            return await self._connection.create(
                sent, lambda found: _read(found, with_schema, as_text), with_schema
            )

        tokens = estimated_tokens(request.messages) + (self._model.max_tokens or 0)
        key = self._model.key_of(body) if self._model.cache else ""
        try:
            reply = await self._endpoint.ask(Asked(key, tokens, send, self._connection.open))
            if with_schema and as_text and _json_problem(reply.answer.text) is not None:
                self._text_instead(request.query_id)
            return self._model.answered(request, reply)
        except Failure as failure:
            return self._model.failed(request, failure)

    async def close(self) -> None:
        await self._connection.close()


def _read(body: Mapping[str, Any], with_schema: bool, as_text: bool) -> Answer:
    """Return the answer in what the server sent.

    Args:
        body: what it sent.
        with_schema: whether JSON was asked for.
        as_text: whether an answer that is not JSON is one all the same.

    Raises:
        Failure: there is none, or not in the form that was asked for.
    """
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    sent, said = counts.get("prompt_tokens"), counts.get("completion_tokens")
    tokens = storable_count(sent), storable_count(said)
    try:
        text, reason = _text(body)
        if with_schema:
            _check_json(text, reason, as_text)
    except Failure as failure:
        failure.tokens = tokens
        raise
    return Answer(storable(text), storable(reason) if isinstance(reason, str) else None, *tokens)


def _text(body: Mapping[str, Any]) -> tuple[str, object]:
    """Return the text, and why it ended."""
    try:
        choice = body["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Failure("server_error", "the answer has no choices", again=True) from None
    if refusal:
        raise Failure("refusal", str(refusal))
    if reason == "content_filter":
        raise Failure("content_filter", "the server's filter held the answer back")
    if not isinstance(text, str) or not text.strip():
        raise _empty(reason)
    return text, reason


def _empty(reason: object) -> Failure:
    if reason == "length":
        return Failure("truncated", "max_tokens was spent before the first word of the answer")
    return Failure("empty_answer", f"no text (finish_reason {reason})")


def _check_json(text: str, reason: object, as_text: bool) -> None:
    if reason == "length":
        raise Failure("truncated", "max_tokens was spent before the JSON was whole")
    problem = None if as_text else _json_problem(text)
    if problem is not None:
        raise Failure(
            "invalid_json",
            f"{problem}, in {text!r:.200}; --free-text (structured=False) asks without a JSON "
            "schema",
        )


def _json_problem(text: str) -> str | None:
    """Return why an answer is not JSON, perhaps in a code fence; None if it is."""
    said = without_reasoning(text)
    fence = _FENCE.match(said)
    try:
        parse_json(fence["inner"] if fence else said)
    except ValueError as error:
        return str(error)
    return None
