"""The judging stage: every answer is judged once and written to the run folder."""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from target_bench.core.contract import ask_if_paid
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Dataset, Generation, Judgement, Retrieval
from target_bench.core.task import Task
from target_bench.core.user_code import process_restored
from target_bench.data.load import of_task
from target_bench.harness.stages.consent import of_judge
from target_bench.harness.stages.generate import AnswerPlan
from target_bench.harness.stages.retrieve import Experiment
from target_bench.harness.stages.score import all_answers, answer_task, check_known, scorable
from target_bench.runs.record_log import JUDGEMENTS, Answered
from target_bench.runs.store import Run


def judge_stage(
    plan: AnswerPlan,
    experiment: Experiment,
    answers: Mapping[str, Answered],
    retrievals: Mapping[str, Retrieval],
    store: Run,
) -> tuple[dict[str, Judgement], bool]:
    """Judge the answers that a run folder holds no judgement of.

    Args:
        plan: the task that judges, and what answered.
        experiment: queries with references, and data.
        answers: query id -> its answer.
        retrievals: query id -> its tables.
        store: the run folder.

    Returns:
        The judgements of all queries, none where the task judges no answers; and whether all of
        them were there already.
    """
    task, label, observer = plan.task, plan.generator.label, experiment.observer
    dataset, judge = scorable(task, experiment.dataset), task.judge
    if judge is None or not dataset.queries:
        return {}, True
    generations = {query_id: answer.generation for query_id, answer in answers.items()}
    known = store.read(JUDGEMENTS)
    todo = judge.unjudged(dataset, generations, retrievals, known)
    ask_if_paid(task, experiment.confirm, lambda: of_judge(task, label, len(todo)))
    new: dict[str, Judgement] = {}
    if todo:
        store.work_begins()
        observer.stage(f"{label}: judge", total=len(todo))
        start = time.perf_counter()
        judging = judge.judged(todo, dataset, generations, retrievals)
        try:
            with JUDGEMENTS.log(store.folder) as append, process_restored(), closing(judging):
                for judgement in judging:
                    append([judgement])
                    new[judgement.query_id] = judgement
                    observer.advance(1)
        finally:  # times add up over all times that the run was resumed
            seconds = store.manifest.seconds
            took = round(seconds.get("judge", 0.0) + time.perf_counter() - start, 6)
            store.write_manifest(seconds={**seconds, "judge": took})
    both = {**known, **new}
    judgements = {query.id: both[query.id] for query in dataset.queries}
    if new or list(known) != list(judgements):
        store.work_begins()
        # in order, without what was replaced
        JUDGEMENTS.write(store.folder, judgements.values())
    return judgements, not todo


def judge_answers(
    dataset: Dataset,
    answers: Mapping[str, Answered | Generation | str],
    task: Task[Any] | str,
    rankings: Mapping[str, Retrieval] | None = None,
    known: Mapping[str, Judgement] | None = None,
) -> dict[str, Judgement]:
    """Judge answers in memory, as SQL is judged by executing it, for ``score_answers``.

    ```python
    from target_bench import judge_answers, score_answers
    from target_bench.corpora import load

    dataset = load("mini")
    queries = [query for query in dataset.queries if str(query.answer).startswith("SELECT")]
    answers = {query.id: query.answer for query in queries}
    judgements = judge_answers(dataset, answers, "sql")
    print(score_answers(dataset, answers, "sql", judgements).scores["ex[bird]"].value)
    ```

    Args:
        dataset: queries with references and databases, as ``corpora.load`` gives them.
        answers: query id -> the answer; one that is missing is judged as a failed one.
        task: a task that judges answers, or its name with settings.
        rankings: query id -> the tables that were retrieved for it: an answer in SQL that names no
            database runs on that of the first table. Default: on the database of the query.
        known: query id -> a judgement of before; it is used again where answer, data and settings
            are the same.

    Returns:
        Query id -> its judgement, of every query that is about the task.

    Raises:
        ConfigError: the task does not judge answers, or cannot on these data.
        DataError: an answer is to another query.
        BudgetError: the time that the task has is over.
        StoreError: the result of a gold statement cannot be recorded in the cache.
    """
    judged_task = answer_task(task)
    judge = judged_task.judge
    if judge is None:
        raise ConfigError(
            f"the task {judged_task.name} scores answers as they are: nothing to judge"
        )
    check_known("answer", answers, dataset)
    dataset = scorable(judged_task, of_task(dataset, judged_task))
    given = all_answers(dataset, answers)
    generations = {query_id: answered.generation for query_id, answered in given.items()}
    todo = judge.unjudged(dataset, generations, rankings or {}, known or {})
    judgements = {
        query.id: known[query.id] for query in dataset.queries if known and query.id in known
    }
    if todo:
        with closing(judge.judged(todo, dataset, generations, rankings or {})) as judging:
            judgements |= {judgement.query_id: judgement for judgement in judging}
    return judgements
