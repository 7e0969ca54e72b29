"""Answers of a model, judged: the SQL is read, its database chosen, and what it gives compared."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from target_bench.core.files import digest
from target_bench.core.schema import Executed
from target_bench.metrics.sql import Rule
from target_bench.sql.dialect.engine_choice import dialect_of
from target_bench.sql.engines.base import EngineName
from target_bench.sql.engines.databases import engine_of
from target_bench.sql.execution import Case, Judge
from target_bench.sql.gold_results import GoldResults
from target_bench.sql.judged_answer import JudgedAnswer
from target_bench.sql.statements import LONGEST
from target_bench.sql.workers.pool import Pool

T = TypeVar("T")

Databases = Mapping[str, Path]
"""Database id -> its file, of the databases that are here."""

FORMAT = 1
"""The version of records and fingerprints; a record of another version is not used again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and what it is judged against.

    Attributes:
        query_id: the query.
        text: the answer.
        error: why there is none, or None.
        gold_sql: the gold.
        database_id: the database of the gold.
        retrieved: the database of the first retrieved table, or None.
    """

    query_id: str
    text: str
    error: str | None
    gold_sql: str
    database_id: str
    retrieved: str | None


def fingerprint(
    answer: Answer, database: str | None, databases: Databases, settings: Sequence[str]
) -> str:
    """Return a hash of all that the record of an answer follows from, file contents included.

    Args:
        answer: the answer.
        database: the id of the database that its SQL was run on, or None.
        databases: as for ``AnswerJudge``.
        settings: all that changes a judgement beside answer and data.
    """
    contents = [_content(databases.get(name or "")) for name in (answer.database_id, database)]
    parts = [FORMAT, list(settings), astuple(answer), database, contents, sorted(databases)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _content(file: Path | None) -> str | None:
    """Return the hash of a file; None without one, or where it cannot be read."""
    with suppress(OSError):
        return None if file is None else digest(file)
    return None


class AnswerJudge:
    """A judge of answers, in the processes of a pool.

    Args:
        pool: whose processes, under whose limits.
        databases: the databases that may be asked.
        engine: ``sqlite`` runs every database in its own engine; ``duckdb`` runs SQLite databases
            as copies in DuckDB.
        rule: which rule the verdicts follow.
        repeats: how often gold and prediction are run, for measures of efficiency; 1 for none.
    """

    def __init__(
        self, pool: Pool, databases: Databases, engine: EngineName, rule: Rule, repeats: int
    ) -> None:
        self._pool = pool
        self._databases = databases
        self._engine: EngineName = engine
        self._read: _Once[Any] = _Once()
        dialect = dialect_of(engine, lambda _: None)  # the notes of a copy come with each record
        self._judge = Judge(pool, GoldResults(pool), dialect, rule, repeats)

    def judged(self, answers: Iterable[Answer]) -> Iterator[JudgedAnswer]:
        """Judge answers; each comes as soon as it is judged, in any order.

        Raises:
            BudgetError: the pool's budget is spent.
            StoreError: the result of a gold statement cannot be recorded.
        """
        return self._pool.as_done(partial(self._judged, answer) for answer in answers)

    def _judged(self, answer: Answer) -> JudgedAnswer:
        case = self._case(answer)
        return JudgedAnswer.of(self._judge.judge(case), engine_of(self._engine, case.gold_file))

    def _case(self, answer: Answer) -> Case:
        case = partial(
            Case, answer.query_id, answer.gold_sql, self._databases.get(answer.database_id)
        )
        if answer.error is not None:
            return case(None, None, answer.error)
        read = self._read(answer.text, partial(self._sql_in, answer.text))
        if isinstance(read, Executed):
            return case(None, None, stopped=read)
        sql, named = read
        if sql is None:
            return case(None, None, "no SQL can be read from the answer")
        if len(sql) > LONGEST:
            problem = f"it has {len(sql):,} characters; more than {LONGEST:,} are not run"
            return case(sql, None, problem)
        asked = named or answer.retrieved or answer.database_id
        database = _known(self._databases, asked)
        if database is None:
            return case(sql, None, f"there is no database {asked!r:.80}")
        return case(sql, self._databases[database], database=database)

    def _sql_in(self, text: str) -> Any:
        """Return SQL and database that an answer names, or the limit that was met in reading it."""
        return self._pool.read("extracted", text, what="reading the answer")


def _known(databases: Databases, name: str) -> str | None:
    """Return the id of a database by a name from a model: looked up, never made a path."""
    if name in databases:
        return name
    same = [found for found in databases if found.lower() == name.lower()]
    return same[0] if len(same) == 1 else None


class _Once(Generic[T]):
    """Values by key, each worked out once; a thread that asks meanwhile waits for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: dict[str, Future[T]] = {}

    def __call__(self, key: str, work: Callable[[], T]) -> T:
        with self._lock:
            known = self._values.get(key)
            value = self._values.setdefault(key, Future())
        if known is None:
            try:
                value.set_result(work())
            except BaseException as error:
                value.set_exception(error)
        return value.result()
