"""SQLite and DuckDB files: outcomes, cells as Python has them, and files that cannot be read."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Executed
from target_bench.sql.engines import SQLite, SQLLimits
from target_bench.sql.workers import Pool
from tests.sql.judging import execute
from tests.sql.written import sqlite_file, state

Engine = Literal["sqlite", "duckdb"]
Run = Callable[[Engine, str], Executed]

COUNT = "SELECT count(*) FROM people"


@pytest.fixture
def run(pool: Pool, people: Path, ducks: Path) -> Run:
    paths = {"sqlite": people, "duckdb": ducks}
    return lambda engine, sql: execute(pool, paths[engine], sql)


@pytest.mark.parametrize(
    ("engine", "sql", "outcome", "message"),
    [
        ("sqlite", "SELECT nope FROM people", "unknown_column", "no such column: nope"),
        ("sqlite", "SELECT p.nope FROM people p", "unknown_column", "no such column: p.nope"),
        ("sqlite", "SELECT * FROM nope", "unknown_table", "no such table: nope"),
        ("sqlite", "SELECT * FROM people.nope", "unknown_table", "no such table: people.nope"),
        ("sqlite", "SELEC 1", "syntax_error", 'near "SELEC": syntax error'),
        ("sqlite", "SELECT", "syntax_error", "incomplete input"),
        ("sqlite", "SELECT 'a", "syntax_error", 'unrecognized token: "\'a"'),
        ("sqlite", "SELECT 1\0", "syntax_error", "the query contains a null character"),
        ("sqlite", "SELECT '\udc80'", "syntax_error", "surrogates not allowed"),
        ("sqlite", "SELECT year(1)", "error", "no such function: year"),
        ("sqlite", "SELECT ?", "error", "Incorrect number of bindings"),
        ("sqlite", "SELECT 1 UNION SELECT 1, 2", "error", "same number of result columns"),
        ("sqlite", "SELECT 1; SELECT 2", "error", "more than one statement, or text after"),
        ("sqlite", "DELETE FROM people", "forbidden", "not authorized"),
        ("sqlite", "SELECT load_extension('x')", "forbidden", "not authorized to use function"),
        ("sqlite", "SELECT zeroblob(999999999)", "memory", "string or blob too big"),
        ("duckdb", "SELECT nope FROM people", "unknown_column", 'Referenced column "nope" not'),
        ("duckdb", "SELECT p.nope FROM people p", "unknown_column", "have a column named"),
        ("duckdb", "SELECT x.name FROM people", "unknown_column", 'Referenced table "x" not found'),
        ("duckdb", "SELECT * FROM nope", "unknown_table", "Table with name nope does not exist"),
        ("duckdb", "SELECT * FROM s.nope", "unknown_table", "does not exist"),
        ("duckdb", "SELECT * FROM limits", "unknown_table", "limits"),  # Python's are out of reach
        ("duckdb", "SELEC 1", "syntax_error", "syntax error"),
        ("duckdb", "SELECT 'a", "syntax_error", "unterminated"),
        ("duckdb", "SELECT '\udc80'", "syntax_error", "surrogates not allowed"),
        ("duckdb", "SELECT strftime_('%Y')", "error", "does not exist"),
        ("duckdb", "SELECT name, count(*) FROM people", "error", "GROUP BY"),
        ("duckdb", "SELECT CAST('x' AS INTEGER)", "error", "Could not convert"),
        ("duckdb", "SELECT ?", "error", "Values were not provided"),
        ("duckdb", "SELECT 1; SELECT 2", "error", "more than one statement, or text after"),
        ("duckdb", "DELETE FROM people", "forbidden", "DELETE statements may not be run"),
        ("duckdb", "SELECT * FROM read_csv('/etc/passwd')", "forbidden", "disabled by config"),
    ],
)
def test_failures_are_distinguished(
    run: Run, engine: Engine, sql: str, outcome: str, message: str
) -> None:
    got = run(engine, sql)
    assert got.outcome == outcome, got.message
    assert message in got.message
    assert (got.columns, got.rows, len(got.seconds)) == ((), (), 1)


@pytest.mark.parametrize(
    ("engine", "sql", "rows"),
    [
        ("sqlite", "SELECT NAME FROM pEOPLE WHERE name = \"Ana\"", [("Ana",), ("Ana",)]),
        ("sqlite", 'SELECT "select", `a "b"` FROM [order list];', [(7, "x")]),
        ("sqlite", "SELECT 1, 1.0, '1', x'00ff', NULL, 7 / 2, 9223372036854775807",
         [(1, 1.0, "1", b"\x00\xff", None, 3, 9223372036854775807)]),
        ("sqlite", "SELECT 9e999, -9e999, 9e999 - 9e999", [(float("inf"), float("-inf"), None)]),
        ("sqlite", "SELECT 'a' LIKE 'A', 'é' || char(0) || 'x'", [(1, "é\0x")]),
        ("sqlite", "SELECT CAST(x'41ff42' AS TEXT)", [("A\\xffB",)]),
        ("sqlite", "SELECT id FROM people ORDER BY id DESC", [(4,), (3,), (2,), (1,)]),
        ("sqlite", "SELECT name FROM pragma_table_info('order list')", [("select",), ('a "b"',)]),
        ("sqlite", "SELECT value FROM json_each('[2, 1]')", [(2,), (1,)]),
        ("sqlite", "SELECT type FROM sqlite_master LIMIT 1", [("table",)]),
        ("sqlite", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) "
         "SELECT i FROM n", [(1,), (2,), (3,)]),
        ("duckdb", 'SELECT NAME, "select" FROM pEOPLE, "order list" ORDER BY id DESC',
         [("O'Hara", 7), ("Ana", 7), ("Bo", 7), ("Ana", 7)]),
        ("duckdb", "SELECT 1, 170141183460469231731687303715884105727::HUGEINT, 1.50, true, NULL",
         [(1, 2**127 - 1, 1.5, 1, None)]),
        ("duckdb", "SELECT 2::DECIMAL(30, 2), 'nan'::FLOAT IS NULL, '\\x00\\xff'::BLOB, 'é'",
         [(2.0, 0, b"\x00\xff", "é")]),
        ("duckdb", "SELECT DATE '2020-01-02', TIME '03:04:05', TIMESTAMP '2020-01-02 03:04:05'",
         [("2020-01-02", "03:04:05", "2020-01-02 03:04:05")]),
        ("duckdb", "SELECT TIMESTAMPTZ '2020-01-02 03:04:05+02', current_setting('TimeZone')",
         [("2020-01-02 01:04:05+00", "UTC")]),
        ("duckdb", "SELECT [TIMESTAMPTZ '2020-01-02 03:04:05+00'], [1, 2], INTERVAL 3 DAY",
         [("['2020-01-02 03:04:05+00']", "[1, 2]", "3 days, 0:00:00")]),
        ("duckdb", "SELECT UUID '00000000-0000-0000-0000-000000000001' -- a; b\n;",
         [("00000000-0000-0000-0000-000000000001",)]),
        ("duckdb", "SELECT {'a': 1.5, 'b': [true, NULL], 'c': DATE '2020-01-02', 'd': 'x'::BLOB}",
         [('{"a": 1.5, "b": [true, null], "c": "2020-01-02", "d": "78"}',)]),
    ],
)  # fmt: skip
def test_cells_keep_type_and_order(
    run: Run, engine: Engine, sql: str, rows: list[tuple[object, ...]]
) -> None:
    got = run(engine, sql)
    assert list(got.rows) == rows, got.message
    assert [list(map(type, row)) for row in got.rows] == [list(map(type, row)) for row in rows]


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "


@pytest.mark.parametrize(
    ("engine", "sql", "message"),
    [
        ("sqlite", NUMBERS + "SELECT i FROM n", "more than 1,000 rows"),
        ("sqlite", NUMBERS + "SELECT randomblob(100000) FROM n", "more than 1,048,576 bytes"),
        ("sqlite", NUMBERS + "SELECT i FROM n ORDER BY i DESC", "67,108,864 bytes of memory"),
        ("sqlite", "SELECT zeroblob(2000000)", "string or blob too big"),
        ("duckdb", "SELECT * FROM range(100000000000)", "more than 1,000 rows"),
        ("duckdb", "SELECT repeat('x', 100000) FROM range(1000)", "more than 1,048,576 bytes"),
        ("duckdb", "SELECT list(i) FROM range(100000000) r(i)", "Out of Memory"),
    ],
)
def test_limits_of_size(people: Path, ducks: Path, engine: str, sql: str, message: str) -> None:
    """In a worker of its own: what an engine keeps of one statement is missing to the next."""
    path = people if engine == "sqlite" else ducks
    limits = SQLLimits(seconds=20, memory=64 << 20, rows=1000, result_bytes=1 << 20)
    with Pool(1, limits) as small:
        got = execute(small, path, sql)
        assert (got.outcome, got.rows) == ("memory", ())
        assert message in got.message
        assert len(execute(small, path, NUMBERS + "SELECT i FROM n LIMIT 1000").rows) == 1000


# ------------------------------------------------------------------------------------------------
# Files that cannot be read


def _fault(pool: Pool, path: Path, sql: str = "SELECT * FROM people") -> str:
    with pytest.raises(DataError) as caught:
        execute(pool, path, sql)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_file_that_is_none(pool: Pool, tmp_path: Path) -> None:
    assert "No such file" in _fault(pool, tmp_path / "absent.sqlite")
    (tmp_path / "empty.sqlite").touch()
    assert "empty file" in _fault(pool, tmp_path / "empty.sqlite")
    (tmp_path / "text.sqlite").write_text("id,name\n1,a\n" * 100)
    assert "neither as SQLite nor as DuckDB" in _fault(pool, tmp_path / "text.sqlite")
    assert "annot be read" in _fault(pool, tmp_path)


def test_a_damaged_file(pool: Pool, tmp_path: Path, ducks: Path) -> None:
    script = "CREATE TABLE people (a); " + "INSERT INTO people VALUES (randomblob(3000));" * 20
    path = sqlite_file(tmp_path / "damaged.sqlite", script)
    whole = path.read_bytes()
    for content, message in (
        (whole[:4096] + b"\xaa" * 4096 + whole[8192:], "malformed"),
        (whole[:16] + b"\xff" * 84 + whole[100:], "not a database"),
        (whole[:5000], "malformed"),
    ):
        path.write_bytes(content)
        assert message in _fault(pool, path)
    path.write_bytes(whole)
    assert len(execute(pool, path, "SELECT * FROM people").rows) == 20
    whole = ducks.read_bytes()
    for content in (whole[:5000], whole[:4096] + b"\xaa" * len(whole[4096:]), whole[:12]):
        ducks.write_bytes(content)
        assert _fault(pool, ducks)
    ducks.write_bytes(whole)
    assert execute(pool, ducks, COUNT).rows == ((4,),)


WRITERS = {
    "sqlite": "import sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None);"
    "d.execute('BEGIN EXCLUSIVE'); d.execute('DELETE FROM people');",
    "duckdb": "import duckdb, sys; d = duckdb.connect(sys.argv[1]);",
}


@pytest.mark.parametrize("engine", WRITERS)
def test_a_file_that_is_being_written(
    pool: Pool, people: Path, ducks: Path, tmp_path: Path, engine: str
) -> None:
    path = people if engine == "sqlite" else ducks
    script = WRITERS[engine] + "print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(path)]
    # in a process of its own: reading a file drops all locks of this one on it
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert "Close the program that writes it" in _fault(pool, path)
        writer.communicate()
    assert execute(pool, path, COUNT).rows == ((4,),)
    assert set(state(tmp_path)) == {people.name, ducks.name}


def test_a_write_ahead_log(pool: Pool, people: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(people, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("DELETE FROM people WHERE id > 1")
        assert "write-ahead log people.sqlite-wal" in _fault(pool, people)
    for _ in range(2):
        assert set(state(tmp_path)) == {"people.sqlite"}
        assert execute(pool, people, COUNT).rows == ((1,),)


def test_sqlite_ends_a_statement_at_its_deadline(people: Path) -> None:
    """By itself: the worker is not killed for it, and serves the next statement."""
    database = SQLite(people, SQLLimits(seconds=0.2))
    long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000000)"
    assert database.run(f"{long} SELECT count(*) FROM n").outcome == "timeout"
    assert database.run(COUNT).outcome == "executed"
