"""Rankings and answers that no plug-in gives: read from files to be scored, or references."""

from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.identity import plugin_identity
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Query
from target_bench.core.task import Task, has_reference
from target_bench.data.load import Loaded
from target_bench.harness.stages.generate import GOLD, AnswerOptions, GeneratorSpec
from target_bench.harness.stages.retrieve import RetrieverSpec
from target_bench.runs import ranking_files
from target_bench.runs.record_log import Answered


def given_rankings(
    run_file: str | Path | None, loaded: Loaded, limit: int | None, observer: Observer
) -> RetrieverSpec:
    """Return the rankings of a run file, which may have more than the first ``limit`` queries.

    Raises:
        ConfigError: no file was named.
        DataError: the file is missing or broken.
    """
    if run_file is None:
        raise ConfigError(
            f"task {RANKING_TASK}: name the rankings to score with run_file (--run); to score "
            "answers, name their task with --task (target-bench list tasks)"
        )
    given = ranking_files.read(Path(run_file), loaded.dataset)
    for note in given.notes(loaded.limited(limit).dataset.queries):
        observer.warning(note)
    return RetrieverSpec(Path(run_file).name, {"run_file": given.sha256}, rank=given.rank)


def given_answers(
    predictions: str | Path | None,
    order: str | Path | None,
    loaded: Loaded,
    observer: Observer,
) -> AnswerOptions:
    """Return the answers of a predictions file.

    Raises:
        ConfigError: no file was named.
        DataError: the file is missing or broken, or answers no query of the split.
    """
    if predictions is None:
        raise ConfigError(
            "name the answers to score with predictions (--predictions); to score rankings, name "
            f"the task {RANKING_TASK}"
        )
    settings = {"file": str(predictions)} | ({"order": str(order)} if order else {})
    replay = registry.build("generator", "replay", settings)
    query_ids = [query.id for query in loaded.dataset.queries]
    replay.query_ids = query_ids
    n, known = len(replay.answers), len(replay.answers.keys() & set(query_ids))
    if replay.in_corpus_order:
        observer.warning(
            f"{predictions} names no query ids: its answers were taken in the order of the corpus. "
            "If they are in another one, name it with --order."
        )
    if order is not None and not replay.by_position:
        observer.warning(f"{predictions} names its queries: {order} (--order) changes nothing")
    where = f"{loaded.dataset.info.name} {loaded.dataset.split}"
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
    return AnswerOptions(GeneratorSpec(Path(predictions).name, identity, replay, answer))


def check_references(task: Task[Any], dataset: Dataset) -> None:
    """Check that a query has a reference, as references are to be the answers.

    Raises:
        DataError: no query has one.
    """
    if not any(has_reference(task, query) for query in dataset.queries):
        raise DataError(
            f"{dataset.info.name} {dataset.split}: no query has a reference answer, so the "
            f"generator {GOLD} has nothing to answer with; name another generator"
        )
