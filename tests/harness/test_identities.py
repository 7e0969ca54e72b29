"""The identities of runs stay, whatever is installed: else stored runs would be made again."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.run_config import RunConfig
from target_bench.core.task_names import make_task, task_text
from target_bench.data.load import Loaded, Loader, load
from target_bench.data.selection import select_task
from target_bench.harness.run_system import Setup, set_up
from target_bench.harness.systems import make_retriever
from target_bench.runs.manifest import run_key
from tests.builders import Recorder
from tests.data.written import asked, write_own

KEYS = {
    "retrieval": "f4adb2854300",
    "question_answering": "c834f0234fe9",
    "fact_verification": "a3dbaaab652f",
    "text_to_sql": "2633d9703efd",
    "text_to_sql:engine=duckdb": "44edac846a64",
}


def _identity(text: str) -> dict[str, Any]:
    """Without the versions of rules."""
    observer, task = Recorder(), make_task(text)
    loaded = Loader(None, observer).load("mini", None, ()).select_task(task.name)
    oracle, config = make_retriever("oracle", observer), RunConfig(top_k=(1, 10))
    setup = set_up(
        config, task, loaded, oracle, "gold", task_text=task_text(text), observer=observer
    )
    identity = setup.identity()
    return {**identity, "metrics": _without_versions(identity["metrics"])}


def _without_versions(metrics: Iterable[str]) -> list[str]:
    settings = ("engine", "rule", "timeout", "repeats")
    return [name for name in metrics if "|" in name or name.partition(":")[0] in settings]


@pytest.mark.parametrize("text", KEYS)
def test_identities_stay(text: str) -> None:
    assert run_key(_identity(text)) == KEYS[text]


def _retrieval_key(corpus: Path, *distractors: str) -> str:
    observer = Recorder()
    loaded = Loader(None, observer).load(str(corpus), None, distractors).select_task("retrieval")
    oracle, task = make_retriever("oracle", observer), make_task("retrieval")
    setup = set_up(RunConfig(top_k=(1,)), task, loaded, oracle, observer=observer)
    return run_key(setup.identity())


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
    loaded = Loaded(
        load("mini"), 0.0, {"corpus": "https://me:Pa55w0rd@h.example/x", "distractors": ()}
    )
    task = make_task("retrieval")
    command = Setup(RunConfig(), task, loaded, None, task_text=task_text).command()
    assert command.corpus == "https://***@h.example/x"
    assert command.task == "text-to-table:judged_by='openai:api_key=***,model=m'"


@pytest.mark.parametrize(("tables", "limited"), [(None, {}), (2, {}), (1, {"tables": 1})])
def test_fewer_given_tables_are_another_run(tables: int | None, limited: dict[str, int]) -> None:
    dataset, task = load("mini"), make_task("table_to_text")
    gold = tuple(dataset.corpus.ids)[:2]
    queries = tuple(replace(query, gold=gold) for query in select_task(dataset, task).queries)
    loaded = Loaded(replace(dataset, queries=queries), 0.0)
    config = RunConfig(tables=tables)
    identity = set_up(config, task, loaded, None, "gold", observer=Recorder()).identity()
    assert identity["given"] == {"source": "given"} | limited
