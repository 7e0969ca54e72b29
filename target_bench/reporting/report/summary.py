"""The figures at the top of a report: scores, differences with tests, times, slices."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import MetricSpec
from target_bench.core.schema import Dataset
from target_bench.metrics.scores import (
    answer_metrics,
    deciding_metric,
    is_perfect,
    leading,
    ranking_metrics,
    spec_of,
)
from target_bench.reporting.compare import compare, most_tables
from target_bench.reporting.comparison import (
    Comparison,
    Row,
    best_run,
    is_undecided,
    legend,
    upper_bounds,
)
from target_bench.reporting.report.report_runs import ReportRun
from target_bench.reporting.web import NONE, count, milliseconds, score, seconds
from target_bench.runs.slicing import (
    MissingPluginError,
    Partition,
    by_name,
    by_property,
    part_score,
    partition,
)
from target_bench.runs.times import LATENCY, left_out_note

_LARGEST_SLICES = 12
_SLICE_FIELDS = 6


def spec(runs: Sequence[ReportRun], metric: str) -> MetricSpec:
    """Find the declaration of a metric that a run has."""
    return spec_of(metric, _all_scores(runs).get(metric))


def shown_metrics(runs: Sequence[ReportRun]) -> list[str]:
    """List the metrics of the summary: the one that decides, then those of answers and rankings.

    What a narrow screen shows without scrolling is what tells the runs apart. ``perfect_metrics``
    and those over no query are not among them.
    """
    perfect = perfect_metrics(runs)
    listed = [name for name in _listed(runs) if name not in perfect]
    scores = {
        name: [run.scores[name]["value"] for run in runs if name in run.scores] for name in listed
    }
    return [name for name in listed if any(value is not None for value in scores[name])] or listed


def perfect_metrics(runs: Sequence[ReportRun]) -> list[str]:
    """List main metrics of which all of several runs have the best possible score, as 1.000.

    One that runs are compared by is never among them.
    """
    mains = main_metrics(runs)[0]
    return [
        name
        for name in _listed(runs)
        if len(runs) > 1 and name not in mains
        if all(is_perfect(name, run.scores[name]) for run in runs if name in run.scores)
    ]


def _listed(runs: Sequence[ReportRun]) -> list[str]:
    """List the main metrics: those that decide, of answers, of rankings by cutoff; else all."""
    scores = _all_scores(runs)
    answered = _all_scores([run for run in runs if run.answers is not None])
    main = [*answer_metrics(answered, every=True), *ranking_metrics(scores)] or list(scores)
    deciding = [name for name in main_metrics(runs)[0] if name in main]
    return list(dict.fromkeys([*deciding, *main]))


def best_first(runs: Sequence[ReportRun]) -> list[int]:
    """Return the places of the runs, the best by the metric that decides first, then the bounds.

    Where runs have different ones they stay in their order.
    """
    metric, *others = main_metrics(runs)[0]
    if metric is None or set(others) - {metric}:
        return list(range(len(runs)))
    merit = spec(runs, metric).merit

    def place(i: int) -> tuple[bool, float]:
        value = runs[i].scores[metric]["value"]
        return runs[i].run.is_bound, float("inf") if value is None else -merit(value)

    return sorted(range(len(runs)), key=place)


def unlabelled(runs: Sequence[ReportRun]) -> str:
    """Say how many queries have no reference or no answer, and what that means; empty if none."""
    n, n_queries = max((run.run.n_unlabelled, run.run.n_queries) for run in runs)
    none = max((run.run.answer_counts or run.run.counts).unanswerable for run in runs)
    sentence = f"No table answers {none:,} of {n_queries:,} queries: only scores of abstention and "
    sentence = f"{sentence}refusal are over these." if none else ""
    if not n:
        return sentence
    if n == n_queries and any(run.run.scores for run in runs):
        return "No query has a reference: the scores are of metrics that need none."
    if n == n_queries:
        return _WITHOUT_REFERENCES if runs[0].answers is not None else _WITHOUT_GOLD
    others = f"{n:,} of {n_queries:,} queries have no reference; scores are over the others."
    return f"{others} {sentence}".rstrip()


_WITHOUT_REFERENCES = "These are predictions without scores: no query has a reference."
_WITHOUT_GOLD = (
    "No query has a gold table, so there are no scores. The queries on which rankings differ most "
    "come first. To label their tables: target-bench labels form."
)


def all_metrics(runs: Sequence[ReportRun]) -> list[str]:
    """List every metric that any run has, in the order they are recorded."""
    return list(_all_scores(runs))


def lower_is_better(runs: Sequence[ReportRun]) -> list[str]:
    """List the metrics of which a lower value is better."""
    scores = _all_scores(runs)
    return [name for name in scores if not spec_of(name, scores[name]).higher_is_better]


def _all_scores(runs: Sequence[ReportRun]) -> dict[str, Mapping[str, Any]]:
    """Name -> score of the first run that has it, in the order they are recorded."""
    scores: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        scores |= {name: score for name, score in run.scores.items() if name not in scores}
    return scores


def best(runs: Sequence[ReportRun], metric: str) -> float | None:
    """Find the best value of a metric, if several systems have it and they differ."""
    systems = [run for run in runs if not run.run.is_bound]
    stored = [run.scores[metric]["value"] for run in systems if metric in run.scores]
    values = [value for value in stored if value is not None]  # None is a score over no query
    if len(values) < 2 or max(values) == min(values):
        return None
    return float(max(values, key=spec(runs, metric).merit))


def main_metrics(runs: Sequence[ReportRun]) -> tuple[list[str | None], str | None]:
    """List the metric that stands for each run: one for all of them, where there is one.

    That which leads (``scores.leading``), as in the terminal: of answers if all runs have some,
    else of rankings at the largest cutoff they share unless it is saturated there; without any,
    each run's own. None for a run without scores.

    Returns:
        The metrics; a sentence about a saturated one, or None.
    """
    k = max(set.intersection(*(set(run.cutoffs) for run in runs)), default=None)
    answered = [{n: run.scores[n] for n in answer_metrics(run.scores)} for run in runs]
    ranked = [_of_rankings(run) for run in runs]
    for of_runs in (answered, ranked):
        metrics = [leading([scores], k=k)[0] if scores else None for scores in of_runs]
        if None not in metrics and len(set(metrics)) == 1:
            systems = [s for run, s in zip(runs, of_runs, strict=True) if not run.run.is_bound]
            n_tables = most_tables(run.run for run in runs)
            lead, why = leading(systems or of_runs, k=k, n_tables=n_tables)
            return [lead] * len(runs), why
    return metrics, None


def outcome_metric(run: ReportRun) -> str | None:
    """Choose the metric that says whether an answer is right; None where there is none."""
    return deciding_metric(run.scores)


def _of_rankings(run: ReportRun) -> Mapping[str, Any]:
    """Return the scores of a run's rankings; all of its scores where it has none of them."""
    return {name: run.scores[name] for name in ranking_metrics(run.scores)} or run.scores


