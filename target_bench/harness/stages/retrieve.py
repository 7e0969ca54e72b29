"""The retrieval stage: every query of a split is ranked once and written to the run folder."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from target_bench.core import cache_use, contract, ranking
from target_bench.core.built_in import BOUNDS
from target_bench.core.cache_use import CacheWatch
from target_bench.core.contract import RetrieverLike, ask_if_paid, plugin_errors
from target_bench.core.credentials import masked_settings
from target_bench.core.errors import PluginError
from target_bench.core.identity import (
    is_bound,
    object_label,
    plugin_identity,
    reads_gold,
    used_packages,
)
from target_bench.core.observer import Observer
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import (
    Dataset,
    Distractors,
    Query,
    Retrieval,
)
from target_bench.core.user_code import process_restored, split_place
from target_bench.data.load import Loaded
from target_bench.harness.stages.consent import Confirm, Estimate
from target_bench.harness.stages.recorded import Stage
from target_bench.models import original_classes
from target_bench.runs import times
from target_bench.runs.manifest import MixedIn
from target_bench.runs.record_log import RANKINGS, Append
from target_bench.runs.store import Run
from target_bench.runs.times import Took

Rank = Callable[[Query, int], Retrieval]
"""(query, k) -> its retrieval, where no retriever is asked."""


@dataclass(frozen=True)
class RetrieverSpec:
    """Retriever, data and options of a run.

    Attributes:
        label: the retriever as it was asked for, or the name of a run file.
        identity: all of it that can change a ranking.
        retriever: the retriever, if one is asked.
        rank: where the rankings come from, if none is.
        name: what the user calls it; None without a name.
        packages: package -> version of those that it uses.
    """

    label: str
    identity: Mapping[str, Any]
    retriever: RetrieverLike | None = None
    rank: Rank | None = None
    name: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def reads_gold(self) -> bool:
        """Whether it is given whole queries in place of their texts."""
        return reads_gold(self.identity)


def retriever_spec(retriever: RetrieverLike | str, observer: Observer) -> RetrieverSpec:
    """Make the retriever.

    Raises:
        ConfigError: an unknown name, an invalid setting, or the object is not a retriever.
    """
    text = retriever if isinstance(retriever, str) else None
    label = text or type(retriever).__name__
    if isinstance(retriever, str):
        retriever = original_classes.created("retriever", retriever, other_names=BOUNDS)
    plugin = contract.check_methods(original_classes.adapted("retriever", retriever))
    with plugin_errors(f"retriever {masked_settings(label)}", "what identifies it"):
        identity, warning = plugin_identity(plugin)
        label = text or object_label(retriever, identity)
    if warning:
        observer.warning(warning)
    identity["ranking"] = ranking.RULE
    if getattr(plugin, "reads_gold", False):  # read here alone: later it could say otherwise
        identity["reads_gold"] = True
    label, packages = masked_settings(label), used_packages(plugin)
    return RetrieverSpec(label, identity, retriever=plugin, packages=packages)


@dataclass(frozen=True)
class Experiment:
    """One retriever on one split, or a split alone.

    Attributes:
        loaded: the split.
        retriever: what ranks; None for a task that retrieves nothing.
        options: the cutoffs, and how the retriever is run.
        observer: gets progress and warnings.
        confirm: is asked before a retriever that may cost money goes to work, or None.
    """

    loaded: Loaded
    retriever: RetrieverSpec | None
    options: RunConfig
    observer: Observer
    confirm: Confirm | None = None

    @property
    def cutoffs(self) -> Sequence[int]:
        """The cutoffs, ascending; ranked once, at the largest. Empty without a retriever."""
        return self.options.top_k if self.retriever is not None else ()

    @property
    def dataset(self) -> Dataset:
        """Tables and queries."""
        return self.loaded.dataset

    @property
    def depth(self) -> int:
        """The length of a ranking."""
        return self.cutoffs[-1] if self.cutoffs else 0


MOST_FAILURES = 10
"""Failures before any success that end a run: what fails on every query is a fault of its own."""

_PROBED = 59
"""Queries, spread evenly, that are asked at every cutoff to see whether a ranking depends on k.

