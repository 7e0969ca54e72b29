"""Outcome of a query in a run: ranks of its gold tables, and whether its answer is right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from target_bench.core.schema import TableId

RETRIEVED = ("first", "found", "partly", "missed", "failed", "unlabelled")
"""All gold tables at the top; all of them somewhere; some; none; no ranking; no gold table."""

ANSWERED = ("right", "partly", "wrong", "failed", "not judged")
"""By the main metric of the answers: 1, between, 0, no answer, no value. SQL has its verdicts."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Ranks of the gold tables of a query.

    Attributes:
        first: the rank of the first, from 1; 0 if none was found.
        ranks: the ranks of all that were found, ascending.
        outcome: one of ``RETRIEVED``.
    """

    first: int
    ranks: tuple[int, ...]
    outcome: str


def ranked(gold: Sequence[TableId], record: Mapping[str, Any]) -> Ranked:
    """Find the ranks of the gold tables in a line of ``retrieval.jsonl``."""
    wanted = set(gold)
    tables = (TableId(*table_id) for table_id in record["tables"])
    ranks = tuple(rank for rank, table_id in enumerate(tables, start=1) if table_id in wanted)
    if record.get("error") is not None:
        outcome = "failed"
    elif not wanted:
        outcome = "unlabelled"
    elif len(ranks) == len(wanted):
        outcome = "first" if ranks[-1] == len(wanted) else "found"
    else:
        outcome = "partly" if ranks else "missed"
    return Ranked(ranks[0] if ranks else 0, ranks, outcome)


def answered(value: float, error: str | None, verdict: str | None) -> str:
    """Return the outcome of an answer: its verdict if it was executed, else by its main metric."""
    if verdict is not None:
        return verdict.replace("_", " ")
    if error is not None:
        return "failed"
    if isnan(value):
        return "not judged"
    return "right" if value == 1 else "wrong" if value == 0 else "partly"
