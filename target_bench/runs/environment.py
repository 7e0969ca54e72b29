"""The environment of a run: interpreter, machine, packages and the user's git commit."""

import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from target_bench.core.registry import installed_version

_RECORDED = (
    "target-bench", "numpy", "scipy", "scikit-learn", "bm25s", "PyStemmer", "ir-measures",
    "pytrec-eval-terrier", "pyarrow", "duckdb", "sqlglot", "sacrebleu", "rouge-score", "torch",
    "transformers", "sentence-transformers", "faiss-cpu", "faiss-gpu-cu12", "openai",
)  # fmt: skip
_THREAD_VARIABLES = tuple(f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "RAYON"))
_GIT_SECONDS = 2.0
_GIT_FRESH = 10.0  # seconds for which git is not asked again: a command makes dozens of runs


def format_now() -> str:
    """Return the local time with its offset, as ``2026-05-04T10:30:00.125+02:00``."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def describe_environment(used_packages: Mapping[str, str]) -> dict[str, Any]:
    """Return interpreter, host, processors, threads, installed packages, the user's git commit.

    ``used_packages`` are those that the result depends on, with their versions.
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
        "devices": _list_devices(),
        "threads": {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
        "packages": {name: version for name, version in versions.items() if version is not None},
        "used_packages": dict(used_packages),
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
