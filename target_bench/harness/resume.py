"""Going on with a stored run: its data again, and its scores by the metrics as they are now."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, StoreError, TargetBenchError
from target_bench.core.metric_function import MetricLike, check_metrics, resolve_metric
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.registry import find_task, make_task, spell_task
from target_bench.core.run_config import OPTIONS, RunConfig
from target_bench.core.schema import Dataset, Query, Retrieval
from target_bench.core.task import Task
from target_bench.core.text_tables import list_first
from target_bench.data.load import make_loader
from target_bench.data.selection import limit_queries, select_task
from target_bench.harness.begin import find_sources, make_manifest, make_prompter
from target_bench.harness.consent import Confirm
from target_bench.harness.run_system import choose_ranking_task, rank_queries, run_system
from target_bench.harness.systems import System, make_generator, make_retriever, use_rankings
from target_bench.metrics.scores import check_names
from target_bench.runs.manifest import Manifest, answers_fingerprint, queries_fingerprint
from target_bench.runs.record_log import Answered
from target_bench.runs.result import Result, Results, read_run

RecordT = TypeVar("RecordT")


class ResumedRun:
    """A stored run that is scored again: a finished retrieval, or answers with their retrieval.

    Args:
        run: the run.
        data_dir: as for ``evaluate``.
        observer: gets progress and warnings.

    Raises:
        StoreError: the manifest of the run, or of its rankings, cannot be read.
    """

    def __init__(
        self,
        run: Result,
        data_dir: str | Path | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._run = run
        self._rankings = read_run(run.rankings_run.folder)
        self._out = run.folder.resolve().parent
        self._data_dir = data_dir
        self._observer = observer or Observer()

    @property
    def task_text(self) -> str:
        """Its task with the settings that the run was asked for with."""
        return self._run.command.task or self._run.identity.task

    def score(
        self,
        task: str | None = None,
        confirm: Confirm | None = None,
        metrics: Sequence[MetricLike] = (),
    ) -> Results:
        """Score what is stored with the metrics as they are now."""
        text = spell_task(task) if task else self.task_text
        name, before = find_task(text).name, self._run.identity.task
        if name != before:
            raise ConfigError(
                f"{self._run.folder} is about {before}, not about {name}; "
                f"target-bench run --task {text} uses its rankings again"
            )
        made = make_task(text)
        check_names(metrics)
        check_metrics(metrics, {made.name: made})
        config, dataset, retriever = self._setting(made, metrics)
        if made.answer == "ranking":
            assert retriever is not None
            if task is None:
                made.asked_as = self._run.command.task
            ranked, _ = rank_queries(config, made, dataset, retriever, self._observer)
            return Results([ranked])
        stored, identity = self._run.run.answers, self._run.identity

        def answer(query: Query) -> Answered:
            return _get_stored(self._run, stored, query, "answer")

        now = answers_fingerprint(dataset.queries)
        self._check_same("queries or reference answers", identity.queries_fingerprint, now)
        generator = System(
            self._run.command.generator or "",
            identity.generator or {},
            records=answer,
            prompt=identity.prompt,
            name=self._run.command.generator_name,
        )
        result = run_system(
            config.replace_options(tables=identity.prompt_tables),
            made,
            dataset,
            retriever,
            generator,
            observer=self._observer,
            confirm=confirm,
        )
        scored_with = read_run(result.folder).identity.metrics
        names = [e.partition("|")[0] for e in scored_with if e not in identity.metrics]
        if names:
            self._observer.warning(
                f"{self._run.folder.name} was scored in another way before ("
                f"{list_first(names, 3)}: see their signatures): its stored answers were scored "
                "again, nothing was generated"
            )
        return Results([result])

    def load(self) -> Dataset:
        """Return the tables and queries that the run was of, seen to be what they were.

        Raises:
            ConfigError: the corpus was made in Python.
            DataError: it is missing, broken, or another one than it was.
        """
        command, identity = self._run.command, self._rankings.identity
        if command.corpus is None:
            raise ConfigError(
                f"{self._run.folder} is of a corpus that was made in Python; run it again from "
                "there"
            )
        load_once = make_loader(self._data_dir, self._observer)
        dataset = load_once(command.corpus, identity.split, command.distractors)
        dataset = select_task(dataset, command.about or RANKING_TASK)
        dataset = limit_queries(dataset, command.limit)
        corpus_now, queries = dataset.corpus.fingerprint, dataset.queries
        self._check_same("tables", identity.corpus_fingerprint, corpus_now)
        fingerprint = answers_fingerprint if identity.has_answers else queries_fingerprint
        self._check_same("queries", identity.queries_fingerprint, fingerprint(queries))
        return dataset

    def _setting(
        self, task: Task[Any], metrics: Sequence[MetricLike]
    ) -> tuple[RunConfig, Dataset, System | None]:
        """Return the options and data of the run, and its rankings if the task reads them.

        Metrics that the run was asked for with are asked for again.
        """
        asked = [run.command.options or {} for run in (self._run, self._rankings)]
        before = [text for options in asked for text in options.get("metrics") or ()]
        options = RunConfig(
            out=self._out,
            metrics=(*metrics, *self._made_again(before, metrics)),
        )
        dataset = select_task(self.load(), task)
        if task.source != "retrieved":
            return options, dataset, None
        rankings = self._rankings
        label, stored = rankings.command.retriever, rankings.run.rankings
        if label is None:
            raise ConfigError(
                f"{rankings.folder} has no rankings, which answers of this task are built on; "
                "name the folder of a run with a retriever"
            )

        def rank(query: Query) -> Retrieval:
            return _get_stored(rankings, stored, query, "ranking")

        name = rankings.command.retriever_name
        retriever = use_rankings(label, rankings.identity.retriever, rank, name)
        return options.replace_options(top_k=rankings.identity.top_k), dataset, retriever

    def _made_again(self, texts: Sequence[str], now: Sequence[MetricLike]) -> list[str]:
        """Return the metrics of before that can still be made, but for those that are given now."""
        names = {resolve_metric(each).spec.name for each in now}
        made = []
        for text in dict.fromkeys(texts):
            try:
                check_names([text])
                if resolve_metric(text).spec.name not in names:
                    made.append(text)
            except ConfigError as error:
                self._observer.warning(
                    f"the run was scored with the metric {text} before, which is dropped: {error}"
                )
        return made

    def _check_same(self, what: str, then: str, now: str) -> None:
        if then != now:
            raise DataError(
                f"{self._run.folder}: the {what} of {self._run.command.corpus} are not what they "
                f"were (fingerprint {then[:12]} then, {now[:12]} now), so what is stored does not "
                "belong to them. Name the data of the run with --data-dir, or run again."
            )


def _get_stored(run: Result, stored: Mapping[str, RecordT], query: Query, what: str) -> RecordT:
    """Return the record of a query; refuse a run that is not finished."""
    if query.id not in stored:
        raise StoreError(
            f"{run.folder}: query {query.id!r} has no {what} yet; finish the run with the command "
            "that began it"
        )
    return stored[query.id]


def make_manifest_again(
    run: Result, data_dir: str | Path | None = None, observer: Observer | None = None
) -> tuple[Manifest, dict[str, bytes]]:
    """Return the manifest that the command of a run would begin with now, and the source files.

    Raises:
        ConfigError: the corpus was made in Python, or a plug-in cannot be made again.
        DataError: the corpus is missing or broken.
    """
    command, observer = run.command, observer or Observer()
    if command.corpus is None:
        raise ConfigError(
            f"{run.folder} is of a corpus that was made in Python; compare it with a second run"
        )
    words = {**(command.options or {}), **(command.prompting or {})}
    options = {name: value for name, value in words.items() if name in OPTIONS}
    config = RunConfig(**{**options, "out": run.folder.parent})
    task = make_task(command.task or RANKING_TASK)
    load_once = make_loader(data_dir, observer)
    dataset = load_once(command.corpus, run.identity.split, command.distractors)
    dataset = select_task(dataset, command.about or RANKING_TASK)
    dataset = limit_queries(dataset, command.limit)
    if task.answer != "ranking":
        dataset = select_task(dataset, task)
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
            f"{run.folder}: its retriever or generator cannot be made again ({error}). Compare it "
            "with a second run: target-bench runs why RUN RUN"
        ) from error
    prompter: PromptWriter | None = None
    if generator is not None:
        prompter = make_prompter(config, task, dataset, generator)
    elif retriever is not None:
        task = choose_ranking_task(task, retriever)
    sources = find_sources(config, task, retriever, generator)
    manifest = make_manifest(config, task, dataset, retriever, generator, prompter, sources=sources)
    return manifest, sources
