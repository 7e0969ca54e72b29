"""``evaluate``: retrievers, and generators, on corpora, from tables and questions to scores.

The way of a run, in ``rank`` and ``answer`` below:

1. ``Loader.load`` gives the dataset, distractors mixed in.
2. ``Run`` opens the folder that the identity names; another process is waited for.
3. ``RetrieveStage`` ranks the queries that the folder has no ranking of, and appends each.
4. ``GenerateStage`` and ``judge_stage`` do the same with answers and judgements.
5. ``score_rankings`` and ``score_answers`` score what is there, and the scores are written.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.contract import errors_of
from target_bench.core.credentials import masked_settings
from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.metric import Counts
from target_bench.core.metric_function import is_read_by, metric_of
from target_bench.core.observer import Observer, default_observer
from target_bench.core.registry import is_own_code
from target_bench.core.run_config import EXTRACTIVE, RUNS, TOP_K, RunConfig, takes_options
from target_bench.core.schema import Retrieval, own_copy
from target_bench.core.settings import read_texts
from target_bench.core.task import Task, given_tables
from target_bench.core.task_names import make_task
from target_bench.core.text_tables import first_of
from target_bench.core.user_code import process_restored
from target_bench.data.load import CorpusLike, Loader, once, tasks_and_corpora
from target_bench.harness import run_warnings
from target_bench.harness.identities import answer_plan, answers_identity, retrieval_identity
from target_bench.harness.prepare import (
    Pair,
    Retrievers,
    check_properties,
    check_tasks,
    evaluation,
    limited_to,
    loaded_split,
    made_retriever,
    with_names,
)
from target_bench.harness.stages.consent import Confirm
from target_bench.harness.stages.generate import (
    AnswerPlan,
    GenerateStage,
    GeneratorLike,
    GeneratorSpec,
)
from target_bench.harness.stages.judge import judge_stage
from target_bench.harness.stages.retrieve import Experiment, RetrieveStage
from target_bench.harness.stages.score import Scored, score_answers, score_rankings
from target_bench.metrics.scores import code_of
from target_bench.runs import slicing
from target_bench.runs.manifest import Command
from target_bench.runs.result import Result, Results
from target_bench.runs.score_files import read_scores
from target_bench.runs.store import Run


@takes_options
def evaluate(
    retriever: Retrievers,
    corpus: CorpusLike | Sequence[CorpusLike],
    *,
    task: str | Sequence[str] = RANKING_TASK,
    generator: GeneratorLike | str = EXTRACTIVE,
    split: str | None = None,
    top_k: int | Sequence[int] = TOP_K,
    by: str | Sequence[str] = (),
    name: str | Sequence[str] | None = None,
    data_dir: str | Path | None = None,
    out: str | Path = RUNS,
    observer: Observer | None = None,
    confirm: Confirm | None = None,
    **options: Any,
) -> Results:
    """Evaluate retrievers, and for tasks about answers a generator, on corpora.

    ```python
    from target_bench import evaluate

    results = evaluate("bm25", "mini")
    print(results["bm25"]["recall@10"])  # .988 [.968, .995]
    ```

    Args:
        retriever: an object with ``embed_corpus`` and ``retrieve``; or text as on the command
            line: ``"bm25:k1=0.9"`` or ``"ours=file.py:Mine"`` (with a name); or a list of these.
            None for a task that is given its tables, or needs none.
        corpus: a name (``"mini"``), the path of a folder or database of your own (``"./tables"``),
            a ``Dataset`` that ``load`` returned, or a list of these.
        task: a task with its settings, as ``"text-to-sql:engine=duckdb"``, or a list of them.
        generator: what answers: an object with ``generate``, or text such as
            ``"openai:model=..."``.
        split: ``train``, ``validation`` or ``test``; default: the one that the paper of the
            corpus reports on.
        top_k: the cutoffs. Retrieval runs once, at the largest.
        by: properties of the queries, as ``"difficulty"``, each of whose values gets scores.
        name: what tables and plots call the retriever, or each of a list.
        data_dir: the folder with the release files; default: ``$TARGET_BENCH_DATA``.
        out: where run folders go.
        observer: gets progress and warnings.
        confirm: is asked before requests that may cost money; default: they are sent unasked.
        options: the other fields of ``RunConfig``, as ``limit=100``.

    Returns:
        One result for each retriever, corpus and task.

    Raises:
        ConfigError: an invalid argument.
        DataError: a corpus is missing or broken.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    if corpus is None:
        raise ConfigError("corpus=None: expected a name as 'mini', a path as './tables', or a list")
    tasks: Sequence[Any] = task if isinstance(task, list | tuple) else [task]
    pairs = once(pair for text in tasks for pair in tasks_and_corpora((text, corpus)))
    chosen = RunConfig(split=split, top_k=top_k, out=out, **options)
    if observer is not None and not isinstance(observer, Observer):
        raise ConfigError(f"observer={observer!r:.100}: expected a target_bench.Observer")
    observer = observer or default_observer()
    return evaluate_pairs(
        pairs,
        retriever,
        generator,
        chosen,
        loader=Loader(data_dir, observer),
        observer=observer,
        confirm=confirm,
        name=name,
        by=by,
    )


