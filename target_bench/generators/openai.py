"""Models behind the OpenAI API: OpenAI's own, and those of any server that speaks it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from target_bench.core.contract import get_constructor_arguments
from target_bench.core.errors import check_at_least_one
from target_bench.core.files import parse_json
from target_bench.core.observer import Observer
from target_bench.core.reasoning import without_reasoning
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.models.cache import ModelReply, request_key
from target_bench.models.remote.failures import Failure
from target_bench.models.remote.openai_client import ModelServer
from target_bench.models.remote.remote_generator import Ask, RemoteGenerator, make_reply

_RESERVED = (  # parameters of a request that ``extra`` may not set
    *("model", "messages", "temperature", "max_tokens", "seed", "response_format", "stream", "n"),
)
_CHANGES_NO_ANSWER = (
    "api_key_env",
    "timeout",
    "total_timeout",
    "max_reply_bytes",
    "concurrency",
    "max_retries",
    "prices",
    "cache",
)
_FENCE = re.compile(r"\A\s*```[A-Za-z]*\s*\n(?P<inner>.*?)\n?\s*```\s*\Z", re.DOTALL)


@dataclass(eq=False, repr=False)
class OpenAI(RemoteGenerator):
    """Ask a chat model, many requests at a time, and record every answer.

    Needs: extra openai; a server.

    An answer that was recorded is not asked for again, in this run or any other; its ``cost`` is
    then what it did cost. A failed one has an ``error`` that begins with its kind, as
    ``rate_limit`` or ``timeout``. A wrong key, model or address ends the run if no request has
    been answered yet.

    Args:
        model: the name of the model.
        base_url: the server; default: $OPENAI_BASE_URL, else OpenAI's own.
        api_key_env: the name of the variable that holds the key (never the key). A server named
            by ``base_url`` gets what is in it, and a placeholder if it is not set.
        temperature: of sampling, where a request sets none; None to leave it to the server always.
        max_tokens: of an answer; None to leave it to the server.
        seed: of sampling, where the server has one; None to leave it out.
        timeout: seconds to wait for a connection, or for more of an answer.
        total_timeout: seconds for a whole reply; raise it for a slow model on this machine.
        max_reply_bytes: a longer reply is not read.
        concurrency: how many requests are in flight at most.
        max_retries: how often a request is retried at most, after a rate limit (as its
            ``Retry-After`` says), a timeout, a lost connection or an error of the server.
        prices: of ``input`` and ``output``, per million tokens. Without them a server on this
            machine (localhost) is free, and no question is asked before the first request.
        extra: further parameters of a request, by their names in the API.
        cache: whether answers are recorded, and recorded ones used.
    """

    packages = ("openai",)
    follows_schema = True

    model: str
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    max_tokens: int | None = 512
    seed: int | None = 0
    timeout: float = 60.0
    total_timeout: float = 600.0
    max_reply_bytes: int = 16_000_000
    concurrency: int = 32
    max_retries: int = 8
    prices: Mapping[str, float] | None = None
    extra: Mapping[str, Any] | None = None
    cache: bool = True

    def __post_init__(self) -> None:
        check_at_least_one(max_tokens=self.max_tokens)
        self._server = ModelServer(self, "the generator openai", _RESERVED, ("input", "output"))
        self.paid = self._server.paid
        self._read_as_text: list[str] = []  # ids of queries

    def config(self) -> Mapping[str, Any]:
        """Return the settings that can change an answer, the real address of requests included."""
        settings = get_constructor_arguments(self)
        kept = {name: value for name, value in settings.items() if name not in _CHANGES_NO_ANSWER}
        return kept | {"base_url": self._server.address}

    def estimate_cost(self, n_requests: int, input_tokens: int) -> float | None:
        """Return the highest possible cost of requests; None without prices or ``max_tokens``."""
        if self.max_tokens is None:
            return None
        return self.cost(input_tokens, n_requests * self.max_tokens)

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """Return the cost of an answer; None if it is not known."""
        if self.prices is None or input_tokens is None or output_tokens is None:
            return None
        parts = self.prices["input"] * input_tokens, self.prices["output"] * output_tokens
        return sum(parts) / 1_000_000

    def answer_key(self) -> Callable[[GenerationRequest], str] | None:
        """Return the function from a request to its key; None if nothing is recorded."""
        return self._key if self.cache else None

    def _key(self, request: GenerationRequest) -> str:
        body = {**self.body(request), "extra": dict(self.extra or {})}
        return request_key("openai", self._server.address, body)

    def body(self, request: GenerationRequest) -> dict[str, Any]:
        """Return the body of the request, but for ``extra``."""
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

    @contextmanager
    def connect(self) -> Iterator[Ask]:
        """Return the function that asks the model within a ``with`` block."""
        with self._server.connect("/chat/completions") as send:

            def ask(request: GenerationRequest) -> tuple[ModelReply, float]:
                body = self.body(request) | dict(self.extra or {})
                reply, seconds = send(body, request.answer_schema is not None)
                return _read_reply(reply, request), seconds

            yield ask

    def generate_many(
        self, requests: Iterable[GenerationRequest], observer: Observer
    ) -> Iterator[Generation]:
        """Yield the answers as they come, in any order; see ``Generator.generate_many``."""
        self._read_as_text.clear()
        self._server.other_models.clear()
        yield from super().generate_many(requests, observer)
        for note in self._server.describe_other_models():
            observer.warning(note)
        if self._read_as_text:
            observer.warning(
                f"{len(self._read_as_text)} answers were not the JSON that was asked for; they "
                "were read as text"
            )

    def _make_generation(
        self, request: GenerationRequest, answer: ModelReply, seconds: float | None
    ) -> Generation:
        as_text = request.answer_schema is not None and request.schema_optional
        if as_text and _find_json_problem(answer.text) is not None:
            self._read_as_text.append(request.query_id)
        return super()._make_generation(request, answer, seconds)


def _read_reply(reply: Mapping[str, Any], request: GenerationRequest) -> ModelReply:
    """Read the answer in a server's reply.

    Raises:
        Failure: there is no answer, or it is not in the requested form.
    """
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    try:
        choice = reply["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Failure("server_error", "the answer has no choices") from None
    counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
    answer = make_reply(text, reason, refusal, counts)
    if request.answer_schema is None:
        return answer
    tokens = answer.input_tokens, answer.output_tokens
    if reason == "length":
        raise Failure("truncated", "max_tokens was spent before the JSON was whole", tokens=tokens)
    problem = None if request.schema_optional else _find_json_problem(answer.text)
    if problem is not None:
        raise Failure(
            "invalid_json",
            f"{problem}, in {answer.text!r:.200}; --free-text (structured=False) asks without a "
            "JSON schema",
            tokens=tokens,
        )
    return answer


def _find_json_problem(text: str) -> str | None:
    """Return why an answer is not JSON, perhaps in a code fence; None if it is."""
    text = without_reasoning(text)
    fence = _FENCE.match(text)
    try:
        parse_json(fence["inner"] if fence else text)
    except ValueError as error:
        return str(error)
    return None
