"""Predicted SQL against gold SQL: both are run, and what they give is compared."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import tee
from pathlib import Path

from target_bench.metrics.sql import JudgedQuery, Rule, judge
from target_bench.schema import Cell, Executed
from target_bench.sql.gold import GoldResults
from target_bench.sql.normalising import for_test_suite
from target_bench.sql.pool import Pool, Statement
from target_bench.sql.speaking import Speaker

_CLOSE = 1e-9
"""How far two engines' floats may be apart, relative to the larger."""


@dataclass(frozen=True, slots=True)
class Case:
    """A prediction and what it is judged against.

    Attributes:
        query_id: the query.
        gold_sql: the gold, in the dialect of its database.
        gold_file: the database of the gold, or None if it is missing.
        sql: the prediction, or None if there is none.
        file: the database the prediction runs on, or None if there is none of the name it gave.
        problem: what is wrong, if there is no prediction or no database to run it on.
    """

    query_id: str
    gold_sql: str
    gold_file: Path | None
    sql: str | None
    file: Path | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, judged.

    Attributes:
        case: the case.
        query: the judgement under every rule.
        gold: what the gold gave, or None if it was not run; without the rows, which for many
            cases would fill the memory.
        predicted: what the prediction gave, or None if there was none; without the rows too.
        gold_rows: how many rows the gold gave, or None if it was not run.
        predicted_rows: how many rows the prediction gave, or None if there was none.
        reason: what went wrong, in words; empty if nothing did, or if the result is wrong.
    """

    case: Case
    query: JudgedQuery
    gold: Executed | None
    predicted: Executed | None
    gold_rows: int | None
    predicted_rows: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class _Runs:
    """What is to be run for a case; None for what is not.

    Attributes:
        case: the case.
        golds: the gold, the gold as Spider's rule has it, and the gold in SQLite where another
            engine judges.
        predictions: the prediction, and the prediction as Spider's rule has it.
        untold: why the gold cannot be run.
        refused: what the prediction gave without being run.
    """

    case: Case
    golds: tuple[Statement | None, ...] = (None, None, None)
    predictions: tuple[Statement | None, ...] = (None, None)
    untold: str = ""
    refused: Executed | None = None


class Judge:
    """Runs and compares.

    Args:
        pool: runs predictions.
        golds: runs gold statements, or knows what they gave.
        speaker: says a statement in the dialect of the engine that judges.
        rule: which rule the verdicts follow.
        repeats: how often gold and prediction are run, for measures of efficiency; 1 for none.
    """

    def __init__(
        self, pool: Pool, golds: GoldResults, speaker: Speaker, rule: Rule, repeats: int = 1
    ) -> None:
        self._pool = pool
        self._golds = golds
        self._speaker = speaker
        self._rule: Rule = rule
        self._repeats = repeats

    def judged(self, cases: Iterable[Case]) -> Iterator[Judged]:
        """The cases in their order.

        Raises:
            DataError: a database is damaged, or being written by another program.
            StoreError: the result of a gold statement cannot be recorded.
        """
        compared, for_gold, for_predicted = tee(map(self._runs, cases), 3)
        golds = self._golds.run(s for runs in for_gold for s in runs.golds if s)
        predictions = self._pool.run(s for runs in for_predicted for s in runs.predictions if s)
        for runs in compared:
            gold = [next(golds) if statement else None for statement in runs.golds]
            predicted = [next(predictions) if statement else None for statement in runs.predictions]
            yield self._compared(runs, gold, predicted)

    def _runs(self, case: Case) -> _Runs:
        if case.gold_file is None:
            return _Runs(case, untold="the database of the query is missing")
        try:
            gold = self._speaker.statement(case.gold_file, case.gold_sql, self._repeats)
        except ValueError as error:
            return _Runs(case, untold=f"the gold cannot be said in this engine: {error}")
        also = self._speaker.in_sqlite(case.gold_file, case.gold_sql)
        if case.sql is None:
            return _Runs(case, (gold, None, also))
        if case.file is None:
            return _Runs(case, (gold, None, also), refused=Executed("error", message=case.problem))
        rewritten = for_test_suite(case.gold_sql), for_test_suite(case.sql)
        try:
            predicted = self._speaker.statement(case.file, case.sql, self._repeats)
            if rewritten == (case.gold_sql, case.sql):
                return _Runs(case, (gold, None, also), (predicted, None))
            theirs = self._speaker.statement(case.gold_file, rewritten[0])
            ours = self._speaker.statement(case.file, rewritten[1])
        except ValueError as error:
            refused = Executed("syntax_error", message=str(error))
            return _Runs(case, (gold, None, also), refused=refused)
        return _Runs(case, (gold, theirs, also), (predicted, ours))

    def _compared(
        self, runs: _Runs, golds: Sequence[Executed | None], predictions: Sequence[Executed | None]
    ) -> Judged:
        case = runs.case
        gold, gold_rewritten, in_sqlite = golds
        predicted, rewritten = predictions
        predicted = predicted or runs.refused
        untold = runs.untold
        if gold is not None and in_sqlite is not None and not agree(gold, in_sqlite):
            untold = "the gold gives another result in this engine than in SQLite"
        if untold:
            return _judged(case, JudgedQuery("not_runnable"), gold, None, untold)
        both = (gold_rewritten, rewritten) if gold_rewritten and rewritten else None
        query = judge(gold, predicted, case.gold_sql, both, self._rule)
        return _judged(case, query, gold, predicted, _reason(case, query, gold, predicted))


def _judged(
    case: Case, query: JudgedQuery, gold: Executed | None, predicted: Executed | None, reason: str
) -> Judged:
    return Judged(
        case,
        query,
        gold and replace(gold, rows=()),
        predicted and replace(predicted, rows=()),
        None if gold is None else len(gold.rows),
        None if predicted is None else len(predicted.rows),
        reason,
    )


def _reason(
    case: Case, query: JudgedQuery, gold: Executed | None, predicted: Executed | None
) -> str:
    if query.verdict == "gold_failed" and gold is not None:
        return f"gold: {gold.outcome}: {gold.message}"
    if query.verdict == "no_prediction":
        return case.problem
    return predicted.message if predicted is not None else ""


def agree(one: Executed, other: Executed) -> bool:
    """Whether two engines gave the same set of rows, floats up to rounding."""
    if one.outcome != "executed" or other.outcome != "executed":
        return False
    rows = [sorted(set(result.rows), key=_order) for result in (one, other)]
    if len(rows[0]) != len(rows[1]):
        return False
    return all(map(_same_row, *rows))


def _order(row: tuple[Cell, ...]) -> list[tuple[str, object]]:
    """A key by which rows that are the same up to rounding stand at the same place."""
    return [
        ("number", float(f"{cell:.6g}")) if isinstance(cell, int | float) else _typed(cell)
        for cell in row
    ]


def _typed(cell: Cell) -> tuple[str, object]:
    return (type(cell).__name__, cell if cell is not None else 0)


def _same_row(one: tuple[Cell, ...], other: tuple[Cell, ...]) -> bool:
    return len(one) == len(other) and all(map(_same_cell, one, other))


def _same_cell(one: Cell, other: Cell) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_CLOSE) or (one != one and other != other)
    return one == other
