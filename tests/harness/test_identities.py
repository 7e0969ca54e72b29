"""The identities of runs stay, whatever is installed: else stored runs would be made again."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.registry import make_task
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Dataset
from target_bench.core.task import Task
from target_bench.data.load import load, load_once
from target_bench.data.selection import select_queries
from target_bench.harness.begin import (
    count_prompt_tables,
    identify_answers,
    identify_rankings,
    make_command,
    make_prompter,
)
from target_bench.harness.systems import System, make_generator, make_retriever
from target_bench.runs.manifest import Identity, run_key
from tests.builders import Recorder
from tests.data.written import asked, write_own

KEYS = {
    "retrieval": "f4adb2854300",
    "question_answering": "c834f0234fe9",
    "fact_verification": "49b0a3774ebf",
    "text_to_sql": "c7156dc4465d",
    "text_to_sql:engine=duckdb": "1a5dc4c32c11",
}


def _identity(text: str) -> dict[str, Any]:
    """Without the versions of rules."""
    observer, task = Recorder(), make_task(text)
    dataset = select_queries(load("mini"), task.name)
    oracle, config = make_retriever("oracle", observer), RunConfig(top_k=(1, 10))
    if task.answer == "ranking":
        identity = identify_rankings(config, task, dataset, oracle)
    else:
        identity = _identify_gold(config, task, dataset, oracle)
    return {**identity.content, "metrics": _without_versions(identity.metrics)}


def _identify_gold(
    config: RunConfig, task: Task[Any], dataset: Dataset, retriever: System | None
) -> Identity:
    gold = make_generator("gold", task, config, Recorder())
    prompter = make_prompter(config, task, dataset, gold)
    n_tables = count_prompt_tables(config, task, dataset, retriever)
    return identify_answers(config, task, dataset, retriever, gold, prompter, n_tables)


def _without_versions(metrics: Iterable[str]) -> list[str]:
    settings = ("engine", "rule", "timeout", "repeats")
    return [name for name in metrics if "|" in name or name.partition(":")[0] in settings]


@pytest.mark.parametrize("text", KEYS)
def test_identities_stay(text: str) -> None:
    assert run_key(_identity(text)) == KEYS[text]


def _retrieval_key(corpus: Path, *distractors: str) -> str:
    observer = Recorder()
    dataset = load_once(str(corpus), None, distractors, None, observer)
    oracle, task = make_retriever("oracle", observer), make_task("retrieval")
    return identify_rankings(RunConfig(top_k=(1,)), task, dataset, oracle).key


def test_what_becomes_of_near_copies_is_part_of_the_identity(tmp_path: Path) -> None:
    """Also where no drawn table is one; not where it is the default of the corpus."""
    mine = write_own(tmp_path / "mine", {"a.csv": "film\nAlien\n"}, [asked("a")])
    more = write_own(tmp_path / "more", {"b.csv": "city\nParis\n"}, [asked("b")])
    plain, *keys = (
        _retrieval_key(mine, f"{more}{setting}")
        for setting in ("", *(f":near_copies={fate}" for fate in ("out", "kept")))
    )
    assert len({plain, *keys}) == 3
    assert _retrieval_key(mine, f"{more}:n=1") == plain
    assert _retrieval_key(mine, str(more), "mini:n=1,near_copies=out") != _retrieval_key(
        mine, f"{more}:near_copies=out", "mini:n=1"
    )


def test_the_words_of_a_command_hold_no_credential() -> None:
    task_text = "text-to-table:judged_by='openai:api_key=ownKeyAbc98765,model=m'"
    request = {"corpus": "https://me:Pa55w0rd@h.example/x", "distractors": ()}
    task = make_task("retrieval")
    task.asked_as = task_text
    command = make_command(RunConfig(), task, replace(load("mini"), request=request), None)
    assert command.corpus == "https://***@h.example/x"
    assert command.task == "text-to-table:judged_by='openai:api_key=***,model=m'"


@pytest.mark.parametrize(("tables", "limited"), [(None, {}), (2, {}), (1, {"tables": 1})])
def test_fewer_given_tables_are_another_run(tables: int | None, limited: dict[str, int]) -> None:
    dataset, task = load("mini"), make_task("table_to_text")
    gold = tuple(dataset.corpus.ids)[:2]
    queries = tuple(replace(query, gold=gold) for query in select_queries(dataset, task).queries)
    identity = _identify_gold(
        RunConfig(tables=tables), task, replace(dataset, queries=queries), None
    )
    assert identity.given == {"source": "given"} | limited


def test_given_tables_in_another_order_are_another_run() -> None:
    dataset, task = load("mini"), make_task("table_to_text")
    first, second = sorted(dataset.corpus.ids)[:2]
    queries = select_queries(dataset, task).queries
    keys = {
        _identify_gold(
            RunConfig(),
            task,
            replace(dataset, queries=tuple(replace(q, gold=gold) for q in queries)),
            None,
        ).key
        for gold in ((first, second), (second, first))
    }
    assert len(keys) == 2
