"""Files to train on, made of a split; they are a folder of the corpus struc-bench."""

import json
from pathlib import Path

import pytest

from target_bench import corpora
from target_bench.core.errors import ConfigError
from target_bench.models.instruction_tuning.instruction_building import RECORD, build
from tests.builders import Recorder
from tests.cli.inside import Inside

SAYING = '''
class Saying:
    """Describes HTML alone."""

    paid = {paid}

    def generate(self, request):
        kind = "written as HTML" in request.messages[-1].content
        return "Instruction: use tags" if kind else "no idea"
'''


def test_by_rules(tmp_path: Path) -> None:
    built = build("mini", tmp_path / "out", "validation", limit=10)
    assert sum(built.files.values()) == 10
    assert {"table_validation.json", "html_validation.json"} <= set(built.files)
    records = json.loads((tmp_path / "out" / "html_validation.json").read_text())
    assert all(set(record) == {"instruction", "input", "output"} for record in records)
    asked = {q.text: q for q in corpora.load("mini", "validation").queries}
    assert all(asked[r["input"]].references[0] == r["output"] for r in records)
    about = json.loads((tmp_path / "out" / RECORD).read_text())
    assert (about["corpus"], about["split"], about["generator"]) == ("mini", "validation", None)
    assert [one["written_by"] for one in about["records"]] == ["rules"] * 10


def test_the_files_are_a_corpus(tmp_path: Path) -> None:
    build("mini", tmp_path / "out", "test")
    found = corpora.load("struc-bench", "test", data_dir=tmp_path / "out")
    assert {q.metadata["format"] for q in found.queries} == {"text", "html", "latex"}
    assert all(q.metadata["instruction"].startswith("Write ") for q in found.queries)


def test_by_a_generator_from_the_command_line(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "saying.py").write_text(SAYING.format(paid=False))
    done = inside(
        *("train", "instructions", "mini", "--split", "validation", "-o", "out"),
        *("--generator", "saying.py:Saying"),
    )
    assert done.code == 0
    records = json.loads((tmp_path / "out" / "html_validation.json").read_text())
    assert {record["instruction"] for record in records} == {"use tags"}
    n_other = 10 - len(records)
    assert f"10 records, {len(records)} instructions by the generator" in done.out
    assert f"({n_other} no_instruction): rules wrote those" in done.err
    about = json.loads((tmp_path / "out" / RECORD).read_text())
    assert about["generator"]["class"].endswith("Saying")
    assert {one["reply"] for one in about["records"]} == {"no idea", "Instruction: use tags"}


def test_what_costs_money_is_asked_for(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "saying.py").write_text(SAYING.format(paid=True))
    command = ("train", "instructions", "mini", "--split", "validation", "-o", "out", "--limit", 2)
    refused = inside(*command, "--generator", "saying.py:Saying")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert not (tmp_path / "out").exists()
    agreed = inside(*command, "--generator", "saying.py:Saying", "--yes")
    assert agreed.code == 0
    assert "2 requests" in agreed.err


def test_a_corpus_without_such_queries(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "t.csv").write_text("a\n1\n")
    line = {"query_id": "q", "query": "?", "table_id": "t", "split": "test", "task": "qa"}
    (folder / "queries.jsonl").write_text(json.dumps(line))
    with pytest.raises(ConfigError, match="about the task"):
        build(folder, tmp_path / "out", "test", observer=Recorder())
    assert not (tmp_path / "out").exists()
