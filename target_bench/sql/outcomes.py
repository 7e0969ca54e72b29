"""Report of a text-to-SQL run: outcomes and schema linking."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from target_bench.sql.judged_answer import JudgedAnswer
from target_bench.sql.linking import total


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
