"""``Result``: the scores of a run, fresh or read from its folder; and lists of them.

A result reads each file of its run folder when it is needed, so it is the same whether the run
ended a moment or a year ago.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from target_bench.core import text_tables
from target_bench.core.errors import ConfigError, MissingExtraError, StoreError, did_you_mean
from target_bench.core.metric import AnswerCounts, Counts, Score, blank_scores, compute_score
from target_bench.core.schema import Generation, Query, Retrieval
from target_bench.core.task import FAILED, NOT_JUDGED
from target_bench.core.text_tables import counted, first_of
from target_bench.metrics.scores import canonical_name, headline, named, spec_of
from target_bench.runs.differences import check_same_data
from target_bench.runs.find import run_folders
from target_bench.runs.manifest import Command, Identity, Manifest, key_of, read_manifest
from target_bench.runs.record_log import ANSWERS, JUDGEMENTS, LOGS, RANKINGS, Answered, LogFile
from target_bench.runs.score_files import (
    Floats,
    QueryValues,
    StoredScores,
    check_tables,
    read_scores,
    read_values,
)
from target_bench.runs.score_tables import (
    ScoresOfParts,
    describe_failures,
    group_results,
    score_tables,
    shown_metrics,
)
from target_bench.runs.slicing import (
    Measured,
    MissingPluginError,
    StoredMean,
    by_name,
    part_score,
)
from target_bench.runs.times import ColdTimes, cold

if TYPE_CHECKING:
    import pandas
    import pyarrow

T = TypeVar("T")

RunStatus = Literal["finished", "unfinished", "damaged"]
"""How a stored run stands.

