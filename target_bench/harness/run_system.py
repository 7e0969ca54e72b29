"""``run_system``: one retriever, and perhaps one generator, on one split, from tables to scores.

1. ``Run`` opens the folder that the identity names; another process is waited for.
2. ``rank`` ranks the queries that the folder has no ranking of, and appends each.
3. ``answer`` and ``judge`` do the same with answers and judgements, in a folder of their own.
4. ``score_rankings`` and ``score_answers`` score what is there, and the scores are written.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK, SETS_TASK
from target_bench.core.contract import guard_plugin
from target_bench.core.credentials import mask_settings
from target_bench.core.errors import DataError, StoreError
from target_bench.core.identity import plugin_identity, source_files
from target_bench.core.metric import Counts, without_packages
from target_bench.core.metric_function import can_score, resolve_metric
from target_bench.core.observer import Observer
from target_bench.core.prompt_writer import PromptWriter
from target_bench.core.registry import is_own_code
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset, Retrieval, copy_json
from target_bench.core.task import Task, given_tables, has_reference
from target_bench.core.task_names import make_task
from target_bench.core.text_tables import first_of
from target_bench.core.user_code import process_restored
from target_bench.data.load import Loaded
from target_bench.harness.answer import answer
from target_bench.harness.consent import Confirm
from target_bench.harness.judge import judge
from target_bench.harness.rank import rank
from target_bench.harness.run_notes import ranking_notes, unlabelled_note, warn_of_depth
from target_bench.harness.score import (
    Scored,
    metrics_of,
    scorable,
    score_answers,
    score_rankings,
)
from target_bench.harness.systems import GOLD, GeneratorLike, System, make_generator
from target_bench.metrics.scores import code_of
from target_bench.runs import slicing
from target_bench.runs.manifest import Command, answers_fingerprint, queries_fingerprint
from target_bench.runs.result import Result
from target_bench.runs.score_files import SLICE_PREFIX, read_scores
from target_bench.runs.store import Run
from target_bench.runs.why import Recipe, explain_new, keep_sources, read_sources


@dataclass(frozen=True)
class Setup:
    """All that one run reads: a task on a split, what ranks, and what answers.

    Attributes:
        config: what was asked.
        task: what is scored.
        loaded: tables and queries.
        retriever: what ranks; None for a task that retrieves nothing.
        generator: what answers; None for a task about rankings.
        prompter: what writes the requests to the generator.
        task_text: the task with its settings, as it was asked for.
    """

    config: RunConfig
    task: Task[Any]
    loaded: Loaded
    retriever: System | None
    generator: System | None = None
    prompter: PromptWriter | None = None
    task_text: str | None = None

    @property
    def dataset(self) -> Dataset:
        """Tables and queries."""
        return self.loaded.dataset

    @property
    def top_k(self) -> Sequence[int]:
        """The cutoffs of the rankings; empty without a retriever."""
        return self.config.top_k if self.retriever is not None else ()

    @property
    def prompt_depth(self) -> int:
        """How many tables stand in a prompt."""
        depth = self.top_k[-1] if self.top_k else _count_given(self.task, self.dataset)
        return depth if self.config.tables is None else min(self.config.tables, depth)

    def identity(self) -> dict[str, Any]:
        """Return all that can change rankings or answers, or their scores; it names the folder."""
        dataset, task, generator = self.dataset, self.task, self.generator
        is_ours = is_own_code(type(task))
        near_copies = [distractors.setting for distractors in dataset.distractors]
        fingerprint = queries_fingerprint if generator is None else answers_fingerprint
        queries = scorable(task, dataset).queries
        metrics = metrics_of(task, queries, self.top_k if generator is None else ())
        identity = {
            "task": task.name,
            **(
                {"task_version": task.VERSION}
                if is_ours
                else {"task_plugin": plugin_identity(task)[0]}
            ),
            "corpus": dataset.info.name,
            "split": dataset.split,
            "corpus_fingerprint": dataset.corpus.fingerprint,
            "queries_fingerprint": fingerprint(dataset.queries),
            **({"near_copies": near_copies} if any(near_copies) else {}),
            "metrics": [*(without_packages(m.signature) for m in metrics), *task.settings()],
        }
        if generator is None:
            assert self.retriever is not None
            return identity | {"top_k": [*self.top_k], "retriever": self.retriever.identity}
        assert self.prompter is not None
        prompt = self.prompter.identity if generator.prompt is None else generator.prompt
        return (
            identity
            | self._tables_identity()
            | {
                "generator": generator.identity,
                "prompt": prompt,
            }
        )

    def _tables_identity(self) -> dict[str, Any]:
        """Return the source and the number of the tables in a prompt."""
        if self.retriever is None:
            most = _count_given(self.task, self.dataset)
            limited = {"tables": self.prompt_depth} if self.prompt_depth < most else {}
            return {"given": {"source": self.task.source, **limited}}
        retrieval = {"retriever": self.retriever.identity, "depth": self.top_k[-1]}
        if self.prompt_depth < self.top_k[-1]:
            retrieval["tables"] = self.prompt_depth
        return {RANKING_TASK: retrieval}

    def rankings(self) -> "Setup":
        """Return the run of the rankings that answers are built on."""
        text = _ranking_task(RANKING_TASK, self.retriever)
        task_text = None if text == RANKING_TASK else text
        return replace(
            self, task=make_task(text), generator=None, prompter=None, task_text=task_text
        )

    def metrics(self) -> list[Any]:
        """Return the metrics that are asked for besides those of the task, and that it can read."""
        return [each for each in self.config.metrics if can_score(resolve_metric(each), self.task)]

    def recipe(self) -> Recipe:
        """Return all that decides what this run makes, with the user's own source files."""
        plugins = [self.task, *map(resolve_metric, self.metrics())]
        systems = [system.plugin for system in (self.retriever, self.generator) if system]
        files = source_files(*(each for each in (*systems, *plugins) if each is not None))
        code, sources = read_sources(files)
        dataset = self.dataset
        sizes = len(dataset.corpus), len(dataset.queries)
        identity = json.loads(json.dumps(self.identity()))
        return Recipe(identity, self.command(), code, sources, dict(dataset.files), *sizes)

    def command(self, retrieval_run: str | None = None) -> Command:
        """Return the words of the command, without credentials."""
        retriever, generator = self.retriever, self.generator
        words: dict[str, Any] = {
            **self.loaded.words,
            "retriever": retriever and retriever.label,
            "retriever_name": retriever and retriever.name,
            "task": self.task_text,
        }
        if generator is not None:
            words |= {
                "generator": generator.label,
                "generator_name": generator.name,
                "retrieval_run": retrieval_run,
                "task": self.task_text or self.task.name,
                "prompting": self.config.prompt_json(),
            }
        recorded = {
            name: mask_settings(value) if isinstance(value, str) else value
            for name, value in words.items()
        }
        options = self.config.replace_options(metrics=self.metrics()).run_json()
        return Command.model_validate({**recorded, "options": options})


