"""LlamaIndex: models of its package, and token counts.

What a server answers is in ``tests/models/remote/test_remote_generator.py``; where a model may be
named, what identifies it and its secrets, in ``test_langchain.py``.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from target_bench.core import registry
from target_bench.core.schema import Generation, GenerationRequest, Message

pytest.importorskip("llama_index.core")

from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    CustomLLM,
    LLMMetadata,
)

from target_bench.generators.llama_index import LlamaIndex

pytestmark = pytest.mark.usefixtures("clients_of_others")


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