@dataclass(frozen=True, slots=True)
class Differences:
    """Runs of one task, each compared with the best of them.

    Attributes:
        metric: what they are compared by.
        best: what the run is called that the others are compared with.
        rows: of each other run, by its name in the report; the best score first.
        sentence: the result, or why there is none.
        explained: how differences were tested, in sentences.
    """

    metric: str
    best: str
    rows: Sequence[Row]
    sentence: str
    explained: Sequence[str]

    @property
    def undecided(self) -> list[str]:
        """The runs that are not significantly different from the best."""
        return [row.run for row in self.rows if is_undecided(row)]


def differences(runs: Sequence[ReportRun], metrics: Sequence[str | None]) -> list[Differences]:
    """Compare the runs of each task with the best of them, but for the bounds (as ``oracle``).

    Args:
        runs: the runs.
        metrics: the metric that stands for each; None for a run without scores.
    """
    compared = []
    for task in dict.fromkeys(run.run.task for run in runs):
        scored = [
            (run, metric)
            for run, metric in zip(runs, metrics, strict=True)
            if run.run.task == task and metric and run.scores[metric]["value"] is not None
            if not run.run.is_bound
        ]
        named = {metric for _, metric in scored}
        if len(scored) > 1 and len(named) == 1:
            bounds = [run for run in runs if run.run.task == task and run.run.reads_gold]
            compared.append(_compared([run for run, _ in scored], bounds, named.pop()))
    return compared


