"""Answers of a model, judged: SQL is read, run as the gold is, and what both give is compared.

Between the text of an ``SQLAnswer`` and its verdict (``JudgedQuery``) stand four values: the SQL
that is read in it (``Extracted``), what of that is run, and where (``_Prediction``), what a worker
gave (``Executed``), and this compared with what the gold gave (``Ran``). All that reports show is
kept in a ``JudgedAnswer``.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from target_bench.core.errors import DataError
from target_bench.core.files import digest
from target_bench.core.schema import Executed
from target_bench.metrics.sql import JudgedQuery, Rule, verdict
from target_bench.metrics.sql_results import same_rows
from target_bench.sql.databases import EngineName, database, engine_of
from target_bench.sql.duckdb_copy import Copy, duckdb_copy
from target_bench.sql.gold_results import GoldResults
from target_bench.sql.judged_answer import JudgedAnswer, LeftOut
from target_bench.sql.normalisation import LONGEST, for_test_suite
from target_bench.sql.worker import preview
from target_bench.sql.workers import Pool, Ran, StoppedError, Worker

VERSION = "judging:9"
"""The version of how SQL is read, run and compared: raise it if verdicts or scores can change."""

FORMAT = 1
"""The version of records and fingerprints; a record of another version is not used again."""

Databases = Mapping[str, Path]
"""Database id -> its file, of the databases that are here."""

_LONGEST_SHOWN = 300  # characters of a statement in a reason
_LIMITS = ("timeout", "memory")
_OWN_RULES = ("bird", "soft_f1")
_SPIDERS_RULE = ("spider",)


@dataclass(frozen=True, slots=True)
class SQLAnswer:
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
    answer: SQLAnswer, database: str | None, databases: Databases, settings: Sequence[str]
) -> str:
    """Return a hash of all that the record of an answer follows from, file contents included.

    Args:
        answer: the answer.
        database: the id of the database that its SQL was run on, or None.
        databases: as for ``Judge``.
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


class LeftOutError(Exception):
    """A query that cannot be judged.

    Attributes:
        kind: why, in one word.
        gold: what the gold gave, or None if it was not run.
    """

    def __init__(self, kind: LeftOut, reason: str, gold: Executed | None = None) -> None:
        super().__init__(reason)
        self.kind: LeftOut = kind
        self.gold = gold


class _Prediction(NamedTuple):
    """What is read in an answer.

    Attributes:
        sql: the statement, or None if there is none.
        texts: the same as it is run, and as Spider's rule runs it where that is another text.
        database_id: the database it runs on, or None.
        problem: if it is not run, what that counts as; or why there is no prediction.
    """

    sql: str | None = None
    texts: tuple[str, ...] = ()
    database_id: str | None = None
    problem: Executed | str | None = None


