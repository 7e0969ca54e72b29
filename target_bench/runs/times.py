"""The times of a run and where it ran: what its manifest says of them, and which may be shown.

A time in which anything came out of a cache is none of the system's: a dense retriever whose
embeddings are recorded takes no time for its model. It stays in the manifest, with the names of the
caches, and is shown nowhere.
"""

import builtins
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock, local
from typing import Any, Literal, NamedTuple

from target_bench.core.registry import installed_version
from target_bench.runs.manifest import Manifest

STAGES = ("embed_corpus", "retrieve", "generate")
"""The stages whose seconds are the system's own; those of loading and scoring are the harness's."""

LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class ColdTimes:
    """The times of a run that may be shown."""

    # stage -> wall-clock seconds; of ``STAGES`` those that are cold
    seconds: Mapping[str, float] = field(default_factory=dict)
    timed_queries: int = 0  # how many queries ``seconds["retrieve"]`` covers
    timed_answers: int = 0  # how many queries ``seconds["generate"]`` covers
    # milliseconds of single queries, where measured and cold
    latency: Mapping[str, Any] | None = None
    # stage, or ``latency`` -> why its time is not shown
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def index(self) -> float | None:
        """Seconds of the whole index."""
        return self.seconds.get("embed_corpus")

    @property
    def retrieve(self) -> float | None:
        """Milliseconds a query, in batches."""
        return self._per_query("retrieve", self.timed_queries)

    @property
    def generate(self) -> float | None:
        """Milliseconds an answer."""
        return self._per_query("generate", self.timed_answers)

    def _per_query(self, stage: str, n: int) -> float | None:
        seconds = self.seconds.get(stage)
        return 1000 * seconds / n if seconds and n else None

    def cell(self, stage: str) -> str:
        """Milliseconds per query of a stage; blank if nothing was timed, a dash if not cold."""
        milliseconds = self.generate if stage == "generate" else self.retrieve
        if milliseconds is None:
            return "–" if stage in self.left_out else ""
        return f"{milliseconds:.2f}"


def cold(manifest: Manifest) -> ColdTimes:
    """Return the times in a manifest that may be shown.

    Rankings and answers that were not computed (a mode, a file) have no times.
    """
    seconds, latency = dict(manifest.seconds), manifest.latency_ms
    left_out = {}
    for stage in (*STAGES, LATENCY):
        if stage not in seconds and (stage != LATENCY or latency is None):
            continue
        identity = manifest.identity
        plugin = identity.generator if stage == "generate" else identity.own_retriever
        plugin_class = (plugin or {}).get("class")  # none where no model is asked
        why = _why_not(manifest, stage, plugin_class) if plugin_class is not None else ""
        if why is None:
            continue
        if why:
            left_out[stage] = why
        seconds.pop(stage, None)
        latency = None if stage == LATENCY else latency
    return ColdTimes(
        seconds,
        manifest.timed_queries or 0 if "retrieve" in seconds else 0,
        manifest.timed_answers or 0 if "generate" in seconds else 0,
        latency,
        left_out,
    )


def _why_not(manifest: Manifest, stage: str, plugin_class: str) -> str | None:
    """Return why the time of a stage is not shown; None if it is cold."""
    caches = manifest.from_caches.get(stage)
    if caches is None:
        return "not said what came from a cache"
    if caches:
        replayed = plugin_class == "Replay"
        return "answers read from a file" if replayed else f"from a cache ({', '.join(caches)})"
    answered = manifest.timed_answers or 0
    if stage == "generate" and answered < (manifest.queries or 0):
        return f"{answered} answers of it were timed"
    return None


def left_out_note(
    runs: Iterable[Mapping[str, str]], stages: Sequence[str] = (*STAGES, LATENCY)
) -> str | None:
    """Return the note below a table in which times are left out, or None."""
    why = dict.fromkeys(
        left_out[stage] for left_out in runs for stage in stages if stage in left_out
    )
    return f"– is a time that is not shown: {'; '.join(why)}." if why else None


class Took(NamedTuple):
    """How long a stage took this time."""

    seconds: float  # wall-clock
    # the caches that something in it came out of; none if it is cold
    from_caches: Sequence[str] = ()
    queries: int = 0  # how many queries it covers


def add_times(
    manifest: Manifest,
    counter: Literal["timed_queries", "timed_answers"],
    stages: Mapping[str, Took],
) -> dict[str, Any]:
    """Return the manifest's entries for stages that took this long."""
    seconds, from_caches = dict(manifest.seconds), dict(manifest.from_caches)
    n: int = getattr(manifest, counter) or 0
    for stage, (took, caches, queries) in stages.items():
        if stage == "load":
            seconds[stage] = round(took, 6)
        elif stage == "embed_corpus":
            # A cold time stays where the index came out of a cache this time.
            if not caches or from_caches.get(stage) != []:
                seconds[stage], from_caches[stage] = round(took, 6), sorted(caches)
        elif queries:  # these add up over all times that work went on
            seconds[stage] = round(seconds.get(stage, 0.0) + took, 6)
            from_caches[stage] = sorted({*from_caches.get(stage, ()), *caches})
            n += queries
    return {"seconds": seconds, counter: n, "from_caches": from_caches}


