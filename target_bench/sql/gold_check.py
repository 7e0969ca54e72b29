"""Gold SQL scored as if it were a prediction: which of it fails, returns nothing, or wavers."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import tee
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.schema import NO_DATABASE, Dataset, Executed, Query, SQLOutcome
from target_bench.metrics.sql_rules import comparable
from target_bench.sql.dialect.agreement import agree
from target_bench.sql.dialect.engine_choice import dialect_of
from target_bench.sql.engines.databases import EngineName, Limits, ran_in
from target_bench.sql.normalisation import for_test_suite
from target_bench.sql.workers.pool import Dialect, Pool, Statement

RUNS = 2
"""Number of runs of every statement, to see whether its result varies."""


def verify_gold(
    dataset: Dataset,
    engine: EngineName = "sqlite",
    timeout: float = 30.0,
    workers: int | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run every gold statement of a split twice, and say what became of it.

    Args:
        dataset: a split with databases.
        engine: ``sqlite`` runs every database in its own engine; ``duckdb`` runs SQLite databases
            as copies in DuckDB, statements translated.
        timeout: seconds that one statement may take.
        workers: how many processes; default: as many as there are cores.
        warn: gets notes of what was converted in a copy.

    Returns:
        ``corpus``, ``split``, ``engine`` (what ran them), ``fingerprint`` of the corpus,
        ``timeout``; the numbers of ``queries``, of those ``executed`` and of those ``with_rows``;
        the ``failed`` ones (``query_id``, ``outcome``, ``message``; the outcome is ``unusable``
        where the database is damaged or being written); the ids of those that are ``empty``, that
        ``differ_between_runs``, that ``differ_between_engines`` (DuckDB only; as it stands, or as
        Spider's rule runs it), and whose database is ``missing``.

    Raises:
        ConfigError: the corpus has no databases.
    """
    asked = [query for query in dataset.queries if query.database_id != NO_DATABASE]
    if not asked:
        raise ConfigError(f"{dataset.info.name} {dataset.split} has no databases to run SQL on")
    there = [query for query in asked if query.database_id in dataset.databases]
    with Pool(workers, Limits(seconds=timeout)) as pool:
        found = list(_run(pool, dataset, there, dialect_of(engine, warn)))
    executed = [one for one in found if one.outcome == "executed"]
    return {
        "corpus": dataset.info.name,
        "split": dataset.split,
        "engine": ran_in(engine, (dataset.databases[query.database_id] for query in there)),
        "fingerprint": dataset.corpus.fingerprint,
        "timeout": timeout,
        "queries": len(asked),
        "executed": len(executed),
        "with_rows": sum(one.has_rows for one in executed),
        "failed": [
            {"query_id": one.query_id, "outcome": one.outcome, "message": one.message}
            for one in found
            if one.outcome != "executed"
        ],
        "empty": [one.query_id for one in executed if not one.has_rows],
        "differ_between_runs": [one.query_id for one in found if not one.same],
        "differ_between_engines": [one.query_id for one in executed if not one.agrees],
        "missing": [query.id for query in asked if query.database_id not in dataset.databases],
    }


class _Verified(NamedTuple):
    """The outcome of a gold statement, without the rows, which of all would fill the memory."""

    query_id: str
    outcome: SQLOutcome
    message: str
    has_rows: bool
    same: bool
    agrees: bool


def _run(
    pool: Pool, dataset: Dataset, queries: Sequence[Query], dialect: Dialect
) -> Iterator[_Verified]:
    """Run each query twice, and in SQLite too where another engine judges."""
    plans, again = tee(_plans(dataset, queries, dialect))
    results = pool.run((s for plan in again for s in plan.statements), keep_going=True)
    for plan in plans:
        if plan.problem is not None:
            outcome, message = plan.problem
            yield _Verified(plan.query.id, outcome, message, False, True, True)
            continue
        one, two, *other = [next(results) for _ in plan.statements]
        yield _Verified(
            plan.query.id,
            one.outcome,
            one.message,
            has_rows=bool(one.rows),
            same=_same(one, two),
            agrees=_agree(one, *other),
        )


class _Plan(NamedTuple):
    """The statements of a query, or why there are none."""

    query: Query
    statements: tuple[Statement, ...]
    problem: tuple[SQLOutcome, str] | None


def _agree(here: Executed, *more: Executed) -> bool:
    """Return whether both engines agree over the gold, and over its form for Spider's rule.

    Args:
        here: the gold in the engine that judges.
        more: the gold in SQLite, if that is another; then the other text in both, if there is one.
    """
    if not more:
        return True
    there, *rewritten = more
    if not agree(here, there):
        return False
    failed = rewritten and all(result.outcome != "executed" for result in rewritten)
    return not rewritten or failed or agree(rewritten[0], rewritten[1], repeated=True)


def _plans(dataset: Dataset, queries: Sequence[Query], dialect: Dialect) -> Iterator[_Plan]:
    for query in queries:
        file, sql = dataset.databases[query.database_id], _gold(query)
        try:
            statement, other = dialect.statement(file, sql), dialect.in_sqlite(file, sql)
            more = () if other is None else (other, *_rewritten(dialect, file, sql))
        except ValueError as error:
            yield _Plan(query, (), ("error", f"it has no translation: {error}"))
        except DataError as error:
            yield _Plan(query, (), ("unusable", str(error)))
        else:
            yield _Plan(query, (*[statement] * RUNS, *more), None)


def _rewritten(dialect: Dialect, file: Path, sql: str) -> tuple[Statement, ...]:
    """Return the gold as Spider's rule runs it, in both engines; empty if the text is the same."""
    text = for_test_suite(sql)
    if text == sql:
        return ()
    there = dialect.in_sqlite(file, text)
    return () if there is None else (dialect.statement(file, text), there)


def _gold(query: Query) -> str:
    return query.answer if isinstance(query.answer, str) else query.answer[0]


def _same(one: Executed, other: Executed) -> bool:
    """Return whether two results are equal; NaN equals NaN, as it does for the rules."""
    rows = [list(comparable(result.rows)) for result in (one, other)]
    return one.outcome == other.outcome and rows[0] == rows[1]


def kept(report: dict[str, Any], folder: Path) -> Path:
    """Write a report, with the time, under the corpus's fingerprint; return its path.

    Raises:
        StoreError: the folder cannot be written.
    """
    words = (report["corpus"], report["split"], report["engine"], report["fingerprint"][:12])
    path = folder / f"gold-{'-'.join(words)}.json"
    text = json.dumps(report | {"made": time.strftime("%Y-%m-%dT%H:%M:%S%z")}, indent=1)
    try:
        atomic_write(path, f"{text}\n".encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error
    return path
