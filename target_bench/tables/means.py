"""The mean of a value that answers have, over the answers that have one."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric import Metric, MetricSpec, mean

Floats = NDArray[np.float64]


class MeanOfValues(Metric[Any]):
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

    def value(self, totals: Floats) -> Floats:
        """Return the mean."""
        return mean(totals)

    def counted(self, statistics: Floats) -> int:
        """Return the number of answers with a value."""
        return int((statistics[:, 1] > 0).sum())

    def bounds(self, statistics: Floats) -> tuple[float, float]:
        """Return the lowest and the highest value; a count may be 1 at least."""
        lowest, highest = super().bounds(statistics)
        return lowest, highest if self.spec.higher_is_better else max(highest, 1.0)

    def weights(self, statistics: Floats) -> Floats:
        """Return the number of values of each answer."""
        return statistics[:, 1]
