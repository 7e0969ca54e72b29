"""LlamaIndex: models of its package, token counts, what identifies a model, and secrets.

What a server answers is in ``tests/models/remote/test_remote_generator.py``; where a model may be
named, in ``test_langchain.py``.
"""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from target_bench.core import registry
from target_bench.core.identity import plugin_identity
from target_bench.core.schema import Generation, GenerationRequest, Message

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
    """Repeats the question."""

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


def _like(**settings: Any) -> OpenAILike:
    settings = {"api_key": KEY, "api_base": "http://localhost:1/v1", **settings}
    return OpenAILike(model="m", is_chat_model=True, **settings)


def _answer(generator: LlamaIndex) -> Generation:
    messages = Message("system", "s"), Message("user", "u"), Message("assistant", "a")
    return generator.generate(GenerationRequest("q", "qa", messages, "u"))


def test_messages_become_those_of_llama_index() -> None:
    Fake.seen.clear()
    generator = registry.create("generator", f"llama-index:model={__name__}:Fake")
    answer = _answer(generator)
    assert answer == Generation("q", "answer to a", seconds=answer.seconds)
    roles = [("system", "s"), ("user", "u"), ("assistant", "a")]
    assert [(m.role.value, m.content) for m in Fake.seen[0]] == roles
    assert generator.paid


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"usage": {"input_tokens": 3, "output_tokens": 4}}, (3, 4)),
        ({"usage": {"prompt_tokens": 3}}, (3, None)),
        ({"prompt_eval_count": 5, "eval_count": 6}, (5, 6)),
        ({"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 8}}, (7, 8)),
        ({"usage": {"prompt_tokens": "many"}}, (None, None)),
        ("only text", (None, None)),
    ],
)
def test_token_counts_of_several_providers(raw: Any, expected: tuple[Any, Any]) -> None:
    answer = _answer(LlamaIndex(Fake(raw=raw)))
    assert (answer.input_tokens, answer.output_tokens) == expected


def test_the_identity_is_class_and_settings_without_secrets() -> None:
    headers = {"Authorization": "Bearer abcdefgh"}
    generator = LlamaIndex(_like(temperature=0.5, default_headers=headers))
    model = generator.config()["model"]
    assert model["class"] == "llama_index.llms.openai_like.base:OpenAILike"
    assert "llama-index-llms-openai-like" in generator.packages
    assert (model["settings"]["model"], model["settings"]["temperature"]) == ("m", 0.5)
    for secret in (KEY, "abcdefgh", "api_key"):
        assert secret not in json.dumps(model) + repr(generator)
    identity = plugin_identity(LlamaIndex(_like(temperature=0.5)))
    assert identity[1] is None
    other_key = _like(temperature=0.5, api_key="sk-another-9876543210", timeout=9.0)
    assert plugin_identity(LlamaIndex(other_key, concurrency=1)) == identity
    assert plugin_identity(LlamaIndex(_like(temperature=0.6))) != identity
