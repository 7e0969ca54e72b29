"""``run_system``: one retriever, and perhaps one generator, on one split, from tables to scores.

1. ``identify_rankings`` names the folder, and ``begin_run`` opens it, waiting for other processes.
2. ``rank`` ranks the queries that the folder has no ranking of, and appends each.
3. ``answer`` and ``judge`` do the same with answers and judgements, in a folder of their own.
4. ``score_checked_rankings`` and ``score_answers`` score what is there, and the scores are written.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from target_bench.core.built_in import RANKING_TASK, SETS_TASK
from target_bench.core.errors import DataError, StoreError
from target_bench.core.metric import Counts
from target_bench.core.observer import Observer
from target_bench.core.plugin_errors import guard_plugin
from target_bench.core.registry import is_package_code, make_task
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset, Retrieval, copy_json
from target_bench.core.task import Task, given_tables
from target_bench.core.text_tables import list_first
from target_bench.core.user_code import restore_process
from target_bench.harness.answer import answer
from target_bench.harness.begin import (
    begin_run,
    count_prompt_tables,
    identify_answers,
    identify_rankings,
    make_prompter,
    select_metrics,
)
from target_bench.harness.consent import Confirm
from target_bench.harness.judge import judge
from target_bench.harness.rank import rank
from target_bench.harness.run_notes import ranking_notes, unlabelled_note, warn_of_depth
from target_bench.harness.score import Scores, score_answers, score_checked_rankings
from target_bench.harness.systems import System
from target_bench.metrics.scores import find_edited_metrics, hash_metric_code, is_built_in
from target_bench.runs import slicing
from target_bench.runs.result import Result
from target_bench.runs.run import Run
from target_bench.runs.score_files import (
    PER_QUERY,
    SLICE_PREFIX,
    STATISTICS,
    StoredScores,
    read_scores,
)
from target_bench.runs.times import time_work


def run_system(
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System | None,
    generator: System | None = None,
    *,
    observer: Observer,
    confirm: Confirm | None = None,
) -> Result:
    """Rank the queries, have them answered and judged where the task is about answers, and score.

    The rankings that answers are built on are a run of their own, shared by all generators.
    """
    if not is_package_code(type(task)):
        # It may change metadata, and the next task shares the queries.
        copies = (replace(query, metadata=copy_json(query.metadata)) for query in dataset.queries)
        dataset = replace(dataset, queries=tuple(copies))
    with guard_plugin("task", task, f"a run on {dataset.info.name} {dataset.split}"):
        if generator is None:
            assert retriever is not None
            task = choose_ranking_task(task, retriever)
            return run_retriever(config, task, dataset, retriever, observer, confirm)[0]
        return run_generator(config, task, dataset, retriever, generator, observer, confirm)


def choose_ranking_task(task: Task[Any], retriever: System) -> Task[Any]:
    """Return the task itself, or for plain retrieval of sets the one that scores sets."""
    is_plain = task.asked_as in (None, RANKING_TASK) and task.name == RANKING_TASK
    return make_task(SETS_TASK) if is_plain and retriever.returns_sets else task


def run_retriever(
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System,
    observer: Observer,
    confirm: Confirm | None = None,
) -> tuple[Result, dict[str, Retrieval]]:
    """Rank all queries and score the rankings: the result, and query id -> ranking."""
    if not len(dataset.corpus):
        raise DataError(f"{dataset.info.name} {dataset.split}: no tables to retrieve from")
    warn_of_depth(dataset, config.top_k[-1], observer)
    config = select_metrics(config, task)
    identity = identify_rankings(config, task, dataset, retriever)
    with begin_run(identity, config, task, dataset, retriever, observer=observer) as run:
        rankings = rank(run, retriever, dataset, config, observer, confirm)
        observer.stage(f"{retriever.label}: score")
        with restore_process(), time_work() as took:
            scores = score_checked_rankings(
                dataset, list(rankings.values()), config.top_k, task, config.metrics
            )
        entries = {"counts": scores.counts.to_json()}
        _finish(run, task, dataset, scores, entries, took.seconds, observer)
    # Not of our own retrievers: their scores are as exact as they can be, and ties are real.
    if not retriever.is_of_package:
        for warning in ranking_notes(retriever.label, scores.counts, rankings.values()):
            observer.warning(warning)
    return Result(run, dataset.queries), rankings


def run_generator(
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System | None,
    generator: System,
    observer: Observer,
    confirm: Confirm | None = None,
) -> Result:
    """Rank all queries, have them answered from their tables, and score the answers."""
    prompter = make_prompter(config, task, dataset, generator)
    if retriever is None:
        rankings_run, counts = None, Counts(asked=len(dataset.queries))
        rankings = {q.id: Retrieval(q.id, given_tables(task, q)) for q in dataset.queries}
    else:
        ranking_task = choose_ranking_task(make_task(RANKING_TASK), retriever)
        ranked, rankings = run_retriever(
            config, ranking_task, dataset, retriever, observer, confirm
        )
        rankings_run, counts = ranked.run, ranked.stored.counts
    # Where a release has an id twice, the second query is ``7#2`` here, and ``7`` in a file of
    # answers: ``replay`` finds such ids in ``note_queries``.
    if (note_queries := getattr(generator.plugin, "note_queries", None)) is not None:
        note_queries(dataset.queries, sampled=config.limit is not None)
    config = select_metrics(config, task)
    n_tables = count_prompt_tables(config, task, dataset, retriever)
    identity = identify_answers(config, task, dataset, retriever, generator, prompter, n_tables)
    with begin_run(
        identity, config, task, dataset, retriever, generator, rankings_run, observer=observer
    ) as run:
        answers = answer(run, generator, prompter, n_tables, dataset, rankings, observer, confirm)
        judgements = judge(
            run, task, generator.label, dataset, answers, rankings, observer, confirm
        )
        observer.stage(f"{generator.label}: score")
        with restore_process(), time_work() as took:
            scores = score_answers(dataset, answers, task, judgements, rankings, config.metrics)
        entries: dict[str, Any] = {
            "counts": counts.to_json(),
            "answers": scores.counts.to_json(),
        }
        if scores.report:
            entries["report"] = scores.report
        _finish(run, task, dataset, scores, entries, took.seconds, observer)
    return Result(run, dataset.queries)


def _finish(
    run: Run,
    task: Task[Any],
    dataset: Dataset,
    scores: Scores[Any],
    entries: Mapping[str, Any],
    seconds: float,
    observer: Observer,
) -> None:
    """Write the scores, and finish the run; it was not ``reused`` if metrics or their code changed.

    Args:
        run: the run.
        task: for warnings.
        dataset: its queries are described beside their values.
        scores: what was computed.
        entries: of ``scores.json`` besides the scores.
        seconds: how long scoring took.
        observer: gets warnings.
    """
    if warning := unlabelled_note(dataset, task, scores.counts, scores.keys()):
        observer.warning(warning)
    try:
        stored = read_scores(run.folder)
    except StoreError:  # there are none yet, or they are damaged and written again
        run.reused = False
    else:
        changed = _find_changed_metrics(stored, scores)
        if changed:
            metrics = f"metric{'s' * (len(changed) > 1)} {list_first(changed, 3)}"
            observer.warning(
                f"{run.folder.name}: scores computed again: the code of {metrics} changed"
            )
        dropped = [name for name in stored.scores if name not in scores]
        if dropped:
            observer.warning(
                f"{run.folder.name}: no longer has {list_first(dropped, 3)}, of an earlier "
                "--metric; name it again to have its scores"
            )
        if changed or dropped or any(name not in stored.scores for name in scores):
            run.reused = False
    if not run.reused or "score" not in run.manifest.seconds:
        run_seconds = {**run.manifest.seconds, "score": round(seconds, 6)}
    else:
        run_seconds = run.manifest.seconds
    ids = set(scores.query_ids)
    queries = [query for query in dataset.queries if query.id in ids]
    properties = slicing.read_properties(queries) | {**scores.properties}
    if any(query.synthetic for query in queries):
        properties["synthetic"] = [query.synthetic for query in queries]
    columns = {SLICE_PREFIX + name: values for name, values in properties.items()}
    per_query = {"query_id": scores.query_ids, **columns, **scores.per_query}
    statistics = {"query_id": scores.query_ids, **scores.statistics}
    run.finish(
        {
            **entries,
            "code": hash_metric_code(scores.keys()),
            "scores": {name: score.to_json() for name, score in scores.items()},
        },
        {PER_QUERY: per_query, STATISTICS: statistics},
        seconds=run_seconds,
    )


def _find_changed_metrics(stored: StoredScores, scores: Scores[Any]) -> list[str]:
    """Return the metrics whose code is another than when the run was scored before."""
    # A metric of the user's own has its code in its signature; where that cannot be hashed it has
    # "unique:" and another text in each process, which says nothing.
    return find_edited_metrics(stored.code, scores) + [
        name
        for name, score in scores.items()
        if name in stored.scores and not is_built_in(name) and "|unique:" not in score.signature
        if score.signature != stored.scores[name].signature
    ]
