"""The conclusions of a sweep: a ranking of its runs with tests, main effects, a table of two."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.errors import ConfigError
from target_bench.core.metric import MetricSpec
from target_bench.metrics.stats import estimate
from target_bench.reporting.compare import is_bound, leading_metric
from target_bench.reporting.conclusions.effects import (
    Effect,
    Tested,
    averages,
    corrected,
    effects,
    matched,
    paired_difference,
)
from target_bench.reporting.conclusions.factors import Factor, factors
from target_bench.runs.measured import Measured
from target_bench.runs.result import Result, read_run

LEVEL = 0.05
"""A corrected p-value from here on does not tell two cells apart."""


@dataclass(frozen=True, slots=True)
class Place:
    """A run in a ranking.

    Attributes:
        folder: the run folder.
        levels: its level of each factor, in the order of ``Ranking.factors``.
        score: the metric.
        low: lower bound of its 95% interval.
        high: upper bound.
        difference: from the best run, tested; None for the best one.
    """

    folder: Path
    levels: tuple[str, ...]
    score: float
    low: float
    high: float
    difference: Tested | None = None

    @property
    def is_apart(self) -> bool:
        """Whether the test shows that it is worse than the best run."""
        return self.difference is not None and self.difference.p < LEVEL


@dataclass(frozen=True, slots=True)
class Ranking:
    """Runs on the same queries over the same tables, best first.

    Attributes:
        tables: the distractors that were mixed in, where sweeps vary them; else empty.
        factors: names of what varies between these runs.
        places: the runs.
    """

    tables: str
    factors: tuple[str, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Scores by the levels of two factors, averaged over all others.

    Attributes:
        rows: the factor of the rows.
        columns: the factor of the columns.
        row_levels: its levels.
        column_levels: its levels.
        scores: row -> column -> score; None where there is no run.
        averaged_over: how many runs a score is the average of, at most.
    """

    rows: str
    columns: str
    row_levels: tuple[str, ...]
    column_levels: tuple[str, ...]
    scores: tuple[tuple[float | None, ...], ...]
    averaged_over: int

    @property
    def is_crossed(self) -> bool:
        """Whether every row and every column has a score."""
        lines = (*self.scores, *zip(*self.scores, strict=True))
        return all(any(score is not None for score in line) for line in lines)


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
        grid: the two factors with the largest effects that cross; None without such.
        notes: what a reader should know.
    """

    task: str
    corpus: str
    metric: str
    spec: MetricSpec
    n: int
    rankings: tuple[Ranking, ...]
    effects: tuple[Effect, ...]
    grid: Grid | None
    notes: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """Task, corpus and split, as they may stand in the name of a file."""
        return f"{self.task}-{self.corpus}".replace(" ", "-")

    def to_json(self) -> dict[str, Any]:
        """Return the conclusion as JSON; a run as the path of its folder."""
        record = asdict(self) | {"spec": self.spec.to_json()}
        for ranking in record["rankings"]:
            for place in ranking["places"]:
                place["folder"] = str(place["folder"])
        return record


def conclude(
    folders: Iterable[Path],
    metric: str | None = None,
    crossed: Sequence[str] = (),
    asked: Mapping[Path, Mapping[str, Any]] | None = None,
) -> list[Conclusion]:
    """Conclude from runs, those of each set of queries by themselves.

    Args:
        folders: finished runs, as those of a sweep.
        metric: what they are ranked by; default: that which leads, by ``scores.leading``.
        crossed: the two settings of ``Conclusion.grid``; default: those with the largest effects.

        asked: folder -> entries of ``Asked`` as the cell of a sweep has them. A run that was there
            before keeps the words of the command that made it, which may leave out a setting that
            the cell names.

    Returns:
        One conclusion for each task and set of queries of which there are two runs at least; the
        upper and lower bounds (``oracle``, ``no-context``, ``gold``, ``empty``) are left out.

    Raises:
        ConfigError: none of the runs has the metric, or a setting does not vary.
        StoreError: a run is not finished, or damaged.
    """
    once = {folder.resolve(): folder for folder in folders}
    words = {folder.resolve(): entries for folder, entries in (asked or {}).items()}
    read = [_asked_as(read_run(folder), words.get(place)) for place, folder in once.items()]
    runs = sorted(read, key=_queries)
    groups = [list(group) for _, group in groupby(runs, key=_queries)]
    order = list(once.values())
    in_order = [sorted(group, key=lambda run: order.index(run.folder)) for group in groups]
    in_order.sort(key=lambda group: order.index(group[0].folder))
    found = [_conclude(group, metric, crossed) for group in in_order]
    if metric is not None and runs and not any(metric in run.scores for run in runs):
        names = ", ".join(dict.fromkeys(name for run in runs for name in run.scores))
        raise ConfigError(f"no run of the sweep has the metric {metric!r}; there are {names}")
    return [one for one in found if one is not None]


def _asked_as(run: Result, entries: Mapping[str, Any] | None) -> Result:
    return run if entries is None else Result(run.folder, asked=replace(run.asked, **entries))


def _queries(run: Result) -> tuple[str, ...]:
    one = run.identity
    return one.task, one.corpus, one.split, one.queries_fingerprint


def _conclude(
    runs: Sequence[Result], metric: str | None, crossed: Sequence[str]
) -> Conclusion | None:
    kept, notes = _without_bounds(runs)
    scored = [run for run in kept if run.scores]
    if len(scored) < len(kept):
        notes.append("Runs without scores are left out: no query has a reference.")
    if metric is None and scored:
        metric, why = leading_metric(*_by_tables(scored))
        notes += [f"{why}."] if why else []
    kept = [run for run in scored if metric in run.scores]
    if metric is None or len(kept) < 2:
        return None
    scores = [run.measured(metric) for run in kept]
    over = [i for i, run in enumerate(kept) if run.scores[metric].n]
    if len(over) < 2:
        return None
    if len(over) < len(kept):
        notes.append(f"{metric} is over no query in {len(kept) - len(over)} of the runs; left out.")
    kept, scores = [kept[i] for i in over], [scores[i] for i in over]
    found = factors(kept)
    known, unclear = effects(found, scores)
    if unclear:
        notes.append(
            f"{' and '.join(unclear)}: no effect of its own is known, because no cells differ in "
            "it alone."
        )
    sizes = [int((~np.isnan(one.values)).sum()) for one in scores]
    if min(sizes) < max(sizes):
        notes.append(f"{metric} is over {min(sizes):,} to {max(sizes):,} queries, by run.")
    first = kept[0]
    return Conclusion(
        first.task,
        f"{first.corpus} {first.split}",
        metric,
        scores[0].spec,
        first.scores[metric].n,
        tuple(_rankings(kept, scores)),
        tuple(known),
        _grid(crossed, [one.factor for one in known], found, scores),
        tuple(notes),
    )


def _grid(
    asked: Sequence[str], known: Sequence[str], found: Sequence[Factor], scores: Sequence[Measured]
) -> Grid | None:
    """Return the table of the factors that were asked for, else of the first two that cross.

    A setting that only some retrievers have does not cross the retriever: columns would be empty.
    """
    if asked:
        return grid([_named(name, found) for name in asked], found, scores)
    pairs = combinations([_named(name, found) for name in known], 2)
    grids = (grid(pair, found, scores) for pair in pairs)
    return next((one for one in grids if one is not None and one.is_crossed), None)


def _named(name: str, found: Sequence[Factor]) -> Factor:
    for factor in found:
        if factor.name == name:
            return factor
    names = ", ".join(factor.name for factor in found)
    raise ConfigError(
        f"{name!r} is not a setting that varies between these runs; these do: {names}"
    )


def _by_tables(runs: Sequence[Result]) -> list[list[Result]]:
    groups: dict[str, list[Result]] = {}
    for run in runs:
        groups.setdefault(run.identity.corpus_fingerprint, []).append(run)
    return list(groups.values())


def _without_bounds(runs: Sequence[Result]) -> tuple[list[Result], list[str]]:
    kept = [run for run in runs if not is_bound(run)]
    left_out = len(runs) - len(kept)
    runs_are = "1 run is" if left_out == 1 else f"{left_out} runs are"
    return kept, [f"Of upper and lower bounds {runs_are} left out."] if left_out else []


def _rankings(runs: Sequence[Result], scores: Sequence[Any]) -> Iterable[Ranking]:
    tables = dict.fromkeys(run.identity.corpus_fingerprint for run in runs)
    for one in tables:
        places = [i for i, run in enumerate(runs) if run.identity.corpus_fingerprint == one]
        mixed_in = " + ".join(runs[places[0]].asked.distractors) or "no distractors"
        chosen = [runs[i] for i in places]
        ranked = _ranked(chosen, [scores[i] for i in places])
        names = tuple(factor.name for factor in factors(chosen))
        yield Ranking(mixed_in if len(tables) > 1 else "", names, ranked)


def _ranked(runs: Sequence[Result], scores: Sequence[Any]) -> tuple[Place, ...]:
    estimates = [estimate(one, one.statistics) for one in scores]
    spec = scores[0].spec
    order = sorted(range(len(runs)), key=lambda i: -spec.merit(estimates[i].value))
    best = scores[order[0]]
    tests = corrected([None, *(paired_difference(scores[i], best) for i in order[1:])])
    found = factors(runs)
    return tuple(
        Place(
            runs[i].folder,
            tuple(factor.of_run[i] for factor in found),
            estimates[i].value,
            estimates[i].low,
            estimates[i].high,
            test,
        )
        for i, test in zip(order, tests, strict=True)
    )


def grid(chosen: Sequence[Factor], found: Sequence[Factor], scores: Sequence[Any]) -> Grid | None:
    """Average scores by the levels of two factors; None if no other settings are common to them.

    Args:
        chosen: the factors of rows and columns.
        found: all factors.
        scores: a metric of each run.
    """
    rows, columns = chosen
    cells = matched(chosen, [factor for factor in found if factor not in chosen])
    if not cells:
        return None
    means = averages(cells, scores)
    values = {levels: float(one.value(one.statistics.sum(axis=0))) for levels, one in means.items()}
    by_row = [[values.get((row, column)) for column in columns.levels] for row in rows.levels]
    shown = tuple(tuple(None if v is None or np.isnan(v) else v for v in row) for row in by_row)
    times = max(len(set(places)) for places in cells.values())
    return Grid(rows.name, columns.name, tuple(rows.levels), tuple(columns.levels), shown, times)
