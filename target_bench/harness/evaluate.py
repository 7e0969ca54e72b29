"""``evaluate``: retrievers, and generators, on corpora, from tables and questions to scores.

The way of a run, in ``rank`` and ``answer`` below:

1. ``Loader.load`` gives the dataset, distractors mixed in.
2. ``Run`` opens the folder that the identity names; another process is waited for.
3. ``RetrieveStage`` ranks the queries that the folder has no ranking of, and appends each.
4. ``GenerateStage`` and ``JudgeStage`` do the same with answers and judgements.
5. ``score_rankings`` and ``score_answers`` score what is there, and the scores are written.
"""

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, Unpack

from target_bench.core import registry
from target_bench.core.built_in import NO_CONTEXT, RANKING_TASK
from target_bench.core.contract import RetrieverLike, errors_of
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.identity import is_bound
from target_bench.core.metric import Counts
from target_bench.core.metric_function import MetricLike, check_read, metric_of
from target_bench.core.observer import Observer
from target_bench.core.progress import default_observer
from target_bench.core.registry import is_own_code
from target_bench.core.schema import Dataset, Generation, Judgement, Query, Retrieval, own_copy
from target_bench.core.settings import check_named_once, masked_settings, named
from target_bench.core.task import Task
from target_bench.core.task_names import make_task, task_class
from target_bench.data.load import CorpusLike, Loaded, Loader, once, tasks_and_corpora
from target_bench.harness import inputs, run_warnings
from target_bench.harness.identities import (
    AnswerPlan,
    answer_plan,
    answers_identity,
    retrieval_identity,
)
from target_bench.harness.options import EXTRACTIVE, RUNS, TOP_K, Keywords, Options
from target_bench.harness.stages import own_database, retrieve
from target_bench.harness.stages.consent import Confirm
from target_bench.harness.stages.generate import AnswerOptions, GenerateStage, GeneratorLike
from target_bench.harness.stages.index import HeldIndex
from target_bench.harness.stages.judge import JudgeStage
from target_bench.harness.stages.retrieve import Experiment, RetrieverSpec, RetrieveStage
from target_bench.harness.stages.score import (
    Scored,
    scorable,
    score_answers,
    score_rankings,
)
from target_bench.metrics.scores import check_names
from target_bench.runs import slicing
from target_bench.runs.manifest import Command
from target_bench.runs.result import Result, Results
from target_bench.runs.store import Run

