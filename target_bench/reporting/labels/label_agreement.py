"""How far people agree on labels: Cohen's kappa of each pair, with an interval over questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Any, Literal

import numpy as np

from target_bench.core.metric import MetricSpec
from target_bench.metrics import run_scores
from target_bench.metrics.run_scores import Floats
from target_bench.reporting.labels.read_labels import Labels, QuestionLabels

What = Literal["tables", "questions"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two people's labels of the same tables, or verdicts of the same questions.

    Attributes:
        annotators: their names.
        what: what they judged.
        n: how many both judged, "cannot say" left out.
        same: the share of them on which they agree.
        kappa: Cohen's kappa (1960): agreement beyond what their shares of "relevant" give by
            chance; None where both always say the same.
        low: lower bound of its 95% interval; None without a kappa.
        high: upper bound.
    """

    annotators: tuple[str, str]
    what: What
    n: int
    same: float
    kappa: float | None
    low: float | None
    high: float | None


class Kappa:
    """Cohen's kappa from sums of counts, for the interval of ``run_scores``.

    A row of statistics is a question: how many of its tables both call relevant, only the first,
    only the second, neither.
    """

    spec = MetricSpec("kappa", scale="unbounded")

    def value(self, totals: Floats) -> Floats:
        """Return (...) kappas from (..., 4) counts; NaN where chance explains all."""
        n = totals.sum(axis=-1)
        both, first, second, neither = np.moveaxis(totals, -1, 0)
        chance = (both + first) * (both + second) + (neither + first) * (neither + second)
        out: Floats = np.full(n.shape, np.nan)
        np.divide((both + neither) * n - chance, n * n - chance, out=out, where=n * n != chance)
        return out

    def bounds(self, statistics: Floats) -> tuple[float, float]:  # noqa: ARG002 (the contract's)
        """Return -1 and 1."""
        return -1.0, 1.0

    def weights(self, statistics: Floats) -> Floats:
        """Return (n,) how many tables of each question both judged."""
        found: Floats = statistics.sum(axis=1)
        return found

    def without(self, total: Floats, rows: Floats) -> Floats:
        """Return (n,) kappas without each question; that of all where it is none."""
        found = self.value(total - rows)
        return np.where(np.isnan(found), self.value(total), found)


def agreements(labels: Sequence[Labels]) -> list[Agreement]:
    """Compare each pair of people on all that both judged."""
    return [
        found
        for one, other in combinations(labels, 2)
        for what, said in (("tables", _of_tables), ("questions", _of_question))
        if (found := _agreement(one, other, what, said)) is not None  # type: ignore[arg-type]  # of a tuple
    ]


def _agreement(one: Labels, other: Labels, what: What, said: Any) -> Agreement | None:
    shared = [name for name in one.by_query if name in other.by_query]
    rows = [_row(said(one.by_query[name]), said(other.by_query[name])) for name in shared]
    counts = np.array([row for row in rows if sum(row)], dtype=np.float64).reshape(-1, 4)
    n = int(counts.sum())
    if not n:
        return None
    totals = counts.sum(axis=0)
    kappa = float(Kappa().value(totals))
    names = one.annotator, other.annotator
    same = float((totals[0] + totals[3]) / n)
    if isnan(kappa):
        return Agreement(names, what, n, same, None, None, None)
    low, high = run_scores.interval(Kappa(), counts)
    return Agreement(names, what, n, same, kappa, low, high)


def _row(one: Mapping[Any, bool], other: Mapping[Any, bool]) -> list[int]:
    pairs = [(one[name], other[name]) for name in one if name in other]
    return [pairs.count(pair) for pair in ((True, True), (True, False), (False, True))] + [
        pairs.count((False, False))
    ]


def _of_tables(labels: QuestionLabels) -> dict[Any, bool]:
    known = {"relevant": True, "not relevant": False}
    return {table: known[label] for table, label in labels.tables.items() if label in known}


def _of_question(labels: QuestionLabels) -> dict[Any, bool]:
    return {} if labels.verdict is None else {"": labels.verdict == "accepted"}
