"""``Result``: the scores of a run, fresh or read from its folder; and lists of them.

A result reads each file of its run folder when it is needed, so it is the same whether the run
ended a moment or a year ago.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from target_bench.core import text_tables
from target_bench.core.errors import ConfigError, MissingExtraError, StoreError
from target_bench.core.metric import Score, empty_scores
from target_bench.core.schema import Query
from target_bench.core.task import FAILED, NOT_JUDGED
from target_bench.core.text_tables import count_noun
from target_bench.metrics.scores import canonical_name, find_main_metric
from target_bench.runs.differences import check_same_data
from target_bench.runs.manifest import Command, Identity, read_manifest
from target_bench.runs.run import Run, list_runs
from target_bench.runs.score_files import (
    QueryValues,
    StoredScores,
    read_scores,
    read_values,
)
from target_bench.runs.score_tables import (
    choose_columns,
    describe_failures,
    describe_request,
    find_failures,
    group_results,
    make_score_tables,
)
from target_bench.runs.slicing import (
    MissingPluginError,
    describe_unknown_metric,
    divide_by,
    read_metric,
    score_part,
)
from target_bench.runs.times import ColdTimes, read_cold_times

if TYPE_CHECKING:
    import pandas
    import pyarrow

SYNTHETIC = "The questions are synthetic: they do not decide between lexical and dense retrievers."
"""The warning beside all scores of such questions."""

_IN_A_LINE = 3  # scores in the repr of a result


class Result:
    """Read the scores of one retriever, and generator if there is one, on one split of a corpus.

    ```python
    from target_bench import evaluate

    result = evaluate("bm25", "mini")["bm25"]
    print(result["recall@10"])  # .982 [.961, .992]
    query = result.per_query.ids[0]
    print(result.per_query.values["recall@10"][0], result.run.rankings[query].tables[0])
    # 1.0 0/olympics-1972-medals
    ```

    What needs scores raises ``StoreError`` as long as the run has none (see ``run.is_scored``), and
    what reads a file if that is damaged.

    Args:
        run: the run, or its folder.
        queries: the queries of the run, if they are at hand; the folder has no texts of them.

    Attributes:
        run: what the folder holds beside the scores: manifest, rankings, answers, status.
        by: properties of the queries, each of whose values gets scores where results are printed.
    """

    def __init__(self, run: Run | str | Path, queries: Sequence[Query] = ()) -> None:
        self.run = run if isinstance(run, Run) else Run(run)
        self.by: tuple[str, ...] = ()
        self._queries = queries

    def __getitem__(self, metric: str) -> Score:
        """Return the score of a metric, also of the rankings that answers are built on.

        Raises:
            ConfigError: the run has no such metric.
        """
        name = canonical_name(metric)
        if name not in self.scores:
            raise ConfigError(describe_unknown_metric(self.folder, name, self.scores))
        return self.scores[name]

    def keys(self) -> Iterable[str]:
        """Return the names of the metrics; so ``dict(result)`` gives metric name -> score."""
        return self.scores.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __repr__(self) -> str:
        if not self.run.is_scored:
            return f"Result({str(self.folder)!r}, without scores)"
        shown = choose_columns([self])[:_IN_A_LINE]
        scores = ", ".join(f"{name} {self.scores[name]}" for name in shown)
        data = f"{self.identity.data}"
        n = count_noun(self.stored.n_queries, "query")
        return f"Result({self.command.label} on {data}, {self.identity.task}: {scores}; {n})"

    def __str__(self) -> str:
        return str(Results([self]))

    def _repr_html_(self) -> str:
        return Results([self])._repr_html_()

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.run.folder

    @property
    def identity(self) -> Identity:
        """All that can change the result: task, corpus, split, plug-ins, fingerprints."""
        return self.run.identity

    @property
    def command(self) -> Command:
        """The words of the command: retriever and generator with their names, and options."""
        return self.run.command

    @cached_property
    def rankings_result(self) -> "Result":
        """The result of the rankings: itself, or of the run that its answers are built on."""
        name = self.command.retrieval_run
        return self if name is None else Result(self.folder.parent / name)

    @cached_property
    def stored(self) -> StoredScores:
        """All of ``scores.json``: the run's own scores, denominators, and report of the task."""
        return read_scores(self.folder)

    @cached_property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score, those of the rankings that answers are built on included."""
        if self.rankings_result is self:
            return self.stored.scores
        of_rankings = self.rankings_result.stored.scores
        if self.identity.is_no_context:  # its rankings are empty: no score says anything
            of_rankings = empty_scores(of_rankings, {})[0]
        return {**of_rankings, **self.stored.scores}

    @cached_property
    def per_query(self) -> QueryValues:
        """The values, statistics and properties of every scored query."""
        # Another run of the same queries may have written the files again since the manifest of
        # this result was read.
        return read_values(self.folder, read_manifest(self.folder).value_file_hashes)

    @property
    def times(self) -> ColdTimes:
        """The times that may be shown: nothing in them came out of a cache.

        Those of the rankings that answers are built on are included. A reused run keeps the times
        of its first time.
        """
        own = read_cold_times(self.run.manifest)
        if self.rankings_result is self:
            return own
        ranked = read_cold_times(self.rankings_result.run.manifest)
        return replace(
            ranked,
            seconds={**ranked.seconds, **own.seconds},
            milliseconds={**ranked.milliseconds, **own.milliseconds},
            left_out={**ranked.left_out, **own.left_out},
        )

    @cached_property
    def errors(self) -> Mapping[str, str]:
        """Query id -> its error; ``NOT_JUDGED`` stands before that of a judge that failed."""
        not_judged = {
            query_id: NOT_JUDGED + "; ".join(f"{judge}: {e}" for judge, e in failed.items())
            for query_id, judgement in self.run.judgements.items()
            if (failed := judgement.record.get(FAILED))
        }
        failures = find_failures(self)
        return {record.query_id: str(record.error) for record in failures} | not_judged

    def scores_by(
        self, name: str, metrics: Iterable[str] | None = None
    ) -> dict[str, dict[str, Score]]:
        """Score every part that a property makes of the queries.

        A score is that of the queries of the part alone: corpus BLEU by difficulty is the corpus
        BLEU of the easy queries, and so on.

        Args:
            name: the property, as ``difficulty``; see ``slicing.read_properties``.
            metrics: which metrics; default: all, but for those of plug-ins that are not installed
                and are more than a mean.

        Returns:
            Value of the property as text -> metric -> score; ``(none)`` for queries without one.

        Raises:
            ConfigError: there is no such property or metric; the message lists those there are.
            StoreError: the stored statistics do not give the score.
        """
        masks = divide_by(self.per_query.properties, name).masks()
        own = self.stored.scores
        names = [*own] if metrics is None else map(canonical_name, metrics)
        skipped = (MissingPluginError,) if metrics is None else ()
        measured = {}
        for metric in names:
            with suppress(*skipped):
                measured[metric] = read_metric(self, metric)
        return {
            value: {m: score_part(each, mask, own[m]) for m, each in measured.items()}
            for value, mask in masks.items()
        }


def read_main_metric(result: Result) -> str:
    """Return the name of the one metric that stands for a run.

    Raises:
        StoreError: there is none, because no query has a reference.
    """
    if not result.stored.scores:
        raise StoreError(
            f"{result.folder}: no query has a reference, so there are no scores; target-bench "
            "report shows runs side by side without them"
        )
    return find_main_metric(result.stored.scores)


class Results(Sequence[Result]):
    """Hold results side by side, such as those of one call; prints as a table.

    ```python
    from target_bench import evaluate

    results = evaluate(["bm25", "tfidf"], "mini")
    print(results["tfidf"]["recall@10"])  # .936 [.903, .959]
    print(results.to_arrow().num_rows)  # 560
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
        for group in group_results(self._results, _read_selection):
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
        if isinstance(index, str):
            return self._find(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"results[{index}]: there are {len(self)} results, from results[0]")
        return self._results[index]

    def _find(self, name: str) -> Result:
        matches = [
            result
            for result in self
            if name == result.command.label or name in result.command.names[:1]
        ]
        if len(matches) == 1:
            return matches[0]
        listed = [
            f"{i}: {result.command.label} on {result.identity.data}, {result.identity.task}"
            for i, result in enumerate(self)
            if result in matches or not matches
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
            return self[0].scores
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
        names = ("corpus", "split", "task", "retriever", "generator", "name", "query_id", "query")
        columns = dict.fromkeys(names, text)
        schema = pyarrow.schema({**columns, "gold": texts, "ranking": texts, "answer": text})
        tables = [schema.empty_table()]
        for result in self._results:
            rows = pyarrow.table(_to_columns(result), schema)
            for scored in dict.fromkeys((result.rankings_result, result)):
                index = {query_id: i for i, query_id in enumerate(scored.per_query.ids)}
                order = [index.get(query_id, -1) for query_id in rows["query_id"].to_pylist()]
                if scored is not result and result.identity.is_no_context:
                    order = [-1] * len(order)
                for metric, values in scored.per_query.values.items():
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
        failures = ["\n".join(text_tables.wrap_sentence(line, width)) for line in lines]
        table = text_tables.text(make_score_tables(self), width)
        return "\n\n".join(filter(None, [table, *failures]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from target_bench.core.html_view import html

        failures = [line for result in self for line in describe_failures(result)]
        return html(make_score_tables(self), failures)


def _read_selection(result: Result) -> tuple[str | None, int]:
    """Return what selects queries of a split: the task they are about, and how many are asked."""
    return result.command.about, result.stored.counts.asked


def read_run(folder: str | Path) -> Result:
    """Return the result of a stored run, finished or not.

    ```python
    from target_bench import evaluate, read_run

    folder = evaluate("bm25", "mini")["bm25"].folder
    print(read_run(folder)["recall@10"])  # .982 [.961, .992]
    ```

    Args:
        folder: the run folder.

    Raises:
        StoreError: it is not a run folder, or its manifest cannot be read.
    """
    result = Result(folder)
    result.run.manifest  # noqa: B018 (it is read here, and an error is raised here)
    return result


def read_runs(root: str | Path = "runs") -> Results:
    """Return the finished runs of a folder, by task, corpus and name.

    ```python
    from target_bench import evaluate, read_runs

    evaluate(["bm25", "tfidf"], "mini")
    for result in read_runs("runs"):
        print(result.command.label, result["recall@10"])
    # bm25 .982 [.961, .992]
    # tfidf .936 [.903, .959]
    ```

    Args:
        root: the folder of all runs. Runs without scores are left out; ``list_runs`` has them.

    Raises:
        DataError: two of them are of the same split of a corpus, but not of the same data.
        StoreError: there is no such folder, or a run in it cannot be read.
    """
    return Results(Result(run.folder) for run in list_runs(root) if run.is_scored)


def _to_columns(result: Result) -> dict[str, list[Any]]:
    """Return column -> value of each query: what was run, the query, its ranking and its answer."""
    asked = {query.id: query for query in result._queries}
    logged = result.run.answers if result.identity.has_answers else result.run.rankings
    ids = list(asked) or sorted(logged)  # also those without a reference, which have no values
    queries = [asked.get(query_id) for query_id in ids]  # None where the texts are not at hand
    command = result.command
    has_ranking, has_answer = command.retriever is not None, command.generator is not None
    return {
        **{name: [value] * len(ids) for name, value in describe_request(result).items()},
        "name": [result.command.label] * len(ids),
        "query_id": ids,
        "query": [query and query.text for query in queries],
        "gold": [query and list(map(str, query.gold)) for query in queries],
        "ranking": [
            list(map(str, result.run.rankings[q].tables)) if has_ranking else None for q in ids
        ],
        "answer": [result.run.answers[q].text if has_answer else None for q in ids],
    }
