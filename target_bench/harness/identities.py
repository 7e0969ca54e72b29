"""The identity of a run: all that can change its rankings or answers, or their scores.

Its hash names the run folder, so whatever has the same identity is found there again.
"""

from collections.abc import Sequence
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import DataError
from target_bench.core.identity import plugin_identity
from target_bench.core.metric import without_packages
from target_bench.core.registry import is_own_code
from target_bench.core.schema import Dataset
from target_bench.core.task import Task, given_tables, has_reference
from target_bench.core.task_names import make_task
from target_bench.harness.stages.generate import (
    GOLD,
    AnswerPlan,
    GeneratorLike,
    GeneratorSpec,
    generator_spec,
)
from target_bench.harness.stages.retrieve import Experiment
from target_bench.harness.stages.score import metrics_of, scorable
from target_bench.runs.manifest import answers_fingerprint, queries_fingerprint


def answer_plan(
    task: Task[Any],
    experiment: Experiment,
    generator: GeneratorLike | GeneratorSpec | str,
    task_text: str | None = None,
) -> AnswerPlan:
    """Return generator, task and prompts; errors as in ``generator_spec``.

    Args:
        task: a task about answers.
        experiment: tables and queries, and what prompts are made of.
        generator: what answers.
        task_text: the task with its settings, as it was asked for; default: its name.
    """
    from target_bench.models.prompts.prompting import writer_of  # it takes time to import

    scorable(task, experiment.dataset)
    options = experiment.options
    generator = generator_spec(generator, task, options, experiment.observer)
    if generator.is_gold:
        _check_references(task, experiment.dataset)
    follows_schema = bool(getattr(generator.generator, "follows_schema", False))
    depth = experiment.depth if task.source == "retrieved" else most_given(task, experiment.dataset)
    tables = options.tables
    return AnswerPlan(
        task,
        generator,
        writer_of(task, options, experiment.dataset.databases, follows_schema),
        depth if tables is None else min(tables, depth),
        {"task": task_text or task.name, "prompting": options.prompt_json()},
    )


def _check_references(task: Task[Any], dataset: Dataset) -> None:
    """Check that a query has a reference, as references are to be the answers."""
    if not any(has_reference(task, query) for query in dataset.queries):
        raise DataError(
            f"{dataset.info.name} {dataset.split}: no query has a reference answer, so the "
            f"generator {GOLD} has nothing to answer with; name another generator"
        )


def most_given(task: Task[Any], dataset: Dataset) -> int:
    """Return the largest number of tables that a task without retrieval gives a query."""
    return max(len(given_tables(task, query)) for query in dataset.queries)


def retrieval_identity(experiment: Experiment, task: Task[Any] | None = None) -> dict[str, Any]:
    """All that can change rankings or their scores; ``task``: the one that scores them."""
    assert experiment.retriever is not None
    task, dataset = task or make_task(RANKING_TASK), experiment.dataset
    return _data_identity(task, dataset, queries_fingerprint(dataset.queries)) | {
        "top_k": list(experiment.cutoffs),
        "retriever": experiment.retriever.identity,
        "metrics": [*_metrics(task, dataset, experiment.cutoffs), *task.settings()],
    }


def answers_identity(experiment: Experiment, plan: AnswerPlan) -> dict[str, Any]:
    """All that can change the answers of an experiment or their scores."""
    dataset, task, generator = experiment.dataset, plan.task, plan.generator
    return _data_identity(task, dataset, answers_fingerprint(dataset.queries)) | {
        **_tables_identity(experiment, plan),
        "generator": generator.identity,
        "prompt": plan.prompter.identity if generator.prompt is None else generator.prompt,
        "metrics": [*_metrics(task, dataset), *task.settings()],
    }


def _tables_identity(experiment: Experiment, plan: AnswerPlan) -> dict[str, Any]:
    """Return the source and the number of the tables in a prompt."""
    if experiment.retriever is None:
        most = most_given(plan.task, experiment.dataset)
        limited = {"tables": plan.depth} if plan.depth < most else {}
        return {"given": {"source": plan.task.source, **limited}}
    retrieval = {"retriever": experiment.retriever.identity, "depth": experiment.depth}
    if plan.depth < experiment.depth:
        retrieval["tables"] = plan.depth
    return {RANKING_TASK: retrieval}


def _metrics(task: Task[Any], dataset: Dataset, cutoffs: Sequence[int] = ()) -> list[str]:
    """Return the signatures of the metrics of the queries that can be scored, without packages."""
    queries = scorable(task, dataset).queries
    return [without_packages(m.signature) for m in metrics_of(task, queries, cutoffs)]


def _data_identity(task: Task[Any], dataset: Dataset, queries: str) -> dict[str, Any]:
    """Task and data; of a task that is not of this package also its code and settings."""
    near_copies = [distractors.setting for distractors in dataset.distractors]
    own = is_own_code(type(task))
    version = {"task_version": task.VERSION} if own else {"task_plugin": plugin_identity(task)[0]}
    return {
        "task": task.name,
        **version,
        "corpus": dataset.info.name,
        "split": dataset.split,
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "queries_fingerprint": queries,
        **({"near_copies": near_copies} if any(near_copies) else {}),
    }
