"""Databases in the cache folder: checked before they are used, and made again when damaged."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from target_bench.data.databases import stored_tables
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


def _another_seal(path: Path) -> None:
    seal = path.with_name("seal.json")
    seal.write_bytes(seal.read_bytes().replace(b"a", b"b", 1))


@pytest.mark.parametrize(
    "damage",
    [
        _another_city,
        _another_seal,
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.unlink(),
        lambda path: path.with_name("seal.json").unlink(),
        lambda path: path.with_name("seal.json").write_text("[]"),
    ],
)
def test_what_is_damaged_is_made_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    said: list[str] = []
    path = made("cities", "1", _write, said.append)
    assert made("cities", "1", _write, said.append) == path
    assert said == []
    damage(path)
    stored_tables._fault.cache_clear()  # as in another process
    assert made("cities", "1", _write, said.append) == path
    (message,) = said
    assert message.startswith(f"the cached database {path} is damaged (")
    assert message.endswith("; made again")
    assert _names(path) == ["Bern", "Oslo"]
    assert made("cities", "1", _write, said.append) == path
    assert len(said) == 1
    assert [folder.name for folder in (tmp_path / "cache" / "databases").iterdir()] == [
        path.parent.name
    ]


def test_a_warning_by_default() -> None:
    _another_city(made("cities", "1", _write))
    with pytest.warns(UserWarning, match=r"cities.sqlite is damaged .*; made again"):
        made("cities", "1", _write)


def test_it_is_made_once_and_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    path = made("cities", "1", _write)

    def never(path: Path) -> None:
        raise AssertionError("made, or read, a second time")

    assert made("cities", "1", never) == path  # checked
    monkeypatch.setattr("target_bench.core.files.sha256_of", never)
    assert made("cities", "1", never) == path


def test_another_process_was_faster() -> None:
    """What it made is used, and nothing is said."""
    said: list[str] = []

    def slow(path: Path) -> None:
        first = made("cities", "1", _write, said.append)
        kept.append(first.stat().st_ino)
        _write(path)

    kept: list[int] = []
    path = made("cities", "1", slow, said.append)
    assert path.stat().st_ino == kept[0]
    assert said == []


def test_a_damaged_copy_in_duckdb_changes_no_result(tmp_path: Path) -> None:
    """The copy is made again before a statement runs on it."""
    path = made("cities", "1", _write)
    copy = Copies("duckdb").of(path)
    assert copy is not None
    assert copy.path.name == "copy.duckdb"
    content = copy.path.read_bytes()
    assert b"Oslo" in content
    copy.path.write_bytes(content.replace(b"Oslo", b"Nslo"))
    with pytest.warns(
        UserWarning, match=r"copy.duckdb of .*cities.sqlite is damaged .*; made again"
    ):
        again = Copies("duckdb").of(path)
    assert again == copy
    assert b"Nslo" not in copy.path.read_bytes()
