"""Predictions judged against gold: every outcome, on real engines; and records of them."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.schema import Cell, Executed, Judgement
from target_bench.metrics.sql import JudgedQuery, Rule, Verdict
from target_bench.metrics.sql_results import same_rows
from target_bench.runs.record_log import JUDGEMENTS, encode_line
from target_bench.sql.engines import SQLLimits
from target_bench.sql.judge import SQLAnswer
from target_bench.sql.judged_answer import JudgedAnswer, LeftOut
from target_bench.sql.normalisation import LONGEST
from target_bench.sql.worker import explain_difference
from target_bench.sql.workers import Pool
from tests.sql.judging import Case, judged, judged_answers, stop_steps
from tests.sql.written import sqlite_file

SCRIPT = """
CREATE TABLE city (name TEXT, people INTEGER, area REAL);
INSERT INTO city VALUES ('Oslo', 700, 4.5), ('Bern', 130, 0.5), ('Rome', 2800, 1.25),
    ('Rome', 1, NULL);
"""
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
ENGINES = ("sqlite", "duckdb")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return sqlite_file(tmp_path / "cities.sqlite", SCRIPT)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2, SQLLimits(seconds=1)) as pool:
        yield pool


GOLD = "SELECT name FROM city WHERE people > 500"


@pytest.mark.parametrize("engine", ENGINES)
def test_outcomes(file: Path, pool: Pool, tmp_path: Path, engine: str) -> None:
    expected = {
        "SELECT name FROM city WHERE people >= 700": "correct",
        "SELECT name FROM city WHERE people >= 700; -- all": "correct",
        "SELECT name FROM city WHERE people >= 700 -- all; of them": "correct",
        "SELECT name FROM city": "wrong_result",
        "SELECT name FROM town": "no_such_table",
        "SELECT title FROM city": "no_such_column",
        "SELEC name FROM city": "syntax_error",
        ENDLESS: "timeout",
    }
    cases = [Case(sql, GOLD, file, sql, file) for sql in expected]
    cases.append(Case("comment", f"{GOLD}; /* of 2020 */", file, GOLD, file))
    expected["comment"] = "correct"
    cases.append(Case("bad gold", "SELECT x FROM city", file, "SELECT 1", file))
    answers = {j.query_id: j for j in judged(pool, tmp_path, cases, engine=engine)}
    assert {sql: answers[sql].query.verdict for sql in expected} == expected
    assert answers["bad gold"].query.verdict == "gold_failed"
    assert answers["bad gold"].reason.startswith("gold: no_such_column: ")
    assert "no such column" in answers["SELECT title FROM city"].reason


def test_what_an_answer_names(file: Path, pool: Pool, tmp_path: Path) -> None:
    """SQL and a database, the one that was retrieved, or none."""
    texts = {
        "none": "I do not know.",
        "elsewhere": json.dumps({"sql": GOLD, "database_id": "../x"}),
        "retrieved": GOLD,
        "case": json.dumps({"sql": GOLD, "database_id": "CITY"}),
        "long": json.dumps({"sql": GOLD + " --" + "x" * LONGEST}),
    }
    answers = [SQLAnswer(i, text, None, GOLD, "city", "city") for i, text in texts.items()]
    answers.append(SQLAnswer("missing", "SELECT 1", None, GOLD, "town", None))
    answers.append(SQLAnswer("failed", "", "no connection", GOLD, "city", None))
    results = judged_answers(pool, tmp_path, answers, {"city": file})
    assert {answer.query_id: (answer.query.verdict, answer.reason) for answer in results} == {
        "none": ("no_prediction", "no SQL can be read from the answer"),
        "elsewhere": ("error", "there is no database '../x'"),
        "retrieved": ("correct", ""),
        "case": ("correct", ""),
        "long": ("error", "it has 100,043 characters; more than 100,000 are not run"),
        "missing": ("not_runnable", "the database of the query is missing"),
        "failed": ("no_prediction", "no connection"),
    }


def test_each_rule(file: Path, pool: Pool, tmp_path: Path) -> None:
    """Sets of rows; columns in any order, DISTINCT aside."""
    gold = "SELECT DISTINCT name, 1 FROM city"
    cases = [
        Case("all", gold, file, gold, file),
        Case("twice", gold, file, "SELECT name, 1 FROM city", file),
        Case("turned", gold, file, "SELECT DISTINCT 1, name FROM city", file),
    ]
    queries = [j.query for j in judged(pool, tmp_path, cases)]
    assert [(q.bird, q.spider) for q in queries] == [(1, 1), (1, 1), (0, 1)]


@pytest.mark.parametrize("engine", ENGINES)
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
    right, wrong, late = judged(pool, tmp_path, cases, engine=engine, rule=rule)
    values = [right.query.bird, right.query.soft_f1, right.query.spider]
    assert values == [0, 0, 1]
    assert right.query.verdict == outcome
    if rule == "bird":
        assert right.reason.startswith("more than one statement")
        assert right.reason.endswith(f"ex[spider] is 1, for Spider's script runs: {GOLD};")
        assert wrong.reason.startswith("more than one statement")
        assert "ex[spider]" not in wrong.reason
    assert (wrong.query.spider, late.query.spider) == (0, 0)
    assert wrong.query.verdict == ("error" if rule == "bird" else "wrong_result")
    assert late.query.verdict == "forbidden"


def test_gold_that_differs_between_engines_is_left_out(
    file: Path, pool: Pool, tmp_path: Path
) -> None:
    """A copy in DuckDB has no collations, and without DISTINCT the sum overflows in SQLite."""
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            "CREATE TABLE person (name TEXT COLLATE NOCASE); INSERT INTO person VALUES ('Ann');"
            f"CREATE TABLE n (x INTEGER); INSERT INTO n VALUES ({2**62}), ({2**62}), ({2**62});"
        )
    collated = "SELECT count(*) FROM person WHERE name = 'ANN'"
    summed = "SELECT sum(DISTINCT x) FROM n"
    same = "SELECT name FROM city ORDER BY people LIMIT 1"
    cases = [Case(sql, sql, file, sql, file) for sql in (same, collated, summed)]
    first, *others = judged(pool, tmp_path, cases, engine="duckdb")
    assert first.query.verdict == "correct"
    assert [other.query.verdict for other in others] == ["not_runnable"] * 2
    assert "another result in this engine" in others[0].reason
    assert "the gold as ex[spider] runs it, without DISTINCT, fails" in others[1].reason


def test_rows_are_counted_and_their_beginning_held(file: Path, pool: Pool, tmp_path: Path) -> None:
    """A million rows of each of a thousand predictions fit into no memory."""
    many = "SELECT a.name, hex(zeroblob(1000)) FROM city a, city b, city c"
    (judgement,) = judged(pool, tmp_path, [Case("q", GOLD, file, many, file)])
    assert (judgement.gold_rows, judgement.rows) == (2, 64)
    assert judgement.gold_result is not None
    assert judgement.result is not None
    assert len(judgement.gold_result["rows"]) == 2
    assert len(judgement.result["rows"]) == 20
    assert all(len(cell) <= 201 for row in judgement.result["rows"] for cell in row)


@pytest.fixture(scope="module")
def longer() -> Iterator[Pool]:
    with Pool(1, SQLLimits(seconds=5)) as pool:
        yield pool


NAMES = "SELECT DISTINCT name FROM People"


def test_no_translation(longer: Pool, people: Path, tmp_path: Path) -> None:
    """A prediction is judged by SQLite's rows and counted, gold is left out."""
    no_rowid = "SELECT rowid FROM People"
    cases = [
        Case("prediction", NAMES, people, no_rowid, people),
        Case("right", "SELECT id FROM People", people, no_rowid, people),
        Case("gold", no_rowid, people, NAMES, people),
    ]
    prediction, right, gold = judged(longer, tmp_path, cases, engine="duckdb")
    for answer, (verdict, value) in zip(
        (prediction, right), (("wrong_result", 0), ("correct", 1)), strict=True
    ):
        assert (answer.query.verdict, answer.query.bird) == ("translation_differs", value)
        assert "it has no translation" in answer.reason
        assert answer.reason.endswith(f"{verdict} by SQLite's rows")
    assert (gold.query.verdict, gold.left_out) == ("not_runnable", "engines")
    assert "the gold has no translation" in gold.reason


