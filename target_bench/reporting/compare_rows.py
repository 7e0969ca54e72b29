"""Results of ``compare``: runs side by side, metric by metric, as values for export."""

from dataclasses import asdict, dataclass
from typing import Any


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
        detectable: the smallest difference that as many queries are likely to show
            (``stats.detectable``); None where there are too few to show any.
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
    detectable: float | None = None

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


"""Names of columns that a row has already."""
