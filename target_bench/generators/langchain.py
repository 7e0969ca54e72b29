"""Models of LangChain, and anything else that is a ``Runnable`` there."""

import importlib.util
from typing import Any

from target_bench.core.errors import MissingExtraError
from target_bench.core.schema import GenerationRequest
from target_bench.models.cache import ModelReply
from target_bench.models.remote.remote_generator import ExternalModelGenerator, make_reply


class LangChain(ExternalModelGenerator):
    """Ask a chat model, or a chain that takes messages and returns a message or text.

    Needs: extra langchain; a model of yours.

    A failed answer has an ``error`` that begins with its kind, as ``rate_limit`` or ``timeout``, or
    else with ``raised``. Retries are left to the model (``max_retries``). It is called in threads;
    give ``concurrency=1`` for a model that is not thread-safe.

    Args:
        model: a ``BaseChatModel`` or another ``Runnable``; or ``module:name`` or
            ``path/file.py:name`` of one, or of a function or class that returns one when called
            without arguments.
        concurrency: how many requests are in flight at most.
        cache: whether answers are recorded, and recorded ones used.
    """

    packages = ("langchain-core",)

    def __init__(self, model: object, concurrency: int = 8, cache: bool = True) -> None:
        if importlib.util.find_spec("langchain_core") is None:
            raise MissingExtraError("langchain-core", "langchain", "the generator langchain")
        from langchain_core.runnables import Runnable

        super().__init__(model, concurrency, cache, Runnable)

    def _ask(self, request: GenerationRequest) -> ModelReply:
        from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

        classes: dict[str, type[BaseMessage]]
        classes = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
        reply = self._model.invoke([classes[m.role](content=m.content) for m in request.messages])
        if isinstance(reply, str):
            return make_reply(reply)
        if not isinstance(reply, BaseMessage):
            raise TypeError(f"it gave a {type(reply).__name__}, neither a message nor text")
        usage: Any = getattr(reply, "usage_metadata", None) or {}
        metadata = reply.response_metadata
        return make_reply(
            _text(reply.content),
            metadata.get("finish_reason") or metadata.get("stop_reason"),
            reply.additional_kwargs.get("refusal"),
            (usage.get("input_tokens"), usage.get("output_tokens")),
        )


def _text(content: Any) -> str:
    """Return the text of a message, whose content may come in blocks."""
    if isinstance(content, str):
        return content
    blocks = [{"text": block} if isinstance(block, str) else block for block in content]
    return "".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
