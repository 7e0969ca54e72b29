"""``target-bench data cache`` shows recorded embeddings and removes them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from target_bench.core.vectors import Encoder, TextKind, Vectors
from target_bench.models.embedding_cache import encoded
from tests.cli.inside import Inside


class Ones(Encoder):
    def __init__(self, model: str = "some/model", prompt: str = "") -> None:
        self.model = model
        self.prompt = prompt

    def encode(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        return np.ones((len(texts), 4), np.float32)

    def revision(self) -> str:
        return "1"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_they_are_listed_and_cleared(inside: Inside, root: Path) -> None:
    encoded(Ones(), ["a", "b"], "query")
    encoded(Ones(), [str(i) for i in range(1234)], "table")
    listed = inside.good("data", "cache", "list")
    for part in ("embeddings", "1,234", "Ones(model=some/model)", "query", "table", "2 entries"):
        assert part in listed
    entries = json.loads(inside.good("data", "cache", "list", "--json"))
    assert {(e["part"], e["kind"], e["rows"], e["dimension"], e["state"]) for e in entries} == {
        ("embeddings", "query", 2, 4, "whole"),
        ("embeddings", "table", 1234, 4, "whole"),
    }
    assert sum(e["bytes"] for e in entries) == sum(
        path.stat().st_size for path in root.rglob("*") if path.is_file()
    )
    assert json.loads(inside.good("data", "cache", "list", "--json", "--only", "corpora")) == []
    assert "removed 0 entries" in inside.good("data", "cache", "clear", "--only", "corpora")
    assert "removed 2 entries" in inside.good("data", "cache", "clear", "--only", "embeddings")
    assert json.loads(inside.good("data", "cache", "list", "--json")) == []
