"""``run_system``: one retriever, and perhaps one generator, on one split, from tables to scores.

1. ``Run`` opens the folder that the identity names; another process is waited for.
2. ``rank`` ranks the queries that the folder has no ranking of, and appends each.
3. ``answer`` and ``judge`` do the same with answers and judgements, in a folder of their own.
4. ``score_rankings`` and ``score_answers`` score what is there, and the scores are written.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from target_bench.core.built_in import RANKING_TASK, SETS_TASK
from target_bench.core.contract import guard_plugin
from target_bench.core.credentials import mask_settings
from target_bench.core.errors import DataError, StoreError
from target_bench.core.identity import plugin_identity, source_files
from target_bench.core.metric import Counts, without_packages
from target_bench.core.metric_function import can_score, resolve_metric
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.registry import is_own_code, make_task
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset, Distractors, Retrieval, copy_json
from target_bench.core.task import Task, given_tables, has_reference
from target_bench.core.text_tables import list_first
from target_bench.core.user_code import process_restored
from target_bench.harness.answer import answer
from target_bench.harness.consent import Confirm
from target_bench.harness.judge import judge
from target_bench.harness.rank import rank
from target_bench.harness.run_notes import ranking_notes, unlabelled_note, warn_of_depth
from target_bench.harness.score import (
    Scored,
    list_metrics,
    scorable,
    score_answers,
    score_rankings,
)
from target_bench.harness.systems import GOLD, System
from target_bench.metrics.scores import hash_code
from target_bench.runs import slicing
from target_bench.runs.manifest import (
    Command,
    Identity,
    Manifest,
    MixedIn,
    answers_fingerprint,
    queries_fingerprint,
)
from target_bench.runs.result import Result
from target_bench.runs.run import Run, open_run
from target_bench.runs.score_files import SLICE_PREFIX, read_scores
from target_bench.runs.why import explain_new, hash_sources, read_sources, write_copies


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
    if not is_own_code(type(task)):  # it gets queries of its own: the next task gets them too
        copies = (replace(query, metadata=copy_json(query.metadata)) for query in dataset.queries)
        dataset = replace(dataset, queries=tuple(copies))
    with guard_plugin("task", task, f"a run on {dataset.info.name} {dataset.split}"):
        if generator is None:
            assert retriever is not None
            task = choose_ranking_task(task, retriever)
            return rank_queries(config, task, dataset, retriever, observer, confirm)[0]
        return answer_queries(config, task, dataset, retriever, generator, observer, confirm)


def choose_ranking_task(task: Task[Any], retriever: System) -> Task[Any]:
    """Return the task of sets for plain retrieval by a retriever of sets, else the task itself."""
    is_plain = task.asked_as in (None, RANKING_TASK) and task.name == RANKING_TASK
    return make_task(SETS_TASK) if is_plain and retriever.returns_sets else task


def rank_queries(
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
    about = f" for {dataset.only_about}" if dataset.only_about else ""
    label = (f"{task.name}{about}", dataset.info.name, dataset.split, retriever.label)
    sources = find_sources(config, task, retriever)
    manifest = make_manifest(config, task, dataset, retriever, sources=sources)
    command = manifest.asked
    with _begin_run(config, label, manifest, sources, observer) as (run, new_because):
        rankings, reused = rank(run, retriever, dataset, config, observer, confirm)
        with _finish_after(run, command, retriever.label, reused, observer):
            with process_restored():
                more = _select_metrics(config, task)
                scored = score_rankings(dataset, rankings, config.top_k, task, more)
            counts = scored.counts.to_json()
            changed = _write_scores(run, task, dataset, scored, observer, counts=counts)
    if retriever.plugin is None or not is_own_code(type(retriever.plugin)):
        for warning in ranking_notes(retriever.label, scored.counts, rankings.values()):
            observer.warning(warning)
    reused = reused and not changed
    return Result(
        run.folder,
        command=command,
        queries=dataset.queries,
        reused=reused,
        new_because=new_because,
    ), rankings


def answer_queries(
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
    counts = Counts(
        asked=len(dataset.queries),
        **dict.fromkeys(("answered", "failed", "empty", "short", "resorted", "empty_queries"), 0),
    )
    retrieval_run = None
    if retriever is not None:
        ranking_task = choose_ranking_task(make_task(RANKING_TASK), retriever)
        ranked, rankings = rank_queries(config, ranking_task, dataset, retriever, observer, confirm)
        counts, retrieval_run = ranked.stored.counts, ranked.folder.name
    else:
        rankings = {q.id: Retrieval(q.id, given_tables(task, q)) for q in dataset.queries}
    sources = find_sources(config, task, retriever, generator)
    manifest = make_manifest(
        config, task, dataset, retriever, generator, prompter, retrieval_run, sources
    )
    command = manifest.asked
    label = (task.name, dataset.info.name, dataset.split, command.retriever, generator.label)
    depth = count_prompt_tables(config, task, dataset, retriever)
    note_queries = getattr(generator.plugin, "note_queries", None)
    if note_queries is not None:  # ``replay`` tells queries of one id apart
        note_queries(dataset.queries, config.limit is not None)
    with _begin_run(config, label, manifest, sources, observer) as (run, new_because):
        answers, reused = answer(
            run, generator, prompter, depth, dataset, rankings, observer, confirm
        )
        judgements, judged = judge(
            run, task, generator.label, dataset, answers, rankings, observer, confirm
        )
        reused = reused and judged
        with _finish_after(run, command, generator.label, reused, observer):
            with process_restored():
                more = _select_metrics(config, task)
                scored = score_answers(dataset, answers, task, judgements, rankings, more)
            parts: dict[str, Any] = {"counts": counts.to_json(), "answers": scored.counts.to_json()}
            if scored.report:
                parts["report"] = scored.report
            changed = _write_scores(run, task, dataset, scored, observer, **parts)
    reused = reused and not changed
    return Result(
        run.folder,
        command=command,
        queries=dataset.queries,
        reused=reused,
        new_because=new_because,
    )


def make_prompter(
    config: RunConfig, task: Task[Any], dataset: Dataset, generator: System
) -> PromptWriter:
    """Return what writes the requests of a task about answers, after a look at its references."""
    from target_bench.models.prompts.prompting import make_prompt_writer  # it takes time to import

    scorable(task, dataset)
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
    """Return how many tables stand in a prompt."""
    most = config.top_k[-1] if retriever is not None else _count_given(task, dataset)
    return most if config.tables is None else min(config.tables, most)


def _count_given(task: Task[Any], dataset: Dataset) -> int:
    """Return the largest number of tables that a task without retrieval gives a query."""
    return max(len(given_tables(task, query)) for query in dataset.queries)


def identify_rankings(
    config: RunConfig, task: Task[Any], dataset: Dataset, retriever: System
) -> dict[str, Any]:
    """Return all that can change rankings or their scores; its hash names the run folder."""
    fingerprint = queries_fingerprint(dataset.queries)
    return {
        **_identify_scores(task, dataset, fingerprint, config.top_k),
        "top_k": [*config.top_k],
        "retriever": retriever.identity,
    }


def identify_answers(
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System | None,
    generator: System,
    prompter: PromptWriter,
) -> dict[str, Any]:
    """Return all that can change answers or their scores; its hash names the run folder."""
    n_tables = count_prompt_tables(config, task, dataset, retriever)
    tables: dict[str, Any]
    if retriever is None:
        most, name = _count_given(task, dataset), "given"
        tables = {"source": task.source}
    else:
        most, name = config.top_k[-1], RANKING_TASK
        tables = {"retriever": retriever.identity, "depth": most}
    if n_tables < most:
        tables["tables"] = n_tables
    return {
        **_identify_scores(task, dataset, answers_fingerprint(dataset.queries)),
        name: tables,
        "generator": generator.identity,
        "prompt": prompter.identity if generator.prompt is None else generator.prompt,
    }


def _identify_scores(
    task: Task[Any], dataset: Dataset, fingerprint: str, cutoffs: Sequence[int] = ()
) -> dict[str, Any]:
    """Return what identifies the task, the data, and the metrics with their settings."""
    version = (
        {"task_version": task.VERSION}
        if is_own_code(type(task))
        else {"task_plugin": plugin_identity(task)[0]}
    )
    near_copies = [distractors.setting for distractors in dataset.distractors]
    metrics = list_metrics(task, scorable(task, dataset).queries, cutoffs)
    return {
        "task": task.name,
        **version,
        "corpus": dataset.info.name,
        "split": dataset.split,
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "queries_fingerprint": fingerprint,
        **({"near_copies": near_copies} if any(near_copies) else {}),
        "metrics": [*(without_packages(m.signature) for m in metrics), *task.settings()],
    }


def _select_metrics(config: RunConfig, task: Task[Any]) -> list[Any]:
    """Return the metrics that are asked for besides those of the task, and that it can read."""
    return [each for each in config.metrics if can_score(resolve_metric(each), task)]


def find_sources(
    config: RunConfig, task: Task[Any], retriever: System | None, generator: System | None = None
) -> dict[str, bytes]:
    """Return the user's own source files of the plug-ins of a run."""
    metrics = map(resolve_metric, _select_metrics(config, task))
    systems = [system.plugin for system in (retriever, generator) if system]
    plugins = [plugin for plugin in (*systems, task, *metrics) if plugin is not None]
    return read_sources(source_files(*plugins))


