"""A stored run again: its data, its scores by the metrics as they are now, and its manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, StoreError, TargetBenchError
from target_bench.core.identity import used_packages
from target_bench.core.metric_function import MetricLike, check_metrics, resolve_metric
from target_bench.core.observer import Observer
from target_bench.core.registry import find_task, make_task, spell_task
from target_bench.core.run_config import OPTIONS, RunConfig
from target_bench.core.schema import Dataset, Generation, Query, Retrieval
from target_bench.core.task import Task
from target_bench.core.text_tables import list_first
from target_bench.data.load import load_once
from target_bench.data.selection import limit_queries, select_queries
from target_bench.harness.begin import (
    count_prompt_tables,
    identify_answers,
    identify_rankings,
    make_manifest,
    make_prompter,
    select_metrics,
)
from target_bench.harness.consent import Confirm
from target_bench.harness.run_system import choose_ranking_task, run_system
from target_bench.harness.systems import System, make_generator, make_retriever
from target_bench.metrics.scores import refuse_built_in_names
from target_bench.runs.manifest import Manifest, answers_fingerprint, queries_fingerprint
from target_bench.runs.result import Result
from target_bench.runs.why import SOURCE

RecordT = TypeVar("RecordT")


def load_same_data(
    result: Result, data_dir: str | Path | None = None, observer: Observer | None = None
) -> Dataset:
    """Return the tables and queries that a run was of, checked to be what they were.

    Raises:
        ConfigError: the corpus was made in Python.
        DataError: it is missing, broken, or another one than it was.
    """
    dataset, identity = _load_data(result, data_dir, observer), result.rankings_result.identity
    _check_same(result, "tables", identity.corpus_fingerprint, dataset.corpus.fingerprint)
    # Answers without rankings are their own ``rankings_result``.
    compute = answers_fingerprint if identity.has_answers else queries_fingerprint
    _check_same(result, "queries", identity.queries_fingerprint, compute(dataset.queries))
    return dataset


def _load_data(result: Result, data_dir: str | Path | None, observer: Observer | None) -> Dataset:
    """Load the tables and queries that the command of a run asked for."""
    command = result.command
    if command.corpus is None:
        raise ConfigError(
            f"{result.folder} is of a corpus that was made in Python; run it again from there"
        )
    dataset = load_once(
        command.corpus,
        result.identity.split,
        command.distractors,
        data_dir,
        observer or Observer(),
    )
    return limit_queries(select_queries(dataset, command.about or RANKING_TASK), command.limit)


def _check_same(result: Result, what: str, then: str, now: str) -> None:
    if then != now:
        raise DataError(
            f"{result.folder}: the {what} of {result.command.corpus} have changed since the run "
            f"(fingerprint {then[:12]} then, {now[:12]} now), so its records do not fit them. "
            "Name the data of the run with --data-dir, or repeat the run."
        )


def score_again(
    result: Result,
    task: str | None = None,
    *,
    metrics: Sequence[MetricLike] = (),
    confirm: Confirm | None = None,
    data_dir: str | Path | None = None,
    observer: Observer | None = None,
) -> Result:
    """Score the rankings, or answers, of a finished run with the metrics as they are now.

    Args:
        result: the run, with the scores that it has.
        task: its task with other settings; default: those that the run was asked for with.
        metrics: more metrics. Those that the run was asked for with are asked for again.
        confirm: as for ``evaluate``; answers may be judged again.
        data_dir: as for ``evaluate``.
        observer: gets progress and warnings.

    Raises:
        ConfigError: the task is another one, or a metric cannot be made.
        DataError: tables, queries or references are not what they were.
        StoreError: the run is not finished, or cannot be read.
    """
    observer = observer or Observer()
    text = spell_task(task) if task else result.command.task
    if (name := find_task(text).name) != result.identity.task:
        raise ConfigError(
            f"{result.folder} is about {result.identity.task}, not about {name}; "
            f"target-bench run --task {text} uses its rankings again"
        )
    made = make_task(text)
    refuse_built_in_names(metrics)
    check_metrics(metrics, {made.name: made})
    earlier = _list_earlier_metrics(result, metrics, observer)
    prompting = result.run.manifest.command.prompting or {}
    options = {n: v for n, v in prompting.items() if n in OPTIONS and n not in ("prompt", "tables")}
    config = RunConfig(
        **options,
        out=result.folder.resolve().parent,
        metrics=(*metrics, *earlier),
        keep_source=(result.folder / SOURCE).is_dir(),
    )
    dataset = load_same_data(result, data_dir, observer)
    retriever: System | None = None
    if made.source == "retrieved":
        retriever = _use_stored_rankings(result.rankings_result)
        config = config.replace_options(top_k=result.rankings_result.identity.top_k)
    if made.answer == "ranking":
        return run_system(config, made, dataset, retriever, observer=observer)
    identity = result.identity
    now = answers_fingerprint(dataset.queries)
    _check_same(result, "queries or reference answers", identity.queries_fingerprint, now)
    again = run_system(
        config.replace_options(tables=identity.prompt_tables),
        made,
        dataset,
        retriever,
        _use_stored_answers(result, made),
        observer=observer,
        confirm=confirm,
    )
    if again.folder != result.folder.resolve():
        # The prompt is left out of the options above, as its file may be gone or edited by now.
        with again.run.locked(observer.waiting):
            command = again.run.manifest.command.model_copy(update={"prompting": prompting})
            again.run.write_manifest(command=command)
    scored_with = again.identity.metrics
    names = [each.partition("|")[0] for each in scored_with if each not in identity.metrics]
    if names:
        observer.warning(
            f"{result.folder.name} was scored in another way before ({list_first(names, 3)}: see "
            "their signatures): its stored answers were scored again, nothing was generated"
        )
    return again


def _list_earlier_metrics(
    result: Result, given: Sequence[MetricLike], observer: Observer
) -> list[str]:
    """List the metrics that a run was asked for with and that are not given now.

    One that cannot be made any more is left out with a warning.
    """
    names = {resolve_metric(each).spec.name for each in given}
    options = [each.command.options or {} for each in (result, result.rankings_result)]
    texts = dict.fromkeys(text for each in options for text in each.get("metrics") or ())
    earlier = []
    for text in texts:
        try:
            refuse_built_in_names([text])
            if resolve_metric(text).spec.name not in names:
                earlier.append(text)
        except ConfigError as error:
            observer.warning(
                f"the run was scored with the metric {text} before, which is dropped: {error}"
            )
    return earlier


def _use_stored_rankings(result: Result) -> System:
    """Return the system of the rankings of a run."""
    label, name = result.command.retriever, result.command.retriever_name
    stored = result.run.rankings
    if label is None:
        raise ConfigError(
            f"{result.folder} has no rankings, which answers of this task are built on; name the "
            "folder of a run with a retriever"
        )

    def rank(query: Query) -> Retrieval:
        return _get_stored(result, stored, query, "ranking")

    return System(label, result.identity.any_retriever, look_up=rank, name=name)


def _use_stored_answers(result: Result, task: Task[Any]) -> System:
    """Return the system of the answers of a run, which a task scores."""
    stored, identity = result.run.answers, result.identity

    def answer(query: Query) -> Generation:
        return _get_stored(result, stored, query, "answer")

    return System(
        result.command.generator or "",
        identity.generator or {},
        look_up=answer,
        prompt=identity.prompt,
        name=result.command.generator_name,
        packages=used_packages(task),
    )


def _get_stored(result: Result, stored: Mapping[str, RecordT], query: Query, what: str) -> RecordT:
    """Return the record of a query; refuse a run that is not finished."""
    if query.id not in stored:
        raise StoreError(
            f"{result.folder}: query {query.id!r} has no {what} yet; finish the run with the "
            "command that began it"
        )
    return stored[query.id]


def make_manifest_again(
    result: Result, data_dir: str | Path | None = None, observer: Observer | None = None
) -> tuple[Manifest, dict[str, bytes]]:
    """Return the manifest that the command of a run would begin with now, and the source files.

    Raises:
        ConfigError: the corpus was made in Python, or a plug-in cannot be made again.
        DataError: the corpus is missing or broken.
    """
    command, observer = result.command, observer or Observer()
    recorded = {**(command.options or {}), **(command.prompting or {})}
    options = {name: value for name, value in recorded.items() if name in OPTIONS}
    config = RunConfig(**{**options, "out": result.folder.parent})
    task = make_task(command.task)
    dataset = _load_data(result, data_dir, observer)
    retriever: System | None = None
    generator: System | None = None
    try:
        if command.retriever is not None:
            retriever = make_retriever(command.retriever, observer, command.retriever_name)
        if command.generator is not None:
            generator = make_generator(command.generator, task, config, observer)
            generator = replace(generator, name=command.generator_name)
    except TargetBenchError as error:
        raise ConfigError(
            f"{result.folder}: its retriever or generator cannot be made again ({error}). Compare "
            "it with a second run: target-bench runs why RUN RUN"
        ) from error
    if generator is not None:
        prompter = make_prompter(config, task, dataset, generator)
        n_tables = count_prompt_tables(config, task, dataset, retriever)
        identity = identify_answers(config, task, dataset, retriever, generator, prompter, n_tables)
    else:
        assert retriever is not None
        task = choose_ranking_task(task, retriever)
        identity = identify_rankings(config, task, dataset, retriever)
    config = select_metrics(config, task)
    return make_manifest(identity, config, task, dataset, retriever, generator)
