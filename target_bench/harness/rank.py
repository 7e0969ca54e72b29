"""Ranking: every query of a split is ranked once and written to the run folder."""

import os
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from target_bench.core import cache_use, contract
from target_bench.core.cache_use import CacheWatch
from target_bench.core.contract import RetrieverLike, ask_if_paid
from target_bench.core.errors import PluginError
from target_bench.core.identity import is_bound
from target_bench.core.observer import Observer
from target_bench.core.plugin_errors import plugin_errors
from target_bench.core.retrieve import get_batch_size, retrieve_tables
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset, Query, Retrieval
from target_bench.core.user_code import restore_process, split_user_line
from target_bench.harness.consent import Confirm, Estimate
from target_bench.harness.run_notes import add_notes, repeat_notes, warn_of_reuse
from target_bench.harness.systems import System
from target_bench.runs import times
from target_bench.runs.record_log import RANKINGS
from target_bench.runs.run import Run
from target_bench.runs.times import StageTime

MOST_FAILURES = 10
"""Failures before any success that end a run: a plug-in that fails on every query is broken."""

_PROBES = 59
"""Queries, spread evenly, that are asked at every cutoff to see whether a ranking depends on k.

If it does for 5 % of the queries, all of them miss it in .95^59 < 5 % of runs.
"""

MOST_TIMED = 500
"""Single queries that are timed at most."""

_WARM_UP = 10


def rank(
    run: Run,
    retriever: System,
    dataset: Dataset,
    config: RunConfig,
    observer: Observer,
    confirm: Confirm | None,
) -> dict[str, Retrieval]:
    """Return query id -> ranking: those of the run, and new ones by the retriever."""
    plugin = retriever.plugin
    must_time = plugin is not None and config.latency > 0 and run.manifest.latency_ms is None
    rankings = _select_complete(run.read_log(RANKINGS), retriever, dataset)
    todo = [query for query in dataset.queries if query.id not in rankings]
    if todo or must_time:
        if plugin is not None:
            n_timed = count_timed(config, dataset) if must_time else 0
            n_texts = len(dataset.corpus) + len(todo) + n_timed
            ask_if_paid(plugin, confirm, lambda: Estimate(retriever.label, n_texts))
        run.mark_running()  # not before: without consent a finished run stays finished
    repeat_notes(run, retriever.label, observer)
    if todo and retriever.look_up is not None:
        with run.open_to_append(RANKINGS, rankings) as append:
            append([retriever.look_up(query) for query in todo])
        _record_times(run, retriever, dataset.seconds)
    elif todo:
        _ask_retriever(run, retriever, dataset, config.top_k, todo, rankings, observer)
    elif must_time:
        _embed(retriever, dataset, observer)
    elif not run.manifest.seconds:  # killed after the last query
        _record_times(run, retriever, dataset.seconds)
    if must_time:
        run.reused = False
        answered = [query for query in dataset.queries if rankings[query.id].error is None]
        _time_single_queries(run, retriever, answered, config, observer)
    if len(todo) < len(dataset.queries):
        warn_of_reuse(retriever, observer)
    return {query.id: rankings[query.id] for query in dataset.queries}


def _select_complete(
    rankings: Mapping[str, Retrieval], retriever: System, dataset: Dataset
) -> dict[str, Retrieval]:
    """Leave out failed queries, and those without the smaller cutoffs that others have."""
    if retriever.look_up is not None:
        # A failure is kept if looking it up fails again: the run that is looked up in may have gone
        # on since.
        return {
            query.id: rankings[query.id]
            for query in dataset.queries
            if query.id in rankings
            if rankings[query.id].error is None or retriever.look_up(query).error is not None
        }
    answered = {query_id: r for query_id, r in rankings.items() if r.error is None}
    if not any(ranking.at for ranking in answered.values()):
        return answered
    # Only a process that was killed while it asked at the smaller cutoffs leaves some without.
    return {query_id: ranking for query_id, ranking in answered.items() if ranking.at}


