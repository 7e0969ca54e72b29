"""What a sweep shows: a ranking of its runs with tests, and main effects.

The effect of a setting: the score of each of its values is averaged over the combinations of the
other settings that all of its values have, so that nothing else differs between two averages.
Both are rows of a comparison whose baseline is the best one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Any

import numpy as np

from target_bench.core import text_tables
from target_bench.core.metric import compute_score
from target_bench.core.text_tables import TextTable, count_noun
from target_bench.reporting.compare import corpus_name, leading_metric
from target_bench.reporting.layouts import lay_out_tests
from target_bench.reporting.rows import Comparison, Row, Values, correct, make_rows
from target_bench.reporting.sentences import (
    capitalize,
    describe_differences,
    list_best,
    list_names,
)
from target_bench.runs.differences import PLUGINS, find_varying, read_settings
from target_bench.runs.result import Result
from target_bench.runs.score_tables import is_sampled
from target_bench.runs.slicing import MetricValues, make_mean, read_metric

DEFAULT = "default"  # the level of a run that leaves a setting at its default
NONE = "–"  # of a run whose plug-in has no such setting, or never a chosen one

Factors = Mapping[str, Sequence[str]]
"""What varies between runs: name of a setting, as ``k1`` -> its level in each run."""


@dataclass(frozen=True, slots=True)
class MainEffect:
    """How a score changes with a setting.

    Attributes:
        factor: name of the setting, which its rows have as their subset.
        rows: the average of each level, which the row calls its system.
        combinations: how many combinations of the other settings an average is over.
    """

    factor: str
    rows: tuple[Row, ...]
    combinations: int

    @property
    def is_significant(self) -> bool:
        """Whether a level differs significantly from the best one."""
        return any(row.verdict == "worse" for row in self.rows)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What runs on the same queries show.

    Attributes:
        metric: what they are ranked by.
        rankings: the runs on each choice of distractors, best first, each compared with the best.
        effects: main effects, largest first.
        notes: what a reader should know.
    """

    metric: str
    rankings: tuple[Comparison, ...]
    effects: tuple[MainEffect, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the conclusion as JSON."""
        return {
            "metric": self.metric,
            "rankings": [ranking.to_json() for ranking in self.rankings],
            "effects": [
                {
                    "factor": effect.factor,
                    "combinations": effect.combinations,
                    "rows": [row.to_json() for row in effect.rows],
                }
                for effect in self.effects
            ],
            "notes": list(self.notes),
        }


def conclude(runs: Iterable[Result]) -> list[Conclusion]:
    """Conclude from runs, those of each task and set of queries by themselves.

    They are ranked by the main metric of the task; upper and lower bounds (``oracle``,
    ``no-context``, ``gold``, ``empty``) are left out, and sets of queries with a single run.

    Args:
        runs: finished runs, as those of a sweep.

    Raises:
        StoreError: a run is not finished, or damaged.
    """
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for run in {run.folder.resolve(): run for run in runs}.values():
        groups[
            run.identity.task,
            run.identity.corpus,
            run.identity.split,
            run.identity.queries_fingerprint,
        ].append(run)
    return [conclusion for group in groups.values() if (conclusion := _conclude(group))]


def _conclude(runs: Sequence[Result]) -> Conclusion | None:
    systems = [run for run in runs if not run.identity.is_bound]
    scored = [run for run in systems if run.stored.scores]
    if not scored:
        return None
    metric, why = leading_metric(*_group_by_tables(scored))
    ranked = [run for run in scored if metric in {*run.stored.scores} and run.scores[metric].n]
    if len(ranked) < 2:
        return None
    scores = [read_metric(run, metric) for run in ranked]
    sizes = [int((~np.isnan(score.values)).sum()) for score in scores]
    notes = []
    if n_bounds := len(runs) - len(systems):
        notes.append(f"{count_noun(n_bounds, 'upper or lower bound')} left out.")
    if n_empty := len(systems) - len(ranked):
        notes.append(f"{count_noun(n_empty, 'run')} left out: no {metric} over any query.")
    if is_sampled(ranked[0]):
        notes.append("The queries are a sample (--limit).")
    if why:
        notes.append(f"{why}.")
    effects: list[MainEffect] = []
    if are_means(scores):
        effects, unclear = main_effects(list_factors(ranked), scores)
        if unclear:
            notes.append(
                f"{' and '.join(unclear)}: no effect of its own is known, because no cells differ "
                "in it alone."
            )
    else:
        notes.append(f"No main effects: {metric} is no mean over the same queries of all runs.")
    if len({*sizes}) > 1:
        notes.append(f"{metric} is over {min(sizes):,} to {max(sizes):,} queries, by run.")
    rankings = tuple(_rank(group, metric) for group in _group_by_tables(ranked))
    return Conclusion(metric, rankings, tuple(effects), tuple(notes))


def _group_by_tables(runs: Sequence[Result]) -> list[list[Result]]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for run in runs:
        groups[run.identity.corpus_fingerprint].append(run)
    return list(groups.values())


def _rank(runs: Sequence[Result], metric: str) -> Comparison:
    corpus, cells = corpus_name(runs[0]), dict(zip(_name_cells(runs), runs, strict=True))
    values = {
        cell: Values(read_metric(run, metric), run.stored.scores[metric])
        for cell, run in cells.items()
    }
    rows = correct(_test_against_best(corpus, metric, values), [metric])
    rows.sort(key=lambda row: -row.spec.merit(row.score.value))
    return Comparison(
        task=runs[0].identity.task,
        corpora=(corpus,),
        systems=tuple(row.system for row in rows),
        baseline=next(row.system for row in rows if row.difference is None),
        tested=(metric,),
        rows=tuple(rows),
        folders={(corpus, cell): run.folder for cell, run in cells.items()},
    )


def _name_cells(runs: Sequence[Result]) -> list[str]:
    """Name the runs by what varies between them: ``bm25, k1=0.9``."""
    varied = list_factors(runs)
    names = [run.command.label for run in runs]
    if varied:
        names = [
            ", ".join(
                level if name in ("retriever", "generator") else f"{name}={level}"
                for name, level in zip(varied, levels, strict=True)
                if level != NONE
            )
            for levels in zip(*varied.values(), strict=True)
        ]
    return [
        name if names.count(name) == 1 else f"{name} ({run.run.key})"
        for name, run in zip(names, runs, strict=True)
    ]


def _test_against_best(corpus: str, metric: str, values: Mapping[str, Values]) -> list[Row]:
    """Return a row for each score, with its difference from the best one; p is not corrected."""

    def merit(name: str) -> float:
        measured = values[name].measured
        score = compute_score(measured.metric, measured.statistics)
        return -inf if isnan(score) else measured.spec.merit(score)

    systems = {name: {metric: value} for name, value in values.items()}
    return make_rows(corpus, systems, max(values, key=merit))


# What varies between runs

# These decide which queries are asked, or how deep; runs of one conclusion share them.
_SHARED = ("corpus", "split", "about", "limit", "task", "k")


def list_factors(runs: Sequence[Result]) -> dict[str, tuple[str, ...]]:
    """Return what varies between runs that were asked the same queries.

    A setting that all runs of a plug-in share belongs to the plug-in and is no factor.
    """
    chosen = [read_settings(run) for run in runs]
    columns: dict[str, tuple[str, ...]] = {}
    for name in find_varying(chosen):
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


def sort_levels(column: Sequence[str]) -> list[str]:
    """Return the levels that runs have: numbers ascending, else in the order of the runs."""
    levels = [level for level in dict.fromkeys(column) if level != NONE]
    try:
        return sorted(levels, key=float)
    except ValueError:
        return levels


# Main effects


def main_effects(
    varied: Factors, scores: Sequence[MetricValues]
) -> tuple[list[MainEffect], list[str]]:
    """Return the main effects, largest first; and the factors whose effect is not known."""
    effects, unclear = [], []
    metric, spec = scores[0].name, scores[0].spec
    for name, column in varied.items():
        combinations = _match_combinations(name, varied)
        if not combinations:
            unclear.append(name)
            continue
        averages = {}
        for level in sort_levels(column):
            cells = [[scores[i].values for i in cell[level]] for cell in combinations]
            mean = np.mean([np.mean(cell, axis=0) for cell in cells], axis=0)
            averages[level] = Values(make_mean(metric, mean, spec))
        rows = [replace(row, subset=name) for row in _test_against_best("", metric, averages)]
        effects.append(MainEffect(name, tuple(rows), len(combinations)))
    corrected = iter(correct([row for effect in effects for row in effect.rows], [metric]))
    effects = [replace(e, rows=tuple(next(corrected) for _ in e.rows)) for e in effects]
    effects.sort(key=lambda effect: -float(np.ptp([row.score.value for row in effect.rows])))
    return effects, unclear


def _match_combinations(name: str, varied: Factors) -> list[dict[str, list[int]]]:
    """Return level -> runs, for each combination of the other factors that all levels have.

    A factor that only some levels have, as the settings of one of two retrievers, is averaged over
    within these.
    """
    column = varied[name]
    having = [i for i, level in enumerate(column) if level != NONE]
    others = [o for n, o in varied.items() if n != name and all(o[i] != NONE for i in having)]
    cells: dict[tuple[str, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for i in having:
        cells[tuple(other[i] for other in others)][column[i]].append(i)
    levels = {column[i] for i in having}
    return [cell for cell in cells.values() if cell.keys() == levels] if len(levels) > 1 else []


def are_means(scores: Sequence[MetricValues]) -> bool:
    """Return whether scores are means over the same queries, so that they can be averaged."""
    same_queries = len({np.isnan(score.values).tobytes() for score in scores}) == 1
    return same_queries and all(score.is_mean for score in scores)


# Sentences and tables


def to_markdown(name: str, conclusions: Sequence[Conclusion]) -> str:
    """Return the file ``NAME.conclusions.md`` of a sweep."""
    lines = [f"# What the sweep {name} shows", ""]
    for conclusion in conclusions:
        first = conclusion.rankings[0]
        lines += [f"## {first.corpora[0]}: {first.task}, {conclusion.metric}", ""]
        for sentence in describe(conclusion):
            lines += [sentence.replace("*", "\\*"), ""]
        lines += [text_tables.markdown(lay_out(conclusion)), ""]
    return "\n".join(lines)


def describe(conclusion: Conclusion) -> list[str]:
    """Return sentences on the best cell, the settings that matter, and what limits both."""
    lines = []
    for best, *others in (ranking.rows for ranking in conclusion.rankings):
        if others:
            bounds = best.spec.interval(best.score.low, best.score.high)
            scores = [(row.system, row.score.value) for row in (best, *others)]
            names = list_best(scores, best.score.value)
            verb = "is" if len(names) == 1 else "are"
            lines += [
                f"{best.corpus}, {best.score.n:,} queries: the best of {1 + len(others)} cells by "
                f"{best.metric} {verb} {list_names(names)}, with "
                f"{best.spec.text(best.score.value)} (95% {bounds}).",
                " ".join(f"{capitalize(part)}." for part in describe_differences(others)),
                "The best cell was chosen on these queries, so its score is slightly optimistic; "
                "confirm it on another split.",
            ]
    ranges = [_describe_range(effect) for effect in conclusion.effects if effect.is_significant]
    if ranges:
        lines.append(f"Significant effects on the average, the largest first: {'; '.join(ranges)}.")
    unclear = [effect.factor for effect in conclusion.effects if not effect.is_significant]
    if unclear:
        lines.append(f"No significant effect on the average: {', '.join(unclear)}.")
    return [*lines, *conclusion.notes]


def _describe_range(effect: MainEffect) -> str:
    worst, *_, best = sorted(effect.rows, key=lambda row: row.spec.merit(row.score.value))
    ends = (f"{row.spec.text(row.score.value)} with {row.system}" for row in (worst, best))
    return f"{effect.factor} ({' to '.join(ends)})"


def lay_out(conclusion: Conclusion, most: int | None = None) -> list[TextTable]:
    """Return rankings, of which ``most`` places are shown, and main effects."""
    shown = []
    for ranking in conclusion.rankings:
        title = f"{ranking.corpora[0]}: cells by {conclusion.metric}"
        table = lay_out_tests(ranking.rows[:most], title, "cell")
        left = len(ranking.rows) - len(table.rows)
        more = f"{left} more, all in the file NAME.conclusions.md." if left else None
        shown.append(replace(table, note=more))
    if conclusion.effects:
        rows = [row for effect in conclusion.effects for row in effect.rows]
        times = ", ".join(f"{effect.factor} {effect.combinations}" for effect in conclusion.effects)
        title = f"The effect of each setting on {conclusion.metric}"
        note = (
            "A score is a mean over the same combinations of the other settings for every value of "
            f"a setting ({times}). p: paired randomisation test of two means, corrected for all of "
            "these tests (Holm)."
        )
        shown.append(replace(lay_out_tests(rows, title, "value", "setting"), note=note))
    return shown
