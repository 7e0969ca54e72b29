"""What a sweep shows: a ranking of its runs with tests, and main effects.

The effect of a setting. The score of each of its values is averaged over the combinations of the
other settings that all of its values have, so that nothing else differs between two averages.
Averages are compared on the same queries as two runs are: by the paired randomisation test and the
interval of a paired difference (``metrics.stats``).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import text_tables
from target_bench.core.metric import MetricSpec
from target_bench.core.text_tables import Column, TextTable, counted, p_text
from target_bench.metrics import stats
from target_bench.metrics.stats import ALPHA
from target_bench.reporting.compare import leading_metric
from target_bench.runs.differences import PLUGINS, settings, varying
from target_bench.runs.result import Result
from target_bench.runs.slicing import Measured, mean_of

DEFAULT = "default"
"""The level of a run that leaves a setting at its default."""

NONE = "–"
"""The level of a run whose plug-in has no such setting, or never a chosen one."""

Factors = Mapping[str, Sequence[str]]
"""What varies between runs: name of a setting, as ``k1`` -> its level in each run."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DifferenceFromBest:
    """A score less the best one on the same queries, with its 95% interval.

    ``p`` is of the paired randomisation test, corrected (Holm) for all tests of a table.
    """

    value: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class TestedScore:
    """The score of a run, or the average of a level of a factor, with its 95% interval.

    ``levels`` are the run's in the order of ``Ranking.factors``, or that level alone;
    ``difference`` from the best is None for the best one, ``folder`` for an average.
    """

    levels: tuple[str, ...]
    score: float
    low: float
    high: float
    difference: DifferenceFromBest | None = None
    folder: str | None = None

    @property
    def is_apart(self) -> bool:
        """Whether it differs significantly from the best one."""
        return self.difference is not None and self.difference.p < ALPHA


@dataclass(frozen=True, slots=True)
class Ranking:
    """Runs on the same queries over the same tables, best first.

    ``tables`` names the distractors that were mixed in, where a sweep varies them; else empty.
    ``factors`` are the names of what varies between these runs.
    """

    tables: str
    factors: tuple[str, ...]
    places: tuple[TestedScore, ...]


@dataclass(frozen=True, slots=True)
class MainEffect:
    """How a score changes with a factor, averaged over ``combinations`` of the other factors."""

    factor: str
    levels: tuple[TestedScore, ...]
    combinations: int

    @property
    def is_significant(self) -> bool:
        """Whether a level differs significantly from the best one."""
        return any(level.is_apart for level in self.levels)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What runs on the same queries show.

    Attributes:
        task: short name of the task.
        corpus: name and split.
        metric: what they are ranked by.
        spec: its declaration.
        n: how many queries the metric is over.
        rankings: one for each choice of distractors.
        effects: main effects, largest first.
        notes: what a reader should know.
    """

    task: str
    corpus: str
    metric: str
    spec: MetricSpec
    n: int
    rankings: tuple[Ranking, ...]
    effects: tuple[MainEffect, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the conclusion as JSON."""
        return asdict(self) | {"spec": self.spec.to_json()}


def conclude(runs: Iterable[Result]) -> list[Conclusion]:
    """Conclude from runs, those of each task and set of queries by themselves.

    They are ranked by the main metric of the task.

    Args:
        runs: finished runs, as those of a sweep.

    Returns:
        One conclusion for each task and set of queries of which there are two runs at least; the
        upper and lower bounds (``oracle``, ``no-context``, ``gold``, ``empty``) are left out.

    Raises:
        StoreError: a run is not finished, or damaged.
    """
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for run in {run.folder.resolve(): run for run in runs}.values():
        groups[run.task, run.corpus, run.split, run.identity.queries_fingerprint].append(run)
    return [concluded for group in groups.values() if (concluded := _conclude(group)) is not None]


