"""Latency of single queries, apart from batch throughput."""

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from target_bench.core import cache_use
from target_bench.core.contract import RetrieverLike, plugin_errors

MOST_QUERIES = 500
_WARM_UP = 10


def measure(
    retriever: RetrieverLike, texts: Sequence[Any], top_k: int, n: int
) -> tuple[dict[str, Any], list[str]]:
    """Time single calls of ``retrieve`` on an index that is in use, without recorded embeddings.

    Args:
        retriever: with its corpus embedded.
        texts: what is asked of all queries; the timed ones are spread evenly over them.
        top_k: how many tables to ask for.
        n: how many calls to time, at most 500.

    Returns:
        ``p50``, ``p95`` and ``p99`` in milliseconds, the number of ``queries`` and the number of
        ``threads`` that the numerical libraries may use; and the caches that were read all the
        same, such as recorded answers of a model, which are not paid for twice.

    Raises:
        PluginError: ``retrieve`` raised.
    """
    n = min(n, MOST_QUERIES, len(texts))
    sample = [texts[i * len(texts) // n] for i in range(n)]
    name = type(retriever).__name__
    with plugin_errors(name, "retrieve, of a single query"), cache_use.turned_off():
        for text in sample[:_WARM_UP]:
            retriever.retrieve(text, top_k)
        watch = cache_use.CacheWatch()
        seconds = [_timed(retriever, text, top_k) for text in sample]
        from_caches = watch.used()
    p50, p95, p99 = (round(1000 * float(q), 4) for q in np.quantile(seconds, [0.5, 0.95, 0.99]))
    measured = {"p50": p50, "p95": p95, "p99": p99, "queries": n, "threads": threads()}
    return measured, from_caches


def threads() -> int:
    """Return the most threads a loaded numerical library may use."""
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info()), default=os.cpu_count() or 1)


def _timed(retriever: RetrieverLike, text: Any, top_k: int) -> float:
    start = time.perf_counter()
    retriever.retrieve(text, top_k)
    return time.perf_counter() - start
