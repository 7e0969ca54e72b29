"""The label in an answer: as a person reads it, or not at all, on about 1,500 answers."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.metrics.classification import LABELS, NOT_ENOUGH
from target_bench.metrics.labels import parse_label

FILE = Path(__file__).parent / "data" / "label_answers.jsonl"


@dataclass(frozen=True)
class Answer:
    """An answer as a language model writes it, and the label that a person gives it.

    Attributes:
        part: 1 if the rules were made with it; 2 to 9 were written afterwards, each held out until
            it had been read once. Part 8 provokes errors.
        kind: what is hard about it.
        label: None where a person cannot say which label is meant.
        text: the answer.
    """

    part: int
    kind: str
    label: str | None
    text: str


ANSWERS = [Answer(**json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("part", sorted({answer.part for answer in ANSWERS}))
def test_no_label_is_wrong(part: int) -> None:
    read = [(answer, parse_label(answer.text)) for answer in ANSWERS if answer.part == part]
    assert not [(a.text, label) for a, label in read if label is not None and label != a.label]


PLAIN = ("bare", "end", "json", "markdown", "reasoning", "start")
"""Kinds of answers as models give them when a prompt asks for a label; the others are traps."""


def test_most_plain_answers_are_read() -> None:
    plain = [a for a in ANSWERS if a.kind in PLAIN and a.label is not None]
    unread = [answer.text for answer in plain if parse_label(answer.text) is None]
    assert len(unread) <= 0.25 * len(plain), unread


@pytest.mark.parametrize(
    "text",
    [answer.text for answer in ANSWERS if answer.kind in ("bare", "start", "synonym", "negation")],
)
def test_reasoning_before_an_answer_changes_nothing(text: str) -> None:
    thoughts = "Is it true? It would be false if the year were 2010. So the answer is True. Wait."
    for answer in (f"<think>\n{thoughts}\n</think>\n\n{text}", f"{thoughts}</think>{text}"):
        assert parse_label(answer) == parse_label(text)
    assert parse_label(f"<think>{thoughts}{text}") is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("True. It is true because ...", "True"),
        ("not true", "False"),
        ('It is not "True".', "False"),
        ("It isn't **true**", "False"),
        ("Not sure - true", None),
        ("The tables do not show that the statement is true", None),
        ("It is not clear whether the claim is false", NOT_ENOUGH),
        ("The year is not in the table so it is false", "False"),
        ("This isn’t false", "True"),
        ("not (true)", "False"),
        ("non-true", None),
        ("The claim isn't supported so it is False", "False"),
        ("The claim isn't supported by the table.", None),
        ("Because he did not win the race, the statement is false", "False"),
        ("The value is not 5. True", "True"),
        ("falsehood", None),
        ("Not Enough\nInformation", NOT_ENOUGH),
        ("Answer (True / False / Not Enough Information): False", "False"),
        ("It says they won. That is correct. It says by 10. The table shows 12.", None),
        ("This is false. The table shows 12.", "False"),
        ("Yes, the table does not support the claim.", None),
        ("Yes, the team did not win.", "True"),
        ("Yes, there is an error in the statement.", None),
        ("No, there is no error in the statement.", None),
        ("Correct! The statement does not match the table.", None),
        ("False. The statement does not match the table.", "False"),
        ('{"verdict": "not refuted"}', None),
        ("True. Correction: False.", None),
        ("That is right: the statement is wrong.", None),
        ("The statement is supported by the table: False", None),
        ("The claim is confirmed as wrong by row 3", None),
        ("We cannot determine the date, but the order shows the claim is true.", None),
        ("There is nothing that makes this false.", None),
        ("The table hardly supports the claim.", None),
        ("The table directly contradicts the claim.", "False"),
        ("False: no", None),
        ("The statement is false: no", None),
        ("True. They led in the first half.", "True"),
        ("This is true. For the second part, the table shows 5, not 4.", None),
        ("I see no discrepancies or errors. So the claim is true.", "True"),
        ("-1", None),
        ("NOT_ENOUGH_INFORMATION.", NOT_ENOUGH),
        ("I think true. <final_answer>False</final_answer>", "False"),
    ],
)
def test_strict_reading(text: str, label: str | None) -> None:
    assert parse_label(text) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"label": "True", "evidence": {"row": 1}}', "True"),
        ('{"label": "False", "analysis": {"correct": true}}', "False"),
        ('{"label": "False", "rows": [{"year": 1990, "status": "correct"}]}', "False"),
        ('{"verdict": "True", "steps": [{"result": "false"}]}', "True"),
        ('{"is_true": false, "evidence": [{"label": "True"}]}', "False"),
        ('{"label": ["False"]}', "False"),
        ('{"label": "see below", "is_true": false}', "False"),
        ('{"label": "it might be true", "analysis": {"correct": true}}', None),
        *((f'{{"{key}": true}}', "False") for key in ("contradicts", "refutes", "is_wrong")),
        *((f'{{"{key}": false}}', "True") for key in ("contradiction", "disproved", "wrong")),
        # in a wrapper
        ('{"output": {"label": "False", "reason": {"row": 3}}}', "False"),
        ('{"status": "success", "result": {"verdict": "False"}}', "False"),
        ('{"status": "ok", "data": {"label": "False"}}', "False"),
        ('{"label": null, "details": {"verdict": "False"}}', "False"),
        ('{"output": "The table shows 3", "answer": {"label": "False"}}', "False"),
        ('{"result": {"label": "False"}, "correct": true}', "False"),
        ('[{"label": "True"}, {"label": "False"}]', None),
        ('[{"label": "True"}, {"label": "see above"}]', "True"),
        # no JSON, or cut off
        ("{'label': 'False', 'analysis': {'correct': True}}", "False"),
        ("{'verdict': 'False', 'parts': [{'label': 'True'}]}", "False"),
        ('{"verdict": "False", "parts": [{"label": "True"},]}', "False"),
        ("{verdict: False, parts: [{label: True}]}", "False"),
        ('{{"label": "True", "evidence": {"label": "False"}}}', "True"),
        ('{"label": "True", "evidence": {"row": 1', "True"),
        ('{"verdict": "False", "checks": {"correct": true}, "reason": "the tab', "False"),
        ('{"verdict": "False", "parts": [{"label": "True"}]', "False"),
        ('```json\n{"verdict": "Fal', None),
        # with prose
        ('The set {a: {1}} holds. {"label": "False"}', "False"),
        ('{"answer": "see below"}\nVerdict: True', None),
        ('{"row": 3, "value": 4}\n\nConclusion: the claim is false.', "False"),
        ('{"rows": [1, 2]}\nFalse: the revenue was 5.', "False"),
        ('{"rows": [3]}\nVerdict: the table says 5, so the claim is false.', "False"),
        ('{"reason": "The table says \\"label: True\\" in row 1"}\nFalse.', "False"),
    ],
)
def test_json(text: str, label: str | None) -> None:
    """Also where it is broken: what is deeper may be said of a part of the evidence."""
    assert parse_label(text) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("not true", "True"),
        ("falsehood", "False"),
        ("yes", NOT_ENOUGH),
        ("<think>true</think>False", "True"),
        ("hardly true", "True"),
        ('{"label": "False"}', "False"),
    ],
)
def test_reading_as_the_original_does(text: str, label: str) -> None:
    """With any content: that is the original's rule."""
    assert parse_label(text, "target") == label


