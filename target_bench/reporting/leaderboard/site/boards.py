"""The data of a table of the site: its rows, its groups of columns, and what stands in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from target_bench.core.metric import MetricSpec, Score
from target_bench.metrics.run_scores import answer_metrics, ranking_metrics, spec_of
from target_bench.reporting.leaderboard.entry import Entry, RunEntry
from target_bench.reporting.leaderboard.reported import Reported
from target_bench.reporting.leaderboard.site.groups import (
    FIRST_DATABASE,
    Data,
    Group,
    Groups,
    Member,
    PValues,
    System,
    corpus_title,
    headline,
    p_values,
    scores_of,
    spec,
    versions,
)
from target_bench.reporting.leaderboard.site.mean_group import Mean
from target_bench.reporting.leaderboard.site.reported_rows import add_reported
from target_bench.reporting.web import shown

DEFAULT_K = 10

_ALSO = ("full_recall", "ndcg")
"""Metrics of rankings that have a column beside those that stand for a run."""

Tests = Mapping[Data, Mapping[str, Mapping[Member, PValues]]]


@dataclass(frozen=True, eq=False)
class Shown:
    """All that is on the site.

    Attributes:
        entries: id -> entry without values of queries.
        pages: id -> file name of its page.
        groups: column groups.
        tests: of every group, and of the mean.
        baseline: the system that the others are compared with, if there is one.
        mean: the mean over corpora, if there is one.
        papers: figures that papers report.
    """

    entries: Mapping[str, Entry]
    pages: Mapping[str, str]
    groups: Groups
    tests: Tests
    baseline: System | None
    mean: Mean | None = None
    papers: Sequence[Reported] = ()


def tested(groups: Iterable[Group], baseline: System | None) -> Tests:
    """The tests of every group."""
    return {group.data: p_values(group, baseline_of(group, baseline)) for group in groups}


def baseline_of(group: Group, baseline: System | None) -> Member | None:
    """Return the baseline row of a group; of several generators the best one."""
    rows = [member for member in group.members if member.system == baseline]
    metric = headline(group)
    return max(rows, key=lambda member: _rank(group, member, metric), default=None)


def _rank(group: Group, member: Member, metric: str | None) -> tuple[float, str]:
    """By what answers of a system are ordered, the best last; a score over no query comes first."""
    score = group.members[member].scores.get(metric or "")
    if metric is None or score is None or not isfinite(score.value):
        return -inf, member.generator or ""
    return spec(group, metric).merit(score.value), member.generator or ""


def default_k(groups: Sequence[Group]) -> int:
    """10 if any run has it, else the largest cutoff."""
    cutoffs = {k for group in groups for k in group.cutoffs}
    return DEFAULT_K if DEFAULT_K in cutoffs else max(cutoffs, default=DEFAULT_K)


def overview(board: Shown) -> dict[str, Any]:
    """Return one row per system: recall, time and the main score of each task over all data."""
    rankings, answers = board.groups.rankings(), board.groups.answers()
    alone = [group for group in answers if _without_retrieval(group)]
    members = [m for group in rankings for m in group.members]
    members += [Member(m.system, None) for group in alone for m in _without_retrieval(group)]
    rows = {member: i for i, member in enumerate(_by_name(board, list(dict.fromkeys(members))))}
    named = versions(rankings)
    groups = []
    for group in rankings:
        found = scores_of(group)
        columns = [_at_k("recall", found)]
        if FIRST_DATABASE in found:
            columns.append(_column(FIRST_DATABASE, spec_of(FIRST_DATABASE, found[FIRST_DATABASE])))
        columns.append(_MILLISECONDS)
        cells: dict[int, dict[str, Any]] = {
            rows[member]: _scores(board, group, member, run, ["recall@", FIRST_DATABASE])
            | {"ms": _time(run)}
            for member, run in group.members.items()
        }
        of_baseline: dict[str, float | None] = {**_of_baseline(board, group)}
        for i, answered in enumerate(answers):
            best = _best_answers(board, answered, group.data)
            metric = headline(answered)
            if not best or metric is None:
                continue
            key = f"answers{i}"
            column = _answer_column(board, answered, metric) | {"key": key, "metric": metric}
            columns.append(column | {"version": versions(answers).get(answered.data)})
            of_baseline[key] = _of_baseline(board, answered).get(metric)
            for system, (generator, cell) in best.items():
                row = rows.get(Member(system, None))
                if row is not None and row in cells:
                    cells[row] |= {key: cell, f"{key}:by": shown(generator)}
        parts = {"columns": columns, "cells": cells, "baseline": of_baseline}
        groups.append(_group(group, named) | parts)
    if board.mean is not None:
        groups.append(_mean(board, board.mean, rows))
    groups += [_group_alone(board, group, rows, versions(answers)) for group in alone]
    return _page(board, rows, groups, [*rankings, *alone])


def _mean(board: Shown, mean: Mean, rows: Mapping[Member, int]) -> dict[str, Any]:
    """Return the column of the mean over corpora, and how much of it incomplete systems have."""
    n, cells = len(mean.over), {}
    for member, run in mean.group.members.items():
        times = [time for group in mean.over for time in _time(group.members[member])]
        known = [round(sum(times) / n, 4)] if len(times) == n else []
        cells[rows[member]] = _scores(board, mean.group, member, run, ["recall@"]) | {"ms": known}
    has = {row: sum(member in group.members for group in mean.over) for member, row in rows.items()}
    recall = _at_k("recall", scores_of(mean.group))
    label = f"mean {recall['label']}"
    recall |= {"label": label, "about": "mean over corpora, each counts the same"}
    return {
        "name": f"Mean of {n} corpora",
        "mean": True,
        "corpus": None,
        "queries": ", ".join(shown(corpus_title(group.data.corpus)) for group in mean.over),
        "about": None,
        "version": None,
        "cutoffs": mean.group.cutoffs,
        "columns": [recall, _MILLISECONDS],
        "cells": cells,
        "baseline": _of_baseline(board, mean.group),
        "partial": {str(row): f"{k} of {n}" for row, k in has.items() if row not in cells},
    }


def _group_alone(
    board: Shown, group: Group, rows: Mapping[Member, int], named: Mapping[Data, str]
) -> dict[str, Any]:
    """Return the column of answers that are not built on a retrieval: the best of each system."""
    metric, cells = headline(group), {}
    for system, (generator, cell) in _best_answers(board, group, None).items():
        cells[rows[Member(system, None)]] = {metric: cell, f"{metric}:by": shown(generator)}
    columns = [] if metric is None else [_answer_column(board, group, metric)]
    parts = {"columns": columns, "cells": cells, "baseline": _of_baseline(board, group)}
    return _group(group, named) | parts


def _answer_column(board: Shown, group: Group, metric: str) -> dict[str, Any]:
    """Return the column of the metric that stands for a group of answers."""
    name = shown(board.groups.title(group.data.task))
    return _column(metric, spec(group, metric)) | {"about": f"{name}: {metric}", "task": name}


def _without_retrieval(group: Group) -> list[Member]:
    """Return the rows of answers that are not built on a retrieval."""
    return [] if group.ranks else [m for m in group.members if m not in group.ranked_on]


def task(board: Shown, name: str) -> dict[str, Any]:
    """Return one row per system and generator; everything that is measured of one task."""
    found = [group for group in board.groups if group.data.task == name]
    members = list(dict.fromkeys(m for group in found for m in group.members))
    rows = {member: i for i, member in enumerate(_by_name(board, members))}
    named = versions(found)
    groups = []
    for group in found:
        columns, prefixes = _task_columns(group)
        cells = {
            rows[member]: _scores(board, group, member, run, prefixes) | _declared(run)
            for member, run in group.members.items()
        }
        used = {key for cell in cells.values() for key in cell}
        columns = [c for c in columns if "kind" not in c or c["key"] in used]
        parts = {"columns": columns, "cells": cells, "baseline": _of_baseline(board, group)}
        groups.append(_group(group, named) | parts)
    return _page(board, rows, groups, found)


def _task_columns(group: Group) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the columns of a group, and how the names of their metrics begin."""
    scores = scores_of(group)
    recalled = [_at_k("recall", scores)] if any(n.startswith("recall@") for n in scores) else []
    if group.ranks:
        main = ranking_metrics(scores)
        first, *others = dict.fromkeys(name.partition("@")[0] for name in main if "@" in name)
        also = [family for family in _ALSO if any(n.startswith(f"{family}@") for n in scores)]
        at_k = [first, *also, *others]
        whole = [name for name in main if "@" not in name]
        columns = [_at_k(family, scores) for family in at_k]
        columns += [_column(metric, spec_of(metric, scores[metric])) for metric in whole]
        times = [
            _MILLISECONDS,
            {"key": "p50", "label": "p50", "kind": "ms", "about": "median time of single queries"},
            {"key": "index", "label": "index", "kind": "s", "about": "time to index all tables"},
        ]
        return [*columns, *times], [*(f"{family}@" for family in at_k), *whole]
    main = answer_metrics(scores)
    columns = [_column(metric, spec_of(metric, scores[metric])) for metric in main]
    times = [
        {"key": "failed", "label": "failed", "kind": "count",
         "about": "queries without an answer that can be read; they count as wrong"},
        {"key": "tokens", "label": "tokens", "kind": "count", "about": "tokens in, a query"},
        {"key": "answer", "label": "time/answer", "kind": "s",
         "about": "declared time of an answer"},
    ]  # fmt: skip
    return [*columns, *recalled, *times], [*main, "recall@"]