Retrievers = RetrieverLike | str | Sequence[RetrieverLike | str] | None
Pair = tuple[str, CorpusLike]
"""A task with its settings, and a corpus."""


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
    **options: Unpack[Keywords],
) -> Results:
    """Evaluate retrievers, and for tasks about answers a generator, on corpora.

    ```python
    from target_bench import evaluate

    results = evaluate("bm25", "mini")
    print(results["bm25"]["recall@10"])  # 0.988 [0.968, 0.995]
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
        options: the other options of ``run``, as in ``Options``.

    Returns:
        One result for each retriever, corpus and task.

    Raises:
        ConfigError: an invalid argument.
        DataError: a corpus is missing or broken.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    tasks = [task] if isinstance(task, str) else task
    pairs = once(pair for text in tasks for pair in tasks_and_corpora((text, corpus)))
    chosen = Options.of({"split": split, "top_k": top_k, "out": out, **options})
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
    options: Options,
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
    answering = AnswerOptions(generator, options.prompting, confirm=confirm)
    specs = [
        _retriever(one, called, pairs, options, observer)
        for one, called in _with_names(retriever, name)
    ]
    if specs[0] is not None:
        options.check_tables(options.top_k[-1])
    with _reporting_its_end(observer), _few_collections():
        held = HeldIndex()
        data = [(text, _split(text, corpus, options, loader)) for text, corpus in pairs]
        experiments = []
        for spec in specs:
            for text, loaded in data:
                task, asked = make_task(text), _asked_of(loaded, options)
                ranked = spec if task.source == "retrieved" else None
                experiment = Experiment(asked, ranked, options, observer, confirm, held)
                experiments.append((text, task, experiment))
        names = [by] if isinstance(by, str) else by
        _check_properties(names, [experiment.dataset for _, _, experiment in experiments])
        results = [
            run_experiment(task, experiment, replace(answering, task=text))
            for text, task, experiment in experiments
        ]
    in_order = [one for i in range(len(data)) for one in results[i :: len(data)]]
    return Results(result.sliced(names) for result in _each_once(in_order))


def score_files(
    pairs: Sequence[Pair],
    options: Options,
    *,
    run_file: str | Path | None = None,
    predictions: str | Path | None = None,
    order: str | Path | None = None,
    loader: Loader,
    observer: Observer,
    confirm: Confirm | None = None,
    by: str | Sequence[str] = (),
) -> Results:
    """Score rankings, or answers, that were made elsewhere; arguments as for ``TARGET.score``."""
    check_tasks(pairs, options)
    options = replace(options, on_error="record")
    names = [by] if isinstance(by, str) else by
    results = []
    with _reporting_its_end(observer), _few_collections():
        for text, corpus in pairs:
            loaded = _split(text, corpus, options, loader)
            task = make_task(text)
            spec = retrieve.retriever_spec(NO_CONTEXT, observer)
            answering = AnswerOptions("empty", task=text)
            if task.answer == "ranking":
                spec = inputs.given_rankings(run_file, loaded, options.limit, observer)
            else:
                answers = inputs.given_answers(predictions, order, loaded, observer)
                answering = replace(answers, task=text, confirm=confirm)
            asked, ranked = _asked_of(loaded, options), spec if task.source == "retrieved" else None
            experiment = Experiment(asked, ranked, options, observer)
            _check_properties(names, [experiment.dataset])
            results.append(run_experiment(task, experiment, answering))
    return Results(result.sliced(names) for result in results)


def run_experiment(task: Task[Any], experiment: Experiment, answering: AnswerOptions) -> Result:
    """Return the result of a task; ``answering`` is for tasks about answers."""
    dataset = experiment.dataset
    if not is_own_code(type(task)):  # it gets queries of its own, as the next task gets them too
        own = tuple(replace(query, metadata=own_copy(query.metadata)) for query in dataset.queries)
        loaded = replace(experiment.loaded, dataset=replace(dataset, queries=own))
        experiment = replace(experiment, loaded=loaded)
    with errors_of("task", task, f"a run on {dataset.info.name} {dataset.split}"):
        if task.answer == "ranking":
            return rank(experiment, task, answering.task)[0]
        return answer(experiment, answer_plan(task, experiment, answering), answering.confirm)


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
    dataset, spec, options = experiment.dataset, experiment.retriever, experiment.options
    assert spec is not None
    _check_depth(experiment)
    about = experiment.loaded.only_about
    kind = task.name if about is None else f"{task.name} for {about}"
    label = (kind, dataset.info.name, dataset.split, spec.label)
    run = Run(options.out, label, retrieval_identity(experiment, task))
    with run.locked(experiment.observer.warning):
        experiment = _with_earlier_metrics(experiment, run)
        options = experiment.options
        asked = _asked(experiment, retriever=spec.label, retriever_name=spec.name, task=task_text)
        run.begin(asked, len(dataset.queries))
        ranked, reused = RetrieveStage(experiment, run).run()
        rankings = {query.id: ranked[query.id] for query in dataset.queries}
        with _scoring(experiment, run, spec.label, reused):
            scored = score_rankings(dataset, rankings, options.top_k, task, options.metrics)
            _write(experiment, task, run, scored, counts=scored.counts.to_json())
    for warning in run_warnings.about_scores(spec.label, scored.counts, rankings.values()):
        experiment.observer.warning(warning)
    return Result(run.folder, asked=asked, queries=dataset.queries, reused=reused), rankings


def answer(experiment: Experiment, plan: AnswerPlan, confirm: Confirm | None) -> Result:
    """Rank all queries, have them answered from their tables, and score the answers.

    The rankings are a run of their own, shared by all generators.

    Args:
        experiment: what ranks what.
        plan: how the queries are answered.
        confirm: is asked before requests that may cost money, or None.

    Raises:
        ConfigError: the user does not want to pay, or a setting of the generator is invalid.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    dataset, task, generator = experiment.dataset, plan.task, plan.generator
    options, observer = experiment.options, experiment.observer
    rankings_result, rankings = _tables_of_queries(experiment, task)
    retriever = None if rankings_result is None else rankings_result.retriever
    label = (task.name, dataset.info.name, dataset.split, retriever, generator.label)
    run = Run(options.out, filter(None, label), answers_identity(experiment, plan))
    work = (dataset, rankings, plan.depth, run, options.retry_failed, confirm, observer)
    with run.locked(observer.warning):
        experiment = _with_earlier_metrics(experiment, run)
        options = experiment.options
        asked = _asked(
            experiment,
            retriever=retriever,
            retriever_name=None if experiment.retriever is None else experiment.retriever.name,
            generator=generator.label,
            generator_name=generator.name,
            retrieval_run=None if rankings_result is None else rankings_result.folder.name,
            **plan.written,
        )
        run.begin(asked, len(dataset.queries))
        answered, reused = GenerateStage(generator, plan.prompter, *work).run()
        answers = {query.id: answered[query.id] for query in dataset.queries}
        generations = {query_id: one.generation for query_id, one in answers.items()}
        judgements, judged = _judged(experiment, plan, generations, rankings, run, confirm)
        with _scoring(experiment, run, generator.label, reused and judged):
            scored = score_answers(dataset, answers, task, judgements, rankings, options.metrics)
            counts = Counts(len(dataset.queries), 0, 0, 0, 0, 0, 0)  # where nothing is ranked
            if rankings_result is not None:
                counts = rankings_result.counts
            parts: dict[str, Any] = {"counts": counts.to_json(), "answers": scored.counts.to_json()}
            if scored.report:
                parts["report"] = scored.report
            _write(experiment, task, run, scored, **parts)
    return Result(run.folder, asked=asked, queries=dataset.queries, reused=reused and judged)


