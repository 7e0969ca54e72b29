"""The table of a paper: methods × corpora, the best marked, tested against a baseline."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path
from typing import Any

from target_bench.core import text_tables
from target_bench.core.errors import ConfigError
from target_bench.core.metric import MetricSpec
from target_bench.core.text_tables import Column, TextTable, counted, pipe_table
from target_bench.metrics import stats
from target_bench.metrics.scores import main_metrics, specs_of
from target_bench.reporting.compare import (
    check_comparable,
    compare,
    corrected,
    leading_metric,
    notes_on_runs,
    read_once,
)
from target_bench.reporting.comparison import (
    Row,
    escaped_latex,
    flat_record,
    latex_comment,
    latex_line,
    latex_tabular,
    power_of_tests,
)
from target_bench.runs.differences import labels, method_of
from target_bench.runs.result import SYNTHETIC, Result


@dataclass(frozen=True, slots=True)
class PaperTable:
    """Runs of several corpora: a row per method, a column per corpus and metric.

    Attributes:
        task: short name of the task.
        methods: what each method is called, in the order in which they were named.
        corpora: name and split of each corpus, with distractors.
        metrics: the metrics, in the order in which they are shown.
        baseline: the method that the others are compared with.
        cells: (metric, corpus, method) -> score, interval and tested difference; of the runs that
            there are.
        runs: (corpus, method) -> the run folder.
        family: the metrics that are tested; the others are descriptive.
        n_tests: how many tests p-values are corrected for: all methods on all corpora.
        specs: the declaration of each metric.
        notes: what a reader should know.
        remarks: what a reader must know, however short the table is printed.
    """

    task: str
    methods: tuple[str, ...]
    corpora: tuple[str, ...]
    metrics: tuple[str, ...]
    baseline: str
    cells: Mapping[tuple[str, str, str], Row]
    runs: Mapping[tuple[str, str], Path]
    family: tuple[str, ...]
    n_tests: int
    specs: Mapping[str, MetricSpec]
    notes: tuple[str, ...] = field(default=())
    remarks: tuple[str, ...] = field(default=())

    def is_best(self, metric: str, corpus: str, method: str) -> bool:
        """Whether no other method has a better score on a corpus; alone there, none is best."""
        rows = [self.cells.get((metric, corpus, name)) for name in self.methods]
        scores = [row.score for row in rows if row is not None and row.score == row.score]
        mine = self.cells.get((metric, corpus, method))
        if mine is None or len(scores) < 2:
            return False
        return mine.score == max(scores, key=self.specs[metric].merit)

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench compare --json`` prints."""
        return {
            "task": self.task,
            "methods": list(self.methods),
            "corpora": list(self.corpora),
            "metrics": list(self.metrics),
            "baseline": self.baseline,
            "test": "randomization",
            "family": list(self.family),
            "n_tests": self.n_tests,
            "cells": [
                {
                    "corpus": corpus,
                    **row.to_json(),
                    "best": self.is_best(metric, corpus, method),
                    "folder": str(self.runs[corpus, method]),
                }
                for (metric, corpus, method), row in self.cells.items()
            ],
            "specs": {name: spec.to_json() for name, spec in self.specs.items()},
            "notes": list(self.notes),
            "remarks": list(self.remarks),
        }

    def to_records(self) -> list[dict[str, Any]]:
        """Return a record without nesting for each cell, with corpus, baseline and test."""
        more = {"baseline": self.baseline, "test": "randomization"}
        return [
            {"corpus": corpus, **flat_record(row.to_json()), **more}
            for (_, corpus, _), row in self.cells.items()
        ]


def several_corpora(folders: Sequence[Path], notes: Sequence[str] = ()) -> bool:
    """Return whether these are runs of several corpora, with methods to compare on one of them.

    Args:
        folders: run folders.
        notes: what an error says of the choice of the runs.
    """
    runs = read_once(folders, notes)
    groups = _groups(runs)
    return len(groups) > 1 and any(len(group) > 1 for group in groups.values())