def evaluate_pairs(
    pairs: Sequence[Pair],
    retriever: Retrievers,
    generator: GeneratorLike | str,
    options: RunConfig,
    *,
    loader: Loader,
    observer: Observer,
    confirm: Confirm | None = None,
    name: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
) -> Results:
    """Evaluate retrievers on tasks with their corpora; arguments and errors as for ``evaluate``.

    All is made, loaded and checked before the first retriever is asked.
    """
    check_tasks(pairs, options)
    specs = [
        made_retriever(each, called, pairs, observer)
        for each, called in with_names(retriever, name)
    ]
    if specs[0] is not None:
        options.check_tables()
    with evaluation(observer):
        data = [(text, loaded_split(text, corpus, options, loader)) for text, corpus in pairs]
        experiments = []
        for spec in specs:
            for text, loaded in data:
                task, queried = make_task(text), limited_to(loaded, options)
                ranked = spec if task.source == "retrieved" else None
                experiment = Experiment(queried, ranked, options, observer, confirm)
                experiments.append((text, task, experiment))
        names = read_texts("by", by)
        check_properties(names, [experiment.dataset for _, _, experiment in experiments])
        results = [
            run_experiment(task, experiment, generator, text)
            for text, task, experiment in experiments
        ]
    in_order = [result for i in range(len(data)) for result in results[i :: len(data)]]
    once_each = {result.folder: result for result in in_order}.values()
    return Results(result.sliced(names) for result in once_each)


def run_experiment(
    task: Task[Any],
    experiment: Experiment,
    generator: GeneratorLike | GeneratorSpec | str,
    task_text: str,
) -> Result:
    """Return the result of a task.

    Args:
        task: the task.
        experiment: what ranks what.
        generator: what answers, for tasks about answers.
        task_text: the task with its settings, as it was asked for.
    """
    dataset = experiment.dataset
    if not is_own_code(type(task)):  # it gets queries of its own, as the next task gets them too
        own = tuple(replace(query, metadata=own_copy(query.metadata)) for query in dataset.queries)
        loaded = replace(experiment.loaded, dataset=replace(dataset, queries=own))
        experiment = replace(experiment, loaded=loaded)
    with errors_of("task", task, f"a run on {dataset.info.name} {dataset.split}"):
        if task.answer == "ranking":
            return rank(experiment, task, task_text)[0]
        return answer(experiment, answer_plan(task, experiment, generator, task_text))


def rank(
    experiment: Experiment, task: Task[Any] | None = None, task_text: str | None = None
) -> tuple[Result, dict[str, Retrieval]]:
    """Rank all queries and score the rankings: the result, and query id -> ranking.

    Args:
        experiment: what ranks what.
        task: the task that scores the rankings; default: table retrieval.
        task_text: how it can be asked for again; default: by its name.

    Raises:
        ConfigError: the task measures what the corpus does not have.
        DataError: there are no tables, or a reference is not valid.
        PluginError: the retriever failed.
        StoreError: the run folder cannot be written or read.
    """
    task = task or make_task(RANKING_TASK)
    dataset, spec, observer = experiment.dataset, experiment.retriever, experiment.observer
    assert spec is not None
    if not len(dataset.corpus):
        raise DataError(f"{dataset.info.name} {dataset.split}: no tables to retrieve from")
    if experiment.depth > len(dataset.corpus):
        observer.warning(run_warnings.too_deep(dataset, experiment.depth))
    ranked_for = experiment.loaded.only_about
    kind = task.name if ranked_for is None else f"{task.name} for {ranked_for}"
    label = (kind, dataset.info.name, dataset.split, spec.label)
    words = {"retriever": spec.label, "retriever_name": spec.name, "task": task_text}
    command = _command(experiment, task, words)
    with _opened(experiment, label, retrieval_identity(experiment, task), command) as run:
        rankings, reused = RetrieveStage(experiment, run).run()
        with _scoring(run, command, spec.label, reused, observer):
            metrics = _metrics(experiment, task)
            with process_restored():
                scored = score_rankings(dataset, rankings, experiment.cutoffs, task, metrics)
            counts = scored.counts.to_json()
            reused = not _write(experiment, task, run, scored, counts=counts) and reused
    if spec.retriever is None or not is_own_code(type(spec.retriever)):
        for warning in run_warnings.about_scores(spec.label, scored.counts, rankings.values()):
            observer.warning(warning)
    return Result(run.folder, asked=command, queries=dataset.queries, reused=reused), rankings


