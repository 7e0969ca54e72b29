"""Golden vectors: the folder ``$TARGET_BENCH_GOLDEN``, by default beside the repository."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_DEFAULT = Path(__file__).parents[2].parent / "shared" / "golden"
FOLDER = Path(os.environ.get("TARGET_BENCH_GOLDEN", _DEFAULT))


@cache
def load(name: str) -> dict[str, Any]:
    """One file of vectors, or none when the folder is absent."""
    if not FOLDER.is_dir():
        return {"cases": []}
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def cases(name: str, kind: str | None = None) -> list[Any]:
    """The cases of a kind; one skipped stand-in when the folder is absent."""
    if not FOLDER.is_dir():
        return [pytest.param({"id": "absent"}, marks=pytest.mark.skip(reason=f"no {FOLDER}"))]
    return [case for case in load(name)["cases"] if kind is None or case["kind"] == kind]