``finished``: it has scores. ``unfinished``: the same command goes on with it; ``Result.error`` says
what ended the last work on it. ``damaged``: a file is not what was written, or cannot be read.
"""

SYNTHETIC = "The questions are synthetic: they do not decide between lexical and dense retrievers."
"""The warning beside all scores of such questions."""

_LISTED = 12  # metrics that the message on an unknown one names
_IN_A_LINE = 3  # scores in the repr of a result


class Result:
    """Read one retriever, and generator if there is one, on one split of a corpus.

    ```python
    result = evaluate("bm25", "mini")["bm25"]
    result["recall@10"]            # Score(.988 [.968, .995], n=280)
    result.per_query["recall@10"]  # (n,) one value for each of result.query_ids
    ```

    What needs scores raises ``StoreError`` as long as the run has none (see ``is_scored``), and
    what reads a file if that is damaged.

    Args:
        folder: the run folder.
        command: the words of a later command that used this run again; default: those of the
            manifest.
        queries: the queries, for their texts in ``Results.to_arrow``.
        reused: whether nothing had to be retrieved or answered.
        by: properties of the queries whose values get scores of their own where it is printed.
        new_because: why an earlier run of the same command was not used again.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        command: Command | None = None,
        queries: Sequence[Query] = (),
        reused: bool = True,
        by: Sequence[str] = (),
        new_because: str = "",
    ) -> None:
        self.folder = Path(folder)
        self.queries, self.reused, self.by = queries, reused, tuple(by)
        self._command, self.new_because = command, new_because

    def __getitem__(self, metric: str) -> Score:
        """Return the score of a metric, also of the rankings that answers are built on.

        Raises:
            ConfigError: the run has no such metric.
        """
        name = canonical_name(metric)
        if name not in self.all_scores:
            raise ConfigError(self._unknown_metric(name, self.all_scores))
        return self.all_scores[name]

    def keys(self) -> Iterable[str]:
        """Return the names of the metrics; so ``dict(result)`` gives metric name -> score."""
        return self.all_scores.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.all_scores)

    def __repr__(self) -> str:
        if not self.is_scored:
            return f"Result({str(self.folder)!r}, without scores)"
        shown = shown_metrics([self])[:_IN_A_LINE]
        scores = ", ".join(f"{name} {self.all_scores[name]}" for name in shown)
        data = f"{self.corpus} {self.split}"
        n = counted(self.n_queries, "query")
        return f"Result({self.label} on {data}, {self.task}: {scores}; {n})"

    def __str__(self) -> str:
        return str(Results([self]))

    def _repr_html_(self) -> str:
        return Results([self])._repr_html_()

    # What was run

    @cached_property
    def manifest(self) -> Manifest:
        """All that is recorded of the run, but for its answers and scores."""
        return read_manifest(self.folder)

    @property
    def id(self) -> str:
        """The hash of the identity, with which the folder's name ends."""
        return key_of(self.folder) or self.folder.name

    @property
    def identity(self) -> Identity:
        """All that can change the result."""
        return self.manifest.identity

    @property
    def command(self) -> Command:
        """The words of the command."""
        return self._command or self.manifest.asked

    @property
    def task(self) -> str:
        """Short name of the task."""
        return self.identity.task

    @property
    def corpus(self) -> str:
        """Lower-case name of the corpus."""
        return self.identity.corpus

    @property
    def split(self) -> str:
        """Full name of the split."""
        return self.identity.split

    @property
    def retriever(self) -> str | None:
        """The retriever with its settings; None for a task that retrieves nothing."""
        return self.command.retriever

    @property
    def generator(self) -> str | None:
        """The generator with its settings, or None."""
        return self.command.generator

    @property
    def label(self) -> str:
        """``bm25 + extractive``: the retriever, and the generator if there is one."""
        return self.command.label

    # Scores

    @property
    def is_scored(self) -> bool:
        """Whether there are scores."""
        return (self.folder / "scores.json").exists()

    @cached_property
    def stored(self) -> StoredScores:
        """All of ``scores.json``."""
        return read_scores(self.folder)

    @property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score: of the answers if there are any, else of the rankings."""
        return self.stored.scores

    @cached_property
    def all_scores(self) -> Mapping[str, Score]:
        """Metric name -> score, those of the rankings that answers are built on included."""
        if self.rankings_run is self:
            return self.scores
        of_rankings = self.rankings_run.scores
        if self.identity.is_no_context:  # its rankings are empty: no score says anything
            of_rankings = blank_scores(of_rankings, {})[0]
        return {**of_rankings, **self.scores}

    @property
    def headline(self) -> str:
        """The name of the one metric that stands for the run.

        Raises:
            StoreError: there is none, because no query has a reference.
        """
        if not self.scores:
            raise StoreError(
                f"{self.folder}: no query has a reference, so there are no scores; target-bench "
                "report shows runs side by side without them"
            )
        return headline(self.scores)

    @property
    def counts(self) -> Counts:
        """The denominators of the rankings."""
        return self.stored.counts

    @property
    def answer_counts(self) -> AnswerCounts | None:
        """The denominators of the answers; None for a run of rankings."""
        return self.stored.answers

    @property
    def n_queries(self) -> int:
        """How many queries were run."""
        return (self.answer_counts or self.counts).asked

    @property
    def n_failed(self) -> int:
        """How many of them failed."""
        return (self.answer_counts or self.counts).failed

    @property
    def report(self) -> Mapping[str, Any]:
        """What else the task says of the answers; empty where it says nothing."""
        return self.stored.report

    # Every query

    @cached_property
    def values(self) -> QueryValues:
        """The values, statistics and properties of every scored query."""
        # Another run of the same queries may have written the files again since the manifest of
        # this result was read.
        return read_values(self.folder, read_manifest(self.folder).tables)

    @property
    def query_ids(self) -> Sequence[str]:
        """The scored queries, sorted by id."""
        return self.values.ids

    @property
    def per_query(self) -> Mapping[str, Floats]:
        """Metric name -> (n,) value of each query alone; NaN where the metric is not over it."""
        return self.values.values

    @property
    def is_synthetic(self) -> bool:
        """Whether any of its questions is synthetic."""
        return any(self.values.properties.get("synthetic", ()))

    def _unknown_metric(self, metric: str, metrics: Iterable[str]) -> str:
        names = list(metrics)
        hint, there = did_you_mean(metric, names), first_of(names, _LISTED)
        return f"{self.folder.name}: no metric {metric!r}.{hint} There are {there}"

    def measured(self, metric: str) -> Measured:
        """Return the contributions of the queries to a metric.

        Raises:
            ConfigError: the run has no such metric, or it is more than a mean and its plug-in is
                not installed.
            StoreError: the stored statistics do not give the score.
        """
        if metric not in self.scores or metric not in self.per_query:
            rankings = self.command.retrieval_run
            elsewhere = f". Its rankings were scored in {rankings}" if rankings else ""
            raise ConfigError(self._unknown_metric(metric, self.scores) + elsewhere)
        score, statistics = self.scores[metric], self.values.statistics[metric]
        spec, installed = spec_of(metric, score), named(metric)
        # A ratio of nothing may be 0 by itself, and is no score of a run over no query.
        summary = StoredMean(spec) if installed is None or isnan(score.value) else installed
        again = f"score it again with target-bench score {self.folder}"
        try:
            value = compute_score(summary, statistics)
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            raise StoreError(
                f"{self.folder}: what is stored of {metric} gives no score ({error}); {again}"
            ) from error
        if not np.isclose(value, score.value, rtol=1e-9, atol=1e-9, equal_nan=True):
            if installed is None and metric in self.values.summed:
                raise MissingPluginError(
                    f"{self.folder.name}: {metric} is a metric of a plug-in that is not installed "
                    "here, or of a file, and more than a mean of its values, so it cannot be "
                    "computed for a part of the queries or tested. Install the plug-in (of a file: "
                    "docs/plugins.md, Publish a plug-in), or name other metrics with --metric."
                )
            raise StoreError(
                f"{self.folder}: {metric} is {score.value:.6f} in scores.json, but what is stored "
                f"of a query gives {value:.6f}. The scores were edited, or are older than the "
                f"statistics of such metrics: {again}"
            )
        values = np.where(statistics.any(axis=1), self.per_query[metric], np.nan)
        return Measured(metric, values, statistics, summary, spec)

    def scores_by(
        self, name: str, metrics: Iterable[str] | None = None
    ) -> dict[str, dict[str, Score]]:
        """Score every part that a property makes of the queries.

        A score is that of the queries of the part alone: corpus BLEU by difficulty is the corpus
        BLEU of the easy queries, and so on.

        Args:
            name: the property, as ``difficulty``; see ``slicing.by_property``.
            metrics: which metrics; default: all, but for those of plug-ins that are not installed
                and are more than a mean.

        Returns:
            Value of the property as text -> metric -> score; ``(none)`` for queries without one.

        Raises:
            ConfigError: there is no such property or metric; the message lists those there are.
            StoreError: the stored statistics do not give the score.
        """
        masks = by_name(self.values.properties, name).masks()
        measured = {}
        for metric in self.scores if metrics is None else metrics:
            with suppress(*([MissingPluginError] if metrics is None else [])):
                measured[metric] = self.measured(metric)
        return {
            value: {m: part_score(each, mask, self.scores[m]) for m, each in measured.items()}
            for value, mask in masks.items()
        }

    def parts(self) -> Mapping[str, ScoresOfParts]:
        """Return property -> value -> metric -> score, of the properties in ``by``."""
        return {name: self.scores_by(name) for name in self.by}

    # Rankings, answers and judgements

    @cached_property
    def rankings_run(self) -> "Result":
        """The result of the rankings: itself, or of the run that its answers are built on."""
        name = self.command.retrieval_run
        return self if name is None else Result(self.folder.parent / name)

    @cached_property
    def rankings(self) -> Mapping[str, Retrieval]:
        """Query id -> its ranking, by the run that answers are built on."""
        return self.rankings_run._read_log(RANKINGS)

    @cached_property
    def answers(self) -> Mapping[str, Answered]:
        """Query id -> its answer; empty for a run of rankings."""
        return self._read_log(ANSWERS)

    @cached_property
    def judgements(self) -> Mapping[str, Mapping[str, Any]]:
        """Query id -> how its answer was judged; empty where nothing was."""
        return {
            query_id: {"query_id": query_id, **judged.record, "fingerprint": judged.fingerprint}
            for query_id, judged in self._read_log(JUDGEMENTS).items()
        }

    def _read_log(self, records: LogFile[T]) -> dict[str, T]:
        return records.read(self.folder, read_manifest(self.folder).logs.get(records.file))

    @cached_property
    def failed(self) -> "list[Retrieval | Generation]":
        """The rankings, then the answers, that failed."""
        records: list[Retrieval | Generation] = []
        if self.counts.failed:
            records += self.rankings.values()
        if self.answer_counts is not None and self.answer_counts.failed:
            records += (answered.generation for answered in self.answers.values())
        return [record for record in records if record.error is not None]

    @cached_property
    def errors(self) -> Mapping[str, str]:
        """Query id -> what went wrong, of failed queries and, after ``NOT_JUDGED``, of judges."""
        not_judged = {
            query_id: NOT_JUDGED + "; ".join(f"{judge}: {e}" for judge, e in failed.items())
            for query_id, record in self.judgements.items()
            if (failed := record.get(FAILED))
        }
        return {record.query_id: str(record.error) for record in self.failed} | not_judged

    # Times and state

    @property
    def times(self) -> ColdTimes:
        """The times that may be shown: nothing in them came out of a cache.

        Those of the rankings that answers are built on are included. A reused run keeps the times
        of its first time.
        """
        own = cold(self.manifest)
        if self.rankings_run is self:
            return own
        ranked = cold(self.rankings_run.manifest)
        return replace(
            ranked,
            seconds={**ranked.seconds, **own.seconds},
            timed_answers=own.timed_answers,
            left_out={**ranked.left_out, **own.left_out},
        )

    @cached_property
    def status(self) -> RunStatus:
        """``finished``, ``unfinished`` or ``damaged``; every byte of its files is read, once."""
        if self.problem is not None:
            return "damaged"
        has_begun = (self.folder / "manifest.json").exists()
        is_working = not has_begun or self.manifest.status == "running"
        return "finished" if self.is_scored and not is_working else "unfinished"

    @property
    def error(self) -> str | None:
        """The error that ended the last work on it, or None."""
        return self.manifest.error

    @cached_property
    def problem(self) -> str | None:
        """The first damage that its name and its checksums show, or None."""
        if not (self.folder / "manifest.json").exists():
            return None
        try:
            key, rankings = self.identity.key, self.command.retrieval_run
            if key != key_of(self.folder):
                return (
                    f"manifest.json: its identity has the hash {key}, but the folder is named "
                    f"{self.folder.name}; the manifest was edited or moved"
                )
            if rankings and not (self.folder.parent / rankings / "manifest.json").is_file():
                return f"the run of its rankings is missing: {rankings}"
            if self.is_scored:
                self.stored  # noqa: B018 (whether it can be read)
                check_tables(self.folder, self.manifest.tables)
            for records in LOGS:
                records.check(self.folder, self.manifest.logs.get(records.file))
        except StoreError as error:
            return str(error)
        return None


class Results(Sequence[Result]):
    """Hold results side by side, such as those of one call; prints as a table.

    ```python
    results = evaluate(["bm25", "tfidf"], "mini")
    results["bm25"]["recall@10"]
    results.to_pandas()
    ```

    Args:
        results: the single results.

    Raises:
        DataError: two of them are of the same split of a corpus, but not of the same data.
    """

    def __init__(self, results: Iterable[Result]) -> None:
        self._results = tuple(results)
        advice = "Figures of different data cannot be compared; run one again on the other's data."
        for group in group_results(self._results):
            check_same_data(group, ["corpus_fingerprint"], advice)
        for group in group_results(self._results, lambda result: result.counts.asked):
            check_same_data(group, ["queries_fingerprint"], advice)

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, index: int | str) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> "Results": ...
    def __getitem__(self, index: int | str | slice) -> "Result | Results":
        """Return a result by its number or name; several for a slice.

        A name is that of the retriever, or of retriever and generator as in ``bm25 + gold``.

        Raises:
            ConfigError: no result has this name, or several have it.
        """
        if isinstance(index, slice):
            return Results(self._results[index])
        return self._find(index) if isinstance(index, str) else self._results[index]

    def _find(self, name: str) -> Result:
        matches = [run for run in self if name == run.label or name in run.command.names[:1]]
        if len(matches) == 1:
            return matches[0]
        listed = [
            f"{i}: {run.label} on {run.corpus} {run.split}, {run.task}"
            for i, run in enumerate(self)
            if run in matches or not matches
        ]
        how_many = f"{len(matches)} results are" if matches else "no result is"
        raise ConfigError(
            f"{how_many} called {name!r}; choose one by its number, as in results[0]: "
            + "; ".join(listed)
        )

    def __add__(self, other: "Results") -> "Results":
        """Return the results of both, those of a run that is in both once.

        Raises:
            DataError: two of them are of the same split of a corpus, but not of the same data.
        """
        folders = {result.folder for result in self}
        return Results([*self, *(result for result in other if result.folder not in folders)])

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score, when there is one result; those of rankings included.

        Raises:
            ConfigError: there are several; take one of them.
        """
        if len(self) == 1:
            return self[0].all_scores
        raise ConfigError(f"there are {len(self)} results; choose one, as in results[0]")

    def to_arrow(self) -> "pyarrow.Table":
        """Return one row per query: what was run, the query and its ranking, one column per metric.

        What was run stands in ``corpus``, ``split``, ``task``, ``retriever``, ``generator`` and
        ``name`` (what tables call it); the query in ``query_id``, ``query`` (its text) and
        ``gold``, which only fresh results have, ``ranking`` (tables as ``database_id/table_id``,
        best first) and ``answer``. A query that a metric is not over has null.

        Raises:
            StoreError: a run folder cannot be read any more.
        """
        import pyarrow

        text, texts = pyarrow.string(), pyarrow.list_(pyarrow.string())
        columns = dict.fromkeys((*_WORDS, "name", "query_id", "query"), text)
        schema = pyarrow.schema({**columns, "gold": texts, "ranking": texts, "answer": text})
        tables = [schema.empty_table()]
        for result in self._results:
            rows = pyarrow.table(_to_columns(result), schema)
            for run in dict.fromkeys((result.rankings_run, result)):
                index = {query_id: i for i, query_id in enumerate(run.query_ids)}
                order = [index.get(query_id, -1) for query_id in rows["query_id"].to_pylist()]
                if run is not result and result.identity.is_no_context:
                    order = [-1] * len(order)
                for metric, values in run.per_query.items():
                    column = np.append(values, np.nan)[order]  # -1 takes the last
                    rows = rows.append_column(metric, pyarrow.array(column, from_pandas=True))
            tables.append(rows)
        return pyarrow.concat_tables(tables, promote_options="default")

    def to_pandas(self) -> "pandas.DataFrame":
        """Return ``to_arrow`` as a data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas", "to_pandas") from error
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __str__(self) -> str:
        width = text_tables.terminal_width()
        lines = [line for result in self for line in describe_failures(result)]
        failures = ["\n".join(text_tables.wrapped(line, width)) for line in lines]
        table = text_tables.text(score_tables(self), width)
        return "\n\n".join(filter(None, [table, *failures]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from target_bench.core.html_view import html

        failures = [line for result in self for line in describe_failures(result)]
        return html(score_tables(self), failures)


def read_run(folder: str | Path) -> Result:
    """Return a stored run, finished or not.

    Args:
        folder: the run folder.

    Raises:
        StoreError: it is not a run folder, or its manifest cannot be read.
    """
    run = Result(folder)
    run.manifest  # noqa: B018 (it is read here, and an error is raised here)
    return run


def read_runs(root: str | Path = "runs") -> Results:
    """Return the finished runs of a folder, by task, corpus and name.

    ```python
    read_runs("runs").to_pandas()
    ```

    Args:
        root: the folder of all runs. Runs without scores are left out; ``list_runs`` has them.

    Raises:
        DataError: two of them are of the same split of a corpus, but not of the same data.
        StoreError: there is no such folder, or a run in it cannot be read.
    """
    return Results(run for run in list_runs(root) if run.is_scored)


def list_runs(root: str | Path = "runs") -> list[Result]:
    """Return all runs of a folder by task, corpus and name, those with unreadable manifests first.

    A run that cannot be read is listed too: its ``status`` is ``damaged``, and its ``problem`` says
    why.

    Args:
        root: the folder of all runs.

    Raises:
        StoreError: there is no such folder.
    """
    return sorted(map(Result, run_folders(Path(root))), key=_sort_key)


def _sort_key(run: Result) -> tuple[str, str, str]:
    try:
        return run.task, run.corpus, run.folder.name
    except StoreError:
        return "", "", run.folder.name


_WORDS = ("corpus", "split", "task", "retriever", "generator")


def _to_columns(result: Result) -> dict[str, list[Any]]:
    """Return column -> value of each query: what was run, the query, its ranking and its answer."""
    queries = {query.id: query for query in result.queries}
    ids = list(result.query_ids)
    if queries:  # in the order of the dataset; of answers those without a reference too
        scored = {*ids, *result.rankings_run.query_ids} if result.retriever else {*ids}
        ids = [
            query_id for query_id in queries if result.identity.has_answers or query_id in scored
        ]
    texts = [queries.get(query_id) for query_id in ids]
    has_ranking, has_answer = result.retriever is not None, result.generator is not None
    return {
        **{name: [getattr(result, name)] * len(ids) for name in _WORDS},
        "name": [result.label] * len(ids),
        "query_id": ids,
        "query": [query and query.text for query in texts],
        "gold": [query and list(map(str, query.gold)) for query in texts],
        "ranking": [
            list(map(str, result.rankings[q].tables)) if has_ranking else None for q in ids
        ],
        "answer": [result.answers[q].generation.text if has_answer else None for q in ids],
    }
