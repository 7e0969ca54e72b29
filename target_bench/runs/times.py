"""The times of a run and where it ran: what its manifest says of them, and which may be shown.

A time in which anything came out of a cache is none of the system's: a dense retriever whose
embeddings are recorded takes no time for its model. It stays in the manifest, with what came from
where, and is shown nowhere.
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
from threading import get_ident
from typing import Any

from target_bench.core.registry import installed_version
from target_bench.runs.manifest import Manifest

STAGES = ("embed_corpus", "retrieve", "generate")
"""The stages whose seconds are the system's own; those of loading and scoring are the harness's."""

LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class Took:
    """How long a stage took this time.

    Attributes:
        seconds: wall-clock.
        from_caches: the caches that something in it came out of; none if it is cold.
        queries: how many queries it covers.
    """

    seconds: float
    from_caches: Sequence[str] = ()
    queries: int = 0


@dataclass(frozen=True, slots=True)
class ColdTimes:
    """The times of a run that may be shown.

    Attributes:
        seconds: stage -> wall-clock seconds; of ``STAGES`` those that are known to be cold.
        timed_queries: how many queries ``seconds["retrieve"]`` covers.
        timed_answers: how many queries ``seconds["generate"]`` covers.
        latency: milliseconds of single queries, where measured and known to be cold.
        left_out: stage, or ``latency`` -> why its time is not shown.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    timed_queries: int = 0
    timed_answers: int = 0
    latency: Mapping[str, Any] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def index(self) -> float | None:
        """Seconds of the whole index."""
        return self.seconds.get("embed_corpus")

    @property
    def retrieve(self) -> float | None:
        """Milliseconds a query, in batches."""
        return _each(self.seconds.get("retrieve"), self.timed_queries)

    @property
    def generate(self) -> float | None:
        """Milliseconds an answer."""
        return _each(self.seconds.get("generate"), self.timed_answers)

    def cell(self, stage: str) -> str:
        """Milliseconds per query of a stage; blank if nothing was timed, a dash if not cold."""
        milliseconds = self.generate if stage == "generate" else self.retrieve
        if milliseconds is None:
            return "–" if stage in self.left_out else ""
        return f"{milliseconds:.2f}"

    def with_answers(self, answers: "ColdTimes") -> "ColdTimes":
        """Return the times of a retrieval and those of the answers that are built on it."""
        return ColdTimes(
            {**self.seconds, **answers.seconds},
            self.timed_queries,
            answers.timed_answers,
            self.latency,
            {**self.left_out, **answers.left_out},
        )


def cold(manifest: Manifest) -> ColdTimes:
    """Return the times in a manifest that may be shown.

    Rankings and answers that were not computed (a mode, a file) have no times.
    """
    seconds, latency = dict(manifest.seconds), manifest.latency_ms
    left_out = {}
    for stage in (*STAGES, LATENCY):
        if not (latency is not None if stage == LATENCY else stage in seconds):
            continue
        plugin = _plugin_of(manifest, stage)
        computed = "class" in plugin
        why = _why_not(manifest, stage, plugin) if computed else ""
        if why:
            left_out[stage] = why
        if why or not computed:
            seconds.pop(stage, None)
            latency = None if stage == LATENCY else latency
    return ColdTimes(
        seconds,
        manifest.timed_queries or 0 if "retrieve" in seconds else 0,
        manifest.queries or 0 if "generate" in seconds else 0,
        latency,
        left_out,
    )


def _why_not(manifest: Manifest, stage: str, plugin: Mapping[str, Any]) -> str:
    """Return why the time of a stage is not shown; empty if it is cold."""
    if stage not in manifest.from_caches:
        return "not said what came from a cache"
    caches = manifest.from_caches[stage]
    if caches:
        replayed = plugin.get("class") == REPLAY
        return "answers read from a file" if replayed else f"from a cache ({', '.join(caches)})"
    answered = manifest.timed_answers or 0
    if stage == "generate" and answered != manifest.queries:
        return f"{answered} answers of it were timed"
    return ""


def _plugin_of(manifest: Manifest, stage: str) -> Mapping[str, Any]:
    """Return the identity of what a stage asks; without a class it asks no model."""
    identity = manifest.identity
    plugin = identity.generator if stage == "generate" else identity.own_retriever
    return plugin or {}


def retrieval_entries(
    manifest: Manifest, load: float, embed: Took | None, retrieve: Took | None
) -> dict[str, Any]:
    """Return the manifest's entries for a retrieval that took this long; None: it was not run.

    A cold time of the index stays where the index came out of a cache this time. Times of ranking
    add up over all times that a run was gone on with.
    """
    seconds, from_caches = dict(manifest.seconds), dict(manifest.from_caches)
    seconds["load"] = round(load, 6)
    timed = manifest.timed_queries or 0
    if embed is not None and not (embed.from_caches and from_caches.get("embed_corpus") == []):
        seconds["embed_corpus"] = round(embed.seconds, 6)
        from_caches["embed_corpus"] = sorted(embed.from_caches)
    if retrieve is not None and retrieve.queries:
        _add(seconds, from_caches, "retrieve", retrieve)
        timed += retrieve.queries
    return {"seconds": seconds, "timed_queries": timed, "from_caches": from_caches}


