"""A task is created like every plug-in: by any of its names, with settings of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.registry import find_task, spell_task
from target_bench.data.load import pair_with_corpora
from target_bench.harness.stored import score_again
from target_bench.harness.sweeps.grid import read_cells
from target_bench.harness.yaml_file import YamlFile
from target_bench.metrics.sql import VERSION as METRICS_VERSION
from target_bench.runs.result import read_run
from target_bench.sql.judge import VERSION as JUDGING_VERSION
from tests.builders import Recorder, only
from tests.target import TARGET

RULES = [METRICS_VERSION, JUDGING_VERSION]


@pytest.mark.parametrize(
    "name", ["text_to_sql", "Text-to-SQL", "text-to-sql", "SQL", "nl2sql", "TEXT TO SQL"]
)
def test_any_spelling(name: str) -> None:
    task = registry.create("task", f"{name}:engine=duckdb,timeout=10")
    assert (task.name, task.engine, task.timeout) == ("text_to_sql", "duckdb", 10.0)
    assert spell_task(f"{name}:timeout=10") == "text_to_sql:timeout=10"
    assert find_task(f"{name}:timeout=10").name == "text_to_sql"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("qa:engine=duckdb", "task question_answering: unknown setting 'engine'"),
        ("fv:labels=loose", "'strict' or 'target'"),
        ("sql:timeout=soon", "valid number"),
        ("sql:budget=3", "unknown setting 'budget'"),
        ("retrieval:engine=sqlite", "unknown setting 'engine'"),
        ("sequel", "unknown task 'sequel'"),
        ("sql:engine", "expected key=value"),
    ],
)
def test_invalid_settings(text: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        TARGET((text, "mini"), out=tmp_path)
    assert part in str(error.value)


def test_a_task_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from target_bench.tasks.question_answering import QuestionAnswering\n"
        "class Echo(QuestionAnswering): ...\n"
    )
    text = f"{tmp_path}/own.py:Echo:bertscore=m"
    assert registry.create("task", text).bertscore == "m"
    assert find_task(text).name == "question_answering"
    assert pair_with_corpora(text, "mini") == [(text, "mini")]
    with pytest.raises(ConfigError, match=r"pathlib:Path is not a task: it does not inherit"):
        find_task("pathlib:Path")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("text_to_sql", ["engine:sqlite", "rule:bird", "timeout:30", "repeats:1", *RULES]),
        (
            "sql:engine=sqlite,rule=bird,timeout=30.0,repeats=1,workers=7",
            ["engine:sqlite", "rule:bird", "timeout:30", "repeats:1", *RULES],
        ),
        (
            "sql:engine=duckdb,timeout=10.5,repeats=2,rule=spider",
            ["engine:duckdb", "rule:spider", "timeout:10.5", "repeats:2", *RULES],
        ),
        ("qa:bertscore=m", registry.create("task", "qa").settings()),
        ("fv:labels=target", registry.create("task", "fv").settings()),
    ],
)
def test_what_identifies_a_run_is_written_as_before(text: str, settings: list[str]) -> None:
    """Settings in their order, then the versions of rules; the engines' are no part of it."""
    assert registry.create("task", text).settings() == settings


def _run(out: Path, task: str) -> Any:
    target = TARGET((task, "mini"), out=out, observer=Recorder())
    return only(target.run("oracle", generator="gold", limit=3))


def test_settings_are_alternatives_in_a_sweep(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "corpora: mini\nretrievers: oracle\ngenerators: gold\ntasks:\n"
        "  - {name: Text-to-SQL, engine: [sqlite, duckdb], timeout: 5}\n  - fv:labels=target\n"
    )
    assert [cell.task for cell in read_cells(YamlFile.read(path))] == [
        "text_to_sql:engine=sqlite,timeout=5",
        "text_to_sql:engine=duckdb,timeout=5",
        "fact_verification:labels=target",
    ]


def test_runs_of_settings(tmp_path: Path) -> None:
    """Settings that change a score make another run; the manifest keeps the words."""
    plain = _run(tmp_path, "text_to_sql")
    same = _run(tmp_path, "SQL:workers=1,timeout=30,engine=sqlite")
    assert (same.folder, same.run.reused) == (plain.folder, True)
    other = _run(tmp_path, "SQL:engine=duckdb")
    assert other.folder != plain.folder
    specs = [
        json.loads((result.folder / "manifest.json").read_bytes())["command"]["task"]
        for result in (plain, other)
    ]
    assert specs == ["text_to_sql", "text_to_sql:engine=duckdb"]


def test_another_engine_is_recorded_of_a_run_that_is_scored_again(tmp_path: Path) -> None:
    plain = _run(tmp_path, "SQL")
    duck = score_again(read_run(plain.folder), "sql:engine=duckdb", observer=Recorder())
    assert duck.folder != plain.folder
    assert "duckdb" in duck.run.manifest.environment["used_packages"]


def test_a_stored_run_keeps_its_settings(tmp_path: Path) -> None:
    """It is scored again, and answered again, as it was asked for, unless told otherwise."""
    first = _run(tmp_path, "SQL:engine=duckdb")
    stored, quiet = read_run(first.folder), Recorder()
    assert score_again(stored, observer=quiet).folder == first.folder
    assert score_again(stored, "sql:engine=duckdb,workers=1", observer=quiet).folder == first.folder
    in_sqlite = score_again(stored, "sql", observer=quiet)
    assert in_sqlite.folder != first.folder
    assert in_sqlite.stored.report is not None
    assert in_sqlite.stored.report["engine"] == "sqlite"
    with pytest.raises(ConfigError, match="is about text_to_sql, not about question_answering"):
        score_again(stored, "qa", observer=quiet)
