"""Judge answers of a model: read their SQL, run it as the gold is run, and compare the results."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from target_bench.core.errors import DataError
from target_bench.core.files import digest
from target_bench.core.schema import Executed
from target_bench.metrics.sql import JudgedAnswer, LeftOut, Rule, judge_results
from target_bench.metrics.sql_results import same_rows
from target_bench.sql.databases import EngineName, database, find_engine
from target_bench.sql.duckdb_copy import Copy, duckdb_copy
from target_bench.sql.gold_results import GoldResults
from target_bench.sql.normalisation import LONGEST, rewrite_for_test_suite
from target_bench.sql.worker import Attempt, Jobs, explain_difference, preview, to_plain
from target_bench.sql.workers import Pool, StoppedError, Worker

VERSION = "judging:11"
"""The version of how SQL is read, run and compared: raise it if verdicts or scores can change."""

FORMAT = 1
"""The version of records and fingerprints; a record of another version is not used again."""

Databases = Mapping[str, Path]
"""Database id -> its file, of the databases that are here."""

_LONGEST_SHOWN = 300  # characters of a statement in a reason
_LIMITS = ("timeout", "memory")
_MOST_STEPS = 16  # of a job that runs two texts once each


@dataclass(frozen=True, slots=True)
class SQLAnswer:
    """An answer, and what it is judged against."""

    query_id: str
    text: str
    error: str | None  # why there is no answer
    gold_sql: str
    database_id: str  # of the gold
    retrieved: str | None  # the database of the first retrieved table


def hash_inputs(
    answer: SQLAnswer, database: str | None, databases: Databases, settings: Sequence[str]
) -> str:
    """Return a hash of all that the record of an answer follows from, file contents included.

    ``database`` is the id of the database that its SQL was run on, if any, and ``settings`` all
    that changes a judgement beside answer and data.
    """
    contents = [_hash_file(databases.get(name or "")) for name in (answer.database_id, database)]
    parts = [FORMAT, list(settings), astuple(answer), database, contents, sorted(databases)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _hash_file(file: Path | None) -> str | None:
    with suppress(OSError):  # a file that cannot be read
        return None if file is None else digest(file)
    return None


class _LeftOutError(Exception):
    """A query that cannot be judged, and what its gold gave, if it was run."""

    def __init__(self, kind: LeftOut, reason: str, gold: Executed | None = None) -> None:
        super().__init__(reason)
        self.kind: LeftOut = kind
        self.gold = gold


class _Reading(NamedTuple):
    """The SQL in an answer and its database; ``problem`` is an outcome, or why there is none."""

    sql: str | None = None
    spiders: str | None = None  # the same as Spider's rule runs it
    database_id: str | None = None
    problem: Executed | str | None = None


class _Gold(NamedTuple):
    """The results of a gold in the engine that judges, and in SQLite where that runs it too."""

    here: Executed
    in_sqlite: Executed


class Judge:
    """A judge of answers, in the processes of a pool.

    Args:
        pool: whose processes, under whose limits.
        databases: the databases that may be asked.
        engine: ``sqlite`` runs every database in its own engine; ``duckdb`` runs SQLite databases
            as copies in DuckDB.
        dialect: of predictions on such copies: ``sqlite`` translates them, and runs them in SQLite
            too, by whose rows they are judged; ``duckdb`` runs them as they are.
        rule: which rule the verdicts follow.
        repeats: how often gold and prediction are run, for measures of efficiency; 1 for none.
        folder: where results of golds are kept; default: in the cache folder.
    """

    def __init__(
        self,
        pool: Pool,
        databases: Databases,
        engine: EngineName = "sqlite",
        rule: Rule = "bird",
        repeats: int = 1,
        dialect: EngineName = "sqlite",
        folder: Path | None = None,
    ) -> None:
        self._pool = pool
        self._databases = databases
        self._rule: Rule = rule
        self._repeats = repeats
        self._dialect: EngineName = dialect
        self._golds = GoldResults(pool.limits, folder)
        self._copies = Copies(engine)
        # What met a limit is not tried again for another query: that would meet it again, and a
        # submission may hold it ten thousand times. Keys are the database, if any, and the text; of
        # a comparison that was stopped the gold, too: with another gold it may end.
        self._stopped: dict[tuple[str, ...], Executed] = {}

    def judge_all(self, answers: Iterable[SQLAnswer]) -> Iterator[JudgedAnswer]:
        """Judge answers; each comes as soon as it is judged, in any order.

        Raises:
            BudgetError: the pool's budget is spent.
            StoreError: the result of a gold statement cannot be recorded.
        """
        return self._pool.map_unordered(self.judge, answers)

    def judge(self, worker: Worker, answer: SQLAnswer) -> JudgedAnswer:
        """Judge one answer in a worker; errors as for ``judge_all``."""
        gold_file = self._databases.get(answer.database_id)
        reading = self._read(worker, answer)
        file = None if reading.problem else self._databases.get(reading.database_id or "")
        record = JudgedAnswer(
            query_id=answer.query_id,
            sql=reading.sql,
            gold_sql=answer.gold_sql,
            database=reading.database_id,
            engine=find_engine(self._copies.engine, gold_file),
        )
        # Gold and prediction, and both as Spider's rule runs them where that is another text.
        pairs = [(answer.gold_sql, reading.sql)]
        rewritten = (rewrite_for_test_suite(answer.gold_sql), reading.spiders)
        pairs += [rewritten] if rewritten != pairs[0] else []
        golds: list[_Gold] = []
        attempts: list[Attempt] = []
        try:
            for gold_sql, _ in pairs:
                golds.append(self._run_gold(worker, gold_file, gold_sql, bool(golds)))
            shown = [gold.here for gold in golds]
            if file is not None:
                shown, attempts = self._try(
                    worker, file, [sql or "" for _, sql in pairs], golds, pairs[0][0]
                )
                if attempts[0].executed.outcome == "unusable" and file == gold_file:
                    raise _LeftOutError("unusable", attempts[0].executed.message)
        except _LeftOutError as error:
            gold = golds[0].here if golds else error.gold
            record = replace(record, reason=str(error), left_out=error.kind)
            record = replace(record, **(_show(gold) if gold else {}))
            return replace(record, notes=self._list_notes(gold_file))
        record = replace(record, notes=self._list_notes(gold_file, file))
        return self._decide(record, reading.problem, shown, attempts)

    def _decide(
        self,
        record: JudgedAnswer,
        problem: Executed | str | None,
        golds: Sequence[Executed],
        attempts: Sequence[Attempt],
    ) -> JudgedAnswer:
        """Return the record with the verdict and its reason in words."""
        gold = golds[0]
        predicted = problem if isinstance(problem, Executed) else None
        values: dict[str, float] = {}
        compared, differs = (gold, predicted), ""  # as the rule runs them
        if attempts:
            first, last = attempts[0], attempts[-1]
            predicted = first.executed
            compared = (golds[-1], last.executed) if self._rule == "spider" else (gold, predicted)
            values = {**first.values, **last.values}
            differs = first.differs or (last.differs and f"{last.differs} (as ex[spider] runs it)")
            record = replace(record, rows=first.rows, result=first.preview)
        answer = judge_results(record, gold, predicted, values, self._rule, compared)
        if answer.verdict == "gold_failed":
            reason = f"gold: {compared[0].outcome}: {compared[0].message}"
        elif isinstance(problem, str):
            reason = problem
        else:
            reason = _explain_failure(answer, compared[1])
        if differs:
            by_sqlite = f"{answer.verdict} by SQLite's rows"
            reason = f"it {differs}. {by_sqlite}{f': {reason}' if reason else ''}"
            answer = replace(answer, verdict="translation_differs")
        outcome = predicted.outcome if predicted else None
        return replace(answer, reason=reason, outcome=outcome, **_show(gold))

    def _read(self, worker: Worker, answer: SQLAnswer) -> _Reading:
        if answer.error is not None:
            return _Reading(problem=answer.error)
        if stopped := self._stopped.get(("", answer.text)):
            return _Reading(problem=stopped)
        try:
            sql, spiders, named = worker.ask(Jobs.read, answer.text, what="reading the answer")
        except StoppedError as error:
            self._stopped["", answer.text] = error.executed
            return _Reading(problem=error.executed)
        if sql is None:
            return _Reading(problem="no SQL can be read from the answer")
        name = named or answer.retrieved or answer.database_id
        database_id = _find_database(self._databases, name)
        if spiders is None:
            problem = f"it has {len(sql):,} characters; more than {LONGEST:,} are not run"
        elif database_id is None:
            problem = f"there is no database {name!r:.80}"
        else:
            return _Reading(sql, spiders, database_id)
        return _Reading(sql, problem=Executed("error", message=problem))

    def _run_gold(self, worker: Worker, file: Path | None, sql: str, for_spider: bool) -> _Gold:
        """Run a gold; a ``_LeftOutError`` where it has no result that can be compared."""
        if file is None:
            raise _LeftOutError("missing", "the database of the query is missing")
        try:
            statement = self._copies.translate(worker, file, sql)
            is_copied = self._copies.get(file) is not None
        except DataError as error:
            raise _LeftOutError("unusable", str(error)) from error
        except (ValueError, StoppedError) as error:
            raise _LeftOutError("engines", f"the gold has no translation: {error}") from error
        repeat = 1 if for_spider else self._repeats
        here = self._golds.get_or_run(worker, *statement, repeat)
        there = self._golds.get_or_run(worker, file, sql, repeat) if is_copied else here
        for result in (here, there):
            if result.outcome == "unusable":
                raise _LeftOutError("unusable", result.message, here)
        if is_copied:
            same = partial(same_rows, here.rows, there.rows, for_spider)
            if difference := explain_difference(here, there, same):
                text = " as ex[spider] runs it, without DISTINCT," if for_spider else ""
                raise _LeftOutError("engines", f"the gold{text} {difference}", here)
        return _Gold(here, there)

    def _try(
        self,
        worker: Worker,
        file: Path,
        texts: Sequence[str],
        golds: Sequence[_Gold],
        gold_sql: str,
    ) -> tuple[list[Executed], list[Attempt]]:
        """Run the texts of a prediction; return the golds they are compared with, and attempts."""
        try:
            copy = self._copies.get(file)
            is_translated = copy is not None and self._dialect == "sqlite"
            ran_in = file if copy is None or is_translated else copy.path
            where: tuple[Any, ...] = tuple(database(ran_in))
            check = None
            if copy is not None and is_translated:
                rows_here = [_get_rows(gold.here) for gold in golds]
                check = tuple(database(copy.path)), str(file), copy.columns, rows_here
        except DataError as error:
            return [golds[0].here], [Attempt(Executed("unusable", message=str(error)))]
        compared = [gold.in_sqlite if is_translated else gold.here for gold in golds]
        rows = [_get_rows(gold) for gold in compared]
        job = where, texts, self._repeats, rows, gold_sql, check
        attempts = self._ask(worker, where[0], texts, gold_sql, job)
        if check and not attempts[0].differs:
            # Its time is that of the engine that judges.
            compared[0] = replace(compared[0], seconds=golds[0].here.seconds)
        return compared, attempts

    def _ask(
        self,
        worker: Worker,
        path: str,
        texts: Sequence[str],
        gold_sql: str,
        job: tuple[Any, ...],
    ) -> list[Attempt]:
        """Run and compare; what was stopped is the result of the prediction under every rule."""
        known = [
            self._stopped.get((path, text)) or self._stopped.get((path, text, gold_sql))
            for text in texts
        ]
        if all(known):
            return [Attempt(stopped) for stopped in known if stopped]
        steps = _MOST_STEPS + 4 * self._repeats
        plain = [stopped and to_plain(stopped) for stopped in known]
        try:
            reply = worker.ask(Jobs.run_and_compare, *job, plain, what="the statement", steps=steps)
        except StoppedError as error:
            gold = (gold_sql,) if error.step.startswith("compare") else ()
            self._stopped |= {(path, text, *gold): error.executed for text in texts}
            return [Attempt(error.executed) for _ in texts]
        except DataError as error:
            return [Attempt(Executed("unusable", message=str(error)))]
        attempts = [Attempt.from_plain(attempt) for attempt in reply]
        for text, attempt in zip(texts, attempts, strict=True):
            if attempt.executed.outcome in _LIMITS:  # the engine stopped it by itself
                self._stopped[path, text] = attempt.executed
        return attempts

    def _list_notes(self, *files: Path | None) -> tuple[str, ...]:
        """Return the notes on the databases that were used."""
        notes: dict[str, None] = {}
        for file in filter(None, files):
            with suppress(DataError):
                notes |= dict.fromkeys(self._copies.list_notes(file))
        return tuple(notes)


class Copies:
    """SQLite databases as copies in DuckDB, where that judges, and statements as they run there."""

    def __init__(self, engine: EngineName) -> None:
        self.engine: EngineName = engine
        self._lock = Lock()
        self._copies: dict[Path, Copy] = {}

    def get(self, file: Path) -> Copy | None:
        """Return the copy of a database, made once; None where it runs as it is."""
        if self.engine == "sqlite" or database(file).engine == "duckdb":
            return None
        with self._lock:
            if file not in self._copies:
                self._copies[file] = duckdb_copy(file)
            return self._copies[file]

    def list_notes(self, file: Path) -> Sequence[str]:
        """Return the differences between a database and its copy."""
        copy = self.get(file)
        return [f"{file.name} in DuckDB: {note}" for note in copy.notes] if copy else ()

    def translate(self, worker: Worker, file: Path, sql: str) -> tuple[Path, str]:
        """Return the file that a gold statement runs on, and its text there.

        Raises:
            ValueError: it has no translation.
            DataError: the database cannot be read.
            StoppedError: translating it met a limit.
        """
        copy = self.get(file)
        if copy is None:
            return file, sql
        if len(sql) > LONGEST:
            raise ValueError(f"it has {len(sql):,} characters, and {LONGEST:,} may be")
        details = (sql, str(file), copy.columns)
        where, text = worker.ask(Jobs.translate, *details, what="reading the statement")
        if where == "none":
            raise ValueError(text)
        return (copy.path if where == "copy" else file), text


def _get_rows(gold: Executed) -> tuple[Any, ...] | None:
    return gold.rows if gold.outcome == "executed" else None


def _find_database(databases: Databases, name: str) -> str | None:
    """Return the id of a database by a name from a model: looked up, never made a path."""
    if name in databases:
        return name
    same = [known for known in databases if known.lower() == name.lower()]
    return same[0] if len(same) == 1 else None


def _show(gold: Executed) -> dict[str, Any]:
    return {"gold_rows": len(gold.rows), "gold_result": preview(gold)}


def _explain_failure(answer: JudgedAnswer, predicted: Executed | None) -> str:
    if predicted is None or not predicted.message:
        return ""
    if answer.sql is None or answer.spider == 0:
        return predicted.message
    # Spider's script runs another text, which may be right where this one fails.
    text = " ".join(rewrite_for_test_suite(answer.sql).split())
    text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return f"{predicted.message}. ex[spider] is 1, for Spider's script runs: {text}"
