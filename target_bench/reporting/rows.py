"""One table of rows: systems on corpora, each tested against a baseline, corrected once.

``compare``, the table of a paper, ``gate``, the conclusions of a sweep, the verdict of a run and
the report are layouts of these rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from target_bench.core.metric import MetricSpec, Score, compute_score
from target_bench.metrics import stats
from target_bench.runs.slicing import Mask, MetricValues, score_part

Verdict = Literal["better", "worse", "not significantly different"]
SEED = 0  # of the randomisation tests: the same runs give the same p


@dataclass(frozen=True, slots=True)
class Difference:
    """A system less the baseline, on the same queries.

    Attributes:
        value: the difference of the scores.
        low: lower bound of its 95% interval.
        high: upper bound.
        p: two-sided p-value of this test alone.
        p_corrected: the same, corrected for all tested rows (Holm); None where it is not tested.
        exact: whether the p-value is over all swaps and not over sampled ones.
        wins: queries on which the system is better than the baseline.
        ties: those with equal values.
        losses: those on which it is worse.
        detectable: the smallest difference that as many queries are likely to show; None where
            there are too few to show any.
        low_by_database: lower bound of its 95% interval where the databases are a sample, too;
            None where the tables are in no databases.
        high_by_database: upper bound.
        p_by_database: of the test that swaps all answers to the questions of a database at once.
        p_by_database_corrected: the same, corrected for all tested rows.
    """

    value: float
    low: float
    high: float
    p: float
    p_corrected: float | None
    exact: bool
    wins: int
    ties: int
    losses: int
    detectable: float | None = None
    low_by_database: float | None = None
    high_by_database: float | None = None
    p_by_database: float | None = None
    p_by_database_corrected: float | None = None

    @property
    def marker(self) -> str:
        """``*``, ``**`` or ``***`` for a corrected p below 0.05, 0.01 or 0.001."""
        if self.p_corrected is None:
            return ""
        return "*" * sum(self.p_corrected < level for level in (0.05, 0.01, 0.001))


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one system on one corpus, over all queries or a subset of them.

    Attributes:
        corpus: name and split, with distractors.
        subset: which queries; empty for all.
        metric: its name.
        system: what the system is called.
        score: the metric with its interval; NaN over no query.
        spec: the declaration of the metric.
        difference: from the baseline; None for the baseline itself, and over no query.
        databases: how many databases the queries are about; None where they are about none or one.
        low_by_database: lower bound of the score's 95% interval where the databases are a sample.
        high_by_database: upper bound.
    """

    corpus: str
    subset: str
    metric: str
    system: str
    score: Score
    spec: MetricSpec
    difference: Difference | None = None
    databases: int | None = None
    low_by_database: float | None = None
    high_by_database: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the system is significantly better or worse than the baseline."""
        difference = self.difference
        if difference is None or not difference.marker:
            return "not significantly different"
        return "better" if self.spec.merit(difference.value) > 0 else "worse"

    def to_json(self) -> dict[str, Any]:
        """Return field -> value; NaN is None, because JSON has no NaN."""
        record: dict[str, Any] = {
            "corpus": self.corpus,
            "metric": self.metric,
            "slice": self.subset,
            "n": self.score.n,
            "run": self.system,
            "score": self.score.value,
            "low": self.score.low,
            "high": self.score.high,
            "difference": None if self.difference is None else asdict(self.difference),
            "databases": self.databases,
            "score_low_by_database": self.low_by_database,
            "score_high_by_database": self.high_by_database,
        }
        for values in (record, record["difference"] or {}):
            values |= {name: None for name, value in values.items() if value != value}
        return record


def flat_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a row, or of a check of a gate, without nesting."""
    differs = record["difference"] or dict.fromkeys(Difference.__dataclass_fields__)
    # ``low`` and ``high`` are those of the score.
    names = {"value": "difference", "low": "difference_low", "high": "difference_high"}
    flat = {name: value for name, value in record.items() if name != "difference"}
    return flat | {names.get(name, name): value for name, value in differs.items()}


class Values(NamedTuple):
    """A metric of a system: the contribution of each query, and the stored score of all."""

    measured: MetricValues
    stored: Score | None = None


def make_rows(
    corpus: str,
    systems: Mapping[str, Mapping[str, Values]],
    baseline: str,
    subsets: Mapping[str, Mask] | None = None,
    databases: Sequence[str] = (),
) -> list[Row]:
    """Score systems on one corpus and test each against the baseline; p is not corrected yet."""
    rows = []
    for metric, base in systems[baseline].items():
        everything = {"": np.ones(len(base.measured.values), dtype=np.bool_)}
        for subset, mask in (subsets or everything).items():
            clusters = [name for name, kept in zip(databases, mask, strict=False) if kept]
            if len(set(clusters)) < 2:
                clusters = []
            for system, metrics in systems.items():
                measured = metrics[metric].measured
                score = _score(metrics[metric], mask)
                row = Row(corpus, subset, metric, system, score, measured.spec)
                if system != baseline:
                    difference = _test(measured, base.measured, mask, clusters)
                    row = replace(row, difference=difference)
                if clusters and not isnan(score.value):
                    low, high = stats.interval_by_cluster(
                        measured.metric, measured.statistics[mask], clusters
                    )
                    n = len(set(clusters))
                    row = replace(row, databases=n, low_by_database=low, high_by_database=high)
                rows.append(row)
    return rows


