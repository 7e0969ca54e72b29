"""Results of statements: those of golds, which are kept, and those of predictions.

The result of a gold statement is computed once, by content of the database, statement and limits.
Each lies in a file of its own: JSON, compressed with a checksum, moved to its place when whole.

A prediction is read, run, compared with the gold and linked in a worker process. Only small things
come back: outcomes, the beginning of the result, the value under each rule.
"""

import gzip
import hashlib
import json
import re
import sqlite3
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import atomic_write, cache_root, digest
from target_bench.core.registry import installed_version
from target_bench.core.schema import Executed
from target_bench.sql.dialect.copying import Copy
from target_bench.sql.engines.databases import Database, database
from target_bench.sql.judged_answer import Links, Overlap
from target_bench.sql.workers.pool import Pool, Statement
from target_bench.sql.workers.process import Shape

FORMAT = 1
"""The version of the files and of the rules by which cells are read; others are not used."""

_PASSING = {"timeout", "memory", "unusable"}  # outcomes that another day may not have

_MOVING = re.compile(
    r"now|random|current|today|uuid|nextval"
    r"|\b\w*(date|time|day|epoch)\s*\(\s*\)|strftime\s*\([^,()]*\)",
    re.IGNORECASE,
)
_STOPPED = ("timeout", "memory")
_SPIDER = ("spider",)


def folder() -> Path:
    """Return ``gold`` in the cache folder: $TARGET_BENCH_CACHE, or the user's."""
    return cache_root() / "gold"


_default = folder


