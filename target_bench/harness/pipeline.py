"""One cell of an evaluation: a retriever on a split, and how the queries are answered.

It is retrieved and scored; or retrieved, generated, judged and scored. The identities of its runs
hold all that can change rankings or answers, or their scores.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.contract import errors_of
from target_bench.core.errors import DataError
from target_bench.core.identity import plugin_identity
from target_bench.core.metric import Counts, without_packages
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.registry import is_own_code
from target_bench.core.schema import (
    Dataset,
    Generation,
    Judgement,
    Query,
    Retrieval,
    own_copy,
)
from target_bench.core.settings import masked_settings
from target_bench.core.task import Task
from target_bench.data.select import make_task
from target_bench.harness import inputs, run_warnings
from target_bench.harness.stages.consent import Confirm
from target_bench.harness.stages.generate import AnswerOptions, GenerateStage, GeneratorSpec
from target_bench.harness.stages.judge import JudgeStage
from target_bench.harness.stages.retrieve import Cell, RetrieveStage
from target_bench.harness.stages.score import (
    Scored,
    metrics_of,
    scorable,
    score_answers,
    score_rankings,
)
from target_bench.runs.manifest import (
    Asked,
    answers_fingerprint,
    asked_from,
    queries_fingerprint,
    slice_columns,
)
from target_bench.runs.result import Result
from target_bench.runs.store import Run

_TIED_FIRST = 0.1
"""Share of rankings whose first two tables have equal scores above which a warning says so."""

_FEWEST_FOR_A_SHARE = 100
"""Scored rankings below which ties are counted, but no share of them is warned of."""


@dataclass(frozen=True)
class AnswerPlan:
    """Plan of answering the queries of a cell.

    Attributes:
        task: a task that is about answers.
        generator: what answers.
        prompter: what it is asked with.
        depth: how many tables stand in a prompt.
        written: task and prompt options as they were asked for, for the manifest.
    """

    task: Task[Any]
    generator: GeneratorSpec
    prompter: PromptWriter
    depth: int
    written: Mapping[str, Any]


def answer_plan(task: Task[Any], cell: Cell, options: AnswerOptions) -> AnswerPlan:
    """Return generator, task and prompts; errors as in ``AnswerOptions``, ``check_references``."""
    scorable(task, cell.dataset)
    generator = options.generator_spec(task, cell.observer)
    if generator.is_gold:
        inputs.check_references(task, cell.dataset)
    follows_schema = bool(getattr(generator.generator, "follows_schema", False))
    depth = cell.depth if task.retrieves else most_given(task, cell.dataset)
    tables = options.prompting.tables
    return AnswerPlan(
        task,
        generator,
        options.prompter(task, cell.dataset.databases, follows_schema),
        depth if tables is None else min(tables, depth),
        {"task": options.task or task.name, "prompting": options.prompting.to_json()},
    )


def most_given(task: Task[Any], dataset: Dataset) -> int:
    """Return the largest number of tables that a task without retrieval gives a query."""
    return max(len(task.given_tables(query, dataset.corpus)) for query in dataset.queries)


def evaluate(task: Task[Any], cell: Cell, options: AnswerOptions | None) -> Result:
    """Return the result of a task; ``options`` is for tasks about answers."""
    if not is_own_code(type(task)):  # it gets queries of its own, as the next task gets them too
        dataset = cell.dataset
        own = tuple(replace(query, metadata=own_copy(query.metadata)) for query in dataset.queries)
        dataset = replace(dataset, queries=own)
        cell = replace(cell, loaded=replace(cell.loaded, dataset=dataset))
    with errors_of("task", task, f"a run on {cell.dataset.info.name} {cell.dataset.split}"):
        if task.ranks:
            return retrieve(cell, task, options.task if options else None)[0]
        assert options is not None
        return answer(cell, answer_plan(task, cell, options), options.confirm)


def retrieve(
    cell: Cell, task: Task[Any] | None = None, task_text: str | None = None
) -> tuple[Result, dict[str, Retrieval]]:
    """Rank all queries and score the rankings: the result, and query id -> ranking.

    Args:
        cell: what ranks what.
        task: the task that scores the rankings; default: table retrieval.
        task_text: how it can be asked for again; default: by its name.

    Raises:
        ConfigError: the task measures what the corpus does not have.
        DataError: there are no tables, or a reference is not valid.
        PluginError: the retriever failed.
        StoreError: the run folder cannot be written or read.
    """
    task = task or make_task(RANKING_TASK)
    dataset, spec, depth = cell.dataset, cell.retriever, cell.depth
    assert spec is not None
    if not len(dataset.corpus):
        raise DataError(f"{dataset.info.name} {dataset.split}: no tables to retrieve from")
    if depth > len(dataset.corpus):
        cell.observer.warning(run_warnings.too_deep(dataset, depth))
    about = cell.loaded.only_about
    kind = task.name if about is None else f"{task.name} for {about}"
    label = (kind, dataset.info.name, dataset.split, spec.label)
    store = Run(cell.out, label, retrieval_identity(cell, task))
    stage = RetrieveStage(cell, store)
    with store.locked(cell.observer.warning):
        asked = _asked(cell, retriever=spec.label, retriever_name=spec.name, task=task_text)
        store.begin(asked, len(dataset.queries))
        found, reused = stage.run()
        by_query = {query.id: found[query.id] for query in dataset.queries}
        cell.observer.stage(f"{spec.label}: score")
        start = time.perf_counter()
        scored = score_rankings(dataset, by_query, cell.cutoffs, task, cell.options.metrics)
        _write(cell, task, store, scored, counts=scored.counts.to_json())
        _record_scoring(store, start, reused)
    if scored.counts.resorted:
        cell.observer.warning(run_warnings.not_sorted(spec.label, scored.counts))
    _check_ties(cell, spec.label, by_query.values())
    return Result(store.folder, asked=asked, queries=dataset.queries, reused=reused), by_query


def _check_ties(cell: Cell, label: str, retrievals: Iterable[Retrieval]) -> None:
    """Warn where many rankings begin with equal scores."""
    scored = [retrieval.scores for retrieval in retrievals if retrieval.scores]
    tied = sum(1 for scores in scored if len(scores) > 1 and scores[0] == scores[1])
    if len(scored) >= _FEWEST_FOR_A_SHARE and tied > _TIED_FIRST * len(scored):
        cell.observer.warning(run_warnings.tied_first(label, tied, len(scored)))


def answer(cell: Cell, plan: AnswerPlan, confirm: Confirm | None) -> Result:
    """Rank all queries, have them answered from their tables, and score both.

    The retrieval is a run of its own, shared by all generators.

    Args:
        cell: what ranks what.
        plan: how the queries are answered.
        confirm: is asked before requests that may cost money, or None.

    Raises:
        ConfigError: the user does not want to pay, or a setting of the generator is invalid.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    dataset, task, generator = cell.dataset, plan.task, plan.generator
    retrieved, by_query = _with_tables(cell, task)
    label = None if retrieved is None else retrieved.retriever
    names = (task.name, dataset.info.name, dataset.split, label, generator.label)
    store = Run(cell.out, tuple(filter(None, names)), answers_identity(cell, plan))
    work = (dataset, by_query, plan.depth, store, cell.options.retry_failed, confirm)
    stage = GenerateStage(generator, plan.prompter, *work, cell.observer)
    with store.locked(cell.observer.warning):
        asked = _asked(
            cell,
            retriever=label,
            retriever_name=None if cell.retriever is None else cell.retriever.name,
            generator=generator.label,
            generator_name=generator.name,
            retrieval_run=None if retrieved is None else retrieved.folder.name,
            **plan.written,
        )
        store.begin(asked, len(dataset.queries))
        found, reused = stage.run()
        answers = {query.id: found[query.id] for query in dataset.queries}
        generations = {query_id: answered.generation for query_id, answered in answers.items()}
        judgements, judged = _judged(cell, plan, generations, by_query, store, confirm)
        cell.observer.stage(f"{generator.label}: score")
        start = time.perf_counter()
        more = cell.options.metrics
        scored = score_answers(dataset, answers, task, judgements, by_query, more)
        nothing_ranked = Counts(len(dataset.queries), 0, 0, 0, 0, 0, 0)
        counts = nothing_ranked if retrieved is None else retrieved.counts
        parts: dict[str, Any] = {"counts": counts.to_json(), "answers": scored.counts.to_json()}
        if scored.report:
            parts["report"] = scored.report
        _write(cell, task, store, scored, **parts)
        _record_scoring(store, start, reused and judged)
    return Result(store.folder, asked=asked, queries=dataset.queries, reused=reused and judged)


