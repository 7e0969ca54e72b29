"""``list metrics``, ``describe metric`` and ``--by`` on the command line."""

import json
from pathlib import Path

from target_bench.metrics.scores import all_specs
from tests.cli.inside import Inside


def test_list(inside: Inside) -> None:
    out = inside.good("list", "metrics")
    for spec in all_specs():
        assert (f"{spec.name}@k" if spec.at_k else spec.name) in out
        assert spec.range in out
        assert all(word in out for word in spec.description.split())


def test_run_by(inside: Inside, tmp_path: Path) -> None:
    arguments = ("run", "mini", "--task", "qa", "--retriever", "random", "--limit", "30")
    done = inside(*arguments, "--by", "gold_tables", "--json", "--out", tmp_path)
    assert done.code == 0
    (result,) = json.loads(done.out)["results"]
    parts = result["by"]["gold_tables"]
    assert sum(part["sacrebleu"]["n"] for part in parts.values()) == 30
    assert parts.keys() == {"1", "2"}
