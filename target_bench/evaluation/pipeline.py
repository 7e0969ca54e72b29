"""One cell of an evaluation: retrieve and score; or retrieve, generate, judge and score."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import DataError
from target_bench.core.interfaces import Dataset
from target_bench.core.observer import Observer
from target_bench.core.schema import Counts, Generation, Judgement, Query, Retrieval, Score
from target_bench.core.task import Task
from target_bench.data.select import make_task
from target_bench.evaluation.cell import Asking, Cell, asking_of
from target_bench.evaluation.cell_identities import answers_identity, retrieval_identity
from target_bench.evaluation.inputs import Answering
from target_bench.evaluation.results import Result, aligned
from target_bench.evaluation.stages.consent import Confirm
from target_bench.evaluation.stages.generate import GenerateStage
from target_bench.evaluation.stages.judge import JudgeStage
from target_bench.evaluation.stages.retrieve import RetrieveStage, Subject
from target_bench.evaluation.stages.score import (
    Scored,
    labelled,
    over_no_query,
    score_answers,
    score_rankings,
)
from target_bench.runs.earlier_versions import tell_of_earlier
from target_bench.runs.manifest import NO_CONTEXT, asked_from
from target_bench.runs.run_identity import Identity
from target_bench.runs.store import Run, slice_columns
from target_bench.runs.times import ColdTimes, cold

_TIED_FIRST = 0.1
"""Share of rankings whose first two tables have equal scores above which a warning says so."""

_FEWEST_FOR_A_SHARE = 100
"""Scored rankings below which ties are counted, but no share of them is warned of."""


def evaluate(task: Task[Any], cell: Cell, answering: Answering | None) -> Result:
    """Return the result of a task; ``answering`` is for tasks about answers."""
    if task.ranks:
        return retrieve(cell, task, answering.task if answering else None)[0]
    assert answering is not None
    return answer(cell, asking_of(task, cell, answering), answering.confirm)


def retrieve(
    cell: Cell, task: Task[Any] | None = None, task_text: str | None = None
) -> tuple[Result, dict[str, Retrieval]]:
    """Rank all queries and score the rankings: the result, and query id -> ranking.

    Args:
        cell: what ranks what.
        task: the task that scores the rankings; default: table retrieval.
        task_text: how it can be asked for again; default: by its name.

    Raises:
        DataError: there are no tables.
        PluginError: the retriever failed.
        StoreError: the run folder cannot be written or read.
    """
    task = task or make_task(RANKING_TASK)
    dataset, subject, depth = cell.dataset, cell.subject, cell.depth
    assert subject is not None
    if not len(dataset.corpus):
        raise DataError(f"{dataset.info.name} {dataset.split}: no tables to retrieve from")
    _warn_of_depth(cell)
    about = cell.loaded.only_about
    kind = task.name if about is None else f"{task.name} for {about}"
    label = (kind, dataset.info.name, dataset.split, subject.label)
    store = Run(cell.out, label, retrieval_identity(cell, task))
    stage = RetrieveStage(
        subject,
        dataset,
        cell.loaded.seconds,
        depth,
        store,
        cell.options,
        cell.observer,
        cell.confirm,
    )
    with store.locked(cell.observer.warning):
        _record_asked(store, cell, retriever=subject.label, task=task_text)
        found, reused = stage.run()
        by_query = {query.id: found[query.id] for query in dataset.queries}
        cell.observer.stage(f"{subject.label}: score")
        start = time.perf_counter()
        scored = score_rankings(dataset, by_query, cell.cutoffs, task)
        _warn_of_unlabelled(cell, task, scored.counts.unlabelled)
        _tell_of_damage(store, cell.observer, "rankings")
        _write(store, dataset, scored, counts=scored.counts.to_json())
        _record_scoring(store, start, reused)
    _warn_of_order(cell, subject, scored.counts, list(by_query.values()))
    result = Result(
        corpus=dataset.info.name,
        split=dataset.split,
        task=task.name,
        retriever=subject.label,
        generator=None,
        scores=scored.scores,
        query_ids=scored.query_ids,
        per_query=scored.per_query,
        counts=scored.counts,
        times=cold(store.manifest),
        errors={r.query_id: r.error for r in by_query.values() if r.error is not None},
        folder=store.folder,
        reused=reused,
        data=_data(dataset, store.identity),
    )
    return result, by_query


def answer(cell: Cell, asked: Asking, confirm: Confirm | None) -> Result:
    """Rank all queries, have them answered from their tables, and score both.

    The retrieval is a run of its own, shared by all generators.

    Args:
        cell: what ranks what.
        asked: how the queries are answered.
        confirm: is asked before requests that may cost money, or None.

    Raises:
        ConfigError: the user does not want to pay, or a setting of the generator is invalid.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    dataset = cell.dataset
    task, answerer = asked.task, asked.answerer
    retrieved, by_query = _with_tables(cell, task)
    retriever = retrieved.retriever
    names = (task.name, dataset.info.name, dataset.split, retriever, answerer.label)
    store = Run(cell.out, tuple(filter(None, names)), answers_identity(cell, asked))
    stage = GenerateStage(
        answerer,
        asked.prompter,
        dataset,
        by_query,
        asked.depth,
        store,
        cell.options.retry_failed,
        confirm,
        cell.observer,
    )
    tell_of_earlier(store, dataset.queries, cell.observer)
    with store.locked(cell.observer.warning):
        _record_asked(
            store,
            cell,
            retriever=retriever,
            generator=answerer.label,
            retrieval_run=retrieved.folder.name or None,
            **asked.written,
        )
        found, reused = stage.run()
        answers = {query.id: found[query.id] for query in dataset.queries}
        generations = {query_id: answered.generation for query_id, answered in answers.items()}
        judgements, judged = _judged(cell, asked, generations, by_query, store)
        cell.observer.stage(f"{answerer.label}: score")
        start = time.perf_counter()
        scored = score_answers(dataset, answers, task, judgements, by_query)
        _warn_of_unlabelled(cell, task, scored.counts.unlabelled)
        _tell_of_damage(store, cell.observer, "answers")
        parts = {"counts": retrieved.counts.to_json(), "answers": scored.counts.to_json()}
        more = {"report": scored.report} if scored.report else {}
        _write(store, dataset, scored, **parts, **more)
        _record_scoring(store, start, reused and judged)
    failed = {g.query_id: g.error for g in generations.values() if g.error is not None}
    return replace(
        retrieved,
        task=task.name,
        generator=answerer.label,
        scores={**retrieved.scores, **scored.scores},
        query_ids=[query.id for query in dataset.queries],
        per_query=aligned([query.id for query in dataset.queries], retrieved, scored),
        answers=scored.counts,
        report=scored.report,
        summary=task.summary(scored.report) if scored.report else (),
        times=retrieved.times.with_answers(cold(store.manifest)),
        errors={**retrieved.errors, **failed},
        folder=store.folder,
        reused=reused and judged,
        data=_data(dataset, store.identity),
    )


