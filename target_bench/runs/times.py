"""The times of a run: what its manifest records, and which of them may be shown.

A time is cold if nothing in it came out of a cache. Only cold times are shown: a dense retriever
that reads recorded embeddings spends no time in its model. The others stay in the manifest, with
the names of the caches.
"""

import builtins
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, local
from typing import Any, NamedTuple

from target_bench.runs.manifest import Manifest

STAGES = ("embed_corpus", "retrieve", "generate")
"""The stages in which a system works; loading and scoring are the harness's."""

LATENCY = "latency"
"""The name, beside those of stages, of the times of single queries."""


@dataclass(frozen=True, slots=True)
class ColdTimes:
    """The times of a run that may be shown."""

    seconds: Mapping[str, float] = field(default_factory=dict)  # stage -> wall-clock seconds
    milliseconds: Mapping[str, float] = field(default_factory=dict)  # stage -> time per query
    latency: Mapping[str, Any] | None = None  # milliseconds of single queries
    left_out: Mapping[str, str] = field(default_factory=dict)  # stage, or ``latency`` -> reason

    def write_milliseconds(self, stage: str) -> str:
        """Return the time per query as text; a dash if it is left out, nothing if there is none."""
        if stage in self.milliseconds:
            return f"{self.milliseconds[stage]:.2f}"
        return "–" if stage in self.left_out else ""


def read_cold_times(manifest: Manifest) -> ColdTimes:
    """Return the times in a manifest that may be shown."""
    times: dict[str, Any] = dict(manifest.seconds)
    if manifest.latency_ms is not None:
        times[LATENCY] = manifest.latency_ms
    left_out = {}
    for stage in [stage for stage in (*STAGES, LATENCY) if stage in times]:
        identity = manifest.identity
        plugin = identity.generator if stage == "generate" else identity.retriever
        plugin_class = (plugin or {}).get("class")
        if plugin_class is None:  # nothing was computed: a bound, or rankings in a file
            del times[stage]
        elif reason := _explain_left_out(manifest, stage, plugin_class):
            del times[stage]
            left_out[stage] = reason
    latency = times.pop(LATENCY, None)
    counts = {"retrieve": manifest.timed_queries, "generate": manifest.timed_answers}
    milliseconds = {
        stage: 1000 * times[stage] / n for stage, n in counts.items() if n and times.get(stage)
    }
    return ColdTimes(times, milliseconds, latency, left_out)


def _explain_left_out(manifest: Manifest, stage: str, plugin_class: str) -> str:
    """Return why the time of a stage is left out; "" if it is cold."""
    caches = manifest.from_caches.get(stage)
    if caches and plugin_class == "Replay":
        return "answers read from a file"
    if caches:
        return f"from a cache ({', '.join(caches)})"
    n_queries = manifest.n_queries or 0
    timed = {"generate": manifest.timed_answers, "retrieve": manifest.timed_queries}
    n_timed = timed.get(stage, n_queries) or 0
    if n_timed < n_queries:  # a process was killed
        what = "answers" if stage == "generate" else "rankings"
        return f"{n_timed} of {n_queries} {what} were timed"
    return ""


def describe_left_out(
    times: Iterable[ColdTimes], stages: Sequence[str] = (*STAGES, LATENCY)
) -> str | None:
    """Return the note below a table in which times are left out, or None."""
    reasons = dict.fromkeys(
        each.left_out[stage] for each in times for stage in stages if stage in each.left_out
    )
    return f"– is a time that is not shown: {'; '.join(reasons)}." if reasons else None


class StageTime(NamedTuple):
    """The time that a stage took in this process."""

    seconds: float  # wall-clock
    from_caches: Sequence[str] = ()  # the caches that were read in it; none if it is cold
    queries: int = 0  # how many queries it covers


_COUNTERS = {"retrieve": "timed_queries", "generate": "timed_answers"}


def add_times(manifest: Manifest, stages: Mapping[str, StageTime]) -> dict[str, Any]:
    """Return the entries of a manifest with the times of these stages added."""
    seconds, from_caches = dict(manifest.seconds), dict(manifest.from_caches)
    counts: dict[str, int] = {}
    for stage, spent in stages.items():
        if stage == "load":
            seconds[stage] = round(spent.seconds, 6)
        elif stage == "embed_corpus":
            # A resumed run may read its index from a cache: the cold time of the first one stays.
            was_cold = stage in from_caches and not from_caches[stage]
            if not spent.from_caches or not was_cold:
                seconds[stage] = round(spent.seconds, 6)
                from_caches[stage] = sorted(spent.from_caches)
        elif spent.queries:  # a resumed run adds to the time of the queries before
            seconds[stage] = round(seconds.get(stage, 0.0) + spent.seconds, 6)
            from_caches[stage] = sorted({*from_caches.get(stage, ()), *spent.from_caches})
            if counter := _COUNTERS.get(stage):
                counts[counter] = (getattr(manifest, counter) or 0) + spent.queries
    return {"seconds": seconds, "from_caches": from_caches, **counts}


class _ThreadImports(local):
    """The imports of the current thread."""

    seconds = 0.0  # of all its imports while work was timed
    is_importing = False


class _ImportTimer:
    """Counts the seconds of imports while work is timed, in place of ``builtins.__import__``.

    All threads share one replacement: if two put theirs there, the one that ends last would put
    back that of the other. The first user puts it there, the last one takes it away.
    """

    def __init__(self) -> None:
        self.thread = _ThreadImports()
        self._lock, self._n_users = Lock(), 0
        self._import: Any = None  # the ``__import__`` that was there before

    def start(self) -> None:
        with self._lock:
            if not self._n_users:
                self._import, builtins.__import__ = builtins.__import__, self._timed_import
            self._n_users += 1

    def stop(self) -> None:
        with self._lock:
            self._n_users -= 1
            if not self._n_users:
                builtins.__import__ = self._import

    def _timed_import(self, *args: Any, **options: Any) -> Any:
        thread = self.thread
        if thread.is_importing:  # an import within an import, which is timed as a whole
            return self._import(*args, **options)
        thread.is_importing, start = True, time.perf_counter()
        try:
            return self._import(*args, **options)
        finally:
            thread.is_importing = False
            thread.seconds += time.perf_counter() - start


_imports = _ImportTimer()


class Stopwatch:
    """The seconds of the work in a ``with`` block, once it has ended."""

    seconds = 0.0


@contextmanager
def time_work() -> Iterator[Stopwatch]:
    """Time a ``with`` block, without the imports that its thread does in it.

    A library is imported at its first use, which can take longer than to index a corpus.
    """
    watch = Stopwatch()
    _imports.start()
    start, imported = time.perf_counter(), _imports.thread.seconds
    try:
        yield watch
    finally:
        _imports.stop()
        elapsed = time.perf_counter() - start
        watch.seconds = max(0.0, elapsed - (_imports.thread.seconds - imported))
