"""The runs of a report against the best of them."""

from pathlib import Path

import pytest

from target_bench.core.observer import Observer
from target_bench.reporting.report.report_runs import open_runs
from target_bench.reporting.report.run_differences import Differences, differences
from target_bench.reporting.report.summary import main_metrics
from tests.reporting.report.written import ranked


def _of(folders: list[Path]) -> list[Differences]:
    runs, _ = open_runs(folders, None, Observer())
    try:
        return differences(runs, main_metrics(runs)[0])
    finally:
        for run in runs:
            run.close()


def test_the_best_run_is_told_from_some(mini_runs: list[Path], tmp_path: Path) -> None:
    """A setting that changes little is not; the upper bound is no run to be compared with."""
    (close,) = ranked(tmp_path, "bm25:k1=1.3", top_k=[1, 5, 10])
    (bound,) = ranked(tmp_path, "oracle", top_k=[1, 5, 10])
    (found,) = _of([bound, mini_runs[2], mini_runs[0], close])
    assert found.metric == "recall@10"
    assert found.best in ("bm25", "bm25:k1=1.3")
    others = [label for label, _ in found.rows]
    assert others[-1] == "random"
    assert "oracle" not in others
    assert found.undecided == others[:1]
    assert f"do not tell it apart from {others[0]}" in found.sentence
    assert "Holm" in found.explained[0]


@pytest.mark.parametrize("n", [0, 1])
def test_one_run_differs_from_none(mini_runs: list[Path], tmp_path: Path, n: int) -> None:
    bounds = ranked(tmp_path, *["oracle"][:n], top_k=[1, 5, 10])
    assert _of([mini_runs[0], *bounds]) == []
