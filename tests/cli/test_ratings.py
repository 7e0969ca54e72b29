"""``target-bench ratings``."""

import json
from pathlib import Path

from target_bench.runs.result import read_run
from tests.cli.inside import Inside


def _run(inside: Inside) -> Path:
    inside.good("run", "mini", "--task", "table-to-text", "--generator", "template", "--json")
    (folder,) = Path("runs").iterdir()
    return folder


def test_a_form_and_what_comes_back(inside: Inside) -> None:
    folder = _run(inside)
    printed = inside.good("ratings", "form", folder, "-o", "f.html", "--sample", "3")
    assert printed.startswith("f.html: 0.")
    run = read_run(folder)
    record = {
        "format": "target-bench ratings",
        "version": 1,
        "criteria": "totto",
        "run": run.identity.key,
        "rater": "a",
        "ratings": {name: {"fluency": i % 3} for i, name in enumerate(run.query_ids)},
    }
    Path("a.json").write_text(json.dumps(record))
    printed = inside.good("ratings", "read", folder, "a.json")
    assert "30 answers rated by 1" in printed
    assert "fluency: mean 1.00" in printed
    assert "coverage[cells]" in printed
    found = json.loads(inside.good("ratings", "read", folder, "a.json", "--json"))
    assert {one["beside"] for one in found["metrics"]} == set(run.scores)


def test_a_file_that_is_none(inside: Inside) -> None:
    folder = _run(inside)
    Path("a.json").write_text("{}")
    done = inside("ratings", "read", folder, "a.json")
    assert done.code == 2
    assert "a.json: format: expected 'target-bench ratings', found None" in done.err
