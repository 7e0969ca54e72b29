"""Estimates of the tokens of a request, without any model's tokeniser."""

from collections.abc import Iterable

from target_bench.core.schema import Message

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for text in English; text in other scripts has more tokens."""


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return an estimate of tokens, for limits and cost; the provider's count may differ."""
    return sum(tokens_in(message.content) for message in messages)


def tokens_in(text: str) -> int:
    """Return an estimate of the tokens of one text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
