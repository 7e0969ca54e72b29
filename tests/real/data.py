"""Where the real data lies."""

import os

import pytest

from tests.builders import ROOT

DATA = (ROOT / os.environ.get("TARGET_BENCH_DATA", "../shared/data")).resolve()

needs_data = pytest.mark.skipif(
    not all((DATA / name).is_dir() for name in ("ottqa", "fetaqa", "tabfact")),
    reason=f"no real data in {DATA} (set TARGET_BENCH_DATA)",
)