def make_manifest(
    config: RunConfig,
    task: Task[Any],
    dataset: Dataset,
    retriever: System | None,
    generator: System | None = None,
    prompter: PromptWriter | None = None,
    retrieval_run: str | None = None,
    sources: Mapping[str, bytes] = MappingProxyType({}),
) -> Manifest:
    """Return what a run records when it begins: identity, command, data, and the user's own code.

    A run of answers has a generator and a prompter, one of rankings has neither.
    """
    mixed_in: tuple[MixedIn, ...] = ()
    if generator is None or prompter is None:
        assert retriever is not None
        identity = identify_rankings(config, task, dataset, retriever)
        mixed_in = tuple(map(_list_distractors, dataset.distractors))
    else:
        identity = identify_answers(config, task, dataset, retriever, generator, prompter)
    return Manifest(
        identity=Identity.model_validate(json.loads(json.dumps(identity))),
        asked=make_command(config, task, dataset, retriever, generator, retrieval_run),
        queries=len(dataset.queries),
        corpus_tables=len(dataset.corpus),
        files=dict(dataset.files),
        code=hash_sources(sources),
        data=dataset.info.source,
        data_notes=tuple(dataset.notes),
        distractors=mixed_in,
    )


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
    retrieval_run: str | None = None,
) -> Command:
    """Return the words with which a run can be asked for again, without credentials."""
    words: dict[str, Any] = {
        **dataset.request,
        "retriever": retriever and retriever.label,
        "retriever_name": retriever and retriever.name,
        "task": task.asked_as,
    }
    if generator is not None:
        words |= {
            "generator": generator.label,
            "generator_name": generator.name,
            "retrieval_run": retrieval_run,
            "task": task.asked_as or task.name,
            "prompting": config.prompt_json(),
        }
    masked = {
        name: mask_settings(value) if isinstance(value, str) else value
        for name, value in words.items()
    }
    options = config.replace_options(metrics=_select_metrics(config, task)).run_json()
    return Command.model_validate({**masked, "options": options})


