"""Which queries of a dataset are asked: those about a task, or a sample."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.schema import Dataset, Query
from target_bench.core.task import Task

AnyTask = str | Task[Any] | type[Task[Any]]
"""A task, its class, or its short name."""


def sample_queries(queries: Sequence[Query], n: int) -> tuple[Query, ...]:
    """Sample n queries, from each database its share; the same ones in every run, in their order.

    The first n would be those of a few databases, as releases list queries database by database.
    """
    if n >= len(queries):
        return tuple(queries)
    numbers: dict[str, list[int]] = defaultdict(list)
    for i, query in enumerate(queries):
        numbers[query.database_id].append(i)

    def draw(i: int) -> bytes:
        return hashlib.sha256(queries[i].id.encode("utf-8", "surrogatepass")).digest()

    # The largest remainders get the queries that shares rounded down leave over.
    shares = {name: divmod(n * len(those), len(queries)) for name, those in numbers.items()}
    left = n - sum(share for share, _ in shares.values())
    more = sorted(shares, key=lambda name: (-shares[name][1], name))[:left]
    chosen = [
        i
        for name, those in numbers.items()
        for i in sorted(those, key=draw)[: shares[name][0] + (name in more)]
    ]
    return tuple(queries[i] for i in sorted(chosen))


def limit_queries(dataset: Dataset, n: int | None) -> Dataset:
    """Return the dataset with a sample of n queries, the same in every run; all if it has no more.

    With all of them, the request for the dataset has no limit.
    """
    if n is None or n >= len(dataset.queries):
        return dataset
    request = {**dataset.request, "limit": n}
    return replace(dataset, queries=sample_queries(dataset.queries, n), request=request)


def select_queries(dataset: Dataset, task: AnyTask) -> Dataset:
    """Return the dataset with the queries that are about a task only.

    A query says in its metadata what it is about; one that says nothing is about every task. A task
    that is not of this package gets the queries about the built-in task that it is a subclass of,
    or else about one with answers of the same kind. For table retrieval these are all but those
    whose metadata say that they are not ``ranked``. Where a task selects other queries than that,
    the request for the dataset records the task, as ``about``.
    """
    is_ranking = task == RANKING_TASK if isinstance(task, str) else task.answer == "ranking"
    ranked = tuple(q for q in dataset.queries if q.metadata.get("ranked", True))
    if is_ranking:
        return dataset if len(ranked) == len(dataset.queries) else replace(dataset, queries=ranked)
    task_name = task if isinstance(task, str) else task.name
    for name in fitting_tasks(task):
        queries = tuple(q for q in dataset.queries if q.metadata.get("task", name) == name)
        if queries:
            request = dict(dataset.request)
            if queries != ranked:
                request["about"] = queries[0].metadata.get("task", task_name)
            return replace(dataset, queries=queries, request=request)
    name = f"{dataset.info.name} {dataset.split}"
    raise ConfigError(f"no query of {name} is about the task {task_name}")


def fitting_tasks(task: AnyTask) -> Iterator[str]:
    """Yield the names of the tasks whose references fit a task, the nearest first."""
    yield task if isinstance(task, str) else task.name
    if isinstance(task, str):
        return
    cls = task if isinstance(task, type) else type(task)
    if not registry.is_package_code(cls):
        yield from (base.name for base in cls.__mro__[1:] if hasattr(base, "name"))
        for name in registry.BUILT_IN["task"]:
            if registry.resolve("task", name).answer == cls.answer:
                yield name
