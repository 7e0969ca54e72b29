"""How runs are named in Python: by folder, result, results, or a folder of runs."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import TARGET, ConfigError, StoreError, compare, evaluate, gate, load
from target_bench.harness.stages.score import score_rankings
from target_bench.reporting.compare import named_runs

TINY: dict[str, Any] = {"limit": 20, "top_k": 1}


def test_a_folder_of_runs_is_the_newest_of_each_system_on_the_last_questions(
    tmp_path: Path,
) -> None:
    (tmp_path / "retrieval-mini-test-bm25-0123456789ab").mkdir()
    with pytest.raises(StoreError, match="finished run"):
        named_runs([tmp_path], "runs")
    evaluate("bm25", "mini", out=tmp_path, limit=30)
    results = evaluate(["bm25", "tfidf"], "mini", out=tmp_path, **TINY)
    assert named_runs(str(tmp_path), "runs") == [result.folder for result in results]
    evaluate("bm25", "mini", out=tmp_path, **TINY)  # reused: worked on last
    assert named_runs(tmp_path, "runs") == [results[1].folder, results[0].folder]
    assert compare(results).rows == compare([*results]).rows
    assert compare(str(tmp_path)).baseline == "tfidf"


def test_wrong_values_are_named(tmp_path: Path) -> None:
    both = evaluate(["bm25", "tfidf"], "mini", out=tmp_path, **TINY)
    wrong: list[tuple[Any, str]] = [
        (lambda: compare("tutorial"), "tutorial: neither a run folder"),
        (lambda: compare(both[0]), "two runs at least; named: "),
        (lambda: compare(3), "3 names no run"),  # type: ignore[arg-type]
        (lambda: compare(both, baseline=both), "name one run, not 2"),
        (lambda: gate("b.json", both), "run: name one run, not 2"),
        (lambda: load(3), "3 is no corpus"),  # type: ignore[arg-type]
        (lambda: evaluate("bm25", 3), "3 is no corpus"),  # type: ignore[arg-type]
        (lambda: evaluate("bm25", "mini", observer=3), "observer=3"),  # type: ignore[arg-type]
        (lambda: score_rankings("mini", {}), "expected a Dataset"),  # type: ignore[arg-type]
    ]
    for call, message in wrong:
        with pytest.raises(ConfigError, match=message):
            call()


def test_a_gate_takes_the_results_of_one_run(tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    bm25, random = target.run("bm25", limit=60), target.run("random", limit=60)
    assert gate(bm25, random).failed
    assert not gate(bm25, bm25[0]).failed
