"""Scores as tables of text, one row a system, and what failed in sentences."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from target_bench.core.metric import Score, split_cutoff
from target_bench.core.schema import Generation, Retrieval
from target_bench.core.task import NOT_JUDGED, SummaryBlock
from target_bench.core.text_tables import Column, Mark, TextTable, best_rows, count_noun, list_first
from target_bench.metrics import stats
from target_bench.metrics.scores import (
    canonical_name,
    find_edited_metrics,
    find_spec,
    is_built_in,
    list_column_metrics,
    list_ranking_metrics,
)
from target_bench.runs.slicing import MissingPluginError, read_metric
from target_bench.runs.times import describe_left_out

if TYPE_CHECKING:
    from target_bench.runs.result import Result

PartScores = Mapping[str, Mapping[str, Score]]
"""Value of a property -> metric -> score of the queries that have it."""

_IN_A_TABLE = 3
"""Metrics beside each other, with their intervals, in a terminal of 80 columns."""

_SET_METRICS = ("set_precision", "set_recall", "set_f1", "complete_recall", "set_size")


# Groups of results


def group_results(
    results: Iterable["Result"], key: Callable[["Result"], Any] = lambda _: None
) -> list[list["Result"]]:
    """Group results by task, corpus, split and distractors, and by a further key.

    Also by whether tables were retrieved: scores of retrieved tables have other columns.
    """
    groups: dict[tuple[Any, ...], list[Result]] = {}
    for result in results:
        group = (
            result.identity.task,
            result.identity.corpus,
            result.identity.split,
            list_distractors(result),
            result.command.retriever is not None,
            key(result),
        )
        groups.setdefault(group, []).append(result)
    return list(groups.values())


def list_distractors(result: "Result") -> tuple[str, ...]:
    """List the sets of tables that were mixed into the corpus.

    A run of rankings records them, also of a dataset that was loaded in Python. Answers to given
    tables have no such run: theirs are those that the command named.
    """
    mixed_in = result.rankings_result.run.manifest.distractors
    return tuple(mixed.spec for mixed in mixed_in) or result.command.distractors


def group_by_queries_and_cutoffs(results: Iterable["Result"]) -> list[list["Result"]]:
    """Group results whose scores share a table: of the same queries, at the same cutoffs."""

    def queries_and_cutoffs(result: "Result") -> tuple[Any, ...]:
        cutoffs = [name for name in result.scores if name.startswith("recall@")]
        return result.identity.queries_fingerprint, *cutoffs

    return group_results(results, queries_and_cutoffs)


def is_sampled(result: "Result") -> bool:
    """Return whether ``--limit`` left queries out."""
    return result.command.limit is not None


def write_title(results: Sequence["Result"]) -> str:
    """Return corpus, task and number of queries of results that share them."""
    first = results[0]
    corpus = " + ".join([first.identity.data, *list_distractors(first)])
    task, tasks = first.identity.task, {result.command.about for result in results}
    if len(tasks) == 1 and first.command.ranks_for_answers:
        task += f" for {first.command.about}"
    n = count_noun(first.stored.counts.asked, "query")
    return f"{corpus}: {task}, {'a sample of ' if is_sampled(first) else ''}{n}"


# Tables of scores


def make_score_tables(results: Iterable["Result"], every: bool = False) -> list[TextTable]:
    """Return scores with their intervals, one row a system, and the slices of ``--by``.

    ``every`` adds tables of the metrics that are not worth a column.
    """
    tables = []
    for group in group_by_queries_and_cutoffs(results):
        tables += [*make_group_tables(group, every), *make_slice_tables(group)]
    return tables


def make_group_tables(results: Sequence["Result"], every: bool = False) -> list[TextTable]:
    """Return the scores of a group that shares a table, the first table under a title."""
    metrics = choose_columns(results)
    set_metrics = [name for name in metrics if name in _SET_METRICS]
    others = [name for name in metrics if name not in _SET_METRICS]
    title, tables = write_title(results), []
    if others:
        tables.append(_make_table(results, others, title))
    if set_metrics:
        with_sets = [result for result in results if result.scores.keys() & set_metrics]
        tables.append(_make_table(with_sets, set_metrics, "sets of tables" if others else title))
    if every:
        for names in _group_by_family(results):
            if not set(names) <= set(metrics):
                for start in range(0, len(names), _IN_A_TABLE):
                    some = names[start : start + _IN_A_TABLE]
                    tables.append(_make_table(results, some, timed=False))
    return tables


def _group_by_family(results: Sequence["Result"]) -> list[list[str]]:
    """Group the metrics that are over some query: by name before ``@k``, all others together."""
    scores = [item for result in results for item in result.scores.items()]
    families: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for name, score in scores if score.n):
        family, k = split_cutoff(name)
        families.setdefault(family if k else "", []).append(name)
    return list(families.values())


def choose_columns(results: Sequence["Result"]) -> list[str]:
    """Return the metrics worth a column; those of ``--metric`` stand last."""
    retrieved = any(
        r.command.retriever is not None and not r.identity.is_no_context for r in results
    )
    scores = [result.scores for result in results]
    chosen = choose_metrics(scores, results[0].command.generator is not None, retrieved)
    return list(dict.fromkeys([*chosen, *_list_asked(results)]))


def choose_metrics(
    scores: Iterable[Mapping[str, Score]], answered: bool, retrieved: bool
) -> list[str]:
    """Choose the metrics worth a column.

    Of answers: the first of ``list_column_metrics``. Of rankings: recall at the smallest and the
    largest cutoff, recall of databases at the smallest (TARGET's rule), and the metrics of returned
    sets. Last come the user's own metrics, at their largest cutoff.

    Args:
        scores: metric -> score of each run.
        answered: whether the runs have answers.
        retrieved: whether their tables were retrieved.
    """
    all_scores = {name: score for each in scores for name, score in each.items()}
    built_in = {name: score for name, score in all_scores.items() if is_built_in(name)}
    own_at_all_cutoffs = [name for name in all_scores if name not in built_in]
    own = [name for name in own_at_all_cutoffs if not _has_larger_cutoff(name, own_at_all_cutoffs)]
    if answered:
        main = list_column_metrics(built_in, retrieved)[:_IN_A_TABLE]
    else:
        ranked = list_ranking_metrics(built_in) or list_column_metrics(built_in)
        recalls = [name for name in ranked if name.startswith("recall@")]
        database_recalls = [name for name in all_scores if name.startswith("recall[db]@")]
        main = [*recalls[:1], *recalls[-1:], *database_recalls[:1]] or ranked[:_IN_A_TABLE]
        main += [name for name in all_scores if name in _SET_METRICS]
    return list(dict.fromkeys([*main, *own]))


def _list_asked(results: Sequence["Result"]) -> list[str]:
    """List the metrics of these runs that ``--metric`` named."""
    asked = [
        canonical_name(str(text).partition(":")[0])
        for result in results
        for text in (result.command.options or {}).get("metrics", ())
    ]
    return [name for name in asked if any(name in result.scores for result in results)]


def _has_larger_cutoff(name: str, others: Sequence[str]) -> bool:
    """Return whether others have the same metric at a larger cutoff."""
    family, k = split_cutoff(name)
    return any(
        split_cutoff(o)[0] == family and (split_cutoff(o)[1] or 0) > (k or 0) for o in others
    )


def _make_table(
    results: Sequence["Result"], metrics: Sequence[str], title: str = "", timed: bool = True
) -> TextTable:
    command = results[0].command
    systems = [kind for kind in ("retriever", "generator") if getattr(command, kind)]
    if len(systems) == 2 and len({result.command.generator for result in results}) == 1:
        systems.pop()  # the title names it, if there is one
        title = title and f"{title}, answered by {command.names[-1]}"
    columns = [*map(Column, systems), *map(metric_column, metrics)]
    rows = [
        [
            *result.command.names[: len(systems)],
            *(score_cell(name, result.scores.get(name)) for name in metrics),
        ]
        for result in results
    ]
    marks: dict[tuple[int, int], Mark] = {}
    for column, name in enumerate(metrics, start=len(systems)):
        scores = [result.scores.get(name) for result in results]
        merits = [nan if s is None else find_spec(name, s).merit(s.value) for s in scores]
        marks |= {(row, column): "good" for row in best_rows(merits)}
    if not timed:
        return TextTable(columns, rows, title, marks=marks)
    times = [result.times for result in results]
    stage = "generate" if command.generator else "retrieve"
    milliseconds = [each.write_milliseconds(stage) for each in times]
    if any(milliseconds):  # none of what was made elsewhere
        columns.append(Column("ms/query" if command.generator else "ms, batch", right=True))
        for row, text in zip(rows, milliseconds, strict=True):
            row.append(text)
    if any(each.latency for each in times):
        columns.append(Column("p50/p95 ms, single", right=True))
        for row, each in zip(rows, times, strict=True):
            latency = each.latency
            row.append(f"{latency['p50']:.2f}/{latency['p95']:.2f}" if latency else "")
    note = describe_left_out(times, (stage,))
    return TextTable(columns, rows, title, note=note, marks=marks)


def metric_column(name: str) -> Column:
    """Return the column of a metric with its interval; ``R@10`` is recall@10."""
    heading = re.sub("^recall@", "R@", name)
    return Column(f"{heading}\n[95%]", right=True)


def score_cell(name: str, score: Score | None) -> str:
    """Return a score above its interval; a dash if it is over no query, nothing without one."""
    if score is None:
        return ""
    if isnan(score.value):
        return "–"
    spec = find_spec(name, score)
    if isnan(score.low) or isnan(score.high):
        return spec.text(score.value)
    return f"{spec.text(score.value)}\n[{spec.interval(score.low, score.high, ', ')}]"


# Tables of slices


def make_slice_tables(results: Sequence["Result"]) -> list[TextTable]:
    """Return the scores of all results by each property of ``--by`` of any."""
    asked = _list_asked(results)
    return [
        make_slice_table(name, [(r.command.label, r.scores_by(name)) for r in results], asked)
        for name in dict.fromkeys(name for result in results for name in result.by)
    ]


def score_slices(result: "Result") -> dict[str, PartScores]:
    """Return property of ``--by`` -> value -> metric -> score."""
    return {name: result.scores_by(name) for name in result.by}


def make_slice_table(
    name: str, runs: Sequence[tuple[str, PartScores]], asked: Sequence[str] = ()
) -> TextTable:
    """Lay out the scores of runs by a property: one row per value and run.

    Args:
        name: the property.
        runs: the label and the scores of each run.
        asked: metrics of ``--metric``, which get a column each.
    """
    values = dict.fromkeys(value for _, parts in runs for value in parts)
    all_scores = {
        metric: score
        for _, parts in runs
        for scores in parts.values()
        for metric, score in scores.items()
    }
    metrics = list(dict.fromkeys([*list_column_metrics(all_scores), *asked]))
    rows = []
    for value in values:
        for label, parts in runs:
            scores = parts.get(value, {})
            n = next((scores[metric].n for metric in metrics if metric in scores), None)
            cells = [score_cell(metric, scores.get(metric)) for metric in metrics]
            rows.append([value, "" if n is None else f"{n:,}", label, *cells])
    columns = [Column(name), Column("n", right=True), Column("run")]
    columns += map(metric_column, metrics)
    # A line between the values, if each has several rows.
    rules = frozenset(range(len(runs), len(rows), len(runs))) if len(runs) > 1 else frozenset()
    return TextTable(columns, rows, f"by {name}", rules)


# Documents


def describe_request(result: "Result") -> dict[str, str | None]:
    """Return corpus, split, task, retriever and generator by these names."""
    return {
        "corpus": result.identity.corpus,
        "split": result.identity.split,
        "task": result.identity.task,
        "retriever": result.command.retriever,
        "generator": result.command.generator,
    }


def to_document(result: "Result") -> dict[str, Any]:
    """Return a result as ``run --format json`` prints it."""
    answers = result.stored.answers
    document: dict[str, Any] = {
        **describe_request(result),
        "names": list(result.command.names),
        "n_queries": result.stored.counts.asked,
        "counts": result.stored.counts.to_json(),
        "answers": answers.to_json() if answers else None,
    }
    if result.stored.report:
        document["report"] = dict(result.stored.report)
    document["scores"] = {name: score.to_json() for name, score in result.scores.items()}
    if list_databases(result):
        document["by_database"] = _intervals_by_database(result)
    if result.by:
        document["by"] = slices_to_json(score_slices(result))
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


def slices_to_json(by_property: Mapping[str, PartScores]) -> dict[str, Any]:
    """Return property -> value -> metric -> value, interval, n and signature."""
    return {
        name: {
            value: {metric: score.to_json() for metric, score in scores.items()}
            for value, scores in parts.items()
        }
        for name, parts in by_property.items()
    }


# Databases


def list_databases(result: "Result") -> Sequence[str]:
    """List the database of each query; nothing unless every query has one, and they differ."""
    names = result.per_query.properties.get("db_id", ())
    return names if None not in names and len(set(names)) > 1 else ()


def interval_by_database(result: "Result", metric: str) -> tuple[float, float] | None:
    """Return the 95% interval of a score if the databases, too, are a sample.

    None for a run over tables that are in no databases, or in one.
    """
    clusters = list_databases(result)
    if not clusters:
        return None
    values = read_metric(result, metric)
    return stats.interval_by_cluster(values.metric, values.statistics, clusters)


def _intervals_by_database(result: "Result") -> dict[str, Any]:
    intervals = {}
    for name in result.stored.scores:
        with suppress(MissingPluginError):  # of a metric in a file that is more than a mean
            if (bounds := interval_by_database(result, name)) and not isnan(bounds[0]):
                intervals[name] = {"low": bounds[0], "high": bounds[1]}
    return {"databases": len(set(list_databases(result))), "intervals": intervals}


# Sentences


def summarize_answers(result: "Result") -> Sequence[SummaryBlock]:
    """Return the task's summary of the answers of a run, one block per line."""
    if not result.stored.report:
        return ()
    from target_bench.core.registry import make_task

    return make_task(result.command.task).view.summary(result.stored.report)


def describe_edited(result: "Result", metrics: Iterable[str]) -> str | None:
    """Return a sentence on metrics that were computed by other code than the one here, if any."""
    edited = find_edited_metrics(result.stored.code, metrics)
    if not edited:
        return None
    return (
        f"{list_first(edited, 3)} {'was' if len(edited) == 1 else 'were'} computed by other code "
        f"than this version has; to compute it again: target-bench score {result.folder}"
    )


def find_failures(result: "Result") -> "list[Retrieval | Generation]":
    """Return the rankings, then the answers, that failed."""
    records: list[Retrieval | Generation] = []
    if result.stored.counts.failed:
        records += result.run.rankings.values()
    if result.stored.answers is not None and result.stored.answers.failed:
        records += result.run.answers.values()
    return [record for record in records if record.error is not None]


def describe_failures(result: "Result") -> Iterator[str]:
    """Yield a sentence on answers that were not judged, and one on queries that failed."""
    corpus, stored = result.identity.corpus, result.stored
    not_judged = [q for q, error in result.errors.items() if error.startswith(NOT_JUDGED)]
    if not_judged:
        error = result.errors[not_judged[0]].removeprefix(NOT_JUDGED)
        yield (
            f"the judge failed on {count_noun(len(not_judged), 'answer')} of {corpus} (scored "
            f"without it; run the same command again to retry); the first is {not_judged[0]!r}: "
            f"{error}"
        )
    failed = [record for record in find_failures(result) if record.query_id not in not_judged]
    rankings = [record for record in failed if isinstance(record, Retrieval)]
    without_tables = {ranking.query_id for ranking in rankings}  # whose answers fail, too
    answers = [record for record in failed if record.query_id not in without_tables]
    for system, records in (
        (f"retriever {result.command.retriever}", rankings),
        (f"generator {result.command.generator}", answers),
    ):
        if records:
            first = records[0]
            yield (
                f"{system} failed on {len(records)} of {stored.n_queries} queries of {corpus} "
                f"(scored 0); the first is {first.query_id!r}: {first.error}"
            )
