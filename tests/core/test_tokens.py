"""The estimate of tokens."""

from target_bench.core.prompt_writer import estimated_tokens, tokens_in
from target_bench.core.schema import Message


def test_tokens_are_estimated_from_characters() -> None:
    assert [tokens_in("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert estimated_tokens([Message("user", "x" * 5), Message("user", "x")]) == 3
