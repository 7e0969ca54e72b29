"""What is made and checked before a run: tasks, data, retrievers and their names."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from target_bench.core import registry
from target_bench.core.contract import RetrieverLike
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.metric_function import check_read
from target_bench.core.observer import Observer
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset
from target_bench.core.settings import check_named_once, named, read_texts
from target_bench.core.task_names import task_class
from target_bench.data.load import CorpusLike, Loaded, Loader
from target_bench.harness.stages.retrieve import RetrieverSpec, retriever_spec
from target_bench.metrics.scores import check_names
from target_bench.runs import slicing

Retrievers = RetrieverLike | str | Sequence[RetrieverLike | str] | None
Pair = tuple[str, CorpusLike]
"""A task with its settings, and a corpus."""


def check_tasks(pairs: Iterable[Pair], options: RunConfig) -> None:
    """See that tasks can be made and read the metrics that are asked for, before anything runs."""
    texts = dict.fromkeys(text for text, _ in pairs)
    for text in texts:
        registry.create("task", text)
    if options.metrics:
        check_names(options.metrics)
        check_read(options.metrics, {text: task_class(text) for text in texts})


def loaded_split(text: str, corpus: CorpusLike, options: RunConfig, loader: Loader) -> Loaded:
    """Load the tables and queries of a task."""
    loaded = loader.load(corpus, options.split, options.distractors)
    dataset = loaded.dataset
    if not dataset.queries:
        raise DataError(
            f"corpus {dataset.info.name}, split {dataset.split}: {len(dataset.corpus)} tables and "
            "no query. docs/data.md shows how queries are written, and target-bench ask writes "
            "some; target-bench search needs none."
        )
    return loaded.of_task(task_class(text))


def limited_to(loaded: Loaded, options: RunConfig) -> Loaded:
    """Return the data with the queries that are asked."""
    return loaded.limited(options.limit)


def made_retriever(
    retriever: RetrieverLike | str | None,
    name: str | None,
    pairs: Sequence[Pair],
    observer: Observer,
) -> RetrieverSpec | None:
    """Make a retriever; None if no task retrieves."""
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
    return replace(retriever_spec(text, observer), name=own or name)


def with_names(
    retriever: Retrievers, name: str | Sequence[str] | None
) -> list[tuple[RetrieverLike | str | None, str | None]]:
    """Return each retriever with its name, or None."""
    retrievers: list[Any] = [retriever]
    if isinstance(retriever, list | tuple):
        retrievers = [*retriever] or [None]
    check_named_once(each for each in retrievers if isinstance(each, str))
    if name is None:
        return [(each, None) for each in retrievers]
    names = read_texts("name", name)
    if len(names) != len(retrievers) or len(set(names)) < len(names):
        raise ConfigError(
            f"name={name!r}: expected {len(retrievers)} names, each once, for as many retrievers"
        )
    return list(zip(retrievers, names, strict=True))


def check_properties(names: Sequence[str], datasets: Iterable[Dataset]) -> None:
    """See that queries have the properties by which scores are wanted."""
    for dataset in datasets if names else ():
        for name in names:
            slicing.by_name(slicing.by_property(dataset.queries), name)


_OBJECTS = 50_000
"""New objects after which a run has Python look for cycles; most objects of a run live on."""


@contextmanager
def evaluation(observer: Observer) -> Iterator[None]:
    """Have Python look for cycles less often, as the command line does; at the end, tell so.

    By default it looks 200 times while TabFact's tables are indexed, a third of that time.
    """
    before = gc.get_threshold()
    if 0 < before[0] < _OBJECTS:
        gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        observer.finished()
