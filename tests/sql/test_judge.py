"""Predictions judged against gold: every outcome, on real engines; and records of them."""

import json
from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.schema import (
    Cell,
    Executed,
    Generation,
    Judgement,
    Query,
    Retrieval,
    TableId,
)
from target_bench.metrics.sql import JudgedAnswer, LeftOut, Rule, Verdict
from target_bench.metrics.sql_results import same_rows
from target_bench.runs.record_log import JUDGEMENTS, encode_line
from target_bench.sql.engines import SQLLimits
from target_bench.sql.judge import hash_inputs
from target_bench.sql.normalisation import LONGEST
from target_bench.sql.worker import explain_difference
from target_bench.sql.workers import Pool
from tests.sql.judging import Answer, Case, judged, judged_answers, stop_steps
from tests.sql.written import sqlite_file

SCRIPT = f"""
CREATE TABLE city (name TEXT, people INTEGER, area REAL);
INSERT INTO city VALUES ('Oslo', 700, 4.5), ('Bern', 130, 0.5), ('Rome', 2800, 1.25),
    ('Rome', 1, NULL);
CREATE TABLE person (name TEXT COLLATE NOCASE);
INSERT INTO person VALUES ('Ann');
CREATE TABLE n (x INTEGER);
INSERT INTO n VALUES ({2**62}), ({2**62}), ({2**62});
"""
GOLD = "SELECT name FROM city WHERE people > 500"
VERDICTS = yaml.safe_load(Path(__file__).with_name("verdicts.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return sqlite_file(tmp_path / "cities.sqlite", SCRIPT)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2, SQLLimits(seconds=5)) as pool:
        yield pool


@pytest.mark.parametrize("rule", ["bird", "spider"])
@pytest.mark.parametrize(
    ("engine", "dialect"), [("sqlite", "sqlite"), ("duckdb", "sqlite"), ("duckdb", "duckdb")]
)
def test_verdicts(
    file: Path, pool: Pool, tmp_path: Path, engine: str, dialect: str, rule: Rule
) -> None:
    rows = {
        str(i): row
        for i, row in enumerate(VERDICTS)
        if row.get("rule", "bird") == rule and (dialect == "sqlite" or "own" in row)
    }
    answers = [
        Answer(
            query_id=i,
            text=row["answer"],
            error=row.get("error"),
            gold_sql=row.get("gold", GOLD),
            database_id=row.get("database", "cities"),
            retrieved=row.get("retrieved"),
        )
        for i, row in rows.items()
    ]
    more: dict[str, Any] = {"engine": engine, "dialect": dialect, "rule": rule}
    for answer in judged_answers(pool, tmp_path, answers, {"cities": file}, **more):
        row = rows[answer.query_id]
        judged_here = row["own"] if dialect == "duckdb" else row["verdict"]
        verdict = judged_here if dialect == "duckdb" else row.get(engine, judged_here)
        assert answer.verdict == verdict, (row, answer.reason)
        if verdict != "not_runnable":
            scores = row.get("scores") or [judged_here == "correct"] * 2
            assert [answer.bird, answer.spider] == scores, row
        reason = row.get("duckdb_reason") if engine == "duckdb" else row.get("reason")
        assert (reason or "") in answer.reason


def test_a_statement_too_long_to_be_run(file: Path, pool: Pool, tmp_path: Path) -> None:
    text = json.dumps({"sql": GOLD + " --" + "x" * LONGEST})
    answer = Answer("long", text, GOLD, "cities")
    (judgement,) = judged_answers(pool, tmp_path, [answer], {"cities": file})
    assert judgement.verdict == "error"
    assert judgement.reason == "it has 100,043 characters; more than 100,000 are not run"


@pytest.mark.parametrize(
    ("error", "expected"),
    [(None, "ee32950fd5a900c16aabcd826106cde0"), ("late", "2fd78658647acde118d8210f68dc99a9")],
)
def test_fingerprints_are_those_of_stored_judgements(
    tmp_path: Path, error: str | None, expected: str
) -> None:
    """With another one, every stored judgement is made again."""
    (file := tmp_path / "d").write_bytes(b"tables")
    query, generation = Query("q", "", (), "SELECT 1", "d"), Generation("q", "SELECT 2", error)
    inputs = query, generation, Retrieval("q", (TableId("e", "t"),)), "d"
    assert hash_inputs(*inputs, {"d": file}, ["engine:sqlite"]) == expected


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


NAMES = "SELECT DISTINCT name FROM People"


def test_results_that_cannot_be_compared_cost_their_query(
    pool: Pool, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ended while it compared what SQLite and DuckDB gave."""
    stop_steps(monkeypatch, ["agree"])
    (answer,) = judged(pool, tmp_path, [Case("q", GOLD, file, GOLD, file)], engine="duckdb")
    assert (answer.verdict, answer.bird) == ("timeout", 0)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 99, b"SQLite format 3\0" + b"x" * 500])
def test_a_database_that_cannot_be_read(
    pool: Pool, people: Path, tmp_path: Path, engine: str, content: bytes
) -> None:
    """Its queries are not run, the others are; a prediction that asks it is wrong."""
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(content)
    cases = [
        Case("on it", NAMES, bad, NAMES, bad),
        Case("sound", NAMES, people, NAMES, people),
        Case("asks it", NAMES, people, NAMES, bad),
    ]
    first, second, third = judged(pool, tmp_path, cases, engine=engine)
    assert (first.verdict, first.left_out) == ("not_runnable", "unusable")
    assert str(bad) in first.reason
    assert second.verdict == "correct"
    assert third.verdict == "error"


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
SCORED = st.fixed_dictionaries(
    {
        "verdict": st.sampled_from(RUNNABLE),
        **dict.fromkeys(("bird", "spider", "soft_f1"), FRACTION),
        "time_ratio": st.floats(0, allow_infinity=False) | st.just(float("nan")),
    }
)
LEFT_OUT = st.fixed_dictionaries({"left_out": st.sampled_from(get_args(LeftOut))})


@st.composite
def answers(draw: st.DrawFn) -> JudgedAnswer:
    return JudgedAnswer(
        query_id=draw(TEXT),
        reason=draw(TEXT),
        sql=draw(st.none() | TEXT),
        gold_sql=draw(TEXT),
        rows=draw(st.none() | COUNT),
        gold_rows=draw(st.none() | COUNT),
        result=draw(RESULT),
        gold_result=draw(RESULT),
        outcome=draw(st.sampled_from([None, "executed", "timeout", "unusable"])),
        database=draw(st.none() | TEXT),
        engine=draw(st.sampled_from([None, "sqlite", "duckdb"])),
        notes=tuple(draw(st.lists(TEXT))),
        **draw(LEFT_OUT | SCORED),
    )


@given(answers(), st.text("0123456789abcdef", min_size=1))
def test_a_record_comes_back_exactly(answer: JudgedAnswer, fingerprint: str) -> None:
    judgement = Judgement(answer.query_id, fingerprint, answer.to_json())
    line = encode_line(JUDGEMENTS.to_json(judgement))
    assert line.count(b"\n") == 1
    back = JUDGEMENTS.from_json(json.loads(line))
    assert back == judgement
    assert repr(JudgedAnswer.from_json(back.query_id, back.record)) == repr(answer)  # NaN too
