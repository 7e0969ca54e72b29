"""Scores as tables of text, one row a system, and what failed in sentences."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from target_bench.core.metric import Score, split
from target_bench.core.schema import Generation, Retrieval
from target_bench.core.task import NOT_JUDGED, SummaryBlock
from target_bench.core.text_tables import Column, Mark, TextTable, best_rows, count_noun, list_first
from target_bench.metrics import stats
from target_bench.metrics.scores import (
    canonical_name,
    edited_metrics,
    find_spec,
    is_built_in,
    ranking_metrics,
    table_metrics,
)
from target_bench.runs.slicing import measure
from target_bench.runs.times import describe_left_out

if TYPE_CHECKING:
    from target_bench.runs.result import Result

ScoresOfParts = Mapping[str, Mapping[str, Score]]
"""Value of a property -> metric -> score of the queries that have it."""

_IN_A_TABLE = 3
"""Metrics beside each other, with their intervals, in a terminal of 80 columns."""


def group_results(
    results: Iterable["Result"], more: Callable[["Result"], Any] = lambda _: None
) -> list[list["Result"]]:
    """Group results by task, corpus, split and distractors, and by one more value of each."""
    alike: dict[tuple[Any, ...], list[Result]] = {}
    for result in results:
        data = (
            result.identity.task,
            result.identity.corpus,
            result.identity.split,
            list_distractors(result),
        )
        key = (*data, result.command.retriever is not None, more(result))
        alike.setdefault(key, []).append(result)
    return list(alike.values())


def list_distractors(result: "Result") -> tuple[str, ...]:
    """Return the sets of tables that were mixed into the corpus, as they were asked for."""
    mixed_in = result.rankings_run.run.manifest.distractors
    return tuple(mixed.spec for mixed in mixed_in) or result.command.distractors


def score_tables(results: Iterable["Result"], every: bool = False) -> list[TextTable]:
    """Return scores with their intervals, one row a system, and the slices that were asked for.

    Results of the same queries at the same cutoffs share a table.
    """
    return [
        table
        for group in same_questions(results)
        for table in (*group_tables(group, every), *slice_tables(group))
    ]


def same_questions(results: Iterable["Result"]) -> list[list["Result"]]:
    """Return the results of each task, corpus, split, number of queries and set of cutoffs."""

    def size_and_cutoffs(result: "Result") -> tuple[Any, ...]:
        return result.stored.counts.asked, *(n for n in result.scores if n.startswith("recall@"))

    return group_results(results, size_and_cutoffs)


def group_tables(results: Sequence["Result"], every: bool = False) -> list[TextTable]:
    """Return the scores of one group of ``same_questions``, under a title."""
    metrics = shown_metrics(results)
    of_sets = [name for name in metrics if name in _OF_SETS]
    others = [name for name in metrics if name not in _OF_SETS]
    tables = [_table(results, others, write_title(results))] if others else []
    if of_sets:
        choosing = [result for result in results if not set(of_sets).isdisjoint(result.scores)]
        title = "sets of tables" if others else write_title(results)
        tables.append(_table(choosing, of_sets, title))
    families: dict[str, list[str]] = {}
    scored = [(name, score) for result in results for name, score in result.scores.items()]
    for name in dict.fromkeys(name for name, score in scored if score.n):
        family, k = split(name)
        families.setdefault(family if k else "", []).append(name)
    for names in families.values() if every else ():
        if not set(names) <= set(metrics):
            starts = range(0, len(names), _IN_A_TABLE)
            tables += [_table(results, names[i : i + _IN_A_TABLE], timed=False) for i in starts]
    return tables


def write_title(results: Sequence["Result"]) -> str:
    """Return corpus, task and number of queries of results that share them."""
    first = results[0]
    corpus = " + ".join([f"{first.identity.data}", *list_distractors(first)])
    return f"{corpus}: {first.identity.task}, {count_noun(first.stored.counts.asked, 'query')}"


def shown_metrics(results: Sequence["Result"]) -> list[str]:
    """Return the metrics worth a column.

    About answers: the deepest recall and the first two of the main figures. About rankings: recall
    at the smallest and the largest cutoff, that of databases at the smallest (TARGET's rule), and
    the metrics of sets, which are there where they were asked for. The user's own metrics and those
    that were asked for by name stand after them.
    """
    retrieved = any(
        r.command.retriever is not None and not r.identity.is_no_context for r in results
    )
    scores = [result.scores for result in results]
    main = metrics_worth_a_column(scores, bool(results[0].command.generator), retrieved)
    return list(dict.fromkeys([*main, *_list_asked(results)]))


def _list_asked(results: Sequence["Result"]) -> list[str]:
    """List the metrics of these runs that ``--metric`` named."""
    asked = [
        canonical_name(str(text).partition(":")[0])
        for result in results
        for text in (result.command.options or {}).get("metrics", ())
    ]
    return [name for name in asked if any(name in result.scores for result in results)]


def metrics_worth_a_column(
    of_runs: Sequence[Mapping[str, Score]], answered: bool, retrieved: bool
) -> list[str]:
    """Return what ``shown_metrics`` does, of the scores of runs."""
    scores = {name: score for scores in of_runs for name, score in scores.items()}
    names = list(scores)
    own = [name for name in names if not is_built_in(name)]
    own = [name for name in own if not _is_deeper(name, own)]
    built_in = {name: scores[name] for name in names if name not in own}
    if answered:
        main = table_metrics(built_in, retrieved)[:_IN_A_TABLE]
    else:
        ranked = ranking_metrics(built_in) or table_metrics(built_in)
        recalls = [name for name in ranked if name.startswith("recall@")]
        of_databases = [name for name in names if name.startswith("recall[db]@")]
        ends = [*recalls[:1], *recalls[1:][-1:], *of_databases[:1]]
        main = [*(ends or ranked[:_IN_A_TABLE]), *(name for name in names if name in _OF_SETS)]
    return [*main, *(name for name in own if name not in main)]


_OF_SETS = ("set_precision", "set_recall", "set_f1", "complete_recall", "set_size")


def _is_deeper(name: str, others: Sequence[str]) -> bool:
    """Whether others have the same metric at a larger cutoff."""
    family, k = split(name)
    return any(split(o)[0] == family and (split(o)[1] or 0) > (k or 0) for o in others)


def _table(
    results: Sequence["Result"], metrics: Sequence[str], title: str = "", timed: bool = True
) -> TextTable:
    first = results[0]
    columns = [Column("retriever")] if first.command.retriever else []
    columns += [Column("generator")] if first.command.generator else []
    same = {result.command.generator for result in results}
    if first.command.retriever and first.command.generator and len(same) == 1:  # named in the title
        columns.pop()
        title = title and f"{title}, answered by {first.command.names[-1]}"
    stage = "generate" if first.command.generator else "retrieve"
    measured = timed and any(result.times.latency for result in results)
    rows = [
        [
            *result.command.names[: len(columns)],
            *(score_cell(name, result.scores.get(name)) for name in metrics),
            *([result.times.write_milliseconds(stage)] if timed else []),
            *([_latency_cell(result.times.latency)] if measured else []),
        ]
        for result in results
    ]
    marks: dict[tuple[int, int], Mark] = {}
    for place, name in enumerate(metrics, start=len(columns)):
        scored = [result.scores.get(name) for result in results]
        merits = [nan if s is None else find_spec(name, s).merit(s.value) for s in scored]
        marks |= {(row, place): "good" for row in best_rows(merits)}
    columns += map(metric_column, metrics)
    note = None
    if timed:
        columns.append(Column("ms/query" if first.command.generator else "ms, batch", right=True))
        note = describe_left_out((result.times for result in results), (stage,))
    if measured:
        columns.append(Column("p50/p95 ms, single", right=True))
    return TextTable(columns, rows, title, note=note, marks=marks)


def _latency_cell(latency: Mapping[str, Any] | None) -> str:
    """Return the median and the 95th percentile of single queries, where they were measured."""
    return f"{latency['p50']:.2f}/{latency['p95']:.2f}" if latency else ""


def slice_tables(results: Sequence["Result"]) -> list[TextTable]:
    """Return the scores by each property of the queries that was asked for."""
    runs = [(result.command.label, score_parts(result)) for result in results if results[0].by]
    asked = _list_asked(results)
    return [slice_table(name, runs, asked) for name in dict.fromkeys(results[0].by)]


def score_parts(result: "Result") -> dict[str, ScoresOfParts]:
    """Return property -> value -> metric -> score, of the properties that were asked for."""
    return {name: result.scores_by(name) for name in result.by}


def slice_table(
    name: str,
    runs: Sequence[tuple[str, Mapping[str, ScoresOfParts]]],
    asked: Sequence[str] = (),
) -> TextTable:
    """Lay out the scores of runs by a property: one row per value and run.

    Args:
        name: the property.
        runs: name of each run, and its scores by property.
        asked: metrics that were asked for by name, which get a column each.
    """
    parts = [(run, by[name]) for run, by in runs]
    values = list(dict.fromkeys(value for _, by_value in parts for value in by_value))
    shown = table_metrics(
        {m: s for _, by in parts for part in by.values() for m, s in part.items()}
    )
    shown = list(dict.fromkeys([*shown, *asked]))
    rows = []
    for value in values:
        for run, by_value in parts:
            scores = by_value.get(value, {})
            n = next((scores[metric].n for metric in shown if metric in scores), None)
            cells = [score_cell(metric, scores.get(metric)) for metric in shown]
            rows.append([value, "" if n is None else f"{n:,}", run, *cells])
    columns = [Column(name), Column("n", right=True), Column("run")]
    rules = frozenset(range(len(parts), len(rows), len(parts))) if len(parts) > 1 else frozenset()
    return TextTable([*columns, *map(metric_column, shown)], rows, f"by {name}", rules)


def metric_column(name: str) -> Column:
    """Return the column of a metric with its interval; ``R@10`` is recall@10."""
    heading = re.sub("^recall@", "R@", name)
    return Column(f"{heading}\n[95%]", right=True)


def score_cell(name: str, score: Score | None) -> str:
    """Return a score above its interval; a dash where it is over no query, nothing without one."""
    if score is None or isnan(score.value):
        return "" if score is None else "–"
    spec = find_spec(name, score)
    if isnan(score.low) or isnan(score.high):
        return spec.text(score.value)
    return f"{spec.text(score.value)}\n[{spec.interval(score.low, score.high, ', ')}]"


# Documents

REQUEST = ("corpus", "split", "task", "retriever", "generator")
"""What says of a result what was run."""


def describe_request(result: "Result") -> dict[str, str | None]:
    """Return the values of ``REQUEST``."""
    identity, command = result.identity, result.command
    asked = (identity.corpus, identity.split, identity.task, command.retriever, command.generator)
    return dict(zip(REQUEST, asked, strict=True))


def to_document(result: "Result") -> dict[str, Any]:
    """Return a result as ``run --format json`` prints it."""
    answers, command = result.stored.answers, result.command
    document: dict[str, Any] = {
        "corpus": result.identity.corpus,
        "split": result.identity.split,
        "task": result.identity.task,
        "retriever": result.command.retriever,
        "generator": result.command.generator,
        "names": list(command.names),
        "n_queries": result.stored.counts.asked,
        "counts": result.stored.counts.to_json(),
        "answers": answers.to_json() if answers else None,
    }
    if result.stored.report:
        document["report"] = dict(result.stored.report)
    document["scores"] = {name: score.to_json() for name, score in result.scores.items()}
    if databases(result):
        document["by_database"] = _intervals_by_database(result)
    if result.by:
        document["by"] = slices_to_json(score_parts(result))
    return document | {
        "seconds": dict(result.times.seconds),
        "latency_ms": result.times.latency,
        "times_left_out": dict(result.times.left_out),
        "folder": str(result.folder),
        "data": {
            "corpus": result.identity.corpus_fingerprint,
            "queries": result.identity.queries_fingerprint,
            "files": dict(result.run.manifest.files),
            "distractors": list(list_distractors(result)),
        },
    }


def databases(result: "Result") -> Sequence[str]:
    """Return the database of each query, if all queries are about several; else nothing."""
    names = result.queries.properties.get("db_id", ())
    return names if None not in names and len(set(names)) > 1 else ()


def interval_by_database(result: "Result", metric: str) -> tuple[float, float] | None:
    """Return the 95% interval of a score where the databases are a sample, too.

    None for a run over tables that are in no databases, or in one.
    """
    clusters = databases(result)
    if not clusters:
        return None
    measured = measure(result, metric)
    return stats.interval_by_cluster(measured.metric, measured.statistics, clusters)


def _intervals_by_database(result: "Result") -> dict[str, Any]:
    bounds = {name: interval_by_database(result, name) for name in result.stored.scores}
    intervals = {
        name: {"low": each[0], "high": each[1]}
        for name, each in bounds.items()
        if each and not isnan(each[0])
    }
    return {"databases": len(set(databases(result))), "intervals": intervals}


def slices_to_json(by: Mapping[str, ScoresOfParts]) -> dict[str, Any]:
    """Return property -> value -> metric -> value, interval, n and signature."""
    return {
        name: {
            value: {metric: score.to_json() for metric, score in scores.items()}
            for value, scores in parts.items()
        }
        for name, parts in by.items()
    }


# Sentences


def describe_answers(result: "Result") -> Sequence[SummaryBlock]:
    """Return what the task sums the answers of a run up to, one block per line."""
    if not result.stored.report:
        return ()
    from target_bench.core.registry import make_task

    return make_task(result.command.task or result.identity.task).view.summary(result.stored.report)


def describe_edited(result: "Result", metrics: Iterable[str]) -> str | None:
    """Say which metrics were computed by other code than the one here, if any were."""
    edited = edited_metrics(result.stored.code, metrics)
    if not edited:
        return None
    return (
        f"{list_first(edited, 3)} {'was' if len(edited) == 1 else 'were'} computed by other code "
        f"than that of this version; target-bench score {result.folder} computes it again"
    )


def find_failures(result: "Result") -> "list[Retrieval | Generation]":
    """Return the rankings, then the answers, that failed."""
    records: list[Retrieval | Generation] = []
    if result.stored.counts.failed:
        records += result.run.rankings.values()
    if result.stored.answers is not None and result.stored.answers.failed:
        records += (answered.generation for answered in result.run.answers.values())
    return [record for record in records if record.error is not None]


def describe_failures(result: "Result") -> Iterator[str]:
    """Yield a sentence on answers that were not judged, and one on queries that failed."""
    not_judged = [q for q, error in result.errors.items() if error.startswith(NOT_JUDGED)]
    if not_judged:
        error = result.errors[not_judged[0]].removeprefix(NOT_JUDGED)
        yield (
            f"the judge failed on {len(not_judged)} answers of {result.identity.corpus} (scored "
            f"without it; the same command asks again); the first is {not_judged[0]!r}: {error}"
        )
    shown = [record for record in find_failures(result) if record.query_id not in not_judged]
    if shown:
        kind, name, n_failed = "generator", result.command.generator, result.stored.n_failed
        if isinstance(shown[0], Retrieval):  # answers without tables failed with their rankings
            kind, name = "retriever", result.command.retriever
            n_failed = result.stored.counts.failed
        n_queries = result.stored.n_queries
        yield (
            f"{kind} {name} failed on {n_failed} of {n_queries} queries of "
            f"{result.identity.corpus} (scored 0); the first is {shown[0].query_id!r}: "
            f"{shown[0].error}"
        )