def check_tasks(pairs: Iterable[Pair], options: Options) -> None:
    """See that tasks can be made and read the metrics that are asked for, before anything runs.

    Raises:
        ConfigError: an installed package is of a version that does not work, a setting of a task
            is invalid, none of the tasks reads a metric, or one has the name of a built-in one.
    """
    texts = dict.fromkeys(text for text, _ in pairs)
    for text in texts:
        registry.create("task", text)
    if options.metrics:
        check_names(options.metrics)
        check_read(options.metrics, {text: task_class(text) for text in texts})


def _split(text: str, corpus: CorpusLike, options: Options, loader: Loader) -> Loaded:
    """Load the tables and queries of a task.

    Raises:
        ConfigError: no query is about the task.
        DataError: the corpus is missing or broken, or has no query.
    """
    loaded = loader.load(corpus, options.split, options.distractors, options.database)
    dataset = loaded.dataset
    if not dataset.queries:
        raise DataError(
            f"corpus {dataset.info.name}, split {dataset.split}: {len(dataset.corpus)} tables and "
            "no query. docs/data.md shows how queries are written, and target-bench ask writes "
            "some; target-bench search needs none."
        )
    return loaded.of_task(task_class(text))


def _asked_of(loaded: Loaded, options: Options) -> Loaded:
    """Return the data with the queries that are asked: of one database, the first ones."""
    return loaded.of_database(options.database).limited(options.limit)


