"""Beginning a run: what identifies it, what is recorded of it first, and its locked folder."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from target_bench.core.credentials import mask_settings
from target_bench.core.errors import DataError
from target_bench.core.identity import plugin_identity, source_files
from target_bench.core.metric import drop_package_versions
from target_bench.core.metric_function import can_score, resolve_metric
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.registry import is_package_code
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset, Distractors
from target_bench.core.task import Task, given_tables, has_reference
from target_bench.harness.run_notes import describe_start
from target_bench.harness.score import list_metrics, select_scorable
from target_bench.harness.systems import GOLD, System
from target_bench.runs.manifest import (
    Command,
    Identity,
    Manifest,
    MixedIn,
    answers_fingerprint,
    queries_fingerprint,
)
from target_bench.runs.run import Run, open_run
from target_bench.runs.why import explain_new, hash_sources, read_sources, write_copies


@contextmanager
def begin_run(
    identity: Identity,
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System | None,
    generator: System | None = None,
    rankings_run: Run | None = None,
    *,
    observer: Observer,
) -> Iterator[Run]:
    """Open and lock the run of an identity, and write its manifest if it is new.

    A run of answers has a generator, and perhaps the run of the rankings that its answers are built
    on; a run of rankings has only a retriever.
    """
    manifest, sources = make_manifest(
        identity, config, task, dataset, retriever, generator, rankings_run
    )
    # The name of a folder of rankings says for which task alone they are.
    about = dataset.request.get("about") if generator is None else None
    run = open_run(config.out, _list_words(manifest, about), manifest)
    with run.locked(observer.waiting):
        is_new = run.is_new
        # ``score_again`` has stored records in place of plug-ins, whose source files are not found
        # then: what is recorded of their code is kept.
        code = manifest.code if is_new else {**run.manifest.code, **manifest.code}
        # A metric may be edited without making another run: its new code is recorded.
        has_new_code = is_new or run.manifest.code != code
        if has_new_code and config.keep_source:
            write_copies(run.folder, sources)
        if is_new:
            system = generator or retriever
            assert system is not None
            run.write_new_manifest(**describe_start(system))
            run.new_because = explain_new(run, manifest, sources)
        elif has_new_code:
            run.write_manifest(code=code)
        yield run


def _list_words(manifest: Manifest, about: str | None) -> list[str]:
    """List the words that a folder's name begins with: task, corpus, split and systems."""
    identity, command = manifest.identity, manifest.command
    task = f"{identity.task} for {about}" if about else identity.task
    systems = filter(None, (command.retriever, command.generator))
    return [task, identity.corpus, identity.split, *systems]


def make_manifest(
    identity: Identity,
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System | None,
    generator: System | None,
    rankings_run: Run | None = None,
) -> tuple[Manifest, dict[str, bytes]]:
    """Return what a run records when it begins: identity, command, data, the user's own code.

    Second comes the content of that code: name of a source file -> its bytes.
    """
    systems = [system.plugin for system in (retriever, generator) if system]
    plugins = [*systems, task, *map(resolve_metric, config.metrics)]
    sources = read_sources(source_files(*(each for each in plugins if each is not None)))
    # Those of a run of answers are recorded with its rankings.
    distractors = dataset.distractors if generator is None else ()
    manifest = Manifest(
        identity=identity,
        command=make_command(config, task, dataset, retriever, generator, rankings_run),
        n_queries=len(dataset.queries),
        corpus_tables=len(dataset.corpus),
        files=dict(dataset.files),
        code=hash_sources(sources),
        data=dataset.info.source,
        data_notes=tuple(dataset.notes),
        distractors=tuple(map(_list_distractors, distractors)),
    )
    return manifest, sources


def _list_distractors(distractors: Distractors) -> MixedIn:
    """Return distractors, and the near-copies among them, as a manifest lists them."""
    near_copies = tuple(
        {"id": str(copy.id), "of": str(copy.gold), "similarity": copy.similarity}
        for copy in distractors.near_copies
    )
    ids = tuple(map(str, distractors.ids))
    return MixedIn(spec=distractors.spec, n=len(ids), ids=ids, near_copies=near_copies or None)


