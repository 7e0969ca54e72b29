"""Scores of results as tables of text, side by side where they are of the same data."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from target_bench.core import text_tables
from target_bench.core.built_in import NO_CONTEXT
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Score
from target_bench.core.text_tables import Column, Mark, TextTable, best_rows
from target_bench.metrics.scores import ranking_metrics, spec_of, table_metrics
from target_bench.runs.times import left_out_note

if TYPE_CHECKING:
    from target_bench.runs.result import Result

ScoresOfParts = Mapping[str, Mapping[str, Score]]
"""Value of a property -> metric -> score of the queries that have it."""


def tables(results: Iterable["Result"]) -> list[TextTable]:
    """Return the scores, one row per retriever, and after each table its slices.

    One table per split of a corpus, number of queries and set of metrics.
    """
    alike = groups(results, by_metrics=True).values()
    return [table for group in alike for table in (_table(group), *_slice_tables(group))]


def groups(
    results: Iterable["Result"], by_size: bool = True, by_metrics: bool = False
) -> dict[tuple[Any, ...], list["Result"]]:
    """Group results by task, corpus, split and distractors (and number of queries, metrics)."""
    alike: dict[tuple[Any, ...], list[Result]] = {}
    for result in results:
        n = result.counts.asked if by_size else 0
        metrics = tuple(result.all_scores) if by_metrics else ()
        data = (result.task, result.corpus, result.split, tuple(result.data["distractors"]))
        alike.setdefault((*data, n, metrics, result.retriever is not None), []).append(result)
    return alike


def check_same_data(results: Sequence["Result"], part: str) -> None:
    """See that results under one name are of the same data.

    Args:
        results: those of one corpus and split.
        part: the entry of ``Result.data`` that has to be the same.

    Raises:
        ConfigError: two of them differ.
    """
    first, *others = results
    for other in others:
        if first.data[part] != other.data[part]:
            raise ConfigError(
                f"{first.folder} and {other.folder} are of different {part} under one name "
                f"({first.corpus} {first.split}): "
                f"{_difference(first.data['files'], other.data['files'])}. Figures of different "
                "data cannot be compared; run one of them again on the other's data."
            )


def _difference(mine: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
    if not names:
        return "their fingerprints differ"
    pairs = (
        f"{name} has SHA-256 {mine.get(name, 'none')[:12]} and {theirs.get(name, 'none')[:12]}"
        for name in names[:3]
    )
    return "; ".join(pairs)


def _table(results: Sequence["Result"]) -> TextTable:
    first = results[0]
    corpus = " + ".join([f"{first.corpus} {first.split}", *first.data["distractors"]])
    names = shown_metrics(results)
    columns = [Column("retriever")] if first.retriever else []
    columns += [Column("generator", below=bool(columns))] if first.generator else []
    columns += [metric_column(name) for name in names]
    columns.append(Column("ms /\nquery", right=True, label="ms/query"))
    timed = "generate" if first.generator else "retrieve"
    rows = [
        [
            *result.names,
            *(score_cell(name, result.all_scores[name]) for name in names),
            result.times.cell(timed),
        ]
        for result in results
    ]
    asked = f"{first.counts.asked:,} queries"
    title = f"{corpus}: {first.task}, {asked}; scores and their 95% intervals"
    note = left_out_note((result.times.left_out for result in results), (timed,))
    marks: dict[tuple[int, int], Mark] = {}
    for place, name in enumerate(names, start=len(columns) - 1 - len(names)):
        merits = [spec_of(name).merit(result.all_scores[name].value) for result in results]
        marks |= {(row, place): "good" for row in best_rows(merits)}
    return TextTable(columns, rows, title, note=note, marks=marks)


def _slice_tables(results: Sequence["Result"]) -> list[TextTable]:
    runs = [(one.label, one.by) for one in results]
    return [slice_table(name, runs) for name in results[0].by]


_OF_SETS = ("set_precision", "set_recall", "set_f1", "complete_recall", "set_size")


def shown_metrics(results: Sequence["Result"]) -> list[str]:
    """Return the metrics worth a column.

    About answers: the deepest recall and the main figures. Else recall, its two variants where
    they differ from it, those of sets and columns where asked for, and MRR.
    """
    scores = results[0].all_scores
    if results[0].generator:
        retrieved = any(result.retriever not in (None, NO_CONTEXT) for result in results)
        return table_metrics(scores, retrieved)
    names, main = list(scores), ranking_metrics(scores) or table_metrics(scores)
    copies = [name for name in names if name.startswith("recall[dup]@")][:1]
    full = [name for name in names if name.startswith("full_recall@")][-1:]
    varied = [
        name
        for name in (*copies, *full)
        for plain in [f"recall@{name.rpartition('@')[2]}"]
        if any(r.all_scores[name].value != r.all_scores[plain].value for r in results)
    ]
    at_k = [name for name in main if "@" in name]
    judged = [name for name in names if name.startswith("judged@")][-1:]
    asked = [name for name in names if name in _OF_SETS or name.startswith("column_recall@")]
    return [*at_k, *varied, *asked, *judged, *(name for name in main if name not in at_k)]


def slice_table(
    name: str, runs: Sequence[tuple[str, Mapping[str, ScoresOfParts]]], metrics: Sequence[str] = ()
) -> TextTable:
    """Lay out the scores of runs by a property: one row per value and run.

    Args:
        name: the property.
        runs: what each run is called, and property -> parts.
        metrics: which metrics; default: the main ones.
    """
    parts = [(run, by[name]) for run, by in runs]
    values = list(dict.fromkeys(value for _, found in parts for value in found))
    whole: dict[str, Score] = {}
    for _, found in parts:
        for scores in found.values():
            whole |= scores
    shown = list(metrics) or table_metrics(whole)
    rows = []
    for value in values:
        for run, found in parts:
            scores = found.get(value, {})
            n = next((scores[metric].n for metric in shown if metric in scores), None)
            cells = [score_cell(metric, scores.get(metric)) for metric in shown]
            rows.append([value, "" if n is None else f"{n:,}", run, *cells])
    columns = [Column(name), Column("n", right=True), Column("run", below=True)]
    rules = frozenset(range(len(parts), len(rows), len(parts))) if len(parts) > 1 else frozenset()
    return TextTable([*columns, *map(metric_column, shown)], rows, f"by {name}", rules)


def slices_to_json(by: Mapping[str, ScoresOfParts]) -> dict[str, Any]:
    """Return property -> value -> metric -> value, interval, n and signature."""
    return {
        name: {
            value: {metric: score.to_json() for metric, score in scores.items()}
            for value, scores in parts.items()
        }
        for name, parts in by.items()
    }


def metric_column(name: str) -> Column:
    """Return the column of a metric, its name on two lines."""
    if name.startswith(("f1_", "exact_")):
        heading = name.replace("_", "_\n")
    elif "[" in name:
        heading = name.replace("[", "\n[")
    else:
        heading = name.replace("full_", "full_\n") if "full_" in name else name.replace("@", "\n@")
    return Column(heading, right=True, label=name)


def score_cell(name: str, score: Score | None) -> str:
    """Return a score above its interval; a dash where it is over no query, nothing without one."""
    if score is None or isnan(score.value):
        return "" if score is None else "–"
    spec = spec_of(name, score)
    value = spec.text(score.value)
    if isnan(score.low) or isnan(score.high):
        return value
    bounds = text_tables.interval(score.low, score.high, spec.digits, "-")
    if spec.scale == "share":
        bounds = bounds.removeprefix("0").replace("-0.", "-.")
    return f"{value}\n{bounds}"
