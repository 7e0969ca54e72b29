"""The processors that this process may use."""

import os


def count_processors() -> int:
    """Return how many processors this process may use, ``$OMP_NUM_THREADS`` at most."""
    n = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        n = len(os.sched_getaffinity(0))
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(n, int(allowed))) if allowed.isdigit() else n
