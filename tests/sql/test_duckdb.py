"""DuckDB files: outcomes, cells as Python has them, and files that cannot be read."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Cell, Executed
from target_bench.sql.engines import Limits
from target_bench.sql.workers import Pool
from tests.sql.judging import execute
from tests.sql.written import duckdb_file, state

Run = Callable[[str], Executed]


@pytest.fixture
def run(pool: Pool, ducks: Path) -> Run:
    return lambda sql: execute(pool, ducks, sql)


@pytest.mark.parametrize(
    ("sql", "outcome", "message"),
    [
        ("SELECT nope FROM people", "no_such_column", 'Referenced column "nope" not found'),
        ("SELECT p.nope FROM people p", "no_such_column", "does not have a column named"),
        ("SELECT x.name FROM people", "no_such_column", 'Referenced table "x" not found'),
        ("SELECT * FROM nope", "no_such_table", "Table with name nope does not exist"),
        ("SELECT * FROM s.nope", "no_such_table", "does not exist"),
        ("SELEC 1", "syntax_error", "syntax error"),
        ("SELECT 'a", "syntax_error", "unterminated"),
        ("SELECT '\udc80'", "syntax_error", "surrogates not allowed"),
        ("SELECT strftime_('%Y')", "error", "does not exist"),
        ("SELECT name, count(*) FROM people", "error", "GROUP BY"),
        ("SELECT CAST('x' AS INTEGER)", "error", "Could not convert"),
        ("SELECT ?", "error", "Values were not provided"),
        ("SELECT 1; SELECT 2", "error", "more than one statement, or text after the first"),
        ("DELETE FROM people", "forbidden", "DELETE statements may not be run"),
        ("SELECT * FROM read_csv('/etc/passwd')", "forbidden", "disabled by configuration"),
    ],
)
def test_failures_are_distinguished(run: Run, sql: str, outcome: str, message: str) -> None:
    got = run(sql)
    assert got.outcome == outcome, got.message
    assert message in got.message
    assert (got.columns, got.rows, len(got.seconds)) == ((), (), 1)


@pytest.mark.parametrize("sql", ["", "  \n", "-- nothing", "/* nothing */", ";"])
def test_nothing_is_executed_without_rows(run: Run, sql: str) -> None:
    assert run(sql).outcome == "executed", run(sql).message
    assert (run(sql).columns, run(sql).rows) == ((), ())


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("1", 1),
        ("170141183460469231731687303715884105727::HUGEINT", 2**127 - 1),
        ("1.50", 1.5),
        ("2::DECIMAL(30, 2)", 2.0),
        ("true", 1),
        ("'nan'::FLOAT IS NULL", 0),
        ("'\\x00\\xff'::BLOB", b"\x00\xff"),
        ("NULL", None),
        ("'é'", "é"),
        ("DATE '2020-01-02'", "2020-01-02"),
        ("TIMESTAMP '2020-01-02 03:04:05'", "2020-01-02 03:04:05"),
        ("TIME '03:04:05'", "03:04:05"),
        ("TIMESTAMPTZ '2020-01-02 03:04:05+02'", "2020-01-02 01:04:05+00"),
        ("[TIMESTAMPTZ '2020-01-02 03:04:05+00']", "['2020-01-02 03:04:05+00']"),
        ("INTERVAL 3 DAY", "3 days, 0:00:00"),
        ("UUID '00000000-0000-0000-0000-000000000001'", "00000000-0000-0000-0000-000000000001"),
        ("[1, 2]", "[1, 2]"),
        ("{'a': 1.5, 'b': [true, NULL], 'c': DATE '2020-01-02', 'd': 'x'::BLOB}",
         '{"a": 1.5, "b": [true, null], "c": "2020-01-02", "d": "78"}'),
        ("current_setting('TimeZone')", "UTC"),
    ],
)  # fmt: skip
def test_cells(run: Run, value: str, cell: Cell) -> None:
    got = run(f"SELECT {value} AS v, 1 AS v ; -- a comment; with a semicolon\n;")
    assert got.columns == ("v", "v"), got.message
    assert got.rows == ((cell, 1),)
    assert type(got.rows[0][0]) is type(cell)


def test_names_order_and_duplicates(run: Run) -> None:
    got = run('SELECT NAME, "select" FROM pEOPLE, "order list" ORDER BY id DESC')
    assert got.columns == ("name", "select")
    assert got.rows == (("O'Hara", 7), ("Ana", 7), ("Bo", 7), ("Ana", 7))


def test_python_is_out_of_reach(run: Run) -> None:
    assert run("SELECT * FROM limits").outcome == "no_such_table"
    assert run("SELECT * FROM statements").outcome == "no_such_table"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM range(100000000000)", "more than 1,000 rows"),
        ("SELECT repeat('x', 100000) FROM range(1000)", "more than 1,048,576 bytes"),
        ("SELECT list(i) FROM range(100000000) r(i)", "Out of Memory"),
    ],
)
def test_limits_of_size(ducks: Path, sql: str, message: str) -> None:
    limits = Limits(seconds=20, memory=64 << 20, rows=1000, result_bytes=1 << 20)
    with Pool(1, limits) as small:
        got = execute(small, ducks, sql)
        assert (got.outcome, got.rows) == ("memory", ())
        assert message in got.message
        assert len(execute(small, ducks, "SELECT * FROM range(1000)").rows) == 1000


def test_names_of_files(pool: Pool, tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a b%20#é'.db")
    assert execute(pool, path, "SELECT count(*) FROM people").rows == ((4,),)


def test_many_databases_in_turn(pool: Pool, tmp_path: Path) -> None:
    paths = [duckdb_file(tmp_path / f"{i}.db", f"CREATE TABLE t AS SELECT {i}") for i in range(5)]
    got = [execute(pool, path, "FROM t").rows for path in paths * 2]
    assert got == [((i,),) for i in range(5)] * 2


def test_a_damaged_file(pool: Pool, ducks: Path) -> None:
    whole = ducks.read_bytes()
    for broken in (whole[:5000], whole[:4096] + b"\xaa" * len(whole[4096:]), whole[:12]):
        ducks.write_bytes(broken)
        with pytest.raises(DataError) as caught:
            execute(pool, ducks, "SELECT * FROM people")
        assert str(ducks) in str(caught.value)
    ducks.write_bytes(whole)
    assert len(execute(pool, ducks, "SELECT * FROM people").rows) == 4


WRITER = """
import duckdb, sys
writer = duckdb.connect(sys.argv[1])
print("writing", flush=True)
sys.stdin.read()
"""


def test_a_file_that_is_being_written(pool: Pool, ducks: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, ducks], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        with pytest.raises(DataError, match="Close the program that writes it"):
            execute(pool, ducks, "SELECT 1")
        writer.communicate()
    assert execute(pool, ducks, "SELECT 1").rows == ((1,),)
    assert set(state(ducks.parent)) == {ducks.name}