If it does for 5 % of the queries, all of them miss it in .95^59 < 5 % of runs.
"""


class RetrieveStage(Stage):
    """Ranks the queries of an experiment that a run folder does not hold yet.

    Args:
        experiment: what ranks what; it has a retriever.
        store: the run folder.
    """

    def __init__(self, experiment: Experiment, store: Run) -> None:
        spec, dataset = experiment.retriever, experiment.dataset
        assert spec is not None
        super().__init__(
            store, dataset, experiment.observer, spec.label, spec.packages, spec.retriever
        )
        self.spec, self.depth, self.options = spec, experiment.depth, experiment.options
        self.cutoffs = experiment.cutoffs
        self.confirm = experiment.confirm
        self.load_seconds = experiment.loaded.seconds
        self.where = f"{dataset.info.name} {dataset.split}"

    def run(self) -> tuple[dict[str, Retrieval], bool]:
        """Return the retrievals of all queries, and whether all of them were there already."""
        rankings, reused = self._retrievals()
        return {query.id: rankings[query.id] for query in self.dataset.queries}, reused

    def _consent(self, retriever: RetrieverLike, n_texts: int) -> None:
        ask_if_paid(retriever, self.confirm, lambda: Estimate(self.spec.label, n_texts, None, None))

    def _retrievals(self) -> tuple[dict[str, Retrieval], bool]:
        manifest, spec, dataset = self.store.manifest, self.spec, self.dataset
        done = self.store.read(RANKINGS)
        if done:
            self.note_reuse()
        if spec.rank is None:  # queries that failed are asked again
            done = {query_id: r for query_id, r in done.items() if r.error is None}
        if any(ranking.at for ranking in done.values()):  # killed while the others were asked
            done = {query_id: r for query_id, r in done.items() if r.at}
        todo = [query for query in dataset.queries if query.id not in done]
        timed = self.options.latency == 0 or manifest.latency_ms is not None
        if not todo and timed and manifest.seconds:
            self.repeat_notes()
            return done, True
        distractors = tuple(map(_mixed_in, dataset.distractors))
        self.begin(data=dataset.info.source, distractors=distractors)
        # A folder that cannot be written is reported before the work.
        with RANKINGS.log(self.store.folder) as append:
            if not todo and timed:  # killed after the last query
                self.repeat_notes()
                self._record_times(None, None)
                return done, True
            if spec.rank is not None:
                return done | self._given(spec.rank, todo, append), False
            retriever = spec.retriever
            assert retriever is not None
            self._consent(retriever, len(dataset.corpus) + len(todo))
            self.repeat_notes()
            done |= self._ranked(retriever, done, append)
        if not timed:
            self._time_single_queries(retriever)
        return done, not todo

    def _given(
        self, rank: Rank, todo: Sequence[Query], append: Append[Retrieval]
    ) -> dict[str, Retrieval]:
        rankings = [rank(query, self.depth) for query in todo]
        append(rankings)
        self._record_times(None, None)
        return {retrieval.query_id: retrieval for retrieval in rankings}

    def _ranked(
        self, retriever: RetrieverLike, done: Mapping[str, Retrieval], append: Append[Retrieval]
    ) -> dict[str, Retrieval]:
        """Embed the corpus, and ask the queries that are not done."""
        notes: list[str] = []
        n_done = len(done)
        try:
            watch = CacheWatch()
            embed = Took(self._embed(retriever), watch.used())
            todo = [query for query in self.dataset.queries if query.id not in done]
            return self._asked(retriever, todo, done, append, embed, watch, notes)
        finally:
            since = f"from query {n_done + 1:,} on: " if n_done else ""
            notes += [since + note for note in self._notes_of(retriever)]
            self.report(notes)

    def _probes(self, retriever: RetrieverLike) -> set[str]:
        """Return the queries that are asked at every cutoff; none of a retriever that is paid."""
        if len(self.cutoffs) < 2 or contract.is_paid(retriever) or self.spec.reads_gold:
            return set()
        queries = self.dataset.queries
        n = min(_PROBED, len(queries))
        return {queries[i * len(queries) // n].id for i in range(n)}

    def _depends_on_k(
        self, retriever: RetrieverLike, probes: Sequence[Query], deep: Sequence[Retrieval]
    ) -> bool | None:
        """Return whether a smaller cutoff has another ranking than the head of the largest.

        That is so for a retriever that reranks the first k. None: it ranks by chance, and gives
        another ranking at the same cutoff, too.
        """

        def ask(k: int) -> list[Retrieval]:
            return contract.retrieve(retriever, probes, k, self.dataset.corpus.shuffled)

        for k in self.cutoffs[:-1]:
            pairs = zip(deep, ask(k), strict=True)
            whole = [(d, s) for d, s in pairs if d.error is None and s.error is None]
            if any(d.tables[:k] != s.tables for d, s in whole):
                again = [ranking.tables for ranking in ask(self.depth)]
                return True if again == [ranking.tables for ranking in deep] else None
        return False

    def _notes_of(self, retriever: RetrieverLike) -> list[str]:
        """Return the retriever's own notes; none where it fails, as it may after a failure."""
        notes = getattr(retriever, "notes", None)  # users' own may lack it
        try:
            with plugin_errors(f"retriever {self.spec.label}", "notes"):
                return list(map(str, notes())) if callable(notes) else []
        except PluginError as error:
            self.observer.warning(str(error))
            return []

    def _embed(self, retriever: RetrieverLike) -> float:
        """Have the corpus embedded; return the seconds that it took."""
        self.observer.stage(f"{self.spec.label}: embed {self.dataset.info.name}")
        where = f"embed_corpus on {self.where}"
        with (
            process_restored(),
            plugin_errors(f"retriever {self.spec.label}", where),
            times.worked() as took,
        ):
            retriever.embed_corpus(self.dataset.corpus.handed_out())
        return took[0]

    def _asked(
        self,
        retriever: RetrieverLike,
        todo: Sequence[Query],
        done: Mapping[str, Retrieval],
        append: Append[Retrieval],
        embed: Took,
        watch: CacheWatch,
        notes: list[str],
    ) -> dict[str, Retrieval]:
        """Ask queries batch by batch; end where the first ones all fail.

        Only the largest cutoff is timed: what else is asked is no part of answering a query.
        """
        self.observer.stage(f"{self.spec.label}: retrieve", total=len(todo))
        rankings: dict[str, Retrieval] = {}
        seconds, size = 0.0, contract.batch_size(retriever)
        any_done = bool(done)
        apart = any(ranking.at for ranking in done.values())
        probes = set() if apart else self._probes(retriever)
        try:
            for start in range(0, len(todo), size):
                batch = todo[start : start + size]
                most = None if any_done else MOST_FAILURES - len(rankings)
                with times.worked() as took:
                    retrievals = self._batch(retriever, batch, most)
                seconds += took[0]
                pairs = zip(batch, retrievals, strict=False)  # the first ones alone where all fail
                probed = [(q, r) for q, r in pairs if q.id in probes and r.error is None]
                if probed:
                    depends = self._depends_on_k(retriever, *zip(*probed, strict=True))
                    if depends is not False:
                        probes = set()
                    if depends:
                        apart = True
                        before = {**done, **rankings}
                        asked = [query for query in self.dataset.queries if query.id in before]
                        earlier = self._at_cutoffs(
                            retriever, asked, [before[query.id] for query in asked]
                        )
                        append(earlier)
                        rankings.update((retrieval.query_id, retrieval) for retrieval in earlier)
                if apart:
                    retrievals = self._at_cutoffs(retriever, batch[: len(retrievals)], retrievals)
                append(retrievals)
                rankings.update((retrieval.query_id, retrieval) for retrieval in retrievals)
                self.observer.advance(len(retrievals))
                any_done = any_done or any(r.error is None for r in retrievals)
                if not any_done and len(rankings) >= MOST_FAILURES:
                    raise self._fault(todo[0], rankings[todo[0].id], len(rankings))
        finally:
            if apart:
                notes.append(
                    "its ranking depends on how many tables are asked for, so each cutoff was "
                    "asked by itself"
                )
            n_timed = sum(query.id in rankings for query in todo)
            self._record_times(embed, Took(seconds, watch.used(), n_timed))
        return rankings

    def _batch(
        self, retriever: RetrieverLike, batch: Sequence[Query], most_failures: int | None
    ) -> list[Retrieval]:
        """Ask a batch at the largest cutoff."""
        corpus, reads_gold = self.dataset.corpus.shuffled, self.spec.reads_gold
        return contract.retrieve(retriever, batch, self.depth, corpus, most_failures, reads_gold)

    def _at_cutoffs(
        self, retriever: RetrieverLike, queries: Sequence[Query], retrievals: list[Retrieval]
    ) -> list[Retrieval]:
        """Ask queries again at the smaller cutoffs."""
        for k in self.cutoffs[:-1]:
            asked = contract.retrieve(retriever, queries, k, self.dataset.corpus.shuffled)
            retrievals = [
                deep if deep.error else at_k if at_k.error else _with_cutoff(deep, k, at_k)
                for deep, at_k in zip(retrievals, asked, strict=True)
            ]
        return retrievals

    def _fault(self, query: Query, retrieval: Retrieval, n_failed: int) -> PluginError:
        problem, line_of_user = split_place(str(retrieval.error))
        fault = PluginError(
            f"retriever {self.spec.label} failed on the first {n_failed} queries of {self.where}, "
            f"of {query.id!r}: {problem}\nThe query is {query.text[:200]!r}.\n"
            f"Fix the retriever and run again.{line_of_user}"
        )
        if retrieval.traceback:
            fault.add_note(retrieval.traceback)  # --debug and notebooks show it
        return fault

    def _record_times(self, embed: Took | None, retrieve: Took | None) -> None:
        stages = {"load": Took(self.load_seconds)}
        if embed and retrieve and not is_bound(self.spec.identity):  # no bound is a system
            stages |= {"embed_corpus": embed, "retrieve": retrieve}
        entries = times.with_times(self.store.manifest, "timed_queries", stages)
        self.store.write_manifest(**entries)

    def _time_single_queries(self, retriever: RetrieverLike) -> None:
        """Record the latency of single queries, spread evenly over all, apart from throughput.

        Recorded embeddings are not read; caches that are, such as answers of a model, which are
        not paid for twice, are named.
        """
        from threadpoolctl import threadpool_info

        self.observer.stage(f"{self.spec.label}: latency")
        queries = self.dataset.queries
        inputs: list[Any] = [q if self.spec.reads_gold else q.text for q in queries]
        n = min(self.options.latency, MOST_TIMED, len(inputs))
        sample = [inputs[i * len(inputs) // n] for i in range(n)]

        def seconds(text: Any) -> float:
            start = time.perf_counter()
            retriever.retrieve(text, self.depth)
            return time.perf_counter() - start

        name = type(retriever).__name__
        with (
            process_restored(),
            plugin_errors(name, "retrieve, of a single query"),
            cache_use.turned_off(),
        ):
            for text in sample[:_WARM_UP]:
                retriever.retrieve(text, self.depth)
            watch = CacheWatch()
            quantiles = np.quantile([seconds(text) for text in sample], [0.5, 0.95, 0.99])
            from_caches = watch.used()
        p50, p95, p99 = (round(1000 * float(quantile), 4) for quantile in quantiles)
        pools = (pool["num_threads"] for pool in threadpool_info())
        threads = max(pools, default=os.cpu_count() or 1)
        measured = {"p50": p50, "p95": p95, "p99": p99, "queries": n, "threads": threads}
        caches = {**self.store.manifest.from_caches, times.LATENCY: sorted(from_caches)}
        self.store.write_manifest(latency_ms=measured, from_caches=caches)


MOST_TIMED = 500
"""Single queries that are timed at most."""

_WARM_UP = 10


def _with_cutoff(deep: Retrieval, k: int, at_k: Retrieval) -> Retrieval:
    """Return a retrieval with the tables that were returned at a smaller cutoff."""
    return replace(deep, at={**deep.at, k: at_k.tables})


def _mixed_in(distractors: Distractors) -> MixedIn:
    """Return distractors, and the near-copies among them, as a manifest lists them."""
    near_copies = tuple(
        {"id": str(copy.id), "of": str(copy.gold), "similarity": copy.similarity}
        for copy in distractors.near_copies
    )
    ids = tuple(map(str, distractors.ids))
    return MixedIn(spec=distractors.spec, n=len(ids), ids=ids, near_copies=near_copies or None)
