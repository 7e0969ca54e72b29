"""The contract of metrics: what each query contributes, and the score of all of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.metric_spec import MetricSpec

ExamplesT = TypeVar("ExamplesT", contravariant=True)


class Metric(ABC, Generic[ExamplesT]):
    """A measure over judged queries.

    A metric reduces every query to a row of sufficient statistics; the corpus value is a function
    of their column sums. So means, pooled ratios and corpus-level scores such as BLEU share one
    interval (``metrics.intervals``), one set of tests and one store.

    Attributes:
        spec: its declaration.
    """

    spec: MetricSpec

    @property
    def name(self) -> str:
        """As users write it, e.g. ``recall@10``."""
        return self.spec.name

    @property
    def highest(self) -> float:
        """The largest value of a score, that of the declaration; the lowest is 0."""
        return self.spec.top

    @property
    @abstractmethod
    def signature(self) -> str:
        """Everything that changes the value, in one string (after sacreBLEU's signatures)."""

    @abstractmethod
    def statistics(self, examples: ExamplesT) -> NDArray[np.float64]:
        """Return (n, m) sufficient statistics, one row a query."""

    @abstractmethod
    def value(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the metric from (..., m) sums of statistics, shape (...)."""

    def counted(self, statistics: NDArray[np.float64]) -> int:
        """Return the number of queries that the metric is over. Default: all of them."""
        return len(statistics)

    def per_query(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n,) the value of each query alone. Default: ``value`` of its row."""
        return self.value(statistics)

    def bounds(self, statistics: NDArray[np.float64]) -> tuple[float, float]:
        """Return the lowest and the highest value that the score can have.

        Default: 0 and ``highest``, or the value of a query that lies outside of them.
        """
        values = self.per_query(statistics)
        values = values[~np.isnan(values)]
        return float(values.min(initial=0.0)), float(values.max(initial=self.highest))

    def weights(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n,) the weight of each query in the score; 0 for one that it is not over.

        Only their ratios matter. Default: all the same.
        """
        return np.ones(len(statistics))

    def without(self, total: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n,) the metric of (m,) sums without each of (n, m) rows, for the jackknife.

        Default: ``value`` of the differences. A metric that averages over what occurs among the
        queries, such as labels, holds that fixed.
        """
        return self.value(total - rows)


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric of this package in the registry: its declaration, and how an object is made.

    A plug-in needs none: its class has the declaration as ``spec`` and makes objects itself.

    Attributes:
        spec: the declaration.
        make: settings -> the metric.
    """

    spec: MetricSpec
    make: Callable[..., Metric[Any]]

    def __call__(self, *arguments: Any, **settings: Any) -> Metric[Any]:
        """Make the metric."""
        return self.make(*arguments, **settings)

    @property
    def __signature__(self) -> Signature:
        """The settings, as the registry checks them."""
        return signature(self.make)


def by_name(*definitions: MetricDefinition) -> dict[str, MetricDefinition]:
    """Return name -> definition."""
    return {definition.spec.name: definition for definition in definitions}
