"""Identities of runs: all that can change rankings or answers, or their scores."""

from collections.abc import Sequence
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.identity import plugin_identity
from target_bench.core.registry import is_own_code
from target_bench.core.schema import Dataset
from target_bench.core.task import Task
from target_bench.data.select import make_task
from target_bench.evaluation.cell import Asking, Cell, most_given
from target_bench.evaluation.stages.score import labelled
from target_bench.runs.run_identity import EVERY_FIELD, answers_fingerprint, queries_fingerprint


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
        most = most_given(asked.task, cell.dataset)
        limited = {"tables": asked.depth} if asked.depth < most else {}
        return {"given": {"source": asked.task.source, **limited}}
    retrieval = {"retriever": cell.subject.identity, "depth": cell.depth}
    if asked.depth < cell.depth:
        retrieval["tables"] = asked.depth
    return {RANKING_TASK: retrieval}


def _metrics(task: Task[Any], dataset: Dataset, cutoffs: Sequence[int] = ()) -> list[str]:
    """Return the signatures of the metrics of the queries that can be scored."""
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
