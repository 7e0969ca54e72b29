"""The retrieval stage: every query of a split is ranked once and written to the run folder."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from target_bench.core import cache_use, contract, ranking
from target_bench.core.built_in import BOUNDS
from target_bench.core.cache_use import CacheWatch
from target_bench.core.contract import RetrieverLike, ask_if_paid, plugin_errors
from target_bench.core.credentials import masked_settings
from target_bench.core.errors import PASSED_ON, ConfigError, PluginError, StoreError
from target_bench.core.identity import (
    is_bound,
    object_label,
    plugin_identity,
    reads_gold,
    used_packages,
)
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus, Dataset, Distractors, Query, Retrieval
from target_bench.core.user_code import described, place, split_place
from target_bench.data.load import Loaded
from target_bench.harness.options import Options
from target_bench.harness.stages import index, own_database
from target_bench.harness.stages.consent import Confirm, Estimate
from target_bench.harness.stages.latency import measure
from target_bench.harness.stages.own_database import Part
from target_bench.harness.stages.recorded import begin, note_on_versions, repeat_notes, report
from target_bench.models import original_classes
from target_bench.runs import times
from target_bench.runs.manifest import MixedIn
from target_bench.runs.record_log import RANKINGS, Append
from target_bench.runs.store import Run
from target_bench.runs.times import Took

_MOST_NOTES = 100  # of a retriever, on one part of a run: notes are for a person

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
        held: the index of the experiment before, shared by those of a call.
    """

    loaded: Loaded
    retriever: RetrieverSpec | None
    options: Options
    observer: Observer
    confirm: Confirm | None = None
    held: index.HeldIndex = field(default_factory=index.HeldIndex)

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


