"""Means, and other ratios of two sums over queries: what most metrics are."""

from collections.abc import Callable, Iterable
from math import nan
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import ExamplesT, Metric, MetricSpec

Floats = NDArray[np.float64]


def ratio(numerator: Any, denominator: Any, empty: float = 0.0) -> Floats:
    """Return numerator over denominator, ``empty`` where there is nothing to divide by."""
    numerator, denominator = np.asarray(numerator, dtype=np.float64), np.asarray(denominator)
    out: Floats = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), empty)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


class RatioMetric(Metric[ExamplesT]):
    """A ratio of two sums; ``statistics`` returns (n, 2) numerators and denominators.

    For a mean these are the value of each query and 1, or two zeros where it has none.

    Attributes:
        empty: the value of nothing.
    """

    empty: ClassVar[float] = nan

    def value(self, totals: Floats) -> Floats:
        """Return numerator over denominator; ``empty`` where there is nothing to divide by."""
        return ratio(totals[..., 0], totals[..., 1], self.empty)

    def counted(self, statistics: Floats) -> int:
        """Return the number of queries that enter the denominator."""
        return int((statistics[:, 1] > 0).sum())

    def weights(self, statistics: Floats) -> Floats:
        """Return the denominators."""
        return statistics[:, 1]


class MeanOfValues(RatioMetric[Any]):
    """The sum of values over their number; NaN of nothing.

    Args:
        spec: the declaration.
        measure: the examples -> the values of each answer, of which it may have none or several.
        sign: gives the signature; it is asked when a score is stored.
    """

    def __init__(
        self,
        spec: MetricSpec,
        measure: Callable[[Any], Iterable[Iterable[float]]],
        sign: Callable[[], str],
    ) -> None:
        self.spec = spec
        self._measure = measure
        self._sign = sign

    @property
    def signature(self) -> str:
        """Everything that changes the value."""
        return self._sign()

    def statistics(self, examples: Any) -> Floats:
        """Return (n, 2): the sum of the values of each answer, and how many they are."""
        values = [list(answer) for answer in self._measure(examples)]
        return np.array([(sum(v), len(v)) for v in values], dtype=np.float64).reshape(-1, 2)

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """Return the lowest and the highest value; a count may be 1 at least."""
        lowest, highest = super().bounds(statistics)
        return lowest, highest if self.spec.higher_is_better else max(highest, 1.0)
