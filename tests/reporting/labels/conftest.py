"""A small folder of one's own with questions without labels, and runs on it."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.schema import Dataset
from target_bench.data.load import load
from target_bench.harness.target import TARGET
from target_bench.runs.result import Result, read_run
from tests.builders import Recorder, json_lines, only

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


def write_shop(folder: Path, gold: dict[str, list[str]] | None = None, **fields: Any) -> Path:
    """Write the folder; ``gold`` names gold tables, ``fields`` are those of every question."""
    (folder / "tables").mkdir(parents=True)
    for name, text in TABLES.items():
        (folder / "tables" / f"{name}.csv").write_text(text, encoding="utf-8")
    records = [
        {"query_id": name, "query": text, "table_id": (gold or {}).get(name, []), **fields}
        for name, text in QUESTIONS.items()
    ]
    (folder / "queries.jsonl").write_text(json_lines(records), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Five tables, four questions without gold tables."""
    return load(write_shop(tmp_path_factory.mktemp("labels") / "shop"))


@pytest.fixture(scope="session")
def shop_runs(shop: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    """Rankings of two retrievers."""
    out = tmp_path_factory.mktemp("shop_runs")
    target = TARGET(("retrieval", shop), out=out, observer=Recorder())
    return [read_run(only(target.run(name, top_k=[1, 3])).folder) for name in ("bm25", "tfidf")]


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """Sentences and tables for the examples of ``mini``, by their generators."""
    out, runs = tmp_path_factory.mktemp("answers"), {}
    for name, task, generator in (
        ("template sentences", "table_to_text", "template"),
        ("gold sentences", "table_to_text", "gold"),
        ("gold tables", "text_to_table", "gold"),
        ("extracted tables", "text_to_table", "extractive"),
    ):
        target = TARGET((task, "mini"), out=out, observer=Recorder())
        runs[name] = read_run(only(target.run(generator=generator)).folder)
    return runs


@pytest.fixture
def described(answers: dict[str, Result]) -> Result:
    """Sentences of the template for the examples of table-to-text."""
    return answers["template sentences"]


@pytest.fixture
def described_by_gold(answers: dict[str, Result]) -> Result:
    """Their references."""
    return answers["gold sentences"]


@pytest.fixture
def tabled(answers: dict[str, Result]) -> Result:
    """Gold tables for the texts of text-to-table."""
    return answers["gold tables"]


def label(query: str, table: str | None = None, reply: str | None = None, **fields: Any) -> Any:
    """A record of a table, or without one of a question."""
    if table is None:
        return {"query_id": query, "asked": QUESTIONS[query], "question": reply, **fields}
    key = {"query_id": query, "database_id": "0", "table_id": table}
    return {**key, "asked": QUESTIONS[query], "label": reply, **fields}


def write_records(folder: Path, records: Any, name: str = "ann.json") -> Path:
    """Write what a form saves."""
    path = folder / name
    path.write_text(records if isinstance(records, str) else json.dumps(records), encoding="utf-8")
    return path