@pytest.mark.parametrize(
    ("gold", "sql", "by_sqlite", "in_duckdb"),
    [
        ("SELECT 'integer'", "SELECT typeof(people) FROM city WHERE area > 4", 1, 0),
        ("SELECT 'BIGINT'", "SELECT typeof(people) FROM city WHERE area > 4", 0, 1),
        ("SELECT '2021-02-03'", "SELECT date('2020-02-03', '+1 year')", 1, 0),
        ("SELECT 'Bern'", "SELECT FIRST(name) FROM city WHERE area < 1", 0, 1),
    ],
)
def test_predictions_over_which_engines_differ(
    longer: Pool, file: Path, tmp_path: Path, gold: str, sql: str, by_sqlite: int, in_duckdb: int
) -> None:
    """SQLite's SQL is judged by SQLite's rows and counted; DuckDB's is run in DuckDB alone."""
    case = Case("q", gold, file, sql, file)
    (translated,) = judged(longer, tmp_path, [case], engine="duckdb")
    (own,) = judged(longer, tmp_path, [case], engine="duckdb", dialect="duckdb")
    (sqlite,) = judged(longer, tmp_path, [case])
    assert translated.query == replace(sqlite.query, verdict=translated.query.verdict)
    assert translated.query.bird == by_sqlite
    compiles = sqlite.outcome == "executed"
    assert (translated.query.verdict == "translation_differs") is compiles
    assert (own.query.bird, own.query.spider) == (in_duckdb, in_duckdb)
    assert own.query.verdict != "translation_differs"


