"""How many processors there are to work with."""

import os


def n_processors() -> int:
    """Return how many processors this process may use, ``$OMP_NUM_THREADS`` at most."""
    found = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(found, int(allowed))) if allowed.isdigit() else found
