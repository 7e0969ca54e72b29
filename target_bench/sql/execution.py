"""Answers of a model, judged: SQL is read, run as the gold is, and what both give is compared."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from target_bench.core.errors import DataError
from target_bench.core.files import digest
from target_bench.core.schema import Executed
from target_bench.metrics.sql import JudgedQuery, Rule, verdict
from target_bench.sql.dialect.agreement import agree
from target_bench.sql.engines.databases import EngineName, engine_of
from target_bench.sql.judged_answer import Case, Judged, JudgedAnswer, LeftOut, Links
from target_bench.sql.normalisation import for_test_suite
from target_bench.sql.statement_results import GoldResults, Prediction, Trials, Tried
from target_bench.sql.statements import LONGEST
from target_bench.sql.workers.pool import Dialect, Pool, Statement
from target_bench.sql.workers.process import Shape, beginning

VERSION = "judging:3"
"""The version of how SQL is read, run and compared: raise it if verdicts or scores can change."""

FORMAT = 1
"""The version of records and fingerprints; a record of another version is not used again."""

Databases = Mapping[str, Path]
"""Database id -> its file, of the databases that are here."""

_LONGEST_SHOWN = 300  # characters of a statement in a reason

T = TypeVar("T")


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
        dialect = Dialect()
        if engine != "sqlite":
            from target_bench.sql.dialect.engine_choice import dialect_of

            dialect = dialect_of(engine, lambda _: None)  # notes of a copy come with each record
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


@dataclass(frozen=True, slots=True)
class _Excluded:
    """The reason why a query is excluded from scoring: category and message."""

    kind: LeftOut
    reason: str


@dataclass(frozen=True, slots=True)
class _Golds:
    """The statements of a case's gold; None for what is not to be run.

    Attributes:
        statements: the gold, and the gold as Spider's rule has it; then both in SQLite where
            another engine judges.
        excluded: why the gold cannot be run, or None.
    """

    statements: tuple[Statement | None, ...] = (None, None, None, None)
    excluded: _Excluded | None = None


class Judge:
    """Execution and comparison in the jobs of a pool: safe for several threads.

    Args:
        pool: runs predictions.
        golds: runs gold statements, or knows what they gave.
        dialect: of the engine that judges.
        rule: which rule the verdicts follow.
        repeats: how often gold and prediction are run, for measures of efficiency; 1 for none.
    """

    def __init__(
        self, pool: Pool, golds: GoldResults, dialect: Dialect, rule: Rule, repeats: int = 1
    ) -> None:
        self._pool = pool
        self._golds = golds
        self._dialect = dialect
        self._rule: Rule = rule
        self._repeats = repeats
        self._trials = Trials(pool)
        self._copying = Lock()

    def judge(self, case: Case) -> Judged:
        """Judge a case in this thread, that of a job of the pool (``Pool.as_done``).

        A case whose database is missing or cannot be read is not runnable.

        Raises:
            StoreError: the result of a gold statement cannot be recorded.
            BudgetError: the pool's budget is spent.
        """
        with self._copying:  # a database is copied once, and statements are translated here
            plan = self._plan(case)
        golds = [self._golds.execute(one) if one else None for one in plan.statements]
        gold, rewritten, *in_sqlite = golds
        excluded = plan.excluded or _excluded((gold, rewritten), in_sqlite)
        asked: Prediction | Executed | None = case.stopped
        if excluded is None and case.sql is not None and gold is not None:
            asked = self._asked(case, case.sql, gold, rewritten)
        judged = self._judged(case, gold, asked, excluded)
        return replace(judged, notes=self._notes(case, isinstance(asked, Prediction)))

    def _plan(self, case: Case) -> _Golds:
        if case.gold_file is None:
            return _Golds(excluded=_Excluded("missing", "the database of the query is missing"))
        dialect, file = self._dialect, case.gold_file
        rewritten = for_test_suite(case.gold_sql)
        same = rewritten == case.gold_sql
        try:
            gold = dialect.statement(file, case.gold_sql, self._repeats)
            also = dialect.in_sqlite(file, case.gold_sql)
            theirs = None if same else dialect.statement(file, rewritten)
            theirs_also = None if same else dialect.in_sqlite(file, rewritten)
        except ValueError as error:
            reason = f"the gold has no translation: {error}"
            return _Golds(excluded=_Excluded("engines", reason))
        except DataError as error:
            return _Golds(excluded=_Excluded("unusable", str(error)))
        return _Golds((gold, theirs, also, theirs_also))

    def _asked(
        self, case: Case, sql: str, gold: Executed, rewritten: Executed | None
    ) -> Prediction | Executed:
        """Return the prediction as it is tried, or what it gives without being run."""
        if case.file is None:
            return Executed("error", message=case.problem)
        try:
            with self._copying:
                copy = self._dialect.copy_of(case.file)
        except DataError as error:
            return Executed("unusable", message=str(error))
        return Prediction(sql, case.file, copy, case.gold_sql, gold, rewritten, self._repeats)

    def _notes(self, case: Case, tried: bool) -> tuple[str, ...]:
        """Return the notes on the databases that the case used."""
        notes: dict[str, None] = {}
        for file in (case.gold_file, case.file if tried else None):
            if file is not None:
                with self._copying, suppress(DataError):
                    notes |= dict.fromkeys(self._dialect.notes(file))
        return tuple(notes)

    def _judged(
        self,
        case: Case,
        gold: Executed | None,
        asked: Prediction | Executed | None,
        excluded: _Excluded | None,
    ) -> Judged:
        if excluded is not None:
            return _left_out(case, gold, excluded)
        tried = self._trials.tried(asked) if isinstance(asked, Prediction) else None
        if isinstance(asked, Executed):
            tried = Tried(asked)
        predicted = tried.predicted if tried else None
        if predicted and predicted.outcome == "unusable" and case.file == case.gold_file:
            return _left_out(case, gold, _Excluded("unusable", predicted.message))
        values, rewritten = (tried.values, tried.rewritten) if tried else ({}, None)
        stopped = tried.stopped if tried else {}
        query = verdict(gold, predicted, values, rewritten, self._rule, stopped)
        results = rewritten if rewritten and self._rule == "spider" else (gold, predicted)
        return Judged(
            case,
            query,
            gold and beginning(gold),
            predicted,
            _shape(gold),
            tried.shape if tried else None,
            _reason(case, query, *results) or _stops(stopped, self._rule),
            links=self._links(case),
        )

    def _links(self, case: Case) -> Links | None:
        if case.sql is None or case.gold_file is None or len(case.sql) > LONGEST:
            return None
        return self._trials.linked(case.gold_sql, case.sql, case.gold_file)


def _excluded(
    golds: Sequence[Executed | None], in_sqlite: Sequence[Executed | None]
) -> _Excluded | None:
    """Return why a query is not runnable by the result of its gold; None if it is."""
    for result in (*golds, *in_sqlite):
        if result is not None and result.outcome == "unusable":
            return _Excluded("unusable", result.message)
    names = ("the gold", "the gold as ex[spider] runs it, without DISTINCT,")
    for name, repeated, here, there in zip(names, (False, True), golds, in_sqlite, strict=True):
        reason = here and there and _differing(name, repeated, here, there)
        if reason:
            return _Excluded("engines", reason)
    return None


def _differing(name: str, repeated: bool, here: Executed, in_sqlite: Executed) -> str | None:
    """Describe the difference between the results of two engines, or return None."""
    if agree(here, in_sqlite, repeated):
        return None
    if in_sqlite.outcome != "executed":
        if here.outcome != "executed":
            return None  # it fails in both, which SQLite counts as 0
        return f"{name} fails in SQLite alone: {in_sqlite.outcome}: {in_sqlite.message}"
    if here.outcome != "executed":
        return f"{name} fails in this engine alone: {here.outcome}: {here.message}"
    return f"{name} gives another result in this engine than in SQLite"


def _left_out(case: Case, gold: Executed | None, excluded: _Excluded) -> Judged:
    query = JudgedQuery("not_runnable")
    shown, shape = gold and beginning(gold), _shape(gold)
    return Judged(case, query, shown, None, shape, None, excluded.reason, excluded.kind)


def _shape(gold: Executed | None) -> Shape | None:
    return None if gold is None else Shape(len(gold.rows), len(gold.columns))


def _reason(
    case: Case, query: JudgedQuery, gold: Executed | None, predicted: Executed | None
) -> str:
    if query.verdict == "gold_failed" and gold is not None:
        return f"gold: {gold.outcome}: {gold.message}"
    if query.verdict == "no_prediction":
        return case.problem
    if predicted is None or not predicted.message:
        return ""
    if case.sql is None or query.spider == 0:
        return predicted.message
    # Spider's script runs another text, which may be right where this one fails.
    return f"{predicted.message}. ex[spider] is 1, for Spider's script runs: {_rewritten(case.sql)}"


def _rewritten(sql: str) -> str:
    """Return what Spider's script runs, in one line that is not too long to be read."""
    text = " ".join(for_test_suite(sql).split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _stops(stopped: Mapping[str, Executed], rule: Rule) -> str:
    """Return the limit that stopped the comparison, under the rule of the verdict or another."""
    if rule in stopped:
        return stopped[rule].message
    names = [name if name == "soft_f1" else f"ex[{name}]" for name in stopped]
    messages = dict.fromkeys(found.message for found in stopped.values())
    return f"{' and '.join(names)} 0: {'; '.join(messages)}" if stopped else ""
