"""Judging where a statement has no translation, or a database cannot be read."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from target_bench.sql.dialect.engine_choice import dialect_of
from target_bench.sql.engines.databases import Limits
from target_bench.sql.execution import Judge
from target_bench.sql.judged_answer import Case, Judged
from target_bench.sql.statement_results import GoldResults
from target_bench.sql.statements import LONGEST
from target_bench.sql.workers.pool import Pool
from tests.sql.judged import in_order
from tests.sql.written import sqlite_file

GOLD = "SELECT DISTINCT name FROM People"
ENGINES = ("sqlite", "duckdb")


@pytest.fixture(scope="module")
def short() -> Iterator[Pool]:
    with Pool(1, Limits(seconds=5)) as pool:
        yield pool


def _judged(pool: Pool, folder: Path, engine: str, cases: Sequence[Case]) -> list[Judged]:
    dialect = dialect_of(engine, lambda _: None)  # type: ignore[arg-type]  # one of two words
    judge = Judge(pool, GoldResults(pool, folder / "gold"), dialect, "bird")
    return in_order(pool, judge, cases)


def test_no_translation_is_not_a_syntax_error(short: Pool, people: Path, tmp_path: Path) -> None:
    cases = [
        Case("rowid", GOLD, people, "SELECT rowid FROM People", people),
        Case("long", GOLD, people, GOLD + " " * LONGEST, people),
    ]
    for judged in _judged(short, tmp_path, "duckdb", cases):
        assert judged.query.verdict == "error"
        assert "it has no translation" in judged.reason


def test_gold_without_translation_says_so(short: Pool, people: Path, tmp_path: Path) -> None:
    case = Case("q", "SELECT rowid FROM People", people, GOLD, people)
    (judged,) = _judged(short, tmp_path, "duckdb", [case])
    assert (judged.query.verdict, judged.left_out) == ("not_runnable", "engines")
    assert "the gold has no translation" in judged.reason


def test_gold_that_differs_as_spiders_rule_runs_it_is_left_out(
    short: Pool, people: Path, tmp_path: Path
) -> None:
    """The engines agree over the gold, but the same without DISTINCT overflows in SQLite alone."""
    with closing(sqlite3.connect(people)) as database, database:
        database.executescript("CREATE TABLE n (x INTEGER); INSERT INTO n VALUES (1), (1);")
        database.execute("UPDATE n SET x = ?", (2**62,))
        database.execute("INSERT INTO n VALUES (?)", (2**62,))
    gold = "SELECT sum(DISTINCT x) FROM n"
    for prediction in (gold, "SELECT 4611686018427387904", "SELECT 1"):
        case = Case("q", gold, people, prediction, people)
        (judged,) = _judged(short, tmp_path, "duckdb", [case])
        assert (judged.query.verdict, judged.left_out) == ("not_runnable", "engines")
        assert "as ex[spider] runs it, without DISTINCT, fails in SQLite alone" in judged.reason
    (judged,) = _judged(short, tmp_path, "sqlite", [Case("q", gold, people, gold, people)])
    assert (judged.query.bird, judged.query.spider) == (1, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_gold_that_fails_in_both_engines_counts_as_in_one(
    short: Pool, people: Path, tmp_path: Path, engine: str
) -> None:
    case = Case("q", "SELECT length FROM People", people, GOLD, people)
    (judged,) = _judged(short, tmp_path, engine, [case])
    assert (judged.query.verdict, judged.left_out) == ("gold_failed", None)
    assert "no such column" in judged.reason


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("content", [b"", b"garbage" * 99, b"SQLite format 3\0" + b"x" * 500])
def test_a_database_that_cannot_be_read(
    short: Pool, people: Path, tmp_path: Path, engine: str, content: bytes
) -> None:
    """Its queries are not run, the others are; a prediction that asks it is wrong."""
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(content)
    cases = [
        Case("on it", GOLD, bad, GOLD, bad),
        Case("sound", GOLD, people, GOLD, people),
        Case("asks it", GOLD, people, GOLD, bad),
    ]
    first, second, third = _judged(short, tmp_path, engine, cases)
    assert (first.query.verdict, first.left_out) == ("not_runnable", "unusable")
    assert str(bad) in first.reason
    assert second.query.verdict == "correct"
    assert third.query.verdict == "error"


def test_a_locked_database(short: Pool, people: Path, tmp_path: Path) -> None:
    locked = sqlite_file(tmp_path / "locked.sqlite")
    script = (
        "import sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "d.execute('BEGIN EXCLUSIVE'); print(flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(locked)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        cases = [Case("l", GOLD, locked, GOLD, locked), Case("s", GOLD, people, GOLD, people)]
        first, second = _judged(short, tmp_path, "sqlite", cases)
        writer.communicate(b"")
    assert (first.query.verdict, first.left_out) == ("not_runnable", "unusable")
    assert "Close the program that writes it" in first.reason
    assert second.query.verdict == "correct"
