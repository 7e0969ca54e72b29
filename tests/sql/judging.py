"""Statements run and answers judged as a run does it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from target_bench.core.schema import Executed
from target_bench.metrics.sql import JudgedAnswer
from target_bench.sql.judge import Judge, SQLAnswer
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


def judged(pool: Pool, folder: Path, cases: Sequence[Case], **more: Any) -> list[JudgedAnswer]:
    """Judge predictions that are taken as they stand, in their order."""
    databases = {str(path): path for case in cases for path in (case.gold_file, case.file)}
    answers = [
        SQLAnswer(
            case.query_id,
            json.dumps({"sql": case.sql, "database_id": str(case.file)}),
            None,
            case.gold_sql,
            str(case.gold_file),
            None,
        )
        for case in cases
    ]
    return judged_answers(pool, folder, answers, databases, **more)


def judged_answers(
    pool: Pool, folder: Path, answers: Sequence[SQLAnswer], databases: dict[str, Path], **more: Any
) -> list[JudgedAnswer]:
    judge = Judge(pool, databases, folder=folder / "gold", **more)
    by_id = {answer.query_id: answer for answer in judge.judge_all(answers)}
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
