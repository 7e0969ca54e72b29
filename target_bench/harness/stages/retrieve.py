"""The retrieval stage: every query of a split is ranked once and written to the run folder."""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from target_bench.core import cache_use, contract, ranking
from target_bench.core.built_in import BOUNDS
from target_bench.core.cache_use import CacheWatch
from target_bench.core.contract import RetrieverLike, ask_if_paid, plugin_errors
from target_bench.core.credentials import masked_settings
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.identity import (
    is_bound,
    object_label,
    plugin_identity,
    reads_gold,
    used_packages,
)
from target_bench.core.observer import Observer
from target_bench.core.schema import (
    NO_DATABASE,
    Corpus,
    Dataset,
    Distractors,
    Query,
    Retrieval,
    TableId,
)
from target_bench.core.user_code import split_place
from target_bench.data.load import Loaded
from target_bench.data.tables import MemoryCorpus
from target_bench.harness.options import Options
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
    options: Options
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


Part = tuple[Corpus, Sequence[Query]]
"""Tables that are indexed together, and what is asked of them."""

SEARCH_WITHIN = "within-database"
"""The retriever that searches the database of each question, and the option that wraps one so."""


class RetrieveStage(Stage):
    """Ranks the queries of an experiment that a run folder does not hold yet.

    Args:
        experiment: what ranks what; it has a retriever.
        store: the run folder.
    """

    def __init__(self, experiment: Experiment, store: Run) -> None:
        spec, dataset = experiment.retriever, experiment.dataset
        assert spec is not None
        super().__init__(store, dataset, experiment.observer, spec.label, spec.packages)
        self.spec, self.depth, self.options = spec, experiment.depth, experiment.options
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
        again = self.options.on_error == "stop" or self.options.retry_failed
        if again and spec.rank is None:
            done = {query_id: r for query_id, r in done.items() if r.error is None}
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
            parts = self._parts(retriever, todo)
            self.repeat_notes()
            self.report(_notes_on_distractors(retriever, dataset))
            done |= self._ranked(retriever, parts, append, len(done))
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

    def _parts(self, retriever: RetrieverLike, todo: Sequence[Query]) -> Sequence[Part]:
        """Return the corpus with the queries; or each database, where that is what is searched."""
        if getattr(retriever, "scope", "corpus") == "corpus":
            return [(self.dataset.corpus, todo)]
        if self.options.latency:
            raise ConfigError(
                f"latency={self.options.latency}: {self.spec.label} makes an index for each "
                "database, so single queries cannot be timed; leave the option out"
            )
        return _by_database(self.dataset, todo)

    def _ranked(
        self,
        retriever: RetrieverLike,
        parts: Sequence[Part],
        append: Append[Retrieval],
        n_done: int,
    ) -> dict[str, Retrieval]:
        """Embed each part of the corpus, and ask its queries."""
        rankings: dict[str, Retrieval] = {}
        seconds, watch = 0.0, CacheWatch()
        caches, notes = set[str](), dict[str, None]()
        try:
            for corpus, queries in parts:
                if not len(corpus) and queries:
                    database = queries[0].database_id
                    what = f"the database {database!r} has no tables here, so {len(queries)}"
                    self.observer.warning(f"{self.where}: {what} queries about it find none")
                    rankings |= self._given(_no_table, queries, append)
                    continue
                try:
                    seconds += self._embed(retriever, corpus)
                    caches |= set(watch.used())
                    embed = Took(seconds, sorted(caches))
                    n = n_done + len(rankings)
                    rankings |= self._asked(retriever, queries, corpus, append, embed, watch, n)
                finally:
                    notes |= dict.fromkeys(self._notes_of(retriever))
        finally:
            since = f"from query {n_done + 1:,} on: " if n_done and parts[0][1] else ""
            self.report([since + note for note in notes])
        return rankings

    def _notes_of(self, retriever: RetrieverLike) -> list[str]:
        """Return the retriever's own notes; none where it fails, as it may after a failure."""
        notes = getattr(retriever, "notes", None)  # users' own may lack it
        try:
            with plugin_errors(f"retriever {self.spec.label}", "notes"):
                return list(map(str, notes())) if callable(notes) else []
        except PluginError as error:
            self.observer.warning(str(error))
            return []

    def _embed(self, retriever: RetrieverLike, corpus: Corpus) -> float:
        """Have the corpus embedded; return the seconds that it took."""
        self.observer.stage(f"{self.spec.label}: embed {self.dataset.info.name}")
        where = f"embed_corpus on {self.where}"
        with plugin_errors(f"retriever {self.spec.label}", where), times.worked() as took:
            retriever.embed_corpus(corpus.handed_out())
        return took[0]

    def _asked(
        self,
        retriever: RetrieverLike,
        todo: Sequence[Query],
        corpus: Corpus,
        append: Append[Retrieval],
        embed: Took,
        watch: CacheWatch,
        n_done: int,
    ) -> dict[str, Retrieval]:
        """Ask queries batch by batch; end at the first failure, unless failures are recorded."""
        self.observer.stage(f"{self.spec.label}: retrieve", total=len(todo))
        rankings: dict[str, Retrieval] = {}
        seconds, size = 0.0, contract.batch_size(retriever)
        stop = self.options.on_error != "record" and not self.options.retry_failed
        try:
            for start in range(0, len(todo), size):
                batch = todo[start : start + size]
                with times.worked() as took:
                    retrievals = contract.retrieve(
                        retriever,
                        batch,
                        self.depth,
                        corpus.shuffled,
                        stop,
                        self.spec.reads_gold,
                    )
                seconds += took[0]
                failures = (i for i, r in enumerate(retrievals) if r.error is not None)
                end = next(failures, None) if stop else None
                append(retrievals[:end])
                rankings.update((retrieval.query_id, retrieval) for retrieval in retrievals[:end])
                self.observer.advance(len(retrievals[:end]))
                if end is not None:
                    raise self._fault(batch[end], retrievals[end], n_done + len(rankings))
        finally:
            self._record_times(embed, Took(seconds, watch.used(), len(rankings)))
        return rankings

    def _fault(self, query: Query, retrieval: Retrieval, n_kept: int) -> PluginError:
        problem, line_of_user = split_place(str(retrieval.error))
        kept = f"The {n_kept:,} queries that are answered are kept in {self.store.folder}. "
        fault = PluginError(
            f"retriever {self.spec.label} failed on query {query.id!r} of {self.where}: "
            f"{problem}\nThe query is {query.text[:200]!r}.\n"
            f"{kept if n_kept else ''}Fix the retriever and run again, or go on past failures, "
            "scored 0, with on_error='record' (on the command line --on-error record, in a "
            f"sweep's file on_error: record).{line_of_user}"
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
        with plugin_errors(name, "retrieve, of a single query"), cache_use.turned_off():
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


def _no_table(query: Query, _k: int) -> Retrieval:
    return Retrieval(query.id, ())


def _mixed_in(distractors: Distractors) -> MixedIn:
    """Return distractors, and the near-copies among them, as a manifest lists them."""
    near_copies = tuple(
        {"id": str(copy.id), "of": str(copy.gold), "similarity": copy.similarity}
        for copy in distractors.near_copies
    )
    ids = tuple(map(str, distractors.ids))
    return MixedIn(spec=distractors.spec, n=len(ids), ids=ids, near_copies=near_copies or None)


def _notes_on_distractors(retriever: RetrieverLike, dataset: Dataset) -> list[str]:
    """Return a note where databases are searched and none of them has a distractor."""
    databases = {query.database_id for query in dataset.queries}
    drawn = {table_id.database_id for mixed_in in dataset.distractors for table_id in mixed_in.ids}
    if not drawn or getattr(retriever, "scope", "corpus") == "corpus" or databases & drawn:
        return []
    return [
        "no distractor is in the database of a question, so none can be found: leave "
        f"--{SEARCH_WITHIN} out"
    ]


def _by_database(dataset: Dataset, queries: Sequence[Query]) -> list[Part]:
    """Return the tables of each database that queries are about, with these queries.

    The corpus of a database without tables is empty.
    """
    queries_of: dict[str, list[Query]] = defaultdict(list)
    for query in queries:
        if query.database_id == NO_DATABASE:
            raise ConfigError(
                f"query {query.id!r} of {dataset.info.name} {dataset.split} is about no database, "
                f"so there is nothing to search within: leave --{SEARCH_WITHIN} out"
            )
        queries_of[query.database_id].append(query)
    tables: dict[str, list[TableId]] = defaultdict(list)
    for table_id in dataset.corpus.ids:
        tables[table_id.database_id].append(table_id)
    return [
        (MemoryCorpus(dataset.corpus[table_id] for table_id in tables[database]), of_database)
        for database, of_database in queries_of.items()
    ]
