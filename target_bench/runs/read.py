"""A stored run as it is read back, for comparisons, pictures, reports and submissions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import free_lock
from target_bench.core.metric import AnswerCounts, Counts, Score
from target_bench.core.schema import Retrieval
from target_bench.metrics.run_scores import headline
from target_bench.runs import record_log
from target_bench.runs.find import run_folders
from target_bench.runs.manifest import Asked, Identity, Manifest, key_of
from target_bench.runs.manifest_checks import read_manifest
from target_bench.runs.measured import (
    Floats,
    Measured,
    StoredScores,
    Tables,
    check_tables,
    read_scores,
    read_tables,
)
from target_bench.runs.record_log import Answered
from target_bench.runs.times import ColdTimes, cold

LOGS = ("retrieval.jsonl", "generations.jsonl", "judgements.jsonl")
"""The files of a run that hold one line per query."""

RunStatus = Literal[
    "finished", "running", "unfinished", "failed", "interrupted", "damaged", "unreadable"
]
"""How a stored run stands.

``finished``: it has scores. ``running``: a process works on it. ``unfinished``: none does, and the
same command goes on with it. ``failed``, ``interrupted``: an error or the user (Ctrl-C) ended the
last work on it; the same command goes on with it. ``damaged``: a file is not what was written.
``unreadable``: its manifest or its scores cannot be read.
"""


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A stored run; ``read_run`` and ``list_runs`` make it. Every file is read when it is needed.

    What needs scores raises ``StoreError`` as long as the run has none; see ``is_scored``.

    Attributes:
        folder: the run folder.
        asked_again: the words of a later command that found this run and made nothing, as of a
            sweep; None where those of the manifest hold.
    """

    folder: Path
    asked_again: Asked | None = None

    def __repr__(self) -> str:
        return f"StoredRun({str(self.folder)!r})"

    @cached_property
    def manifest(self) -> Manifest:
        """What was run on what, and what was recorded on the way.

        Raises:
            StoreError: it cannot be read.
        """
        return read_manifest(self.folder)

    @property
    def id(self) -> str:
        """The hash of the identity, with which the folder's name ends."""
        return key_of(self.folder) or self.folder.name

    @property
    def identity(self) -> Identity:
        """All that can change its result."""
        return self.manifest.identity

    @property
    def asked(self) -> Asked:
        """The words of the command."""
        return self.asked_again or self.manifest.asked

    @property
    def task(self) -> str:
        """Short name of its task."""
        return self.identity.task

    @property
    def corpus(self) -> str:
        """Lower-case name of its corpus."""
        return self.identity.corpus

    @property
    def split(self) -> str:
        """Full name of its split."""
        return self.identity.split

    @property
    def label(self) -> str:
        """What ranked, and what answered if anything did."""
        return self.asked.label

    @property
    def has_answers(self) -> bool:
        """Whether it is a run of answers, built on the rankings of another run."""
        return self.identity.has_answers

    @property
    def is_scored(self) -> bool:
        """Whether there are scores."""
        return (self.folder / "scores.json").exists()

    @cached_property
    def status(self) -> RunStatus:
        """How it stands; every byte of its files is read for this, once."""
        try:
            recorded = self.manifest.status
            if self.is_scored:
                self._scored  # noqa: B018 (whether it can be read)
        except StoreError:
            begun = (self.folder / "manifest.json").exists()
            return "unreadable" if begun else "unfinished"
        if self.problem is not None:
            return "damaged"
        if recorded == "running":
            with free_lock(self.folder / "lock") as free:
                return "unfinished" if free else "running"
        if recorded in ("failed", "interrupted"):
            return recorded
        return "finished" if self.is_scored else "unfinished"

    @property
    def error(self) -> str | None:
        """The error that ended the last work on it, or None."""
        return self.manifest.error

    @cached_property
    def problem(self) -> str | None:
        """The first damage that its name and its seals show, or None.

        Every byte is read but no line is parsed, so it takes a fraction of the time of
        ``target-bench runs fsck``, which looks for missing lines and for scores of other answers
        as well.
        """
        if not (self.folder / "manifest.json").exists():
            return None
        try:
            mismatch = identity_problem(self)
            if mismatch is not None:
                return mismatch
            if self.is_scored:
                self._scored  # noqa: B018 (whether it can be read)
                check_tables(self.folder, self.manifest.tables)
            for name in LOGS:
                record_log.check_seals(self.folder / name)
        except StoreError as error:
            return str(error)
        return None

    @cached_property
    def _scored(self) -> StoredScores:
        return read_scores(self.folder)

    @property
    def scores(self) -> Mapping[str, Score]:
        """Metric name -> score, in the order in which they are recorded."""
        return self._scored.scores

    @property
    def headline(self) -> str:
        """The name of the one metric that stands for the run.

        Raises:
            StoreError: there is none, because no query has a reference.
        """
        if not self.scores:
            raise StoreError(
                f"{self.folder}: no query has a reference, so there are no scores; target-bench "
                "report shows runs side by side without them"
            )
        return headline(self.scores)

    @property
    def counts(self) -> Counts:
        """The denominators of the rankings."""
        return self._scored.counts

    @property
    def answer_counts(self) -> AnswerCounts | None:
        """The denominators of the answers; None for a run of rankings."""
        return self._scored.answers

    @property
    def denominators(self) -> Mapping[str, Any]:
        """All denominators by name; those of the answers where rankings have one of this name."""
        answers = self.answer_counts.to_json() if self.answer_counts is not None else {}
        return {**self.counts.to_json(), **answers}

    @property
    def report(self) -> Mapping[str, Any]:
        """What else the task says of the answers; empty where it says nothing."""
        return self._scored.report

    @property
    def n_queries(self) -> int:
        """How many queries were asked."""
        return (self.answer_counts or self.counts).asked

    @property
    def n_unlabelled(self) -> int:
        """How many queries have no reference."""
        return (self.answer_counts or self.counts).unlabelled

    @property
    def n_scored(self) -> int:
        """How many queries the scores are over at most: without any reference, all or none."""
        labelled = self.n_queries - self.n_unlabelled
        return labelled or (self.n_queries if self.scores else 0)

    @property
    def n_failed(self) -> int:
        """How many of them failed."""
        return (self.answer_counts or self.counts).failed

    @cached_property
    def _tables(self) -> Tables:
        check_tables(self.folder, self.manifest.tables)
        return read_tables(self.folder, self.n_scored)

    @property
    def query_ids(self) -> Sequence[str]:
        """The queries, sorted by id.

        Raises:
            StoreError: the tables of values cannot be read, or are of other scores.
        """
        return self._tables.query_ids

    @property
    def slices(self) -> Mapping[str, Sequence[Any]]:
        """Slice name -> the value of every query, as ``query_ids`` has them."""
        return self._tables.slices

    @cached_property
    def per_query(self) -> Mapping[str, Floats]:
        """Metric name -> (n,) value of each query alone; NaN where the metric is not over it.

        Raises:
            StoreError: what is stored are not numbers.
        """
        return self._tables.every(self._tables.values, self.folder / "per_query.parquet")

    @cached_property
    def statistics(self) -> Mapping[str, Floats]:
        """Metric name -> (n, m) what each query adds to the score; sums of rows give scores.

        Raises:
            StoreError: what is stored are not numbers.
        """
        return self._tables.every(self._tables.statistics, self.folder / "statistics.parquet")

    def measured(self, metric: str) -> Measured:
        """Return the contributions of the queries to a metric.

        Raises:
            ConfigError: the run has no such metric.
            StoreError: what is stored does not give the score.
        """
        if metric not in self.scores or metric not in self._tables.metrics:
            rankings = self.asked.retrieval_run
            elsewhere = f". Its rankings were scored in {rankings}" if rankings else ""
            near = [name for name in self.scores if name.startswith(f"{metric}[")]
            hint = f". Did you mean {' or '.join(near)}? There" if near else "; there"
            raise ConfigError(
                f"{self.folder.name}: no metric {metric!r}{hint} are {', '.join(self.scores)}"
                + elsewhere
            )
        return self._tables.measured(self.folder, metric, self.scores[metric])

    @cached_property
    def retrieval(self) -> "StoredRun":
        """The run of the rankings: the run itself, or the one that its answers are built on."""
        name = self.asked.retrieval_run
        return self if name is None else StoredRun(self.folder.parent / name)

    @cached_property
    def rankings(self) -> Mapping[str, Retrieval]:
        """Query id -> what was retrieved, by the run that answers are built on.

        Raises:
            StoreError: a line is damaged.
        """
        return record_log.read_rankings(self.retrieval.folder / "retrieval.jsonl")

    @cached_property
    def answers(self) -> Mapping[str, Answered]:
        """Query id -> what was answered; empty for a run of rankings.

        Raises:
            StoreError: a line is damaged.
        """
        return record_log.read_answers(self.folder / "generations.jsonl")

    @cached_property
    def judgements(self) -> Mapping[str, Mapping[str, Any]]:
        """Query id -> how its answer was judged; empty where nothing was.

        Raises:
            StoreError: a line is damaged.
        """
        found = record_log.read_lines(
            self.folder / "judgements.jsonl", lambda one: (one["query_id"], one)
        )
        return dict(found)

    @property
    def own_times(self) -> ColdTimes:
        """The times of its own stages that may be shown, without those of other runs."""
        return cold(self.manifest)

    @property
    def times(self) -> ColdTimes:
        """The times that may be shown, those of the rankings it is built on included."""
        if self.retrieval is self:
            return self.own_times
        return self.retrieval.own_times.with_answers(self.own_times)