_PIECES = st.sampled_from(
    ["the statement", "the claim", "it", "this", "that", "is", "isn't", "not", "hardly", "only",
     "half", "true", "false", "correct", "wrong", "supported", "if", "would be", "but", "because",
     "however,", "Answer:", "Final answer:", "**", "\n", ". ", ", ", "?", '"', "'", "{", "}", ":",
     '{"label":', "<think>", "</think>", "\\boxed{", "cannot be", "determined", "whether", "which",
     "the table", "does not", "contradicts", "supports", "neither", "nor", "so", "1.", "|", "yes",
     "no", "call", "the claim that", "makes", "- ", "Statement:", "not enough information"]
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(_PIECES | st.text(max_size=4), max_size=60))
def test_any_answer_is_read_or_not_and_never_raises(pieces: list[str]) -> None:
    text = " ".join(pieces)
    start = time.process_time()
    assert parse_label(text) in (*LABELS, None)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "piece",
    ["true ", "false, ", "the statement is ", "if ", "{", '{"label":', "'", '"', "(", "answer: ",
     "a\nclaim:\n", "this means this ", "- ", "nothing supports ", "without more ", "\n", "| ",
     "\\boxed{", "<answer>", "call this claim that ", "it is true that ", "not enough ",
     "true, ", "no, no, "],
)  # fmt: skip
def test_a_model_that_loops_is_read_at_once(piece: str) -> None:
    """Of a million characters the first and the last are read."""
    start = time.process_time()
    parse_label(piece * (1_000_000 // len(piece)))
    assert time.process_time() - start < 20
