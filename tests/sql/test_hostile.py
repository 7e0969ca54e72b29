"""Statements that mean harm: stopped in time, nothing changed, the next one answered."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from target_bench.core.schema import Executed
from target_bench.sql.engines import SQLLimits
from target_bench.sql.workers import Pool
from tests.sql.judging import execute
from tests.sql.written import duckdb_file, sqlite_file, state

pytestmark = pytest.mark.slow

DEADLINE = 1.0
LATE = DEADLINE + 0.5

MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
BIG = "CREATE TABLE big (i INTEGER, t TEXT); INSERT INTO big SELECT {}; CREATE TABLE t (a INTEGER);"
SQLITE_BIG = (
    BIG.format(
        "i, 'text' || i FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "LIMIT 10000) SELECT i FROM n)"
    )
    + "CREATE INDEX by_text ON big (t);"
)
DUCKDB_BIG = BIG.format("range, 'text' || range FROM range(10000)")

SQLITE = {
    "endless count": MANY + "SELECT count(*) FROM n",
    "endless rows": MANY + "SELECT i FROM n",
    "endless sort": MANY + "SELECT i FROM n ORDER BY i DESC",
    "endless text": "WITH RECURSIVE n(i) AS (SELECT 'x' UNION ALL SELECT i || i FROM n) "
    "SELECT count(*) FROM n",
    "cross join": "SELECT count(*) FROM big a, big b, big c",
    "cross join, rows": "SELECT * FROM big a, big b, big c",
    "cross join, sorted": "SELECT * FROM big a, big b, big c ORDER BY a.t || b.t",
    "attach": "ATTACH '{folder}/new.db' AS new",
    "attach self": "ATTACH 'file:{folder}/big.sqlite?mode=rwc' AS again",
    "detach": "DETACH main",
    "writable schema": "PRAGMA writable_schema = ON",
    "schema": "UPDATE sqlite_master SET sql = 'x'",
    "journal mode": "PRAGMA journal_mode = WAL",
    "no time limit": "PRAGMA hard_heap_limit = 0",
    "pragma, disguised": "/* SELECT */ PRAGMA/**/writable_schema/**/=/**/1",
    "temp store directory": "PRAGMA temp_store_directory = '{folder}'",
    "load extension": "SELECT load_extension('libc.so.6')",
    "tokenizer": "SELECT fts3_tokenizer('simple', x'4141414141414141')",
    "read a file": "SELECT readfile('/etc/passwd')",
    "write a file": "SELECT writefile('{folder}/new', 'x')",
    "gigantic blob": "SELECT zeroblob(1000000000)",
    "many blobs": "SELECT " + ", ".join(["randomblob(900000)"] * 1000),
    "blobs without end": MANY + "SELECT randomblob(900000) FROM n",
    "hashed blobs": MANY + "SELECT max(hex(randomblob(900000))) FROM n",
    "replace": "SELECT replace(replace(hex(zeroblob(400000)), '0', hex(zeroblob(9))), '0', 'ab')",
    "printf": "SELECT printf('%.*c', 1000000000, 'x')",
    "pattern": "SELECT printf('%.900000c', 'a') LIKE '%" + "a" * 40_000 + "b'",
    "glob": "SELECT printf('%.900000c', 'a') GLOB '*" + "a" * 40_000 + "b'",
    "two statements": "SELECT 1; DROP TABLE big",
    "two statements, disguised": "SELECT 1 /* ; */ ; -- \n DELETE FROM big",
    "begin": "BEGIN EXCLUSIVE",
    "savepoint": "SAVEPOINT s",
    "drop": "DROP TABLE big",
    "insert": "INSERT INTO t VALUES (1)",
    "insert, disguised": "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
    "delete returning": "DELETE FROM big RETURNING *",
    "create": "CREATE TABLE new AS SELECT 1",
    "temporary": "CREATE TEMP TABLE new AS SELECT 1",
    "virtual": "CREATE VIRTUAL TABLE temp.f USING fts5(x)",
    "vacuum": "VACUUM",
    "vacuum into": "VACUUM INTO '{folder}/new.db'",
    "analyze": "ANALYZE",
    "reindex": "REINDEX",
    "deep nesting": "SELECT " + "(" * 100_000 + "1" + ")" * 100_000,
    "deep selects": "SELECT * FROM (" * 5_000 + "SELECT 1" + ")" * 5_000,
    "a million terms": "SELECT 1 WHERE " + " OR ".join(["1 = 2"] * 1_000_000),
    "many unions": " UNION ALL ".join(["SELECT 1"] * 10_000),
    "many joins": "SELECT * FROM " + ", ".join(f"t AS t{i}" for i in range(1000)),
    "many columns": "SELECT " + ", ".join(["*"] * 1500) + " FROM big",
    "null": "SELECT 1\0; DROP TABLE big",
}

DUCKDB = {
    "endless count": MANY + "SELECT count(*) FROM n",
    "endless rows": MANY + "SELECT i FROM n",
    "series": "SELECT * FROM generate_series(1, 1000000000000)",
    "series, sorted": "SELECT * FROM range(1000000000000) ORDER BY 1 DESC",
    "cross join": "SELECT count(*) FROM big a, big b, big c WHERE a.i + b.i < c.i",
    "cross join, sorted": "SELECT * FROM big a, big b, big c ORDER BY a.t || b.t",
    "attach": "ATTACH '{folder}/new.db' AS new",
    "attach, http": "ATTACH 'https://example.org/x.duckdb' AS new",
    "copy out": "COPY big TO '{folder}/new.csv'",
    "copy in": "COPY t FROM '/etc/passwd'",
    "export": "EXPORT DATABASE '{folder}/new'",
    "read csv": "SELECT * FROM read_csv('/etc/passwd')",
    "read text": "SELECT * FROM read_text('/etc/passwd')",
    "read blob": "SELECT * FROM read_blob('/etc/*')",
    "file as table": "SELECT * FROM '/etc/passwd.csv'",
    "glob": "SELECT * FROM glob('/etc/*')",
    "sniff": "SELECT * FROM sniff_csv('/etc/passwd')",
    "http": "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    "environment": "SELECT getenv('HOME')",
    "install": "INSTALL httpfs",
    "load": "LOAD '/tmp/x.duckdb_extension'",
    "unlock": "SET lock_configuration = false",
    "external access": "SET enable_external_access = true",
    "pragma": "PRAGMA enable_profiling",
    "logging": "SELECT * FROM enable_logging(storage = 'file', storage_path = '{folder}/new')",
    "secrets": "CREATE SECRET (TYPE s3)",
    "call": "CALL pragma_version()",
    "checkpoint": "FORCE CHECKPOINT",
    "two statements": "SELECT 1; DROP TABLE big",
    "two statements, disguised": "SELECT 1 /* ; */ ; -- \n DELETE FROM big",
    "inner statement": "SELECT * FROM query('DROP TABLE big')",
    "begin": "BEGIN",
    "drop": "DROP TABLE big",
    "insert": "INSERT INTO t VALUES (1)",
    "delete returning": "DELETE FROM big RETURNING *",
    "temporary": "CREATE TEMP TABLE new AS SELECT 1",
    "macro": "CREATE MACRO m() AS 1",
    "prepare": "PREPARE p AS SELECT 1",
    "variable": "SET VARIABLE x = 1",
    "vacuum": "VACUUM",
    "gigantic text": "SELECT length(repeat('x', 4000000000))",
    "long text": "SELECT length(lpad('x', 1000000000, 'y'))",
    "printf": "SELECT length(printf('%1000000000d', 1))",
    "gigantic list": "SELECT list_sum(range(1000000000))",
    "collected": "SELECT list(i) FROM range(1000000000) r(i)",
    "one long call": "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))",
    "sleep": "SELECT sleep_ms(100000)",
    "deep nesting": "SELECT " + "(" * 100_000 + "1" + ")" * 100_000,
    "a million terms": "SELECT 1 WHERE " + " OR ".join(["1 = 2"] * 1_000_000),
    "many unions": " UNION ALL ".join(["SELECT 1"] * 10_000),
}


@pytest.fixture(scope="module")
def small() -> Iterator[Pool]:
    limits = SQLLimits(seconds=DEADLINE, memory=256 << 20, rows=100_000, result_bytes=16 << 20)
    with Pool(1, limits) as pool:
        yield pool


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {
        "sqlite": sqlite_file(tmp_path_factory.mktemp("s") / "big.sqlite", SQLITE_BIG),
        "duckdb": duckdb_file(tmp_path_factory.mktemp("d") / "big.duckdb", DUCKDB_BIG),
    }


CASES = [
    pytest.param(engine, sql, id=f"{engine}: {name}")
    for engine, statements in (("sqlite", SQLITE), ("duckdb", DUCKDB))
    for name, sql in statements.items()
]


def timed(pool: Pool, path: Path, sql: str) -> tuple[Executed, float]:
    start = monotonic()
    return execute(pool, path, sql), monotonic() - start


@pytest.mark.parametrize(("engine", "sql"), CASES)
def test_stopped_harmless_and_forgotten(
    small: Pool, big: dict[str, Path], engine: str, sql: str
) -> None:
    path = big[engine]
    before = state(path.parent)
    count = "SELECT count(*), max(i) >= 9999 FROM big"
    assert execute(small, path, count).rows == ((10_000, 1),)  # a worker is there, the file open
    got, seconds = timed(small, path, sql.replace("{folder}", str(path.parent)))
    if seconds >= LATE:  # other work on the machine may have been in the way
        execute(small, path, count)  # in a new process, if the first was killed
        got, seconds = timed(small, path, sql.replace("{folder}", str(path.parent)))
    assert seconds < LATE
    assert got.outcome != "executed", got.rows[:1]
    assert got.message
    assert execute(small, path, count).rows == ((10_000, 1),)
    assert state(path.parent) == before


def test_what_a_statement_leaves_in_memory_does_not_reach_the_next(
    small: Pool, big: dict[str, Path]
) -> None:
    for sql in (SQLITE["temporary"], SQLITE["begin"], SQLITE["writable schema"]):
        execute(small, big["sqlite"], sql)
    for sql in ("SELECT * FROM new", "COMMIT", "UPDATE sqlite_master SET sql = 'x'"):
        assert execute(small, big["sqlite"], sql).outcome != "executed"
    with closing(sqlite3.connect(big["sqlite"])) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