class _ImportTimer:
    """Counts the seconds of imports in the threads whose work is timed.

    One for all threads: of two that replace ``__import__`` the last to end would leave the hook of
    the other behind.
    """

    def __init__(self) -> None:
        self._lock, self._n_works = Lock(), 0
        self._local = local()  # in each thread: the seconds of its works, the innermost last
        self._import: Any = None

    def begin(self, seconds: list[float]) -> None:
        with self._lock:
            if not self._n_works:
                self._import, builtins.__import__ = builtins.__import__, self._import_untimed
            self._n_works += 1
        self._local.works = [*getattr(self._local, "works", ()), seconds]

    def end(self, seconds: list[float]) -> None:
        works = getattr(self._local, "works", ())
        self._local.works = [each for each in works if each is not seconds]
        with self._lock:
            self._n_works -= 1
            if not self._n_works:
                builtins.__import__ = self._import

    def _import_untimed(self, *args: Any, **more: Any) -> Any:
        works = getattr(self._local, "works", ())
        self._local.works, start = [], time.perf_counter()  # inner imports are part of this one
        try:
            return self._import(*args, **more)
        finally:
            self._local.works = works
            for seconds in works:
                seconds[0] -= time.perf_counter() - start


_imports = _ImportTimer()


@contextmanager
def time_work() -> Iterator[list[float]]:
    """Give a list that holds the seconds of the work, without imports of modules in this thread.

    Libraries are imported when they are first needed, which can take longer than an index.
    """
    seconds = [-time.perf_counter()]
    _imports.begin(seconds)
    try:
        yield seconds
    finally:
        _imports.end(seconds)
        seconds[0] = max(0.0, seconds[0] + time.perf_counter())


_RECORDED = (
    "target-bench", "numpy", "scipy", "scikit-learn", "bm25s", "PyStemmer", "ir-measures",
    "pytrec-eval-terrier", "pyarrow", "duckdb", "sqlglot", "sacrebleu", "rouge-score", "torch",
    "transformers", "sentence-transformers", "faiss-cpu", "faiss-gpu-cu12", "openai",
)  # fmt: skip
USED = "used_packages"
"""The entry of an environment with the versions of the packages that the run depends on."""

SOURCES = "sources"
"""The entry of an environment with a hash of the source of each built-in class of the run."""

_THREAD_VARIABLES = tuple(f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "RAYON"))
_GIT_SECONDS = 2.0
_GIT_FRESH = 10.0  # seconds for which git is not asked again: a command makes dozens of runs


def now() -> str:
    """Return the local time with its offset, as ``2026-05-04T10:30:00.125+02:00``."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def environment(used: Mapping[str, str]) -> dict[str, Any]:
    """Return interpreter, host, processors, threads, installed packages, the user's git commit."""
    affinity = getattr(os, "sched_getaffinity", None)
    versions = {name: installed_version(name) for name in _RECORDED}
    return {
        "python": sys.version.split()[0],
        "sqlite": sqlite3.sqlite_version,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "host": platform.node(),
        "processors": os.cpu_count(),
        "usable_processors": len(affinity(0)) if affinity else os.cpu_count(),
        "devices": _list_devices(),
        "threads": {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
        "packages": {name: version for name, version in versions.items() if version is not None},
        USED: dict(used),
        "git": _describe_commit(os.path.realpath("."), int(time.monotonic() / _GIT_FRESH)),
    }


def _list_devices() -> list[str]:
    """Return the accelerators' names, from torch where it is imported, else from the driver."""
    torch = sys.modules.get("torch")
    if torch is not None:
        with suppress(Exception):  # a driver that does not fit raises anything
            if torch.cuda.is_available():
                return [*map(torch.cuda.get_device_name, range(torch.cuda.device_count()))]
    devices = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        with suppress(OSError):
            text = path.read_text(encoding="utf-8")
            devices += re.findall(r"^Model:\s*(.*\S)", text, re.MULTILINE)
    return devices


@lru_cache(maxsize=1)
def _describe_commit(folder: str, _fresh: int) -> dict[str, Any] | None:
    """Return the commit of a folder, and whether tracked files changed since; None without one."""
    git = shutil.which("git")
    if git is None:
        return None
    words = ["--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    with suppress(OSError, subprocess.SubprocessError):  # no repository, or it takes too long
        described = subprocess.run(  # noqa: S603 (a program and arguments of ours)
            [git, *words], cwd=folder, capture_output=True, timeout=_GIT_SECONDS, check=True
        ).stdout.decode()
        commit, dirty, _ = described.partition("-dirty")
        return {"commit": commit.strip(), "dirty": bool(dirty)}
    return None
