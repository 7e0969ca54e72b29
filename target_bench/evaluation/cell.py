"""One cell of an evaluation: what is asked of whom on which data, and what identifies it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.identity import is_own_code, plugin_identity
from target_bench.core.interfaces import Dataset
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.task import Task
from target_bench.data.select import Loaded, make_task
from target_bench.evaluation.inputs import Answering
from target_bench.evaluation.stages.generate import Answerer
from target_bench.evaluation.stages.retrieve import RetrievalOptions, Subject
from target_bench.evaluation.stages.score import (
    labelled,
)
from target_bench.runs.run_identity import EVERY_FIELD, answers_fingerprint, queries_fingerprint


@dataclass(frozen=True)
class Cell:
    """One retriever on one split, or a split alone.

    Attributes:
        loaded: the split.
        subject: what ranks; None for a task that retrieves nothing.
        cutoffs: the cutoffs, ascending; retrieval runs once, at the largest. Empty without one.
        options: how the retriever is run.
        out: the folder of all runs.
        observer: hears of progress and warnings.
    """

    loaded: Loaded
    subject: Subject | None
    cutoffs: Sequence[int]
    options: RetrievalOptions
    out: Path
    observer: Observer

    @property
    def dataset(self) -> Dataset:
        """Tables and queries."""
        return self.loaded.dataset

    @property
    def depth(self) -> int:
        """How many tables a ranking holds."""
        return self.cutoffs[-1] if self.cutoffs else 0


@dataclass(frozen=True)
class Asking:
    """How the queries of a cell are answered.

    Attributes:
        task: a task that is about answers.
        answerer: what answers.
        prompter: what it is asked with.
        depth: how many tables stand in a prompt.
        text: the task with its settings, as it was asked for.
    """

    task: Task[Any]
    answerer: Answerer
    prompter: PromptWriter
    depth: int
    text: str


def asking(task: Task[Any], cell: Cell, answering: Answering) -> Asking:
    """What is asked of whom in a cell; errors as for ``Answering``, and ``DataError``."""
    labelled(task, cell.dataset)
    answerer = answering.answerer(task, cell.observer)
    follows_schema = bool(getattr(answerer.generator, "follows_schema", False))
    depth = cell.depth if task.retrieves else _most_given(task, cell.dataset)
    return Asking(
        task,
        answerer,
        answering.prompter(task, cell.dataset.databases, follows_schema),
        depth if answering.tables is None else min(answering.tables, depth),
        answering.task or task.name,
    )


def _most_given(task: Task[Any], dataset: Dataset) -> int:
    return max(len(task.given_tables(query, dataset.corpus)) for query in dataset.queries)


def retrieval_identity(cell: Cell, task: Task[Any] | None = None) -> dict[str, Any]:
    """All that can change the rankings of a cell or their scores; ``task``: the one scored by."""
    assert cell.subject is not None
    task, dataset = task or make_task(RANKING_TASK), cell.dataset
    metrics = _metrics(task, dataset, cell.cutoffs)
    return _data_identity(task, dataset, queries_fingerprint(dataset.queries)) | {
        "top_k": list(cell.cutoffs),
        "retriever": cell.subject.identity,
        "metrics": [*metrics, *task.settings()],
    }


def answers_identity(cell: Cell, asked: Asking) -> dict[str, Any]:
    """All that can change the answers of a cell or their scores."""
    dataset, task, answerer = cell.dataset, asked.task, asked.answerer
    return _data_identity(task, dataset, answers_fingerprint(dataset.queries)) | {
        "queries_version": EVERY_FIELD,
        **_tables_identity(cell, asked),
        "generator": answerer.identity,
        "prompt": asked.prompter.identity if answerer.prompt is None else answerer.prompt,
        "metrics": [*_metrics(task, dataset), *task.settings()],
    }


def _tables_identity(cell: Cell, asked: Asking) -> dict[str, Any]:
    """Where the tables of the prompts come from, and how many of them a prompt holds."""
    if cell.subject is None:
        most = _most_given(asked.task, cell.dataset)
        limited = {"tables": asked.depth} if asked.depth < most else {}
        return {"given": {"source": asked.task.source, **limited}}
    retrieval = {"retriever": cell.subject.identity, "depth": cell.depth}
    if asked.depth < cell.depth:
        retrieval["tables"] = asked.depth
    return {RANKING_TASK: retrieval}


def _metrics(task: Task[Any], dataset: Dataset, cutoffs: Sequence[int] = ()) -> list[str]:
    """The signatures of the metrics of the queries that can be scored."""
    queries = labelled(task, dataset).queries
    return [metric.signature for metric in task.metrics(queries, cutoffs)] if queries else []


def _data_identity(task: Task[Any], dataset: Dataset, queries: str) -> dict[str, Any]:
    """Task and data; of a task that is not of this package also its code and settings."""
    own = {} if is_own_code(type(task)) else {"task_plugin": plugin_identity(task)[0]}
    return {
        "task": task.name,
        **own,
        "corpus": dataset.info.name,
        "split": dataset.split,
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "queries_fingerprint": queries,
    }
