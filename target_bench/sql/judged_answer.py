"""Judged answers in SQL: as values, as lines of ``judgements.jsonl``, and as the report of a run.

A record is all that metrics, reports and slices read of a judged answer, so scores are computed
from records without running anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

from target_bench.core.schema import Cell, Executed, SQLOutcome
from target_bench.metrics.sql import JudgedQuery, Verdict
from target_bench.sql.engines.databases import EngineName
from target_bench.sql.workers.process import CHARACTERS, COLUMNS, ROWS, Shape

LeftOut = Literal["missing", "unusable", "engines"]
"""Why a query is not runnable: its database is missing, or cannot be read, or the engine that
judges cannot translate the gold or has another result of it than SQLite."""

_VALUES = {
    "ex[bird]": "bird",
    "ex[spider]": "spider",
    "ex[multiset]": "multiset",
    "soft_f1": "soft_f1",
}
"""Name of a value in a record -> field of ``JudgedQuery``."""


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
        stopped: the limit that was met while the answer was read, or None.
        database: the id of the database the prediction runs on, or None.
    """

    query_id: str
    gold_sql: str
    gold_file: Path | None
    sql: str | None
    file: Path | None
    problem: str = ""
    stopped: Executed | None = None
    database: str | None = None


class Overlap(NamedTuple):
    """Counts of the names that two queries use.

    Attributes:
        shared: those that both use.
        predicted: those that the prediction uses; unknown ones count.
        gold: those that the gold query uses.
    """

    shared: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of the predicted ones that gold uses; without any: 1 if gold uses none, else 0."""
        return self.shared / self.predicted if self.predicted else float(self.gold == 0)

    @property
    def recall(self) -> float:
        """Share of gold's that the prediction uses; 1 where gold uses none."""
        return self.shared / self.gold if self.gold else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def total(overlaps: Iterable[Overlap]) -> Overlap:
    """Sum the overlaps of many queries: precision, recall and F1 become micro averages."""
    found = list(overlaps)
    return Overlap(
        sum(overlap.shared for overlap in found),
        sum(overlap.predicted for overlap in found),
        sum(overlap.gold for overlap in found),
    )


