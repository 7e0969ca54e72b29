"""What a run's timings, and perhaps its results, depend on besides its identity."""

import os
import platform
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from target_bench.core.registry import installed_version

_PACKAGES = (
    "target-bench",
    "numpy",
    "scipy",
    "scikit-learn",
    "bm25s",
    "PyStemmer",
    "ir-measures",
    "pytrec-eval-terrier",
    "pyarrow",
    "duckdb",
    "sqlglot",
    "sacrebleu",
    "rouge-score",
    "torch",
    "transformers",
    "sentence-transformers",
    "faiss-cpu",
    "faiss-gpu-cu12",
    "hnswlib",
    "openai",
)
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
_GIT_SECONDS = 2.0


def environment() -> dict[str, Any]:
    """Return interpreter, platform, host, processors, device, threads, packages, user's commit.

    ``packages`` holds those of ours that are installed, ``git`` the commit of the working folder
    and whether tracked files differ from it (None outside of a repository).
    """
    versions = {name: installed_version(name) for name in _PACKAGES}
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.machine(),
        "host": platform.node(),
        "processors": os.cpu_count(),
        "usable_processors": _usable(),
        "devices": _devices(),
        "threads": {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
        "packages": {name: found for name, found in versions.items() if found is not None},
        "git": _git(),
    }


def _usable() -> int | None:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _devices() -> list[str]:
    """Return the accelerators' names, from torch where it is imported, else from the driver."""
    torch = sys.modules.get("torch")
    if torch is not None:
        with suppress(Exception):  # a driver that does not fit raises anything
            if torch.cuda.is_available():
                names = range(torch.cuda.device_count())
                return [str(torch.cuda.get_device_name(i)) for i in names]
    found = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        with suppress(OSError):
            model = re.search(r"^Model:\s*(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            found += [model[1].strip()] if model else []
    return found


def _git() -> dict[str, Any] | None:
    """Return the commit of the working folder, and whether tracked files were changed since."""
    commit = _asked_git("rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _asked_git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changed is None else bool(changed)}


def _asked_git(*arguments: str) -> str | None:
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
