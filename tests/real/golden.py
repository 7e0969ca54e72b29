"""Where the golden metric vectors lie, and how they are read."""

import json
import os
from typing import Any

import pytest

from tests.builders import ROOT

GOLDEN = (ROOT / os.environ.get("TARGET_BENCH_GOLDEN", "../shared/golden")).resolve()
TOLERANCE = 1e-6

needs_golden = pytest.mark.skipif(
    not GOLDEN.is_dir(), reason=f"no golden vectors in {GOLDEN} (set TARGET_BENCH_GOLDEN)"
)

Case = dict[str, Any]


def content(name: str) -> dict[str, Any]:
    """A file of the folder; nothing when there is no folder."""
    if not GOLDEN.is_dir():
        return {"cases": [], "documents": []}
    vectors: dict[str, Any] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return vectors


def cases(name: str, kind: str) -> list[Any]:
    """The cases of one kind, as parameters of a test."""
    chosen = [case for case in content(name)["cases"] if case.get("kind", kind) == kind]
    return [pytest.param(case, id=case["id"]) for case in chosen]
