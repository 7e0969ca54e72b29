"""Verifying takes no longer than it says, whatever the answers are."""

from pathlib import Path
from time import monotonic, sleep

import pytest

from target_bench.core.errors import ConfigError
from target_bench.reporting.leaderboard.documents import LONGEST_ANSWER
from target_bench.reporting.leaderboard.verify import Verification, verify
from target_bench.tasks.text_to_sql import TextToSQL
from tests.builders import Recorder
from tests.cli.inside import Inside
from tests.reporting.leaderboard.forging import Files, packed, run_of, with_lines
from tests.sql.hostile import ANSWERS, COLLIDING, JOINS

pytestmark = pytest.mark.slow

LATE = 240.0
SHORT = [text for text in ANSWERS.values() if len(text) <= LONGEST_ANSWER][:20]


def _with_answers(files: Files, texts: list[str]) -> Files:
    """The first answers in SQL replaced, or all if there is one text."""
    name = f"{run_of(files, 'text_to_sql')}/generations.jsonl"
    if len(texts) == 1:
        return with_lines(files, name, lambda all_: [line | {"text": texts[0]} for line in all_])
    return with_lines(
        files,
        name,
        lambda lines: [
            line | {"text": texts[i]} if i < len(texts) else line for i, line in enumerate(lines)
        ],
    )


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements have a second, so that many hostile ones can be tried."""
    made = TextToSQL.__init__

    def with_a_second(self: TextToSQL, *args: object, **settings: object) -> None:
        made(self, *args, **{**settings, "timeout": 1.0})  # type: ignore[arg-type]

    with_a_second.__wrapped__ = made  # type: ignore[attr-defined]  # its signature is asked for
    monkeypatch.setattr(TextToSQL, "__init__", with_a_second)


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    "texts",
    [[JOINS], [COLLIDING["minus one and two"]], SHORT],
    ids=["joins", "collisions", "many"],
)
def test_hostile_answers_are_judged_in_time(at: Path, everything: Files, texts: list[str]) -> None:
    start = monotonic()
    verification = verify(packed(at, _with_answers(everything, texts)), observer=Recorder())
    assert monotonic() - start < LATE
    assert verification.entry is not None
    assert {finding.check for finding in verification.findings} <= {"scores", "original"}


def test_what_takes_longer_is_rejected(at: Path, everything: Files) -> None:
    """Each of these takes 30 seconds; all are stopped after three."""
    texts = [f"{JOINS} -- {i}" for i in range(12)]
    start = monotonic()
    verification = verify(
        packed(at, _with_answers(everything, texts)), observer=Recorder(), minutes=0.05
    )
    assert monotonic() - start < 60
    assert _only(verification) == ("readable", "rejected")
    assert verification.entry is None
    assert "0.05 minutes" in verification.findings[0].message
    assert "--minutes" in verification.findings[0].message


@pytest.mark.parametrize(
    ("task", "read"),
    [
        ("fact_verification", "target_bench.tasks.fact_verification.parse_label"),
        ("question_answering", "target_bench.tasks.question_answering.without_reasoning"),
    ],
)
def test_answers_that_take_long_to_read_are_rejected(
    at: Path, everything: Files, monkeypatch: pytest.MonkeyPatch, task: str, read: str
) -> None:
    """The rest is not read: every answer takes longer than there is."""
    calls: list[str] = []

    def slow(text: str, *_: object) -> str:
        calls.append(text)
        sleep(2)
        return "True"

    monkeypatch.setattr(read, slow)
    name = f"{run_of(everything, task)}/generations.jsonl"
    files = with_lines(
        everything,
        name,
        lambda lines: [line | {"text": f"answer {i}"} for i, line in enumerate(lines)],
    )
    verification = verify(packed(at, files), observer=Recorder(), minutes=0.075)
    assert _only(verification) == ("readable", "rejected")
    assert 1 <= len(calls) <= 3


def _only(verification: Verification) -> tuple[str, str]:
    (finding,) = verification.findings
    return finding.check, finding.level


@pytest.mark.parametrize("minutes", [0.0, -1.0, float("inf"), float("nan")])
def test_no_time(packed_retrieval: Path, minutes: float) -> None:
    with pytest.raises(ConfigError, match="--minutes"):
        verify(packed_retrieval, minutes=minutes)


def test_the_budget_is_stated_first(inside: Inside, packed_retrieval: Path) -> None:
    said = inside("leaderboard", "verify", packed_retrieval, "--minutes", "7")
    assert said.code == 0
    first = said.err.splitlines()[0]
    assert "verifying it takes at most 7 minutes (--minutes)" in first
    assert "SQL" not in first
    assert "at most 7 minutes" not in said.out