class RetrieveStage:
    """Ranks the queries of an experiment that a run folder does not hold yet.

    Args:
        experiment: what ranks what; it has a retriever.
        store: the run folder.
    """

    def __init__(self, experiment: Experiment, store: Run) -> None:
        assert experiment.retriever is not None
        self.spec, self.dataset, self.depth = (
            experiment.retriever,
            experiment.dataset,
            experiment.depth,
        )
        self.load_seconds, self.options = experiment.loaded.seconds, experiment.options
        self.observer, self.confirm = experiment.observer, experiment.confirm
        self.store, self.held = store, experiment.held
        self.part_notes: dict[str, list[str]] = {}

    def run(self) -> tuple[dict[str, Retrieval], bool]:
        """Return the retrievals of all queries, and whether all of them were there already."""
        rankings, reused = self._retrievals()
        if self._indexes is not None and self.spec.retriever is not None:
            self._build_missing_indexes(self.spec.retriever)
        return {query.id: rankings[query.id] for query in self.dataset.queries}, reused

    def _build_missing_indexes(self, retriever: RetrieverLike) -> None:
        """Save the indexes that are not there because queries were ranked in an earlier run."""
        for corpus, _ in self._parts(retriever, self.dataset.queries):
            if len(corpus) and not self._index_folder(corpus).exists():
                self._consent(retriever, len(corpus))
                self._embed(retriever, corpus)

    def _consent(self, retriever: RetrieverLike, n_texts: int) -> None:
        estimate = partial(Estimate, self.spec.label, n_texts, None, None)
        ask_if_paid(retriever, self.confirm, estimate)

    def _retrievals(self) -> tuple[dict[str, Retrieval], bool]:
        done = RANKINGS.read(self.store.folder)
        again = self.options.on_error == "stop" or self.options.retry_failed
        if again and self.spec.rank is None:
            done = {query_id: r for query_id, r in done.items() if r.error is None}
        todo = [query for query in self.dataset.queries if query.id not in done]
        timed = self.options.latency == 0 or self.store.manifest.latency_ms is not None
        if not todo and timed and self.store.manifest.seconds:
            self._repeat_notes()
            self._note_versions(None)
            return done, True
        self._report(self._note_versions(len(done) if todo else None))
        begin(
            self.store,
            self.dataset,
            self.spec.packages,
            data=self.dataset.info.source,
            distractors=tuple(map(_mixed_in, self.dataset.distractors)),
        )
        # A folder that cannot be written is reported before the work.
        with RANKINGS.log(self.store.folder) as append:
            if self.spec.rank is not None:
                return done | self._ranked(self.spec.rank, todo, append), not todo
            if not todo and timed:  # killed after the last query
                self._repeat_notes()
                self._record_times(None, None)
                return done, True
            assert self.spec.retriever is not None
            retriever = self.spec.retriever
            self._consent(retriever, len(self.dataset.corpus) + len(todo))
            parts = self._parts(retriever, todo)
            self._repeat_notes()
            if contract.may_be_trained(retriever):
                from target_bench.models import exposure

                self._report(exposure.notes(retriever, self.dataset))
            if self.dataset.distractors:
                self._report(own_database.notes(retriever, self.dataset))
            watch = CacheWatch()
            try:
                new = self._asked(retriever, parts, append, watch, len(done))
            finally:
                n, notes = len(parts), self.part_notes
                lines = list(notes) if n == 1 else own_database.joined(notes, n)
                since = f"from query {len(done) + 1:,} on: " if done and todo else ""
                self._report([since + line for line in lines])
        if not timed:
            self._time_single_queries(retriever, self.options.latency)
        return done | new, not todo

    def _note_versions(self, n_done: int | None) -> list[str]:
        reused = f"{self.spec.label}: the rankings"
        return note_on_versions(self.store, self.spec.packages, n_done, reused, self.observer)

    def _report(self, notes: Sequence[str]) -> None:
        report(self.store, self.spec.label, notes, self.observer)

    def _repeat_notes(self) -> None:
        repeat_notes(self.store, self.spec.label, self.observer)

    def _ranked(
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
        return own_database.by_database(self.dataset, todo)

    def _asked(
        self,
        retriever: RetrieverLike,
        parts: Sequence[Part],
        append: Append[Retrieval],
        watch: CacheWatch,
        n_done: int,
    ) -> dict[str, Retrieval]:
        """Embed each part of the corpus, and ask its queries."""
        rankings: dict[str, Retrieval] = {}
        seconds, caches = 0.0, set[str]()
        sizes: list[int | None] = []
        for corpus, queries in parts:
            if not len(corpus) and queries:
                self._tell_of_no_tables(queries)
                rankings |= self._ranked(_no_table, queries, append)
                continue
            try:
                seconds += self._embed(retriever, corpus)
                sizes.append(self.held.n_bytes)
                caches |= set(watch.used())
                embed = Took(seconds, sorted(caches))
                n_kept = n_done + len(rankings)
                rankings |= self._retrieve(retriever, queries, corpus, append, embed, watch, n_kept)
            finally:
                self._collect_notes(retriever, queries)
        known = [size for size in sizes if size is not None]
        of_whole_corpus = len(parts) == 1 or not n_done  # else other parts were indexed before
        if (
            known
            and len(known) == len(sizes)
            and of_whole_corpus
            and not is_bound(self.spec.identity)
        ):
            self.store.write_manifest(index_bytes=sum(known))
        return rankings

    def _tell_of_no_tables(self, queries: Sequence[Query]) -> None:
        self.observer.warning(
            f"{self._where()}: the database {queries[0].database_id!r} has no tables here, so "
            f"{len(queries)} queries about it find none"
        )

    def _embed(self, retriever: RetrieverLike, corpus: Corpus) -> float:
        if self.held.retriever is retriever and self.held.corpus is corpus:
            cache_use.note("index in memory")
            return 0.0
        self.observer.stage(f"{self.spec.label}: embed {self.dataset.info.name}")
        where = f"embed_corpus on {self._where()}"
        with plugin_errors(f"retriever {self.spec.label}", where), times.worked() as took:
            self.held.retriever = self.held.corpus = None
            self._prepare(retriever, corpus)
            self.held.retriever, self.held.corpus = retriever, corpus
        folder = None if self._indexes is None else self._index_folder(corpus)
        self.held.n_bytes = index.size_of(retriever, folder)
        return took[0]

    def _collect_notes(self, retriever: RetrieverLike, queries: Sequence[Query]) -> None:
        """Collect the retriever's notes on a part; never raises, as the work may have failed."""
        notes = getattr(retriever, "notes", None)  # optional; users' own may lack it
        try:
            # It may yield for ever, too.
            texts = list(map(str, islice(notes(), _MOST_NOTES + 1))) if callable(notes) else []
            if len(texts) > _MOST_NOTES:
                raise ValueError(f"there are more than {_MOST_NOTES}")
        except PASSED_ON:
            raise
        except BaseException as error:
            fault = f"{described(error)}{place(error)}"
            self.observer.warning(f"{self.spec.label}: its notes cannot be read: {fault}")
            return
        for note in texts:
            self.part_notes.setdefault(note, []).extend(query.database_id for query in queries[:1])

    def _prepare(self, retriever: RetrieverLike, corpus: Corpus) -> None:
        """Have the corpus embedded, or its index read."""
        if self._indexes is None:
            retriever.embed_corpus(corpus.handed_out())
            return
        index.read_or_build(retriever, corpus, self._index_folder(corpus), self.observer)

    @property
    def _indexes(self) -> Path | None:
        """The folder of saved indexes; a bound has no index."""
        return None if is_bound(self.spec.identity) else self.options.indexes

    def _index_folder(self, corpus: Corpus) -> Path:
        assert self._indexes is not None
        label = (self.dataset.info.name, self.dataset.split, self.spec.label)
        return index.folder(self._indexes, label, self.spec.identity, corpus.fingerprint)

    def _retrieve(
        self,
        retriever: RetrieverLike,
        todo: Sequence[Query],
        corpus: Corpus,
        append: Append[Retrieval],
        embed: Took,
        watch: CacheWatch,
        n_done: int,
    ) -> dict[str, Retrieval]:
        self.observer.stage(f"{self.spec.label}: retrieve", total=len(todo))
        rankings: dict[str, Retrieval] = {}
        seconds = 0.0
        stop, size = not self._records_failures, contract.batch_size(retriever)
        try:
            for start in range(0, len(todo), size):
                batch = todo[start : start + size]
                with times.worked() as took:
                    retrievals = contract.retrieve(
                        retriever, batch, self.depth, corpus, stop, self.spec.reads_gold
                    )
                seconds += took[0]
                kept = retrievals[: self._stop_at(retrievals)]
                append(kept)
                rankings.update((retrieval.query_id, retrieval) for retrieval in kept)
                self.observer.advance(len(kept))
                if len(kept) < len(retrievals):
                    failed = batch[len(kept)], retrievals[len(kept)]
                    raise self._fault(*failed, n_done + len(rankings))
        except BaseException:
            with suppress(StoreError):  # what ended the run says more
                self._record_times(embed, Took(seconds, watch.used(), len(rankings)))
            raise
        self._record_times(embed, Took(seconds, watch.used(), len(rankings)))
        return rankings

    @property
    def _records_failures(self) -> bool:
        return self.options.on_error == "record" or self.options.retry_failed

    def _stop_at(self, retrievals: Sequence[Retrieval]) -> int | None:
        """Return the place of the failed query that ends the run, if one does."""
        if self._records_failures:
            return None
        return next((i for i, r in enumerate(retrievals) if r.error is not None), None)

    def _fault(self, query: Query, retrieval: Retrieval, n_kept: int) -> PluginError:
        problem, line_of_user = split_place(str(retrieval.error))
        kept = f"The {n_kept:,} queries that are answered are kept in {self.store.folder}. "
        fault = PluginError(
            f"retriever {self.spec.label} failed on query {query.id!r} of {self._where()}: "
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

    def _time_single_queries(self, retriever: RetrieverLike, n: int) -> None:
        self.observer.stage(f"{self.spec.label}: latency")
        queries = self.dataset.queries
        inputs: list[Any] = [q if self.spec.reads_gold else q.text for q in queries]
        measured, from_caches = measure(retriever, inputs, self.depth, n)
        caches = {**self.store.manifest.from_caches, times.LATENCY: sorted(from_caches)}
        self.store.write_manifest(latency_ms=measured, from_caches=caches)

    def _where(self) -> str:
        return f"{self.dataset.info.name} {self.dataset.split}"


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