@dataclass(frozen=True, slots=True)
class Links:
    """Schema linking of a prediction.

    Attributes:
        tables: that it and the gold use.
        columns: that it and the gold use.
    """

    tables: Overlap
    columns: Overlap


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, judged.

    Attributes:
        case: the case.
        query: the judgement under every rule.
        gold: what the gold gave, or None if it was not run; with the beginning of it alone
            (``beginning``), because all of it would for many cases fill the memory.
        predicted: what the prediction gave, or None if there was none; its beginning too.
        gold_shape: how many rows and columns the gold gave, or None if it was not run.
        predicted_shape: how many the prediction gave, or None if there was none.
        reason: what went wrong, in words; empty if nothing did, or if the result is wrong.
        left_out: why the query is not runnable; None if it is.
        links: which tables and columns prediction and gold use; None without a prediction, or on
            a database whose schema is not known.
        notes: what a user should know of the databases as they were run.
    """

    case: Case
    query: JudgedQuery
    gold: Executed | None
    predicted: Executed | None
    gold_shape: Shape | None
    predicted_shape: Shape | None
    reason: str
    left_out: LeftOut | None = None
    links: Links | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer, judged.

    Attributes:
        query_id: the query.
        query: the judgement under every rule.
        reason: what went wrong, in words; empty if nothing did, or if the result is wrong.
        sql: the statement that was read in the answer; None where there is none.
        gold_sql: the gold.
        rows: how many rows the prediction gave, or None if it was not run.
        gold_rows: how many rows the gold gave, or None if it was not run.
        result: the beginning of the prediction's result (``readable``), or None.
        gold_result: the same of the gold.
        outcome: what running the prediction gave, or None if it was not run.
        left_out: why the query is not runnable; None if it is.
        links: which tables and columns prediction and gold use, or None where that is not known.
        database: the id of the database the prediction ran on, or None.
        engine: what ran the gold, or None if its database is missing or of no known kind.
        notes: what a user should know of the databases as they were run.
    """

    query_id: str
    query: JudgedQuery
    reason: str
    sql: str | None
    gold_sql: str
    rows: int | None = None
    gold_rows: int | None = None
    result: Mapping[str, Any] | None = None
    gold_result: Mapping[str, Any] | None = None
    outcome: SQLOutcome | None = None
    left_out: LeftOut | None = None
    links: Links | None = None
    database: str | None = None
    engine: EngineName | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, judged: Judged, engine: EngineName | None) -> Self:
        """Return a judged case; ``engine`` is what ran its gold."""
        shape, gold_shape = judged.predicted_shape, judged.gold_shape
        return cls(
            query_id=judged.case.query_id,
            query=judged.query,
            reason=judged.reason,
            sql=judged.case.sql,
            gold_sql=judged.case.gold_sql,
            rows=shape and shape.rows,
            gold_rows=gold_shape and gold_shape.rows,
            result=readable(judged.predicted, shape),
            gold_result=readable(judged.gold, gold_shape),
            outcome=judged.predicted.outcome if judged.predicted else None,
            left_out=judged.left_out,
            links=judged.links,
            database=judged.case.database,
            engine=engine,
            notes=judged.notes,
        )

    @property
    def is_final(self) -> bool:
        """Whether judging it again would give the same: no database was locked or damaged."""
        return self.left_out != "unusable" and self.outcome != "unusable"

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON without the query; without scores if it is not runnable."""
        runnable = self.left_out is None
        values = {name: getattr(self.query, field) for name, field in _VALUES.items()}
        ratio = self.query.time_ratio
        return {
            "verdict": self.query.verdict,
            "reason": self.reason,
            "sql": self.sql,
            "gold_sql": self.gold_sql,
            **(values if runnable else dict.fromkeys(values)),
            "rows": self.rows,
            "gold_rows": self.gold_rows,
            "result": self.result,
            "gold_result": self.gold_result,
            "time_ratio": ratio if runnable and not isnan(ratio) else None,
            "outcome": self.outcome,
            "left_out": self.left_out,
            "links": self.links and _counts(self.links),
            "database": self.database,
            "engine": self.engine,
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, query_id: str, record: Mapping[str, Any]) -> Self:
        """Read a judged answer from its record.

        Raises:
            KeyError, TypeError, ValueError: it is not the record of a judged answer.
        """
        return cls(
            query_id=query_id,
            query=_judged_query(record),
            reason=str(record["reason"]),
            sql=record["sql"],
            gold_sql=record["gold_sql"],
            rows=record["rows"],
            gold_rows=record["gold_rows"],
            result=record["result"],
            gold_result=record["gold_result"],
            outcome=record["outcome"],
            left_out=record["left_out"],
            links=record["links"] and _links(record["links"]),
            database=record["database"],
            engine=record["engine"],
            notes=tuple(record["notes"]),
        )


def _judged_query(record: Mapping[str, Any]) -> JudgedQuery:
    verdict = record["verdict"]
    if verdict not in get_args(Verdict):
        raise ValueError(f"verdict {verdict!r} is not one of {', '.join(get_args(Verdict))}")
    if verdict == "not_runnable":
        return JudgedQuery(verdict)
    ratio = record["time_ratio"]
    return JudgedQuery(
        verdict,
        **{field: float(record[name]) for name, field in _VALUES.items()},
        time_ratio=nan if ratio is None else float(ratio),
    )


def _counts(links: Links) -> dict[str, list[int]]:
    return {
        name: [overlap.shared, overlap.predicted, overlap.gold]
        for name, overlap in (("tables", links.tables), ("columns", links.columns))
    }


def _links(counts: Mapping[str, Any]) -> Links:
    return Links(*(Overlap(*map(int, counts[name])) for name in ("tables", "columns")))


def readable(result: Executed | None, shape: Shape | None) -> dict[str, Any] | None:
    """Return a preview as JSON: ``columns`` and ``rows``, all cells as text, NULL as null.

    Text that was cut ends with ``…``. None for what was not executed.

    Args:
        result: the beginning.
        shape: of the whole result; None is of what was not run.
    """
    if result is None or result.outcome != "executed":
        return None
    return {
        "columns": [_text(name) for name in result.columns[:COLUMNS]],
        "rows": [[_text(cell) for cell in row[:COLUMNS]] for row in result.rows[:ROWS]],
        "n_columns": shape.columns if shape else len(result.columns),
    }


def _text(cell: Cell) -> str | None:
    if cell is None:
        return None
    text = f"x'{cell.hex()}'" if isinstance(cell, bytes) else str(cell)
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate is not UTF-8
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]}…"


def report(judged: Sequence[JudgedAnswer], engine: str) -> dict[str, Any]:
    """Report outcomes with their numbers of queries, and schema linking.

    ``engine`` is what ran the statements, ``judged`` over how many queries the scores are,
    ``not_runnable`` how many are left out and why: their database is ``missing`` or ``unusable``,
    or the ``engines`` differ over the gold. ``left_out`` says it of each.

    Linking is the micro-averaged precision and recall of the tables and columns that predictions
    use, over runnable queries with a prediction on an SQLite database.
    """
    why = Counter(found.left_out for found in judged if found.left_out is not None)
    return {
        "engine": engine,
        "judged": len(judged) - why.total(),
        "not_runnable": dict(why),
        "outcomes": dict(Counter(found.query.verdict for found in judged).most_common()),
        "left_out": {
            found.query_id: found.reason
            for found in judged
            if found.query.verdict == "not_runnable"
        },
        "linking": _linking(judged),
    }


def _linking(judged: Sequence[JudgedAnswer]) -> dict[str, Any] | None:
    links = [found.links for found in judged if found.links is not None]
    tables, used = [link.tables for link in links], [link.columns for link in links]
    if not tables:
        return None
    return {
        name: {"precision": overlap.precision, "recall": overlap.recall, "f1": overlap.f1}
        for name, overlap in (("tables", total(tables)), ("columns", total(used)))
    }
