"""The Arrow cache of loaded corpora, and the folder that everything cached lives in."""

import os
from pathlib import Path

ENVIRONMENT = "TARGET_BENCH_CACHE"
"""The variable that names the cache folder."""


def root() -> Path:
    """``$TARGET_BENCH_CACHE``, else ``target-bench`` in the user's cache folder."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "target-bench"
