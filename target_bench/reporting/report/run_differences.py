"""How far the runs of a report differ from the best of them, with tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from target_bench.core.errors import ConfigError, DataError
from target_bench.reporting.compare import compare
from target_bench.reporting.comparison import Comparison, Row, best_run, is_undecided, legend
from target_bench.reporting.report.report_runs import ReportRun
from target_bench.reporting.report.summary import spec


@dataclass(frozen=True, slots=True)
class Differences:
    """Runs of one task, each compared with the best of them.

    Attributes:
        metric: what they are compared by.
        best: what the run is called that the others are compared with.
        rows: what each other run is called, and its row of the comparison; the best score first.
        sentence: the result, or why there is none.
        explained: how differences were tested, in sentences.
    """

    metric: str
    best: str
    rows: Sequence[tuple[str, Row]]
    sentence: str
    explained: Sequence[str]

    @property
    def undecided(self) -> list[str]:
        """The runs that are not significantly different from the best."""
        return [label for label, row in self.rows if is_undecided(row)]


def differences(runs: Sequence[ReportRun], metrics: Sequence[str | None]) -> list[Differences]:
    """Compare the runs of each task with the best of them, but for the bounds (as ``oracle``).

    Args:
        runs: the runs.
        metrics: the metric that stands for each; None for a run without scores.
    """
    found = []
    for task in dict.fromkeys(run.run.task for run in runs):
        scored = [
            (run, metric)
            for run, metric in zip(runs, metrics, strict=True)
            if run.run.task == task and metric and run.scores[metric]["value"] is not None
            if not run.run.is_bound
        ]
        named = {metric for _, metric in scored}
        if len(scored) > 1 and len(named) == 1:
            found.append(_compared([run for run, _ in scored], named.pop()))
    return found


def _compared(runs: Sequence[ReportRun], metric: str) -> Differences:
    declared = spec(runs, metric)
    ordered = sorted(runs, key=lambda run: -declared.merit(run.scores[metric]["value"]))
    best, labels = ordered[0], {run.folder.resolve(): run.label for run in ordered}
    try:
        found = compare([run.folder for run in ordered], [metric], best.folder)
    except (ConfigError, DataError) as error:  # as of other versions: the report shows both
        return Differences(metric, best.label, [], f"The runs were not compared: {error}", [])
    found = _named(found, labels)
    rows = [(row.run, row) for row in found.rows[1:]]
    return Differences(metric, best.label, rows, best_run(found), legend(found))


def _named(found: Comparison, labels: Mapping[Path, str]) -> Comparison:
    """Return the comparison with the names that the runs have in the report."""
    new = {name: labels[path.resolve()] for name, path in found.runs.items()}
    return replace(
        found,
        runs={new[name]: path for name, path in found.runs.items()},
        baseline=new[found.baseline],
        rows=tuple(replace(row, run=new[row.run]) for row in found.rows),
    )
