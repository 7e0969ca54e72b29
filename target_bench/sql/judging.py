"""Predicted SQL against gold SQL: both are run, and what they give is compared."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import tee
from pathlib import Path
from typing import Literal

from target_bench.errors import DataError
from target_bench.metrics.sql import JudgedQuery, Rule, judge
from target_bench.schema import Executed
from target_bench.sql.agreement import agree
from target_bench.sql.beginnings import beginning
from target_bench.sql.gold import GoldResults
from target_bench.sql.normalising import for_test_suite
from target_bench.sql.pool import Pool, Statement
from target_bench.sql.speaking import Speaker

LeftOut = Literal["missing", "unusable", "engines"]
"""Why a query is not runnable: its database is missing, or cannot be read, or the engine that
judges cannot say the gold or has another result of it than SQLite."""


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
        gold: what the gold gave, or None if it was not run; with the beginning of its rows alone
            (``beginning``), because all of them would for many cases fill the memory.
        predicted: what the prediction gave, or None if there was none; its beginning too.
        gold_rows: how many rows the gold gave, or None if it was not run.
        predicted_rows: how many rows the prediction gave, or None if there was none.
        reason: what went wrong, in words; empty if nothing did, or if the result is wrong.
        left_out: why the query is not runnable; None if it is.
    """

    case: Case
    query: JudgedQuery
    gold: Executed | None
    predicted: Executed | None
    gold_rows: int | None
    predicted_rows: int | None
    reason: str
    left_out: LeftOut | None = None


@dataclass(frozen=True, slots=True)
class _Untold:
    """Why nobody can say whether a prediction is right: in a word, and in many."""

    kind: LeftOut
    reason: str


@dataclass(frozen=True, slots=True)
class _Runs:
    """What is to be run for a case; None for what is not.

    Attributes:
        case: the case.
        golds: the gold, the gold as Spider's rule has it, and the gold in SQLite where another
            engine judges.
        predictions: the prediction, and the prediction as Spider's rule has it.
        untold: why the gold cannot be run, or None.
        refused: what the prediction gave without being run.
        refused_by_spider: why Spider's rule alone has no result; None if it has.
    """

    case: Case
    golds: tuple[Statement | None, ...] = (None, None, None)
    predictions: tuple[Statement | None, ...] = (None, None)
    untold: _Untold | None = None
    refused: Executed | None = None
    refused_by_spider: Executed | None = None


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

        A case whose database is missing or cannot be read is not runnable.

        Raises:
            StoreError: the result of a gold statement cannot be recorded.
        """
        compared, for_gold, for_predicted = tee(map(self._runs, cases), 3)
        golds = self._golds.run(s for runs in for_gold for s in runs.golds if s)
        statements = (s for runs in for_predicted for s in runs.predictions if s)
        predictions = self._pool.run(statements, keep_going=True)
        for runs in compared:
            gold = [next(golds) if statement else None for statement in runs.golds]
            predicted = [next(predictions) if statement else None for statement in runs.predictions]
            yield self._compared(runs, gold, predicted)

    def _runs(self, case: Case) -> _Runs:
        if case.gold_file is None:
            return _Runs(case, untold=_Untold("missing", "the database of the query is missing"))
        try:
            gold = self._speaker.statement(case.gold_file, case.gold_sql, self._repeats)
            also = self._speaker.in_sqlite(case.gold_file, case.gold_sql)
        except ValueError as error:
            reason = f"the gold has no translation: {error}"
            return _Runs(case, untold=_Untold("engines", reason))
        except DataError as error:
            return _Runs(case, untold=_Untold("unusable", str(error)))
        golds = (gold, None, also)
        if case.sql is None:
            return _Runs(case, golds)
        if case.file is None:
            return _Runs(case, golds, refused=Executed("error", message=case.problem))
        try:
            predicted = self._speaker.statement(case.file, case.sql, self._repeats)
        except ValueError as error:
            return _Runs(case, golds, refused=_untranslated(error))
        except DataError as error:
            return _Runs(case, golds, refused=Executed("unusable", message=str(error)))
        return self._as_in_spider(_Runs(case, golds, (predicted, None)))

    def _as_in_spider(self, runs: _Runs) -> _Runs:
        """The same with the statements that Spider's rule runs, where it runs others."""
        case = runs.case
        assert case.gold_file is not None
        assert case.file is not None
        assert case.sql is not None
        rewritten = for_test_suite(case.gold_sql), for_test_suite(case.sql)
        if rewritten == (case.gold_sql, case.sql):
            return runs
        try:
            theirs = self._speaker.statement(case.gold_file, rewritten[0])
            ours = self._speaker.statement(case.file, rewritten[1])
        except ValueError as error:
            return replace(runs, refused_by_spider=_untranslated(error))
        golds, predictions = runs.golds, runs.predictions
        return replace(runs, golds=(golds[0], theirs, golds[2]), predictions=(predictions[0], ours))

    def _compared(
        self, runs: _Runs, golds: Sequence[Executed | None], predictions: Sequence[Executed | None]
    ) -> Judged:
        case = runs.case
        gold, gold_rewritten, in_sqlite = golds
        predicted, rewritten = predictions
        predicted = predicted or runs.refused
        untold = runs.untold or _untold(gold, in_sqlite, case, predicted)
        if untold:
            query = JudgedQuery("not_runnable")
            return replace(_judged(case, query, gold, None, untold.reason), left_out=untold.kind)
        both = (gold_rewritten, rewritten) if gold_rewritten and rewritten else None
        if runs.refused_by_spider and gold:
            both = gold, runs.refused_by_spider
        query = judge(gold, predicted, case.gold_sql, both, self._rule)
        return _judged(case, query, gold, predicted, _reason(case, query, gold, predicted))


def _untranslated(error: ValueError) -> Executed:
    return Executed("error", message=f"it has no translation: {error}")


def _untold(
    gold: Executed | None, in_sqlite: Executed | None, case: Case, predicted: Executed | None
) -> _Untold | None:
    """Why what the gold gave says nothing of the prediction."""
    own = predicted if case.file == case.gold_file else None
    for result in (gold, in_sqlite, own):
        if result is not None and result.outcome == "unusable":
            return _Untold("unusable", result.message)
    if gold is None or in_sqlite is None or agree(gold, in_sqlite):
        return None
    if in_sqlite.outcome != "executed":
        if gold.outcome != "executed":
            return None  # it fails in both, which SQLite counts as 0
        reason = f"the gold fails in SQLite alone: {in_sqlite.outcome}: {in_sqlite.message}"
    elif gold.outcome != "executed":
        reason = f"the gold fails in this engine alone: {gold.outcome}: {gold.message}"
    else:
        reason = "the gold gives another result in this engine than in SQLite"
    return _Untold("engines", reason)


def _judged(
    case: Case, query: JudgedQuery, gold: Executed | None, predicted: Executed | None, reason: str
) -> Judged:
    return Judged(
        case,
        query,
        gold and beginning(gold),
        predicted and beginning(predicted),
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
