"""The figures at the top of a report: scores, differences with tests, times, slices."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isnan, nan
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric import Score
from target_bench.core.schema import Dataset
from target_bench.metrics.scores import (
    choose_metric_between_runs,
    find_spec,
    find_specs,
    list_answer_metrics,
    list_ranking_metrics,
)
from target_bench.reporting.compare import compare_results, count_tables
from target_bench.reporting.layouts import describe_tests
from target_bench.reporting.report.report_runs import ReportRun
from target_bench.reporting.sentences import (
    describe_differences,
    describe_other_databases,
    describe_upper_bounds,
    list_best,
    list_names,
)
from target_bench.reporting.web import count, duration, score
from target_bench.runs.result import Result
from target_bench.runs.score_tables import list_databases
from target_bench.runs.slicing import (
    MissingPluginError,
    Partition,
    divide,
    divide_by,
    read_metric,
    read_properties,
    score_part,
)
from target_bench.runs.times import LATENCY, describe_left_out

Shown = dict[str, Any]
"""Variables of the template."""

_MOST_VALUES = 12  # of a property that scores are shown for
_MOST_PROPERTIES = 6


def summarize(runs: Sequence[ReportRun], dataset: Dataset, by: Sequence[str] = ()) -> Shown:
    """Return all that the templates show of scores and times."""
    mains, why = choose_main_metrics(runs)
    specs = find_specs(_scores(runs))
    return {
        "unlabelled": describe_unlabelled(runs),
        "order": order_runs(runs),
        "mains": [metric for metric in mains if metric],
        "digits": [specs[metric].digits if metric else 3 for metric in mains],
        "saturated": why,
        "by_database": _describe_databases(runs, mains),
        "specs": specs,
        "metrics": list_metrics(runs),
        "best": {metric: find_best(runs, metric) for metric in specs},
        "differences": list_differences(runs, mains),
        "wrong": list_reasons(runs),
        "columns": count_queries_and_times(runs),
        "times_note": describe_left_out(run.result.times for run in runs) or "",
        "slices": score_slices(runs, mains, dataset, by) if any(mains) else [],
    }


# Metrics


def choose_main_metrics(runs: Sequence[ReportRun]) -> tuple[list[str | None], str | None]:
    """List the metric that stands for each run: one for all of them, where there is one.

    As in the terminal: of answers if all runs have the same, else of rankings at the largest cutoff
    they share; else each run's own metric of rankings, or of answers where it has no other. None
    for a run without scores. Second comes why the metric cannot choose between the runs, or None.
    """
    k = max(set.intersection(*(set(run.cutoffs) for run in runs)), default=None)
    answered = [{n: run.scores[n] for n in list_answer_metrics(run.scores)} for run in runs]
    ranked = [
        {name: run.scores[name] for name in list_ranking_metrics(run.scores)} or run.scores
        for run in runs
    ]
    for candidates in (answered, ranked):
        metrics = [
            choose_metric_between_runs([scores], k=k)[0] if scores else None
            for scores in candidates
        ]
        if None not in metrics and len(set(metrics)) == 1:
            pairs = zip(runs, candidates, strict=True)
            systems = [scores for run, scores in pairs if not run.result.identity.is_bound]
            n_tables = count_tables(run.result for run in runs)
            lead, why = choose_metric_between_runs(systems or candidates, k=k, n_tables=n_tables)
            return [lead] * len(runs), why
    return metrics, None


def list_metrics(runs: Sequence[ReportRun]) -> list[str]:
    """List the metrics of the summary: the one that decides, then those of answers and rankings.

    A narrow screen shows the first ones without scrolling. Those over no query are left out.
    """
    scores = _scores(runs)
    answered = _scores([run for run in runs if run.answers is not None])
    main = [
        *list_answer_metrics(answered, include_long=True),
        *list_ranking_metrics(scores),
    ] or list(scores)
    deciding = [name for name in choose_main_metrics(runs)[0] if name in main]
    listed = dict.fromkeys([*deciding, *main])
    return [name for name in listed if _values(runs, name)] or list(listed)


def find_best(runs: Sequence[ReportRun], metric: str) -> float | None:
    """Find the best value of a metric, if several systems have it and they differ."""
    values = _values([run for run in runs if not run.result.identity.is_bound], metric)
    if len({*values.values()}) < 2:
        return None
    return max(values.values(), key=find_spec(metric, _scores(runs)[metric]).merit)


def order_runs(runs: Sequence[ReportRun]) -> list[int]:
    """Return the runs as numbers, the best by the metric that decides first, then the bounds.

    Where runs have different ones they stay in their order.
    """
    metric, *others = choose_main_metrics(runs)[0]
    if metric is None or set(others) - {metric}:
        return list(range(len(runs)))
    spec, values = find_spec(metric, runs[0].scores[metric]), _values(runs, metric)

    def sort_key(i: int) -> tuple[bool, float]:
        return runs[i].result.identity.is_bound, -spec.merit(values[i]) if i in values else inf

    return sorted(range(len(runs)), key=sort_key)


def _scores(runs: Sequence[ReportRun]) -> dict[str, Score]:
    """Name -> score of the first run that has it, in the order they are recorded."""
    scores: dict[str, Score] = {}
    for run in runs:
        scores |= {name: score for name, score in run.scores.items() if name not in scores}
    return scores


def _values(runs: Sequence[ReportRun], metric: str) -> dict[int, float]:
    """Return run, as a number -> its value of a metric, where it is over any query."""
    values = {i: run.scores[metric].value for i, run in enumerate(runs) if metric in run.scores}
    return {i: value for i, value in values.items() if not isnan(value)}


def describe_unlabelled(runs: Sequence[ReportRun]) -> str:
    """Say how many queries have no reference, and what that means; empty if none."""
    counts = [run.result.stored.answers or run.result.stored.counts for run in runs]
    n, n_queries = max((each.unlabelled, each.asked) for each in counts)
    if n == n_queries > 0:
        if any(run.result.stored.scores for run in runs):
            return "No query has a reference: the scores are of metrics that need none."
        if runs[0].answers is not None:
            return "These are predictions without scores: no query has a reference."
        return (
            "No query has a gold table, so there are no scores. The queries on which rankings "
            "differ most come first; docs/data.md says how to label their tables."
        )
    if not n:
        return ""
    return f"{n:,} of {n_queries:,} queries have no reference; scores are over the others."


# Differences


def list_differences(runs: Sequence[ReportRun], metrics: Sequence[str | None]) -> list[Shown]:
    """Compare the runs of each task with the best of them, but for the bounds (as ``oracle``)."""
    compared = []
    for task in dict.fromkeys(run.result.identity.task for run in runs):
        mains = {
            run: m for run, m in zip(runs, metrics, strict=True) if run.result.identity.task == task
        }
        # by the run that has the scores, for answers may be built on the same rankings
        systems = list(
            {
                _find_scored(run, main).folder: run
                for run, main in mains.items()
                if not run.result.identity.is_bound and main and _values([run], main)
            }.values()
        )
        shared = {mains[run] for run in systems}
        if len(systems) > 1 and len(shared) == 1 and (metric := shared.pop()):
            bounds = [run for run in mains if run.result.identity.reads_gold]
            compared.append(_compare_systems(systems, bounds, metric))
    return compared


def _find_scored(run: ReportRun, metric: str) -> Result:
    """Return the run with the scores of a metric: it, or that of the rankings it is built on."""
    return run.result if metric in run.result.stored.scores else run.result.rankings_result


def _compare_systems(runs: Sequence[ReportRun], bounds: Sequence[ReportRun], metric: str) -> Shown:
    spec = find_spec(metric, runs[0].scores[metric])
    ordered = sorted(runs, key=lambda run: -spec.merit(run.scores[metric].value))
    best = ordered[0]
    shown = {"metric": metric, "best": best.label, "rows": [], "undecided": []}
    stored = [_find_scored(run, metric) for run in ordered]
    try:
        comparison = compare_results(stored, [metric], stored[0])
    except (ConfigError, DataError) as error:  # as of other versions: the report shows both
        return shown | {"sentence": f"The runs were not compared: {error}", "explained": []}
    label = dict(zip(comparison.systems, (run.label for run in ordered), strict=True))
    rows = tuple(replace(row, system=label[row.system]) for row in comparison.rows)
    highest = best.scores[metric].value
    known = {bounds[i].label: value for i, value in _values(bounds, metric).items()}
    names = list_best(((run.label, run.scores[metric].value) for run in ordered), highest)
    verb = "is best" if len(names) == 1 else "tie as the best"
    first = f"{list_names(names)} {verb} by {metric}: {spec.text(highest)}"
    untied = [row for row in rows if row.score.value != highest]
    parts = [first, *describe_differences(untied)]
    above = describe_upper_bounds(known, highest, spec)
    return shown | {
        "rows": rows[1:],
        "undecided": [r.system for r in rows[1:] if r.verdict == "not significantly different"],
        "sentence": " ".join(filter(None, (f"{'; '.join(parts)}.", above))),
        "explained": describe_tests(replace(comparison, baseline=best.label, rows=rows)),
    }


def _describe_databases(runs: Sequence[ReportRun], mains: Sequence[str | None]) -> str:
    """Say the interval of the best run where the databases are a sample, too; empty without any."""
    first = order_runs(runs)[0]
    run, metric = runs[first], mains[first]
    if metric is None or not list_databases(run.result):
        return ""
    return describe_other_databases(_find_scored(run, metric), metric, run.label) or ""


# Slices


def score_slices(
    runs: Sequence[ReportRun],
    metrics: Sequence[str | None],
    dataset: Dataset,
    by: Sequence[str] = (),
) -> list[Shown]:
    """Score a metric of each run over the parts of the queries."""
    columns = read_properties(dataset.queries)
    if by:
        shown = {name: divide_by(columns, name) for name in by}
    else:
        partitions = {name: divide(column) for name, column in columns.items()}
        grouping = [name for name, divided in partitions.items() if divided.is_informative]
        shown = {name: partitions[name] for name in grouping[:_MOST_PROPERTIES]}
    ids = [query.id for query in dataset.queries]
    pairs = list(zip(runs, metrics, strict=True))
    scored = [(run, metric) for run, metric in pairs if metric is not None]
    judged = ~np.isnan([run.values[metric] for run, metric in scored]).all(axis=0)
    top = max(find_spec(metric, run.scores[metric]).top for run, metric in scored)
    parts = []
    for name, divided in shown.items():
        kept = divided.find_frequent(_MOST_VALUES)
        means = [_score_parts(run, metric, ids, divided, kept) for run, metric in pairs]
        longest = np.nanmax([[top] * len(kept), *means])
        lengths = np.nan_to_num(100 * np.clip(means, 0, None) / longest)
        parts.append(
            {
                "name": name,
                "values": [str(divided.values[i]) for i in kept],
                "n": [int((judged & (divided.codes == i)).sum()) for i in kept],
                "means": means,
                "lengths": lengths.round(1).tolist(),
                "left_out": len(divided.values) - len(kept),
            }
        )
    return parts


def _score_parts(
    run: ReportRun, metric: str | None, ids: Sequence[str], divided: Partition, kept: Sequence[int]
) -> list[float]:
    """Return the score of each part of the queries; NaN where there is none.

    It is that of the part alone: the BLEU of its answers, not the mean of their BLEU.
    """
    if metric is None or not _values([run], metric):
        return [nan] * len(kept)
    result = run.result if metric in {*run.result.stored.scores} else run.result.rankings_result
    try:
        measured = read_metric(result, metric)
    except MissingPluginError:
        return [nan] * len(kept)
    codes = dict(zip(ids, divided.codes, strict=True))
    codes_of_scored = np.array([codes[query_id] for query_id in result.per_query.ids])
    return [score_part(measured, codes_of_scored == part, None).value for part in kept]


# Queries and times

_RANKING_COUNTS = {"answered": "ranked", "failed": "failed", "empty": "no table", "short": "short"}
_ANSWER_COUNTS = {
    "answered": "answered",
    "failed": "failed answers",
    "unparsed": "not read",
    "truncated": "tables cut",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
}


def list_reasons(runs: Sequence[ReportRun]) -> Shown:
    """Lay out why the answers of each run are wrong, and with which outcomes."""
    rows = [
        (i, why, counts)
        for i, run in enumerate(runs)
        if run.result.stored.report
        for why, counts in run.task.view.breakdown(run.result.stored.report).items()
    ]
    totals = Counter[str]()
    for _, _, counts in rows:
        totals.update(counts)
    outcomes = [name for name, _ in totals.most_common()]
    return {"rows": rows, "outcomes": outcomes}


def count_queries_and_times(runs: Sequence[ReportRun]) -> dict[str, list[str]]:
    """Lay out how many queries were asked, failed and so on, and how long that took."""
    counts, answers = (
        [run.result.rankings_result.stored.counts for run in runs],
        [run.answers for run in runs],
    )
    numbers: dict[str, Sequence[float | None]] = {"asked": [each.asked for each in counts]}
    if any(run.is_ranked for run in runs):
        for part, name in _RANKING_COUNTS.items():
            numbers[name] = [getattr(each, part) for each in counts]
    for part, name in _ANSWER_COUNTS.items():
        numbers[name] = [getattr(each, part, None) for each in answers]
    columns = {n: [count(v) for v in values] for n, values in numbers.items() if any(values)}
    costs = [each.cost if each else None for each in answers]
    if any(costs):
        columns["cost"] = [score(cost or None, 4) for cost in costs]
    times = [run.result.times for run in runs]
    latencies: list[Mapping[str, float]] = [each.latency or {} for each in times]
    for name, stage, spent in (
        ("index", "embed_corpus", [each.seconds.get("embed_corpus") for each in times]),
        ("ranking", "retrieve", [each.milliseconds.get("retrieve") for each in times]),
        ("answer", "generate", [each.milliseconds.get("generate") for each in times]),
        ("p50", LATENCY, [each.get("p50") for each in latencies]),
        ("p95", LATENCY, [each.get("p95") for each in latencies]),
    ):
        if any(t is not None for t in spent) or any(stage in each.left_out for each in times):
            scale = 1 if name == "index" else 1000
            columns[name] = [duration(t and t / scale) for t in spent]
    return columns