def _with_tables(cell: Cell, task: Task[Any]) -> tuple[Result, dict[str, Retrieval]]:
    """Rank all queries, or take the tables that they are given: a result without answers.

    Raises:
        DataError: a table that is given is not in the corpus.
    """
    if cell.subject is None:
        given = {query.id: _given(query, task, cell.dataset) for query in cell.dataset.queries}
        return _not_ranked(cell, task), given
    retrieved, by_query = retrieve(cell)
    if cell.subject.label == NO_CONTEXT:
        none = over_no_query(retrieved.scores, retrieved.per_query)
        retrieved = replace(retrieved, scores=none[0], per_query=none[1])
    return retrieved, by_query


def _given(query: Query, task: Task[Any], dataset: Dataset) -> Retrieval:
    tables = tuple(task.given_tables(query, dataset.corpus))
    for table in tables:
        if table not in dataset.corpus:
            raise DataError(
                f"{dataset.info.name} {dataset.split}: query {query.id!r} is given the table "
                f"{table}, which is not in the corpus"
            )
    return Retrieval(query.id, tables)


def _not_ranked(cell: Cell, task: Task[Any]) -> Result:
    """Return what a run without retrieval has of rankings: nothing."""
    dataset = cell.dataset
    asked = len(dataset.queries)
    return Result(
        corpus=dataset.info.name,
        split=dataset.split,
        task=task.name,
        retriever=None,
        generator=None,
        scores={},
        query_ids=(),
        per_query={},
        counts=Counts(asked, 0, 0, 0, 0, 0, 0),
        times=ColdTimes({}, 0, 0, None, {}),
        errors={},
        folder=Path(),
        reused=True,
    )