def _score(values: Values, mask: Mask) -> Score:
    stored = values.stored
    # Intervals of other versions are computed again.
    if stored is not None and mask.all() and stats.SIGNATURE in stored.signature:
        return stored
    return score_part(values.measured, mask, stored)


def _test(
    measured: MetricValues, base: MetricValues, mask: Mask, clusters: Sequence[str]
) -> Difference | None:
    """Test a metric of two systems on a subset of the queries; None where it is over none."""
    metric, mine, theirs = measured.metric, measured.statistics[mask], base.statistics[mask]
    if any(isnan(compute_score(metric, statistics)) for statistics in (mine, theirs)):
        return None
    paired = stats.compare(mine, theirs, metric.value, seed=SEED)
    low, high = stats.interval_of_difference(metric, mine, theirs)
    counts = stats.wins_ties_losses(measured.values[mask], base.values[mask])
    wins, ties, losses = counts if measured.spec.higher_is_better else reversed(counts)
    difference = Difference(
        value=paired.difference,
        low=low,
        high=high,
        p=paired.p,
        p_corrected=None,
        exact=paired.exact,
        wins=wins,
        ties=ties,
        losses=losses,
        detectable=stats.detectable(metric, mine, theirs),
    )
    if not clusters:
        return difference
    low, high = stats.interval_of_difference_by_cluster(metric, mine, theirs, clusters)
    first, second = (stats.sum_by_cluster(side, clusters) for side in (mine, theirs))
    p, _ = stats.randomization_test(first, second, metric.value, seed=SEED)
    return replace(difference, low_by_database=low, high_by_database=high, p_by_database=p)


def correct(rows: Iterable[Row], tested: Iterable[str]) -> list[Row]:
    """Correct the p-values of all rows of the tested metrics for each other (Holm)."""
    rows, tested = list(rows), set(tested)
    family = [i for i, row in enumerate(rows) if row.difference and row.metric in tested]
    for name in ("p", "p_by_database"):
        p = {i: getattr(rows[i].difference, name) for i in family}
        p = {i: value for i, value in p.items() if value is not None}
        for i, corrected in zip(p, stats.holm([*p.values()]), strict=True):
            difference: Any = rows[i].difference
            difference = replace(difference, **{f"{name}_corrected": corrected})
            rows[i] = replace(rows[i], difference=difference)
    return rows


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Systems side by side, on one corpus or several; prints as tables.

    ```python
    from target_bench import compare, evaluate

    evaluate(["bm25", "tfidf"], "mini")
    comparison = compare(["bm25", "tfidf"])
    difference = comparison.rows[1].difference
    print(comparison.baseline, f"{difference.value:.3f}", difference.p_corrected < 0.001)
    # bm25 -0.046 True
    ```

    Attributes:
        task: short name of the task.
        corpora: name and split of each, with distractors.
        systems: what each system is called, in the order in which they were named.
        baseline: the system that the others are compared with.
        tested: the metrics whose p-values are corrected for each other; the others are
            descriptive.
        rows: by metric, then corpus, subset and system.
        folders: (corpus, system) -> the run folder, or the file of values.
        notes: what a reader should know.
        remarks: what a reader must know, however short the table is printed.
    """

    task: str
    corpora: tuple[str, ...]
    systems: tuple[str, ...]
    baseline: str
    tested: tuple[str, ...]
    rows: tuple[Row, ...]
    folders: Mapping[tuple[str, str], Path]
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def n_tests(self) -> int:
        """How many tests p-values are corrected for."""
        return sum(row.difference is not None and row.metric in self.tested for row in self.rows)

    @property
    def specs(self) -> dict[str, MetricSpec]:
        """Metric -> its declaration."""
        return {row.metric: row.spec for row in self.rows}

    @property
    def runs(self) -> dict[str, Path]:
        """What each system is called -> its folder, on the first corpus that it has."""
        first: dict[str, Path] = {}
        for (_, system), folder in self.folders.items():
            first.setdefault(system, folder)
        return first

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``target-bench compare --json`` prints."""
        return {
            "task": self.task,
            "corpora": list(self.corpora),
            "systems": list(self.systems),
            "baseline": self.baseline,
            "test": "randomization",
            "resamples": stats.RESAMPLES,
            "seed": SEED,
            "family": list(self.tested),
            "n_tests": self.n_tests,
            "rows": [
                row.to_json() | {"folder": str(self.folders[row.corpus, row.system])}
                for row in self.rows
            ],
            "specs": {name: spec.to_json() for name, spec in self.specs.items()},
            "notes": list(self.notes),
            "remarks": list(self.remarks),
        }

    def to_records(self) -> list[dict[str, Any]]:
        """Return a record without nesting for each row, with the baseline and the test."""
        more = {"baseline": self.baseline, "test": "randomization"}
        return [flat_record(row.to_json()) | more for row in self.rows]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        from target_bench.reporting.layouts import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from target_bench.core.html_view import html
        from target_bench.reporting.layouts import describe_tests, lay_out

        return html(lay_out(self), describe_tests(self))