def make_command(
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System | None,
    generator: System | None = None,
    rankings_run: Run | None = None,
) -> Command:
    """Return the words with which a run can be asked for again, without credentials."""
    words: dict[str, Any] = {
        **dataset.request,
        "retriever": retriever and retriever.label,
        "retriever_name": retriever and retriever.name,
        "task": task.asked_as or task.name,  # a task that was made in Python has only its name
    }
    if generator is not None:
        words |= {
            "generator": generator.label,
            "generator_name": generator.name,
            "retrieval_run": rankings_run and rankings_run.folder.name,
            "prompting": config.prompt_json(),
        }
    masked = {
        name: mask_settings(value) if isinstance(value, str) else value
        for name, value in words.items()
    }
    return Command.model_validate({**masked, "options": config.run_json()})


def identify_rankings(
    config: RunConfig, task: Task[Any], dataset: Dataset, retriever: System
) -> Identity:
    """Return all that can change rankings or their scores; its hash names the run folder."""
    return Identity.make(
        **_identify_scores(task, dataset, queries_fingerprint(dataset.queries), config.top_k),
        top_k=config.top_k,
        retriever=retriever.identity,
    )


def identify_answers(
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System | None,
    generator: System,
    prompter: PromptWriter,
    n_tables: int,
) -> Identity:
    """Return all that can change answers or their scores; its hash names the run folder."""
    entries = {
        **_identify_scores(task, dataset, answers_fingerprint(dataset.queries)),
        "generator": generator.identity,
        "prompt": prompter.identity if generator.prompt is None else generator.prompt,
    }
    if retriever is not None:
        depth = config.top_k[-1]
        limited = {"tables": n_tables} if n_tables < depth else {}
        return Identity.make(
            **entries, retrieval={"retriever": retriever.identity, "depth": depth, **limited}
        )
    limited = {"tables": n_tables} if n_tables < _count_given(task, dataset) else {}
    # The fingerprint of queries sorts their gold tables; a prompt shows them in their order.
    given = {query.id: given_tables(task, query) for query in dataset.queries}
    unsorted = {i: tables for i, tables in given.items() if [*tables] != sorted(tables)}
    order = {}
    if unsorted:
        content = json.dumps(sorted(unsorted.items())).encode()
        order["order"] = hashlib.sha256(content).hexdigest()[:12]
    return Identity.make(**entries, given={"source": task.source, **order, **limited})


def _identify_scores(
    task: Task[Any], dataset: Dataset, fingerprint: str, cutoffs: Sequence[int] = ()
) -> dict[str, Any]:
    """Return what identifies the task, the data, and the metrics with their settings."""
    version = (
        {"task_version": task.VERSION}
        if is_package_code(type(task))
        else {"task_plugin": plugin_identity(task)[0]}
    )
    near_copies = [distractors.near_copies_setting for distractors in dataset.distractors]
    metrics = list_metrics(task, select_scorable(task, dataset).queries, cutoffs)
    return {
        "task": task.name,
        **version,
        "corpus": dataset.info.name,
        "split": dataset.split,
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "queries_fingerprint": fingerprint,
        **({"near_copies": near_copies} if any(near_copies) else {}),
        "metrics": [*(drop_package_versions(m.signature) for m in metrics), *task.settings()],
    }


def make_prompter(
    config: RunConfig, task: Task[Any], dataset: Dataset, generator: System
) -> PromptWriter:
    """Return what writes the requests of a task about answers, after a look at its references."""
    from target_bench.models.prompts.prompting import make_prompt_writer  # it takes time to import

    select_scorable(task, dataset)  # raises where a reference is not one of the task
    if generator.is_gold and not any(has_reference(task, query) for query in dataset.queries):
        raise DataError(
            f"{dataset.info.name} {dataset.split}: no query has a reference answer, so the "
            f"generator {GOLD} has nothing to answer with; name another generator"
        )
    follows_schema = bool(getattr(generator.plugin, "follows_schema", False))
    return make_prompt_writer(task, config, dataset.databases, follows_schema)


def count_prompt_tables(
    config: RunConfig, task: Task[Any], dataset: Dataset, retriever: System | None
) -> int:
    """Return the most tables that a prompt holds."""
    most = config.top_k[-1] if retriever is not None else _count_given(task, dataset)
    return most if config.tables is None else min(config.tables, most)


def _count_given(task: Task[Any], dataset: Dataset) -> int:
    """Return the largest number of tables that a task without retrieval gives a query."""
    return max(len(given_tables(task, query)) for query in dataset.queries)


def select_metrics(config: RunConfig, task: Task[Any]) -> RunConfig:
    """Return the options with those of their metrics that the task can read."""
    readable = [each for each in config.metrics if can_score(resolve_metric(each), task)]
    return config.replace_options(metrics=readable)
