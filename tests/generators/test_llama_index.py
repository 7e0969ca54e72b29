"""LlamaIndex: a real client over HTTP, models of one's own, what identifies them, and secrets."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest

from target_bench.core import registry
from target_bench.core.errors import MissingExtraError
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import Generation, GenerationRequest, Message
from tests.openai_server import OpenAIServer

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
    """Answers with what it was asked."""

    model_name: str = "fake-1"
    raw: Any = None
    seen: ClassVar[list[Sequence[ChatMessage]]] = []

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.model_name, is_chat_model=True)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        Fake.seen.append(messages)
        reply = ChatMessage(role="assistant", content=f"answer to {messages[-1].content}")
        return ChatResponse(message=reply, raw=self.raw)


def make() -> Fake:
    """What the command line names."""
    return Fake(model_name="made")


MODEL = Fake(model_name="an object")


def _one(generator: LlamaIndex) -> Generation:
    return generator.generate(GenerationRequest("q", "qa", (Message("user", "q0"),), "q0"))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(key=KEY) as server:
        yield server


def _like(server: OpenAIServer, **settings: Any) -> OpenAILike:
    settings = dict[str, Any](api_key=KEY, max_retries=0, timeout=5.0) | settings
    return OpenAILike(model="m", api_base=server.base_url, is_chat_model=True, **settings)


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


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"llama-index-core.*target-bench\[llama-index\]"):
        LlamaIndex(Fake())