def _compared(runs: Sequence[ReportRun], bounds: Sequence[ReportRun], metric: str) -> Differences:
    declared = spec(runs, metric)
    ordered = sorted(runs, key=lambda run: -declared.merit(run.scores[metric]["value"]))
    best = ordered[0]
    try:
        comparison = compare([run.run.folder for run in ordered], [metric], best.run.folder)
    except (ConfigError, DataError) as error:  # as of other versions: the report shows both
        return Differences(metric, best.label, [], f"The runs were not compared: {error}", [])
    named = _named(comparison, {run.run.folder.resolve(): run.label for run in ordered})
    scored = {run.label: run.scores[metric]["value"] for run in bounds if metric in run.scores}
    known = {label: value for label, value in scored.items() if value is not None}
    above = upper_bounds(known, best.scores[metric]["value"], declared)
    sentence = " ".join(filter(None, (best_run(named), above)))
    return Differences(metric, best.label, named.rows[1:], sentence, legend(named))


def _named(comparison: Comparison, labels: Mapping[Path, str]) -> Comparison:
    """Return the comparison with the names that the runs have in the report."""
    new = {name: labels[path.resolve()] for name, path in comparison.runs.items()}
    return replace(
        comparison,
        runs={new[name]: path for name, path in comparison.runs.items()},
        baseline=new[comparison.baseline],
        rows=tuple(replace(row, run=new[row.run]) for row in comparison.rows),
    )


@dataclass(frozen=True, slots=True)
class Sliced:
    """A metric over the queries of each value of a slice.

    Attributes:
        name: what divides the queries.
        values: the values in their natural order.
        n: how many scored queries have each.
        means: one list per run: its score of each; NaN where it has none.
        top: the best score possible, or the largest one where there is a larger one.
        left_out: how many rarer values are not listed.
    """

    name: str
    values: list[str]
    n: list[int]
    means: list[list[float]]
    top: float
    left_out: int

    @property
    def is_even(self) -> bool:
        """Whether all scores look the same, as 1.000."""
        return len({score(mean) for means in self.means for mean in means}) == 1

    @property
    def lengths(self) -> list[list[float]]:
        """The lengths of bars for the means, in percent of ``top``."""
        return [
            [0 if np.isnan(mean) else round(max(mean, 0) / self.top * 100, 1) for mean in of_run]
            for of_run in self.means
        ]


def sliced(
    runs: Sequence[ReportRun],
    metrics: Sequence[str | None],
    dataset: Dataset,
    by: Sequence[str] = (),
) -> list[Sliced]:
    """Score a metric of each run over the parts of the queries.

    Args:
        runs: the runs.
        metrics: one each.
        dataset: the queries.
        by: the properties; default: the first that put queries together.

    Raises:
        ConfigError: the queries have no such property.
    """
    columns = by_property(dataset.queries)
    if by:
        shown = {name: by_name(columns, name) for name in by}
    else:
        partitions = {name: partition(column) for name, column in columns.items()}
        grouping = [name for name, divided in partitions.items() if divided.groups]
        shown = {name: partitions[name] for name in grouping[:_SLICE_FIELDS]}
    ids = [query.id for query in dataset.queries]
    return [_sliced(name, divided, runs, metrics, ids) for name, divided in shown.items()]