def compare_corpora(
    folders: Sequence[Path],
    metrics: Sequence[str] = (),
    baseline: Path | None = None,
    *,
    resamples: int = stats.RESAMPLES,
    seed: int = 0,
    notes: Sequence[str] = (),
) -> PaperTable:
    """Compare methods on several corpora, each with a baseline on the same queries.

    Runs of one method have the same name, or else the same retriever and generator with the same
    settings.

    Args:
        folders: run folders; a method may lack runs on some corpora.
        metrics: which metrics; all of them are tested. Default: as for ``compare``, of those that
            the runs of all corpora have.
        baseline: a run of the method that the others are compared with; default: the first run.
        resamples: how many ways to swap a test draws at most.
        seed: of the random numbers.
        notes: what to say of the choice of the runs.

    Raises:
        ConfigError: two runs of a method on one corpus, a corpus without the baseline, or an
            unknown metric.
        DataError: runs of one corpus were asked other queries, or runs are of several tasks.
        StoreError: a run is not finished, or damaged.
    """
    runs = read_once([*folders, *([baseline] if baseline else [])])
    for other in runs:
        if other.task != runs[0].task:
            check_comparable([runs[0], other])
    groups, methods = _groups(runs), _methods(runs)
    first = baseline.resolve() if baseline else runs[0].folder.resolve()
    base = next(methods[run.folder] for run in runs if run.folder.resolve() == first)
    shared = list(dict.fromkeys(name for name in metrics))
    shared = shared or [m for m in main_metrics(runs[0].scores) if all(m in r.scores for r in runs)]
    if not shared:
        raise ConfigError("the runs have no metric in common; name some with --metric")
    for run in runs:
        for metric in shared:
            run.measured(metric)  # an unknown metric is reported before any test
    family, notes, why = tuple(shared), [*notes], None
    if not metrics:
        lead, why = leading_metric(*groups.values(), among=shared)
        family = (lead,)
        shared.sort(key=lambda metric: metric != lead)  # what is tested stands first
    rows: dict[tuple[str, str, str], Row] = {}
    table_runs: dict[tuple[str, str], Path] = {}
    for corpus, group in groups.items():
        own = _by_method(corpus, group, methods, base)
        table_runs |= {(corpus, name): run.folder for name, run in own.items()}
        if len(own) == 1:
            for metric in shared:
                score = own[base].scores[metric]
                bounds = (score.value, score.low, score.high)
                rows[metric, corpus, base] = Row(metric, "", score.n, base, *bounds, None)
            continue
        pair = (list(own.values()), shared, own[base])
        comparison = compare(*pair, resamples=resamples, seed=seed)
        for row in comparison.rows:
            method = methods[comparison.runs[row.run]]
            rows[row.metric, corpus, method] = replace(row, run=method)
    tested, n_tests = corrected(list(rows.values()), family)
    names = tuple(dict.fromkeys(methods.values()))
    everywhere = {
        f"{methods[run.folder]} on {corpus}": run
        for corpus, group in groups.items()
        for run in group
    }
    notes += (f"{note}." for note in notes_on_runs(everywhere, shared))
    for name in names:
        absent = [corpus for corpus in groups if (corpus, name) not in table_runs]
        if absent:
            notes.append(f"{name} was not run on {', '.join(absent)}.")
    return PaperTable(
        task=runs[0].task,
        methods=names,
        corpora=tuple(groups),
        metrics=tuple(shared),
        baseline=base,
        cells=dict(zip(rows, tested, strict=True)),
        runs=table_runs,
        family=family,
        n_tests=n_tests,
        specs=specs_of({name: runs[0].scores[name] for name in shared}),
        notes=tuple(notes),
        remarks=(*_remarks(groups), *([f"{why}."] if why else [])),
    )


def _remarks(groups: Mapping[str, Sequence[Result]]) -> Iterator[str]:
    synthetic = [corpus for corpus, group in groups.items() if any(r.is_synthetic for r in group)]
    if synthetic:
        yield f"{', '.join(synthetic)}: {SYNTHETIC}"