_MILLISECONDS = {
    "key": "ms",
    "label": "ms/query",
    "kind": "ms",
    "about": "declared time of retrieval, a query",
}


def _at_k(family: str, scores: Mapping[str, Score]) -> dict[str, Any]:
    """Return the column of a metric at the cutoff that the reader chooses."""
    name = next((n for n in scores if n.startswith(f"{family}@")), f"{family}@{DEFAULT_K}")
    found = spec_of(name, scores.get(name))
    return _column(f"{family}@{{k}}", found) | {"label": found.label_at("{k}")}


def _column(metric: str, found: MetricSpec) -> dict[str, Any]:
    lower = {} if found.higher_is_better else {"lower": True}
    about = metric if found.higher_is_better else f"{metric}, lower is better"
    label = shown(found.label_at(metric.partition("@")[2] or None))
    return {"key": metric, "label": label, "about": about, "digits": found.digits} | lower


def _scores(
    board: Shown, group: Group, member: Member, run: RunEntry, prefixes: Sequence[str]
) -> dict[str, list[Any]]:
    """Metric -> value, low, high, p against the best, p against the baseline."""
    ends = tuple(prefix for prefix in prefixes if prefix.endswith("@"))
    return {
        name: _cell(board, group, member, run, name)
        for name in run.scores
        if name in prefixes or (ends and name.startswith(ends))
    }


