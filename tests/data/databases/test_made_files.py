"""Databases in the cache folder: checked before they are used, and made again when damaged."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from target_bench.data.databases.stored_tables import made, write_sqlite
from target_bench.sql.judge import Copies

SCRIPT = (
    "CREATE TABLE city(name TEXT, people INT); INSERT INTO city VALUES ('Oslo', 7), ('Bern', 1);"
)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))


def _write(path: Path) -> None:
    write_sqlite(path, SCRIPT)


def _names(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute("SELECT name FROM city ORDER BY people")]


def _another_city(path: Path) -> None:
    """One bit: O and N."""
    path.write_bytes(path.read_bytes().replace(b"Oslo", b"Nslo"))


@pytest.mark.parametrize(
    "damage",
    [
        _another_city,
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.unlink(),
    ],
)
def test_what_is_damaged_is_made_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    path = made("cities", "1", _write)
    assert made("cities", "1", _write) == path
    damage(path)
    assert made("cities", "1", _write) == path
    assert _names(path) == ["Bern", "Oslo"]
    (folder,) = (tmp_path / "cache" / "databases").iterdir()
    assert folder == path.parent


def test_a_damaged_copy_in_duckdb_changes_no_result(tmp_path: Path) -> None:
    """The copy is made again before a statement runs on it."""
    path = made("cities", "1", _write)
    copy = Copies("duckdb").copy_of(path)
    assert copy is not None
    assert copy.path.name == "copy.duckdb"
    content = copy.path.read_bytes()
    assert b"Oslo" in content
    copy.path.write_bytes(content.replace(b"Oslo", b"Nslo"))
    with pytest.warns(
        UserWarning, match=r"copy.duckdb of .*cities.sqlite is damaged .*; made again"
    ):
        again = Copies("duckdb").copy_of(path)
    assert again == copy
    assert b"Nslo" not in copy.path.read_bytes()
