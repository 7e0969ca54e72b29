"""TARGET: load -> embed_corpus -> retrieve once at the largest k -> score, all of it on disk."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from target_bench import contract, corpora, registry
from target_bench.contract import RetrieverLike
from target_bench.corpora.mixing import mixed
from target_bench.errors import ConfigError
from target_bench.interfaces import Dataset, Metric, Observer
from target_bench.memory import n_bytes
from target_bench.results import Result, Results
from target_bench.runs import run_files
from target_bench.runs.identity import plugin_identity
from target_bench.runs.store import Run
from target_bench.schema import Counts, OnError, Query, Score
from target_bench.stages.retrieve import MODES, RetrievalOptions, RetrieveStage, Subject
from target_bench.stages.score import count, score

CorpusLike = str | Path | Dataset
"""A corpus by name, by path, or loaded already."""


class TARGET:
    """The benchmark: one or more tasks, each on one or more corpora.

    Args:
        tasks: a task name (``"Table Retrieval"`` or ``"retrieval"``, in any case) for all corpora
            that serve it, or a pair of a task and a corpus or list of corpora, as in
            ``("Table Retrieval", "OTTQA")``. A corpus is a name, the path of a folder or database
            of your own (``"./tables"``), or a loaded ``Dataset``. Default: table retrieval.
        data_dir: the folder with the release files, or one with a sub-folder a corpus; default:
            ``$TARGET_BENCH_DATA``.
        out: where run folders go.
        observer: hears of progress and warnings.

    Raises:
        ConfigError: an unknown task or corpus, or a corpus that does not serve the task.
        DataError: there is nothing readable at a path.
    """

    def __init__(
        self,
        *tasks: str | tuple[str, CorpusLike | Sequence[CorpusLike]],
        data_dir: str | Path | None = None,
        out: str | Path = "runs",
        observer: Observer | None = None,
    ) -> None:
        self._pairs = [pair for task in tasks or ("retrieval",) for pair in _task_and_corpora(task)]
        self._data_dir = data_dir
        self._out = Path(out)
        self._observer = observer or Observer()
        self._loaded: dict[tuple[Any, ...], _Loaded] = {}

    def run(
        self,
        retriever: RetrieverLike | str,
        split: str | None = None,
        top_k: int | Sequence[int] = 10,
        *,
        limit: int | None = None,
        distractors: str | Sequence[str] = (),
        on_error: OnError = "stop",
        retry_failed: bool = False,
        latency: int = 0,
        memory: int | str | None = None,
        indexes: str | Path | None = None,
    ) -> Results:
        """Evaluate one retriever on every (task, corpus) pair.

        Args:
            retriever: an object with ``embed_corpus`` and ``retrieve``; or text as on the command
                line: ``"bm25:k1=0.9"``, ``"oracle"`` or ``"no-context"``.
            split: ``train``, ``validation`` (``dev``, ``val``) or ``test``; default: each corpus's
                own, the one its paper reports on.
            top_k: one cutoff or several. Retrieval runs once, at the largest.
            limit: look at the first queries only.
            distractors: tables to mix in, each as ``"ottqa:split=train,n=1000,seed=7"``: a corpus
                or the path of a folder, and which part of it. A smaller ``n`` is part of a larger.
            on_error: at a query the retriever fails on, ``stop`` (what is finished stays on disk)
                or ``record`` the failure, score it 0 and go on.
            retry_failed: ask again the queries that are recorded as failed, and no others.
            latency: time this many single queries (at most 500) in a pass after the batches.
            memory: what the retriever should keep to, in bytes or as ``"500MB"``.
            indexes: a folder of saved indexes: an index that fits is read from there, any other
                is built and saved there.

        Raises:
            ConfigError: an argument that cannot be.
            DataError: the corpus is missing or broken.
            PluginError: the retriever failed, with ``on_error="stop"`` or while indexing.
            StoreError: the run folder cannot be written or read.
        """
        cutoffs = _cutoffs(top_k)
        _check_arguments(limit, on_error, latency)
        options = RetrievalOptions(
            on_error=on_error,
            retry_failed=retry_failed,
            latency=latency,
            memory=None if memory is None else n_bytes(memory),
            indexes=None if indexes is None else Path(indexes),
        )
        subject = self._subject(retriever)
        loaded = self._load_all(split, distractors)
        return Results(
            [
                self._evaluate(task, one.limited(limit), subject, cutoffs, options)
                for task, one in loaded
            ]
        )

    def score(
        self,
        run_file: str | Path,
        split: str | None = None,
        top_k: int | Sequence[int] = 10,
        *,
        limit: int | None = None,
        distractors: str | Sequence[str] = (),
    ) -> Results:
        """Score rankings that were made elsewhere.

        Args:
            run_file: a TREC run, or JSON lines as a run folder's ``retrieval.jsonl`` holds them.
            split: as for ``run``.
            top_k: as for ``run``.
            limit: as for ``run``.
            distractors: as for ``run``.

        Raises:
            ConfigError: an argument that cannot be.
            DataError: the corpus or the run file is missing or broken, or names queries or tables
                that the corpus does not have.
            StoreError: the run folder cannot be written or read.
        """
        cutoffs = _cutoffs(top_k)
        _check_arguments(limit, "record", 0)
        path = Path(run_file)
        results = []
        for task, loaded in self._load_all(split, distractors):
            given = run_files.read(path, loaded.dataset)
            for note in given.notes:
                self._observer.warning(note)
            identity = {"run_file": given.sha256}
            subject = Subject(path.name, identity, rank=given.rank)
            options = RetrievalOptions(on_error="record")
            results.append(self._evaluate(task, loaded.limited(limit), subject, cutoffs, options))
        return Results(results)

    def _subject(self, retriever: RetrieverLike | str) -> Subject:
        label = retriever if isinstance(retriever, str) else type(retriever).__name__
        if label in MODES and isinstance(retriever, str):
            return Subject(label, {"mode": label}, rank=MODES[label].rank)
        if isinstance(retriever, str):
            retriever = registry.create("retriever", label, also=MODES)
        plugin = contract.check_methods(retriever)
        identity, warning = plugin_identity(plugin)
        if warning:
            self._observer.warning(warning)
        return Subject(label, identity, retriever=plugin)

    def _load_all(
        self, split: str | None, distractors: str | Sequence[str]
    ) -> list[tuple[str, "_Loaded"]]:
        specs = (distractors,) if isinstance(distractors, str) else tuple(distractors)
        return [(task, self._load(corpus, split, specs)) for task, corpus in self._pairs]

    def _load(
        self, corpus: CorpusLike, split: str | None, distractors: tuple[str, ...]
    ) -> "_Loaded":
        key = (id(corpus) if isinstance(corpus, Dataset) else str(corpus), split, distractors)
        if key not in self._loaded:
            self._observer.stage(f"load {_name(corpus)}")
            start = time.perf_counter()
            dataset = _dataset(corpus, split, self._data_dir, distractors)
            self._loaded[key] = _Loaded(dataset, time.perf_counter() - start)
            for note in dataset.notes:
                self._observer.warning(f"{dataset.info.name} {dataset.split}: {note}")
        return self._loaded[key]

    def _evaluate(
        self,
        task_name: str,
        loaded: "_Loaded",
        subject: Subject,
        cutoffs: list[int],
        options: RetrievalOptions,
    ) -> Result:
        dataset, depth = loaded.dataset, cutoffs[-1]
        self._warn_of_depth(dataset, depth)
        task = registry.create("task", task_name)
        metrics: list[Metric[Any]] = task.metrics(cutoffs)
        identity = _identity(task_name, dataset, subject, cutoffs, metrics)
        label = (task_name, dataset.info.name, dataset.split, subject.label)
        store = Run(self._out, label, identity)
        stage = RetrieveStage(
            subject, dataset, loaded.seconds, depth, store, options, self._observer
        )
        with store.locked(self._observer.warning):
            by_query, reused = stage.run()
            retrievals = [by_query[query.id] for query in dataset.queries]

            self._observer.stage(f"{subject.label}: score")
            start = time.perf_counter()
            query_ids = [query.id for query in dataset.queries]
            scored = score(metrics, task.examples(dataset, retrievals, depth), query_ids)
            counts = count(dataset.queries, retrievals, min(depth, len(dataset.corpus)))
            store.write_scores(_scores_file(counts, scored.scores))
            if not reused or "score" not in store.manifest["seconds"]:
                scoring = {"score": round(time.perf_counter() - start, 6)}
                store.write_manifest(seconds=store.manifest["seconds"] | scoring)
        self._warn_of_order(subject, counts)
        return Result(
            corpus=dataset.info.name,
            split=dataset.split,
            task=task_name,
            retriever=subject.label,
            generator=None,
            scores=scored.scores,
            query_ids=query_ids,
            per_query=scored.per_query,
            counts=counts,
            seconds=store.manifest["seconds"],
            timed_queries=store.manifest["timed_queries"],
            latency=store.manifest.get("latency_ms"),
            errors={r.query_id: r.error for r in retrievals if r.error is not None},
            folder=store.folder,
            reused=reused,
            data={
                "corpus": identity["corpus_fingerprint"],
                "queries": identity["queries_fingerprint"],
                "files": dict(dataset.files),
                "distractors": [distractors.spec for distractors in dataset.distractors],
            },
        )

    def _warn_of_depth(self, dataset: Dataset, depth: int) -> None:
        if depth > len(dataset.corpus):
            self._observer.warning(
                f"top_k={depth} is more than the {len(dataset.corpus)} tables of "
                f"{dataset.info.name} {dataset.split}: a ranking holds all of them at most"
            )

    def _warn_of_order(self, subject: Subject, counts: Counts) -> None:
        if counts.resorted:
            self._observer.warning(
                f"{subject.label} gave {counts.resorted} of {counts.answered} rankings in another "
                "order than their scores; they were sorted by score, higher first. Return "
                "similarities rather than distances, or ids without scores."
            )


@dataclass(frozen=True)
class _Loaded:
    """A dataset and the seconds it took to load."""

    dataset: Dataset
    seconds: float

    def limited(self, n: int | None) -> "_Loaded":
        """The same with the first n queries only."""
        if n is None:
            return self
        return replace(self, dataset=replace(self.dataset, queries=self.dataset.queries[:n]))


def _task_and_corpora(
    asked: str | tuple[str, CorpusLike | Sequence[CorpusLike]],
) -> list[tuple[str, CorpusLike]]:
    task_name, wanted = (asked, None) if isinstance(asked, str) else asked
    task = _task(task_name)
    if wanted is None:
        names = [n for n in registry.names("corpus") if task in corpora.loader(n).info.tasks]
        return [(task, name) for name in names]
    listed = [wanted] if isinstance(wanted, CorpusLike) else list(wanted)
    for corpus in listed:
        info = corpus.info if isinstance(corpus, Dataset) else corpora.loader(corpus).info
        if task not in info.tasks:
            raise ConfigError(
                f"corpus {info.name} does not serve the task {task}; it serves "
                f"{', '.join(info.tasks)}"
            )
    names_once = {_name(corpus): corpus for corpus in listed}
    return [(task, corpus) for corpus in names_once.values()]


def _name(corpus: CorpusLike) -> str:
    """What a corpus is called in messages; the same corpus has one name."""
    if isinstance(corpus, Dataset):
        return f"{corpus.info.name} {corpus.split}"
    return registry.canonical("corpus", corpus) if isinstance(corpus, str) else str(corpus)


def _dataset(
    corpus: CorpusLike,
    split: str | None,
    data_dir: str | Path | None,
    distractors: Sequence[str],
) -> Dataset:
    if not isinstance(corpus, Dataset):
        return corpora.load(corpus, split, data_dir, distractors)
    if split is not None and split != corpus.split:
        raise ConfigError(
            f"split={split!r}, but the dataset {corpus.info.name} given is its split {corpus.split}"
        )
    return mixed(corpus, distractors, data_dir)


def _task(name: str) -> str:
    """The short name of a task, from its short or full name in any case."""
    known = registry.names("task")
    for short in known:
        titles = (short, registry.resolve("task", short).title)
        if registry.normalise(name) in map(registry.normalise, titles):
            return short
    raise ConfigError(registry.unknown_name("task", name, known))


def _cutoffs(top_k: int | Sequence[int]) -> list[int]:
    cutoffs = list(top_k) if isinstance(top_k, Sequence) else [top_k]
    for k in cutoffs:
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ConfigError(f"top_k={k!r}: a cutoff is a whole number from 1")
    if not cutoffs:
        raise ConfigError("top_k is empty: name at least one cutoff")
    return sorted({int(k) for k in cutoffs})


def _check_arguments(limit: int | None, on_error: str, latency: int) -> None:
    if limit is not None and limit < 1:
        raise ConfigError(f"limit={limit}: at least 1 query is needed")
    if on_error not in get_args(OnError):
        raise ConfigError(f"on_error={on_error!r}: expected {' or '.join(get_args(OnError))}")
    if latency < 0:
        raise ConfigError(f"latency={latency}: a number of queries cannot be negative")


def _identity(
    task: str,
    dataset: Dataset,
    subject: Subject,
    cutoffs: Sequence[int],
    metrics: Sequence[Metric[Any]],
) -> dict[str, Any]:
    return {
        "task": task,
        "corpus": dataset.info.name,
        "split": dataset.split,
        "corpus_fingerprint": dataset.corpus.fingerprint,
        "queries_fingerprint": _fingerprint(dataset.queries),
        "top_k": list(cutoffs),
        "retriever": subject.identity,
        "metrics": [metric.signature for metric in metrics],
    }


def _fingerprint(queries: Sequence[Query]) -> str:
    """A hash of what is asked and what the gold tables are, whatever the order."""
    asked = sorted((query.id, query.text, tuple(sorted(query.gold))) for query in queries)
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def _scores_file(counts: Counts, scores: Mapping[str, Score]) -> dict[str, Any]:
    return {
        "counts": counts.to_json(),
        "scores": {name: value.to_json() for name, value in scores.items()},
    }