def test_results_that_cannot_be_compared_differ(
    longer: Pool, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ended while it compared what SQLite and DuckDB gave."""
    begun = stop_steps(monkeypatch, ["agree"])
    (answer,) = judged(longer, tmp_path, [Case("q", GOLD, file, GOLD, file)], engine="duckdb")
    assert (answer.query.verdict, answer.query.bird) == ("translation_differs", 1)
    assert begun.count("agree") == 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("content", [b"", b"garbage" * 99, b"SQLite format 3\0" + b"x" * 500])
def test_a_database_that_cannot_be_read(
    longer: Pool, people: Path, tmp_path: Path, engine: str, content: bytes
) -> None:
    """Its queries are not run, the others are; a prediction that asks it is wrong."""
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(content)
    cases = [
        Case("on it", NAMES, bad, NAMES, bad),
        Case("sound", NAMES, people, NAMES, people),
        Case("asks it", NAMES, people, NAMES, bad),
    ]
    first, second, third = judged(longer, tmp_path, cases, engine=engine)
    assert (first.query.verdict, first.left_out) == ("not_runnable", "unusable")
    assert str(bad) in first.reason
    assert second.query.verdict == "correct"
    assert third.query.verdict == "error"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ([(1,)], [(1.0,)], True),
        ([(0.1 + 0.2,)], [(0.3,)], True),
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], True),
        ([(1234567,), (1234568,)], [(1234568,), (1234567,)], True),
        ([(0.1234567, None), (0.1234568, None)], [(0.1234568, None), (0.1234567, None)], True),
        ([(nan,), (2.5,), (1,)], [(1,), (2.5,), (nan,)], True),
        ([(1,), (1,)], [(1,)], True),
        ([(1,)], [("1",)], False),
        ([(None,)], [(0,)], False),
        ([(1.0,)], [(1.1,)], False),
        ([(1,)], [], False),
        ([(b"x",)], [("x",)], False),
    ],
)
def test_agreement_of_engines(
    first: list[tuple[Cell, ...]], second: list[tuple[Cell, ...]], same: bool
) -> None:
    assert same_rows(first, second) is same_rows(second, first) is same
    rows, timeout = Executed("executed", ("a",)), Executed("timeout")
    assert (explain_difference(rows, rows, lambda: same) == "") is same
    assert "in SQLite alone" in explain_difference(rows, timeout, lambda: same)
    assert "in this engine alone" in explain_difference(timeout, rows, lambda: same)
    assert explain_difference(timeout, timeout, lambda: same) == ""


TEXT = st.text(st.characters())  # lone surrogates too
FRACTION = st.floats(0, 1)
COUNT = st.integers(0, 100)
RESULT = st.none() | st.fixed_dictionaries(
    {"columns": st.lists(TEXT), "rows": st.lists(st.lists(st.none() | TEXT)), "n_columns": COUNT}
)
RUNNABLE = [verdict for verdict in get_args(Verdict) if verdict != "not_runnable"]
JUDGED = st.builds(
    JudgedQuery,
    st.sampled_from(RUNNABLE),
    FRACTION,
    FRACTION,
    FRACTION,
    st.floats(0, allow_infinity=False) | st.just(float("nan")),
)
LEFT_OUT = st.tuples(st.just(JudgedQuery("not_runnable")), st.sampled_from(get_args(LeftOut)))


@st.composite
def answers(draw: st.DrawFn) -> JudgedAnswer:
    query, left_out = draw(LEFT_OUT | st.tuples(JUDGED, st.none()))
    return JudgedAnswer(
        query_id=draw(TEXT),
        query=query,
        reason=draw(TEXT),
        sql=draw(st.none() | TEXT),
        gold_sql=draw(TEXT),
        rows=draw(st.none() | COUNT),
        gold_rows=draw(st.none() | COUNT),
        result=draw(RESULT),
        gold_result=draw(RESULT),
        outcome=draw(st.sampled_from([None, "executed", "timeout", "unusable"])),
        left_out=left_out,
        database=draw(st.none() | TEXT),
        engine=draw(st.sampled_from([None, "sqlite", "duckdb"])),
        notes=tuple(draw(st.lists(TEXT))),
    )


@given(answers(), st.text("0123456789abcdef", min_size=1))
def test_a_record_comes_back_exactly(answer: JudgedAnswer, fingerprint: str) -> None:
    judgement = Judgement(answer.query_id, fingerprint, answer.to_json())
    line = encode_line(JUDGEMENTS.line(judgement))
    assert line.count(b"\n") == 1
    back = JUDGEMENTS.parse(json.loads(line))
    assert back == judgement
    assert repr(JudgedAnswer.from_json(back.query_id, back.record)) == repr(answer)  # NaN too
