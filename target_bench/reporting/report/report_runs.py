"""Run folders -> the runs of a report: their names, what they recorded, what they share."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.metric import AnswerCounts, Score
from target_bench.core.observer import Observer
from target_bench.core.registry import make_task
from target_bench.core.schema import Dataset, TableId
from target_bench.core.task import SummaryBlock, Task, given_tables
from target_bench.data.selection import select_queries
from target_bench.harness.score import align_values
from target_bench.harness.stored import load_same_data
from target_bench.runs.differences import check_same_data, make_labels
from target_bench.runs.manifest import answers_fingerprint
from target_bench.runs.record_log import ANSWERS, RANKINGS
from target_bench.runs.result import Result, read_run
from target_bench.runs.score_tables import summarize_answers


class ShownTables(NamedTuple):
    """The part of a ranking that is kept, so that a report of many long ones stays small.

    Attributes:
        tables: the first ones, best first, as many as the report shows.
        scores: the retriever's scores of them; empty where there are none.
        n: how many tables there are.
        gold_ranks: the ranks of gold tables among all of them, ascending, from 1.
        error: why there is no ranking; None where there is one.
    """

    tables: tuple[TableId, ...] = ()
    scores: tuple[float, ...] = ()
    n: int = 0
    gold_ranks: tuple[int, ...] = ()
    error: str | None = None


@dataclass(frozen=True, eq=False)
class ReportRun:
    """A finished run as the report shows it, with the rankings it is built on.

    Attributes:
        result: the stored run.
        label: what it is called in the report; no other run of the report is called so.
        task: its task.
        tables: query id -> its tables, retrieved or, where none are retrieved, given.
        values: metric -> (n,) value of every query, in the order of the queries.
    """

    result: Result
    label: str
    task: Task[Any]
    tables: Mapping[str, ShownTables]
    values: Mapping[str, NDArray[np.float64]]

    @property
    def scores(self) -> Mapping[str, Score]:
        """Of the run and its rankings."""
        return self.result.scores

    @property
    def answers(self) -> AnswerCounts | None:
        """The denominators of the answers; None for a run of rankings."""
        return self.result.stored.answers

    @property
    def is_given(self) -> bool:
        """Whether nothing was retrieved."""
        return self.result.rankings_result.command.retriever is None

    @property
    def is_ranked(self) -> bool:
        """Whether anything was ranked: not where tables are given, nor for answers without any."""
        return not self.is_given and (
            self.answers is None or not self.result.identity.is_no_context
        )

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """The cutoffs of its rankings, ascending; none without a retriever."""
        return self.result.rankings_result.identity.top_k

    @cached_property
    def remarks(self) -> Mapping[str, Sequence[str]]:
        """Query id -> the faults that its task found in the query."""
        return (
            self.task.view.remarks(self.result.stored.report) if self.result.stored.report else {}
        )

    @property
    def findings(self) -> Sequence[SummaryBlock]:
        """The task's summary of the answers."""
        return summarize_answers(self.result)

    @property
    def identity_text(self) -> str:
        """All that changes its figures, to be read."""
        return json.dumps(self.result.identity.content, ensure_ascii=False, indent=2)


_SAME = ("corpus", "split", "corpus_fingerprint", "queries_fingerprint")


def open_runs(
    folders: Sequence[Path], data_dir: str | Path | None, observer: Observer, depth: int = 10
) -> tuple[list[ReportRun], Dataset]:
    """Return the runs, and the tables and queries that all of them are of.

    A run of rankings that answers of another run are built on is left out: that one shows them.
    """
    if not folders:
        raise ConfigError("name at least one run folder")
    stored = [read_run(folder) for folder in dict.fromkeys(map(Path.resolve, folders))]
    check_same_data(
        [run.rankings_result for run in stored],
        _SAME,
        "All runs of one report are on the same queries over the same tables; --limit makes other "
        "queries. Write a report of each.",
    )
    stored = _drop_basis(stored)
    dataset = load_same_data(stored[0], data_dir, observer)
    names = zip(stored, make_labels(stored), strict=True)
    return [_open_run(run, label, dataset, depth) for run, label in names], dataset


