"""Gold SQL scored as if it were a prediction: which of it fails, returns nothing, or wavers."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from target_bench.errors import ConfigError, StoreError
from target_bench.interfaces import Dataset
from target_bench.metrics.sql import comparable
from target_bench.schema import NO_DATABASE, Executed, Query
from target_bench.sql.engine import EngineName
from target_bench.sql.judging import agree
from target_bench.sql.limits import Limits
from target_bench.sql.pool import Pool, Statement
from target_bench.sql.speaking import Speaker, speaker

RUNS = 2
"""How often every statement is run, to see whether it gives the same each time."""


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
        warn: hears of what was converted in a copy.

    Returns:
        ``corpus``, ``split``, ``engine``, ``fingerprint`` of the corpus, ``timeout``; the numbers
        of ``queries``, of those ``executed`` and of those ``with_rows``; the ``failed`` ones
        (``query_id``, ``outcome``, ``message``); the ids of those that are ``empty``, that
        ``differ_between_runs``, that ``differ_between_engines`` (DuckDB only), and whose database
        is ``missing``.

    Raises:
        ConfigError: the corpus has no databases.
        DataError: a database is damaged, or being written by another program.
    """
    asked = [query for query in dataset.queries if query.database_id != NO_DATABASE]
    if not asked:
        raise ConfigError(f"{dataset.info.name} {dataset.split} has no databases to run SQL on")
    there = [query for query in asked if query.database_id in dataset.databases]
    with Pool(workers, Limits(seconds=timeout)) as pool:
        found = _run(pool, dataset, there, speaker(engine, warn))
    executed = [query for query, (first, *_) in found if first.outcome == "executed"]
    rows = {query.id: first.rows for query, (first, *_) in found}
    return {
        "corpus": dataset.info.name,
        "split": dataset.split,
        "engine": engine,
        "fingerprint": dataset.corpus.fingerprint,
        "timeout": timeout,
        "queries": len(asked),
        "executed": len(executed),
        "with_rows": sum(bool(rows[query.id]) for query in executed),
        "failed": [
            {"query_id": query.id, "outcome": first.outcome, "message": first.message}
            for query, (first, *_) in found
            if first.outcome != "executed"
        ],
        "empty": [query.id for query in executed if not rows[query.id]],
        "differ_between_runs": [q.id for q, (one, two, _) in found if not _same(one, two)],
        "differ_between_engines": [
            query.id
            for query, (one, _, other) in found
            if other is not None and one.outcome == "executed" and not agree(one, other)
        ],
        "missing": [query.id for query in asked if query.database_id not in dataset.databases],
    }


_Found = list[tuple[Query, tuple[Executed, Executed, Executed | None]]]


def _run(pool: Pool, dataset: Dataset, queries: Sequence[Query], says: Speaker) -> _Found:
    """Each query with its two results, and that in SQLite where another engine is asked."""
    plans: list[tuple[Query, list[Statement | None], str]] = []
    for query in queries:
        file, sql = dataset.databases[query.database_id], _gold(query)
        try:
            statement = says.statement(file, sql)
            plans.append((query, [*[statement] * RUNS, says.in_sqlite(file, sql)], ""))
        except ValueError as error:
            plans.append((query, [None] * (RUNS + 1), f"cannot be translated: {error}"))
    results = pool.run(s for _, statements, _ in plans for s in statements if s is not None)
    found: _Found = []
    for query, statements, problem in plans:
        one, two, other = (None if s is None else next(results) for s in statements)
        failed = Executed("error", message=problem)
        found.append((query, (one or failed, two or failed, other)))
    return found


def _gold(query: Query) -> str:
    return query.answer if isinstance(query.answer, str) else query.answer[0]


def _same(one: Executed, other: Executed) -> bool:
    """Every NaN is the same here, as it is for the rules."""
    rows = [list(comparable(result.rows)) for result in (one, other)]
    return one.outcome == other.outcome and rows[0] == rows[1]


def kept(report: dict[str, Any], folder: Path) -> Path:
    """Keep a report, with the time, under the fingerprint of the corpus; where it lies.

    Raises:
        StoreError: the folder cannot be written.
    """
    words = (report["corpus"], report["split"], report["engine"], report["fingerprint"][:12])
    path = folder / f"gold-{'-'.join(words)}.json"
    text = json.dumps(report | {"made": time.strftime("%Y-%m-%dT%H:%M:%S%z")}, indent=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(f".{uuid4().hex}.tmp")
        half.write_text(text + "\n", encoding="utf-8")
        half.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error
    return path
