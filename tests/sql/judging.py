"""Statements run and answers judged as a run does it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from target_bench.core.schema import Executed, Generation, Query, Retrieval, TableId
from target_bench.metrics.sql import JudgedAnswer, Rule
from target_bench.sql.databases import EngineName
from target_bench.sql.duckdb_judge import DuckDBJudge
from target_bench.sql.judge import SQLJudge
from target_bench.sql.workers import Pool, StoppedError, Worker


def execute(pool: Pool, path: Path, sql: str) -> Executed:
    with pool.worker() as worker:
        return worker.run(path, sql)


class Case(NamedTuple):
    """A prediction, and what it is judged against."""

    query_id: str
    gold_sql: str
    gold_file: Path
    sql: str
    file: Path


class Answer(NamedTuple):
    """An answer of a model, and what it is judged against."""

    query_id: str
    text: str
    gold_sql: str
    database_id: str
    error: str | None = None
    retrieved: str | None = None  # database of the first retrieved table


def judged(pool: Pool, folder: Path, cases: Sequence[Case], **more: Any) -> list[JudgedAnswer]:
    """Judge predictions that are taken as they stand, in their order."""
    databases = {str(path): path for case in cases for path in (case.gold_file, case.file)}
    answers = [
        Answer(
            case.query_id,
            json.dumps({"sql": case.sql, "database_id": str(case.file)}),
            case.gold_sql,
            str(case.gold_file),
        )
        for case in cases
    ]
    return judged_answers(pool, folder, answers, databases, **more)


def judged_answers(
    pool: Pool,
    folder: Path,
    answers: Sequence[Answer],
    databases: dict[str, Path],
    engine: str = "sqlite",
    dialect: EngineName = "sqlite",
    rule: Rule = "bird",
) -> list[JudgedAnswer]:
    judge = SQLJudge(pool, databases, rule, folder=folder / "gold")
    if engine == "duckdb":
        judge = DuckDBJudge(pool, databases, rule, folder=folder / "gold", dialect=dialect)
    queries = [Query(a.query_id, "", (), a.gold_sql, a.database_id) for a in answers]
    generations = {a.query_id: Generation(a.query_id, a.text, a.error) for a in answers}
    retrievals = {
        a.query_id: Retrieval(a.query_id, (TableId(a.retrieved, "t"),) if a.retrieved else ())
        for a in answers
    }
    by_id = {
        answer.query_id: answer for answer in judge.judge_all(queries, generations, retrievals)
    }
    return [by_id[answer.query_id] for answer in answers]


STOP = "the comparison was stopped after 2 s"


def stop_steps(monkeypatch: pytest.MonkeyPatch, stopped: Sequence[str]) -> list[str]:
    """Have some steps of a job stopped; return the list that all begun ones come to."""
    begun: list[str] = []

    def find_limit(self: Worker, step: str) -> float:
        begun.append(step)
        if step in stopped:
            self.kill()
            raise StoppedError(step, Executed("timeout", message=STOP, seconds=(2.0,)))
        return real(self, step)

    real = Worker.find_limit
    monkeypatch.setattr(Worker, "find_limit", find_limit)
    return begun
