"""Results of a run: scores, per-query values, their folder, and tables of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from target_bench.core import text_tables
from target_bench.core.errors import ConfigError
from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.core.schema import Query
from target_bench.core.task import NOT_JUDGED, SummaryBlock
from target_bench.core.text_tables import Column, Mark, TextTable, best_rows
from target_bench.metrics.run_scores import ranking_metrics, spec_of, table_metrics
from target_bench.runs.comparable import check_same_data
from target_bench.runs.manifest import NO_CONTEXT
from target_bench.runs.times import ColdTimes, left_out_note

if TYPE_CHECKING:
    import pandas
    import pyarrow


_IN_A_LINE = 3
"""Scores in the repr of a result."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """One retriever on one split of one corpus.

    Attributes:
        corpus: lower-case name of the corpus.
        split: full name of the split.
        task: short name of the task.
        retriever: the retriever as it was asked for; None for a task that retrieves nothing.
        generator: the generator as it was asked for, or None.
        scores: metric name -> score.
        queries: all queries that were asked, in the order of the dataset.
        query_ids: those that are scored, in the same order; of rankings those with gold tables.
        per_query: metric name -> (n,) value of each query alone; NaN where the metric is not over
            the query.
        counts: the denominators.
        times: how long it took, as far as nothing in it came out of a cache; a reused run keeps
            those of its first time.
        errors: query id -> what went wrong, of failed queries and, after ``NOT_JUDGED``, judges.
        folder: the run folder.
        reused: whether the retrievals were there already.
        data: fingerprints of ``corpus`` and ``queries``, SHA-256 of ``files``, ``distractors``.
        answers: the denominators of the answers, for tasks about them.
        report: what else a task says of the answers: outcomes, scores of groups of queries.
        by: property of the queries -> its value -> metric -> score, as far as that was asked for.
        summary: ``report`` for people, one block per line.
        names: what tables call retriever and generator: their names, else how they were asked for.
        tracebacks: query id -> the traceback of what retriever or generator raised.
    """

    corpus: str
    split: str
    task: str
    retriever: str | None
    generator: str | None
    scores: Mapping[str, Score]
    queries: Sequence[Query]
    query_ids: Sequence[str]
    per_query: Mapping[str, NDArray[np.float64]]
    counts: Counts
    times: ColdTimes
    errors: Mapping[str, str]
    folder: Path
    reused: bool
    data: Mapping[str, Any] = field(default_factory=dict)
    answers: AnswerCounts | None = None
    report: Mapping[str, Any] | None = None
    by: Mapping[str, Mapping[str, Mapping[str, Score]]] = field(default_factory=dict)
    summary: Sequence[SummaryBlock] = ()
    names: Sequence[str] = ()
    tracebacks: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(Results([self]))

    def __repr__(self) -> str:
        shown = _shown_metrics([self])[:_IN_A_LINE]
        scores = ", ".join(f"{name} {self.scores[name]}" for name in shown)
        name = " + ".join(self.names)
        data = f"{self.corpus} {self.split}"
        return f"Result({name} on {data}, {self.task}: {scores}; {self.counts.asked:,} queries)"

    def failures(self) -> list[str]:
        """Return a sentence on queries that the retriever or generator failed on, if there are any.

        And one on answers that a model could not judge.
        """
        unjudged = {q: e for q, e in self.errors.items() if e.startswith(NOT_JUDGED)}
        lines = []
        if unjudged:
            query_id, error = next(iter(unjudged.items()))
            lines.append(
                f"the judge failed on {len(unjudged)} answers of {self.corpus} (scored without "
                f"it; the same command asks again); the first is {query_id!r}: {error}"
            )
        counts = self.answers or self.counts
        failed = ((q, e) for q, e in self.errors.items() if q not in unjudged)
        if counts.failed and (first := next(failed, None)):
            asked = f"generator {self.generator}" if self.answers else f"retriever {self.retriever}"
            lines.append(
                f"{asked} failed on {counts.failed} of {counts.asked} queries of {self.corpus} "
                f"(scored 0); the first is {first[0]!r}: {first[1]}"
            )
        return lines

    def _repr_html_(self) -> str:
        return Results([self])._repr_html_()

    @property
    def seconds(self) -> Mapping[str, float]:
        """Stage -> wall-clock seconds; without the stages of which something was in a cache."""
        return self.times.seconds

    @property
    def timed_queries(self) -> int:
        """The number of queries that ``seconds["retrieve"]`` covers."""
        return self.times.timed_queries

    @property
    def latency(self) -> Mapping[str, Any] | None:
        """Milliseconds of single queries (``p50``, ``p95``, ``p99``), where measured and cold."""
        return self.times.latency

    def to_json(self) -> dict[str, Any]:
        """Return the result as ``target-bench run --json`` prints it."""
        return {
            "corpus": self.corpus,
            "split": self.split,
            "task": self.task,
            "retriever": self.retriever,
            "generator": self.generator,
            "names": list(self.names),
            "n_queries": self.counts.asked,
            "counts": self.counts.to_json(),
            "answers": self.answers.to_json() if self.answers else None,
            **({"report": dict(self.report)} if self.report else {}),
            "scores": {name: score.to_json() for name, score in self.scores.items()},
            **({"by": slices_to_json(self.by)} if self.by else {}),
            "seconds": dict(self.seconds),
            "latency_ms": self.latency,
            "times_left_out": dict(self.times.left_out),
            "folder": str(self.folder),
            "data": dict(self.data),
        }


class Results(Sequence[Result]):
    """The results of one call, one for each corpus; prints as a table.

    Args:
        results: the single results.

    Raises:
        ConfigError: two of them are of the same split of a corpus, but not of the same data.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = tuple(results)
        for part, by_size in (("corpus", False), ("queries", True)):
            for found in _groups(self._results, by_size).values():
                if len(found) > 1:
                    about = f"{found[0].corpus} {found[0].split}"
                    check_same_data({one.folder: one.data for one in found}, part, about)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> "Results": ...
    def __getitem__(self, index: int | slice) -> "Result | Results":
        chosen = self._results[index]
        return Results(chosen) if isinstance(chosen, tuple) else chosen

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def __add__(self, other: "Results") -> "Results":
        """Return the results of both, those of a run that is in both once.

        Raises:
            ConfigError: two of them are of the same split of a corpus, but not of the same data.
        """
        if not isinstance(other, Results):
            return NotImplemented
        folders = {one.folder for one in self}
        return Results([*self, *(one for one in other if one.folder not in folders)])

    @property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score, when there is one result.

        Raises:
            ConfigError: there are several; take one of them.
        """
        return self._only.scores

    @property
    def per_query(self) -> Mapping[str, NDArray[np.float64]]:
        """Metric name -> (n,) values, when there is one result.

        Raises:
            ConfigError: there are several; take one of them.
        """
        return self._only.per_query

    @property
    def _only(self) -> Result:
        if len(self._results) != 1:
            names = ", ".join(f"{i}: {r.corpus}" for i, r in enumerate(self._results))
            raise ConfigError(
                f"there are {len(self)} results; choose one, as in results[0] ({names})"
            )
        return self._results[0]

    def to_arrow(self) -> "pyarrow.Table":
        """One row per query: what was run, the query and its ranking, one column per metric.

        What was run stands in ``corpus``, ``split``, ``task``, ``retriever``, ``generator`` and
        ``name`` (what tables call it); the query in ``query_id``, ``query`` (its text), ``gold``,
        ``ranking`` (tables as ``database_id/table_id``, best first) and ``answer``. A query that a
        metric is not over has null.

        Raises:
            StoreError: a run folder cannot be read any more.
        """
        import pyarrow

        from target_bench.runs.query_columns import query_columns

        names = ("corpus", "split", "task", "retriever", "generator")
        text, texts = pyarrow.string(), pyarrow.list_(pyarrow.string())
        fields = dict.fromkeys((*names, "name", "query_id", "query"), text)
        schema = pyarrow.schema({**fields, "gold": texts, "ranking": texts, "answer": text})
        tables = [schema.empty_table()]
        for one in self._results:
            queries = {query.id: query for query in one.queries}
            asked = {query_id: queries[query_id] for query_id in one.query_ids}
            has = {"ranked": one.retriever is not None, "answered": one.generator is not None}
            columns = query_columns(one.folder, asked, **has)
            columns |= {name: [getattr(one, name)] * len(asked) for name in names}
            columns["name"] = [" + ".join(one.names)] * len(asked)
            rows = pyarrow.table(columns, schema)
            for name, values in one.per_query.items():
                rows = rows.append_column(name, pyarrow.array(values, from_pandas=True))
            tables.append(rows)
        return pyarrow.concat_tables(tables, promote_options="default")

    def to_pandas(self) -> "pandas.DataFrame":
        """``to_arrow`` as a data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from target_bench.core.data_frames import to_pandas

        return to_pandas(self.to_arrow())

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench run --json`` prints."""
        return {"results": [result.to_json() for result in self._results]}

    def __str__(self) -> str:
        width = text_tables.terminal_width()
        failures = ["\n".join(text_tables.wrapped(line, width)) for line in self.failures()]
        return "\n\n".join(filter(None, [text_tables.text(self.tables(), width), *failures]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from target_bench.core.html_view import html

        return html(self.tables(), self.failures())

    def failures(self) -> list[str]:
        """Return what failed, a sentence for each run and cause; nothing where nothing did."""
        return [line for result in self for line in result.failures()]

    def tables(self) -> list[TextTable]:
        """Return the scores as tables of text, one row per retriever.

        One table per split of a corpus, number of queries and set of metrics: a figure down to rank
        5 is none down to rank 10. After it come its slices, where they were asked for.
        """
        groups = _groups(self._results, by_metrics=True).values()
        return [table for found in groups for table in (_table(found), *_slice_tables(found))]


def _groups(
    results: Iterable[Result], by_size: bool = True, by_metrics: bool = False
) -> dict[tuple[Any, ...], list[Result]]:
    """Group results by task, corpus, split and distractors (and number of queries, metrics)."""
    groups: dict[tuple[Any, ...], list[Result]] = {}
    for result in results:
        distractors = tuple(result.data.get("distractors", ()))
        n = result.counts.asked if by_size else 0
        metrics = tuple(result.scores) if by_metrics else ()
        ranked = result.retriever is not None
        key = (result.task, result.corpus, result.split, distractors, n, metrics, ranked)
        groups.setdefault(key, []).append(result)
    return groups


def _table(results: Sequence[Result]) -> TextTable:
    first = results[0]
    corpus = " + ".join([f"{first.corpus} {first.split}", *first.data.get("distractors", ())])
    names = _shown_metrics(results)
    columns = [Column("retriever")] if first.retriever else []
    columns += [Column("generator", below=bool(columns))] if first.generator else []
    columns += [metric_column(name) for name in names]
    columns.append(Column("ms /\nquery", right=True, label="ms/query"))
    timed = "generate" if first.generator else "retrieve"
    rows = [
        [
            *result.names,
            *(score_cell(name, result.scores[name]) for name in names),
            result.times.cell(timed),
        ]
        for result in results
    ]
    asked = f"{first.counts.asked:,} queries"
    title = f"{corpus}: {first.task}, {asked}; scores and their 95% intervals"
    note = left_out_note((result.times.left_out for result in results), (timed,))
    marks: dict[tuple[int, int], Mark] = {}
    for place, name in enumerate(names, start=len(columns) - 1 - len(names)):
        merits = [spec_of(name).merit(result.scores[name].value) for result in results]
        marks |= {(row, place): "good" for row in best_rows(merits)}
    return TextTable(columns, rows, title, note=note, marks=marks)


def _slice_tables(results: Sequence[Result]) -> list[TextTable]:
    runs = [(" + ".join(one.names), one.by) for one in results]
    return [slice_table(name, runs) for name in results[0].by]


_OF_SETS = ("set_precision", "set_recall", "set_f1", "complete_recall", "set_size")


def _shown_metrics(results: Sequence[Result]) -> list[str]:
    """Return the metrics worth a column.

    About answers: the deepest recall and the main figures. Else recall, its two variants where
    they differ from it, those of sets and columns where asked for, and MRR.
    """
    scores = results[0].scores
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
        if any(r.scores[name].value != r.scores[plain].value for r in results)
    ]
    at_k = [name for name in main if "@" in name]
    judged = [name for name in names if name.startswith("judged@")][-1:]
    asked = [name for name in names if name in _OF_SETS or name.startswith("column_recall@")]
    return [*at_k, *varied, *asked, *judged, *(name for name in main if name not in at_k)]


ScoresOfParts = Mapping[str, Mapping[str, Score]]
"""Value of a property -> metric -> score of the queries that have it."""


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
