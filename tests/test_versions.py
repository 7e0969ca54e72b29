"""Code that decides scores does not change without its version, and runs name the version."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET
from target_bench.runs.earlier_versions import newly_named
from tests import versions
from tests.versions import FAMILIES, RECORD, ROOMS

RECORDED: dict[str, dict[str, str]] = json.loads(RECORD.read_bytes())


@pytest.mark.parametrize("name", FAMILIES)
def test_code_and_version_are_those_recorded(name: str) -> None:
    fault = versions.problem(name, RECORDED[name])
    assert fault is None, fault


def test_no_other_families_are_recorded() -> None:
    assert RECORDED.keys() == FAMILIES.keys()


def test_code_that_changed_without_its_version() -> None:
    fault = versions.problem("judging", {"version": "judging:2", "code": "other"})
    assert fault is not None
    assert "its code changed, and its version (judging:2) did not" in fault
    assert "give sql.judging.VERSION a new version" in fault
    assert "python -m tests.versions" in fault


def test_version_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = replace(FAMILIES["judging"], version="judging:3")
    monkeypatch.setitem(FAMILIES, "judging", newer)
    fault = versions.problem("judging", RECORDED["judging"])
    assert fault is not None
    assert fault.startswith("judging: the version is judging:3, and versions.json says judging:2")


def test_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "RECORD", tmp_path / "versions.json")
    versions.main()
    assert json.loads((tmp_path / "versions.json").read_bytes()) == RECORDED


def test_every_module_that_scores_is_in_a_family() -> None:
    """But for what compares scores, names them, and samples for that; and what no run uses."""
    covered = {file for family in FAMILIES.values() for file in family.files}
    files = {file for room in ROOMS for file in room.rglob("*.py") if file.stem != "__init__"}
    assert {file.stem for file in files - covered} == {
        *("correlation", "significance", "sample_size"),
        *("baseline", "gold_check", "hardness"),
        *("tabxeval_alignment", "tabxeval_scores", "tabxeval_tuples"),
        *("rank_agreement", "grid_similarity", "relative_mapping", "tree_similarity"),
    }


@pytest.mark.parametrize(
    ("task", "generator", "named"),
    [
        ("retrieval", None, ["retrieval:1"]),
        ("question_answering", "empty", ["text:1"]),
        ("fact_verification", "empty", ["classification:1"]),
        ("text_to_sql", "empty", ["sql:1", "judging:2"]),
    ],
)
def test_runs_name_the_versions(
    tmp_path: Path, task: str, generator: str | None, named: list[str]
) -> None:
    more: dict[str, Any] = {"generator": generator} if generator else {}
    result = TARGET((task, "mini"), out=tmp_path).run("random", limit=3, **more)[0]
    identity = json.loads((result.folder / "manifest.json").read_bytes())["identity"]
    assert set(named) <= set(identity["metrics"])


def test_metrics_that_a_run_was_not_scored_with() -> None:
    """A run of version 0.1.0 names no versions of rules, which were the first then."""
    assert newly_named(["a|b", "text:1"], ["a|b"]) == []
    assert newly_named(["a|c", "text:2", "sql:1"], ["a|b", "sql:1"]) == ["a|c", "text:2"]
    assert newly_named(["text:1"], ["text:2"]) == ["text:1"]
    assert newly_named(["repeats:1"], ["repeats:5"]) == ["repeats:1"]