class _Gold(NamedTuple):
    """What a gold statement gave, and then as Spider's rule runs it, if that is another text.

    Attributes:
        here: in the engine that judges.
        in_sqlite: in SQLite, where the engine that judges has a copy; else the same.
    """

    here: tuple[Executed, ...]
    in_sqlite: tuple[Executed, ...]

    def results(self, ran: Ran | None) -> tuple[Executed, ...]:
        """Return what a prediction is judged against, with the times of the engine that judges."""
        if ran is None or not ran.in_sqlite:
            return self.here
        if ran.differs:
            return self.in_sqlite
        first, *others = self.in_sqlite
        return (replace(first, seconds=self.here[0].seconds), *others)


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
        self._stopped: dict[tuple[Any, ...], Any] = {}

    def judged(self, answers: Iterable[SQLAnswer]) -> Iterator[JudgedAnswer]:
        """Judge answers; each comes as soon as it is judged, in any order.

        Raises:
            BudgetError: the pool's budget is spent.
            StoreError: the result of a gold statement cannot be recorded.
        """
        return self._pool.each(self.judge, answers)

    def judge(self, worker: Worker, answer: SQLAnswer) -> JudgedAnswer:
        """Judge one answer in a worker; errors as for ``judged``."""
        gold_file = self._databases.get(answer.database_id)
        prediction = self._read(worker, answer)
        file = (
            self._databases.get(prediction.database_id or "")
            if prediction.problem is None
            else None
        )
        record = JudgedAnswer(
            query_id=answer.query_id,
            query=JudgedQuery("not_runnable"),
            sql=prediction.sql,
            gold_sql=answer.gold_sql,
            database=prediction.database_id,
            engine=engine_of(self._copies.engine, gold_file),
        )
        ran = Ran(prediction.problem) if isinstance(prediction.problem, Executed) else None
        try:
            gold = self._gold(worker, gold_file, answer.gold_sql)
            if file is not None:
                ran = self._try(worker, file, prediction.texts, answer.gold_sql, gold)
                if ran.executed.outcome == "unusable" and file == gold_file:
                    raise LeftOutError("unusable", ran.executed.message, gold.here[0])
        except LeftOutError as error:
            record = replace(record, reason=str(error), left_out=error.kind)
            return replace(record, notes=self._notes(gold_file), **_shown(error.gold))
        golds = gold.results(ran)
        predicted, stopped = (ran.executed, ran.stopped) if ran else (None, {})
        rewritten = (golds[-1], ran.spiders) if ran and ran.spiders else None
        values = ran.values if ran else {}
        query = verdict(golds[0], predicted, values, rewritten, self._rule, stopped)
        sides = rewritten if rewritten and self._rule == "spider" else (golds[0], predicted)
        if query.verdict == "gold_failed":
            reason = f"gold: {sides[0].outcome}: {sides[0].message}"
        elif isinstance(prediction.problem, str):
            reason = prediction.problem
        else:
            reason = _reason(prediction.sql, query, sides[1])
        reason = reason or _stops(stopped, self._rule)
        if ran and ran.differs:
            by_sqlite = f"{query.verdict} by SQLite's rows"
            reason = f"it {ran.differs}. {by_sqlite}{f': {reason}' if reason else ''}"
            query = replace(query, verdict="translation_differs")
        return replace(
            record,
            query=query,
            reason=reason,
            rows=ran.rows if ran else None,
            result=ran.preview if ran else None,
            outcome=predicted.outcome if predicted else None,
            notes=self._notes(gold_file, file),
            **_shown(golds[0]),
        )

    def _read(self, worker: Worker, answer: SQLAnswer) -> _Prediction:
        if answer.error is not None:
            return _Prediction(problem=answer.error)
        key = ("read", answer.text)
        try:
            if key not in self._stopped:
                what = "reading the answer"
                sql, spiders, named = worker.ask("read", answer.text, what=what)
        except StoppedError as error:
            self._stopped[key] = error.executed
        if key in self._stopped:
            return _Prediction(problem=self._stopped[key])
        if sql is None:
            return _Prediction(problem="no SQL can be read from the answer")
        if spiders is None:
            problem = f"it has {len(sql):,} characters; more than {LONGEST:,} are not run"
            return _Prediction(sql, problem=Executed("error", message=problem))
        name = named or answer.retrieved or answer.database_id
        database_id = _known(self._databases, name)
        if database_id is None:
            problem = f"there is no database {name!r:.80}"
            return _Prediction(sql, problem=Executed("error", message=problem))
        return _Prediction(sql, tuple(dict.fromkeys((sql, spiders))), database_id)

    def _gold(self, worker: Worker, file: Path | None, sql: str) -> _Gold:
        """Run the gold, and as Spider's rule runs it if that is another text.

        Raises:
            LeftOutError: its database is missing or cannot be read, or the engines differ over it.
        """
        if file is None:
            raise LeftOutError("missing", "the database of the query is missing")
        texts = tuple(dict.fromkeys((sql, for_test_suite(sql))))
        try:
            statements = [self._copies.statement(worker, file, text) for text in texts]
            copied = self._copies.copy_of(file) is not None
        except DataError as error:
            raise LeftOutError("unusable", str(error)) from error
        except (ValueError, StoppedError) as error:
            raise LeftOutError("engines", f"the gold has no translation: {error}") from error
        repeats = (self._repeats, 1)
        golds, there = (
            tuple(
                self._golds.result(worker, *statement, repeat)
                for statement, repeat in zip(runs, repeats, strict=False)
            )
            for runs in (statements, [(file, text) for text in texts] if copied else [])
        )
        for result in (*golds, *there):
            if result.outcome == "unusable":
                raise LeftOutError("unusable", result.message, golds[0])
        names = ("the gold", "the gold as ex[spider] runs it, without DISTINCT,")
        for i, (ours, theirs) in enumerate(zip(golds, there, strict=False)):
            same = partial(same_rows, ours.rows, theirs.rows, i > 0)
            difference = differing(ours, theirs, same)
            if difference:
                raise LeftOutError("engines", f"{names[i]} {difference}", golds[0])
        return _Gold(golds, there or golds)

    def _try(
        self, worker: Worker, file: Path, texts: Sequence[str], gold_sql: str, gold: _Gold
    ) -> Ran:
        """Run a prediction and compare it with the gold.

        Args:
            worker: where.
            file: its database.
            texts: the prediction, and as Spider's rule runs it where that is another text.
            gold_sql: the gold.
            gold: what the gold gave.
        """
        try:
            copy = self._copies.copy_of(file)
        except DataError as error:
            return Ran(Executed("unusable", message=str(error)))
        is_translated = copy is not None and self._dialect == "sqlite"
        path = copy.path if copy is not None and not is_translated else file
        rules = [_OWN_RULES, _SPIDERS_RULE] if len(texts) > 1 else [(*_OWN_RULES, *_SPIDERS_RULE)]
        ran: list[Ran] = []
        for i, (text, own_rules) in enumerate(zip(texts, rules, strict=True)):
            repeat = 1 if i else self._repeats
            golds = gold.in_sqlite if is_translated else gold.here
            against = _by_rule(own_rules, golds)
            result = self._run(worker, (path, text), gold_sql, against, repeat)
            if is_translated and result.executed.outcome != "unusable":
                here = _by_rule(own_rules, gold.here)
                result = self._checked(worker, (file, text), result, gold_sql, here, repeat, i > 0)
            ran.append(result)
        first, *others = ran
        if not others:
            return first._replace(spiders=first.executed) if len(gold.here) > 1 else first
        (more,) = others
        return first._replace(
            spiders=more.executed,
            values={**first.values, **more.values},
            stopped={**first.stopped, **more.stopped},
            differs=first.differs or (more.differs and f"{more.differs} (as ex[spider] runs it)"),
        )

    def _checked(
        self,
        worker: Worker,
        statement: tuple[Path, str],
        ran: Ran,
        gold_sql: str,
        comparisons: Sequence[tuple[tuple[str, ...], Executed]],
        repeat: int,
        repeated: bool,
    ) -> Ran:
        """Run a prediction in DuckDB that was run in SQLite, and say whether they differ over it.

        Args:
            worker: where; it has the rows that SQLite gave.
            statement: the prediction's database and text in SQLite.
            ran: what SQLite gave.
            gold_sql: the gold.
            comparisons: rules, and what the gold gave in DuckDB.
            repeat: how often it is run.
            repeated: whether it matters how often a row is there.
        """
        key = ("translate", *statement)
        try:
            if ran.executed.outcome == "executed":
                worker.ask("keep", what="keeping its result")
            if key in self._stopped:
                here = Ran(self._stopped[key])
            else:
                translated = self._copies.statement(worker, *statement)
                if translated == statement:
                    return ran._replace(in_sqlite=True)  # SQLite does not compile it
                here = self._run(worker, translated, gold_sql, comparisons, repeat)
        except StoppedError as error:
            self._stopped[key] = error.executed
            here = Ran(error.executed)
        except ValueError as error:
            here = Ran(Executed("error", message=f"it has no translation: {error}"))

        def is_same() -> bool:
            try:
                return bool(worker.ask("agrees", repeated, what="comparing what both engines gave"))
            except StoppedError:
                return False

        difference = differing(here.executed, ran.executed, is_same)
        values = [
            {name: side.values.get(name) for name in ("bird", "spider")} for side in (ran, here)
        ]
        if difference is None and values[0] != values[1]:
            difference = "has the gold's rows in one engine alone"
        if difference is not None or here.executed.outcome != "executed":
            return ran._replace(differs=difference or "", in_sqlite=True)
        executed = replace(ran.executed, seconds=here.executed.seconds)
        return ran._replace(executed=executed, in_sqlite=True)

    def _run(
        self,
        worker: Worker,
        statement: tuple[Path, str],
        gold_sql: str,
        comparisons: Iterable[tuple[tuple[str, ...], Executed]],
        repeat: int = 1,
    ) -> Ran:
        """Run a statement and compare its result with golds, each under some rules.

        What met a limit is not tried again for another query: that would meet it again, and a
        submission may hold it ten thousand times.
        """
        if statement in self._stopped:
            ran: Ran = self._stopped[statement]
            return ran
        try:
            ran = worker.run(*statement, repeat)
        except StoppedError as error:
            ran = Ran(error.executed)
        except DataError as error:
            return Ran(Executed("unusable", message=str(error)))
        if ran.executed.outcome in _LIMITS:
            self._stopped[statement] = ran
        values: dict[str, float] = {}
        stopped: dict[str, Executed] = {}
        stop: Executed | None = None
        for rules, gold in comparisons:
            if not ran.executed.outcome == gold.outcome == "executed":
                continue
            stop = stop or self._stopped.get((*statement, rules))
            if stop is None:
                what = "the comparison of its result with the gold's"
                try:
                    values |= worker.ask("compare", rules, gold.rows, gold_sql, what=what)
                    continue
                except StoppedError as error:
                    stop = error.executed
            stopped |= dict.fromkeys(rules, stop)
            if stop.outcome in _LIMITS:
                self._stopped[*statement, rules] = stop
        return ran._replace(values=values, stopped=stopped)

    def _notes(self, *files: Path | None) -> tuple[str, ...]:
        """Return the notes on the databases that were used."""
        notes: dict[str, None] = {}
        for file in filter(None, files):
            with suppress(DataError):
                notes |= dict.fromkeys(self._copies.notes(file))
        return tuple(notes)


