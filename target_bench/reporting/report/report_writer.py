"""Writing a report: figures and charts, and the queries with their tables as packed data."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset
from target_bench.reporting.report import charts, queries
from target_bench.reporting.report.report_runs import ReportRun, open_runs
from target_bench.reporting.report.summary import order_runs, summarize
from target_bench.reporting.web import environment, make_page_parts
from target_bench.runs.record_log import write_file
from target_bench.runs.result import SYNTHETIC
from target_bench.runs.score_tables import is_sampled
from target_bench.runs.slicing import divide_by, read_properties

_FOLDER = Path(__file__).parent
_SCRIPTS = ("tables.js", "filters.js", "list.js", "detail.js", "report.js")
MOST_QUERIES = 2_000  # that a report lists, failures first; scores and charts are over all
DEPTH, ROWS, CELL = 10, 50, 300  # tables of a ranking, rows of a table, characters of a cell


def write_report(
    folders: Sequence[Path],
    out: Path,
    data_dir: str | Path | None = None,
    *,
    by: Sequence[str] = (),
    observer: Observer | None = None,
) -> Path:
    """Write one HTML file about runs on the same queries.

    Nothing is run or scored again: scores, answers and judgements are those the runs recorded.
    Tables and questions come from the data of the runs.

    Args:
        folders: run folders, of rankings or of answers.
        out: the file.
        data_dir: as for ``evaluate``.
        by: the properties of queries, as ``difficulty``, that scores are drawn by; default: the
            first ones that put queries together.
        observer: gets progress and warnings.

    Returns:
        The file.

    Raises:
        ConfigError: runs of different corpora, splits or queries.
        DataError: the data are missing, or not what they were.
        StoreError: a folder holds no finished run, or the file cannot be written.
    """
    observer = observer or Observer()
    runs, dataset = open_runs(folders, data_dir, observer, DEPTH)
    if len(runs) > charts.SERIES:  # the chart shows the first ones
        runs = [runs[i] for i in order_runs(runs)]
    for name in by:
        divide_by(read_properties(dataset.queries), name)
    observer.stage("report: collect queries and tables")
    context = _make_context(runs, dataset, by)
    page = environment(_FOLDER).get_template("report.html.j2").render(context)
    write_file(out, page.encode(), "-o")
    return out


def _make_context(runs: Sequence[ReportRun], dataset: Dataset, by: Sequence[str]) -> dict[str, Any]:
    """Return the variables of the template."""
    summary = summarize(runs, dataset, by)
    curves = [
        queries.compute_recall_curve(
            dataset.queries,
            [run.tables[query.id].gold_ranks for query in dataset.queries],
            run.cutoffs[-1],
        )
        if run.is_ranked
        else []
        for run in runs
    ]
    cutoffs = sorted({k for run in runs for k in run.cutoffs})
    labels, drawn = [run.label for run in runs], curves[: charts.SERIES]
    return {
        "title": f"{dataset.info.title} {dataset.split}",
        **make_page_parts(_FOLDER, _SCRIPTS, "report.css"),
        "dataset": dataset,
        "runs": runs,
        "series": charts.series,
        "colours": charts.SERIES,
        "limits": {"depth": DEPTH, "rows": ROWS, "cell": CELL},
        **summary,
        "cutoffs": cutoffs,
        "curves": curves,
        "recall_chart": charts.recall_chart(labels, drawn, cutoffs) if any(drawn) else None,
        "is_sampled": is_sampled(runs[0].result),
        "synthetic": SYNTHETIC if any(query.synthetic for query in dataset.queries) else "",
        "listed": min(len(dataset.queries), MOST_QUERIES),
        "data": queries.pack(_collect(runs, dataset, summary)),
    }


def _collect(
    runs: Sequence[ReportRun], dataset: Dataset, summary: dict[str, Any]
) -> dict[str, Any]:
    """Return the data of the queries that are listed: of many the worst ones."""
    outcomes = [queries.list_outcomes(run, dataset.queries) for run in runs]
    if len(dataset.queries) > MOST_QUERIES:
        kept = queries.order_by_failure(outcomes)[:MOST_QUERIES]
        dataset = replace(dataset, queries=tuple(dataset.queries[i] for i in kept))
        runs = [
            replace(run, values={name: values[kept] for name, values in run.values.items()})
            for run in runs
        ]
        outcomes = [queries.list_outcomes(run, dataset.queries) for run in runs]
    collected = queries.collect_data(runs, dataset, outcomes, {"rows": ROWS, "cell": CELL})
    for i, run in enumerate(collected["runs"]):
        run["series"] = charts.series(i)
    mains = {*summary["mains"]}
    lower = [name for name, spec in summary["specs"].items() if not spec.higher_is_better]
    return collected | {"main": mains.pop() if len(mains) == 1 else None, "lower": lower}
