"""SQLite judged as SQLite: outcomes, cells, and files that cannot be read."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Executed
from target_bench.sql.engines import Limits
from target_bench.sql.workers import Pool
from tests.sql.judging import execute
from tests.sql.written import sqlite_file, state

Run = Callable[[str], Executed]


@pytest.fixture
def run(pool: Pool, people: Path) -> Run:
    return lambda sql: execute(pool, people, sql)


@pytest.mark.parametrize(
    ("sql", "outcome", "message"),
    [
        ("SELECT nope FROM people", "no_such_column", "no such column: nope"),
        ("SELECT p.nope FROM people p", "no_such_column", "no such column: p.nope"),
        ("SELECT * FROM nope", "no_such_table", "no such table: nope"),
        ("SELECT * FROM people.nope", "no_such_table", "no such table: people.nope"),
        ("SELEC 1", "syntax_error", 'near "SELEC": syntax error'),
        ("SELECT", "syntax_error", "incomplete input"),
        ("SELECT 'a", "syntax_error", 'unrecognized token: "\'a"'),
        ("SELECT 1\0", "syntax_error", "the query contains a null character"),
        ("SELECT '\udc80'", "syntax_error", "surrogates not allowed"),
        ("SELECT year(1)", "error", "no such function: year"),
        ("SELECT ?", "error", "Incorrect number of bindings"),
        ("SELECT 1 UNION SELECT 1, 2", "error", "same number of result columns"),
        ("SELECT 1; SELECT 2", "error", "more than one statement, or text after the first"),
        ("DELETE FROM people", "forbidden", "not authorized"),
        ("SELECT load_extension('x')", "forbidden", "not authorized to use function"),
        ("SELECT zeroblob(999999999)", "memory", "string or blob too big"),
    ],
)
def test_failures_are_distinguished(run: Run, sql: str, outcome: str, message: str) -> None:
    got = run(sql)
    assert got.outcome == outcome
    assert message in got.message
    assert (got.columns, got.rows, len(got.seconds)) == ((), (), 1)


@pytest.mark.parametrize("sql", ["", "  \n", "-- nothing", "/* nothing */", ";"])
def test_nothing_is_executed_without_rows(run: Run, sql: str) -> None:
    assert run(sql).outcome == "executed"
    assert (run(sql).columns, run(sql).rows) == ((), ())


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT NAME FROM pEOPLE WHERE name = \"Ana\"", (("Ana",), ("Ana",))),
        ('SELECT "select", `a "b"` FROM [order list];', ((7, "x"),)),
        ("SELECT 1, 1.0, '1', x'00ff', NULL, 7 / 2, 9223372036854775807",
         ((1, 1.0, "1", b"\x00\xff", None, 3, 9223372036854775807),)),
        ("SELECT 9e999, -9e999, 9e999 - 9e999", ((float("inf"), float("-inf"), None),)),
        ("SELECT 'a' LIKE 'A', 'é' || char(0) || 'x'", ((1, "é\0x"),)),
        ("SELECT CAST(x'41ff42' AS TEXT)", (("A\\xffB",),)),
        ("SELECT id FROM people ORDER BY id DESC", ((4,), (3,), (2,), (1,))),
        ("SELECT name FROM pragma_table_info('order list')", (("select",), ('a "b"',))),
        ("SELECT value FROM json_each('[2, 1]')", ((2,), (1,))),
        ("SELECT type FROM sqlite_master LIMIT 1", (("table",),)),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) "
         "SELECT i FROM n", ((1,), (2,), (3,))),
    ],
)  # fmt: skip
def test_cells_keep_type_and_order(
    run: Run, sql: str, rows: tuple[tuple[object, ...], ...]
) -> None:
    got = run(sql)
    assert got.rows == rows, got.message
    assert [list(map(type, row)) for row in got.rows] == [list(map(type, row)) for row in rows]


def test_names_of_columns(run: Run) -> None:
    assert run("SELECT id, count(*), name AS n, id FROM people").columns == (
        "id", "count(*)", "n", "id",
    )  # fmt: skip
    assert run("SELECT id AS 'é' FROM people WHERE 0").columns == ("é",)


@pytest.fixture
def small() -> Iterator[Pool]:
    with Pool(1, Limits(seconds=20, memory=32 << 20, rows=1000, result_bytes=1 << 20)) as pool:
        yield pool


NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (NUMBERS + "SELECT i FROM n", "more than 1,000 rows"),
        (NUMBERS + "SELECT randomblob(100000) FROM n", "more than 1,048,576 bytes"),
        (NUMBERS + "SELECT i FROM n ORDER BY i DESC", "more than 33,554,432 bytes of memory"),
        ("SELECT zeroblob(2000000)", "string or blob too big"),
    ],
)
def test_limits_of_size(small: Pool, people: Path, sql: str, message: str) -> None:
    got = execute(small, people, sql)
    assert (got.outcome, got.rows) == ("memory", ())
    assert message in got.message
    within = execute(small, people, NUMBERS + "SELECT i FROM n LIMIT 1000")
    assert len(within.rows) == 1000


@pytest.mark.parametrize(
    "name", ["a b.sqlite", "100%.db", "what?.sqlite", "a#b.sqlite", "été", "%20", "a'\"b;c.db"]
)
def test_names_of_files(pool: Pool, tmp_path: Path, name: str) -> None:
    path = sqlite_file(tmp_path / f"in {name}" / name)
    assert execute(pool, path, "SELECT count(*) FROM people").rows == ((4,),)


def test_virtual_tables_of_the_database_can_be_read(pool: Pool, tmp_path: Path) -> None:
    script = "CREATE VIRTUAL TABLE notes USING fts5(text); INSERT INTO notes VALUES ('red fox')"
    path = sqlite_file(tmp_path / "notes.sqlite", script)
    sql = "SELECT text FROM notes WHERE notes MATCH 'fox'"
    assert execute(pool, path, sql).rows == (("red fox",),)


def test_a_file_that_changed_is_opened_again(pool: Pool, people: Path) -> None:
    count = "SELECT count(*) FROM people"
    assert execute(pool, people, count).rows == ((4,),)
    sqlite_file(people, "INSERT INTO people VALUES (5, 'Eve', 1, 1)")
    assert execute(pool, people, count).rows == ((5,),)
    people.unlink()
    sqlite_file(people, "CREATE TABLE people (a)")
    assert execute(pool, people, count).rows == ((0,),)


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
    with pytest.raises(DataError, match="file is not a database"):
        execute(pool, tmp_path / "text.sqlite", "SELECT 1", engine="sqlite")


def test_a_damaged_file(pool: Pool, tmp_path: Path) -> None:
    script = "CREATE TABLE people (a); " + "INSERT INTO people VALUES (randomblob(3000));" * 20
    path = sqlite_file(tmp_path / "damaged.sqlite", script)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xaa" * 4096 + whole[8192:])
    assert "malformed" in _fault(pool, path)
    path.write_bytes(whole[:16] + b"\xff" * 84 + whole[100:])
    assert "not a database" in _fault(pool, path)
    path.write_bytes(whole[:5000])
    assert "malformed" in _fault(pool, path)
    path.write_bytes(whole)
    assert len(execute(pool, path, "SELECT * FROM people").rows) == 20


WRITER = """
import sqlite3, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
writer.execute("BEGIN EXCLUSIVE")
writer.execute("DELETE FROM people")
print("writing", flush=True)
sys.stdin.read()
"""


def test_a_file_that_is_being_written(pool: Pool, people: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, people], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:  # in a process of its own: reading a file drops all locks of this one on it
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        assert "database is locked. Close the program" in _fault(pool, people)
        writer.communicate()
    assert len(execute(pool, people, "SELECT * FROM people").rows) == 4


def test_a_journal_left_by_a_killed_writer(pool: Pool, people: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(people, isolation_level=None)) as writer:
        writer.execute("PRAGMA cache_size = 1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE people SET age = 1")
        writer.execute("CREATE TABLE more AS SELECT randomblob(100000)")
        copy = tmp_path / "copy" / people.name
        copy.parent.mkdir()
        for name in (people.name, f"{people.name}-journal"):
            (copy.parent / name).write_bytes((tmp_path / name).read_bytes())
    before = state(copy.parent)
    assert "journal" in _fault(pool, copy)
    assert state(copy.parent) == before


def test_a_write_ahead_log(pool: Pool, people: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(people, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("DELETE FROM people WHERE id > 1")
        assert "write-ahead log people.sqlite-wal" in _fault(pool, people)
    assert set(state(tmp_path)) == {"people.sqlite"}
    assert len(execute(pool, people, "SELECT * FROM people").rows) == 1
    assert set(state(tmp_path)) == {"people.sqlite"}
