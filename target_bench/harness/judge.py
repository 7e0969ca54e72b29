"""Judging: every answer is judged once, as SQL is by running it, and written to the run folder."""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from target_bench.core.contract import ask_if_paid
from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.task import AnswerJudge, Task
from target_bench.core.user_code import restore_process
from target_bench.data.selection import select_queries
from target_bench.harness.consent import Confirm, estimate_judge
from target_bench.harness.score import (
    check_query_ids,
    list_answers,
    make_answer_task,
    select_scorable,
)
from target_bench.runs.record_log import JUDGEMENTS
from target_bench.runs.run import Run
from target_bench.runs.times import StageTime, add_times


def judge(
    run: Run,
    task: Task[Any],
    label: str,
    dataset: Dataset,
    answers: Mapping[str, Generation],
    rankings: Mapping[str, Retrieval],
    observer: Observer,
    confirm: Confirm | None,
) -> dict[str, Judgement]:
    """Return query id -> judgement of the answer: those of the run, and new ones by the task.

    There are none where the task judges no answers.
    """
    dataset, task_judge = select_scorable(task, dataset), task.judge
    if task_judge is None or not dataset.queries:
        return {}
    stored = run.read_log(JUDGEMENTS)
    judgements, todo = _divide_queries(task_judge, dataset, answers, rankings, stored)
    if todo:
        ask_if_paid(task, confirm, lambda: estimate_judge(task, label, len(todo)))
        run.mark_running()
        observer.stage(f"{label}: judge", total=len(todo))
        start, n_judged = time.perf_counter(), 0
        try:
            with (
                restore_process(),
                run.open_to_append(JUDGEMENTS, judgements) as append,
                closing(task_judge.make_judgements(todo, dataset, answers, rankings)) as judging,
            ):
                for judgement in judging:
                    append([judgement])
                    n_judged += 1
                    observer.advance(1)
        finally:
            took = StageTime(time.perf_counter() - start, queries=n_judged)
            run.write_manifest(**add_times(run.manifest, {"judge": took}))
    judgements = {query.id: judgements[query.id] for query in dataset.queries}
    if todo or [*stored] != [*judgements]:
        run.mark_running()
        # in the order of the queries, without what was replaced
        JUDGEMENTS.write(run.folder, judgements.values())
    return judgements


def _divide_queries(
    judge: AnswerJudge,
    dataset: Dataset,
    answers: Mapping[str, Generation],
    rankings: Mapping[str, Retrieval],
    stored: Mapping[str, Judgement],
) -> tuple[dict[str, Judgement], list[Query]]:
    """Return query id -> judgement that still holds, and the queries without one."""
    unjudged = {query.id for query in judge.find_unjudged(dataset, answers, rankings, stored)}
    judgements: dict[str, Judgement] = {}
    todo: list[Query] = []
    for query in dataset.queries:
        if query.id in stored and query.id not in unjudged:
            judgements[query.id] = stored[query.id]
        else:
            todo.append(query)
    return judgements, todo


def judge_answers(
    dataset: Dataset,
    answers: Mapping[str, Generation | str],
    task: Task[Any] | str,
    rankings: Mapping[str, Retrieval] | None = None,
    known: Mapping[str, Judgement] | None = None,
) -> dict[str, Judgement]:
    """Judge answers in memory, as SQL is judged by executing it, for ``score_answers``.

    ```python
    from target_bench import judge_answers, load, score_answers

    dataset = load("mini")
    queries = [query for query in dataset.queries if str(query.answer).startswith("SELECT")]
    answers = {query.id: query.answer for query in queries}
    judgements = judge_answers(dataset, answers, "sql")
    print(score_answers(dataset, answers, "sql", judgements)["ex[bird]"])
    # 1.000 [.937, 1.000]
    ```

    Args:
        dataset: queries with references and databases, as ``load`` gives them.
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
        BudgetError: the time that ``leaderboard verify`` gives a submission is over.
        StoreError: the result of a gold statement cannot be recorded in the cache.
    """
    judged_task = make_answer_task(task)
    task_judge = judged_task.judge
    if task_judge is None:
        raise ConfigError(
            f"the task {judged_task.name} has no judge: score its answers with score_answers"
        )
    check_query_ids("answer", answers, dataset)
    dataset = select_scorable(judged_task, select_queries(dataset, judged_task))
    generations = list_answers(dataset, answers)
    rankings = rankings or {}
    judgements, todo = _divide_queries(task_judge, dataset, generations, rankings, known or {})
    if todo:
        with closing(task_judge.make_judgements(todo, dataset, generations, rankings)) as judging:
            judgements |= {judgement.query_id: judgement for judgement in judging}
    return judgements
