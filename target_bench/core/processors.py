"""The processors there are, and work on all of them."""

import os
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def n_processors() -> int:
    """Return how many processors this process may use, ``$OMP_NUM_THREADS`` at most."""
    found = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(found, int(allowed))) if allowed.isdigit() else found


def in_threads(work: Callable[[T], U], values: list[T]) -> list[U]:
    """Return the results of values, which are let go one by one, on all processors."""
    if len(values) < 2 or n_processors() < 2:
        return [work(values.pop(0)) for _ in range(len(values))]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_processors()) as threads:
        waiting = [threads.submit(work, values.pop(0)) for _ in range(len(values))]
        return [future.result() for future in waiting]