def _judged(
    cell: Cell,
    asked: Asking,
    generations: Mapping[str, Generation],
    retrievals: Mapping[str, Retrieval],
    store: Run,
) -> tuple[dict[str, Judgement], bool]:
    """Return the judgements of all answers, and whether all were there already."""
    dataset = labelled(asked.task, cell.dataset)
    if not asked.task.judges or not dataset.queries:
        return {}, True
    label, observer = asked.answerer.label, cell.observer
    return JudgeStage(asked.task, label, dataset, generations, retrievals, store, observer).run()


def _write(store: Run, dataset: Dataset, scored: Scored[Any], **parts: Any) -> None:
    """Write the tables of values, then the scores that they belong to."""
    ids = set(scored.query_ids)
    queries = [query for query in dataset.queries if query.id in ids]
    columns = {**slice_columns(queries), **scored.per_query}
    store.write_per_query(scored.query_ids, columns)
    store.write_statistics(scored.query_ids, scored.statistics)
    store.write_scores(_scores_file(scored.scores, **parts))


def _tell_of_damage(store: Run, observer: Observer, source: str) -> None:
    """Say which files of scores are about to be repaired."""
    damaged = store.damaged()
    if damaged:
        was = "was" if len(damaged) == 1 else "were"
        observer.warning(
            f"{store.folder}: {' and '.join(damaged)} {was} damaged, and {was} written again from "
            f"the stored {source}"
        )


def _record_asked(store: Run, cell: Cell, **asked: Any) -> None:
    words = {**cell.loaded.asked, **asked, "options": cell.options.to_json()}
    store.begin(asked_from(words), len(cell.dataset.queries))


def _record_scoring(store: Run, start: float, reused: bool) -> None:
    seconds = store.manifest.seconds
    if reused and "score" in seconds:
        store.finish()
        return
    store.finish(seconds={**seconds, "score": round(time.perf_counter() - start, 6)})


def _data(dataset: Dataset, identity: Identity) -> dict[str, Any]:
    return {
        "corpus": identity.corpus_fingerprint,
        "queries": identity.queries_fingerprint,
        "files": dict(dataset.files),
        "distractors": [distractors.spec for distractors in dataset.distractors],
    }


def _scores_file(scores: Mapping[str, Score], **parts: Any) -> dict[str, Any]:
    return {**parts, "scores": {name: value.to_json() for name, value in scores.items()}}


def _warn_of_depth(cell: Cell) -> None:
    dataset = cell.dataset
    if cell.depth > len(dataset.corpus):
        cell.observer.warning(
            f"top_k={cell.depth} is more than the {len(dataset.corpus)} tables of "
            f"{dataset.info.name} {dataset.split}: a ranking holds all of them at most"
        )


def _warn_of_unlabelled(cell: Cell, task: Task[Any], n: int) -> None:
    dataset = cell.dataset
    asked = len(dataset.queries)
    if not n:
        return
    what = "gold table" if task.ranks else "reference answer"
    so = "there are no scores" if n == asked else f"scores are over the other {asked - n:,}"
    cell.observer.warning(
        f"{dataset.info.name} {dataset.split}: {n:,} of {asked:,} queries have no {what}: {so}"
    )


def _warn_of_order(
    cell: Cell, subject: Subject, counts: Counts, retrievals: Sequence[Retrieval]
) -> None:
    if counts.resorted:
        cell.observer.warning(
            f"{subject.label} gave {counts.resorted} of {counts.answered} rankings in another "
            "order than their scores; they were sorted by score, higher first. Return "
            "similarities rather than distances, or ids without scores."
        )
    scored = [retrieval.scores for retrieval in retrievals if retrieval.scores]
    if len(scored) < _FEWEST_FOR_A_SHARE:
        return
    tied_first = sum(1 for scores in scored if len(scores) > 1 and scores[0] == scores[1])
    if tied_first > _TIED_FIRST * len(scored):
        cell.observer.warning(
            f"{subject.label}: {tied_first} of {len(scored)} scored rankings begin with "
            "tables of equal score. Such tables come in the order of the corpus. Return scores "
            "that tell tables apart: as they are before any sigmoid, in double precision, not "
            "rounded; or ids without scores, best first."
        )
