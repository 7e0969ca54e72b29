"""Messages as a causal language model reads them: with a chat template, or as plain text."""

from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core.schema import Message
from target_bench.models.local_models import replace_surrogates


def token_ids(
    tokenizer: Any, messages: Sequence[Message], template: Mapping[str, Any] | None = None
) -> list[int]:
    """Return the tokens of a prompt.

    Without a chat template the messages stand with an empty line between them. A model whose
    template knows no system messages gets them at the beginning of the user's.

    Args:
        tokenizer: of Transformers.
        messages: the prompt.
        template: further variables of the chat template.
    """
    has_template = tokenizer.chat_template is not None
    text = (
        _write_chat(tokenizer, messages, template or {}) if has_template else _write_plain(messages)
    )
    text = replace_surrogates(text)
    encoding = tokenizer(text, add_special_tokens=not has_template, truncation=False)
    ids: list[int] = encoding["input_ids"]
    return ids


def _write_chat(tokenizer: Any, messages: Sequence[Message], template: Mapping[str, Any]) -> str:
    from jinja2 import TemplateError

    def apply_template(messages: Sequence[Message]) -> str:
        turns = [{"role": m.role, "content": m.content} for m in messages]
        text: str = tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, tokenize=False, **template
        )
        return text

    try:
        return apply_template(messages)
    except TemplateError:
        if len(messages) < 2 or messages[0].role != "system":
            raise
        first, second, *others = messages  # a model that knows no system messages
        both = Message(second.role, f"{first.content}\n\n{second.content}")
        return apply_template([both, *others])


def _write_plain(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.content for message in messages)
