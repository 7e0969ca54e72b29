"""The table of a paper: methods × corpora, the best in bold, tested against a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.metric import MetricSpec
from target_bench.metrics import stats
from target_bench.metrics.scores import main_metrics, specs_of
from target_bench.metrics.stats import TestName
from target_bench.reporting.compare import (
    check_comparable,
    compare,
    leading_metric,
    read_once,
)
from target_bench.reporting.comparison import Row
from target_bench.runs.differences import labels, method_of
from target_bench.runs.result import Result

Data = tuple[Any, ...]
"""What a column is of: task, corpus, split, distractors, and the part of the queries."""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """Runs of several corpora: a row per method, a column per corpus and metric.

    Attributes:
        task: short name of the task.
        methods: what each method is called, in the order in which they were named.
        corpora: name and split of each corpus, with distractors.
        metrics: the metrics, in the order in which they are shown.
        baseline: the method that the others are compared with.
        cells: (metric, corpus, method) -> score, interval and tested difference; of the runs that
            there are.
        runs: (corpus, method) -> the run folder.
        test: ``randomization`` or ``bootstrap``.
        family: the metrics that are tested; the others are descriptive.
        n_tests: how many tests p-values are corrected for: all methods on all corpora.
        specs: the declaration of each metric.
        notes: what a reader should know.
    """

    task: str
    methods: tuple[str, ...]
    corpora: tuple[str, ...]
    metrics: tuple[str, ...]
    baseline: str
    cells: Mapping[tuple[str, str, str], Row]
    runs: Mapping[tuple[str, str], Path]
    test: TestName
    family: tuple[str, ...]
    n_tests: int
    specs: Mapping[str, MetricSpec]
    notes: tuple[str, ...] = field(default=())

    def is_best(self, metric: str, corpus: str, method: str) -> bool:
        """Whether no other method has a better score on a corpus; alone there, none is best."""
        rows = [self.cells.get((metric, corpus, name)) for name in self.methods]
        scores = [row.score for row in rows if row is not None and row.score == row.score]
        mine = self.cells.get((metric, corpus, method))
        if mine is None or len(scores) < 2:
            return False
        return mine.score == max(scores, key=self.specs[metric].merit)

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench compare --json`` prints."""
        return {
            "task": self.task,
            "methods": list(self.methods),
            "corpora": list(self.corpora),
            "metrics": list(self.metrics),
            "baseline": self.baseline,
            "test": self.test,
            "family": list(self.family),
            "n_tests": self.n_tests,
            "cells": [
                {
                    "corpus": corpus,
                    **row.to_json(),
                    "best": self.is_best(metric, corpus, method),
                    "folder": str(self.runs[corpus, method]),
                }
                for (metric, corpus, method), row in self.cells.items()
            ],
            "specs": {name: spec.to_json() for name, spec in self.specs.items()},
            "notes": list(self.notes),
        }


def several_corpora(folders: Sequence[Path]) -> bool:
    """Return whether these are runs of several corpora, with methods to compare on one of them."""
    runs = read_once(folders)
    groups = _groups(runs)
    return len(groups) > 1 and any(len(group) > 1 for group in groups.values())


def compare_corpora(
    folders: Sequence[Path],
    metrics: Sequence[str] = (),
    baseline: Path | None = None,
    *,
    test: TestName = "randomization",
    resamples: int = stats.RESAMPLES,
    seed: int = 0,
) -> PaperTable:
    """Compare methods on several corpora, each with a baseline on the same queries.

    Runs of one method have the same name, or else the same retriever and generator with the same
    settings.

    Args:
        folders: run folders; a method may lack runs on some corpora.
        metrics: which metrics; all of them are tested. Default: as for ``compare``, of those that
            the runs of all corpora have.
        baseline: a run of the method that the others are compared with; default: the first run.
        test: as for ``compare``.
        resamples: how many samples a test draws.
        seed: of the random numbers.

    Raises:
        ConfigError: two runs of a method on one corpus, a corpus without the baseline, or an
            unknown metric.
        DataError: runs of one corpus were asked other queries, or runs are of several tasks.
        StoreError: a run is not finished, or damaged.
    """
    runs = read_once([*folders, *([baseline] if baseline else [])])
    for other in runs:
        if other.task != runs[0].task:
            check_comparable(runs[0], other)
    groups = _groups(runs)
    keys = {run.folder: method_of(run) for run in runs}
    named = _names(runs, keys)
    base = next((r for r in runs if baseline and r.folder.resolve() == baseline.resolve()), runs[0])
    corpora = _corpora(list(groups))
    cells: dict[tuple[str, str, str], Row] = {}
    placed: dict[tuple[str, str], Path] = {}
    shared = list(dict.fromkeys(metrics)) or _shared(runs)
    for run in runs:
        for metric in shared:
            run.measured(metric)  # an unknown metric is reported before any test
    for data, group in groups.items():
        corpus = corpora[data]
        own = {named[keys[run.folder]]: run for run in group}
        _check(corpus, group, keys, keys[base.folder], named)
        first = own[named[keys[base.folder]]]
        placed |= {(corpus, name): run.folder for name, run in own.items()}
        if len(group) == 1:
            cells |= {(m, corpus, named[keys[base.folder]]): _alone(first, m) for m in shared}
            continue
        comparison = compare(
            [run.folder for run in group],
            shared,
            first.folder,
            test=test,
            resamples=resamples,
            seed=seed,
        )
        by_folder = {folder: name for name, folder in comparison.runs.items()}
        called = {by_folder[run.folder]: name for name, run in own.items()}
        cells |= {
            (row.metric, corpus, called[row.run]): replace(row, run=called[row.run])
            for row in comparison.rows
        }
    family, why = tuple(shared), None
    if not metrics:
        lead, why = leading_metric(*groups.values(), among=shared)
        family = (lead,)
    corrected, n_tests = _corrected(cells, family)
    methods = tuple(named.values())
    return PaperTable(
        runs[0].task,
        methods,
        tuple(corpora.values()),
        tuple(shared),
        named[keys[base.folder]],
        corrected,
        placed,
        test,
        family,
        n_tests,
        specs_of({name: runs[0].scores[name] for name in shared}),
        (
            *([f"{why}."] if why else []),
            *_missing(methods, tuple(corpora.values()), placed),
        ),
    )


