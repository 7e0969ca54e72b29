"""Models of LlamaIndex."""

import importlib.util
from typing import Any

from target_bench.core.errors import MissingExtraError
from target_bench.core.schema import GenerationRequest
from target_bench.models.cache import ModelReply
from target_bench.models.remote.remote_generator import ExternalModelGenerator, make_reply

_COUNTS = (
    ("prompt_tokens", "completion_tokens"),
    ("input_tokens", "output_tokens"),
    ("prompt_token_count", "candidates_token_count"),
    ("prompt_eval_count", "eval_count"),
)
"""Providers' names for the number of tokens of prompt and answer."""


class LlamaIndex(ExternalModelGenerator):
    """Ask an ``LLM`` of LlamaIndex through its method ``chat``.

    Needs: extra llama-index; a model of yours.

    A failed answer has an ``error`` that begins with its kind, as ``rate_limit`` or ``timeout``, or
    else with ``raised``. Retries are left to the model (``max_retries``). It is called in threads;
    give ``concurrency=1`` for a model that is not thread-safe.

    Args:
        model: an ``LLM``; or ``module:name`` or ``path/file.py:name`` of one, or of a function or
            class that returns one when called without arguments.
        concurrency: how many requests are in flight at most.
        cache: whether answers are recorded, and recorded ones used.
    """

    packages = ("llama-index-core",)

    def __init__(self, model: object, concurrency: int = 8, cache: bool = True) -> None:
        spec = importlib.util.find_spec
        if spec("llama_index") is None or spec("llama_index.core") is None:
            raise MissingExtraError("llama-index-core", "llama-index", "the generator llama-index")
        from llama_index.core.llms import LLM

        super().__init__(model, concurrency, cache, LLM)

    def _ask(self, request: GenerationRequest) -> ModelReply:
        from llama_index.core.llms import ChatMessage

        messages = [ChatMessage(role=m.role, content=m.content) for m in request.messages]
        response = self._model.chat(messages)
        choices = _field(response.raw, "choices") or [None]
        return make_reply(
            response.message.content,
            _field(choices[0], "finish_reason"),
            _field(_field(choices[0], "message"), "refusal"),
            _counts(response),
        )


def _counts(response: Any) -> tuple[Any, Any]:
    """Return the tokens of prompt and answer that the provider counted; each may be None."""
    raw = response.raw
    holders = (_field(raw, "usage"), _field(raw, "usage_metadata"), raw, response.additional_kwargs)
    for holder in holders:
        for names in _COUNTS:
            counts = _field(holder, names[0]), _field(holder, names[1])
            if any(isinstance(count, int) for count in counts):
                return counts
    return None, None


def _field(holder: Any, name: str) -> Any:
    """Return an item of a mapping, else an attribute, else None."""
    return holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
