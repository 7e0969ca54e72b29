"""One cell of an evaluation: retrieve and score; or retrieve, generate and score."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.components.prompts.prompting import Prompter
from target_bench.core import registry
from target_bench.core.interfaces import Dataset, Metric
from target_bench.core.observer import Observer
from target_bench.core.schema import NO_CONTEXT, Counts, Retrieval, Score
from target_bench.data.select import Loaded
from target_bench.evaluation.inputs import Answering
from target_bench.evaluation.options import RunOptions
from target_bench.evaluation.results import Result
from target_bench.evaluation.stages.consent import Confirm
from target_bench.evaluation.stages.generate import Answerer, GenerateStage
from target_bench.evaluation.stages.retrieve import RetrieveStage, Subject
from target_bench.evaluation.stages.score import count, count_answers, score
from target_bench.metrics.headlines import in_order
from target_bench.runs import slices
from target_bench.runs.earlier_versions import tell_of_earlier
from target_bench.runs.run_identity import EVERY_FIELD, answers_fingerprint, queries_fingerprint
from target_bench.runs.store import Run
from target_bench.runs.times import cold

_TIED_FIRST = 0.1
"""Share of rankings whose first two tables have equal scores above which a warning says so."""

_FEWEST_FOR_A_SHARE = 100
"""Scored rankings below which ties are counted, but no share of them is warned of."""


@dataclass(frozen=True)
class Cell:
    """One retriever on one split.

    Attributes:
        loaded: the split.
        subject: what ranks.
        options: the cutoffs, and how the retriever is run.
        out: the folder of all runs.
        observer: hears of progress and warnings.
        confirm: is asked before a retriever that may cost money goes to work, or None.
    """

    loaded: Loaded
    subject: Subject
    options: RunOptions
    out: Path
    observer: Observer
    confirm: Confirm | None = None

    @property
    def cutoffs(self) -> Sequence[int]:
        """The cutoffs, ascending; retrieval runs once, at the largest."""
        return self.options.top_k

    @property
    def dataset(self) -> Dataset:
        """Tables and queries."""
        return self.loaded.dataset

    @property
    def depth(self) -> int:
        """How many tables a ranking holds."""
        return self.cutoffs[-1]


def evaluate(task: Any, cell: Cell, answering: Answering | None) -> Result:
    """The result of a task; ``answering`` is for tasks about answers. Errors as for those."""
    if task.name == "retrieval":
        return retrieve(cell)[0]
    assert answering is not None
    return answer(cell, asking(task, cell, answering), answering.confirm)


@dataclass(frozen=True)
class Asking:
    """How the queries of a cell are answered.

    Attributes:
        task: a task that is about answers.
        answerer: what answers.
        prompter: what it is asked with.
        depth: how many tables stand in a prompt.
        written: task and prompt options as they were asked for, for the manifest.
    """

    task: Any
    answerer: Answerer
    prompter: Prompter
    depth: int
    written: Mapping[str, Any]


def asking(task: Any, cell: Cell, answering: Answering) -> Asking:
    """What is asked of whom in a cell; errors as for ``Answering``."""
    answerer = answering.answerer(cell.observer)
    follows_schema = bool(getattr(answerer.generator, "follows_schema", False))
    tables = answering.prompting.tables
    return Asking(
        task,
        answerer,
        answering.prompter(task, cell.dataset.databases, follows_schema),
        cell.depth if tables is None else min(tables, cell.depth),
        {"task": answering.task or task.name, "prompting": answering.prompting.to_json()},
    )


def retrieval_identity(cell: Cell) -> dict[str, Any]:
    """All that can change the rankings of a cell or their scores."""
    dataset = cell.dataset
    metrics = registry.create("task", "retrieval").metrics(cell.cutoffs, dataset)
    return _data_identity("retrieval", dataset, queries_fingerprint(dataset.queries)) | {
        "top_k": list(cell.cutoffs),
        "retriever": cell.subject.identity,
        "metrics": [metric.signature for metric in metrics],
    }


def answers_identity(cell: Cell, asked: Asking) -> dict[str, Any]:
    """All that can change the answers of a cell or their scores."""
    dataset, task, answerer = cell.dataset, asked.task, asked.answerer
    retrieval = {"retriever": cell.subject.identity, "depth": cell.depth}
    if asked.depth < cell.depth:
        retrieval["tables"] = asked.depth
    metrics = task.metrics(dataset.queries)
    return _data_identity(task.name, dataset, answers_fingerprint(dataset.queries)) | {
        "queries_version": EVERY_FIELD,
        "retrieval": retrieval,
        "generator": answerer.identity,
        "prompt": asked.prompter.identity if answerer.prompt is None else answerer.prompt,
        "metrics": [*(metric.signature for metric in metrics), *task.settings()],
    }


def retrieve(cell: Cell) -> tuple[Result, dict[str, Retrieval]]:
    """Rank all queries and score the rankings: the result, and query id -> ranking.

    Raises:
        PluginError: the retriever failed.
        StoreError: the run folder cannot be written or read.
    """
    dataset, subject, depth = cell.dataset, cell.subject, cell.depth
    _warn_of_depth(cell)
    task = registry.create("task", "retrieval")
    metrics: list[Metric[Any]] = task.metrics(cell.cutoffs, dataset)
    about = cell.loaded.only_about
    kind = "retrieval" if about is None else f"retrieval for {about}"
    label = (kind, dataset.info.name, dataset.split, subject.label)
    store = Run(cell.out, label, retrieval_identity(cell))
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
        _record_asked(store, cell, retriever=subject.label)
        by_query, reused = stage.run()
        retrievals = [by_query[query.id] for query in dataset.queries]
        cell.observer.stage(f"{subject.label}: score")
        start = time.perf_counter()
        query_ids = [query.id for query in dataset.queries]
        scored = score(metrics, task.examples(dataset, retrievals, depth), query_ids)
        counts = count(dataset.queries, retrievals, min(depth, len(dataset.corpus)))
        _tell_of_damage(store, cell.observer, "rankings")
        store.write_per_query(query_ids, {**slices.columns(dataset.queries), **scored.per_query})
        store.write_statistics(query_ids, scored.statistics)
        store.write_scores(_scores_file(scored.scores, counts=counts.to_json()))
        _record_scoring(store, start, reused)
    _warn_of_order(cell, counts, retrievals)
    result = Result(
        corpus=dataset.info.name,
        split=dataset.split,
        task="retrieval",
        retriever=subject.label,
        generator=None,
        scores=scored.scores,
        query_ids=query_ids,
        per_query=scored.per_query,
        counts=counts,
        times=cold(store.manifest),
        errors={r.query_id: r.error for r in retrievals if r.error is not None},
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
        ConfigError: the user does not want to pay, or a setting of the generator cannot be.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    retrieved, by_query = retrieve(cell)
    if cell.subject.label == NO_CONTEXT:
        retrieved = _without_scores(retrieved)
    dataset = cell.dataset
    task, answerer = asked.task, asked.answerer
    metrics: list[Metric[Any]] = task.metrics(dataset.queries)
    names = (task.name, dataset.info.name, dataset.split, cell.subject.label, answerer.label)
    store = Run(cell.out, names, answers_identity(cell, asked))
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
            retriever=cell.subject.label,
            generator=answerer.label,
            retrieval_run=retrieved.folder.name,
            **asked.written,
        )
        by_id, reused = stage.run()
        answers = [by_id[query.id] for query in dataset.queries]
        cell.observer.stage(f"{answerer.label}: score")
        start = time.perf_counter()
        generations = [answered.generation for answered in answers]
        examples = task.examples(dataset, generations, by_query)
        check = getattr(task, "check_budget", None)
        scored = score(metrics, examples, retrieved.query_ids, check)
        counts = count_answers(answers, task.parse)
        answer_scores = in_order(scored.scores, dataset.queries)
        report = task.report(dataset, examples) if hasattr(task, "report") else None
        _tell_of_damage(store, cell.observer, "answers")
        if hasattr(task, "records"):
            store.write_judgements(task.records(examples))
        parts = {"counts": retrieved.counts.to_json(), "answers": counts.to_json()}
        more = {"report": report} if report else {}
        columns = {**slices.columns(dataset.queries), **scored.per_query}
        store.write_per_query(retrieved.query_ids, columns)
        store.write_statistics(retrieved.query_ids, scored.statistics)
        store.write_scores(_scores_file(answer_scores, **parts, **more))
        _record_scoring(store, start, reused)
    failed = {g.query_id: g.error for g in generations if g.error is not None}
    return replace(
        retrieved,
        task=task.name,
        generator=answerer.label,
        scores={**retrieved.scores, **answer_scores},
        per_query={**retrieved.per_query, **scored.per_query},
        answers=counts,
        report=report,
        times=retrieved.times.with_answers(cold(store.manifest)),
        errors={**retrieved.errors, **failed},
        folder=store.folder,
        reused=reused,
        data=_data(dataset, store.identity),
    )


def _tell_of_damage(store: Run, observer: Observer, source: str) -> None:
    """Say which files of scores are about to be repaired."""
    damaged = store.damaged()
    if damaged:
        was = "was" if len(damaged) == 1 else "were"
        observer.warning(
            f"{store.folder}: {' and '.join(damaged)} {was} damaged, and {was} written again from "
            f"the stored {source}"
        )


def _without_scores(retrieved: Result) -> Result:
    """A retrieval that answers are not built on: its scores are over no query.

    As a result of its own, a run that retrieves nothing scores 0, the lower bound.
    """
    scores = {
        name: Score(math.nan, math.nan, math.nan, 0, score.signature)
        for name, score in retrieved.scores.items()
    }
    values = {name: np.full_like(found, np.nan) for name, found in retrieved.per_query.items()}
    return replace(retrieved, scores=scores, per_query=values)


def _record_asked(store: Run, cell: Cell, **asked: Any) -> None:
    if "asked" not in store.manifest:
        queries = len(cell.dataset.queries)
        options = {"options": cell.options.to_json()}
        store.write_manifest(asked={**cell.loaded.asked, **asked, **options}, queries=queries)


def _record_scoring(store: Run, start: float, reused: bool) -> None:
    if not reused or "score" not in store.manifest["seconds"]:
        scoring = {"score": round(time.perf_counter() - start, 6)}
        store.write_manifest(seconds=store.manifest["seconds"] | scoring)


def _data_identity(task: str, dataset: Dataset, queries: str) -> dict[str, Any]:
    return {
        "task": task,
        "corpus": dataset.info.name,
        "split": dataset.split,
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "queries_fingerprint": queries,
    }


def _data(dataset: Dataset, identity: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "corpus": identity["corpus_fingerprint"],
        "queries": identity["queries_fingerprint"],
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


def _warn_of_order(cell: Cell, counts: Counts, retrievals: Sequence[Retrieval]) -> None:
    if counts.resorted:
        cell.observer.warning(
            f"{cell.subject.label} gave {counts.resorted} of {counts.answered} rankings in another "
            "order than their scores; they were sorted by score, higher first. Return "
            "similarities rather than distances, or ids without scores."
        )
    scored = [retrieval.scores for retrieval in retrievals if retrieval.scores]
    if len(scored) < _FEWEST_FOR_A_SHARE:
        return
    tied_first = sum(1 for scores in scored if len(scores) > 1 and scores[0] == scores[1])
    if tied_first > _TIED_FIRST * len(scored):
        cell.observer.warning(
            f"{cell.subject.label}: {tied_first} of {len(scored)} scored rankings begin with "
            "tables of equal score. Such tables come in the order of the corpus. Return scores "
            "that tell tables apart: as they are before any sigmoid, in double precision, not "
            "rounded; or ids without scores, best first."
        )