class GoldResults:
    """A store of gold results: each statement runs once for a state of its database.

    Run again every time: statements that ask for the time or for chance, those to be repeated
    (their times have to be of today), and those that met a limit of time or memory.

    Args:
        pool: runs what is not recorded.
        folder: where results are kept; default: in the cache folder.
        warn: gets a message for each damaged file, which is moved aside.
    """

    def __init__(
        self,
        pool: Pool,
        folder: Path | None = None,
        warn: Callable[[str], None] = warnings.warn,
    ) -> None:
        self._pool = pool
        self._folder = _default() if folder is None else folder
        self._warn = warn
        self._hashes: dict[Database, str] = {}
        self._locks: dict[str, Lock] = {}

    def execute(self, statement: Statement) -> Executed:
        """Return the result of one statement, run in this thread if it is not recorded.

        ``seconds`` are those of the run that was recorded. A statement whose database cannot be
        read has the outcome ``unusable``. Threads that ask for the same statement at the same time
        run it once.

        Raises:
            ConfigError: as for the pool.
            BudgetError: the pool's budget is spent.
            StoreError: a result cannot be recorded.
        """
        place = self._place(statement)
        if place is None:
            return self._pool.run_here(statement)
        with self._locks.setdefault(str(place), Lock()):
            found = self._recorded(place)
            if found is None:
                found = self._pool.run_here(statement)
                self._record(place, found)
        return found

    def _place(self, statement: Statement) -> Path | None:
        """Return the file of a statement's result, or None if it is not to be kept."""
        if statement.repeat > 1 or _MOVING.search(statement.sql):
            return None
        try:
            where = database(statement.database, statement.engine)
            if where not in self._hashes:
                self._hashes[where] = digest(Path(where.path))
        except (DataError, OSError):  # which the pool will tell
            return None
        engine = sqlite3.sqlite_version if where.engine == "sqlite" else installed_version("duckdb")
        determining = [
            FORMAT,
            self._hashes[where],
            where.engine,
            engine,
            astuple(self._pool.limits),
            statement.sql,
        ]
        key = hashlib.sha256(json.dumps(determining).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.json.gz"

    def _recorded(self, place: Path | None) -> Executed | None:
        if place is None:
            return None
        try:
            with gzip.open(place, "rt", encoding="utf-8") as file:
                return _executed(json.load(file, object_hook=_bytes))
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            aside = place.with_name(f"{place.name}.aside-{time.time_ns()}")
            with suppress(OSError):
                place.rename(aside)
            self._warn(
                f"the recorded result {place} cannot be used ({error}); it was moved to "
                f"{aside.name} and the statement is run again"
            )
            return None
        except OSError:  # most often, there is none; if it is worse, recording it will tell
            return None

    def _record(self, place: Path | None, result: Executed) -> None:
        if place is None or result.outcome in _PASSING or result.message.startswith("the process"):
            return
        text = json.dumps(_record(result), default=_tagged)
        try:
            atomic_write(place, gzip.compress(text.encode(), compresslevel=1), durable=False)
        except OSError as error:
            raise StoreError(
                f"a gold result cannot be recorded in {place.parent}: {error.strerror}. Make room "
                "or fix its permissions, or name another folder with $TARGET_BENCH_CACHE."
            ) from error


def _record(result: Executed) -> dict[str, Any]:
    return {
        "outcome": result.outcome,
        "columns": result.columns,
        "rows": result.rows,
        "message": result.message,
        "seconds": result.seconds,
    }


def _executed(record: dict[str, Any]) -> Executed:
    return Executed(
        outcome=record["outcome"],
        columns=tuple(record["columns"]),
        rows=tuple(map(tuple, record["rows"])),
        message=record["message"],
        seconds=tuple(record["seconds"]),
    )


def _tagged(cell: bytes) -> dict[str, str]:
    return {"hex": cell.hex()}


def _bytes(found: dict[str, Any]) -> Any:
    return bytes.fromhex(found["hex"]) if found.keys() == {"hex"} else found


@dataclass(frozen=True, slots=True)
class Prediction:
    """A prediction and what it is compared with.

    Attributes:
        sql: the prediction, in the dialect of its database.
        file: the database that it runs on.
        copy: the copy of it in DuckDB, if that is where it is judged.
        gold_sql: the gold.
        gold: what the gold gave.
        gold_rewritten: what the gold as Spider's rule has it gave, or None if it is the same text.
        repeats: how often it is run.
    """

    sql: str
    file: Path
    copy: Copy | None
    gold_sql: str
    gold: Executed
    gold_rewritten: Executed | None
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of a prediction.

    Attributes:
        predicted: what it gave, with the beginning of its rows and names alone.
        shape: how many rows and columns it gave.
        rewritten: what gold and prediction gave as Spider's rule has them; None if neither is
            another text.
        values: rule -> value, of the rules under which results were compared.
        stopped: rule -> what stopped the comparison under it or under one before it.
    """

    predicted: Executed
    shape: Shape = field(default_factory=Shape)
    rewritten: tuple[Executed, Executed] | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    stopped: Mapping[str, Executed] = field(default_factory=dict)


class _Run(NamedTuple):
    """One statement that was run: what it gave, and the comparisons that could be made."""

    result: Executed
    shape: Shape
    values: dict[str, float]
    stopped: dict[str, Executed]


class Trials:
    """Trials of predictions in a pool's processes.

    A statement that met a limit is not run again for another query, nor its result compared again
    if a comparison did: that would meet it again, and a submission may hold it ten thousand times.

    Args:
        pool: whose processes, under whose limits.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._stopped: dict[tuple[Path, str], Executed] = {}
        self._uncompared: dict[tuple[Path, str], dict[str, Executed]] = {}
        self._unlinked: set[tuple[Path, str]] = set()

    def tried(self, asked: Prediction) -> Tried:
        """Run a prediction and return its outcome.

        Raises:
            ConfigError: the pool is closed, or a process cannot be started.
            BudgetError: the pool's budget is spent.
        """
        said = self._said(asked)
        if isinstance(said, Executed):
            return Tried(said)
        (how, text), *other = said
        if how == "unsaid":
            return Tried(_untranslated(text))
        spiders = asked.gold_rewritten or asked.gold
        names = ("bird", "multiset", "soft_f1")
        comparisons = [(names, asked.gold)] if other else [(names, asked.gold), (_SPIDER, spiders)]
        run = self._run(asked, how, text, comparisons, asked.repeats)
        predicted, shape, values, stopped = run
        if not other:
            both = (spiders, predicted) if asked.gold_rewritten else None
            return Tried(predicted, shape, both, values, stopped)
        ((how, text),) = other
        if how == "unsaid":
            return Tried(predicted, shape, (spiders, _untranslated(text)), values, stopped)
        theirs = self._run(asked, how, text, [(_SPIDER, spiders)])
        values, stopped = values | theirs.values, stopped | theirs.stopped
        return Tried(predicted, shape, (spiders, theirs.result), values, stopped)

    def linked(self, gold_sql: str, sql: str, file: Path) -> Links | None:
        """Return the schema linking of a prediction; if it was stopped, as of one using nothing.

        Raises:
            ConfigError: as for ``tried``, which see.
            BudgetError: the pool's budget is spent.
        """
        try:
            where = database(file)
        except DataError:
            return None
        read = partial(self._pool.read, "linked", gold_sql, what="schema linking")
        found = None
        if (file, sql) not in self._unlinked:
            found = read(sql, where.path, where.state)
        if found is None or isinstance(found, Executed):
            if not isinstance(found, Executed) and (file, sql) not in self._unlinked:
                return None
            self._unlinked.add((file, sql))
            found = read("", where.path, where.state)
        if found is None or isinstance(found, Executed):
            return None
        tables, columns = (Overlap(*counts) for counts in found)
        return Links(tables, columns)

    def _said(self, asked: Prediction) -> Any:
        """Return the statement, and its other form for Spider's rule, if any, as they are run."""
        copy, key = asked.copy, (asked.file, asked.sql)
        if key in self._stopped:
            return self._stopped[key]
        columns, views = (copy.columns, copy.views) if copy else (None, ())
        texts = (asked.sql, str(asked.file), columns, views)
        return self._kept(key, self._pool.read("said", *texts, what="reading the statement"))

    def _run(
        self,
        asked: Prediction,
        how: str,
        text: str,
        comparisons: Iterable[tuple[tuple[str, ...], Executed]],
        repeats: int = 1,
    ) -> _Run:
        path = asked.copy.path if how == "copy" and asked.copy else asked.file
        if (path, text) in self._stopped:
            return _Run(self._stopped[path, text], Shape(), {}, {})
        statement = Statement(path, text, repeats)
        try:
            run = self._pool.again(partial(self._compared, statement, asked, comparisons))
        except DataError as error:
            return _Run(Executed("unusable", message=str(error)), Shape(), {}, {})
        self._kept((path, text), run.result)
        return run

    def _compared(
        self,
        statement: Statement,
        asked: Prediction,
        comparisons: Iterable[tuple[tuple[str, ...], Executed]],
    ) -> _Run:
        where = database(statement.database, statement.engine)
        values: dict[str, float] = {}
        stopped: dict[str, Executed] = {}
        key = statement.database, statement.sql
        earlier = self._uncompared.get(key, {})
        with self._pool.worker(where) as worker:
            ran, _, shape = worker.run(where, statement.sql, statement.repeat, "beginning")
            stop: Executed | None = None
            for names, gold in comparisons:
                if ran.outcome != "executed" or gold.outcome != "executed":
                    continue
                stop = stop or earlier.get(names[0])
                if stop is None:
                    found = worker.compare(names, gold, asked.gold_sql)
                    if not isinstance(found, Executed):
                        values |= found
                        continue
                    stop = found
                stopped |= dict.fromkeys(names, stop)
        if stop is not None and stop.outcome in _STOPPED:
            self._uncompared[key] = {**earlier, **stopped}
        return _Run(ran, shape, values, stopped)

    def _kept(self, key: tuple[Path, str], found: Any) -> Any:
        if isinstance(found, Executed) and found.outcome in _STOPPED:
            self._stopped[key] = found
        return found


def _untranslated(reason: str) -> Executed:
    return Executed("error", message=f"it has no translation: {reason}")
