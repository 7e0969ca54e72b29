"""Results of gold statements, each in a file of gzipped JSON that appears when it is whole."""

import gzip
import hashlib
import json
import re
import sqlite3
import zlib
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import atomic_write, cache_root, digest
from target_bench.core.registry import installed_version
from target_bench.core.schema import Executed
from target_bench.sql.databases import database
from target_bench.sql.engines import SQLLimits
from target_bench.sql.workers import PROCESS_ENDED, Worker

FORMAT = 2
"""The version of the files and of the rules by which cells are read; others are not used."""

_PASSING = {"timeout", "memory", "unusable"}  # outcomes that another day may not have

_MOVING = re.compile(
    r"now|random|current|today|uuid|nextval"
    r"|\b\w*(date|time|day|epoch)\s*\(\s*\)|strftime\s*\([^,()]*\)",
    re.IGNORECASE,
)


def run_gold(
    worker: Worker, path: Path, sql: str, repeat: int = 1, folder: Path | None = None
) -> Executed:
    """Return the result of a gold statement, run in the worker if it is not recorded.

    Each runs once for a state of its database, but for statements that ask for the time or for
    chance, those to be repeated (their times have to be of today), and those that met a limit of
    time or memory. ``seconds`` are those of the run that was recorded. A statement whose database
    cannot be read has the outcome ``unusable``. ``folder`` is that of the records; default: in the
    cache folder.

    Raises:
        StoreError: a result cannot be recorded.
        ConfigError, BudgetError: as for ``Worker.ask``.
    """
    try:
        file = _find_file(folder or cache_root() / "gold", worker.limits, path, sql, repeat)
        recorded = _read(file) if file else None
        if recorded is not None:
            return recorded
        result = worker.run(path, sql, repeat)
    except DataError as error:
        return Executed("unusable", message=str(error))
    died = result.message.startswith(PROCESS_ENDED)
    if file and not died and result.outcome not in _PASSING:
        record = {field.name: getattr(result, field.name) for field in fields(result)}
        text = json.dumps(record, default=lambda cell: {"hex": cell.hex()})
        try:
            atomic_write(file, gzip.compress(text.encode(), compresslevel=1), durable=False)
        except OSError as error:
            raise StoreError(
                f"a gold result cannot be recorded in {file.parent}: {error.strerror}. Make "
                "room or fix its permissions, or name another folder with $TARGET_BENCH_CACHE."
            ) from error
    return result


def _find_file(folder: Path, limits: SQLLimits, path: Path, sql: str, repeat: int) -> Path | None:
    """Return the file of a statement's result, or None if it is not to be kept."""
    if repeat > 1 or _MOVING.search(sql):
        return None
    engine = database(path).engine
    version = sqlite3.sqlite_version if engine == "sqlite" else installed_version("duckdb")
    try:
        parts = [FORMAT, digest(path), engine, version, astuple(limits), sql]
    except OSError:  # which the engine will tell
        return None
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return folder / key[:2] / f"{key}.json.gz"


def _read(file: Path) -> Executed | None:
    """Return a recorded result; None if there is none, or it is damaged."""
    try:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            record = json.load(stream, object_hook=_decode_bytes)
        rows = tuple(map(tuple, record.pop("rows")))
        return Executed(
            **record | {"columns": tuple(record["columns"]), "seconds": tuple(record["seconds"])},
            rows=rows,
        )
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError):
        return None


def _decode_bytes(record: dict[str, Any]) -> Any:
    return bytes.fromhex(record["hex"]) if record.keys() == {"hex"} else record
