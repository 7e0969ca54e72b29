"""What a run's timings depend on, recorded beside them."""

import os
import platform
import sys
from typing import Any

from target_bench.provenance import installed_version

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
)
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def environment() -> dict[str, Any]:
    """Interpreter, platform, processor count, thread settings and package versions."""
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "threads": {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
        "packages": {name: installed_version(name) for name in _PACKAGES},
    }
