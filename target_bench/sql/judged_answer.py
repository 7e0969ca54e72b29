"""Judged answers in SQL: as values, as lines of ``judgements.jsonl``, and as the report of a run.

Scores are computed from these records alone, without running anything.
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
    """One answer, judged; a field is None where nothing was read, or nothing run."""

    query_id: str
    query: JudgedQuery
    gold_sql: str
    sql: str | None = None
    reason: str = ""  # empty if nothing went wrong, or if the result is wrong
    rows: int | None = None  # of the prediction's result
    gold_rows: int | None = None
    result: Mapping[str, Any] | None = None  # its beginning (``worker.preview``)
    gold_result: Mapping[str, Any] | None = None
    outcome: SQLOutcome | None = None  # of running the prediction
    left_out: LeftOut | None = None  # why the query is not runnable
    database: str | None = None  # the id of the one that the prediction ran on
    engine: EngineName | None = None  # of the gold
    notes: tuple[str, ...] = ()  # on the databases as they were run

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
    """Report outcomes with their numbers of queries, and why queries are not runnable."""
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