def _of_baseline(board: Shown, group: Group) -> dict[str, float]:
    """Metric -> the value that the tests against the baseline are against."""
    member = baseline_of(group, board.baseline)
    if member is None:
        return {}
    scores = group.members[member].scores
    values = {name: scores[name].value for name in board.tests[group.data] if name in scores}
    return {name: round(value, 5) for name, value in values.items() if isfinite(value)}


def _cell(board: Shown, group: Group, member: Member, run: RunEntry, metric: str) -> list[Any]:
    score = run.scores[metric]
    ps = board.tests[group.data].get(metric, {}).get(member, PValues(None, None))
    numbers = [score.value, score.low, score.high, *ps]
    cell = [None if x is None or not isfinite(x) else round(x, 5) for x in numbers]
    while cell and cell[-1] is None:
        cell.pop()
    return cell


def _time(run: RunEntry) -> list[float]:
    return [] if run.milliseconds is None else [round(run.milliseconds, 4)]


def _declared(run: RunEntry) -> dict[str, list[float]]:
    """Return the known times, tokens and failures."""
    if run.answers is None:
        found = {
            "ms": run.milliseconds,
            "p50": (run.times.latency or {}).get("p50"),
            "index": run.times.index,
        }
    else:
        asked = run.answers.asked or 1
        found = {
            "failed": run.answers.failed + run.answers.unparsed,
            "tokens": (run.answers.input_tokens or 0) / asked or None,
            "answer": None if run.times.generate is None else run.times.generate / 1000,
        }
    return {name: [round(x, 5)] for name, x in found.items() if x is not None}