@contextmanager
def _begin_run(
    config: RunConfig,
    label: Sequence[str | None],
    manifest: Manifest,
    sources: Mapping[str, bytes],
    observer: Observer,
) -> Iterator[tuple[Run, str]]:
    """Lock the run of an identity and begin it; also give why no earlier run is used again."""
    run = open_run(config.out, filter(None, label), manifest)
    with run.locked(lambda message: observer.waiting(message, 0.0)):
        is_new, new_because = run.is_new, ""
        if config.keep_source and (is_new or run.manifest.code != manifest.code):
            write_copies(run.folder, sources)
        run.begin()
        if is_new:
            new_because = explain_new(run, manifest, sources)
        elif run.manifest.code != manifest.code:  # that of a metric, which is no part of a run
            run.write_manifest(code=manifest.code)
        yield run, new_because


@contextmanager
def _finish_after(
    run: Run, command: Command, label: str, reused: bool, observer: Observer
) -> Iterator[None]:
    """Time the scoring inside; then record that the run is finished, by which command."""
    observer.stage(f"{label}: score")
    start = time.perf_counter()
    yield
    seconds = run.manifest.seconds
    known = reused and "score" in seconds
    took = {"score": round(time.perf_counter() - start, 6)}
    run.finish(command, **({} if known else {"seconds": {**seconds, **took}}))


def _write_scores(
    run: Run,
    task: Task[Any],
    dataset: Dataset,
    scored: Scored[Any],
    observer: Observer,
    **parts: Any,
) -> bool:
    """Write the tables of values, then the scores that they belong to."""
    if warning := unlabelled_note(dataset, task, scored.counts, scored.scores):
        observer.warning(warning)
    ids = set(scored.query_ids)
    queries = [query for query in dataset.queries if query.id in ids]
    properties = slicing.by_property(queries) | {**scored.properties}
    columns = {SLICE_PREFIX + name: values for name, values in properties.items()}
    if any(query.synthetic for query in queries):
        columns[f"{SLICE_PREFIX}synthetic"] = [query.synthetic for query in queries]
    code = hash_code(scored.scores)
    changed: list[str] = []
    with suppress(StoreError):  # there are none, or they are damaged and written again
        stored = read_scores(run.folder)
        changed = [n for n, known in stored.code.items() if code.get(n, known) != known]
        # A metric of the user's own has its code in its signature, or "unique:" without a hash.
        changed += [
            name
            for name, score in scored.scores.items()
            if score.spec and name in stored.scores and "|unique:" not in score.signature
            if score.signature != stored.scores[name].signature
        ]
    if changed:
        metrics = f"metric{'s' * (len(changed) > 1)} {list_first(changed, 3)}"
        observer.warning(f"{run.folder.name}: scores computed again: the code of {metrics} changed")
    of_queries = {"per_query": {**columns, **scored.per_query}, "statistics": scored.statistics}
    run.write_scores(
        {
            **parts,
            "code": code,
            "scores": {name: score.to_json() for name, score in scored.scores.items()},
        },
        {f"{n}.parquet": {"query_id": scored.query_ids, **c} for n, c in of_queries.items()},
    )
    return bool(changed)
