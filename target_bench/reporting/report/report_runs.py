"""Run folders -> the runs of a report: their names, what they recorded, what they share."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.metric import AnswerCounts
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, TableId
from target_bench.core.task import SummaryBlock, Task
from target_bench.core.task_names import make_task
from target_bench.data.load import Loaded
from target_bench.harness.resume import ResumedRun
from target_bench.harness.stages.score import aligned
from target_bench.runs.differences import labels
from target_bench.runs.manifest import answers_fingerprint
from target_bench.runs.result import Result, read_run


@dataclass(frozen=True)
class ReportRun:
    """A finished run as the report shows it, with the rankings it is built on.

    Attributes:
        run: the stored run.
        label: what it is called in the report; no other run of the report is called so.
        task: its task.
        given: query id -> the tables that a query is given, where none are retrieved.
        scores: of the run and its rankings: metric -> value, low, high, n, signature.
        values: metric -> (n,) value of every query, in the order of the queries.
    """

    run: Result
    label: str
    task: Task[Any]
    given: Mapping[str, Sequence[TableId]]
    scores: Mapping[str, Mapping[str, Any]]
    values: Mapping[str, NDArray[np.float64]]

    @property
    def answers(self) -> AnswerCounts | None:
        """The denominators of the answers; None for a run of rankings."""
        return self.run.answer_counts

    @property
    def is_ranked(self) -> bool:
        """Whether anything was ranked: not where tables are given, nor for answers without any."""
        if self.run.retrieval.asked.retriever is None:
            return False
        return self.answers is None or not self.run.is_no_context

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """The cutoffs of its rankings, ascending; none without a retriever."""
        return self.run.retrieval.identity.top_k

    @property
    def depth(self) -> int:
        """The largest number of tables of a query."""
        return max(self.cutoffs, default=max(map(len, self.given.values()), default=0))

    def tables(self, query_id: str) -> tuple[TableId, ...]:
        """Return the tables of a query, best first, or those that it is given."""
        ranking = self.run.rankings.get(query_id)
        return tuple(self.given.get(query_id, ())) if ranking is None else ranking.tables

    def table_scores(self, query_id: str) -> tuple[float, ...]:
        """Return the retriever's scores of these tables; empty where there are none."""
        ranking = self.run.rankings.get(query_id)
        return () if ranking is None else ranking.scores

    def error(self, query_id: str) -> str | None:
        """Return why there is no ranking of a query; None where there is one."""
        ranking = self.run.rankings.get(query_id)
        return None if ranking is None else ranking.error

    @property
    def summary(self) -> Sequence[SummaryBlock]:
        """What its task says of the answers, for people."""
        return self.task.view.summary(self.run.report) if self.run.report else ()

    @cached_property
    def remarks(self) -> Mapping[str, Sequence[str]]:
        """Query id -> what its task found wrong with the query."""
        return self.task.view.remarks(self.run.report) if self.run.report else {}

    @property
    def identity_text(self) -> str:
        """All that changes its figures, to be read."""
        return json.dumps(self.run.identity.content, ensure_ascii=False, indent=2)


def open_runs(
    folders: Sequence[Path], data_dir: str | Path | None, observer: Observer
) -> tuple[list[ReportRun], Loaded]:
    """Return the runs, and the tables and queries that all of them are of.

    Raises:
        ConfigError: no run, one run twice, or runs of different tables or queries.
        DataError: the data are missing, or not what they were.
        StoreError: a folder holds no finished run.
    """
    folders = [folder.resolve() for folder in folders]
    if not folders:
        raise ConfigError("name at least one run folder")
    for folder in folders:
        if folders.count(folder) > 1:
            raise ConfigError(f"{folder} is named twice")
    stored = [read_run(folder) for folder in folders]
    _check_same_data(stored)
    loaded = ResumedRun(stored[0], data_dir, observer).load()
    runs = [
        _opened(run, label, loaded.dataset)
        for run, label in zip(stored, labels(stored), strict=True)
    ]
    for run in runs:
        _check_references(run, loaded)
    return runs, loaded


_SAME = {
    "corpus": "corpora",
    "split": "splits",
    "corpus_fingerprint": "tables",
    "queries_fingerprint": "queries",
}


