"""The commit of the working folder, for the manifest of a run."""

import os
import shutil
import subprocess
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

_SECONDS = 2.0
_FRESH = 10.0  # seconds for which git is not asked again: a command makes dozens of runs


def git_state() -> dict[str, Any] | None:
    """Return the commit of the working folder, and whether tracked files were changed since.

    None without git or outside a repository. What git says holds for ten seconds.
    """
    try:
        folder = Path.cwd()
    except OSError:  # it was removed
        return None
    if "GIT_DIR" in os.environ or any((f / ".git").exists() for f in (folder, *folder.parents)):
        return _said_by_git(folder, int(time.monotonic() / _FRESH))
    return None


@lru_cache(maxsize=1)
def _said_by_git(folder: Path, moment: int) -> dict[str, Any] | None:  # noqa: ARG001 (part of the key)
    commit = _asked_git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _asked_git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changed is None else bool(changed)}


def _asked_git(folder: Path, *arguments: str) -> str | None:
    """Return the output of git; None without git, outside a repository, or after a time limit."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 (a program and arguments of ours)
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
