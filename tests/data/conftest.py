"""Fixtures of the tests of the cache."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core.files import CACHE_VARIABLE
from target_bench.corpora.ottqa import OTTQA
from tests.builders import write_ottqa
from tests.data.cached import QUESTIONS, TABLES


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing else that could hold data."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(corpora.ENVIRONMENT, raising=False)
    return tmp_path / "cache" / "corpora"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_ottqa(tmp_path / "ottqa", TABLES, QUESTIONS)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which sources were parsed; the hash of the loader's code stays what it is."""
    seen: list[str] = []
    for method in ("tables", "queries"):
        monkeypatch.setattr(OTTQA, method, _noted(method, getattr(OTTQA, method), seen))
    return seen


def _noted(name: str, method: Callable[..., Any], seen: list[str]) -> Callable[..., Any]:
    def wrapper(*arguments: Any) -> Any:
        seen.append(name)
        return method(*arguments)

    return wrapper
