"""LlamaIndex: a real client over HTTP, models of one's own, what identifies them, and secrets."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError, MissingExtraError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest, Message
from target_bench.core.user_code import split_place
from tests.openai_server import OpenAIServer, answer, error, overflow, rate_limited, unknown_model

pytest.importorskip("llama_index.core")
pytest.importorskip("llama_index.llms.openai_like")

from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    CustomLLM,
    LLMMetadata,
)
from llama_index.llms.openai_like import OpenAILike

from target_bench.generators.llama_index import LlamaIndex

pytestmark = pytest.mark.usefixtures("clients_of_others")

KEY = "sk-verysecret-0123456789"


class Fake(CustomLLM):
    """Answers with what it was asked; the 42nd fails."""

    model_name: str = "fake-1"
    raw: Any = None
    seen: ClassVar[list[Sequence[ChatMessage]]] = []
    most: ClassVar[int] = 0
    now: ClassVar[int] = 0
    lock: ClassVar[Lock] = Lock()

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.model_name, is_chat_model=True)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        with self.lock:
            Fake.seen.append(messages)
            Fake.now += 1
            Fake.most = max(Fake.most, Fake.now)
        time.sleep(0.01)
        with self.lock:
            Fake.now -= 1
        if messages[-1].content == "q41":
            raise RuntimeError("the model is gone")
        reply = ChatMessage(role="assistant", content=f"answer to {messages[-1].content}")
        return ChatResponse(message=reply, raw=self.raw)


def make() -> Fake:
    """What the command line names."""
    return Fake(model_name="made")


MODEL = Fake(model_name="an object")


def _requests(n: int) -> Iterator[GenerationRequest]:
    for i in range(n):
        messages = Message("system", "be brief"), Message("user", f"q{i}")
        yield GenerationRequest(f"q{i}", "qa", messages, f"q{i}")


def _one(generator: LlamaIndex) -> Generation:
    return generator.generate(GenerationRequest("q", "qa", (Message("user", "q0"),), "q0"))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(key=KEY) as server:
        yield server


def _like(server: OpenAIServer, **settings: Any) -> OpenAILike:
    settings = dict[str, Any](api_key=KEY, max_retries=0, timeout=5.0) | settings
    return OpenAILike(model="m", api_base=server.base_url, is_chat_model=True, **settings)


def test_the_real_client(server: OpenAIServer) -> None:
    server.delay = 0.02
    generator = LlamaIndex(_like(server, temperature=0.25, max_tokens=7), concurrency=4)
    answers = list(generator.generate_many(_requests(30), Observer()))
    assert {a.query_id: a.text for a in answers} == {f"q{i}": f"answer to q{i}" for i in range(30)}
    assert {a.input_tokens for a in answers} == {10}
    assert all(a.error is None and a.output_tokens and a.seconds for a in answers)
    assert 2 <= server.most_at_once <= 4
    first = server.requests[0].body
    assert (first["temperature"], first["max_tokens"]) == (0.25, 7)
    assert first["messages"][0]["role"] == "system"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (overflow(), "context_overflow: HTTP 400: This model's maximum context"),
        (rate_limited(retry_after_ms="1"), "rate_limit: HTTP 429: Rate limit reached"),
        (error(500, "The server had an error"), "server_error: HTTP 500: The server had an error"),
        (unknown_model(), "unknown_model: HTTP 404"),
        (error(401, f"Incorrect API key provided: {KEY}"), "authentication: HTTP 401: Incorrect"),
        (error(400, "no such parameter"), "bad_request: HTTP 400: no such parameter"),
        (answer("late", delay=30.0), "timeout: ReadTimeout"),
        (answer("cut", cut=True), "connection: RemoteProtocolError"),
        (answer(""), "empty_answer: no text (finish_reason stop)"),
        (answer(None, refusal="I will not"), "refusal: I will not"),
        (answer(None, "content_filter"), "content_filter: "),
    ],
)
def test_failures_are_named_by_their_kind_and_cost_one_query(
    server: OpenAIServer, reply: Any, expected: str
) -> None:
    server.scripted["q3"] = [reply]
    generator = LlamaIndex(_like(server, timeout=2.0 if reply.delay else 30.0), concurrency=2)
    answers = {a.query_id: a for a in generator.generate_many(_requests(6), Observer())}
    failed = answers.pop("q3")
    assert failed.text == ""
    assert failed.error is not None
    assert failed.error.startswith(expected)
    assert KEY not in failed.error
    assert all(a.error is None for a in answers.values())
    assert len(answers) == 5


def test_no_one_is_there() -> None:
    with OpenAIServer() as server:
        pass
    assert str(_one(LlamaIndex(_like(server))).error).startswith("connection: ConnectError")


def test_messages_become_those_of_llama_index() -> None:
    Fake.seen.clear()
    messages = Message("system", "s"), Message("user", "u"), Message("assistant", "a")
    found = LlamaIndex(Fake()).generate(GenerationRequest("q", "qa", messages, "u"))
    assert found == Generation("q", "answer to a", seconds=found.seconds)
    assert [(m.role.value, m.content) for m in Fake.seen[0]] == [
        ("system", "s"),
        ("user", "u"),
        ("assistant", "a"),
    ]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"usage": {"input_tokens": 3, "output_tokens": 4}}, (3, 4)),
        ({"usage": {"prompt_tokens": 3}}, (3, None)),
        ({"prompt_eval_count": 5, "eval_count": 6}, (5, 6)),
        ({"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 8}}, (7, 8)),
        ({"usage": {"prompt_tokens": "many"}}, (None, None)),
        ("only text", (None, None)),
        (None, (None, None)),
    ],
)
def test_token_counts_of_several_providers(raw: Any, expected: tuple[Any, Any]) -> None:
    found = _one(LlamaIndex(Fake(raw=raw)))
    assert (found.input_tokens, found.output_tokens) == expected


def test_as_many_at_once_as_asked_for_and_one_failure_costs_one_query() -> None:
    Fake.most = 0
    answers = list(LlamaIndex(Fake(), concurrency=5).generate_many(_requests(60), Observer()))
    assert 2 <= Fake.most <= 5
    (failed,) = (a for a in answers if a.error)
    said, line_of_user = split_place(failed.error or "")
    assert (failed.query_id, said) == ("q41", "raised: RuntimeError: the model is gone")
    assert Path(__file__).name in line_of_user
    assert "the model is gone" in (failed.traceback or "")
    assert len({a.query_id for a in answers}) == 60


def test_requests_are_drawn_as_they_are_needed_and_closing_stops() -> None:
    drawn: list[str] = []

    def requests() -> Iterator[GenerationRequest]:
        for request in _requests(10_000):
            drawn.append(request.query_id)
            yield request

    answers = LlamaIndex(Fake(), concurrency=3).generate_many(requests(), Observer())
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert len(drawn) == 3


def test_the_identity_is_class_and_settings_without_secrets(server: OpenAIServer) -> None:
    headers = {"Authorization": "Bearer abcdefgh"}
    model = _like(server, temperature=0.5, default_headers=headers)
    config = LlamaIndex(model).config()
    text = json.dumps(config)
    assert config["model"]["class"] == "llama_index.llms.openai_like.base:OpenAILike"
    assert "llama-index-llms-openai-like" in LlamaIndex(model).packages
    settings = config["model"]["settings"]
    assert (settings["model"], settings["temperature"]) == ("m", 0.5)
    assert settings["api_base"] == server.base_url
    for secret in (KEY, "abcdefgh", "api_key"):
        assert secret not in text
    again = LlamaIndex(_like(server, temperature=0.5))
    assert plugin_identity(again)[1] is None
    other_key = _like(server, temperature=0.5, api_key="sk-another-9876543210", timeout=9.0)
    assert plugin_identity(again) == plugin_identity(LlamaIndex(other_key, concurrency=1))
    assert plugin_identity(again) != plugin_identity(LlamaIndex(_like(server, temperature=0.6)))
    assert KEY not in repr(again)


def test_how_messages_are_written_is_part_of_the_identity(server: OpenAIServer) -> None:
    plain = LlamaIndex(_like(server))
    written = _like(server, messages_to_prompt=_shouted)
    assert plugin_identity(plain) != plugin_identity(LlamaIndex(written))
    unknown = _like(server, messages_to_prompt=lambda messages: str(messages))
    identity, warning = plugin_identity(LlamaIndex(unknown))
    assert "unique" in identity
    assert warning is not None
    assert "name a function that makes it" in warning


def _shouted(messages: Sequence[ChatMessage]) -> str:
    return "\n".join(str(message.content).upper() for message in messages)


def test_from_the_command_line() -> None:
    def made(model: str) -> Any:
        found = registry.create("generator", f"llama-index:model={model},concurrency=2")
        assert isinstance(found, LlamaIndex)
        assert found.paid
        assert _one(found).text == "answer to q0"
        return found.config()["model"]["settings"]["model_name"]

    assert made(f"{__name__}:make") == "made"
    assert made(f"{__name__}:MODEL") == "an object"
    assert made(f"{__name__}:Fake") == "fake-1"


@pytest.mark.parametrize("model", [Fake, object(), "builtins:dict"])
def test_a_model_that_is_none(model: object) -> None:
    with pytest.raises(ConfigError, match="no LLM object"):
        LlamaIndex(model)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"llama-index-core.*target-bench\[llama-index\]"):
        LlamaIndex(Fake())
