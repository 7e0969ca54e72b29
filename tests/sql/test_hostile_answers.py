"""Hostile answers: reading, running, comparing and linking ends, and costs one query alone."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import pytest

from target_bench.core.errors import BudgetError
from target_bench.core.schema import Executed
from target_bench.metrics.sql import JudgedQuery, Rule
from target_bench.sql.dialect.engine_choice import dialect_of
from target_bench.sql.engines.databases import Limits
from target_bench.sql.execution import Judge
from target_bench.sql.extraction import extract
from target_bench.sql.judged_answer import Case, Judged
from target_bench.sql.linking import usage
from target_bench.sql.statement_results import GoldResults, Trials
from target_bench.sql.workers.pool import Pool, Statement
from target_bench.sql.workers.process import CHARACTERS, COLUMNS, WorkerProcess
from tests.sql.hostile import ANSWERS, COLLIDING, JOINS
from tests.sql.judged import in_order

pytestmark = pytest.mark.slow

SCRIPT = """
CREATE TABLE hut (id INTEGER PRIMARY KEY, name TEXT, h INTEGER);
INSERT INTO hut VALUES (1, 'a', 2), (2, 'b', 3), (3, 'b', 4), (4, 'd', 9), (5, 'e', 9);
"""
GOLD = "SELECT name FROM hut"
SECONDS = 1.0
LATE = 60.0  # for some steps of SECONDS at most, on a machine with much else to do


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "huts.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCRIPT)
    return path


@pytest.fixture(scope="module")
def short() -> Iterator[Pool]:
    with Pool(1, Limits(seconds=SECONDS, memory=256 << 20, result_bytes=64 << 20)) as pool:
        yield pool


@pytest.fixture(scope="module")
def long() -> Iterator[Pool]:
    with Pool(1, Limits(seconds=20)) as pool:
        yield pool


def _judged(pool: Pool, folder: Path, *cases: Case, engine: str = "sqlite") -> list[Judged]:
    dialect = dialect_of(engine, lambda _: None)  # type: ignore[arg-type]  # one of two words
    judge = Judge(pool, GoldResults(pool, folder / "gold"), dialect, "bird")
    return in_order(pool, judge, cases)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_costs_its_query_alone(
    short: Pool, file: Path, tmp_path: Path, name: str
) -> None:
    start = monotonic()
    read = short.read("extracted", ANSWERS[name], what="reading the answer")
    bad = Case("bad", GOLD, file, None, None, "no SQL", stopped=read)
    if not isinstance(read, Executed):
        bad = Case("bad", GOLD, file, read[0], file, "no SQL")
    first, second = _judged(short, tmp_path, bad, Case("good", GOLD, file, GOLD, file))
    assert monotonic() - start < LATE
    assert first.query.verdict not in ("correct", "not_runnable")
    assert first.query.bird == 0
    assert second.query.verdict == "correct"


@pytest.mark.parametrize("name", ["joins", "tables", "cases", "list", "nots", "padding"])
def test_in_duckdb_too(short: Pool, file: Path, tmp_path: Path, name: str) -> None:
    """Translating is stopped as running is."""
    start = monotonic()
    cases = Case("bad", GOLD, file, ANSWERS[name], file), Case("good", GOLD, file, GOLD, file)
    first, second = _judged(short, tmp_path, *cases, engine="duckdb")
    assert monotonic() - start < LATE
    assert first.query.bird == 0
    assert second.query.verdict == "correct"


def test_reading_that_was_stopped_is_a_timeout(short: Pool, file: Path, tmp_path: Path) -> None:
    read = short.read("extracted", JOINS, what="reading the answer")
    assert isinstance(read, Executed)
    (judged,) = _judged(short, tmp_path, Case("q", GOLD, file, None, None, stopped=read))
    assert (judged.query.verdict, judged.left_out) == ("timeout", None)
    assert judged.reason == "reading the answer was stopped after 1 s"


@pytest.mark.parametrize("name", COLLIDING)
def test_rows_whose_hashes_collide_are_compared(
    long: Pool, file: Path, tmp_path: Path, name: str
) -> None:
    sql = COLLIDING[name]
    case = Case("q", sql, file, f"{sql} ORDER BY 0 - i", file)
    (judged,) = _judged(long, tmp_path, case)
    assert judged.query.verdict == "correct", judged.reason
    assert (judged.query.multiset, judged.query.spider) == (1, 1)
    assert judged.predicted is not None
    assert len(judged.predicted.rows) <= 20, "the others stay in the worker"


def _named(length: int, columns: int) -> str:
    """A short statement that multiplies a long name."""
    inner = ", ".join(f"c a{k}" for k in range(40))
    outer = ", ".join(f"d b{k}" for k in range(columns // 40))
    name = "x" * length
    return f'WITH c AS (SELECT 1 AS "{name}"), d AS (SELECT * FROM {inner}) SELECT * FROM {outer}'


def test_long_names_of_columns_stay_in_the_worker(long: Pool, file: Path, tmp_path: Path) -> None:
    """A statement of 20 kB gives 35 MB of names, which the caller would hold for every query."""
    cases = [Case(str(i), GOLD, file, _named(18_000 + i, 1_960), file) for i in range(2)]
    for judged in _judged(long, tmp_path, *cases):
        assert judged.predicted is not None
        assert judged.predicted.outcome == "executed"
        assert {len(name) for name in judged.predicted.columns} == {CHARACTERS + 1}
        assert len(judged.predicted.columns) == COLUMNS
        assert judged.predicted_shape == (1, 1_960)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_names_of_columns_count_as_the_bytes_of_a_result(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "names"
    if engine == "duckdb":
        pytest.importorskip("duckdb").connect(str(path)).close()
    else:
        path.touch()
    with Pool(1, Limits(result_bytes=1 << 20)) as pool:
        assert pool.execute(Statement(path, _named(1_000, 80), engine=engine)).outcome == "executed"  # type: ignore[arg-type]  # one of two words
        found = pool.execute(Statement(path, _named(18_000, 80), engine=engine))  # type: ignore[arg-type]  # the same
    assert (found.outcome, found.columns) == ("memory", ())
    assert found.message == "a result of more than 1,048,576 bytes"


def test_a_statement_that_met_a_limit_is_not_run_for_every_query(
    short: Pool, file: Path, tmp_path: Path
) -> None:
    """A hundred runs would take 100 times 1 to 3 seconds."""
    start = monotonic()
    cases = [Case(str(i), f"{GOLD} LIMIT {i}", file, JOINS, file) for i in range(1, 101)]
    found = _judged(short, tmp_path, *cases)
    assert {judged.query.verdict for judged in found} == {"timeout"}
    assert monotonic() - start < LATE


@pytest.mark.parametrize(("rule", "result"), [("bird", "correct"), ("spider", "timeout")])
@pytest.mark.parametrize("gold", [GOLD, "SELECT DISTINCT name FROM hut"])
def test_a_comparison_that_is_stopped_costs_its_own_value_alone(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    gold: str,
    rule: Rule,
    result: str,
) -> None:
    """Also where Spider's rule runs another text; and it is not begun for a second query."""
    begun: list[tuple[str, ...]] = []
    stop = Executed("timeout", message="the comparison was stopped after 2 s")

    def compare(self: WorkerProcess, names: tuple[str, ...], *rest: Any) -> Any:
        begun.append(names)
        return stop if names == ("spider",) else real(self, names, *rest)

    real = WorkerProcess.compare
    monkeypatch.setattr(WorkerProcess, "compare", compare)
    with Pool(1) as pool:
        dialect = dialect_of("sqlite", lambda _: None)
        judge = Judge(pool, GoldResults(pool, tmp_path / "gold"), dialect, rule)
        cases = [Case(name, gold, file, gold, file) for name in "ab"]
        found = in_order(pool, judge, cases)
    for judged in found:
        query = judged.query
        assert (query.bird, query.multiset, query.soft_f1, query.spider) == (1, 1, 1, 0)
        assert query.verdict == result
        assert judged.reason == ("ex[spider] 0: " if rule == "bird" else "") + stop.message
        assert judged.predicted is not None
        assert judged.predicted.rows
    assert begun == [(names := ("bird", "multiset", "soft_f1")), ("spider",), names]


