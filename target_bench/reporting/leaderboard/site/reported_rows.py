"""Rows of figures that papers report, in the columns of the data that they are of."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from target_bench.reporting.leaderboard.reported import Reported, ReportedScore
from target_bench.reporting.leaderboard.site.groups import Group
from target_bench.reporting.web import shown


def add_reported(
    papers: Sequence[Reported],
    drawn: Sequence[dict[str, Any]],
    groups: Sequence[Group],
    first: int,
) -> list[dict[str, Any]]:
    """Put reported figures into column groups, and return their rows.

    A figure of another split than any on the board stands in the column of its corpus, with the
    split below it. One that has no column is not shown, nor is a method without any that has.

    Args:
        papers: what is reported.
        drawn: the column groups as the page has them; their cells are added to.
        groups: the groups of the page, which are drawn under their names.
        first: the number of the first row.
    """
    places = [
        (group, one)
        for one in drawn
        for group in groups
        if shown(group.name) == one["name"] and not group.data.distractors
    ]
    rows: list[dict[str, Any]] = []
    for paper in papers:
        for system in paper.systems:
            row = first + len(rows)
            if not any([_put(places, score, row) for score in system.scores]):  # noqa: C419 (all are put)
                continue
            rows.append(
                {
                    "name": shown(system.name),
                    "retriever": shown(paper.source),
                    "generator": None,
                    "page": None,
                    "url": paper.url,
                    "note": system.note and shown(system.note),
                    "authors": [],
                    "kind": system.kind,
                    "parameters": None,
                    "open": None,
                    "trained": {},
                    "suspicious": False,
                    "baseline": False,
                    "date": paper.date,
                }
            )
    return rows


def _put(places: Sequence[tuple[Group, dict[str, Any]]], score: ReportedScore, row: int) -> bool:
    """Put a figure into the first column of its metric, of its split if there is one."""
    found = [
        (group.data.split != score.split, one, key)
        for group, one in places
        if group.data.corpus == score.corpus
        if group.ranks or "@" not in score.metric  # the recall of answers is that of their rankings
        if (key := _key(one, score.metric))
    ]
    if not found:
        return False
    other, one, key = min(found, key=itemgetter(0))
    cell = one["cells"].setdefault(row, {})
    cell[key] = [round(score.value, 5)]
    if other:
        cell[f"{key}:by"] = f"{shown(score.split)} split"
    return True


def _key(group: Mapping[str, Any], metric: str) -> str | None:
    """Return what the cells of a metric are called in a group, or None where it has no column."""
    family, _, k = metric.partition("@")
    for column in group["columns"]:
        if column["key"] in (metric, f"{family}@{{k}}" if k else metric):
            return metric
        if column.get("metric") == metric:
            return str(column["key"])
    return None