def _conclude(runs: Sequence[Result]) -> Conclusion | None:
    systems = [run for run in runs if not run.is_bound]
    scored = [run for run in systems if run.scores]
    if not scored:
        return None
    metric, why = leading_metric(*_by_tables(scored))
    ranked = [run for run in scored if metric in {*run.scores} and run.scores[metric].n]
    if len(ranked) < 2:
        return None
    scores, varied = [run.measured(metric) for run in ranked], factors(ranked)
    of_means = are_means(scores)
    effects, unclear = main_effects(varied, scores) if of_means else ([], [])
    sizes = [int((~np.isnan(score.values)).sum()) for score in scores]
    n_bounds, n_empty = len(runs) - len(systems), len(systems) - len(ranked)
    notes = {
        f"{counted(n_bounds, 'upper or lower bound')} left out.": n_bounds,
        f"{counted(n_empty, 'run')} left out: no {metric} over any query.": n_empty,
        f"{why}.": why,
        f"{' and '.join(unclear)}: no effect of its own is known, because no cells differ in it "
        "alone.": unclear,
        f"No main effects: {metric} is no mean over the same queries of all runs.": not of_means,
        f"{metric} is over {min(sizes):,} to {max(sizes):,} queries, by run.": len({*sizes}) > 1,
    }
    by_tables = _by_tables(ranked)
    return Conclusion(
        task=ranked[0].task,
        corpus=f"{ranked[0].corpus} {ranked[0].split}",
        metric=metric,
        spec=scores[0].spec,
        n=ranked[0].scores[metric].n,
        rankings=tuple(_ranking(group, metric, len(by_tables) > 1) for group in by_tables),
        effects=tuple(effects),
        notes=tuple(note for note, holds in notes.items() if holds),
    )


def _by_tables(runs: Sequence[Result]) -> list[list[Result]]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for run in runs:
        groups[run.identity.corpus_fingerprint].append(run)
    return list(groups.values())


def _ranking(runs: Sequence[Result], metric: str, tables_vary: bool) -> Ranking:
    scores, varied = [run.measured(metric) for run in runs], factors(runs)
    estimated = [(score.metric, score.statistics) for score in scores]
    levels = list(zip(*varied.values(), strict=True)) or [()] * len(runs)
    places = [
        replace(place, folder=str(run.folder))
        for run, place in zip(runs, _tested(estimated, levels, scores[0].spec), strict=True)
    ]
    places.sort(key=lambda place: -scores[0].spec.merit(place.score))
    mixed_in = " + ".join(runs[0].asked.distractors) or "no distractors"
    return Ranking(mixed_in if tables_vary else "", tuple(varied), tuple(_corrected(places)))


# What varies between runs


_SHARED = ("corpus", "split", "about", "database", "limit", "task", "k")
"""Settings that decide which queries are asked, or how deep; runs of one conclusion share them."""


def factors(runs: Sequence[Result]) -> dict[str, tuple[str, ...]]:
    """Return what varies between runs that were asked the same queries.

    A setting that all runs of a plug-in share belongs to the plug-in and is no factor.
    """
    chosen = [settings(run) for run in runs]
    columns: dict[str, tuple[str, ...]] = {}
    for name in varying(chosen):
        kind, dot, _ = name.partition(".")
        plugins = {(run.get(kind), run.get(name)) for run in chosen}
        if name in _SHARED or (dot and len(plugins) == len({plugin for plugin, _ in plugins})):
            continue
        having = {run.get(kind) for run in chosen if name in run}
        columns[name] = tuple(
            run.get(name, DEFAULT if kind not in PLUGINS or run.get(kind) in having else NONE)
            for run in chosen
        )
    short = [name.rpartition(".")[2] for name in columns]
    names = (s if short.count(s) == 1 else name for name, s in zip(columns, short, strict=True))
    return dict(zip(names, columns.values(), strict=True))


def levels_in_order(column: Sequence[str]) -> list[str]:
    """Return the levels that runs have: numbers ascending, else in the order of the runs."""
    levels = [level for level in dict.fromkeys(column) if level != NONE]
    try:
        return sorted(levels, key=float)
    except ValueError:
        return levels


# Statistics


def main_effects(varied: Factors, scores: Sequence[Measured]) -> tuple[list[MainEffect], list[str]]:
    """Return the main effects, largest first; and the factors whose effect is not known.

    Args:
        varied: the factors.
        scores: a metric of each run.
    """
    effects, unclear = [], []
    for name, column in varied.items():
        runs, n_combinations = _matched(name, varied)
        if len(runs) < 2:
            unclear.append(name)
            continue
        levels = [level for level in levels_in_order(column) if level in runs]
        averages = _averages([runs[level] for level in levels], scores)
        tested = _tested(averages, [(level,) for level in levels], scores[0].spec)
        effects.append(MainEffect(name, tuple(tested), n_combinations))
    corrected = iter(_corrected([level for effect in effects for level in effect.levels]))
    effects = [replace(e, levels=tuple(next(corrected) for _ in e.levels)) for e in effects]
    effects.sort(key=lambda effect: -float(np.ptp([level.score for level in effect.levels])))
    return effects, unclear


