"""Verifying takes no longer than it says, whatever the answers are."""

from pathlib import Path
from time import monotonic, sleep

import pytest

from target_bench.core.errors import ConfigError
from target_bench.reporting.leaderboard.archive import LONGEST_ANSWER, RefusedError
from target_bench.reporting.leaderboard.verify import verify
from target_bench.tasks.text_to_sql import TextToSQL
from tests.reporting.leaderboard.forging import Files, find, packed, with_lines
from tests.sql.hostile import ANSWERS, COLLIDING, JOINS

pytestmark = pytest.mark.slow

LATE = 240.0
SHORT = [text for text in ANSWERS.values() if len(text) <= LONGEST_ANSWER][:12]


def _with_answers(files: Files, task: str, texts: list[str]) -> Files:
    """The first answers replaced: 15 by the same if there is one text."""
    texts = texts * 15 if len(texts) == 1 else texts
    return with_lines(
        files,
        find(files, "generations.jsonl", task.replace("_", "-")),
        lambda lines: (
            [line | {"text": text} for line, text in zip(lines, texts, strict=False)]
            + lines[len(texts) :]
        ),
    )


@pytest.mark.parametrize(
    "texts",
    [[JOINS], [COLLIDING["minus one and two"]], SHORT],
    ids=["joins", "collisions", "many"],
)
def test_hostile_answers_are_judged_in_time(
    at: Path, everything: Files, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements have a second, so that many hostile ones can be tried."""
    made = TextToSQL.__init__

    def with_a_second(self: TextToSQL, *args: object, **settings: object) -> None:
        made(self, *args, **{**settings, "timeout": 1.0})  # type: ignore[arg-type]

    with_a_second.__wrapped__ = made  # type: ignore[attr-defined]  # its signature is asked for
    monkeypatch.setattr(TextToSQL, "__init__", with_a_second)
    start = monotonic()
    assert verify(packed(at, _with_answers(everything, "text_to_sql", texts))).notes == []
    assert monotonic() - start < LATE


def test_what_takes_longer_is_rejected(at: Path, everything: Files) -> None:
    """Each of these takes 30 seconds; all are stopped after three."""
    texts = [f"{JOINS} -- {i}" for i in range(12)]
    start = monotonic()
    with pytest.raises(RefusedError, match=r"in 0\.05 minutes.*--minutes"):
        verify(packed(at, _with_answers(everything, "text_to_sql", texts)), minutes=0.05)
    assert monotonic() - start < 60


@pytest.mark.parametrize(
    ("task", "reader"),
    [
        ("fact_verification", "target_bench.tasks.fact_verification.parse_label"),
        ("question_answering", "target_bench.models.answer_reading.without_reasoning"),
    ],
)
def test_answers_that_take_long_to_read_are_rejected(
    at: Path, everything: Files, monkeypatch: pytest.MonkeyPatch, task: str, reader: str
) -> None:
    """The rest is not read: every answer takes longer than there is."""
    calls: list[str] = []

    def slow(text: str, *_: object) -> str:
        calls.append(text)
        sleep(1)
        return "True"

    monkeypatch.setattr(reader, slow)
    texts = [f"answer {i}" for i in range(300)]
    with pytest.raises(RefusedError, match="--minutes"):
        verify(packed(at, _with_answers(everything, task, texts)), minutes=0.045)
    assert 1 <= len(calls) <= 3


@pytest.mark.parametrize("minutes", [0.0, -1.0, float("inf"), float("nan")])
def test_no_time(packed_retrieval: Path, minutes: float) -> None:
    with pytest.raises(ConfigError, match="--minutes"):
        verify(packed_retrieval, minutes=minutes)
