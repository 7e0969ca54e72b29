"""Judged answers in SQL: as values, as lines of ``judgements.jsonl``, and as the report of a run.

A record is all that metrics, reports and slices read of a judged answer, so scores are computed
from records without running anything.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Literal, Self, get_args

from target_bench.core.schema import SQLOutcome
from target_bench.metrics.sql import JudgedQuery, Verdict
from target_bench.sql.databases import EngineName

LeftOut = Literal["missing", "unusable", "engines"]
"""Why a query is not runnable: its database is missing, or cannot be read, or the engine that
judges cannot translate the gold or has another result of it than SQLite."""

_VALUES = {"ex[bird]": "bird", "ex[spider]": "spider", "soft_f1": "soft_f1"}
"""Name of a value in a record -> field of ``JudgedQuery``."""

_OWN = (
    *("reason", "sql", "gold_sql", "rows", "gold_rows", "result", "gold_result", "outcome"),
    *("left_out", "database", "engine", "notes"),
)
"""Fields of a record that are fields of ``JudgedAnswer``."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer, judged.

    Attributes:
        query_id: the query.
        query: the judgement under every rule.
        gold_sql: the gold.
        sql: the statement that was read in the answer; None where there is none.
        reason: what went wrong, in words; empty if nothing did, or if the result is wrong.
        rows: how many rows the prediction gave, or None if it was not run.
        gold_rows: how many rows the gold gave, or None if it was not run.
        result: the beginning of the prediction's result (``worker.preview``), or None.
        gold_result: the same of the gold.
        outcome: what running the prediction gave, or None if it was not run.
        left_out: why the query is not runnable; None if it is.
        database: the id of the database the prediction ran on, or None.
        engine: what ran the gold, or None if its database is missing or of no known kind.
        notes: what a user should know of the databases as they were run.
    """

    query_id: str
    query: JudgedQuery
    gold_sql: str
    sql: str | None = None
    reason: str = ""
    rows: int | None = None
    gold_rows: int | None = None
    result: Mapping[str, Any] | None = None
    gold_result: Mapping[str, Any] | None = None
    outcome: SQLOutcome | None = None
    left_out: LeftOut | None = None
    database: str | None = None
    engine: EngineName | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_final(self) -> bool:
        """Whether judging it again would give the same: no database was locked or damaged."""
        return self.left_out != "unusable" and self.outcome != "unusable"

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON without the query; without scores if it is not runnable."""
        values = {name: getattr(self.query, field) for name, field in _VALUES.items()}
        values["time_ratio"] = None if isnan(self.query.time_ratio) else self.query.time_ratio
        if self.left_out is not None:
            values = dict.fromkeys(values)
        own = {name: getattr(self, name) for name in _OWN}
        return {"verdict": self.query.verdict, **own, **values, "notes": list(self.notes)}

    @classmethod
    def from_json(cls, query_id: str, record: Mapping[str, Any]) -> Self:
        """Read a judged answer from its record.

        Raises:
            KeyError, TypeError, ValueError: it is not the record of a judged answer.
        """
        verdict = record["verdict"]
        if verdict not in get_args(Verdict):
            raise ValueError(f"verdict {verdict!r} is not one of {', '.join(get_args(Verdict))}")
        query = JudgedQuery(verdict)
        if verdict != "not_runnable":
            values = {field: float(record[name]) for name, field in _VALUES.items()}
            ratio = record["time_ratio"]
            query = JudgedQuery(
                verdict, **values, time_ratio=nan if ratio is None else float(ratio)
            )
        own = {name: record[name] for name in _OWN}
        own |= {"reason": str(record["reason"]), "notes": tuple(record["notes"])}
        return cls(query_id=query_id, query=query, **own)


def report(judged: Sequence[JudgedAnswer], engine: str) -> dict[str, Any]:
    """Report outcomes with their numbers of queries.

    ``engine`` is what ran the statements, ``judged`` over how many queries the scores are,
    ``not_runnable`` how many are left out and why: their database is ``missing`` or ``unusable``,
    or the ``engines`` differ over the gold. ``left_out`` says it of each.
    """
    why = Counter(answer.left_out for answer in judged if answer.left_out is not None)
    return {
        "engine": engine,
        "judged": len(judged) - why.total(),
        "not_runnable": dict(why),
        "outcomes": dict(Counter(answer.query.verdict for answer in judged).most_common()),
        "left_out": {
            answer.query_id: answer.reason
            for answer in judged
            if answer.query.verdict == "not_runnable"
        },
    }
