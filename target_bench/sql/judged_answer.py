"""The judgement of an answer in SQL, as a line of ``judgements.jsonl`` holds it.

A record is all that metrics, reports and slices read of a judged answer, so scores are computed
from records without running anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any, Self, get_args

from target_bench.core.schema import SQLOutcome
from target_bench.metrics.sql import JudgedQuery, Verdict
from target_bench.sql.engines.base import EngineName
from target_bench.sql.execution import Judged, LeftOut
from target_bench.sql.linking import Overlap
from target_bench.sql.result_preview import readable
from target_bench.sql.workers.trial import Links

_VALUES = {
    "ex[bird]": "bird",
    "ex[spider]": "spider",
    "ex[multiset]": "multiset",
    "soft_f1": "soft_f1",
}
"""Name of a value in a record -> field of ``JudgedQuery``."""


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
        result: the beginning of the prediction's result (``beginnings.readable``), or None.
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