def _sliced(
    name: str,
    divided: Partition,
    runs: Sequence[ReportRun],
    metrics: Sequence[str | None],
    ids: Sequence[str],
) -> Sliced:
    kept = divided.largest(_LARGEST_SLICES)
    part_of = dict(zip(ids, divided.codes.tolist(), strict=True))
    known = [run.values[m] for run, m in zip(runs, metrics, strict=True) if m is not None]
    scored = divided.codes[~np.isnan(known).all(axis=0)]
    means = [_part_scores(run, m, part_of, kept) for run, m in zip(runs, metrics, strict=True)]
    tops = [spec([run], m).top for run, m in zip(runs, metrics, strict=True) if m is not None]
    return Sliced(
        name,
        [str(divided.values[i]) for i in kept],
        np.bincount(scored[scored >= 0], minlength=len(divided.values))[kept].tolist(),
        means,
        max([*tops, *(mean for of_run in means for mean in of_run if not np.isnan(mean))]),
        len(divided.values) - len(kept),
    )


def _part_scores(
    run: ReportRun, metric: str | None, part_of: Mapping[str, int], parts: Sequence[int]
) -> list[float]:
    """Return the score of each part of the queries; NaN where there is none.

    It is that of the part alone: the BLEU of its answers, not the mean of their BLEU.
    """
    if metric is None or run.scores[metric]["value"] is None:
        return [float("nan")] * len(parts)
    result = run.run if metric in {*run.run.scores} else run.run.retrieval
    try:
        measured = result.measured(metric)
    except MissingPluginError:
        return [float("nan")] * len(parts)
    places = np.array([part_of[query_id] for query_id in result.query_ids])
    return [part_score(measured, places == part, None).value for part in parts]


def queries_and_times(runs: Sequence[ReportRun]) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Lay out how many queries were asked, failed and so on, and how long that took.

    Returns:
        The columns, each with a cell a run; and the names of those that would hold 0 alone. One
        without any number is left out.
    """
    columns: dict[str, list[str]] = {}
    zeros: list[str] = []

    def add(name: str, values: Sequence[float | None], form: Callable[[Any], str] = count) -> None:
        if set(values) == {0}:
            zeros.append(name)
        elif any(value is not None for value in values):
            columns[name] = [form(value) for value in values]

    def add_time(name: str, part: str, stage: str) -> None:
        times = [run.run.times for run in runs]
        form = seconds if name == "index" else milliseconds
        values = [
            (t.latency or {}).get(part) if stage == LATENCY else getattr(t, part) for t in times
        ]
        if any(value is not None for value in values) or any(stage in t.left_out for t in times):
            columns[name] = [form(value) for value in values]

    counts = [run.run.retrieval.counts for run in runs]
    answers = [run.answers for run in runs]
    add("asked", [each.asked for each in counts])
    if any(run.is_ranked for run in runs):
        names = {"answered": "ranked", "failed": "failed", "empty": "no table", "short": "short"}
        for part, name in names.items():
            add(name, [getattr(each, part) for each in counts])
    add("gold corrected", [run.run.n_contested or None for run in runs])
    for part in ("dropped", "mapped"):  # of the queries whose gold tables are gone
        add(f"gold gone: {part}", [run.run.missing_gold.get(part) for run in runs])
    for part, name in _OF_ANSWERS.items():
        add(name, [None if each is None else getattr(each, part) for each in answers])
    if any(each and each.cost for each in answers):
        costs = [each.cost if each else None for each in answers]
        add("cost", costs, lambda cost: f"{cost:.4f}" if cost else NONE)
    sizes = [run.run.index_bytes for run in runs]
    megabytes = [None if size is None else size / 1e6 for size in sizes]
    add("index MB", megabytes, lambda size: score(size, 2))
    for name, part, stage in _TIMES:
        add_time(name, part, stage)
    return list(columns.items()), zeros


_TIMES = (
    ("index", "index", "embed_corpus"),
    ("ranking", "retrieve", "retrieve"),
    ("answer", "generate", "generate"),
    ("p50", "p50", LATENCY),
    ("p95", "p95", LATENCY),
)
"""Columns of times: name, entry of ``ColdTimes`` or of its latency, stage."""

_OF_ANSWERS = {
    "answered": "answered",
    "failed": "failed answers",
    "unparsed": "not read",
    "truncated": "tables cut",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
}


def times_note(runs: Sequence[ReportRun]) -> str:
    """Explain which times are not shown; empty if all are."""
    return left_out_note(run.run.times.left_out for run in runs) or ""
