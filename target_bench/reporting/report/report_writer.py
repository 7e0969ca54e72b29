"""Writing a report: figures, and a stream of blocks with the queries and their tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset
from target_bench.data.table_text import languages_in, stop_words
from target_bench.reporting.report import charts, queries, summary
from target_bench.reporting.report.report_runs import ReportRun, open_runs
from target_bench.reporting.web import environment, page_parts, valid
from target_bench.runs.record_log import write_file
from target_bench.runs.slicing import by_name, by_property

_FOLDER = Path(__file__).parent
_SCRIPTS = ("data.js", "filters.js", "list.js", "marks.js", "tables.js", "detail.js", "report.js")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the size of a report.

    Attributes:
        depth: tables of each ranking that are shown.
        rows: the first rows of a table that are shown.
        cell: characters of a cell that are shown.
        megabytes: the size of the file from which on the content of tables that only stand low in
            rankings is left out. Questions and answers never are.
    """

    depth: int = 10
    rows: int = 50
    cell: int = 300
    megabytes: float = 100


def write_report(
    folders: Sequence[Path],
    out: Path,
    data_dir: str | Path | None = None,
    *,
    limits: Limits | None = None,
    by: Sequence[str] = (),
    observer: Observer | None = None,
) -> Path:
    """Write one HTML file about runs on the same queries.

    Nothing is run or scored again: scores, answers and judgements are those the runs recorded.
    Tables and questions come from the data of the runs.

    Args:
        folders: run folders, of rankings or of answers.
        out: the file.
        data_dir: as for ``TARGET``.
        limits: how much goes into it.
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
    observer, limits = observer or Observer(), limits or Limits()
    runs, loaded = open_runs(folders, data_dir, observer, limits.depth)
    if len(runs) > charts.SERIES:  # the chart shows the first ones
        runs = [runs[place] for place in summary.best_first(runs)]
    for name in by:
        by_name(by_property(loaded.dataset.queries), name)
    pieces = _pieces(runs, loaded.dataset, limits, by, observer)
    write_file(out, (piece.encode() for piece in pieces), "-o")
    return out


def _pieces(
    runs: Sequence[ReportRun],
    dataset: Dataset,
    limits: Limits,
    by: Sequence[str],
    observer: Observer,
) -> Iterator[str]:
    """Yield the text of the file, a piece at a time."""
    written = 0

    def is_full() -> bool:
        return written > limits.megabytes * 1e6

    observer.stage("report: read rankings")
    of_runs = [queries.outcomes(run, dataset.queries) for run in runs]
    agreed = queries.agreement(runs, dataset.queries, limits.depth)

    def blocks() -> Iterator[queries.Block]:
        """Yield all data; each block is made when the one before it is written."""
        tables = queries.table_numbers(runs, dataset.queries)
        yield queries.block("overview", _overview(runs, dataset, of_runs))
        yield from queries.index_blocks(runs, dataset.queries, of_runs, agreed)
        observer.stage("report: write queries")
        yield from queries.query_blocks(runs, dataset, tables)
        observer.stage("report: write tables")
        yield from queries.table_blocks(tables, dataset.corpus, limits.rows, limits.cell, is_full)
        if is_full():
            observer.warning(
                f"the report reached {limits.megabytes:g} MB: tables low in rankings were left "
                "out. --max-size raises the limit; --depth, --rows and --cell make tables smaller."
            )

    context = {
        "title": f"{dataset.info.title} {dataset.split}",
        **page_parts(_FOLDER, _SCRIPTS, "report.css"),
        "info": dataset.info,
        "dataset": dataset,
        "n_queries": len(dataset.queries),
        "n_tables": len(dataset.corpus),
        "runs": runs,
        "series": charts.series,
        "colours": charts.SERIES,
        "summary": summary,
        "limits": limits,
        "agreement": agreed,
        **_figures(runs, dataset, of_runs, by),
        "blocks": blocks(),
    }
    for piece in environment(_FOLDER).get_template("report.html.j2").generate(context):
        written += len(piece)
        yield piece


def _overview(
    runs: Sequence[ReportRun], dataset: Dataset, of_runs: Sequence[queries.Outcomes]
) -> dict[str, Any]:
    mains = set(summary.main_metrics(runs)[0])
    return {
        "n": len(dataset.queries),
        "per_block": {"queries": queries.QUERIES_PER_BLOCK, "tables": queries.TABLES_PER_BLOCK},
        "columns": queries.COLUMNS,
        "outcomes": queries.RETRIEVED,
        "stop_words": sorted(frozenset().union(*map(stop_words, languages_in(dataset.corpus)))),
        "labelled": any(query.gold for query in dataset.queries),
        "main": mains.pop() if len(mains) == 1 else None,
        "lower": summary.lower_is_better(runs),
        "runs": [
            {
                "label": valid(run.label),
                "metrics": list(run.values),
                "ranked": not run.is_given,
                "answered": run.answers is not None,
                "answers": list(dict.fromkeys(of_run.answered)),
                "series": charts.series(i),
            }
            for i, (run, of_run) in enumerate(zip(runs, of_runs, strict=True))
        ],
    }


def _figures(
    runs: Sequence[ReportRun],
    dataset: Dataset,
    of_runs: Sequence[queries.Outcomes],
    by: Sequence[str],
) -> dict[str, Any]:
    labels, n = [run.label for run in runs], charts.SERIES
    mains, why = summary.main_metrics(runs)
    curves = [
        queries.recall_curve(of_run, dataset.queries, run.depth) if run.is_ranked else []
        for run, of_run in zip(runs, of_runs, strict=True)
    ]
    cutoffs = sorted({k for run in runs for k in run.cutoffs})
    specs = [
        summary.spec([run], metric or "score") for run, metric in zip(runs, mains, strict=True)
    ]
    slices = summary.sliced(runs, mains, dataset, by) if any(mains) else []
    return {
        "cutoffs": cutoffs,
        "synthetic": all(query.synthetic for query in dataset.queries),
        "differences": summary.differences(runs, mains),
        "saturated": why,
        "curves": curves,
        "recall_chart": charts.recall_chart(labels, curves[:n], cutoffs)
        if any(curves[:n])
        else None,
        "mains": [metric for metric in mains if metric],
        "specs": specs,
        "slices": [part for part in slices if not part.is_even],
        "even_slices": [part for part in slices if part.is_even],
        "findings": [(run, run.run.summary) for run in runs],
    }
