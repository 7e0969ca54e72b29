"""Rows of figures that papers report, in the columns of the data that they are of."""

from collections.abc import Sequence
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
    split below it.

    Args:
        papers: what is reported.
        drawn: the column groups as the page has them; their cells are added to.
        groups: the groups of the page; those of rankings are drawn under their names.
        first: the number of the first row.
    """
    by_name: dict[tuple[str, str], dict[str, Any]] = {}
    for one in drawn:
        for group in groups:
            if group.ranks and shown(group.name) == one["name"] and not group.data.distractors:
                by_name.setdefault((group.data.corpus, group.data.split), one)
    rows: list[dict[str, Any]] = []
    for paper in papers:
        for system in paper.systems:
            for score in system.scores:
                _put(by_name, score, first + len(rows))
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


def _put(by_name: dict[tuple[str, str], dict[str, Any]], score: ReportedScore, row: int) -> None:
    own = by_name.get((score.corpus, score.split))
    of_corpus = (one for (corpus, _), one in by_name.items() if corpus == score.corpus)
    group = own or next(of_corpus, None)
    if group is None:
        return
    cell = group["cells"].setdefault(row, {})
    cell[score.metric] = [round(score.value, 5)]
    if own is None:
        cell[f"{score.metric}:by"] = f"{shown(score.split)} split"