def _matched(name: str, varied: Factors) -> tuple[dict[str, list[int]], int]:
    """Return the runs of each level of a factor, made comparable.

    They have the same combinations of the other factors in common, each with the same weight. A
    factor that only some levels have, as the settings of one of two retrievers, is averaged over
    within these.

    Returns:
        level -> places of runs, as many for every level, each as often as it counts; and how many
        combinations they are of. Empty and 0 if no combination of the others has all levels.
    """
    column = varied[name]
    places = [i for i, level in enumerate(column) if level != NONE]
    others = [o for n, o in varied.items() if n != name and all(o[i] != NONE for i in places)]
    by_others: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in places:
        by_others[tuple(other[i] for other in others)][column[i]].append(i)
    levels = {column[i] for i in places}
    common = [cells for cells in by_others.values() if cells.keys() == levels]
    times = lcm(*(len(cell) for cells in common for cell in cells.values()))
    runs: dict[str, list[int]] = defaultdict(list)
    for cells in common:
        for level, cell in cells.items():
            runs[level] += cell * (times // len(cell))
    return dict(runs), len(common)


Estimated = tuple[stats.Bounded, Floats]
"""A metric, and (n, m) statistics of it."""


def _averages(groups: Sequence[Sequence[int]], scores: Sequence[Measured]) -> list[Estimated]:
    """Return the average score of each group of runs, given by their places.

    An average of means over the same queries is a mean over these.
    """
    averages: list[Estimated] = []
    for places in groups:
        values = np.mean([scores[i].values for i in places], axis=0)
        average = mean_of(scores[places[0]].name, values, scores[places[0]].spec)
        averages.append((average.metric, average.statistics))
    return averages


def are_means(scores: Sequence[Measured]) -> bool:
    """Whether scores are means over the same queries, so that they can be averaged by query."""
    same_queries = len({np.isnan(score.values).tobytes() for score in scores}) == 1
    return same_queries and all(score.is_mean for score in scores)


def _tested(
    scores: Sequence[Estimated],
    levels: Sequence[tuple[str, ...]],
    spec: MetricSpec,
) -> list[TestedScore]:
    """Return each score, and its difference from the best, whose p is not corrected yet."""
    estimates = [stats.estimate(metric, statistics) for metric, statistics in scores]
    best = max(range(len(scores)), key=lambda i: spec.merit(estimates[i].value))
    theirs, tested = scores[best][1], []
    for i, ((metric, mine), e) in enumerate(zip(scores, estimates, strict=True)):
        difference = None
        if i != best:
            paired = stats.compare(mine, theirs, metric.value)
            bounds = stats.interval_of_difference(metric, mine, theirs)
            difference = DifferenceFromBest(paired.difference, *bounds, paired.p)
        tested.append(TestedScore(levels[i], e.value, e.low, e.high, difference))
    return tested


def _corrected(tested: Sequence[TestedScore]) -> list[TestedScore]:
    p_values = iter(stats.holm([each.difference.p for each in tested if each.difference]))
    return [
        replace(each, difference=each.difference and replace(each.difference, p=next(p_values)))
        for each in tested
    ]


# Words and tables


_NAMED = 3
"""Cells that a sentence names."""


def markdown(name: str, conclusions: Sequence[Conclusion]) -> str:
    """Return the file ``NAME.conclusions.md`` of a sweep."""
    lines = [f"# What the sweep {name} shows", ""]
    for conclusion in conclusions:
        subject = f"{conclusion.corpus}: {conclusion.task}, {conclusion.metric}"
        lines += [f"## {subject}, {conclusion.n:,} queries", ""]
        for sentence in sentences(conclusion):
            lines += [sentence.replace("*", "\\*"), ""]
        lines += [text_tables.markdown(tables(conclusion)), ""]
    return "\n".join(lines)


def sentences(conclusion: Conclusion) -> list[str]:
    """Return sentences on the best cell, the settings that matter, and what limits both."""
    lines = [line for ranking in conclusion.rankings for line in _on_best(conclusion, ranking)]
    ranges = [_range(conclusion.spec, each) for each in conclusion.effects if each.is_significant]
    if ranges:
        lines.append(f"Significant effects on the average, the largest first: {'; '.join(ranges)}.")
    others = [effect.factor for effect in conclusion.effects if not effect.is_significant]
    if others:
        lines.append(f"No significant effect on the average: {', '.join(others)}.")
    return [*lines, *conclusion.notes]


def _on_best(conclusion: Conclusion, ranking: Ranking) -> Iterator[str]:
    best, *others = ranking.places
    if not others:
        return
    bounds = conclusion.spec.interval(best.low, best.high)
    yield (
        f"{_subject(conclusion, ranking)}, {conclusion.n:,} queries: the best of "
        f"{len(ranking.places)} cells by {conclusion.metric} is {_settings(ranking, best)}, with "
        f"{conclusion.spec.text(best.score)} (95% {bounds})."
    )
    near = [_settings(ranking, place) for place in others if not place.is_apart]
    how = f"paired randomisation tests, corrected for {len(others)} (Holm)"
    if not near:
        yield f"Every other cell is significantly worse (p < {p_text(ALPHA)}; {how})."
    elif len(near) == len(others):
        yield f"These queries tell none of the others apart from it ({how})."
    else:
        more = f"; and {len(near) - _NAMED} more" if len(near) > _NAMED else ""
        yield (
            f"These queries do not tell it apart from {counted(len(near), 'other cell')} "
            f"({'; '.join(near[:_NAMED])}{more}); significantly worse: {len(others) - len(near)} "
            f"({how})."
        )
    yield (
        "The best cell was chosen on these queries, so its score is slightly optimistic; confirm "
        "it on another split."
    )


def _subject(conclusion: Conclusion, ranking: Ranking) -> str:
    return conclusion.corpus + (f" with {ranking.tables}" if ranking.tables else "")


def _settings(ranking: Ranking, place: TestedScore) -> str:
    """Return what tells a cell from the others: ``bm25, k1=0.9``."""
    pairs = zip(ranking.factors, place.levels, strict=True)
    return ", ".join(
        level if name in ("retriever", "generator") else f"{name}={level}" for name, level in pairs
    )


def _range(spec: MetricSpec, effect: MainEffect) -> str:
    worst, *_, best = sorted(effect.levels, key=lambda level: spec.merit(level.score))
    ends = (f"{spec.text(level.score)} with {level.levels[0]}" for level in (worst, best))
    return f"{effect.factor} ({' to '.join(ends)})"


def tables(conclusion: Conclusion, most: int | None = None) -> list[TextTable]:
    """Return rankings and main effects.

    Args:
        conclusion: what is shown.
        most: how many places of a ranking are shown; None for all.
    """
    shown = [_ranking_table(conclusion, ranking, most) for ranking in conclusion.rankings]
    return [*shown, _effects_table(conclusion)] if conclusion.effects else shown


def _score_columns(name: str) -> list[Column]:
    return [
        Column(name, right=True),
        Column("95%", right=True, below=True, label="95% of the score"),
        Column("from\nthe best", right=True, label="from the best"),
        Column("95%", right=True, below=True, label="95% of the difference"),
        Column("p", right=True),
    ]


def _ranking_table(conclusion: Conclusion, ranking: Ranking, most: int | None) -> TextTable:
    columns = [
        Column("", right=True, label="rank"),
        *(Column(name, prose=True) for name in ranking.factors),  # values may be long lists
        *_score_columns(conclusion.metric),
    ]
    shown = ranking.places[:most]
    rows = [
        [str(rank), *place.levels, *_cells(conclusion.spec, place)]
        for rank, place in enumerate(shown, start=1)
    ]
    left = len(ranking.places) - len(shown)
    apart = [i for i, place in enumerate(shown) if place.is_apart]
    return TextTable(
        columns,
        rows,
        title=f"{_subject(conclusion, ranking)}: cells by {conclusion.metric}",
        rules=frozenset(apart[:1]),
        note=f"{left} more, all in the file NAME.conclusions.md." if left else None,
    )


def _effects_table(conclusion: Conclusion) -> TextTable:
    rows = [
        ["" if i else effect.factor, *level.levels, *_cells(conclusion.spec, level)]
        for effect in conclusion.effects
        for i, level in enumerate(effect.levels)
    ]
    times = ", ".join(f"{effect.factor} {effect.combinations}" for effect in conclusion.effects)
    return TextTable(
        [Column("setting"), Column("value", prose=True), *_score_columns("mean")],
        rows,
        title=f"{conclusion.corpus}: the effect of each setting on {conclusion.metric}",
        rules=frozenset(i for i, row in enumerate(rows) if i and row[0]),
        note="A mean is over the same combinations of the other settings for every value of a "
        f"setting ({times}). p: paired randomisation test of two means, corrected for all of these "
        "tests (Holm).",
    )


def _cells(spec: MetricSpec, row: TestedScore) -> list[str]:
    score, difference = [spec.text(row.score), spec.interval(row.low, row.high)], row.difference
    if difference is None:
        return [*score, "best", "", ""]
    bounds = spec.interval(difference.low, difference.high, " to ", "+")
    return [*score, spec.text(difference.value, signed=True), bounds, p_text(difference.p)]
