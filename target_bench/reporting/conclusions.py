"""What a sweep shows: a ranking of its runs with tests, and main effects.

The effect of a setting. The score of each of its values is averaged over the combinations of the
other settings that all of its values have, so that nothing else differs between two averages.
Averages are compared on the same queries as two runs are: by the paired randomisation test and the
interval of a paired difference (``metrics.stats``).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core import text_tables
from target_bench.core.metric import MetricSpec
from target_bench.core.text_tables import Column, TextTable, counted, p_text
from target_bench.metrics import stats
from target_bench.reporting.compare import leading_metric
from target_bench.runs.differences import PLUGINS, settings, varying
from target_bench.runs.result import Result
from target_bench.runs.slicing import Measured, mean_of

SIGNIFICANT = 0.05
"""A corrected p-value below this tells two scores apart."""

DEFAULT = "default"
"""The level of a run that leaves a setting at its default."""

NONE = "–"
"""The level of a run whose plug-in has no such setting, or never a chosen one."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tested:
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
    difference: Tested | None = None
    folder: str | None = None

    @property
    def is_apart(self) -> bool:
        """Whether it differs significantly from the best one."""
        return self.difference is not None and self.difference.p < SIGNIFICANT


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

    They are ranked by the metric that leads (``scores.leading``).

    Args:
        runs: finished runs, as those of a sweep.

    Returns:
        One conclusion for each task and set of queries of which there are two runs at least; the
        upper and lower bounds (``oracle``, ``no-context``, ``gold``, ``empty``) are left out.

    Raises:
        StoreError: a run is not finished, or damaged.
    """
    once_each = {run.folder.resolve(): run for run in runs}.values()
    groups: dict[tuple[str, ...], list[Result]] = {}
    for run in once_each:
        key = (run.task, run.corpus, run.split, run.identity.queries_fingerprint)
        groups.setdefault(key, []).append(run)
    conclusions = [_conclude(group) for group in groups.values()]
    return [conclusion for conclusion in conclusions if conclusion is not None]


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


def tables(conclusion: Conclusion, most: int | None = None) -> list[TextTable]:
    """Return rankings and main effects.

    Args:
        conclusion: what is shown.
        most: how many places of a ranking are shown; None for all.
    """
    shown = [_ranking_table(conclusion, ranking, most) for ranking in conclusion.rankings]
    if conclusion.effects:
        shown.append(_effects_table(conclusion))
    return shown


# What varies between runs


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that varies between runs: its name, as ``k1``, and the level of each run."""

    name: str
    of_run: tuple[str, ...]

    @property
    def levels(self) -> list[str]:
        """The levels that runs have: numbers ascending, else in the order of the runs."""
        levels = [level for level in dict.fromkeys(self.of_run) if level != NONE]
        try:
            return sorted(levels, key=float)
        except ValueError:
            return levels


_SHARED = ("corpus", "split", "about", "database", "limit", "task", "k")
"""Settings that decide which queries are asked, or how deep; runs of one conclusion share them."""


