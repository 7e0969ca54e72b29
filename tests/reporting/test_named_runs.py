"""How runs are named in Python: by folder, result, results, or a folder of runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench import ConfigError, compare, evaluate, gate, load
from target_bench.corpora.mini.loader import Mini
from target_bench.harness.score import score_rankings
from target_bench.reporting.compare import find_runs
from tests.target import TARGET

TINY: dict[str, Any] = {"limit": 20, "top_k": 1}


def test_labels_are_runs_of_the_newest_data_that_has_them_all(tmp_path: Path) -> None:
    on_all = evaluate(["bm25", "tfidf"], "mini", out=tmp_path, top_k=1)
    again = evaluate(["bm25", "lsa"], "mini", out=tmp_path, **TINY)
    folders, (note,) = find_runs(["bm25", "tfidf"], tmp_path)
    assert folders == [result.folder for result in on_all]
    assert note.startswith("Left out: 2 runs with limit 20. To choose runs, name them")
    assert find_runs(["lsa", "bm25"], tmp_path)[0] == [again[1].folder, again[0].folder]
    assert find_runs("tfidf", tmp_path) == ([on_all[1].folder], [])
    for name, folder in (("lsa", again[1].folder), ("tfidf", on_all[1].folder)):
        assert gate("bm25", name, out=tmp_path).run == folder
    with pytest.raises(ConfigError, match=r"lssa: neither .*\. Did you mean lsa\?"):
        find_runs(["bm25", "lssa"], tmp_path)


def test_the_baseline_of_a_folder_is_told(tmp_path: Path) -> None:
    evaluate(["oracle", "tfidf", "lsa"], "mini", out=tmp_path, **TINY)
    assert compare(tmp_path).baseline == "tfidf"
    evaluate("bm25", "mini", out=tmp_path, **TINY)
    comparison = compare(str(tmp_path))
    assert comparison.baseline == "bm25"
    assert any("baseline of a folder is bm25" in note for note in comparison.notes)
    assert compare(["lsa", "bm25"], out=tmp_path).baseline == "lsa"
    evaluate("bm25", "mini", out=tmp_path, limit=3)
    assert compare(["lsa", "bm25"], baseline="bm25", out=tmp_path).baseline == "bm25"
    with pytest.raises(ConfigError, match=r"needs two runs .* Left out: 4 runs with limit 20"):
        compare(tmp_path)


def test_the_baseline_is_of_the_folder_that_is_compared(tmp_path: Path) -> None:
    for folder in ("runs", "other"):
        evaluate(["bm25", "tfidf"], "mini", out=tmp_path / folder, **TINY)
    comparison = compare(tmp_path / "other", baseline="tfidf", out=tmp_path / "runs")
    assert (comparison.baseline, set(comparison.runs)) == ("tfidf", {"bm25", "tfidf"})
    assert {folder.parent.name for folder in comparison.runs.values()} == {"other"}
    with pytest.raises(ConfigError, match="are for files of values, not for runs"):
        compare(tmp_path / "other", id_column="id", value_column="score")


def test_a_gate_takes_the_results_of_one_run(tmp_path: Path) -> None:
    target = TARGET(("retrieval", "mini"), out=tmp_path)
    bm25, random = target.run("bm25", limit=60), target.run("random", limit=60)
    assert gate(bm25, random).failed
    assert not gate(bm25, bm25[0]).failed
    both: Any = [bm25[0], random[0]]
    for call, message in (
        (lambda: compare(bm25[0]), "two runs at least; named: "),
        (lambda: compare(both, baseline=both), "name one run, not 2"),
        (lambda: gate("b.json", both), "2 runs are named in place of 1: "),
    ):
        with pytest.raises(ConfigError, match=message):
            call()


WRONG: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = [
    (compare, ("tutorial",), {}, "tutorial: neither a run folder"),
    (compare, (3,), {}, "3 names no run"),
    (load, (3,), {}, "3 is no corpus"),
    (evaluate, ("bm25", 3), {}, "3 is no corpus"),
    (evaluate, ("bm25", None), {}, "corpus=None"),
    (evaluate, ("bm25", ["mini", Mini]), {}, r"Mini.*my_corpus\.py:Mine"),
    (evaluate, ("bm25", "mini"), {"task": object}, r"object'> is not a task.*'qa'"),
    (evaluate, ("bm25", "mini"), {"by": 3}, "by=3: expected text"),
    (evaluate, ("bm25", "mini"), {"name": 3}, "name=3: expected text"),
    (evaluate, ("bm25", "mini"), {"observer": 3}, "observer=3"),
    (score_rankings, ("mini", {}), {}, "expected a Dataset"),
]


@pytest.mark.parametrize(("function", "arguments", "options", "message"), WRONG)
def test_wrong_values_are_named(
    function: Callable[..., Any], arguments: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        function(*arguments, **options)
