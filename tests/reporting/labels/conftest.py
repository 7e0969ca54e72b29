"""A small folder of one's own with questions without labels, and runs on it."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.schema import Dataset
from target_bench.data import select
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result, read_run
from tests.builders import Recorder, only

TABLES = {
    "films": "film,director,year\nAlien,Ridley Scott,1979\nHeat,Michael Mann,1995\n",
    "prices": "item,price\nAlien (DVD),9.90\nHeat (DVD),7.50\n",
    "cities": "city,country\nOslo,Norway\nNice,France\nBath,England\n",
    "staff": "name,city,role\nAnn,Oslo,chef\nBo,Nice,host\n",
    "rivers": "river,country\nAvon,England\nPaillon,France\n",
}
QUESTIONS = {
    "q1": "who directed Heat",
    "q2": "price of the Alien DVD",
    "q3": "which city in Norway does Ann live in",
    "q4": "rivers of France",
}


def write_shop(folder: Path, gold: dict[str, list[str]] | None = None, **more: Any) -> Path:
    """Write the folder; ``gold`` names gold tables, ``more`` is metadata of every question."""
    (folder / "tables").mkdir(parents=True)
    for name, text in TABLES.items():
        (folder / "tables" / f"{name}.csv").write_text(text, encoding="utf-8")
    records = [
        {
            "query_id": name,
            "query": text,
            "table_id": (gold or {}).get(name),
            "length": "long" if len(text) > 22 else "short",
            **more,
        }
        for name, text in QUESTIONS.items()
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "queries.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Five tables, four questions without gold tables."""
    return select.load(write_shop(tmp_path_factory.mktemp("labels") / "shop"))


@pytest.fixture(scope="session")
def shop_runs(shop: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Rankings of two retrievers."""
    target = TARGET(
        ("retrieval", shop), out=tmp_path_factory.mktemp("shop_runs"), observer=Recorder()
    )
    return [read_run(only(target.run(name, top_k=[1, 3])).folder) for name in ("bm25", "tfidf")]


def saved(labels: Any, annotator: str = "a", **changed: Any) -> dict[str, Any]:
    """The content of a saved file."""
    return {
        "format": "target-bench labels",
        "version": 1,
        "form": "0" * 12,
        "by": "",
        "annotator": annotator,
        "labels": labels,
        **changed,
    }


def entry(name: str, question: str | None = None, **tables: str | None) -> dict[str, Any]:
    """What a form saves of a question: the label of each table."""
    return {
        "asked": QUESTIONS[name],
        "question": question,
        "text": QUESTIONS[name],
        "tables": [["0", table, label] for table, label in tables.items()],
    }


def write_saved(folder: Path, record: Any, name: str = "labels.json") -> Path:
    """Write what a form saves."""
    path = folder / name
    path.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    return path