def answer(experiment: Experiment, plan: AnswerPlan) -> Result:
    """Rank all queries, have them answered from their tables, and score the answers.

    The rankings are a run of their own, shared by all generators.

    Args:
        experiment: what ranks what.
        plan: how the queries are answered.

    Raises:
        ConfigError: the user does not want to pay, or a setting of the generator is invalid.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    dataset, task, generator = experiment.dataset, plan.task, plan.generator
    spec = experiment.retriever
    counts, retrieval_run = Counts(len(dataset.queries), 0, 0, 0, 0, 0, 0), None
    if spec is not None:
        ranked, rankings = rank(experiment)
        counts, retrieval_run = ranked.counts, ranked.folder.name
    else:
        rankings = {q.id: Retrieval(q.id, given_tables(task, q)) for q in dataset.queries}
    words = {
        "retriever": None if spec is None else spec.label,
        "retriever_name": None if spec is None else spec.name,
        "generator": generator.label,
        "generator_name": generator.name,
        "retrieval_run": retrieval_run,
        **plan.written,
    }
    label = (task.name, dataset.info.name, dataset.split, words["retriever"], generator.label)
    command = _command(experiment, task, words)
    with _opened(experiment, label, answers_identity(experiment, plan), command) as run:
        answers, reused = GenerateStage(plan, experiment, rankings, run).run()
        judgements, judged = judge_stage(plan, experiment, answers, rankings, run)
        reused = reused and judged
        with _scoring(run, command, generator.label, reused, experiment.observer):
            metrics = _metrics(experiment, task)
            with process_restored():
                scored = score_answers(dataset, answers, task, judgements, rankings, metrics)
            parts: dict[str, Any] = {"counts": counts.to_json(), "answers": scored.counts.to_json()}
            if scored.report:
                parts["report"] = scored.report
            reused = not _write(experiment, task, run, scored, **parts) and reused
    return Result(run.folder, asked=command, queries=dataset.queries, reused=reused)


def _metrics(experiment: Experiment, task: Task[Any]) -> list[Any]:
    """Return the metrics besides those of the task that are asked for and that it can read."""
    return [each for each in experiment.options.metrics if is_read_by(metric_of(each), task)]


def _command(experiment: Experiment, task: Task[Any], words: Mapping[str, Any]) -> Command:
    """Return the words of the command, without credentials."""
    options = experiment.options.with_options(metrics=_metrics(experiment, task))
    recorded = {
        name: masked_settings(value) if isinstance(value, str) else value
        for name, value in {**experiment.loaded.words, **words}.items()
    }
    return Command.model_validate({**recorded, "options": options.run_json()})


@contextmanager
def _opened(
    experiment: Experiment,
    label: Iterable[str | None],
    identity: Mapping[str, Any],
    command: Command,
) -> Iterator[Run]:
    """Lock the run of an identity, and record the words of the command."""
    dataset, observer = experiment.dataset, experiment.observer
    run = Run(experiment.options.out, filter(None, label), identity)
    with run.locked(lambda message: observer.waiting(message, 0.0)):
        run.begin(command, len(dataset.queries), len(dataset.corpus))
        yield run


@contextmanager
def _scoring(
    run: Run, command: Command, label: str, reused: bool, observer: Observer
) -> Iterator[None]:
    """Time the scoring, and record that the run is finished, by which command."""
    observer.stage(f"{label}: score")
    start = time.perf_counter()
    yield
    seconds = run.manifest.seconds
    known = reused and "score" in seconds
    took = {"score": round(time.perf_counter() - start, 6)}
    run.scored(command)
    run.finish(**({} if known else {"seconds": {**seconds, **took}}))


def _write(
    experiment: Experiment, task: Task[Any], run: Run, scored: Scored[Any], **parts: Any
) -> bool:
    """Write the tables of values, then the scores that they belong to.

    Returns:
        Whether the code of a metric is another than that of the scores that were stored.
    """
    dataset = experiment.dataset
    warnings = [*run_warnings.about_labels(dataset, task, scored)]
    for warning in warnings:
        experiment.observer.warning(warning)
    ids = set(scored.query_ids)
    queries = [query for query in dataset.queries if query.id in ids]
    properties = slicing.by_property(queries)
    columns = {slicing.SLICE_PREFIX + name: values for name, values in properties.items()}
    if any(query.synthetic for query in queries):
        columns[f"{slicing.SLICE_PREFIX}synthetic"] = [query.synthetic for query in queries]
    code = code_of(scored.scores)
    before: Mapping[str, str] = {}
    with suppress(StoreError):  # there are none, or they are damaged and written again
        before = read_scores(run.folder).code
    changed = [name for name in before if code.get(name, before[name]) != before[name]]
    if changed:
        metrics = f"metric{'s' * (len(changed) > 1)} {first_of(changed, 3)}"
        experiment.observer.warning(
            f"{run.folder.name}: scores computed again: the code of {metrics} changed"
        )
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