def _retriever(
    retriever: RetrieverLike | str | None,
    name: str | None,
    pairs: Sequence[Pair],
    options: Options,
    observer: Observer,
) -> RetrieverSpec | None:
    """Make a retriever; None if no task retrieves.

    Raises:
        ConfigError: a task retrieves and no retriever is named, an unknown name, or an invalid
            setting.
    """
    texts = dict.fromkeys(text for text, _ in pairs)
    retrieving = [text for text in texts if task_class(text).source == "retrieved"]
    if retriever is None and retrieving:
        raise ConfigError(
            f"the task {retrieving[0]} is about tables that are retrieved: name a retriever, "
            'as in evaluate("bm25", ...)'
        )
    if retriever is None:
        return None
    if not retrieving:
        observer.warning(
            f"the retriever is not asked: {', '.join(texts)} takes tables that are given, or none"
        )
        return None
    own, text = named(retriever)
    if options.within_database and not is_bound(retrieve.retriever_spec(text, Observer()).identity):
        text = own_database.within_database(text)
    return replace(retrieve.retriever_spec(text, observer), name=own or name)


def _with_names(
    retriever: Retrievers, name: str | Sequence[str] | None
) -> list[tuple[RetrieverLike | str | None, str | None]]:
    """Return each retriever with its name, or None.

    Raises:
        ConfigError: there are not as many names as retrievers, or two of one name.
    """
    retrievers: list[Any] = [retriever]
    if isinstance(retriever, list | tuple):
        retrievers = [*retriever] or [None]
    check_named_once(one for one in retrievers if isinstance(one, str))
    if name is None:
        return [(one, None) for one in retrievers]
    names = [name] if isinstance(name, str) else name
    if len(names) != len(retrievers) or len(set(names)) < len(names):
        raise ConfigError(
            f"name={name!r}: expected {len(retrievers)} names, each once, for as many retrievers"
        )
    return list(zip(retrievers, names, strict=True))


def _check_properties(names: Sequence[str], datasets: Iterable[Dataset]) -> None:
    """See that queries have the properties by which scores are wanted.

    Raises:
        ConfigError: the queries of a dataset do not have one of them.
    """
    for dataset in datasets if names else ():
        slicing.check_names(slicing.by_property(dataset.queries), names)


def _check_depth(experiment: Experiment) -> None:
    """Warn where rankings hold fewer tables than asked for.

    Raises:
        DataError: there are no tables.
    """
    dataset = experiment.dataset
    if not len(dataset.corpus):
        raise DataError(f"{dataset.info.name} {dataset.split}: no tables to retrieve from")
    if experiment.depth > len(dataset.corpus):
        experiment.observer.warning(run_warnings.too_deep(dataset, experiment.depth))


def _tables_of_queries(
    experiment: Experiment, task: Task[Any]
) -> tuple[Result | None, dict[str, Retrieval]]:
    """Rank all queries, or take the tables that they are given.

    Returns:
        The result of the rankings, None where nothing is ranked; query id -> its tables.

    Raises:
        DataError: a table that is given is not in the corpus.
    """
    if experiment.retriever is not None:
        return rank(experiment)
    dataset = experiment.dataset
    return None, {query.id: _given(query, task, dataset) for query in dataset.queries}


def _given(query: Query, task: Task[Any], dataset: Dataset) -> Retrieval:
    tables = tuple(task.given_tables(query, dataset.corpus))
    for table in tables:
        if table not in dataset.corpus.positions:
            raise DataError(
                f"{dataset.info.name} {dataset.split}: query {query.id!r} is given the table "
                f"{table}, which is not in the corpus"
            )
    return Retrieval(query.id, tables)


def _judged(
    experiment: Experiment,
    plan: AnswerPlan,
    generations: Mapping[str, Generation],
    rankings: Mapping[str, Retrieval],
    run: Run,
    confirm: Confirm | None,
) -> tuple[dict[str, Judgement], bool]:
    """Return the judgements of all answers, and whether all were there already."""
    dataset = scorable(plan.task, experiment.dataset)
    if plan.task.judge is None or not dataset.queries:
        return {}, True
    work = (plan.task, plan.generator.label, dataset, generations, rankings)
    return JudgeStage(*work, run, experiment.observer, confirm).run()