class Copies:
    """SQLite databases as copies in DuckDB, where that judges, and statements as they run there.

    Args:
        engine: which engine judges; a database of DuckDB's own is used as it is.
    """

    def __init__(self, engine: EngineName) -> None:
        self.engine: EngineName = engine
        self._lock = Lock()
        self._made: dict[Path, Copy] = {}

    def copy_of(self, file: Path) -> Copy | None:
        """Return the copy of a database, made once; None where it runs as it is.

        Raises:
            DataError: the database cannot be read.
            StoreError: the copy cannot be written.
        """
        if self.engine == "sqlite" or database(file).engine == "duckdb":
            return None
        with self._lock:
            if file not in self._made:
                self._made[file] = duckdb_copy(file)
            return self._made[file]

    def notes(self, file: Path) -> Sequence[str]:
        """Return what is not in the copy as it was; errors as for ``of``."""
        copy = self.copy_of(file)
        return [f"{file.name} in DuckDB: {note}" for note in copy.notes] if copy else ()

    def statement(self, worker: Worker, file: Path, sql: str) -> tuple[Path, str]:
        """Return the file that a statement runs on, and its text there.

        Raises:
            ValueError: it has no translation.
            DataError: the database cannot be read.
            StoppedError: translating it met a limit.
        """
        copy = self.copy_of(file)
        if copy is None:
            return file, sql
        if len(sql) > LONGEST:
            raise ValueError(f"it has {len(sql):,} characters, and {LONGEST:,} may be")
        details = (sql, str(file), copy.columns)
        where, text = worker.ask("translate", *details, what="reading the statement")
        if where == "none":
            raise ValueError(text)
        return (copy.path if where == "copy" else file), text


