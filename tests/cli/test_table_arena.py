"""``target-bench tables perturb`` and ``tables arena``."""

import json
from pathlib import Path

import pytest

from target_bench.components.perturbations.drawing import read
from tests.cli.inside import Inside


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_set_is_drawn_and_metrics_are_tested_on_it(inside: Inside) -> None:
    printed = inside.good("tables", "perturb", "mini", "--n", "30", "--seed", "2", "-o", "p.jsonl")
    assert "p.jsonl: 30 tables" in printed
    assert len(read(Path("p.jsonl"))) == 30
    Path("own.py").write_text("def same(reference, answer):\n    return reference == answer\n")
    asked = ("tables", "arena", "--perturbations", "p.jsonl", "--metric", "own.py:same")
    found = json.loads(inside.good(*asked, "-o", "arena.html", "--json"))
    assert (found["sets"], found["perturbations"]) == (30, 30)
    assert {"same", "equal", "teds"} <= set(found["metrics"])
    assert "TabXEval" in Path("arena.html").read_text(encoding="utf-8")
    assert "arena.json: " in inside.good(*asked, "-o", "arena.json")
    inside.good("run", "mini", "--task", "text-to-table", "--generator", "gold", "--json")
    run = next(Path("runs").iterdir())
    assert "r.html" in inside.good("report", run, "-o", "r.html", "--arena", "arena.json")
    assert "own.py" not in Path("r.html").read_text(encoding="utf-8")
    assert 'id="arena-1-board"' in Path("r.html").read_text(encoding="utf-8")
    assert "not the figures of an arena" in inside.bad(2, "report", run, "--arena", "p.jsonl")


def test_one_change(inside: Inside) -> None:
    inside.good("tables", "perturb", "mini", "--n", "6", "--change", "typo")
    assert {one.change for one in read(Path("perturbed.jsonl"))} == {"typo"}


def test_what_is_refused(inside: Inside) -> None:
    assert "unknown change 'typos'" in inside.bad(
        2, "tables", "perturb", "mini", "--change", "typos"
    )
    Path("own").mkdir()
    Path("own/one.csv").write_text("a,b\n1,2\n")
    Path("own/queries.jsonl").write_text('{"query_id": "1", "query": "?", "table_id": "one"}')
    message = inside.bad(2, "tables", "arena", "--corpus", "./own")
    assert "own has no tables ranked by people; mini and tabxbench have" in message