def read_run(folder: str | Path) -> StoredRun:
    """Return a stored run, finished or not.

    Args:
        folder: the run folder.

    Raises:
        StoreError: it is not a run folder, or its manifest cannot be read.
    """
    run = StoredRun(Path(folder))
    run.manifest  # noqa: B018 (it is read here, and an error is raised here)
    return run


def list_runs(root: str | Path = "runs") -> list[StoredRun]:
    """Return all runs of a folder by task, corpus and name, those with unreadable manifests first.

    A run that cannot be read is listed too: its ``status`` is ``unreadable``, and its ``problem``
    says why.

    Args:
        root: the folder of all runs.

    Raises:
        StoreError: there is no such folder.
    """
    return sorted(map(StoredRun, run_folders(Path(root))), key=_place)


def _place(run: StoredRun) -> tuple[str, str, str]:
    try:
        return run.task, run.corpus, run.folder.name
    except StoreError:
        return "", "", run.folder.name


def identity_problem(run: StoredRun) -> str | None:
    """Return why a run's identity does not match its folder, or its rankings are missing, or None.

    Raises:
        StoreError: the manifest cannot be read.
    """
    key, rankings = run.identity.key, run.asked.retrieval_run
    if key != key_of(run.folder):
        return (
            f"manifest.json: its identity has the hash {key}, but the folder is named "
            f"{run.folder.name}; the manifest was edited or moved"
        )
    if rankings and not (run.folder.parent / rankings / "manifest.json").is_file():
        return f"the run of its rankings is missing: {rankings}"
    return None
