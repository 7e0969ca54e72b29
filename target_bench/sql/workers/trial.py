"""One prediction tried: read, run, compared with the gold and linked, each in a worker process.

Only small things come back: outcomes, the beginning of the result, the value under each rule.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import DataError
from target_bench.core.schema import Executed
from target_bench.sql.dialect.copying import Copy
from target_bench.sql.engines.databases import database
from target_bench.sql.linking import Overlap
from target_bench.sql.result_preview import Shape
from target_bench.sql.workers.pool import Pool, Statement

_STOPPED = ("timeout", "memory")


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


@dataclass(frozen=True, slots=True)
class Links:
    """Schema linking of a prediction.

    Attributes:
        tables: that it and the gold use.
        columns: that it and the gold use.
    """

    tables: Overlap
    columns: Overlap


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


_SPIDER = ("spider",)


def _untranslated(reason: str) -> Executed:
    return Executed("error", message=f"it has no translation: {reason}")