def _groups(runs: Sequence[Result]) -> dict[Data, list[Result]]:
    by_data: dict[Data, list[Result]] = {}
    for run in runs:
        asked = run.asked
        part = (asked.about, asked.database, asked.limit)
        key = (run.task, run.corpus, run.split, asked.distractors, *part)
        by_data.setdefault(key, []).append(run)
    return by_data


def _corpora(groups: Sequence[Data]) -> dict[Data, str]:
    """Return the shortest words that tell the columns apart."""
    names_of_data = {}
    for data in groups:
        _, corpus, split, distractors, *part = data
        words = [" + ".join([f"{corpus} {split}", *distractors])]
        names = ("about", "database", "limit")
        words += [f"{n} {v}" for n, v in zip(names, part, strict=True) if v is not None]
        names_of_data[data] = ", ".join(words)
    return names_of_data


def _names(
    runs: Sequence[Result], keys: Mapping[Path, tuple[str, ...]]
) -> dict[tuple[str, ...], str]:
    """Return the label of each method."""
    first: dict[tuple[str, ...], Result] = {}
    for run in runs:
        first.setdefault(keys[run.folder], run)
    return dict(zip(first, labels(list(first.values())), strict=True))


def _check(
    corpus: str,
    group: Sequence[Result],
    keys: Mapping[Path, tuple[str, ...]],
    base: tuple[str, ...],
    named: Mapping[tuple[str, ...], str],
) -> None:
    seen: dict[tuple[str, ...], Result] = {}
    for run in group:
        other = seen.setdefault(keys[run.folder], run)
        if other is not run:
            raise ConfigError(
                f"{other.folder.name} and {run.folder.name} are both runs of "
                f"{named[keys[run.folder]]} on {corpus}; leave one out, or give them names"
            )
    if base not in seen:
        raise ConfigError(
            f"no run of {named[base]}, the baseline, is on {corpus}: run it there, name another "
            "run with --baseline, or leave this corpus out"
        )


def _shared(runs: Sequence[Result]) -> list[str]:
    shared = [m for m in main_metrics(runs[0].scores) if all(m in run.scores for run in runs)]
    if not shared:
        raise ConfigError("the runs have no metric in common; name some with --metric")
    return shared


def _alone(run: Result, metric: str) -> Row:
    score = run.scores[metric]
    return Row(metric, "", score.n, run.label, score.value, score.low, score.high, None)


def _corrected(
    cells: Mapping[tuple[str, str, str], Row], family: Sequence[str]
) -> tuple[dict[tuple[str, str, str], Row], int]:
    """Return the cells with p-values corrected for all methods and corpora."""
    tested = {
        key: row.difference.p
        for key, row in cells.items()
        if row.difference is not None and row.metric in family
    }
    p_values = dict(zip(tested, stats.holm(list(tested.values())), strict=True))
    corrected = {}
    for key, row in cells.items():
        if row.difference is not None:
            row = replace(row, difference=replace(row.difference, p_corrected=p_values.get(key)))
        corrected[key] = row
    return corrected, len(tested)


def _missing(
    methods: Sequence[str], corpora: Sequence[str], placed: Mapping[tuple[str, str], Path]
) -> list[str]:
    return [
        f"{method} was not run on {', '.join(absent)}."
        for method in methods
        if (absent := [corpus for corpus in corpora if (corpus, method) not in placed])
    ]