def _groups(runs: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the runs of each column: a corpus, a split, distractors, and a part of the queries."""
    groups: dict[str, list[Result]] = {}
    for run in runs:
        command = run.asked
        parts = {"about": command.about, "limit": command.limit}
        words = [" + ".join([f"{run.corpus} {run.split}", *command.distractors])]
        words += [f"{name} {value}" for name, value in parts.items() if value is not None]
        groups.setdefault(", ".join(words), []).append(run)
    return groups


def _methods(runs: Sequence[Result]) -> dict[Path, str]:
    """Return run folder -> what its method is called."""
    first: dict[tuple[str, ...], Result] = {}
    for run in runs:
        first.setdefault(method_of(run), run)
    names = dict(zip(first, labels(list(first.values())), strict=True))
    return {run.folder: names[method_of(run)] for run in runs}


def _by_method(
    corpus: str, group: Sequence[Result], methods: Mapping[Path, str], base: str
) -> dict[str, Result]:
    by_method: dict[str, Result] = {}
    for run in group:
        method = methods[run.folder]
        other = by_method.setdefault(method, run)
        if other is not run:
            raise ConfigError(
                f"{other.folder.name} and {run.folder.name} are both runs of {method} on {corpus}; "
                "leave one out, or give them names"
            )
    if base not in by_method:
        raise ConfigError(
            f"no run of {base}, the baseline, is on {corpus}: run it there, name another run with "
            "--baseline, or leave this corpus out"
        )
    return by_method


# As text, Markdown and LaTeX


WriteCell = Callable[[str, str, str, bool], str]
"""Score, mark of significance, interval, and whether it is the best -> a cell."""


def text(table: PaperTable, width: int | None = None, colours: bool = False) -> str:
    """One table per metric, intervals below their scores.

    Args:
        table: what is shown.
        width: columns of the terminal; None for no limit.
        colours: whether the terminal has colours.
    """

    def cell(score: str, marker: str, bounds: str, is_best: bool) -> str:
        return f"{'>' * is_best}{score}{marker:3}\n{bounds}"

    corpora = [Column(corpus.replace(" ", "\n", 1), right=True) for corpus in table.corpora]
    tables = [
        TextTable([Column("method"), *corpora], rows, title)
        for title, rows in _tables(table, cell, f"{'–':4}")
    ]
    wrapped = text_tables.wrapped(" ".join(_legend(table, "> best of the column")), width)
    return "\n".join([text_tables.text(tables, width, colours), "", *wrapped])


def markdown(table: PaperTable) -> str:
    """One pipe table per metric."""

    def cell(score: str, marker: str, bounds: str, is_best: bool) -> str:
        bold = "**" * is_best
        return f"{bold}{score}{bold}{_escaped(marker)}<br>{bounds}"

    right = [False] + [True] * len(table.corpora)
    blocks = [
        "\n".join([f"**{title}**", "", *pipe_table(["method", *table.corpora], right, rows)])
        for title, rows in _tables(table, cell, "–")
    ]
    legend = _escaped(" ".join(_legend(table, "Bold: best of the column")))
    return "\n\n".join([*blocks, legend]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("*", "\\*")


def latex(table: PaperTable) -> str:
    """One ``tabular`` per metric for the package booktabs; intervals in lines of their own."""

    def cell(score: str, marker: str, bounds: str, is_best: bool) -> str:
        shown = rf"\textbf{{{score}}}" if is_best else score
        above = rf"\rlap{{$^{{{marker}}}$}}" if marker else ""
        below = rf"{{\scriptsize {escaped_latex(bounds)}}}" if bounds else ""
        return f"{shown}{above}\n{below}"

    lines = []
    for title, rows in _tables(table, cell, "--\n"):
        body = []
        for method, *cells in rows:
            scores, bounds = zip(*(each.split("\n") for each in cells), strict=True)
            body += [latex_line([escaped_latex(method), *scores]), latex_line(["", *bounds])]
        head = ["method", *table.corpora]
        lines += latex_tabular(title, "l" + "r" * len(table.corpora), head, body)
    legend = _legend(table, "Bold: best of the column")
    return "\n".join([*lines, *map(latex_comment, legend), ""])


def _tables(
    table: PaperTable, write: WriteCell, missing: str
) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield title and rows of each metric: the name of a method, and a cell for each corpus."""
    for metric in table.metrics:
        spec = table.specs[metric]

        def cell(corpus: str, method: str, metric: str = metric, spec: MetricSpec = spec) -> str:
            row = table.cells.get((metric, corpus, method))
            if row is None:
                return missing
            marker = row.difference.marker if row.difference is not None else ""
            bounds = "" if isnan(row.low) else spec.interval(row.low, row.high)
            best = table.is_best(metric, corpus, method)
            return write(spec.text(row.score), marker, bounds, best)

        title = f"{metric} · {table.task}"
        title += "" if spec.higher_is_better else " · lower is better"
        title += "" if metric in table.family else " · descriptive, not tested"
        yield title, [[m, *(cell(corpus, m) for corpus in table.corpora)] for m in table.methods]


def _legend(table: PaperTable, best: str) -> list[str]:
    lines = [
        f"{best}; below a score: its 95% interval.",
        f"Different from {table.baseline} on the same queries: * p < .05, ** p < .01, "
        f"*** p < .001 (paired randomisation test of {', '.join(table.family)}, two-sided, "
        f"corrected for {counted(table.n_tests, 'test')} over all corpora, Holm).",
    ]
    rows = list(table.cells.values())
    power = power_of_tests(rows, table.family, table.specs)
    return [*table.remarks, *lines, *power, *table.notes]
