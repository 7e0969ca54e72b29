"""SQLite copied into DuckDB."""

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from target_bench.core.errors import DataError, StoreError
from target_bench.sql.duckdb_copy import Copy, duckdb_copy
from tests.sql.written import CONCERTS, sqlite_file


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))


def _copied(tmp_path: Path, script: str) -> Copy:
    return duckdb_copy(sqlite_file(tmp_path / "some.sqlite", script))


def _rows(copy: Copy, sql: str) -> list[Any]:
    with duckdb.connect(copy.path, read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("declared", "values", "kind"),
    [
        ("INTEGER", "(1), (NULL), (9223372036854775807)", "BIGINT"),
        ("DECIMAL(10, 2)", "(1), (2)", "BIGINT"),
        ("NUMERIC", "(1), (2.5)", "DOUBLE"),
        ("REAL", "(1), (9e999)", "DOUBLE"),
        ("DATE", "('2020-01-01'), (NULL)", "VARCHAR"),
        ("BOOLEAN", "(0), (1)", "BIGINT"),
        ("TEXT", "('0'), ('é')", "VARCHAR"),
        ("INTEGER", "(1), ('n/a')", "VARCHAR"),
        ("", "(x'00ff'), (NULL)", "BLOB"),
        ("", "('a'), (1)", "VARCHAR"),
        ("INTEGER", "(NULL)", "BIGINT"),
        ("VARCHAR(5)", "(NULL)", "VARCHAR"),
        ("DATETIME", "(NULL)", "VARCHAR"),
        ("FLOAT", "(NULL)", "DOUBLE"),
        ("", "(NULL)", "BLOB"),
    ],
)
def test_types(tmp_path: Path, declared: str, values: str, kind: str) -> None:
    script = f"CREATE TABLE t(x {declared}); INSERT INTO t VALUES {values};"
    copy = _copied(tmp_path, script)
    assert copy.columns == {"t": {"x": kind}}
    with closing(sqlite3.connect(tmp_path / "some.sqlite")) as source:
        stored = source.execute("SELECT x FROM t").fetchall()
    if len({type(cell) for (cell,) in stored if cell is not None}) < 2 or kind == "DOUBLE":
        assert _rows(copy, "SELECT x FROM t") == stored


def test_names(tmp_path: Path) -> None:
    copy = _copied(
        tmp_path,
        'CREATE TABLE "order by ""x"""("a b" INT, "select" INT); CREATE TABLE unnamed("" INT);'
        'INSERT INTO "order by ""x""" VALUES (1, 2); CREATE TABLE empty(x TEXT);',
    )
    assert list(copy.columns['order by "x"']) == ["a b", "select"]
    assert _rows(copy, 'SELECT * FROM "order by ""x"""') == [(1, 2)]
    assert _rows(copy, "SELECT * FROM empty") == []
    assert "unnamed" not in copy.columns
    (note,) = copy.notes
    assert note.startswith("table 'unnamed' is left out: ")


def test_views(tmp_path: Path) -> None:
    copy = _copied(
        tmp_path,
        "CREATE TABLE t(i INT); INSERT INTO t VALUES (7), (8);"
        "CREATE VIEW half AS SELECT i / 2 AS h FROM t;"
        "CREATE VIEW quarter(q) AS SELECT h / 2 FROM half;"
        "CREATE VIEW numbered AS SELECT rowid FROM t;",
    )
    assert _rows(copy, "SELECT h FROM half") == [(3,), (4,)]
    assert _rows(copy, "SELECT q FROM quarter") == [(1,), (2,)]
    assert _rows(copy, "SELECT rowid FROM numbered") == [(1,), (2,)]
    assert copy.notes == ()


def test_copied_once_and_again_when_changed(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "db.sqlite", CONCERTS)
    first = duckdb_copy(path)
    made = first.path.stat().st_mtime_ns
    assert duckdb_copy(path) == first
    assert first.path.stat().st_mtime_ns == made
    sqlite_file(path, "INSERT INTO singer(name) VALUES ('Ed');")
    second = duckdb_copy(path)
    assert second.path != first.path
    assert _rows(second, "SELECT count(*) FROM singer") == [(5,)]
    for damaged in (second.path, second.path.with_name("entry.json")):
        damaged.write_bytes(damaged.read_bytes().replace(b"singer", b"sinner"))
        with pytest.warns(UserWarning, match=r"copy .* is damaged \(.*; made again"):
            copy = duckdb_copy(path)
        assert _rows(copy, "SELECT count(*) FROM singer") == [(5,)]
    assert not list(first.path.parent.parent.glob(".new-*"))


def _in_process(path: str) -> int:
    with duckdb.connect(duckdb_copy(Path(path)).path, read_only=True) as connection:
        row = connection.execute("SELECT count(*) FROM singer").fetchone()
        assert row is not None
        return int(row[0])


def test_two_processes(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "db.sqlite", CONCERTS)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_in_process, [str(path)] * 4) == [4] * 4


def test_broken_locked_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        duckdb_copy(tmp_path / "none.sqlite")
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"not a database at all" * 500)
    with pytest.raises(DataError, match="cannot be read as SQLite"):
        duckdb_copy(broken)
    locked = sqlite_file(tmp_path / "locked.sqlite", CONCERTS)
    with closing(sqlite3.connect(locked, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DataError, match="Close the program that writes it"):
            duckdb_copy(locked)


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(StoreError, match="TARGET_BENCH_CACHE"):
        duckdb_copy(sqlite_file(tmp_path / "db.sqlite", CONCERTS))


_CELLS = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cells=st.lists(_CELLS, min_size=1, max_size=6))
def test_any_cells(tmp_path: Path, cells: list[Any]) -> None:
    path = tmp_path / "any.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as source:
        source.execute("CREATE TABLE t(x)")
        source.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        source.commit()
    copy = duckdb_copy(path)
    copied = [cell for (cell,) in _rows(copy, "SELECT x FROM t")]
    assert [cell is None for cell in copied] == [cell is None for cell in cells]
    if len({type(cell) for cell in cells if cell is not None}) == 1:
        assert copied == cells
    else:
        assert len({type(cell) for cell in copied if cell is not None}) <= 1


def test_a_view_of_a_table_that_is_gone_is_left_out(tmp_path: Path) -> None:
    path = sqlite_file(
        tmp_path / "some.sqlite",
        "CREATE TABLE t(a INT); INSERT INTO t VALUES (1); CREATE TABLE u(x INT);"
        " CREATE VIEW v AS SELECT x FROM u; PRAGMA legacy_alter_table = ON; DROP TABLE u;",
    )
    copy = duckdb_copy(path)
    assert copy.columns == {"t": {"a": "BIGINT"}}
    assert len(copy.notes) == 1
    assert copy.notes[0].startswith("view 'v' is left out: ")