def set_up(
    config: RunConfig,
    task: Task[Any],
    loaded: Loaded,
    retriever: System | None,
    generator: GeneratorLike | System | str | None = None,
    *,
    task_text: str | None = None,
    observer: Observer,
) -> Setup:
    """Return all that a run reads; the generator of a task about answers is made.

    Raises:
        ConfigError: an unknown generator, or an invalid setting of it.
        DataError: the task cannot score the data.
    """
    if task.answer == "ranking":
        text = _ranking_task(task_text or task.name, retriever)
        if text == SETS_TASK:
            task, task_text = make_task(text), text
        return Setup(config, task, loaded, retriever, task_text=task_text)
    from target_bench.models.prompts.prompting import make_prompt_writer  # it takes time to import

    dataset = loaded.dataset
    scorable(task, dataset)
    system = make_generator(generator or "empty", task, config, observer)
    if system.is_gold and not any(has_reference(task, query) for query in dataset.queries):
        raise DataError(
            f"{dataset.info.name} {dataset.split}: no query has a reference answer, so the "
            f"generator {GOLD} has nothing to answer with; name another generator"
        )
    follows_schema = bool(getattr(system.plugin, "follows_schema", False))
    prompter = make_prompt_writer(task, config, dataset.databases, follows_schema)
    return Setup(config, task, loaded, retriever, system, prompter, task_text)


