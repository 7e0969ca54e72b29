"""``evaluate``: retrievers, and generators, on corpora, from tables and questions to scores."""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.contract import RetrieverLike
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric_function import check_metrics
from target_bench.core.observer import Observer, default_observer
from target_bench.core.registry import find_task, make_task
from target_bench.core.run_config import (
    EXTRACTIVE,
    PLUGIN_LISTS,
    RUNS,
    TOP_K,
    RunConfig,
    add_columns,
    spell_flag,
    takes_options,
)
from target_bench.core.schema import Dataset
from target_bench.core.settings import check_names_differ, read_texts, split_name
from target_bench.core.task import Task
from target_bench.core.text_tables import list_first
from target_bench.data.load import (
    HUB_PREFIX,
    CorpusLike,
    drop_repeated,
    load_once,
    pair_with_corpora,
)
from target_bench.data.selection import limit_queries, select_queries
from target_bench.harness.consent import Confirm
from target_bench.harness.run_system import run_system
from target_bench.harness.systems import GeneratorLike, System, make_generator, make_retriever
from target_bench.metrics.scores import refuse_built_in_names
from target_bench.runs import slicing
from target_bench.runs.result import Result, Results

AnyRetriever = RetrieverLike | str | None
Pair = tuple[str, CorpusLike]
"""A task with its settings, and a corpus."""