def _ask_retriever(
    run: Run,
    retriever: System,
    dataset: Dataset,
    top_k: Sequence[int],
    todo: Sequence[Query],
    rankings: dict[str, Retrieval],
    observer: Observer,
) -> None:
    """Have the corpus embedded, and log rankings batch by batch; raise if the first all fail.

    A retriever whose ranking depends on k, as of one that reranks the first k tables, is asked at
    each cutoff. ``rankings`` holds those of before, and gets the new ones.
    """
    plugin, tables = retriever.plugin, dataset.corpus.shuffled
    resumed = f"resumed after {len(rankings):,} queries: " if rankings else ""
    any_done, asks_each_cutoff = bool(rankings), any(each.at for each in rankings.values())
    probes = set() if asks_each_cutoff else _choose_probes(retriever, dataset, top_k)
    n_asked, seconds, size = 0, 0.0, get_batch_size(plugin)
    watch, embed = CacheWatch(), None
    try:
        # The log first: a folder that cannot be written is reported before work that may be paid.
        with run.open_to_append(RANKINGS, rankings) as append:
            embed = StageTime(_embed(retriever, dataset, observer), watch.take_hits())
            observer.stage(f"{retriever.label}: retrieve", total=len(todo))
            while n_asked < len(todo):
                batch = todo[n_asked : n_asked + size]
                most_failures = None if any_done else MOST_FAILURES - n_asked
                # Only the largest cutoff is timed: the others are no part of answering a query.
                with times.time_work() as took:
                    ranked = retrieve_tables(
                        plugin, batch, top_k[-1], tables, most_failures, retriever.reads_gold
                    )
                seconds += took.seconds
                batch = batch[: len(ranked)]  # only the first ones where all fail
                verdict = _compare_cutoffs(plugin, dataset, top_k, probes, batch, ranked)
                if verdict != "same":
                    probes = set()  # one difference is enough
                if verdict == "depends on k":
                    asks_each_cutoff = True
                    earlier = [query for query in dataset.queries if query.id in rankings]
                    for i in range(0, len(earlier), size):
                        before = [rankings[query.id] for query in earlier[i : i + size]]
                        # logged again: the last record of a query counts
                        append(_add_cutoffs(plugin, dataset, top_k, earlier[i : i + size], before))
                if asks_each_cutoff:
                    ranked = _add_cutoffs(plugin, dataset, top_k, batch, ranked)
                n_asked += len(ranked)
                append(ranked)
                observer.advance(len(ranked))
                any_done = any_done or any(ranking.error is None for ranking in ranked)
                if not any_done and n_asked >= MOST_FAILURES:
                    raise _make_fault(retriever, dataset, todo[0], rankings[todo[0].id], n_asked)
    finally:
        retrieve = StageTime(seconds, watch.take_hits(), n_asked)
        _record_times(run, retriever, dataset.seconds, embed, retrieve)
        notes = [resumed + note for note in _read_notes(retriever, observer)]
        if asks_each_cutoff:
            notes.insert(0, _DEPENDS_ON_K)
        add_notes(run, retriever.label, notes, observer)


_DEPENDS_ON_K = (
    "its ranking depends on how many tables are asked for, so each cutoff was asked by itself"
)


def _embed(retriever: System, dataset: Dataset, observer: Observer) -> float:
    """Have the corpus embedded; return the seconds that it took."""
    observer.stage(f"{retriever.label}: embed {dataset.info.name}")
    where = f"embed_corpus on {dataset.info.name} {dataset.split}"
    with (
        restore_process(),
        plugin_errors(f"retriever {retriever.label}", where),
        times.time_work() as took,
    ):
        retriever.plugin.embed_corpus(dataset.corpus.copy_for_retriever())
    return took.seconds


