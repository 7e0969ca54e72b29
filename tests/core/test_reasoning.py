"""Reasoning blocks: which there are, what is left of an answer, and how long that takes."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.reasoning import without_reasoning

_HARMONY = (
    "<|channel|>analysis<|message|>It may be Oslo.<|end|><|start|>assistant"
    "<|channel|>final<|message|>Paris<|return|>"
)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris", "Paris"),
        (" Paris\n", " Paris\n"),
        ("<think>Oslo?</think>Paris", "Paris"),
        ("<think>\n\n</think>\n\nParis\n", "Paris"),
        ("<THINK>Oslo</Think> Paris", "Paris"),
        ('<think time="3 s">Oslo</think>Paris', "Paris"),
        *(
            (f"<{tag}>Oslo</{tag}>Paris", "Paris")
            for tag in ("thinking", "thought", "reasoning", "scratchpad", "seed:think")
        ),
        ("[THINK]Oslo[/THINK]Paris", "Paris"),
        ("◁think▷Oslo◁/think▷Paris", "Paris"),
        ("<|START_THINKING|>Oslo<|END_THINKING|>Paris", "Paris"),
        ("<|begin_of_thought|>Oslo<|end_of_thought|>Paris", "Paris"),
        (
            "<|START_THINKING|>Oslo<|END_THINKING|><|START_RESPONSE|>Paris<|END_RESPONSE|>",
            "Paris",
        ),
        ("<|START_RESPONSE|>\nParis<|END_RESPONSE|>", "Paris"),
        (
            "<|begin_of_thought|>Oslo<|end_of_thought|>\n\n"
            "<|begin_of_solution|>\n\nParis\n\n<|end_of_solution|>",
            "Paris",
        ),
        ("<think>a</think>Paris <think>b</think>or so", "Paris\nor so"),
        ("It may be Oslo.</think>Paris", "Paris"),
        ("<think>a<think>b</think>c</think>Paris", "Paris"),
        ("<think>I should use <think> tags.</think>Paris", "Paris"),
        ("<think>a</think>Oslo</think>Paris", "Paris"),
        ("<think>It may be Oslo or", ""),
        ("Paris<think>but wait", "Paris"),
        ("<think>Paris</think>", ""),
        (_HARMONY, "Paris"),
        (_HARMONY.removesuffix("<|return|>"), "Paris"),
        ("<|channel|>analysis<|message|>It may be Oslo", ""),
        ("<|channel|>final <|constrain|>json<|message|>{}<|end|>", "{}"),
        ("analysisIt may be Oslo.assistantfinalParis", "Paris"),
        ("analysis of Paris", "analysis of Paris"),
        ("I think <b>Paris</b>", "I think <b>Paris</b>"),
        ("a <thinker> b", "a <thinker> b"),
    ],
)
def test_what_is_left(text: str, answer: str) -> None:
    assert without_reasoning(text) == answer


_PIECES = st.sampled_from(
    ["<think>", "</think>", "[THINK]", "[/THINK]", "◁think▷", "<|channel|>final<|message|>",
     "<|channel|>analysis<|message|>", "<|end|>", "analysis", "assistantfinal", "<think ", "a"]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(_PIECES))
def test_any_mixture_of_tags_is_read(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert len(without_reasoning(text)) <= len(text)


@pytest.mark.parametrize(
    "piece",
    ["<think>", "</think>", "<think ", "<", "[THINK]", "◁think▷", "<|channel|>", "<|channel|>a ",
     "<|channel|>final<|message|>", "<|START_THINKING|>", "assistantfinal"],
)  # fmt: skip
def test_a_million_characters_take_no_longer_than_they_should(piece: str) -> None:
    """Linear: a quadratic reading would take minutes."""
    for text in (piece * (1_000_000 // len(piece)), f"{piece}{'a' * 1_000_000}"):
        start = time.process_time()
        without_reasoning(text)
        assert time.process_time() - start < 10
