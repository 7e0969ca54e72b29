"""What each repair of the translation from SQLite to DuckDB is worth.

The gold queries of Spider dev and of BIRD dev (those whose databases are here) run in SQLite and,
translated, in a copy in DuckDB; a query agrees if both give the same set of rows, floats to eleven
digits. The predictions of ten systems on BIRD mini-dev agree if both engines find the same of them:
that they give the rows of the gold, or that they do not. Measured with all repairs, with each one
alone switched off, with more and more switched off (those worth least for gold first), and with
none: what sqlglot does by itself.

    TARGET_BENCH_DATA=... python benchmarks/translation.py [--differing]
"""

import argparse
import gzip
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import duckdb
import sqlglot
from rich.console import Console
from rich.progress import track
from rich.table import Table

from target_bench.sql import translation
from target_bench.sql.duckdb_copy import Copy, duckdb_copy
from target_bench.sql.names import silence_sqlglot

SECONDS = 10.0
"""What a query may take before it counts as one that fails."""

MARK = "\t----- bird -----\t"

STEPS = ("replace_unknown_names", "_settle_ties", "_wrap_bare_columns")
"""Repairs of whole statements: functions of the module that change a tree in place."""

RULES = tuple(dict.fromkeys(rule.__name__ for rule in translation.RULES.values()))
"""Repairs of single expressions: functions of the module that return another one."""

Rows = frozenset[tuple[object, ...]]


class Case(NamedTuple):
    """One gold query or prediction, and what SQLite answers; of a prediction the gold too."""

    corpus: str
    database: Path
    sql: str
    rows: Rows | None
    gold: "Case | None" = None


class Engines:
    """The copies in DuckDB, each opened once, and the answers that they gave."""

    def __init__(self) -> None:
        self._copies: dict[Path, Copy] = {}
        self._open: dict[Path, duckdb.DuckDBPyConnection] = {}
        self._answers: dict[tuple[Path, str], Rows | None] = {}

    def copy(self, database: Path) -> Copy:
        if database not in self._copies:
            self._copies[database] = duckdb_copy(database)
        return self._copies[database]

    def rows(self, database: Path, sql: str) -> Rows | None:
        """The answer to a translated query; None if it fails or takes too long."""
        key = database, sql
        if key not in self._answers:
            self._answers[key] = self._run(database, sql)
        return self._answers[key]

    def _run(self, database: Path, sql: str) -> Rows | None:
        if database not in self._open:
            self._open[database] = duckdb.connect(self.copy(database).path, read_only=True)
        connection = self._open[database]
        try:
            with _ended_in_time(connection):
                return _rounded(connection.execute(sql).fetchall())
        except duckdb.Error:
            return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--differing", action="store_true", help="list what differs with all")
    arguments = parser.parse_args()
    console = Console(width=110)
    engines = Engines()
    cases = list(_cases(Path(os.environ["TARGET_BENCH_DATA"])))

    everything = _agreeing(cases, engines, ())
    if arguments.differing:
        for case in [case for place, case in enumerate(cases) if place not in everything]:
            console.print(f"{case.corpus} {case.database.stem}: {case.sql}", markup=False)
    repairs = track([*STEPS, *RULES], "one off at a time")
    alone = {name: _agreeing(cases, engines, (name,)) for name in repairs}
    order = sorted(alone, key=lambda name: _lost(cases, everything, alone[name]))
    together = {
        name: _agreeing(cases, engines, order[: place + 1])
        for place, name in enumerate(track(order, "one more off at a time"))
    }
    bare = _agreeing(cases, engines, None)

    table = Table(title="What is the same in SQLite and DuckDB: Spider + BIRD, predictions")
    for column in ("repair", "without it", "lost", "without it and all above", "lost"):
        table.add_column(column, justify="left" if column == "repair" else "right")
    table.add_row("(all of them)", _shown(cases, everything), "", "", "")
    before = everything
    for name in order:
        row = []
        for agreeing, compared in ((alone[name], everything), (together[name], before)):
            gold, predictions = _lost(cases, compared, agreeing)
            row += [_shown(cases, agreeing), f"{gold}, {predictions}"]
        table.add_row(name, *row)
        before = together[name]
    table.add_row("(sqlglot alone)", _shown(cases, bare), "", "", "")
    console.print(table)


