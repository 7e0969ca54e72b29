"""Verdicts: rows and runs in sentences for the screen, the report and the gate."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import isclose, isnan

from target_bench.core.errors import TargetBenchError
from target_bench.core.metric import MetricSpec, split_cutoff
from target_bench.core.text_tables import count_noun, p_text
from target_bench.metrics.scores import find_spec, list_ranking_metrics
from target_bench.metrics.stats import ALPHA, FEWEST, POWER
from target_bench.reporting.compare import compare_results, leading_metric
from target_bench.reporting.rows import Comparison, Row
from target_bench.runs.result import SYNTHETIC, Result
from target_bench.runs.score_tables import interval_by_database, is_sampled, list_databases

_MOST_NAMES = 4


def list_names(names: Sequence[str]) -> str:
    """Join names in a sentence, the first few of many."""
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    *first, last = [*names[:_MOST_NAMES], *more]
    separator = "; " if any(", " in name for name in names) else ", "  # as of "bm25, k1=0.9"
    return f"{separator.join(first)} and {last}" if first else last


def capitalize(text: str) -> str:
    """Return a text as a sentence begins; the rest stays as it is."""
    return f"{text[:1].upper()}{text[1:]}"


def describe_differences(rows: Sequence[Row], about: str = "") -> list[str]:
    """Return parts of a sentence: which systems are better, not significantly different, worse."""
    parts = []
    for verdict in ("better", "not significantly different", "worse"):
        alike = [row for row in rows if row.difference is not None and row.verdict == verdict]
        if not alike:
            continue
        p = f"p < {p_text(ALPHA)}"
        if verdict == "not significantly different":
            lowest = min(row.difference.p_corrected or 0 for row in alike if row.difference)
            p = f"p {'=' if len(alike) == 1 or round(lowest, 2) == 1 else '≥'} {p_text(lowest)}"
        names = list_names([row.system for row in alike])
        parts.append(f"{verdict}: {names} ({about}{p})")
    return parts


def describe_comparison(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence for each tested metric: which systems differ from the baseline.

    Nothing is said of subsets of the queries, or of several corpora.
    """
    for metric in comparison.tested:
        rows = [row for row in comparison.rows if row.metric == metric]
        if len(comparison.corpora) > 1 or any(row.subset for row in rows):
            continue
        if parts := describe_differences(rows):
            yield f"Compared with {comparison.baseline} by {metric}: {'; '.join(parts)}."


def describe_power(rows: Sequence[Row], tested: Iterable[str]) -> Iterator[str]:
    """Yield which differences the queries are likely to show, a sentence for each tested metric."""
    for metric in tested:
        compared = [row for row in rows if row.metric == metric and row.difference is not None]
        least = {row.difference.detectable: row.score.n for row in compared if row.difference}
        few = {row.score.n for row in compared if _is_blind(row)}
        least.pop(None, None)
        sentences = []
        if least:
            low, high = min(filter(None, least)), max(filter(None, least))
            spec = compared[0].spec
            sizes = " to ".join(dict.fromkeys([spec.text(low), spec.text(high)]))
            sentences.append(
                f"smallest difference that {_join_numbers({least[low], least[high]})} queries can "
                f"detect: {sizes} (power {POWER} at p < {p_text(ALPHA)}, before correction)."
            )
        if few:
            sentences.append(
                f"{_join_numbers(few)} {'query is' if few == {1} else 'queries are'} too few to "
                f"show any difference at p < {p_text(ALPHA)}, however large: ask {FEWEST} at least."
            )
        if sentences:
            yield f"{metric}: {' '.join(sentences)}"


def _is_blind(row: Row) -> bool:
    return row.difference is not None and row.difference.detectable is None


def _join_numbers(numbers: Collection[int]) -> str:
    return " or ".join(f"{n:,}" for n in sorted(numbers, reverse=True))


def list_best(scores: Iterable[tuple[str, float]], best: float) -> list[str]:
    """List the systems that have the best score: several where they tie, but for rounding."""
    return [name for name, score in scores if isclose(score, best, rel_tol=1e-12)]


def describe_upper_bounds(values: Mapping[str, float], best: float, spec: MetricSpec) -> str | None:
    """Say which systems that read the gold score above the best one, if any do."""
    above = [
        f"{name} ({spec.text(value)})"
        for name, value in values.items()
        if spec.merit(value) > spec.merit(best)
    ]
    return f"Higher, by reading the gold: {list_names(above)}." if above else None


# The verdict of a run


def describe_run(results: Sequence[Result]) -> Iterator[str]:
    """Yield which system is best, and which others are significantly different.

    The best one by the main metric is tested against all others on the same queries (randomisation
    test, corrected for all tests). Upper and lower bounds are no systems.
    """
    systems = [
        result for result in results if result.stored.scores and not result.identity.is_bound
    ]
    systems = systems or [result for result in results if result.stored.scores]
    if not systems:
        yield "No question has a reference: nothing is scored."
        return
    metric, why = leading_metric(systems)
    scored = [r for r in systems if metric in r.stored.scores and not isnan(r.scores[metric].value)]
    spec = find_spec(metric, next((r.stored.scores[metric] for r in scored), None))
    best = max(scored or systems, key=lambda r: spec.merit(r.stored.scores[metric].value))
    yield _describe_best(best, metric, [(r.command.label, r.scores[metric].value) for r in scored])
    if by_database := describe_other_databases(best, metric):
        yield by_database
    golden = [r for r in results if r.identity.reads_gold and metric in r.stored.scores]
    values = {result.command.label: result.stored.scores[metric].value for result in golden}
    if above := describe_upper_bounds(values, best.stored.scores[metric].value, spec):
        yield above
    for result in systems:
        yield from _describe_failures(result)
    others = [result for result in scored if result is not best]
    if others:
        yield from _describe_others(best, others, metric, why)
        yield from _describe_sets(scored, metric)
    if any(result.per_query.are_synthetic for result in systems):
        yield SYNTHETIC