def generation_entries(manifest: Manifest, took: Took | None) -> dict[str, Any]:
    """Return the manifest's entries for answers that took this long; None: nothing was sent."""
    seconds, from_caches = dict(manifest.seconds), dict(manifest.from_caches)
    timed = manifest.timed_answers or 0
    if took is not None and took.queries:
        _add(seconds, from_caches, "generate", took)
        timed += took.queries
    return {"seconds": seconds, "timed_answers": timed, "from_caches": from_caches}


def latency_entries(
    manifest: Manifest, measured: Mapping[str, Any], from_caches: Sequence[str]
) -> dict[str, Any]:
    """Return the times of single queries in a manifest."""
    caches = {**manifest.from_caches, LATENCY: sorted(from_caches)}
    return {"latency_ms": measured, "from_caches": caches}


def left_out_note(
    runs: Iterable[Mapping[str, str]], stages: Sequence[str] = (*STAGES, LATENCY)
) -> str | None:
    """Return the note below a table in which times are left out, or None.

    Args:
        runs: of each run, stage -> why its time is left out.
        stages: those that the table shows.
    """
    why = dict.fromkeys(
        left_out[stage] for left_out in runs for stage in stages if stage in left_out
    )
    return f"– is a time that is not shown: {'; '.join(why)}." if why else None


def has_latency(manifest: Manifest) -> bool:
    """Return whether single queries were timed, and it is known what came out of a cache."""
    return manifest.latency_ms is not None and LATENCY in manifest.from_caches


def _add(
    seconds: dict[str, float], from_caches: dict[str, list[str]], stage: str, took: Took
) -> None:
    """Add to the time of a stage, and to the caches that something in it came out of."""
    seconds[stage] = round(seconds.get(stage, 0.0) + took.seconds, 6)
    from_caches[stage] = sorted({*from_caches.get(stage, ()), *took.from_caches})


REPLAY = "Replay"
"""The class that reads answers from a file, as identities name it."""


def _each(seconds: float | None, n: int) -> float | None:
    return 1000 * seconds / n if seconds and n else None


@contextmanager
def worked() -> Iterator[list[float]]:
    """Give a list that holds the seconds of the work, without imports of modules in this thread."""
    hooks, original, seconds = vars(builtins), builtins.__import__, [-time.perf_counter()]
    thread = get_ident()

    def timed(*args: Any, **more: Any) -> Any:
        if get_ident() != thread:
            return original(*args, **more)
        hooks["__import__"], start = original, time.perf_counter()  # inner imports are part of it
        try:
            return original(*args, **more)
        finally:
            seconds[0] -= time.perf_counter() - start
            hooks["__import__"] = timed

    try:
        hooks["__import__"] = timed
        yield seconds
    finally:
        hooks["__import__"] = original
        seconds[0] = max(0.0, seconds[0] + time.perf_counter())


_RECORDED = (
    "target-bench", "numpy", "scipy", "scikit-learn", "bm25s", "PyStemmer", "ir-measures",
    "pytrec-eval-terrier", "pyarrow", "duckdb", "sqlglot", "sacrebleu", "rouge-score", "torch",
    "transformers", "sentence-transformers", "faiss-cpu", "faiss-gpu-cu12", "openai",
)  # fmt: skip
USED = "used_packages"
"""The entry of an environment that says which packages, in which versions, a run depends on."""

_THREAD_VARIABLES = tuple(f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "RAYON"))
_GIT_SECONDS = 2.0
_GIT_FRESH = 10.0  # seconds for which it is not asked again: a command makes dozens of runs


def now() -> str:
    """Return the local time with its offset, as ``2026-05-04T10:30:00.125+02:00``."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def environment(used: Mapping[str, str]) -> dict[str, Any]:
    """Return interpreter, host, processors, threads, installed packages, the user's git commit.

    Args:
        used: package -> version of those that the plug-ins of the run use (``used_packages``).
    """
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
        "devices": _devices(),
        "threads": {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
        "packages": {name: version for name, version in versions.items() if version is not None},
        USED: dict(used),
        "git": _git(),
    }


def _devices() -> list[str]:
    """Return the accelerators' names, from torch where it is imported, else from the driver."""
    torch = sys.modules.get("torch")
    if torch is not None:
        with suppress(Exception):  # a driver that does not fit raises anything
            if torch.cuda.is_available():
                names = range(torch.cuda.device_count())
                return [str(torch.cuda.get_device_name(i)) for i in names]
    devices = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        with suppress(OSError):
            model = re.search(r"^Model:\s*(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            devices += [model[1].strip()] if model else []
    return devices


def _git() -> dict[str, Any] | None:
    """Return the commit of the working folder, and whether tracked files were changed since."""
    return _git_state(os.path.realpath("."), int(time.monotonic() / _GIT_FRESH))


@lru_cache(maxsize=1)
def _git_state(*_: object) -> dict[str, Any] | None:
    commit = _git_output("rev-parse", "HEAD")
    changed = _git_output("status", "--porcelain", "--untracked-files=no")
    if commit is None:
        return None
    return {"commit": commit, "dirty": None if changed is None else bool(changed)}


def _git_output(*arguments: str) -> str | None:
    """Return the output of git; None without git, outside a repository, or after a time limit."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 (a program and arguments of ours)
            command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
