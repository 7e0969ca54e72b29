"""What ``compare`` finds: runs side by side, metric by metric, as values that can be exported."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_bench.core.errors import MissingExtraError
from target_bench.core.metric_spec import MetricSpec
from target_bench.metrics.named import spec_of
from target_bench.metrics.significance import TestName

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True, slots=True)
class Difference:
    """A run less the baseline, on the same queries.

    Attributes:
        value: the difference of the scores.
        low: lower bound of its 95% interval.
        high: upper bound.
        p: two-sided p-value of this test alone.
        p_corrected: the same, corrected for all tests of the family (Holm); None for a metric that
            is not in it.
        exact: whether the p-value is over all swaps and not over sampled ones.
        effect: Cohen's d_z over per-query values; None where it is not defined, and for metrics
            that are more than a mean.
        effect_low: lower bound of its 95% bootstrap interval.
        effect_high: upper bound.
        wins: queries on which the run has a better value than the baseline, a lower one where lower
            is better.
        ties: those with equal values.
        losses: those with a worse one.
    """

    value: float
    low: float
    high: float
    p: float
    p_corrected: float | None
    exact: bool
    effect: float | None
    effect_low: float | None
    effect_high: float | None
    wins: int
    ties: int
    losses: int

    @property
    def marker(self) -> str:
        """``*``, ``**`` or ``***`` for a corrected p below 0.05, 0.01 or 0.001."""
        if self.p_corrected is None:
            return ""
        return "*" * sum(self.p_corrected < level for level in (0.05, 0.01, 0.001))


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one run over one part of the queries.

    Attributes:
        metric: its name.
        slice: which queries; empty for all.
        n: how many queries the metric is over.
        run: what the run is called in this comparison.
        score: the metric; NaN over no query.
        low: lower bound of its 95% interval.
        high: upper bound.
        difference: from the baseline; None for the baseline itself, and over no query.
    """

    metric: str
    slice: str
    n: int
    run: str
    score: float
    low: float
    high: float
    difference: Difference | None

    def to_json(self) -> dict[str, Any]:
        """Field name -> value; NaN is None, because JSON has no NaN."""
        record = asdict(self)
        for part in (record, record["difference"] or {}):
            part |= {name: None for name, value in part.items() if value != value}
        return record


_COLUMNS = {"value": "difference", "low": "difference_low", "high": "difference_high"}
"""How columns of a table are called that a row has already."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs side by side; prints as a table.

    Attributes:
        task: short name of the task.
        corpus: name and split, with distractors.
        runs: what each run is called -> its folder; in the order they were named.
        baseline: what the baseline is called.
        test: ``randomization`` or ``bootstrap``.
        resamples: how many samples a test drew.
        seed: of the random numbers.
        family: the metrics whose p-values are corrected for each other; the others are
            descriptive.
        n_tests: how many tests of these metrics there are: what p-values are corrected for.
        rows: by metric, then slice, then run.
        notes: what a reader should know.
        specs: the declaration of each metric.
    """

    task: str
    corpus: str
    runs: Mapping[str, Path]
    baseline: str
    test: TestName
    resamples: int
    seed: int
    family: tuple[str, ...]
    n_tests: int
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    specs: Mapping[str, MetricSpec] = field(default_factory=dict)

    def spec(self, metric: str) -> MetricSpec:
        """The declaration of a metric."""
        return self.specs.get(metric) or spec_of(metric)

    def to_json(self) -> dict[str, Any]:
        """The document that ``target-bench compare --json`` prints."""
        return asdict(self) | {
            "runs": {name: str(path) for name, path in self.runs.items()},
            "rows": [row.to_json() for row in self.rows],
            "specs": {name: spec.to_json() for name, spec in self.specs.items()},
        }

    def to_arrow(self) -> "pyarrow.Table":
        """A row a ``Row``; what belongs to the difference stands in columns of its own.

        They are called as in ``Difference``; ``difference``, ``difference_low`` and
        ``difference_high`` are its value and interval, ``low`` and ``high`` those of the score.
        """
        import pyarrow

        empty = dict.fromkeys(Difference.__dataclass_fields__)
        flat = []
        for row in self.rows:
            record = row.to_json()
            differs = record.pop("difference") or empty
            record |= {_COLUMNS.get(name, name): value for name, value in differs.items()}
            flat.append(record | {"baseline": self.baseline, "test": self.test})
        return pyarrow.Table.from_pylist(flat)

    def to_pandas(self) -> "pandas.DataFrame":
        """``to_arrow`` as a data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas", "to_pandas") from error
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __str__(self) -> str:
        from target_bench.reporting.compare_tables import text

        return text(self)
