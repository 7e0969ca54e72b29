"""Rows that stay in the database until they are asked for, and databases in the cache folder."""

import pickle
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.core.schema import Table, TableId
from target_bench.data.databases.built_files import build_file, write_sqlite
from target_bench.data.databases.stored_tables import LazyRows, read_stored_tables
from target_bench.data.table_text import Serializer
from target_bench.data.tables import MemoryCorpus
from target_bench.sql.duckdb_copy import duckdb_copy

N = 23


def _write(path: Path, n: int = N) -> Path:
    script = 'CREATE TABLE "a b" (i INTEGER, t TEXT)'
    if path.suffix == ".duckdb":
        with duckdb.connect(path) as database:
            database.execute(script)
            database.execute(f"INSERT INTO \"a b\" SELECT range, 'r' || range FROM range({n})")
    else:
        with closing(sqlite3.connect(path)) as other, other:
            other.execute(script)
            other.executemany('INSERT INTO "a b" VALUES (?, ?)', [(i, f"r{i}") for i in range(n)])
    return path


def _rows(path: Path) -> LazyRows:
    (table,) = read_stored_tables(path)
    return LazyRows(path, table.source, "v1")


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LazyRows:
    """23 rows, in either engine."""
    return _rows(_write(tmp_path_factory.mktemp("lazy") / f"x.{request.param}"))


EXPECTED = [[i, f"r{i}"] for i in range(N)]

_bound = st.none() | st.integers(-30, 30)


@settings(deadline=None, max_examples=25)
@given(
    outer=st.tuples(_bound, _bound),
    start=_bound,
    stop=_bound,
    step=st.sampled_from([None, 1, 2, -1]),
)
def test_slices_are_those_of_a_list(
    rows: LazyRows,
    outer: tuple[int | None, int | None],
    start: int | None,
    stop: int | None,
    step: int | None,
) -> None:
    view, expected = rows[slice(*outer)], EXPECTED[slice(*outer)]
    assert list(view) == expected
    view, expected = view[start:stop:step], expected[start:stop:step]
    assert list(view) == expected
    assert (len(view), bool(view)) == (len(expected), bool(expected))
    assert view == expected


def test_indices_and_equality_are_those_of_a_list(rows: LazyRows) -> None:
    assert [rows[i] for i in range(-N, N)] == [EXPECTED[i] for i in range(-N, N)]
    for wrong in (N, -N - 1):
        with pytest.raises(IndexError):
            rows[wrong]
    assert [row[0] for row in rows[5:9]] == [5, 6, 7, 8]
    with pytest.raises(IndexError):
        rows[5:9][4]
    assert rows[3:4][-1] == [3, "r3"]
    assert [9, "r9"] in rows
    assert list(reversed(rows)) == EXPECTED[::-1]
    assert rows == EXPECTED == rows
    assert rows != EXPECTED[:-1]
    assert rows == [tuple(row) for row in EXPECTED]
    assert rows != "text"
    assert str(rows) == str(EXPECTED), "a retriever may index the text of its rows"


def _total(rows: LazyRows) -> int:
    return sum(int(str(row[0])) for row in rows)


def test_pickled_and_read_in_another_process(rows: LazyRows) -> None:
    rows[0]
    again = pickle.loads(pickle.dumps(rows))
    assert again == rows
    assert list(again) == EXPECTED
    reading = iter(rows)
    next(reading)
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(_total, (rows,)) == sum(range(N))
    assert len(list(reading)) == N - 1


def test_rows_by_their_index_are_read_many_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would else be a query of its own, the slower the farther it is; and all are copies."""
    path = tmp_path / "long.sqlite"
    write_sqlite(path, "CREATE TABLE t (n);" + "INSERT INTO t VALUES (1);" * 2500)
    rows: Any = _rows(path)
    windows: list[str] = []
    read = LazyRows._read

    def counted(own: LazyRows, window: str) -> Any:
        windows.append(window)
        return read(own, window)

    monkeypatch.setattr(LazyRows, "_read", counted)
    for i in range(2500):
        rows[i].append("mine")
    assert len(windows) == 3
    assert rows[2499] == [1]


def test_memory_stays_small(tmp_path: Path) -> None:
    """50,000 rows are walked through in a few batches' worth of memory; a serializer reads few."""
    rows = _rows(_write(tmp_path / "x.sqlite", 50_000))
    tracemalloc.start()
    assert sum(1 for _ in rows) == len(rows) == 50_000
    table = Table(TableId("x", "a b"), ["i", "t"], rows)
    assert Serializer(("header", "rows"), "csv", 2)(table) == "i,t\n0,r0\n1,r1"
    assert MemoryCorpus([table]).fingerprint
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


def test_faults_when_read(tmp_path: Path) -> None:
    path = _write(tmp_path / "x.sqlite", 5_000)
    rows = _rows(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(DataError, match=r"x\.sqlite: cannot be read as SQLite: .*malformed"):
        list(rows)
    path.write_bytes(whole[:-4096])
    with pytest.raises(DataError, match="malformed"):
        len(rows)
    path.unlink()
    with pytest.raises(DataError, match=r"x\.sqlite: there is no such file"):
        len(rows)


def test_fingerprint_follows_the_version() -> None:
    def corpus(version: str, source: str = '"t"') -> MemoryCorpus:
        rows = LazyRows(Path("gone.sqlite"), source, version)
        return MemoryCorpus([Table(TableId("x", "t"), ["a"], rows)])

    assert corpus("1").fingerprint == corpus("1").fingerprint
    assert (
        len({corpus("1").fingerprint, corpus("2").fingerprint, corpus("1", '"u"').fingerprint}) == 3
    )


# databases in the cache folder: checked before they are used, made again when damaged

SCRIPT = (
    "CREATE TABLE city(name TEXT, people INT); INSERT INTO city VALUES ('Oslo', 7), ('Bern', 1);"
)


@pytest.fixture
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))


def _build_file() -> Path:
    return build_file("cities", "1", lambda path: write_sqlite(path, SCRIPT))


@pytest.mark.usefixtures("_cache")
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes().replace(b"Oslo", b"Nslo")),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.unlink(),
    ],
)
def test_what_is_damaged_is_made_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    path = _build_file()
    assert _build_file() == path
    damage(path)
    assert _build_file() == path
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name FROM city ORDER BY people").fetchone() == ("Bern",)
    (folder,) = (tmp_path / "cache" / "databases").iterdir()
    assert folder == path.parent


@pytest.mark.usefixtures("_cache")
def test_a_damaged_copy_in_duckdb_changes_no_result() -> None:
    """The copy is made again before a statement runs on it."""
    path = _build_file()
    copy = duckdb_copy(path)
    assert copy.path.name == "copy.duckdb"
    content = copy.path.read_bytes()
    assert b"Oslo" in content
    copy.path.write_bytes(content.replace(b"Oslo", b"Nslo"))
    with pytest.warns(
        UserWarning, match=r"copy.duckdb of .*cities.sqlite is damaged .*; made again"
    ):
        again = duckdb_copy(path)
    assert again == copy
    assert b"Nslo" not in copy.path.read_bytes()