def _ranking_task(text: str, retriever: System | None) -> str:
    """Return a task about rankings; that of a retriever of sets scores them, unless it says so."""
    if retriever is None or not retriever.returns_sets:
        return text
    return SETS_TASK if registry.canonical("task", text) == RANKING_TASK else text


def _count_given(task: Task[Any], dataset: Dataset) -> int:
    """Return the largest number of tables that a task without retrieval gives a query."""
    return max(len(given_tables(task, query)) for query in dataset.queries)


def run_system(
    config: RunConfig,
    task: Task[Any],
    loaded: Loaded,
    retriever: System | None,
    generator: GeneratorLike | System | str | None = None,
    *,
    task_text: str | None = None,
    observer: Observer,
    confirm: Confirm | None = None,
) -> Result:
    """Rank the queries, have them answered and judged where the task is about answers, and score.

    The rankings that answers are built on are a run of their own, shared by all generators.

    Raises:
        ConfigError: the user does not want to pay, or a setting of the generator is invalid.
        DataError: there are no tables, or a reference is not valid.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    dataset = loaded.dataset
    if not is_own_code(type(task)):  # it gets queries of its own, as the next task gets them too
        own = tuple(replace(query, metadata=copy_json(query.metadata)) for query in dataset.queries)
        loaded = replace(loaded, dataset=replace(dataset, queries=own))
    with guard_plugin("task", task, f"a run on {dataset.info.name} {dataset.split}"):
        setup = set_up(
            config, task, loaded, retriever, generator, task_text=task_text, observer=observer
        )
        if setup.generator is None:
            return rank_queries(setup, observer, confirm)[0]
        return answer_queries(setup, observer, confirm)


def rank_queries(
    setup: Setup, observer: Observer, confirm: Confirm | None = None
) -> tuple[Result, dict[str, Retrieval]]:
    """Rank all queries and score the rankings: the result, and query id -> ranking."""
    dataset, retriever, loaded = setup.dataset, setup.retriever, setup.loaded
    assert retriever is not None
    if not len(dataset.corpus):
        raise DataError(f"{dataset.info.name} {dataset.split}: no tables to retrieve from")
    warn_of_depth(dataset, setup.top_k[-1], observer)
    about = "" if loaded.only_about is None else f" for {loaded.only_about}"
    label = (f"{setup.task.name}{about}", dataset.info.name, dataset.split, retriever.label)
    command = setup.command()
    with _open_run(setup, label, command, observer) as run:
        rankings, reused = rank(run, retriever, loaded, setup.config, observer, confirm)
        with _score(run, command, retriever.label, reused, observer):
            with process_restored():
                scored = score_rankings(dataset, rankings, setup.top_k, setup.task, setup.metrics())
            counts = scored.counts.to_json()
            changed = _write_scores(run, setup, scored, observer, counts=counts)
    if retriever.plugin is None or not is_own_code(type(retriever.plugin)):
        for warning in ranking_notes(retriever.label, scored.counts, rankings.values()):
            observer.warning(warning)
    reused = reused and not changed
    return Result(
        run.folder,
        command=command,
        queries=dataset.queries,
        reused=reused,
        new_because=run.new_because,
    ), rankings


def answer_queries(setup: Setup, observer: Observer, confirm: Confirm | None = None) -> Result:
    """Rank all queries, have them answered from their tables, and score the answers."""
    dataset, task, generator, prompter = (
        setup.dataset,
        setup.task,
        setup.generator,
        setup.prompter,
    )
    assert generator is not None
    assert prompter is not None
    counts, retrieval_run = Counts(len(dataset.queries), 0, 0, 0, 0, 0, 0), None
    if setup.retriever is not None:
        ranked, rankings = rank_queries(setup.rankings(), observer, confirm)
        counts, retrieval_run = ranked.counts, ranked.folder.name
    else:
        rankings = {q.id: Retrieval(q.id, given_tables(task, q)) for q in dataset.queries}
    command = setup.command(retrieval_run)
    label = (task.name, dataset.info.name, dataset.split, command.retriever, generator.label)
    note_queries = getattr(generator.plugin, "note_queries", None)
    if note_queries is not None:  # ``replay`` tells queries of one id apart
        note_queries(dataset.queries, setup.config.limit is not None)
    with _open_run(setup, label, command, observer) as run:
        answers, reused = answer(
            run, generator, prompter, setup.prompt_depth, dataset, rankings, observer, confirm
        )
        judgements, judged = judge(
            run, task, generator.label, dataset, answers, rankings, observer, confirm
        )
        reused = reused and judged
        with _score(run, command, generator.label, reused, observer):
            with process_restored():
                scored = score_answers(
                    dataset, answers, task, judgements, rankings, setup.metrics()
                )
            parts: dict[str, Any] = {"counts": counts.to_json(), "answers": scored.counts.to_json()}
            if scored.report:
                parts["report"] = scored.report
            changed = _write_scores(run, setup, scored, observer, **parts)
    reused = reused and not changed
    return Result(
        run.folder,
        command=command,
        queries=dataset.queries,
        reused=reused,
        new_because=run.new_because,
    )


@contextmanager
def _open_run(
    setup: Setup, label: Sequence[str | None], command: Command, observer: Observer
) -> Iterator[Run]:
    """Lock the run of an identity, and record the words of the command."""
    recipe = setup.recipe()
    run = Run(setup.config.out, filter(None, label), recipe.identity)
    with run.locked(lambda message: observer.waiting(message, 0.0)):
        if run.is_new:
            run.new_because = explain_new(run, recipe)
        run.begin(command, len(setup.dataset.queries), len(setup.dataset.corpus))
        keep_sources(run, recipe, setup.config.keep_source)
        yield run


@contextmanager
def _score(
    run: Run, command: Command, label: str, reused: bool, observer: Observer
) -> Iterator[None]:
    """Time the scoring, and record that the run is finished, by which command."""
    observer.stage(f"{label}: score")
    start = time.perf_counter()
    yield
    seconds = run.manifest.seconds
    known = reused and "score" in seconds
    took = {"score": round(time.perf_counter() - start, 6)}
    run.finish(command, **({} if known else {"seconds": {**seconds, **took}}))


def _write_scores(
    run: Run, setup: Setup, scored: Scored[Any], observer: Observer, **parts: Any
) -> bool:
    """Write the tables of values, then the scores that they belong to.

    Returns:
        Whether the code of a metric is another than that of the scores that were stored.
    """
    dataset = setup.dataset
    if warning := unlabelled_note(dataset, setup.task, scored.counts, scored.scores):
        observer.warning(warning)
    ids = set(scored.query_ids)
    queries = [query for query in dataset.queries if query.id in ids]
    properties = slicing.by_property(queries) | {**scored.properties}
    columns = {SLICE_PREFIX + name: values for name, values in properties.items()}
    if any(query.synthetic for query in queries):
        columns[f"{SLICE_PREFIX}synthetic"] = [query.synthetic for query in queries]
    code = code_of(scored.scores)
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
        metrics = f"metric{'s' * (len(changed) > 1)} {first_of(changed, 3)}"
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