def factors(runs: Sequence[Result]) -> list[Factor]:
    """Return what varies between runs that were asked the same queries.

    A setting that all runs of a plug-in share belongs to the plug-in and is not a factor. Settings
    that always vary together, such as those that a sweep zips, are one factor.
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
    together: list[list[str]] = []
    for name, column in columns.items():
        for group in together:
            pairs = set(zip(columns[group[0]], column, strict=True))
            if len(pairs) == len(set(column)) == len(set(columns[group[0]])):
                group.append(name)
                break
        else:
            together.append([name])
    last = [name.rpartition(".")[2] for name in columns]
    short = {n: s if last.count(s) == 1 else n for n, s in zip(columns, last, strict=True)}
    return [
        Factor(
            ", ".join(short[name] for name in group),
            tuple(
                NONE if set(levels) == {NONE} else ", ".join(levels)
                for levels in zip(*(columns[name] for name in group), strict=True)
            ),
        )
        for group in together
    ]


# Statistics


@dataclass(frozen=True, slots=True)
class AveragedMetric:
    """A metric that is no mean, averaged over runs as a score (a ``stats.Bounded``).

    Its (n, m) statistics are those of the runs beside each other.

    Attributes:
        parts: the metric of each run.
    """

    parts: Sequence[stats.Bounded]

    @property
    def of_rows(self) -> bool:
        """See ``Metric.of_rows``."""
        return self.parts[0].of_rows

    def value(self, totals: Floats) -> Floats:
        """(..., m) sums of statistics, or (n, m) rows -> averages of scores."""
        return self._average("value", totals)

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """See ``Metric.bounds``."""
        low, high = self._average("bounds", statistics)
        return float(low), float(high)

    def weights(self, statistics: Floats) -> Floats:
        """See ``Metric.weights``."""
        return self._average("weights", statistics)

    def without(self, total: Floats, rows: Floats) -> Floats:
        """See ``Metric.without``."""
        return self._average("without", total, rows)

    def _average(self, method: str, *arguments: Floats) -> Floats:
        by_part = zip(*(np.split(a, len(self.parts), axis=-1) for a in arguments), strict=True)
        values = [getattr(p, method)(*a) for p, a in zip(self.parts, by_part, strict=True)]
        averages: Floats = np.mean(values, axis=0)
        return averages


Estimated = tuple[stats.Bounded, Floats]
"""A metric, and (n, m) statistics of it."""


def main_effects(
    varied: Sequence[Factor], scores: Sequence[Measured]
) -> tuple[list[MainEffect], list[str]]:
    """Return the main effects, largest first; and the factors whose effect is not known.

    Args:
        varied: the factors.
        scores: a metric of each run.
    """
    effects, unclear = [], []
    for factor in varied:
        runs, n_combinations = matched(factor, varied)
        if len(runs) < 2:
            unclear.append(factor.name)
            continue
        levels = sorted(runs, key=factor.levels.index)
        averages = _averages([runs[level] for level in levels], scores)
        tested = _tested(averages, [(level,) for level in levels], scores[0].spec)
        effects.append(MainEffect(factor.name, tuple(tested), n_combinations))
    corrected = iter(_corrected([level for effect in effects for level in effect.levels]))
    effects = [replace(e, levels=tuple(next(corrected) for _ in e.levels)) for e in effects]
    effects.sort(key=lambda effect: -float(np.ptp([level.score for level in effect.levels])))
    return effects, unclear


def matched(factor: Factor, varied: Sequence[Factor]) -> tuple[dict[str, list[int]], int]:
    """Return the runs of each level of a factor, made comparable.

    They have the same combinations of the other factors in common, each with the same weight. A
    factor that only some levels have, as the settings of one of two retrievers, is averaged over
    within these.

    Returns:
        level -> places of runs, as many for every level, each as often as it counts; and how many
        combinations they are of. Empty and 0 if no combination of the others has all levels.
    """
    places = [i for i, level in enumerate(factor.of_run) if level != NONE]
    others = [f for f in varied if f is not factor and all(f.of_run[i] != NONE for i in places)]
    by_others: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in places:
        by_others[tuple(other.of_run[i] for other in others)][factor.of_run[i]].append(i)
    levels = {factor.of_run[i] for i in places}
    common = [cells for cells in by_others.values() if cells.keys() == levels]
    times = lcm(*(len(cell) for cells in common for cell in cells.values()))
    runs: dict[str, list[int]] = defaultdict(list)
    for cells in common:
        for level, cell in cells.items():
            runs[level] += cell * (times // len(cell))
    return dict(runs), len(common)


def _averages(groups: Sequence[Sequence[int]], scores: Sequence[Measured]) -> list[Estimated]:
    """Return the average score of each group of runs, given by their places.

    An average of means over the same queries is a mean over these, which is quicker to test.
    """
    used = [scores[i] for i in sorted({i for places in groups for i in places})]
    has_value = [~np.isnan(score.values) for score in used]
    of_means = all(np.array_equal(has_value[0], h) for h in has_value) and all(
        s.is_mean for s in used
    )
    averages: list[Estimated] = []
    for places in groups:
        parts = [scores[i] for i in places]
        if of_means:
            v = np.mean([part.values for part in parts], axis=0)
            average = mean_of(parts[0].name, v, parts[0].spec)
            averages.append((average.metric, average.statistics))
        else:
            metric = AveragedMetric([part.metric for part in parts])
            averages.append((metric, np.hstack([part.statistics for part in parts])))
    return averages


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
            paired = stats.compare(mine, theirs, metric.value, of_rows=metric.of_rows)
            bounds = stats.interval_of_difference(metric, mine, theirs)
            difference = Tested(paired.difference, *bounds, paired.p)
        tested.append(TestedScore(levels[i], e.value, e.low, e.high, difference))
    return tested


def _corrected(tested: Sequence[TestedScore]) -> list[TestedScore]:
    p_values = iter(stats.holm([each.difference.p for each in tested if each.difference]))
    return [
        replace(each, difference=each.difference and replace(each.difference, p=next(p_values)))
        for each in tested
    ]


def _conclude(runs: Sequence[Result]) -> Conclusion | None:
    kept = [run for run in runs if not run.is_bound and run.scores]
    notes = []
    if n_bounds := sum(run.is_bound for run in runs):
        notes.append(f"{counted(n_bounds, 'upper or lower bound')} left out.")
    if n_empty := sum(not run.is_bound and not run.scores for run in runs):
        notes.append(f"{counted(n_empty, 'run')} left out: no query has a reference.")
    if not kept:
        return None
    metric, why = leading_metric(*_by_tables(kept))
    notes += [f"{why}."] if why else []
    having = [run for run in kept if metric in {*run.scores}]  # by its whole name
    runs = [run for run in having if run.scores[metric].n]
    if len(runs) < 2:
        return None
    if len(runs) < len(having):
        n_without = counted(len(having) - len(runs), "run")
        notes.append(f"{n_without} left out: {metric} is over no query.")
    scores = [run.measured(metric) for run in runs]
    varied = factors(runs)
    effects, unclear = main_effects(varied, scores)
    if unclear:
        notes.append(
            f"{' and '.join(unclear)}: no effect of its own is known, because no cells differ in "
            "it alone."
        )
    sizes = [int((~np.isnan(score.values)).sum()) for score in scores]
    if min(sizes) < max(sizes):
        notes.append(f"{metric} is over {min(sizes):,} to {max(sizes):,} queries, by run.")
    by_tables = _by_tables(runs)
    return Conclusion(
        runs[0].task,
        f"{runs[0].corpus} {runs[0].split}",
        metric,
        scores[0].spec,
        runs[0].scores[metric].n,
        tuple(_ranking(group, metric, len(by_tables) > 1) for group in by_tables),
        tuple(effects),
        tuple(notes),
    )


def _by_tables(runs: Sequence[Result]) -> list[list[Result]]:
    groups: dict[str, list[Result]] = {}
    for run in runs:
        groups.setdefault(run.identity.corpus_fingerprint, []).append(run)
    return list(groups.values())


def _ranking(runs: Sequence[Result], metric: str, tables_vary: bool) -> Ranking:
    measured, varied = [run.measured(metric) for run in runs], factors(runs)
    scores, spec = [(each.metric, each.statistics) for each in measured], measured[0].spec
    levels = [tuple(factor.of_run[i] for factor in varied) for i in range(len(runs))]
    places = [
        replace(place, folder=str(run.folder))
        for run, place in zip(runs, _tested(scores, levels, spec), strict=True)
    ]
    places.sort(key=lambda place: -spec.merit(place.score))
    mixed_in = " + ".join(runs[0].asked.distractors) or "no distractors"
    names = tuple(factor.name for factor in varied)
    return Ranking(mixed_in if tables_vary else "", names, tuple(_corrected(places)))


# Words and tables

_NAMED = 3
"""Cells that a sentence names."""


def _on_best(conclusion: Conclusion, ranking: Ranking) -> Iterator[str]:
    best, *others = ranking.places
    if not others:
        return
    where = f" with {ranking.tables}" if ranking.tables else ""
    tied = sum(place.score == best.score for place in others)
    same = f"; {counted(tied, 'other cell')} with the same score" if tied else ""
    bounds = conclusion.spec.interval(best.low, best.high)
    yield (
        f"{conclusion.corpus}{where}, {conclusion.n:,} queries: the best of {len(ranking.places)} "
        f"cells by {conclusion.metric} is {_settings(ranking, best)}, with "
        f"{conclusion.spec.text(best.score)} (95% {bounds}){same}."
    )
    near = [_settings(ranking, place) for place in others if not place.is_apart]
    how = f"paired randomisation tests, corrected for {len(others)} (Holm)"
    if not near:
        yield f"Every other cell is significantly worse (p < {p_text(SIGNIFICANT)}; {how})."
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


_DIFFERENCE = (
    Column("from\nthe best", right=True, label="from the best"),
    Column("95%", right=True, below=True, label="95% of the difference"),
    Column("p", right=True),
)


def _ranking_table(conclusion: Conclusion, ranking: Ranking, most: int | None) -> TextTable:
    columns = [
        Column("", right=True, label="rank"),
        *(Column(name, prose=True) for name in ranking.factors),  # values may be long lists
        Column(conclusion.metric, right=True),
        Column("95%", right=True, below=True, label="95% of the score"),
        *_DIFFERENCE,
    ]
    shown = ranking.places[:most]
    rows = [
        [str(rank), *place.levels, *_numbers(conclusion, place)]
        for rank, place in enumerate(shown, start=1)
    ]
    where = f" with {ranking.tables}" if ranking.tables else ""
    title = f"{conclusion.corpus}{where}: cells by {conclusion.metric}"
    left = len(ranking.places) - len(shown)
    note = f"{left} more, all in the file NAME.conclusions.md." if left else None
    apart = [i for i, place in enumerate(shown) if place.is_apart]
    return TextTable(columns, rows, title, frozenset(apart[:1]), note)


def _effects_table(conclusion: Conclusion) -> TextTable:
    columns = [
        Column("setting"),
        Column("value", prose=True),
        Column("mean", right=True),
        Column("95%", right=True, below=True, label="95% of the mean"),
        *_DIFFERENCE,
    ]
    rows: list[list[str]] = []
    rules: set[int] = set()
    for effect in conclusion.effects:
        rules |= {len(rows)} if rows else set()
        for i, level in enumerate(effect.levels):
            rows.append(["" if i else effect.factor, *level.levels, *_numbers(conclusion, level)])
    title = f"{conclusion.corpus}: the effect of each setting on {conclusion.metric}"
    times = ", ".join(f"{effect.factor} {effect.combinations}" for effect in conclusion.effects)
    note = (
        "A mean is over the same combinations of the other settings for every value of a setting "
        f"({times}). p: paired randomisation test of two means, corrected for all of these tests "
        "(Holm)."
    )
    return TextTable(columns, rows, title, frozenset(rules), note)


def _numbers(conclusion: Conclusion, row: TestedScore) -> list[str]:
    spec, difference = conclusion.spec, row.difference
    score = [spec.text(row.score), spec.interval(row.low, row.high)]
    if difference is None:
        return [*score, "best", "", ""]
    bounds = spec.interval(difference.low, difference.high, " to ", "+")
    return [*score, spec.text(difference.value, signed=True), bounds, p_text(difference.p)]
