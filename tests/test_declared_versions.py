"""What built-in plug-ins rank and ask over ``mini`` does not change without their version.

``python -m tests.test_declared_versions`` records what they give now.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.registry import make_task
from target_bench.core.retrieve import retrieve_tables
from target_bench.core.run_config import RunConfig
from target_bench.data.load import load
from target_bench.models.prompts.prompting import make_prompt_writer

RECORD = Path(__file__).with_name("declared_versions.json")

RETRIEVERS = ("bm25", "tfidf", "rows", "random")
"""Those without a model whose rankings are the same on every machine."""

TASKS = ("question_answering", "fact_verification", "table_to_text", "text_to_sql")


def _digest(given: Any) -> str:
    return hashlib.sha256(json.dumps(given, ensure_ascii=True).encode()).hexdigest()[:16]


def _rankings(name: str) -> dict[str, str]:
    dataset = load("mini")
    retriever = registry.create("retriever", name)
    retriever.embed_corpus(dataset.corpus)
    rankings = retrieve_tables(retriever, dataset.queries, 10, dataset.corpus, True)
    version = type(retriever).VERSION
    return {
        "version": version,
        "given": _digest([[*map(str, ranking.tables)] for ranking in rankings]),
    }


def _requests(name: str) -> dict[str, str]:
    dataset, task = load("mini"), make_task(name)
    queries = [q for q in dataset.queries if q.metadata.get("task", name) == name]
    assert queries
    writer: Any = make_prompt_writer(task, RunConfig(), dataset.databases, False)
    prompts = []
    for query in queries:
        tables = writer.choose_tables(dataset.corpus, query.gold)
        messages = writer.write_prompt(query, tables).request.messages
        prompts.append([message.content for message in messages])
    return {"version": writer.identity["version"], "given": _digest(prompts)}


def _now() -> dict[str, dict[str, str]]:
    return {
        **{f"retriever {name}": _rankings(name) for name in RETRIEVERS},
        **{f"prompts of {name}": _requests(name) for name in TASKS},
    }


RECORDED: dict[str, dict[str, str]] = json.loads(RECORD.read_bytes()) if RECORD.exists() else {}


@pytest.mark.parametrize("name", [f"retriever {name}" for name in RETRIEVERS])
def test_rankings_change_with_the_version_alone(name: str) -> None:
    _check(name, _rankings(name.split()[-1]))


@pytest.mark.parametrize("name", [f"prompts of {name}" for name in TASKS])
def test_requests_change_with_the_version_alone(name: str) -> None:
    _check(name, _requests(name.split()[-1]))


def _check(name: str, now: dict[str, str]) -> None:
    assert now == RECORDED[name], (
        f"{name}: what it gives over mini changed. Raise the VERSION of the class (else stored "
        "runs are reused for it), then record both: python -m tests.test_declared_versions"
    )


if __name__ == "__main__":
    RECORD.write_text(json.dumps(_now(), indent=2) + "\n", encoding="ascii")
