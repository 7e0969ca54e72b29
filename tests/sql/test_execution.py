"""Predictions judged against gold: every outcome, on real engines."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from target_bench.core.schema import Executed
from target_bench.metrics.sql import Rule
from target_bench.sql.dialect.agreement import agree
from target_bench.sql.dialect.engine_choice import dialect_of
from target_bench.sql.engines.databases import Limits
from target_bench.sql.execution import Judge
from target_bench.sql.judged_answer import Case, Judged
from target_bench.sql.statement_results import GoldResults
from target_bench.sql.workers.pool import Pool
from tests.sql.judged import in_order

SCRIPT = """
CREATE TABLE city (name TEXT, people INTEGER, area REAL);
INSERT INTO city VALUES ('Oslo', 700, 4.5), ('Bern', 130, 0.5), ('Rome', 2800, 1.25),
    ('Rome', 1, NULL);
"""
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cities.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCRIPT)
    return path


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2, Limits(seconds=1)) as pool:
        yield pool


def _judged(
    pool: Pool,
    tmp_path: Path,
    cases: Sequence[Case],
    engine: str = "sqlite",
    repeats: int = 1,
    rule: Rule = "bird",
) -> list[Judged]:
    dialect = dialect_of(engine, lambda _: None)  # type: ignore[arg-type]  # one of two words
    golds = GoldResults(pool, tmp_path / "gold")
    judge = Judge(pool, golds, dialect, rule, repeats)
    return in_order(pool, judge, cases)


GOLD = "SELECT name FROM city WHERE people > 500"


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_outcomes(file: Path, pool: Pool, tmp_path: Path, engine: str) -> None:
    asked = {
        "SELECT name FROM city WHERE people >= 700": "correct",
        "SELECT name FROM city": "wrong_result",
        "SELECT name FROM town": "no_such_table",
        "SELECT title FROM city": "no_such_column",
        "SELEC name FROM city": "syntax_error",
        ENDLESS: "timeout",
    }
    cases = [Case(sql, GOLD, file, sql, file) for sql in asked]
    cases.append(Case("none", GOLD, file, None, None, "no SQL in it"))
    cases.append(Case("elsewhere", GOLD, file, "SELECT 1", None, "there is no database 'x'"))
    cases.append(Case("missing", GOLD, None, "SELECT 1", None))
    cases.append(Case("bad gold", "SELECT x FROM city", file, "SELECT 1", file))
    found = {j.case.query_id: j for j in _judged(pool, tmp_path, cases, engine)}
    assert {sql: found[sql].query.verdict for sql in asked} == asked
    assert found["none"].query.verdict == "no_prediction"
    assert found["none"].reason == "no SQL in it"
    assert (found["elsewhere"].query.verdict, found["elsewhere"].reason) == (
        "error",
        "there is no database 'x'",
    )
    assert found["missing"].query.verdict == "not_runnable"
    assert found["bad gold"].query.verdict == "gold_failed"
    assert "no such column" in found["SELECT title FROM city"].reason


def test_each_rule(file: Path, pool: Pool, tmp_path: Path) -> None:
    """Sets of rows; rows as often; columns in any order, DISTINCT aside."""
    gold = "SELECT DISTINCT name, 1 FROM city"
    cases = [
        Case("all", gold, file, gold, file),
        Case("twice", gold, file, "SELECT name, 1 FROM city", file),
        Case("turned", gold, file, "SELECT DISTINCT 1, name FROM city", file),
    ]
    found = [j.query for j in _judged(pool, tmp_path, cases)]
    assert [(q.bird, q.multiset, q.spider) for q in found] == [(1, 1, 1), (1, 0, 1), (0, 0, 1)]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(("rule", "outcome"), [("bird", "error"), ("spider", "correct")])
def test_two_statements(
    file: Path, pool: Pool, tmp_path: Path, engine: str, rule: Rule, outcome: str
) -> None:
    """BIRD's script fails on them; Spider's runs the first one, with DISTINCT or without."""
    cases = [
        Case("right", GOLD, file, f"{GOLD}; DROP TABLE city", file),
        Case("wrong", GOLD, file, "SELECT 1; DROP TABLE city", file),
        Case("late", GOLD, file, f"DROP TABLE city; {GOLD}", file),
    ]
    right, wrong, late = _judged(pool, tmp_path, cases, engine, rule=rule)
    values = [right.query.bird, right.query.multiset, right.query.soft_f1, right.query.spider]
    assert values == [0, 0, 0, 1]
    assert right.query.verdict == outcome
    if rule == "bird":
        assert right.reason.startswith("more than one statement")
        assert right.reason.endswith(f"ex[spider] is 1, for Spider's script runs: {GOLD};")
        assert wrong.reason.startswith("more than one statement")
        assert "ex[spider]" not in wrong.reason
    assert (wrong.query.spider, late.query.spider) == (0, 0)
    assert wrong.query.verdict == ("error" if rule == "bird" else "wrong_result")
    assert late.query.verdict == "forbidden"


def test_a_reason_under_spiders_rule_is_of_what_it_runs(
    file: Path, pool: Pool, tmp_path: Path
) -> None:
    case = Case("q", "SELECT DISTINCT name FROM city", file, "SELECT count(DISTINCT) FROM x", file)
    (judged,) = _judged(pool, tmp_path, [case], rule="spider")
    assert (judged.query.verdict, judged.reason) == ("no_such_table", "no such table: x")


def test_gold_that_differs_between_engines_is_left_out(
    file: Path, pool: Pool, tmp_path: Path
) -> None:
    """A copy in DuckDB has no collations, say."""
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            "CREATE TABLE person (name TEXT COLLATE NOCASE); INSERT INTO person VALUES ('Ann');"
        )
    gold = "SELECT count(*) FROM person WHERE name = 'ANN'"
    same = "SELECT name FROM city ORDER BY people LIMIT 1"
    cases = [Case("same", same, file, same, file), Case("collated", gold, file, gold, file)]
    first, second = _judged(pool, tmp_path, cases, "duckdb")
    assert first.query.verdict == "correct"
    assert second.query.verdict == "not_runnable"
    assert "another result in this engine" in second.reason


def test_rows_are_counted_and_their_beginning_held(file: Path, pool: Pool, tmp_path: Path) -> None:
    """A million rows of each of a thousand predictions fit into no memory."""
    many = "SELECT a.name, hex(zeroblob(1000)) FROM city a, city b, city c"
    (judged,) = _judged(pool, tmp_path, [Case("q", GOLD, file, many, file)])
    assert (judged.gold_shape, judged.predicted_shape) == ((2, 1), (64, 2))
    assert judged.gold is not None
    assert judged.predicted is not None
    assert len(judged.gold.rows) == 2
    assert len(judged.predicted.rows) == 20
    assert all(len(str(cell)) <= 201 for row in judged.predicted.rows for cell in row)


def test_times_are_measured_when_asked(file: Path, pool: Pool, tmp_path: Path) -> None:
    (judged,) = _judged(pool, tmp_path, [Case("q", GOLD, file, GOLD, file)], repeats=5)
    assert judged.gold is not None
    assert len(judged.gold.seconds) == 5
    assert judged.query.time_ratio == judged.query.time_ratio  # a number


def _rows(*rows: tuple[object, ...]) -> Executed:
    return Executed("executed", ("a",), rows)  # type: ignore[arg-type]  # cells


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([(1,)], [(1.0,)], True),
        ([(0.1 + 0.2,)], [(0.3,)], True),
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], True),
        ([(1,), (1,)], [(1,)], True),
        ([(1,)], [("1",)], False),
        ([(None,)], [(0,)], False),
        ([(1.0,)], [(1.1,)], False),
        ([(1,)], [], False),
        ([(b"x",)], [("x",)], False),
    ],
)
def test_agreement_of_engines(
    one: list[tuple[object, ...]], other: list[tuple[object, ...]], same: bool
) -> None:
    assert agree(_rows(*one), _rows(*other)) is same
    assert agree(_rows(*other), _rows(*one)) is same
    assert not agree(_rows(*one), Executed("timeout"))
