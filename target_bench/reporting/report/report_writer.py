"""Writing a report: figures, and a stream of blocks with the queries and their tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset
from target_bench.data.table_text import languages_in, stop_words
from target_bench.reporting.report import charts, queries
from target_bench.reporting.report.queries import recall_curve
from target_bench.reporting.report.report_runs import ReportRun, open_runs
from target_bench.reporting.report.summary import order_runs, summarize
from target_bench.reporting.web import environment, page_parts, valid
from target_bench.runs.record_log import write_file
from target_bench.runs.result import SYNTHETIC
from target_bench.runs.slicing import by_name, by_property

_FOLDER = Path(__file__).parent
MOST_QUERIES = 2_000
"""Queries that a report lists, failures first; scores and charts are over all."""
_SCRIPTS = ("data.js", "filters.js", "list.js", "marks.js", "tables.js", "detail.js", "report.js")


DEPTH, ROWS, CELL = 10, 50, 300
"""What is shown: tables of a ranking, rows of a table, characters of a cell."""


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
    runs, loaded = open_runs(folders, data_dir, observer, DEPTH)
    if len(runs) > charts.SERIES:  # the chart shows the first ones
        runs = [runs[place] for place in order_runs(runs)]
    for name in by:
        by_name(by_property(loaded.dataset.queries), name)
    observer.stage("report: read rankings")
    context = _context(runs, loaded.dataset, by, observer)
    pieces = environment(_FOLDER).get_template("report.html.j2").generate(context)
    write_file(out, (piece.encode() for piece in pieces), "-o")
    return out


def _context(
    runs: Sequence[ReportRun],
    dataset: Dataset,
    by: Sequence[str],
    observer: Observer,
) -> dict[str, Any]:
    """Return what the template is given."""
    shown = summarize(runs, dataset, by)
    curves = [
        recall_curve(
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
        **page_parts(_FOLDER, _SCRIPTS, "report.css"),
        "dataset": dataset,
        "runs": runs,
        "series": charts.series,
        "colours": charts.SERIES,
        "limits": {"depth": DEPTH, "rows": ROWS, "cell": CELL},
        **shown,
        "cutoffs": cutoffs,
        "curves": curves,
        "recall_chart": charts.recall_chart(labels, drawn, cutoffs) if any(drawn) else None,
        "synthetic": SYNTHETIC if any(query.synthetic for query in dataset.queries) else "",
        "listed": min(len(dataset.queries), MOST_QUERIES),
        "blocks": _blocks(*_listed(runs, dataset), shown, observer),
    }


def _listed(runs: Sequence[ReportRun], dataset: Dataset) -> tuple[list[ReportRun], Dataset]:
    """Return runs and queries as they are listed: of many the first ``MOST_QUERIES``, worst first.

    Queries stand by the worst of what became of them in any run, then in the order of the corpus.
    """
    if len(dataset.queries) <= MOST_QUERIES:
        return list(runs), dataset
    of_runs = [queries.list_outcomes(run, dataset.queries) for run in runs]
    worst = [
        max(
            queries.severity(rankings[i], answers[i] if answers else None)
            for rankings, answers in of_runs
        )
        for i in range(len(dataset.queries))
    ]
    places = sorted(range(len(worst)), key=lambda i: -worst[i])[:MOST_QUERIES]
    fewer = replace(dataset, queries=tuple(dataset.queries[i] for i in places))
    return [
        replace(run, values={name: values[places] for name, values in run.values.items()})
        for run in runs
    ], fewer


def _blocks(
    runs: Sequence[ReportRun],
    dataset: Dataset,
    shown: Mapping[str, Any],
    observer: Observer,
) -> Iterator[queries.Block]:
    """Yield all data; each block is made when the one before it is written."""
    of_runs = [queries.list_outcomes(run, dataset.queries) for run in runs]
    mains = {*shown["mains"]}
    yield queries.pack_block(
        "overview",
        {
            "n": len(dataset.queries),
            "per_block": {"queries": queries.QUERIES_PER_BLOCK, "tables": queries.TABLES_PER_BLOCK},
            "columns": queries.COLUMNS,
            "outcomes": queries.RETRIEVED,
            "stop_words": sorted(frozenset().union(*map(stop_words, languages_in(dataset.corpus)))),
            "labelled": any(query.gold for query in dataset.queries),
            "main": mains.pop() if len(mains) == 1 else None,
            "lower": [m for m, spec in shown["specs"].items() if not spec.higher_is_better],
            "runs": [
                {
                    "label": valid(run.label),
                    "metrics": list(run.values),
                    "ranked": not run.is_given,
                    "answered": run.answers is not None,
                    "answers": list(dict.fromkeys(answers)),
                    "series": charts.series(i),
                }
                for i, (run, (_, answers)) in enumerate(zip(runs, of_runs, strict=True))
            ],
        },
    )
    tables = queries.number_tables(runs, dataset.queries)
    yield from queries.index_blocks(runs, dataset.queries, of_runs)
    observer.stage("report: write queries")
    yield from queries.query_blocks(runs, dataset, tables)
    observer.stage("report: write tables")
    yield from queries.table_blocks(tables, dataset.corpus, ROWS, CELL)
