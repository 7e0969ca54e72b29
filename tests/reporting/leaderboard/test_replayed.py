"""A submission of answers that a model judged: its replies are read again, and it is not asked."""

import json
from pathlib import Path

import pytest

from target_bench import TARGET
from target_bench.core.built_in import BUILT_IN
from target_bench.core.task import PromptStyle
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.verify import Verification, verify
from tests.builders import Record, Recorder, without
from tests.reporting.leaderboard import rated
from tests.reporting.leaderboard.conftest import card
from tests.reporting.leaderboard.forging import Files, files_of, packed, with_lines

JUDGEMENTS = "runs/0/judgements.jsonl"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prompt = tmp_path / "rated.yaml"
    system = {"system": "", "no_context_system": ""}
    users = {"user": "{{ tables }} {{ query }}", "no_context_user": "{{ query }}"}
    prompt.write_text(json.dumps({**system, **users}))
    monkeypatch.setattr(rated.Rated, "prompt", PromptStyle(prompt))
    monkeypatch.setattr(rated, "ASKED", [])
    for kind, name, target in (("task", "rated", "Rated"), ("corpus", "sentences", "Sentences")):
        monkeypatch.setitem(BUILT_IN[kind], name, f"{rated.__name__}:{target}")  # type: ignore[index]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    target = TARGET(("rated", "sentences"), out=tmp_path / "runs", observer=Recorder())
    (result,) = target.run(generator=rated.Says())
    assert rated.ASKED == ["I say a", "I say b"]
    judged = card().model_copy(update={"training_data": {"sentences": "no"}})
    return files_of(pack([result.folder], judged, tmp_path / "a.tbs.zip"))


def _verified(tmp_path: Path, files: Files) -> Verification:
    rated.ASKED.clear()
    found = verify(packed(tmp_path / "b.tbs.zip", files), observer=Recorder())
    assert rated.ASKED == []
    return found


def test_replies_travel_and_no_model_is_asked(tmp_path: Path, files: Files) -> None:
    lines = [json.loads(line) for line in files[JUDGEMENTS].splitlines()]
    assert [(line["query_id"], line["rating"], line["reply"]) for line in lines] == [
        ("a", 0.75, "Good!"),
        ("b", 0.75, "Good!"),
    ]
    found = _verified(tmp_path, files)
    assert found.verdict == "accepted", found.findings
    assert found.entry is not None
    (run,) = found.entry.runs
    assert (run.scores["rating"].value, run.retriever, run.cutoffs) == (0.75, None, [])


def _of_another_answer(lines: list[Record]) -> list[Record]:
    return [line | {"fingerprint": "about something else"} for line in lines]


@pytest.mark.parametrize("change", [lambda lines: lines[:1], lambda _: [], _of_another_answer])
def test_an_answer_without_its_judgement(tmp_path: Path, files: Files, change: object) -> None:
    forged = with_lines(files, JUDGEMENTS, change)  # type: ignore[arg-type]
    (finding,) = _verified(tmp_path, forged).findings
    assert (finding.check, finding.level) == ("readable", "rejected")
    assert "it is not asked again" in finding.message


def test_no_judgements_at_all(tmp_path: Path, files: Files) -> None:
    (finding,) = _verified(tmp_path, without(files, JUDGEMENTS)).findings
    assert finding.check == "readable"


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [*lines, lines[0]],
        lambda lines: [without(line, "query_id") for line in lines],
        lambda lines: [line | {"query_id": 1} for line in lines],
        lambda lines: [line | {"fingerprint": "x" * 501} for line in lines],
        lambda _: [[]],
    ],
)
def test_damaged_judgements(tmp_path: Path, files: Files, change: object) -> None:
    forged = with_lines(files, JUDGEMENTS, change)  # type: ignore[arg-type]
    (finding,) = _verified(tmp_path, forged).findings
    assert (finding.check, finding.level) == ("readable", "rejected")


def test_a_missing_answer_counts_as_wrong(tmp_path: Path, files: Files) -> None:
    fewer = with_lines(files, "runs/0/generations.jsonl", lambda lines: lines[:1])
    found = _verified(tmp_path, fewer)
    assert found.entry is not None
    assert found.entry.runs[0].scores["rating"].value == 0.375
    assert "1 of 2 queries are missing" in str(found.findings)


def test_sql_is_executed_again(everything: Files) -> None:
    """Judgements that can be repeated are not in a submission."""
    assert not any(name.endswith("judgements.jsonl") for name in everything)
