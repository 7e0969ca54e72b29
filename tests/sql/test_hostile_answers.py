"""Hostile answers: reading, running and comparing ends, and costs one query alone."""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, process_time

import pytest

from target_bench.core.errors import BudgetError
from target_bench.sql.engines import SQLLimits
from target_bench.sql.extraction import extract
from target_bench.sql.normalisation import rewrite_for_test_suite
from target_bench.sql.worker import CHARACTERS, COLUMNS
from target_bench.sql.workers import Pool
from tests.sql.hostile import ANSWERS, COLLIDING, JOINS
from tests.sql.judging import STOP, Answer, Case, execute, judged, judged_answers, stop_steps
from tests.sql.written import duckdb_file, sqlite_file

pytestmark = pytest.mark.slow

SCRIPT = """
CREATE TABLE hut (id INTEGER PRIMARY KEY, name TEXT, h INTEGER);
INSERT INTO hut VALUES (1, 'a', 2), (2, 'b', 3), (3, 'b', 4), (4, 'd', 9), (5, 'e', 9);
"""
GOLD = "SELECT name FROM hut"
SECONDS = 0.5
LATE = 60.0  # for some steps of SECONDS at most, on a machine with much else to do


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return sqlite_file(tmp_path / "huts.sqlite", SCRIPT)


@pytest.fixture(scope="module")
def short() -> Iterator[Pool]:
    with Pool(1, SQLLimits(seconds=SECONDS, memory=256 << 20, result_bytes=64 << 20)) as pool:
        yield pool


@pytest.fixture(scope="module")
def long() -> Iterator[Pool]:
    with Pool(1, SQLLimits(seconds=20)) as pool:
        yield pool


IN_DUCKDB = ("joins", "tables", "cases", "list", "nots", "padding")


@pytest.mark.parametrize(
    ("engine", "name"),
    [*(("sqlite", name) for name in ANSWERS), *(("duckdb", name) for name in IN_DUCKDB)],
)
def test_an_answer_costs_its_query_alone(
    short: Pool, file: Path, tmp_path: Path, engine: str, name: str
) -> None:
    """Reading, translating and running are stopped."""
    start = monotonic()
    answers = [Answer(i, t, GOLD, "d") for i, t in (("a", ANSWERS[name]), ("b", GOLD))]
    first, second = judged_answers(short, tmp_path, answers, {"d": file}, engine=engine)
    assert monotonic() - start < LATE
    assert first.verdict not in ("correct", "not_runnable")
    assert first.bird == 0
    assert second.verdict == "correct"


def test_reading_that_was_stopped_is_a_timeout(short: Pool, file: Path, tmp_path: Path) -> None:
    """And no answer of the same text is read again."""
    start = monotonic()
    answers = [Answer(str(i), JOINS, GOLD, "d") for i in range(100)]
    for judgement in judged_answers(short, tmp_path, answers, {"d": file}):
        assert (judgement.verdict, judgement.left_out) == ("timeout", None)
        assert judgement.reason == "reading the answer was stopped after 0.5 s"
    assert monotonic() - start < LATE


@pytest.mark.parametrize("name", COLLIDING)
def test_rows_whose_hashes_collide_are_compared(
    long: Pool, file: Path, tmp_path: Path, name: str
) -> None:
    sql = COLLIDING[name]
    case = Case("q", sql, file, f"{sql} ORDER BY 0 - i", file)
    (judgement,) = judged(long, tmp_path, [case])
    assert judgement.verdict == "correct", judgement.reason
    assert (judgement.bird, judgement.spider) == (1, 1)
    assert judgement.result is not None
    assert len(judgement.result["rows"]) <= 20, "the others stay in the worker"


