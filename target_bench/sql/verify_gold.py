"""Gold SQL scored as if it were a prediction: which of it fails, returns nothing, or wavers."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import ConfigError, DataError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.schema import NO_DATABASE, Dataset, Query, SQLOutcome
from target_bench.metrics.sql_results import comparable
from target_bench.sql.databases import EngineName, engine_of, joined
from target_bench.sql.engines import SQLLimits
from target_bench.sql.judge import Copies, differing
from target_bench.sql.normalisation import for_test_suite
from target_bench.sql.workers import Pool, StoppedError, Worker


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
    queries = [query for query in dataset.queries if query.database_id != NO_DATABASE]
    if not queries:
        raise ConfigError(f"{dataset.info.name} {dataset.split} has no databases to run SQL on")
    there = [query for query in queries if query.database_id in dataset.databases]
    copies = Copies(engine, warn)

    def verified(worker: Worker, query: Query) -> Verified:
        gold = query.answer if isinstance(query.answer, str) else query.answer[0]
        return _verified(worker, copies, query.id, dataset.databases[query.database_id], gold)

    with Pool(workers, SQLLimits(seconds=timeout)) as pool:
        by_id = {gold.query_id: gold for gold in pool.each(verified, there)}
    golds = [by_id[query.id] for query in there]
    executed = [gold for gold in golds if gold.outcome == "executed"]
    engines = [engine_of(engine, dataset.databases[query.database_id]) for query in there]
    return {
        "corpus": dataset.info.name,
        "split": dataset.split,
        "engine": joined(engine, engines),
        "fingerprint": dataset.corpus.fingerprint,
        "timeout": timeout,
        "queries": len(queries),
        "executed": len(executed),
        "with_rows": sum(gold.has_rows for gold in executed),
        "failed": [
            {"query_id": gold.query_id, "outcome": gold.outcome, "message": gold.message}
            for gold in golds
            if gold.outcome != "executed"
        ],
        "empty": [gold.query_id for gold in executed if not gold.has_rows],
        "differ_between_runs": [gold.query_id for gold in golds if not gold.same],
        "differ_between_engines": [gold.query_id for gold in executed if not gold.agrees],
        "missing": [q.id for q in queries if q.database_id not in dataset.databases],
    }


class Verified(NamedTuple):
    """The outcome of a gold statement, without the rows, which of all would fill the memory.

    Attributes:
        query_id: the query.
        outcome: what running it gave.
        message: the engine's own words if it failed.
        has_rows: whether its result has any.
        same: whether a second run gave the same.
        agrees: whether SQLite gives the same, also as Spider's rule runs it.
    """

    query_id: str
    outcome: SQLOutcome
    message: str
    has_rows: bool = False
    same: bool = True
    agrees: bool = True


def _verified(worker: Worker, copies: Copies, query_id: str, file: Path, sql: str) -> Verified:
    texts = tuple(dict.fromkeys((sql, for_test_suite(sql))))
    try:
        copied = copies.copy_of(file) is not None
        if not copied:
            texts = texts[:1]
        statements = [copies.statement(worker, file, text) for text in texts]
        first, again = (worker.result(*statements[0]) for _ in range(2))
        agrees = not copied or not any(
            differing(worker.result(*statement), worker.result(file, text), repeated=i > 0)
            for i, (statement, text) in enumerate(zip(statements, texts, strict=True))
        )
    except DataError as error:
        return Verified(query_id, "unusable", str(error))
    except (ValueError, StoppedError) as error:
        return Verified(query_id, "error", f"it has no translation: {error}")
    rows = [list(comparable(result.rows)) for result in (first, again)]  # NaN equals NaN here
    same = first.outcome == again.outcome and rows[0] == rows[1]
    return Verified(query_id, first.outcome, first.message, bool(first.rows), same, agrees)


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