def group_by_data(folders: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the runs of each set of queries over the same tables, in the order they are named."""
    sets: dict[tuple[str, ...], tuple[str, list[Path]]] = {}
    for run in _drop_basis([read_run(folder) for folder in folders]):
        ranked = run.rankings_result
        data = tuple(str(getattr(ranked.identity, part)) for part in _SAME)
        # Rankings for several tasks may be of the same queries: the set is called after the first.
        corpus = Path(ranked.identity.corpus).name[-40:]
        parts = (
            corpus,
            ranked.identity.split,
            ranked.command.about,
            f"{ranked.run.manifest.n_queries} queries",
        )
        name = re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(filter(None, parts))).strip("-")
        sets.setdefault(data, (name, []))[1].append(run.folder)
    n_sets = Counter(name for name, _ in sets.values())
    return {
        name if n_sets[name] == 1 else f"{name}-{data[2]:.12}-{data[3]:.12}": runs
        for data, (name, runs) in sets.items()
    }


def _drop_basis(runs: Sequence[Result]) -> list[Result]:
    """Leave out the rankings that answers of another of these runs are built on."""
    shown_with = {run.rankings_result.folder for run in runs if run.rankings_result is not run}
    return [run for run in runs if run.folder not in shown_with]


def _open_run(stored: Result, label: str, dataset: Dataset, depth: int) -> ReportRun:
    ranked = stored.rankings_result
    ids = [query.id for query in dataset.queries]
    task = make_task(stored.command.task)
    if ranked.command.retriever is None:
        tables = {
            query.id: keep_tables(query.gold, given_tables(task, query), depth=depth)
            for query in dataset.queries
        }
    else:
        tables = _read_rankings(ranked, dataset, depth)
        _check_complete(ranked.folder / RANKINGS.file, ids, tables)
    values = (
        align_values(ids, [(ranked.per_query.ids, ranked.per_query.values)])
        if ranked.scores
        else {}
    )
    if ranked is not stored:
        if stored.identity.is_no_context:  # answers are not built on these rankings
            values = {name: np.full_like(column, np.nan) for name, column in values.items()}
        values |= (
            align_values(ids, [(stored.per_query.ids, stored.per_query.values)])
            if stored.scores
            else {}
        )
    if stored.stored.answers is not None:
        _check_complete(stored.folder / ANSWERS.file, ids, stored.run.answers)
        queries = select_queries(dataset, task).queries
        if answers_fingerprint(queries) != stored.identity.queries_fingerprint:
            raise StoreError(
                f"{stored.folder}: the queries or their reference answers have changed since the "
                "run, so its records do not fit them. Name the data of the run with --data-dir, "
                "or repeat the run."
            )
    return ReportRun(stored, label, task, tables, values)


def _read_rankings(ranked: Result, dataset: Dataset, depth: int) -> dict[str, ShownTables]:
    """Read rankings line by line, and keep no more of each than is shown."""
    gold = {query.id: query.gold for query in dataset.queries}
    return {
        ranking.query_id: keep_tables(
            gold[ranking.query_id], ranking.tables, ranking.scores, ranking.error, depth
        )
        for ranking in RANKINGS.iterate(ranked.folder, ranked.run.manifest.logs.get(RANKINGS.file))
        if ranking.query_id in gold
    }


def keep_tables(
    gold: Sequence[TableId],
    tables: Sequence[TableId],
    scores: Sequence[float] = (),
    error: str | None = None,
    depth: int = 10,
) -> ShownTables:
    """Return the part of a ranking that the report shows."""
    ranks = tuple(rank for rank, table in enumerate(tables, start=1) if table in set(gold))
    return ShownTables(tuple(tables[:depth]), tuple(scores[:depth]), len(tables), ranks, error)


def _check_complete(path: Path, ids: Sequence[str], lines: Mapping[str, object]) -> None:
    missing = next((query_id for query_id in ids if query_id not in lines), None)
    if missing is not None:
        raise StoreError(
            f"{path}: query {missing!r:.80} is missing; finish the run with the command that "
            "began it"
        )