def _describe_best(best: Result, metric: str, scores: Sequence[tuple[str, float]]) -> str:
    n = count_noun(best.stored.scores[metric].n, "question")
    n = f"a sample of {n}" if is_sampled(best) else n
    value = find_spec(metric, best.stored.scores[metric]).text(best.scores[metric].value)
    names, alone = list_best(scores, best.scores[metric].value), len(scores) < 2
    if len(names) > 1:
        family, k = split_cutoff(metric)
        if family == "recall" and k:
            value = f"{_percent(best.scores[metric].value)} of the right tables {_depth(k)}"
        else:
            value = f"{metric} {value}"
        return f"{list_names(names)} tie as the best: {value} ({n})."
    recalls = [
        name for name in list_ranking_metrics(best.stored.scores) if name.startswith("recall@")
    ]
    if best.identity.has_answers or not recalls:
        return f"{best.command.label}{':' if alone else ' is best:'} {metric} {value} ({n})."
    deep = "recall@10" if "recall@10" in recalls else recalls[-1]
    shares = {
        int(name.partition("@")[2]): best.stored.scores[name].value for name in (recalls[0], deep)
    }
    (first, share), *deeper = shares.items()
    more = "".join(f", {_percent(value)} {_depth(k)}" for k, value in deeper)
    subject = f"{best.command.label}{':' if alone else ' ranks best:'}"
    return f"{subject} {_percent(share)} of the right tables {_depth(first)}{more} ({n})."


def describe_other_databases(run: Result, metric: str, label: str = "") -> str | None:
    """Say the interval of a score where the databases are a sample, too; None without any."""
    bounds = interval_by_database(run, metric)
    if bounds is None or isnan(bounds[0]):
        return None
    interval = find_spec(metric, run.stored.scores[metric]).interval(*bounds, ", ")
    n_databases = len(set(list_databases(run)))
    return (
        f"For other databases than these {n_databases}, the interval of "
        f"{label or run.command.label}'s {metric} is [{interval}]."
    )


def _describe_failures(result: Result) -> Iterator[str]:
    label, stored = result.command.label, result.stored
    asked = count_noun(stored.n_queries, "question")
    if stored.n_failed:
        yield f"{label} failed on {stored.n_failed} of {asked}, which score 0."
    if stored.answers and stored.answers.unparsed:
        unread = f"{stored.answers.unparsed:,} of {asked}"
        yield f"{label} gave unreadable answers to {unread}, which score 0."
    if differing := stored.report.get("outcomes", {}).get("translation_differs"):
        yield (
            f"{label}: {count_noun(differing, 'prediction')} gave other rows in DuckDB than in "
            "SQLite (translation_differs), scored by SQLite's."
        )
    if left_out := stored.report.get("not_runnable", {}).get("engines"):
        yield (
            f"{label}: {count_noun(left_out, 'question')} left out, as the gold is not the same in "
            "DuckDB as in SQLite."
        )


def _describe_sets(results: Sequence[Result], metric: str) -> Iterator[str]:
    """Say which systems, beside some that rank, return fewer tables than the metric counts."""
    _, k = split_cutoff(metric)
    sizes = {r.command.label: r.stored.scores.get("set_size") for r in results}
    for label, size in sizes.items() if None in sizes.values() else ():
        if k and size and size.value < k:
            yield (
                f"{label} returns {size.value:.1f} tables per question: compare set_f1 (run all "
                f"with --task retrieval:sets=true), not {metric}."
            )


def _percent(share: float) -> str:
    """Return a share without decimals, which is 0% or 100% only if it is exact."""
    if 0 < share < 0.005:
        return "under 1%"
    return "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"


_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _depth(k: int) -> str:
    if k == 1:
        return "first"
    return f"among the first {_NUMBERS[k - 2] if k <= 10 else k}"


def _describe_others(
    best: Result, others: Sequence[Result], metric: str, why: str | None
) -> Iterator[str]:
    """Say which of the others are worse than the best, and which not significantly different."""
    try:
        rows = compare_results([best, *others], [metric], best).rows[1:]
    except TargetBenchError as error:
        yield f"The others are not tested against it: {error}"
        return
    tested = [row for row in rows if row.difference]
    if tested and all(map(_is_blind, tested)):
        n = count_noun(rows[0].score.n, "question")
        yield f"{n} cannot show a significant difference: ask {FEWEST} at least."
        return
    if why:
        yield f"{why}."
    untied = [row for row in rows if row.score.value != best.scores[metric].value]
    if parts := describe_differences(untied, f"{metric}, "):
        yield " ".join(f"{capitalize(part)}." for part in parts)