def _best_answers(
    board: Shown, answered: Group, ranked_on: Data | None
) -> dict[System, tuple[str, list[Any]]]:
    """System -> its best generator and score, of answers that are built on these rankings.

    ``ranked_on`` is None for answers that are built on none.
    """
    metric = headline(answered)
    if metric is None:
        return {}
    found = {}
    members = [
        member
        for member in answered.members
        if answered.ranked_on.get(member) == ranked_on and _rank(answered, member, metric)[0] > -inf
    ]
    for member in sorted(members, key=lambda one: _rank(answered, one, metric)):
        cell = _cell(board, answered, member, answered.members[member], metric)
        found[member.system] = (member.generator or "", cell)
    return found


def _by_name(board: Shown, members: Sequence[Member]) -> list[Member]:
    def key(member: Member) -> tuple[str, ...]:
        system, generator = member
        return (board.entries[system.entry].card.name.casefold(), *system, generator or "")

    return sorted(members, key=key)


def _group(group: Group, named: Mapping[Data, str]) -> dict[str, Any]:
    data = group.data
    n = len(group.query_ids)
    queries = f"{n:,} {'query' if n == 1 else 'queries'}"
    about = shown(group.about).replace("_", " ") if group.ranks and group.about else None
    return {
        "name": shown(group.name),
        "corpus": shown(data.corpus),
        "queries": queries + (f" of {about}" if about else ""),
        "about": about,
        "version": named.get(data),
        "cutoffs": group.cutoffs,
    }


def _page(
    board: Shown, rows: Mapping[Member, int], groups: list[dict[str, Any]], found: Sequence[Group]
) -> dict[str, Any]:
    labels: dict[tuple[str, str], list[str]] = {}
    for member in rows:
        labels.setdefault(member.system[:2], []).append(member.system.identity)
    cutoffs = sorted({k for group in found for k in group.cutoffs})
    drawn = [_row(board, member, found, labels) for member in rows]
    if board.papers:
        drawn += add_reported(board.papers, groups, found, len(drawn))
    return {
        "rows": drawn,
        "groups": [
            g | {"cells": {str(row): cell for row, cell in g["cells"].items()}} for g in groups
        ],
        "cutoffs": cutoffs,
        "k": default_k(found),
    }


def _row(
    board: Shown,
    member: Member,
    found: Sequence[Group],
    labels: Mapping[tuple[str, str], Sequence[str]],
) -> dict[str, Any]:
    system = member.system
    entry = board.entries[system.entry]
    card = entry.card
    versions_of = list(dict.fromkeys(labels[system[:2]]))
    number = f" ({versions_of.index(system.identity) + 1})" if len(versions_of) > 1 else ""
    corpora = sorted({g.data.corpus for g in found if any(m.system == system for m in g.members)})
    trained = {corpus: card.training_data.get(corpus, "unknown") for corpus in corpora}
    return {
        "name": shown(card.name),
        "retriever": shown(system.retriever) + number,
        "generator": None if member.generator is None else shown(member.generator),
        "page": board.pages[entry.id],
        "authors": [shown(author) for author in card.authors],
        "kind": card.retriever_kind,
        "parameters": card.parameters,
        "open": card.open_weights,
        "trained": {shown(corpus): said for corpus, said in trained.items()},
        "suspicious": entry.verdict == "suspicious",
        "baseline": system == board.baseline,
        "date": max((run.date for run in entry.runs), default=""),
    }
