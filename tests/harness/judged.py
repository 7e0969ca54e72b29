"""Text-to-SQL on the embedded corpus: runs, their judgements, and how they are looked at."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from target_bench.data.load import load
from target_bench.data.selection import sample_queries
from target_bench.runs.result import Result
from target_bench.sql.workers import Pool
from tests.builders import Recorder, only
from tests.target import TARGET

N = 8
"""How many queries are asked."""

_ALL = [query for query in load("mini").queries if query.metadata["task"] == "text_to_sql"]
QUERIES = sample_queries(_ALL, N)
"""The queries of ``judged``."""

SPREAD = _ALL[:: len(_ALL) // N][:N]
"""As many queries, on every database."""


def judged(
    out: Path,
    generator: Any = "gold",
    observer: Recorder | None = None,
    task: str = "text-to-sql:workers=1",
    **more: Any,
) -> Result:
    """A run of the first queries."""
    target = TARGET((task, "mini"), out=out, observer=observer or Recorder())
    settings: dict[str, Any] = {"limit": N} | more
    return only(target.run("bm25", generator=generator, **settings))


def lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of ``judgements.jsonl``, in their order."""
    content = (folder / "judgements.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in content.splitlines()]


def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have every pool of SQL workers refuse to be made; what it gives allows it again."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("SQL is executed")

    made = Pool.__init__
    monkeypatch.setattr(Pool, "__init__", refused)
    return lambda: monkeypatch.setattr(Pool, "__init__", made)


def parts(folder: Path) -> dict[str, bytes]:
    """What a run says of its answers."""
    names = ("scores.json", "judgements.jsonl", "per_query.parquet", "statistics.parquet")
    return {name: (folder / name).read_bytes() for name in names}
