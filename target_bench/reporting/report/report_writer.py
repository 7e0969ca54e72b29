"""Writing a report: a first pass over the rankings for the figures, a second for the queries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset
from target_bench.core.version import __version__
from target_bench.data.table_text import language_in, stop_words
from target_bench.reporting.report import charts, summary
from target_bench.reporting.report.blocks import Block, block
from target_bench.reporting.report.first_pass import FirstPass, first_pass
from target_bench.reporting.report.query_outcomes import RETRIEVED
from target_bench.reporting.report.radar import radars
from target_bench.reporting.report.report_queries import QUERIES_PER_BLOCK, Queries, index_blocks
from target_bench.reporting.report.report_runs import ReportRun, open_runs
from target_bench.reporting.report.run_differences import differences
from target_bench.reporting.report.sent_prompts import TEXTS_PER_BLOCK, Prompts, Texts
from target_bench.reporting.report.shown_tables import COLUMNS, TABLES_PER_BLOCK, TableSize
from target_bench.reporting.web import asset, environment, security_policy, valid
from target_bench.runs.record_log import cannot
from target_bench.runs.slicing import by_property, check_names

_FOLDER = Path(__file__).parent
_SCRIPTS = ("data.js", "filters.js", "list.js", "marks.js", "tables.js", "detail.js", "report.js")
_PROMPTS_SHARE = 0.5
"""Of the largest size, after which prompts are left out, so that tables find room."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the size of a report.

    Attributes:
        depth: tables of each ranking that are shown.
        table: how much of a table is.
        megabytes: the size of the file from which on prompts (from half of it) and the content of
            tables that only stand low in rankings are left out. Questions and answers never are.
    """

    depth: int = 10
    table: TableSize = field(default_factory=TableSize)
    megabytes: float = 100

    def __post_init__(self) -> None:
        for name, value in (
            ("depth", self.depth),
            ("rows", self.table.rows),
            ("cell", self.table.cell),
        ):
            if value < 1:
                raise ConfigError(f"{name}={value}: a report shows at least 1")
        if not self.megabytes > 0:
            raise ConfigError(f"megabytes={self.megabytes}: expected more than 0")


def write_report(
    folders: Sequence[Path],
    out: Path,
    data_dir: str | Path | None = None,
    *,
    limits: Limits | None = None,
    prompts: Sequence[Path] = (),
    by: Sequence[str] = (),
    observer: Observer | None = None,
) -> Path:
    """Write one HTML file about runs on the same queries.

    Nothing is run or scored again: scores, answers and judgements are those the runs recorded.
    Tables and questions come from the data of the runs. What is kept in memory at a time is a
    few numbers a query, and one block of queries or tables.

    Args:
        folders: run folders, of rankings or of answers.
        out: the file.
        data_dir: as for ``TARGET``.
        limits: how much goes into it.
        prompts: files with prompts of the user's own that runs were asked with.
        by: the properties of queries, as ``difficulty``, that scores are drawn by; default: the
            first ones that put queries together.
        observer: gets progress and warnings.

    Returns:
        The file.

    Raises:
        ConfigError: runs of different corpora, splits or queries, or one run twice; ``out`` is a
            folder.
        DataError: the data are missing, or not what they were.
        StoreError: a folder holds no finished run, or the file cannot be written.
    """
    observer, limits = observer or Observer(), limits or Limits()
    if out.is_dir():
        raise ConfigError(f"-o {out}: is a folder; name a file, as in report.html")
    runs, loaded = open_runs(folders, data_dir, observer)
    try:
        report = _Report(runs, loaded.dataset, limits, prompts, by, observer)
        _write(out, report.pieces())
    finally:
        for run in runs:
            run.close()
    return out


def _write(out: Path, pieces: Iterator[str]) -> None:
    """Write a file as a whole or not at all."""
    try:
        atomic_write(out, (piece.encode() for piece in pieces))
    except OSError as error:
        raise StoreError(cannot("be written", out, error, "-o")) from error


class _Report:
    """The pieces of the file, in order."""

    def __init__(
        self,
        runs: Sequence[ReportRun],
        dataset: Dataset,
        limits: Limits,
        prompts: Sequence[Path],
        by: Sequence[str],
        observer: Observer,
    ) -> None:
        check_names(by_property(dataset.queries), by)
        self._by = by
        self._runs = runs
        self._dataset = dataset
        self._limits = limits
        self._observer = observer
        self._prompts = [Prompts(run, dataset, prompts) for run in runs]
        self._seen = first_pass(runs, dataset, limits.depth, observer)
        self._written = 0

    def pieces(self) -> Iterator[str]:
        """Yield the text of the file, a piece at a time."""
        template = environment(_FOLDER).get_template("report.html.j2")
        for piece in template.generate(self._context()):
            self._written += len(piece)
            yield piece

    def _context(self) -> dict[str, Any]:
        script = "\n".join([asset("page.js"), *(asset(name, _FOLDER) for name in _SCRIPTS)])
        style = asset("theme.css") + asset("report.css", _FOLDER)
        info, runs = self._dataset.info, self._runs
        return {
            "title": f"{info.title} {self._dataset.split}",
            "version": __version__,
            "policy": security_policy([script], [style]),
            "script": script,
            "style": style,
            "info": info,
            "dataset": self._dataset,
            "n_queries": len(self._dataset.queries),
            "n_tables": len(self._dataset.corpus),
            "runs": runs,
            "series": charts.series,
            "summary": summary,
            "limits": self._limits,
            **_figures(runs, self._dataset, self._seen, self._by),
            "blocks": self._blocks(),
        }

    def _blocks(self) -> Iterator[Block]:
        """All data; each is made when the one before it is written."""
        n = len(self._dataset.queries)
        n_blocks = -(-n // QUERIES_PER_BLOCK)
        yield block("overview", self._overview())
        yield from index_blocks(self._runs, self._dataset, self._seen)
        texts = Texts()
        tables, depth = self._seen.tables, self._limits.depth
        queries = Queries(self._runs, self._dataset, tables, depth, self._prompts, texts)
        self._observer.stage("report: write queries", total=n_blocks)
        for number in range(n_blocks):
            yield queries.block(number, with_prompts=not self._full(_PROMPTS_SHARE))
            yield from texts.blocks()
            self._observer.advance(1)
        yield from texts.blocks(last=True)
        self._observer.stage("report: write tables")
        yield from tables.blocks(self._dataset.corpus, self._limits.table, self._full)
        if self._full():
            self._observer.warning(
                f"the report reached {self._limits.megabytes:g} MB: prompts, or tables low in "
                "rankings, were left out. --max-size raises the limit; --depth, --rows and --cell "
                "make tables smaller."
            )

    def _full(self, share: float = 1.0) -> bool:
        return self._written > share * self._limits.megabytes * 1e6

    def _overview(self) -> dict[str, Any]:
        return {
            "n": len(self._dataset.queries),
            "per_block": {
                "queries": QUERIES_PER_BLOCK,
                "tables": TABLES_PER_BLOCK,
                "texts": TEXTS_PER_BLOCK,
            },
            "columns": COLUMNS,
            "outcomes": RETRIEVED,
            "stop_words": sorted(stop_words(language_in(self._dataset.corpus, "auto"))),
            "labelled": any(query.gold for query in self._dataset.queries),
            "main": _shared(summary.main_metrics(self._runs)[0]),
            "lower": summary.lower_is_better(self._runs),
            "runs": [self._run(i) for i in range(len(self._runs))],
        }

    def _run(self, i: int) -> dict[str, Any]:
        run, prompts = self._runs[i], self._prompts[i]
        return {
            "label": valid(run.label),
            "depth": run.depth,
            "metrics": list(run.values),
            "ranked": not run.given,
            "answered": run.answers is not None,
            "answers": self._seen.columns[i].answers,
            "no_prompt": prompts.problem,
            "prompt_note": prompts.note,
            "series": charts.series(i),
        }


def _shared(metrics: Sequence[str | None]) -> str | None:
    return metrics[0] if len(set(metrics)) == 1 else None


def _figures(
    runs: Sequence[ReportRun], dataset: Dataset, seen: FirstPass, by: Sequence[str]
) -> dict[str, Any]:
    labels = [run.label for run in runs]
    mains, why = summary.main_metrics(runs)
    curves = [
        columns.curve.values.tolist() if run.is_ranked else []
        for run, columns in zip(runs, seen.columns, strict=True)
    ]
    cutoffs = sorted({k for run in runs for k in run.cutoffs})
    sliced = summary.sliced(runs, mains, dataset, by)
    specs = [
        summary.spec([run], metric or "score") for run, metric in zip(runs, mains, strict=True)
    ]
    shown = [metric or "no score" for metric in mains]
    drawn = sliced if any(mains) else []
    summaries = [run.summary for run in runs]
    return {
        "cutoffs": cutoffs,
        "synthetic": all(query.synthetic for query in dataset.queries),
        "differences": differences(runs, mains),
        "saturated": why,
        "curves": curves,
        "recall_chart": charts.recall_chart(labels, curves, cutoffs) if any(curves) else None,
        "mains": [metric for metric in mains if metric],
        "specs": specs,
        "slices": [(one, charts.slice_chart(labels, shown, specs, one)) for one in drawn],
        "radars": radars(labels, summaries),
        "findings": list(zip(runs, summaries, strict=True)),
        "agreement": seen.agreement,
    }