def _choose_probes(retriever: System, dataset: Dataset, top_k: Sequence[int]) -> set[str]:
    """Return the queries that are asked at every cutoff; none of a retriever that is paid."""
    if len(top_k) < 2 or contract.is_paid(retriever.plugin) or retriever.reads_gold:
        return set()
    queries = dataset.queries
    n = min(_PROBES, len(queries))
    return {queries[i * len(queries) // n].id for i in range(n)}


def _compare_cutoffs(
    plugin: RetrieverLike,
    dataset: Dataset,
    top_k: Sequence[int],
    probes: Set[str],
    batch: Sequence[Query],
    rankings: Sequence[Retrieval],
) -> Literal["same", "depends on k", "random"]:
    """Ask the probes of a batch at the smaller cutoffs too; compare with the largest, cut there.

    ``random``: equal calls differ, too, so nothing can be said of k and nothing follows.
    """
    probed = [
        (query, ranking.tables)
        for query, ranking in zip(batch, rankings, strict=True)
        if query.id in probes and ranking.error is None
    ]
    if not probed:
        return "same"
    queries, largest = zip(*probed, strict=True)

    def ask(k: int) -> list[Retrieval]:
        return retrieve_tables(plugin, queries, k, dataset.corpus.shuffled)

    for k in top_k[:-1]:
        pairs = zip(largest, ask(k), strict=True)
        if any(at_k.error is None and at_k.tables != tables[:k] for tables, at_k in pairs):
            is_random = [ranking.tables for ranking in ask(top_k[-1])] != [*largest]
            return "random" if is_random else "depends on k"
    return "same"


def _add_cutoffs(
    plugin: RetrieverLike,
    dataset: Dataset,
    top_k: Sequence[int],
    queries: Sequence[Query],
    rankings: Sequence[Retrieval],
) -> list[Retrieval]:
    """Ask queries again at the smaller cutoffs; a failure there is one of the query."""
    merged = list(rankings)
    for k in top_k[:-1]:
        at_k = retrieve_tables(plugin, queries, k, dataset.corpus.shuffled)
        for i, (ranking, shorter) in enumerate(zip(merged, at_k, strict=True)):
            if ranking.error is None:
                at = {**ranking.at, k: shorter.tables}
                merged[i] = shorter if shorter.error else replace(ranking, at=at)
    return merged


def _read_notes(retriever: System, observer: Observer) -> list[str]:
    """Return the retriever's own notes; none where it fails, as it may after a failure."""
    notes = getattr(retriever.plugin, "notes", None)  # users' own may lack it
    try:
        with plugin_errors(f"retriever {retriever.label}", "notes"):
            return list(map(str, notes())) if callable(notes) else []
    except PluginError as error:
        observer.warning(str(error))
        return []


def _make_fault(
    retriever: System, dataset: Dataset, query: Query, ranking: Retrieval, n_failed: int
) -> PluginError:
    problem, line_of_user = split_user_line(str(ranking.error))
    fault = PluginError(
        f"retriever {retriever.label} failed on the first {n_failed} queries of "
        f"{dataset.info.name} {dataset.split}; the error of {query.id!r} was: {problem}\n"
        f"The query is {query.text[:200]!r}.\nFix the retriever and run again.{line_of_user}"
    )
    if ranking.traceback:
        fault.add_note(ranking.traceback)  # --debug and notebooks show it
    return fault


def _record_times(
    run: Run,
    retriever: System,
    load_seconds: float,
    embed: StageTime | None = None,
    retrieve: StageTime | None = None,
) -> None:
    """Add the times of this process to those in the manifest."""
    stages = {"load": StageTime(load_seconds)}
    # How long ``oracle`` and ``no-context`` take says nothing: nobody would use them.
    if embed and retrieve and not is_bound(retriever.identity):
        stages |= {"embed_corpus": embed, "retrieve": retrieve}
    run.write_manifest(**times.add_times(run.manifest, stages))


def count_timed(config: RunConfig, dataset: Dataset) -> int:
    """Return how often single queries are asked for their latency, at most.

    Embeddings are computed again for these, also where that costs money. Recorded answers of a
    model, which some retrievers ask, are read.
    """
    return min(config.latency, MOST_TIMED, len(dataset.queries)) + _WARM_UP * (config.latency > 0)


def _time_single_queries(
    run: Run,
    retriever: System,
    queries: Sequence[Query],
    config: RunConfig,
    observer: Observer,
) -> None:
    """Record the latency of single queries, spread evenly over these, apart from throughput.

    Embeddings are computed again; recorded answers of a model are read, and named.
    """
    from threadpoolctl import threadpool_info

    if not queries:
        return
    observer.stage(f"{retriever.label}: latency")
    plugin, depth = retriever.plugin, config.top_k[-1]
    inputs: list[Any] = [q if retriever.reads_gold else q.text for q in queries]
    n = min(config.latency, MOST_TIMED, len(inputs))
    sample = [inputs[i * len(inputs) // n] for i in range(n)]

    def time_query(text: Any) -> float:
        start = time.perf_counter()
        plugin.retrieve(text, depth)
        return time.perf_counter() - start

    name = type(plugin).__name__
    with (
        restore_process(),
        plugin_errors(name, "retrieve, of a single query"),
        cache_use.disable_embedding_cache(),
    ):
        for text in sample[:_WARM_UP]:
            plugin.retrieve(text, depth)
        watch = CacheWatch()
        quantiles = np.quantile([time_query(text) for text in sample], [0.5, 0.95, 0.99])
        from_caches = watch.take_hits()
    p50, p95, p99 = (round(1000 * float(quantile), 4) for quantile in quantiles)
    pools = (pool["num_threads"] for pool in threadpool_info())
    threads = max(pools, default=os.cpu_count() or 1)
    measured = {"p50": p50, "p95": p95, "p99": p99, "queries": n, "threads": threads}
    caches = {**run.manifest.from_caches, times.LATENCY: sorted(from_caches)}
    run.write_manifest(latency_ms=measured, from_caches=caches)