@contextmanager
def without(names: Iterable[str]) -> Iterator[None]:
    """Switch repairs off."""
    with ExitStack() as stack:
        for name in names:
            if name in STEPS:
                stack.enter_context(patch.object(translation, name, lambda *_: None))
                continue
            kinds = [kind for kind, rule in translation.RULES.items() if rule.__name__ == name]
            off = {kind: lambda node, _: node for kind in kinds}
            stack.enter_context(patch.dict(translation.RULES, off))
        yield


def _agreeing(cases: list[Case], engines: Engines, off: Iterable[str] | None) -> set[int]:
    """Find the places of the cases that agree without the repairs ``off``; None: without any."""
    with without(off or ()):
        return {
            place for place, case in enumerate(cases) if _agrees(case, engines, bare=off is None)
        }


def _agrees(case: Case, engines: Engines, bare: bool) -> bool:
    rows = _in_duckdb(case, engines, bare)
    if case.gold is None:
        return rows is not None and rows == case.rows
    if case.rows is None:
        return True  # what SQLite does not run is wrong, and is not run in DuckDB
    gold = _in_duckdb(case.gold, engines, bare)
    if gold != case.gold.rows:
        return True  # such a query is left out of every score
    return (rows == gold) == (case.rows == case.gold.rows)


def _in_duckdb(case: Case, engines: Engines, bare: bool) -> Rows | None:
    copy = engines.copy(case.database)
    try:
        with silence_sqlglot():
            if bare:
                sql = sqlglot.transpile(case.sql, read="sqlite", write="duckdb")[0]
            else:
                sql = translation.to_duckdb(case.sql, copy.columns)
    except (ValueError, AttributeError, TypeError, IndexError, sqlglot.errors.SqlglotError):
        return None
    return engines.rows(case.database, sql)


def _cases(data: Path) -> Iterator[Case]:
    bird = data / "bird"
    yield from _golds("Spider", data / "spider" / "dev.json.gz", data / "spider" / "database")
    yield from _golds("BIRD", bird / "dev.json.gz", bird / "dev_databases")
    mini_dev = bird / "mini_dev_sqlite.json.gz"
    golds = {case.sql: case for case in _golds("", mini_dev, bird / "dev_databases")}
    for path in sorted((bird / "mini_dev_predictions").glob("*.json.gz")):
        predictions = _json(path)
        for number, record in enumerate(_json(mini_dev)):
            gold = golds.get(record["SQL"])
            if gold is not None:
                sql = str(predictions[str(number)]).split(MARK)[0]
                yield Case("predictions", gold.database, sql, _in_sqlite(gold.database, sql), gold)


def _golds(corpus: str, path: Path, folder: Path) -> Iterator[Case]:
    for record in _json(path):
        database = folder / record["db_id"] / f"{record['db_id']}.sqlite"
        if database.exists():
            sql = record.get("SQL") or record["query"]
            yield Case(corpus, database, sql, _in_sqlite(database, sql))


def _json(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


@cache
def _in_sqlite(database: Path, sql: str) -> Rows | None:
    with (
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection,
        _ended_in_time(connection),
    ):
        try:
            return _rounded(connection.execute(sql).fetchall())
        except sqlite3.Error:
            return None


@contextmanager
def _ended_in_time(connection: sqlite3.Connection | duckdb.DuckDBPyConnection) -> Iterator[None]:
    timer = threading.Timer(SECONDS, connection.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _rounded(rows: list[Any]) -> Rows:
    return frozenset(
        tuple(float(f"{cell:.11g}") if isinstance(cell, float | Decimal) else cell for cell in row)
        for row in rows
    )


def _lost(cases: list[Case], before: set[int], after: set[int]) -> tuple[int, int]:
    """How many gold queries, and how many predictions, no longer agree."""
    gold = [cases[place].gold is None for place in before - after]
    return gold.count(True), gold.count(False)


def _shown(cases: list[Case], agreeing: set[int]) -> str:
    totals = dict.fromkeys((case.corpus for case in cases), 0)
    for place in agreeing:
        totals[cases[place].corpus] += 1
    spider, bird, predictions = totals.values()
    return f"{spider} + {bird}, {predictions}"


if __name__ == "__main__":
    main()