@takes_options
def evaluate(
    retriever: AnyRetriever | Sequence[AnyRetriever],
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
    print(results["bm25"]["recall@10"])  # .982 [.961, .992]
    ```

    Args:
        retriever: an object with ``embed_corpus`` and ``retrieve``; or text as on the command
            line: ``"bm25:k1=0.9"`` or ``"ours=file.py:Mine"`` (with a name); or a list of these.
            None for a task that is given its tables, or needs none.
        corpus: a name (``"mini"``), the path of a folder or database of your own (``"./tables"``),
            a ``Dataset`` that ``load`` returned, or a list of these.
        task: a task with its settings, as ``"text-to-sql:engine=duckdb"``, or a list of them.
        generator: what answers: an object with ``generate``, or text such as
            ``"openai:model=..."``; None: nothing does, as with ``"empty"``.
        split: ``train``, ``validation`` or ``test``; default: the one that the paper of the
            corpus reports on.
        top_k: the cutoffs. Retrieval runs at the largest; at the smaller ones too where the ranking
            depends on how many tables are asked for, which a sample of the queries shows.
        by: properties of the queries, as ``"difficulty"``, each of whose values gets scores.
        name: what tables and plots call the retriever, or each of a list.
        data_dir: the folder with the release files; default: ``$TARGET_BENCH_DATA``.
        out: where run folders go.
        observer: gets progress and warnings.
        confirm: is asked before requests that may cost money; default: they are sent unasked.
        options: the other fields of ``RunConfig``, as ``limit=100``.

    Returns:
        One result for each retriever, corpus and task; equal retrievers are one run.

    Raises:
        ConfigError: an invalid argument.
        DataError: a corpus is missing or broken.
        PluginError: the retriever failed, or the generator as a whole.
        StoreError: a run folder cannot be written or read.
    """
    if corpus is None:
        raise ConfigError("corpus=None: expected a name ('mini'), a path ('./tables'), or a list")
    for name_of_list in options.keys() & set(PLUGIN_LISTS):
        one = spell_flag(name_of_list).removeprefix("--")  # "generators" -> "generator"
        raise ConfigError(f"{name_of_list}: evaluate has no such argument; pass {one}=")
    if columns := options.pop("columns", None):
        corpus = add_columns(corpus, columns)
    tasks: Sequence[Any] = task if isinstance(task, list | tuple) else [task]
    if not tasks:
        raise ConfigError("task=[]: expected a task, as 'retrieval', or a list of them")
    retrievers: Sequence[Any] = retriever if isinstance(retriever, list | tuple) else [retriever]
    pairs = drop_repeated(pair for text in tasks for pair in pair_with_corpora(text, corpus))
    if not pairs:
        raise ConfigError(f"corpus={corpus!r}: expected a corpus, as 'mini', or a list of them")
    config = RunConfig(split=split, top_k=top_k, out=out, data_dir=data_dir, **options)
    if observer is not None and not isinstance(observer, Observer):
        raise ConfigError(f"observer={observer!r:.100}: expected a target_bench.Observer")
    observer = observer or default_observer()
    return Results(
        evaluate_pairs(
            pairs,
            retrievers,
            ["empty" if generator is None else generator],
            config,
            observer=observer,
            confirm=confirm,
            names=name,
            by=by,
        )
    )


def evaluate_pairs(
    pairs: Sequence[Pair],
    retrievers: Sequence[AnyRetriever],
    generators: Sequence[GeneratorLike | str],
    config: RunConfig,
    *,
    observer: Observer,
    confirm: Confirm | None = None,
    names: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    loaded: dict[Any, Dataset] | None = None,
) -> Iterator[Result]:
    """Evaluate retrievers, and generators, on tasks with their corpora; yield each result once.

    All is made, loaded and checked before the first retriever is asked. Arguments and errors are
    those of ``evaluate``; ``loaded`` holds the splits that the caller has loaded, and gets others.
    """
    loaded = {} if loaded is None else loaded
    tasks = make_tasks(pairs, config)
    systems = _make_retrievers(retrievers, names, tasks, observer)
    if any(task.answer != "ranking" and task.source == "retrieved" for task in tasks.values()):
        config.check_prompt_tables()
    check_names_differ(each for each in generators if isinstance(each, str))
    generators_by_task: dict[str, list[System | None]] = {
        text: [None]
        if task.answer == "ranking"
        else [make_generator(each, task, config, observer) for each in generators]
        for text, task in tasks.items()
    }
    properties = read_texts("by", by)
    yielded: set[Path] = set()  # two names for one retriever are one run
    with work_session(observer):
        data = [
            (text, load_queries(text, corpus, config, observer, loaded)) for text, corpus in pairs
        ]
        check_properties(properties, data)
        while systems:
            system = systems.pop(0)  # so that its index is let go before the next one is built
            for text, dataset in data:
                for generator in generators_by_task[text]:
                    task = make_task(text)  # each run has its own: a task may keep state
                    retriever = system if task.source == "retrieved" else None
                    result = run_system(
                        config,
                        task,
                        dataset,
                        retriever,
                        generator,
                        observer=observer,
                        confirm=confirm,
                    )
                    result.by = tuple(properties)
                    if result.folder not in yielded:
                        yielded.add(result.folder)
                        yield result


def make_tasks(pairs: Iterable[Pair], config: RunConfig) -> dict[str, Task[Any]]:
    """Make each task; raise what is wrong with its settings, or if none can read a metric."""
    tasks = {text: make_task(text) for text, _ in pairs}
    if config.metrics:
        refuse_built_in_names(config.metrics)
        check_metrics(config.metrics, tasks)
    return tasks


def load_queries(
    text: str,
    corpus: CorpusLike,
    config: RunConfig,
    observer: Observer,
    loaded: dict[Any, Dataset],
) -> Dataset:
    """Load the tables and queries of a task: as many as are asked for."""
    dataset = load_once(corpus, config.split, config.distractors, config.data_dir, observer, loaded)
    if not dataset.queries:
        raise DataError(
            f"corpus {dataset.info.name}, split {dataset.split}: {len(dataset.corpus)} tables and "
            f"no query. {_explain_queries(dataset)}"
        )
    return limit_queries(select_queries(dataset, find_task(text)), config.limit)


def _explain_queries(dataset: Dataset) -> str:
    """Say how queries get into a corpus without any."""
    if dataset.info.title.startswith(HUB_PREFIX):
        fields = list_first([str(name) for name in next(iter(dataset.corpus)).header], 8)
        return (
            f"If its records ({fields}) are questions with their tables, say what is in which "
            "field, as in --columns query=question,answer=answers,header=table.header,"
            "rows=table.rows"
        )
    has_rows = any(table.rows for table in dataset.corpus)  # a catalog has none to ask about
    corpus = dataset.request.get("corpus") or "CORPUS"
    ask = f", or have some written: target-bench ask {corpus}" if has_rows else ""
    return (
        f"Write queries into queries.csv beside the tables, as docs/data.md shows{ask}. "
        "target-bench search needs none."
    )


def check_properties(names: Sequence[str], data: Iterable[tuple[str, Dataset]]) -> None:
    """Raise ``ConfigError`` unless queries, or answers of their task, have these properties."""
    if not names:
        return
    for text, dataset in data:
        unknown_yet = [None] * len(dataset.queries)  # the values of answers
        of_answers = dict.fromkeys(find_task(text).view.properties, unknown_yet)
        columns = of_answers | slicing.read_properties(dataset.queries)
        for name in names:
            slicing.divide_by(columns, name)  # raises what is wrong


def _make_retrievers(
    retrievers: Sequence[AnyRetriever],
    names: str | Sequence[str] | None,
    tasks: Mapping[str, Task[Any]],
    observer: Observer,
) -> list[System | None]:
    """Make each retriever, with its name; a single None if no task retrieves."""
    listed: Sequence[Any] = retrievers or [None]
    check_names_differ(each for each in listed if isinstance(each, str))
    called: Sequence[str | None] = [None] * len(listed)
    if names is not None:
        called = read_texts("name", names)
        if len(called) != len(listed) or len(set(called)) < len(called):
            raise ConfigError(
                f"name={names!r}: expected {len(listed)} different names, one per retriever"
            )
    retrieving = [text for text, task in tasks.items() if task.source == "retrieved"]
    if not retrieving:
        if any(each is not None for each in listed):
            observer.warning(
                f"the retriever is ignored: {', '.join(tasks)} does not retrieve tables"
            )
        return [None]
    systems: list[System | None] = []
    for retriever, name in zip(listed, called, strict=True):
        if retriever is None:
            raise ConfigError(
                f"the task {retrieving[0]} is about tables that are retrieved: name a retriever, "
                'as in evaluate("bm25", ...)'
            )
        own_name, unnamed = split_name(retriever)  # an object has none
        if own_name and name:
            raise ConfigError(f"name={name!r}: {retriever!r} has a name already; leave out one")
        systems.append(make_retriever(unnamed, observer, own_name or name))
    return systems


_OBJECTS = 50_000
"""New objects after which a run has Python look for cycles; most objects of a run live on."""


@contextmanager
def work_session(observer: Observer) -> Iterator[None]:
    """Collect garbage less often inside the block; at its end, call ``observer.finished()``.

    By default Python looks for cycles 200 times while TabFact's tables are indexed, a third of the
    time of indexing.
    """
    before = gc.get_threshold()
    if 0 < before[0] < _OBJECTS:
        gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        observer.finished()