def _with_tables(cell: Cell, task: Task[Any]) -> tuple[Result | None, dict[str, Retrieval]]:
    """Rank all queries, or take the tables that they are given.

    Returns:
        The result of the rankings, None where nothing is ranked; query id -> its tables.

    Raises:
        DataError: a table that is given is not in the corpus.
    """
    if cell.retriever is None:
        return None, {query.id: _given(query, task, cell.dataset) for query in cell.dataset.queries}
    return retrieve(cell)


def _given(query: Query, task: Task[Any], dataset: Dataset) -> Retrieval:
    tables = tuple(task.given_tables(query, dataset.corpus))
    for table in tables:
        if table not in dataset.corpus.positions:
            raise DataError(
                f"{dataset.info.name} {dataset.split}: query {query.id!r} is given the table "
                f"{table}, which is not in the corpus"
            )
    return Retrieval(query.id, tables)


def _judged(
    cell: Cell,
    asked: AnswerPlan,
    generations: Mapping[str, Generation],
    retrievals: Mapping[str, Retrieval],
    store: Run,
    confirm: Confirm | None,
) -> tuple[dict[str, Judgement], bool]:
    """Return the judgements of all answers, and whether all were there already."""
    dataset = scorable(asked.task, cell.dataset)
    if not asked.task.judges or not dataset.queries:
        return {}, True
    found = (asked.task, asked.generator.label, dataset, generations, retrievals)
    return JudgeStage(*found, store, cell.observer, confirm).run()