def of_same_data(folders: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the runs of each set of queries over the same tables, in the order they are named.

    Returns:
        What distinguishes a set, in words that may stand in the name of a file -> its run folders.

    Raises:
        StoreError: a folder holds no run.
    """
    sets: dict[tuple[str, ...], list[Path]] = {}
    words: dict[tuple[str, ...], list[str]] = {}
    for folder in folders:
        rankings = read_run(folder).retrieval
        key = tuple(str(getattr(rankings.identity, name)) for name in _SAME)
        sets.setdefault(key, []).append(folder)
        queries = rankings.manifest.queries
        n = "other queries" if queries is None else f"{queries} queries"
        known = (rankings.asked.about, n, *key[2:])
        words[key] = [f"{rankings.corpus} {rankings.split}", *filter(None, known)]
    return {_distinct(words[key], list(words.values())): paths for key, paths in sets.items()}


def _distinct(words: Sequence[str], others: Sequence[Sequence[str]]) -> str:
    """As many words as no other set begins with."""
    n = next(
        (n for n in range(1, len(words)) if [w[:n] for w in others].count(words[:n]) == 1),
        len(words),
    )
    return re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(words[:n])).strip("-")


def _check_same_data(runs: Sequence[Result]) -> None:
    first = runs[0]
    for run in runs[1:]:
        for name, what in _SAME.items():
            mine, theirs = (str(getattr(r.retrieval.identity, name)) for r in (first, run))
            if mine != theirs:
                raise ConfigError(
                    f"{first.folder} and {run.folder} are of different {what} ({mine:.12} and "
                    f"{theirs:.12}): all runs of one report are on the same queries over the same "
                    "tables; --limit and --database make other queries. Write a report of each."
                )


def _opened(stored: Result, label: str, dataset: Dataset) -> ReportRun:
    rankings, ids = stored.retrieval, [query.id for query in dataset.queries]
    task = make_task(stored.asked.task or stored.task)
    given = {}
    if stored.asked.retriever is None:
        given = {query.id: task.given_tables(query, dataset.corpus) for query in dataset.queries}
    values, scores = _per_query(rankings, ids), _scores(rankings)
    if rankings is not stored:
        if rankings.is_no_context:
            scores, values = _over_no_query(scores), _unknown(values)
        values |= _per_query(stored, ids)
    if rankings.asked.retriever is not None:
        _check_all_there(rankings.folder / "retrieval.jsonl", ids, stored.rankings)
    if stored.answer_counts is not None:
        _check_all_there(stored.folder / "generations.jsonl", ids, stored.answers)
    return ReportRun(stored, label, task, given, {**scores, **_scores(stored)}, values)


def _check_all_there(path: Path, ids: Sequence[str], lines: Mapping[str, object]) -> None:
    missing = next((query_id for query_id in ids if query_id not in lines), None)
    if missing is not None:
        raise StoreError(
            f"{path}: query {missing!r:.80} is not there; finish the run with the command that "
            "began it"
        )


def _scores(run: Result) -> dict[str, Mapping[str, Any]]:
    return {name: score.to_json() for name, score in run.scores.items()}


def _over_no_query(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the scores of rankings that answers are not built on, as `run` prints them."""
    none = {"value": None, "low": None, "high": None, "n": 0}
    return {name: {**score, **none} for name, score in scores.items()}


def _unknown(values: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    return {name: np.full_like(known, np.nan) for name, known in values.items()}


def _per_query(run: Result, ids: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Metric -> values in the order of the queries; NaN for one without a reference."""
    complete = len(run.query_ids) == run.n_scored and run.n_queries == len(ids)
    if not complete or not set(run.query_ids) <= set(ids):
        raise StoreError(
            f"{run.folder / 'per_query.parquet'}: is of other queries than these; run the same "
            "command again"
        )
    return aligned(ids, [(run.query_ids, run.per_query)]) if run.scores else {}


def _check_references(shown: ReportRun, loaded: Loaded) -> None:
    if shown.answers is None:
        return
    run = shown.run
    queries = loaded.of_task(shown.task).dataset.queries
    if answers_fingerprint(queries) != run.identity.queries_fingerprint:
        raise StoreError(
            f"{run.folder}: the queries or their reference answers are not what they were, so what "
            "is stored does not belong to them. Name the data of the run with --data-dir, or run "
            "again."
        )
