"""Score rankings and answers of another system, which are read from files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import NO_CONTEXT, RANKING_TASK
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.identity import plugin_identity, used_packages
from target_bench.core.observer import Observer, default_observer
from target_bench.core.registry import find_task, make_task
from target_bench.core.run_config import RunConfig, add_columns, options_read
from target_bench.core.schema import Dataset
from target_bench.core.settings import read_texts
from target_bench.core.task import Task
from target_bench.data.load import CorpusLike, pair_with_corpora
from target_bench.data.selection import limit_queries
from target_bench.harness.consent import Confirm
from target_bench.harness.evaluate import (
    Pair,
    check_properties,
    load_queries,
    make_tasks,
    work_session,
)
from target_bench.harness.run_system import run_system
from target_bench.harness.systems import System, make_retriever
from target_bench.runs import ranking_files
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
    """Score rankings, or answers, of another system.

    Args:
        task: a task with its settings.
        corpus: as for ``evaluate``.
        run_file: rankings: a TREC run, or JSON lines as in a run's ``retrieval.jsonl``.
        predictions: answers: a file that the generator ``replay`` reads.
        order: a JSON list of query ids, for predictions with one answer per line.
        data_dir: the folder with the release files.
        options: of ``RunConfig``: ``split``, ``top_k``, ``out``.

    Raises:
        ConfigError: a file that the task does not read, or another invalid argument.
    """
    files = {"run_file": run_file, "predictions": predictions, "order": order}
    reads = options_read(find_task(task)) & files.keys()
    for name, file in files.items():
        if file is not None and name not in reads:
            raise ConfigError(
                f"{name}={str(file)!r}: the task {task} does not read it, but "
                f"{' and '.join(sorted(reads))}"
            )
    if columns := options.pop("columns", None):
        (corpus,) = add_columns(corpus, columns)
    [result] = score_external(
        pair_with_corpora(task, corpus),
        RunConfig(data_dir=data_dir, **options),
        run_file=run_file,
        predictions=predictions,
        order=order,
        observer=default_observer(),
    )
    return result


def score_external(
    pairs: Sequence[Pair],
    config: RunConfig,
    *,
    run_file: str | Path | None = None,
    predictions: str | Path | None = None,
    order: str | Path | None = None,
    observer: Observer,
    confirm: Confirm | None = None,
    by: str | Sequence[str] = (),
) -> Results:
    """Score files on tasks with their corpora; arguments as for ``score_file`` and ``evaluate``."""
    make_tasks(pairs, config)  # raises what is wrong with any, before the first is scored
    properties = read_texts("by", by)
    results = []
    loaded: dict[Any, Dataset] = {}
    with work_session(observer):
        for text, corpus in pairs:
            task = make_task(text)
            # A file may name any query of the split, also where few are scored.
            whole = load_queries(text, corpus, config.replace_options(limit=None), observer, loaded)
            retriever: System | None
            if task.answer == "ranking":
                retriever = _read_rankings(run_file, whole, config, observer)
                generator = None
            else:
                needs_retriever = task.source == "retrieved"
                retriever = make_retriever(NO_CONTEXT, observer) if needs_retriever else None
                generator = _read_answers(task, predictions, order, whole, observer)
            dataset = limit_queries(whole, config.limit)
            check_properties(properties, [(text, dataset)])
            result = run_system(
                config, task, dataset, retriever, generator, observer=observer, confirm=confirm
            )
            result.by = properties
            results.append(result)
    return Results(results)


def _read_rankings(
    run_file: str | Path | None, dataset: Dataset, config: RunConfig, observer: Observer
) -> System:
    """Return the rankings of a run file as a retriever, and warn of what is odd about them."""
    if run_file is None:
        raise ConfigError(
            f"task {RANKING_TASK}: name the rankings to score with run_file (--run); to score "
            "answers, name their task with --task (target-bench list tasks)"
        )
    rankings = ranking_files.read_run_file(Path(run_file), dataset)
    for note in rankings.notes(limit_queries(dataset, config.limit).queries):
        observer.warning(note)
    depth = config.top_k[-1]
    identity = {"run_file": rankings.sha256}
    return System(Path(run_file).name, identity, look_up=lambda query: rankings.rank(query, depth))


def _read_answers(
    task: Task[Any],
    predictions: str | Path | None,
    order: str | Path | None,
    dataset: Dataset,
    observer: Observer,
) -> System:
    """Return the answers of a file as a generator, and warn of what is odd about them."""
    if predictions is None:
        raise ConfigError(
            "name the answers to score with predictions (--predictions); to score rankings, name "
            f"the task {RANKING_TASK}"
        )
    settings = {"file": str(predictions)} | ({"order": str(order)} if order else {})
    replay = registry.build("generator", "replay", settings)
    query_ids = [query.id for query in dataset.queries]
    replay.query_ids = query_ids  # the order of answers in a file without ids
    replay.note_queries(dataset.queries)  # which ids a release has twice
    n_answers = len(replay.answers)
    n_used = len(replay.answers.keys() & set(query_ids))
    data = f"{dataset.info.name} {dataset.split}"
    if not n_used:
        raise DataError(f"{predictions}: none of its {n_answers} query ids is in {data}")
    if n_used < n_answers:
        observer.warning(
            f"{predictions}: {n_answers - n_used} of its {n_answers} answers are to no query of "
            f"{data}, and were not used"
        )
    if replay.in_corpus_order:
        observer.warning(
            f"{predictions} names no query ids: its answers were taken in the order of the corpus. "
            "If they are in another one, name it with --order."
        )
    if order is not None and not replay.by_position:
        observer.warning(f"{predictions} names its queries: {order} (--order) changes nothing")
    identity, _ = plugin_identity(replay)
    return System(
        Path(predictions).name,
        identity,
        replay,
        look_up=lambda query: replay.answer(query.id),
        packages=used_packages(replay, task),
    )
