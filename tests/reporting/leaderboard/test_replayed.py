"""A submission of answers that a model judged: its replies are read again, and it is not asked."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from target_bench import TARGET
from target_bench.core.built_in import BUILT_IN
from target_bench.core.task import PromptStyle
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.verify import Verification
from tests.builders import Record, Recorder, without
from tests.reporting.leaderboard import rated
from tests.reporting.leaderboard.conftest import card
from tests.reporting.leaderboard.forging import Files, files_of, verified, with_lines

JUDGEMENTS = "runs/0/judgements.jsonl"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prompt = tmp_path / "rated.yaml"
    system = {"system": "", "no_context_system": ""}
    users = {"user": "{{ tables }} {{ query }}", "no_context_user": "{{ query }}"}
    prompt.write_text(json.dumps({**system, **users}))
    monkeypatch.setattr(rated.Rated, "prompt", PromptStyle(prompt))
    monkeypatch.setattr(rated, "JUDGED", [])
    for kind, name, target in (("task", "rated", "Rated"), ("corpus", "sentences", "Sentences")):
        monkeypatch.setitem(BUILT_IN[kind], name, f"{rated.__name__}:{target}")  # type: ignore[index]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    target = TARGET(("rated", "sentences"), out=tmp_path / "runs", observer=Recorder())
    (result,) = target.run(generator=rated.Echo())
    assert rated.JUDGED == ["I say a", "I say b"]
    return files_of(pack([result.folder], card(corpus="sentences"), tmp_path / "a.tbs.zip"))


def _verified(path: Path, files: Files) -> Verification:
    rated.JUDGED.clear()
    verification = verified(path, files)
    assert rated.JUDGED == []
    return verification


def test_replies_travel_and_no_model_is_asked(at: Path, files: Files) -> None:
    lines = [json.loads(line) for line in files[JUDGEMENTS].splitlines()]
    replies = [(line["query_id"], line["rating"], line["reply"]) for line in lines]
    assert replies == [("a", 0.75, "Good!"), ("b", 0.75, "Good!")]
    verification = _verified(at, files)
    assert verification.verdict == "accepted", verification.findings
    assert verification.entry is not None
    (run,) = verification.entry.runs
    assert (run.scores["rating"].value, run.retriever, run.cutoffs) == (0.75, None, [])


UNJUDGED = "it is not asked again"
DAMAGED: dict[str, tuple[Callable[[list[Record]], list[Record]], str]] = {
    "fewer": (lambda lines: lines[:1], UNJUDGED),
    "none": (lambda _: [], UNJUDGED),
    "of another answer": (
        lambda lines: [line | {"fingerprint": "about something else"} for line in lines], UNJUDGED,
    ),
    "twice": (lambda lines: [*lines, lines[0]], "judges 'a' twice"),
    "no query": (lambda lines: [without(line, "query_id") for line in lines], "query_id"),
    "a number": (lambda lines: [line | {"query_id": 1} for line in lines], "query_id"),
    "long": (lambda lines: [line | {"fingerprint": "x" * 501} for line in lines], "fingerprint"),
    "no record": (lambda _: [[]], "line 1"),  # type: ignore[list-item]
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_judgements(at: Path, files: Files, name: str) -> None:
    change, message = DAMAGED[name]
    (finding,) = _verified(at, with_lines(files, JUDGEMENTS, change)).findings
    assert (finding.check, finding.level) == ("readable", "rejected")
    assert message in finding.message


def test_no_judgements_at_all(at: Path, files: Files) -> None:
    (finding,) = _verified(at, without(files, JUDGEMENTS)).findings
    assert finding.check == "readable"


def test_a_missing_answer_counts_as_wrong(at: Path, files: Files) -> None:
    verification = _verified(at, with_lines(files, "runs/0/generations.jsonl", lambda x: x[:1]))
    assert verification.entry is not None
    assert verification.entry.runs[0].scores["rating"].value == 0.375
    assert "1 of 2 queries are missing" in str(verification.findings)


def test_sql_is_executed_again(everything: Files) -> None:
    """Judgements that can be repeated are not in a submission."""
    assert not any(name.endswith("judgements.jsonl") for name in everything)
