"""Scores of rankings and answers that were made elsewhere, and are read from files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import NO_CONTEXT, RANKING_TASK
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer, default_observer
from target_bench.core.registry import make_task
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset, Query
from target_bench.core.settings import read_texts
from target_bench.data.load import CorpusLike, LoadOnce, make_loader, tasks_and_corpora
from target_bench.data.selection import limit_queries
from target_bench.harness.consent import Confirm
from target_bench.harness.evaluate import (
    Pair,
    check_properties,
    check_tasks,
    load_queries,
    report_progress,
)
from target_bench.harness.run_system import run_system
from target_bench.harness.systems import System, make_retriever, use_rankings
from target_bench.runs import ranking_files
from target_bench.runs.record_log import Answered
from target_bench.runs.result import Result, Results


def score_file(
    task: str,
    corpus: CorpusLike,
    *,
    run_file: str | Path | None = None,
    predictions: str | Path | None = None,
    order: str | Path | None = None,
    data_dir: str | Path | None = None,
    **options: Any,
) -> Result:
    """Score rankings, or answers, that were made elsewhere.

    Args:
        task: a task with its settings.
        corpus: as for ``evaluate``.
        run_file: for the task retrieval: a TREC run, or JSON lines as a run folder's
            ``retrieval.jsonl`` holds them.
        predictions: for tasks about answers: a file that the generator ``replay`` reads.
        order: a JSON list of query ids, for predictions with one answer per line.
        data_dir: the folder with the release files.
        options: as of ``RunConfig``: ``split``, ``top_k``, ``out``.

    Raises:
        ConfigError: an unknown option, or an invalid argument.
        DataError: the corpus or the file is missing or broken, or names queries or tables that the
            corpus does not have.
        StoreError: the run folder cannot be written or read.
    """
    observer = default_observer()
    [result] = score_given(
        tasks_and_corpora((task, corpus)),
        RunConfig(**options),
        run_file=run_file,
        predictions=predictions,
        order=order,
        load_once=make_loader(data_dir, observer),
        observer=observer,
    )
    return result


def score_given(
    pairs: Sequence[Pair],
    options: RunConfig,
    *,
    run_file: str | Path | None = None,
    predictions: str | Path | None = None,
    order: str | Path | None = None,
    load_once: LoadOnce,
    observer: Observer,
    confirm: Confirm | None = None,
    by: str | Sequence[str] = (),
) -> Results:
    """Score the rankings, or answers, of files; arguments as for ``score_file``."""
    check_tasks(pairs, options)
    names = read_texts("by", by)
    results = []
    with report_progress(observer):
        for text, corpus in pairs:
            task = make_task(text)
            everything = load_queries(text, corpus, options.replace_options(limit=None), load_once)
            dataset = limit_queries(everything, options.limit)
            answers = None
            if task.answer == "ranking":
                retriever = _read_rankings(run_file, everything, options, observer)
            else:
                retriever = make_retriever(NO_CONTEXT, observer)
                answers = _read_answers(predictions, order, everything, observer)
            check_properties(names, [(text, dataset)])
            results.append(
                run_system(
                    options,
                    task,
                    dataset,
                    retriever if task.source == "retrieved" else None,
                    answers,
                    observer=observer,
                    confirm=confirm,
                )
            )
    for result in results:
        result.by = tuple(names)
    return Results(results)


def _read_rankings(
    run_file: str | Path | None, dataset: Dataset, config: RunConfig, observer: Observer
) -> System:
    """Return the rankings of a run file, which may have more than the first ``limit`` queries."""
    if run_file is None:
        raise ConfigError(
            f"task {RANKING_TASK}: name the rankings to score with run_file (--run); to score "
            "answers, name their task with --task (target-bench list tasks)"
        )
    given = ranking_files.read_run_file(Path(run_file), dataset)
    for note in given.notes(limit_queries(dataset, config.limit).queries):
        observer.warning(note)
    depth = config.top_k[-1]
    identity = {"run_file": given.sha256}
    return use_rankings(Path(run_file).name, identity, lambda query: given.rank(query, depth))


def _read_answers(
    predictions: str | Path | None,
    order: str | Path | None,
    dataset: Dataset,
    observer: Observer,
) -> System:
    """Return the answers of a predictions file."""
    if predictions is None:
        raise ConfigError(
            "name the answers to score with predictions (--predictions); to score rankings, name "
            f"the task {RANKING_TASK}"
        )
    settings = {"file": str(predictions)} | ({"order": str(order)} if order else {})
    replay = registry.build("generator", "replay", settings)
    query_ids = [query.id for query in dataset.queries]
    replay.query_ids = query_ids
    replay.note_queries(dataset.queries)
    n, known = len(replay.answers), len(replay.answers.keys() & set(query_ids))
    if replay.in_corpus_order:
        observer.warning(
            f"{predictions} names no query ids: its answers were taken in the order of the corpus. "
            "If they are in another one, name it with --order."
        )
    if order is not None and not replay.by_position:
        observer.warning(f"{predictions} names its queries: {order} (--order) changes nothing")
    where = f"{dataset.info.name} {dataset.split}"
    if not known:
        raise DataError(f"{predictions}: none of its {n} query ids is in {where}")
    if known < n:
        observer.warning(
            f"{predictions}: {n - known} of its {n} answers are to no query of {where}, and were "
            "not used"
        )

    def answer(query: Query) -> Answered:
        return Answered(replay.answer(query.id))

    identity, _ = plugin_identity(replay)
    return System(Path(predictions).name, identity, replay, answer)