def _with_earlier_metrics(experiment: Experiment, run: Run) -> Experiment:
    """Ask for the metrics as well that a stored run was scored with besides those of its task."""
    if run.is_new:
        return experiment
    options = experiment.options
    earlier = earlier_metrics(run.manifest.asked, options.metrics, experiment.observer.warning)
    return replace(experiment, options=replace(options, metrics=(*options.metrics, *earlier)))


def earlier_metrics(
    asked: Command, given: Sequence[MetricLike], tell: Callable[[str], None]
) -> list[str]:
    """List the metrics that a run was asked for with, where they can still be made.

    Args:
        asked: the words with which it was asked for.
        given: metrics that are asked for now; these are left out.
        tell: gets a message about each metric that cannot be made.
    """
    kept = []
    names = {metric_of(each).name for each in given}
    for text in (asked.options or {}).get("metrics") or ():
        if text in given or text in names:
            continue
        try:
            check_names([text])
            kept.append(text)
        except ConfigError as error:
            tell(f"the run was scored with the metric {text} before, which is dropped: {error}")
    return kept


def _asked(experiment: Experiment, **words: Any) -> Command:
    """Return the words of the command, without credentials."""
    words = {**experiment.loaded.asked, **words, "options": experiment.options.run_json()}
    for name, value in words.items():
        if isinstance(value, str):
            words[name] = masked_settings(value)
    return Command.model_validate(words)


@contextmanager
def _scoring(experiment: Experiment, run: Run, label: str, reused: bool) -> Iterator[None]:
    """Time the scoring, and record that the run is finished."""
    experiment.observer.stage(f"{label}: score")
    start = time.perf_counter()
    yield
    seconds = run.manifest.seconds
    known = reused and "score" in seconds
    took = {"score": round(time.perf_counter() - start, 6)}
    run.finish(**({} if known else {"seconds": {**seconds, **took}}))


def _write(
    experiment: Experiment, task: Task[Any], run: Run, scored: Scored[Any], **parts: Any
) -> None:
    """Write the tables of values, then the scores that they belong to."""
    dataset = experiment.dataset
    warnings = [*run_warnings.about_labels(dataset, task, scored, run.folder)]
    damaged = run.damaged()
    if damaged:
        source = "rankings" if task.answer == "ranking" else "answers"
        warnings.append(run_warnings.repaired(run.folder, damaged, source))
    for warning in warnings:
        experiment.observer.warning(warning)
    ids = set(scored.query_ids)
    queries = [query for query in dataset.queries if query.id in ids]
    run.write_per_query(scored.query_ids, {**slicing.slice_columns(queries), **scored.per_query})
    run.write_statistics(scored.query_ids, scored.statistics)
    scores = {name: value.to_json() for name, value in scored.scores.items()}
    run.write_scores({**parts, "scores": scores})


def _each_once(results: Iterable[Result]) -> list[Result]:
    return list({result.folder: result for result in results}.values())


@contextmanager
def _reporting_its_end(observer: Observer) -> Iterator[None]:
    try:
        yield
    finally:
        observer.finished()


_OBJECTS = 50_000
"""New objects after which a run has Python look for cycles; most objects of a run live on."""
_CHANGING = Lock()
_thresholds: list[tuple[int, int, int]] = []
"""What each run that is under way found."""


@contextmanager
def _few_collections() -> Iterator[None]:
    """Have Python look for cycles less often, as the command line does, unless it does already."""
    with _CHANGING:
        before = gc.get_threshold()
        _thresholds.append(before)
        if 0 < before[0] < _OBJECTS:
            gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        with _CHANGING:  # the last of several runs in threads restores what the first found
            before = _thresholds.pop()
            if not _thresholds and gc.get_threshold()[0] == _OBJECTS:
                gc.set_threshold(*before)