def test_comparisons_after_a_stopped_one_are_not_begun(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process is gone."""
    stop = Executed("timeout", message="the comparison was stopped after 2 s")
    monkeypatch.setattr(WorkerProcess, "compare", lambda self, *_: (self.kill(), stop)[1])
    with Pool(1) as pool:
        (judged,) = _judged(pool, tmp_path, Case("a", GOLD, file, GOLD, file))
    assert judged.query == JudgedQuery("timeout")
    assert judged.reason == stop.message


def test_a_prediction_over_which_linking_is_stopped_uses_nothing(short: Pool, file: Path) -> None:
    links = Trials(short).linked(GOLD, JOINS, file)
    assert links is not None
    assert (links.tables.shared, links.tables.predicted, links.tables.gold) == (0, 0, 1)


def test_nothing_is_begun_when_the_budget_is_spent(file: Path, tmp_path: Path) -> None:
    with Pool(1, Limits(seconds=SECONDS), budget=0.0) as pool, pytest.raises(BudgetError):
        _judged(pool, tmp_path, Case("q", GOLD, file, GOLD, file))


def _seconds(work: Callable[[str], object], text: str) -> float:
    start = process_time()
    work(text)
    return process_time() - start


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
}


@pytest.mark.parametrize("name", LENGTHENED)
def test_reading_takes_time_in_proportion_to_the_text(name: str) -> None:
    """Ten times the text in 25 times the time, if it takes long enough to be measured."""
    made = LENGTHENED[name]
    extract(made(10))
    least = min(_seconds(extract, made(1_500)) for _ in range(3))
    most = min(_seconds(extract, made(15_000)) for _ in range(2))
    assert most < 25 * least + 0.5


@pytest.mark.parametrize("name", ["froms", "tables", "columns", "hints", "one hint"])
def test_linking_takes_time_in_proportion_to_the_text(name: str) -> None:
    schema = {"a": {f"c{i}": "" for i in range(50)}, "hut": {"a": ""}}
    usage("SELECT a FROM hut", schema)
    least = min(_seconds(lambda t: usage(t, schema), LENGTHENED[name](300)) for _ in range(3))
    most = min(_seconds(lambda t: usage(t, schema), LENGTHENED[name](3_000)) for _ in range(2))
    assert most < 25 * least + 0.5