def _write(cell: Cell, task: Task[Any], store: Run, scored: Scored[Any], **parts: Any) -> None:
    """Write the tables of values, then the scores that they belong to."""
    dataset = cell.dataset
    if scored.counts.unlabelled or any(name.startswith("bpref") for name in scored.scores):
        for warning in run_warnings.about_labels(dataset, task, scored, store.folder):
            cell.observer.warning(warning)
    damaged = store.damaged()
    if damaged:
        source = "rankings" if task.ranks else "answers"
        cell.observer.warning(run_warnings.repaired(store.folder, damaged, source))
    ids = set(scored.query_ids)
    queries = [query for query in dataset.queries if query.id in ids]
    store.write_per_query(scored.query_ids, {**slice_columns(queries), **scored.per_query})
    store.write_statistics(scored.query_ids, scored.statistics)
    scores = {name: value.to_json() for name, value in scored.scores.items()}
    store.write_scores({**parts, "scores": scores})


def _asked(cell: Cell, **words: Any) -> Asked:
    """Return the words of the command, without credentials."""
    words = {**cell.loaded.asked, **words, "options": cell.options.to_json()}
    for name, value in words.items():
        if isinstance(value, str):
            words[name] = masked_settings(value)
    return asked_from(words)


def _record_scoring(store: Run, start: float, reused: bool) -> None:
    seconds = store.manifest.seconds
    known = reused and "score" in seconds
    took = {"score": round(time.perf_counter() - start, 6)}
    store.finish(**({} if known else {"seconds": {**seconds, **took}}))


def retrieval_identity(cell: Cell, task: Task[Any] | None = None) -> dict[str, Any]:
    """All that can change the rankings of a cell or their scores; ``task``: the one scored by."""
    assert cell.retriever is not None
    task, dataset = task or make_task(RANKING_TASK), cell.dataset
    return _data_identity(task, dataset, queries_fingerprint(dataset.queries)) | {
        "top_k": list(cell.cutoffs),
        "retriever": cell.retriever.identity,
        "metrics": [*_metrics(task, dataset, cell.cutoffs), *task.settings()],
    }


def answers_identity(cell: Cell, asked: AnswerPlan) -> dict[str, Any]:
    """All that can change the answers of a cell or their scores."""
    dataset, task, generator = cell.dataset, asked.task, asked.generator
    return _data_identity(task, dataset, answers_fingerprint(dataset.queries)) | {
        **_tables_identity(cell, asked),
        "generator": generator.identity,
        "prompt": asked.prompter.identity if generator.prompt is None else generator.prompt,
        "metrics": [*_metrics(task, dataset), *task.settings()],
    }


def _tables_identity(cell: Cell, asked: AnswerPlan) -> dict[str, Any]:
    """Return the source and the number of the tables in a prompt."""
    if cell.retriever is None:
        most = most_given(asked.task, cell.dataset)
        limited = {"tables": asked.depth} if asked.depth < most else {}
        return {"given": {"source": asked.task.source, **limited}}
    retrieval = {"retriever": cell.retriever.identity, "depth": cell.depth}
    if asked.depth < cell.depth:
        retrieval["tables"] = asked.depth
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