def _named(length: int, columns: int) -> str:
    """A short statement that multiplies a long name."""
    inner = ", ".join(f"c a{k}" for k in range(40))
    outer = ", ".join(f"d b{k}" for k in range(columns // 40))
    name = "x" * length
    return f'WITH c AS (SELECT 1 AS "{name}"), d AS (SELECT * FROM {inner}) SELECT * FROM {outer}'


def test_long_names_of_columns_stay_in_the_worker(long: Pool, file: Path, tmp_path: Path) -> None:
    """A statement of 20 kB gives 35 MB of names, which the caller would hold for every query."""
    cases = [Case(str(i), GOLD, file, _named(18_000 + i, 1_960), file) for i in range(2)]
    for judgement in judged(long, tmp_path, cases):
        assert judgement.outcome == "executed"
        assert judgement.result is not None
        assert {len(name) for name in judgement.result["columns"]} == {CHARACTERS + 1}
        assert len(judgement.result["columns"]) == COLUMNS
        assert (judgement.rows, judgement.result["n_columns"]) == (1, 1_960)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_names_of_columns_count_as_the_bytes_of_a_result(tmp_path: Path, engine: str) -> None:
    write = duckdb_file if engine == "duckdb" else sqlite_file
    write(path := tmp_path / "names")
    with Pool(1, SQLLimits(result_bytes=1 << 20)) as pool:
        assert execute(pool, path, _named(1_000, 80)).outcome == "executed"
        result = execute(pool, path, _named(18_000, 80))
    assert (result.outcome, result.columns) == ("memory", ())
    assert result.message == "a result of more than 1,048,576 bytes"


def test_a_statement_that_met_a_limit_is_not_run_for_every_query(
    short: Pool, file: Path, tmp_path: Path
) -> None:
    """A hundred runs would take 100 times 1 to 3 seconds."""
    start = monotonic()
    cases = [Case(str(i), f"{GOLD} LIMIT {i}", file, JOINS, file) for i in range(1, 101)]
    judgements = judged(short, tmp_path, cases)
    assert {answer.verdict for answer in judgements} == {"timeout"}
    assert monotonic() - start < LATE


@pytest.mark.parametrize("gold", [GOLD, "SELECT DISTINCT name FROM hut"])
def test_a_comparison_that_is_stopped_costs_its_query(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gold: str
) -> None:
    """Also where Spider's rule runs another text; and it is not begun for a second query."""
    begun = stop_steps(monkeypatch, ["compare"])
    cases = [Case(name, gold, file, gold, file) for name in "ab"]
    with Pool(1) as pool:
        for judgement in judged(pool, tmp_path, cases):
            assert (judgement.verdict, judgement.reason) == ("timeout", STOP)
            assert judgement.bird == judgement.spider == judgement.soft_f1 == 0
    assert [step for step in begun if step.startswith("compare")] == ["compare"]


def test_a_comparison_that_is_stopped_with_one_gold_is_begun_with_another(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = stop_steps(monkeypatch, ["compare"])
    golds = (GOLD, f"{GOLD} LIMIT 1000")
    with Pool(1) as pool:
        judged(pool, tmp_path, [Case(gold, gold, file, GOLD, file) for gold in golds])
    assert [step for step in begun if step.startswith("compare")] == ["compare"] * 2


def test_a_text_that_only_spiders_rule_would_have_run_is_run(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the statement itself was stopped, the same without DISTINCT may be right elsewhere."""
    once = "SELECT DISTINCT name FROM hut"
    cases = [Case(sql, GOLD, file, sql, file) for sql in (once, rewrite_for_test_suite(once))]
    with Pool(1) as pool:
        judged(pool, tmp_path, [Case("gold", GOLD, file, GOLD, file)])  # its result is recorded
        begun = stop_steps(monkeypatch, ["run"])
        judged(pool, tmp_path, [*cases, *cases])
    assert begun.count("run") == 2, "each text once, however often it is an answer"


def test_nothing_is_begun_when_the_budget_is_spent(file: Path, tmp_path: Path) -> None:
    with Pool(1, SQLLimits(seconds=SECONDS), budget=0.0) as pool, pytest.raises(BudgetError):
        judged(pool, tmp_path, [Case("q", GOLD, file, GOLD, file)])


LENGTHENED: dict[str, Callable[[int], str]] = {
    "froms": lambda n: "FROM " + "a, " * n,
    "tables": lambda n: "SELECT 1 FROM " + "a, " * n + "a",
    "columns": lambda n: "SELECT " + "a, " * n + "a FROM hut",
    "hints": lambda n: "SELECT " + "/*+ a(b) */ " * (n // 4) + "1 FROM hut",
    "one hint": lambda n: "SELECT /*+ " + "a " * n + "*/ 1 FROM hut",
    "prose": lambda n: "select " * (n // 2),
    "open comments": lambda n: "SELECT 1 FROM hut " + "/*" * n,
    "open brackets": lambda n: "SELECT 1 FROM hut " + "[" * n,
    "open texts": lambda n: '{"' + '\\"' * n,
    "fields": lambda n: '"sql": "' * n,
    "blanks in an object": lambda n: '{"sql": "x"' + " " * n + "y",
    "blanks in a fence": lambda n: "```" + " " * n + "x",
    "blanks after a comment": lambda n: "```sql\n-- a\n" + " " * n + "selct a frm hut",
    "blanks in a line": lambda n: "SELECT a b c d\n" + " " * n + "x" * n,
    "blank lines": lambda n: "SELECT a b c d" + "\n" * n,
    "objects": lambda n: '{"a": ' * n,
    "braces": lambda n: "{" * (5 * n),
    "labels": lambda n: ": a\n" * n + "SELECT select",
    "statements": lambda n: "a; " * n + "SELECT 1 FROM t",
    "comments": lambda n: "SELECT 1 FROM t;" + " /* x */" * n + "; drop",
    "sentences": lambda n: "SELECT (\n" + "It is. " * n + "x",
    "lines of prose": lambda n: "SELECT a FORM t" + "\nIt is so" * n,
    "boxes": lambda n: "\\boxed{" * 50 + "{}" * (3 * n),
    "brackets in a fence": lambda n: "```sql\n" + "( -- x\n" * (n // 8) + "x SELECT 1 FROM t\n```",
}


def _in_proportion(work: Callable[[str], object], text: Callable[[int], str], n: int) -> bool:
    """Ten times the text in 25 times the time, if it takes long enough to be measured."""

    def seconds(length: int) -> float:
        start = process_time()
        work(text(length))
        return process_time() - start

    seconds(10)
    least = min(seconds(n) for _ in range(3))
    return min(seconds(10 * n) for _ in range(2)) < 25 * least + 0.5


@pytest.mark.parametrize("name", LENGTHENED)
def test_reading_takes_time_in_proportion_to_the_text(name: str) -> None:
    assert _in_proportion(extract, LENGTHENED[name], 1_500)