def differing(here: Executed, in_sqlite: Executed, same: Callable[[], bool]) -> str | None:
    """Return in words how two engines differ over a statement; None if they agree.

    They agree over the same rows, and where both fail.

    Args:
        here: what the engine that judges gave.
        in_sqlite: what SQLite gave.
        same: tells whether the rows are the same, where both have any.
    """
    if in_sqlite.outcome != "executed":
        if here.outcome != "executed":
            return None  # which SQLite counts as 0
        return f"fails in SQLite alone: {in_sqlite.outcome}: {in_sqlite.message}"
    if here.outcome != "executed":
        return f"fails in this engine alone: {here.outcome}: {here.message}"
    if same():
        return None
    return "gives another result in this engine than in SQLite"


def _by_rule(
    rules: Sequence[str], golds: Sequence[Executed]
) -> list[tuple[tuple[str, ...], Executed]]:
    """Return rules with the gold's result that each compares with: Spider's has its own."""
    own = tuple(rule for rule in rules if rule not in _SPIDERS_RULE)
    spiders = [(_SPIDERS_RULE, golds[-1])] if len(own) < len(rules) else []
    return [*([(own, golds[0])] if own else []), *spiders]


def _known(databases: Databases, name: str) -> str | None:
    """Return the id of a database by a name from a model: looked up, never made a path."""
    if name in databases:
        return name
    same = [known for known in databases if known.lower() == name.lower()]
    return same[0] if len(same) == 1 else None


def _shown(gold: Executed | None) -> dict[str, Any]:
    """Return what a record shows of the gold's result."""
    if gold is None:
        return {}
    return {"gold_rows": len(gold.rows), "gold_result": preview(gold)}


def _reason(sql: str | None, query: JudgedQuery, predicted: Executed | None) -> str:
    if predicted is None or not predicted.message:
        return ""
    if sql is None or query.spider == 0:
        return predicted.message
    # Spider's script runs another text, which may be right where this one fails.
    text = " ".join(for_test_suite(sql).split())
    text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return f"{predicted.message}. ex[spider] is 1, for Spider's script runs: {text}"


def _stops(stopped: Mapping[str, Executed], rule: Rule) -> str:
    """Return the limit that stopped the comparison, under the rule of the verdict or another."""
    if rule in stopped:
        return stopped[rule].message
    names = [name if name == "soft_f1" else f"ex[{name}]" for name in stopped]
    messages = dict.fromkeys(stop.message for stop in stopped.values())
    return f"{' and '.join(names)} 0: {'; '.join(messages)}" if stopped else ""
