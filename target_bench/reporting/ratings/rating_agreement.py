"""How the metrics of a run, and raters among themselves, agree with ratings."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.metrics.correlation import Correlations, correlations
from target_bench.reporting.ratings.criteria import CRITERIA
from target_bench.reporting.ratings.read_ratings import Ratings
from target_bench.runs.result import Result

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """A criterion beside a metric, or beside another rater.

    Attributes:
        criterion: what was rated.
        beside: the metric; of two raters their names.
        found: the correlations over the answers that have both.
    """

    criterion: str
    beside: str
    found: Correlations

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Rated:
    """What ratings say of a run.

    Attributes:
        raters: how many people.
        answers: how many answers were rated by at least one of them.
        means: criterion -> the mean over answers, each the mean of its raters.
        metrics: every criterion beside every metric of the run.
        between: every criterion beside each pair of raters.
    """

    raters: int
    answers: int
    means: dict[str, float]
    metrics: tuple[Agreement, ...]
    between: tuple[Agreement, ...]

    def to_json(self) -> dict[str, Any]:
        """Return field name -> value."""
        return asdict(self)


def agreement(run: Result, ratings: Sequence[Ratings]) -> Rated:
    """Correlate ratings with every metric of a run, answer by answer.

    An answer has the mean of its ratings. A metric that is better when lower has its own sign: a
    negative correlation is agreement there.

    Args:
        run: with its scores.
        ratings: of one person or several, about the same criteria.

    Raises:
        StoreError: the run has no scores, or they cannot be read.
    """
    rated = sorted({query_id for one in ratings for query_id in one.by_query})
    names = [one.name for one in CRITERIA[ratings[0].criteria]]
    each = {name: [_column(one, name, rated) for one in ratings] for name in names}
    means = {name: _means(columns) for name, columns in each.items()}
    values = _values(run, rated)
    return Rated(
        raters=len(ratings),
        answers=len(rated),
        means={name: float(np.nanmean(v)) for name, v in means.items() if not np.isnan(v).all()},
        metrics=tuple(
            Agreement(name, metric, correlations(column, of_metric))
            for name, column in means.items()
            for metric, of_metric in values.items()
        ),
        between=tuple(
            Agreement(name, f"{ratings[i].rater} and {ratings[j].rater}", correlations(one, other))
            for name, columns in each.items()
            for (i, one), (j, other) in combinations(enumerate(columns), 2)
        ),
    )


def _column(ratings: Ratings, criterion: str, query_ids: Sequence[str]) -> Floats:
    given = (ratings.by_query.get(one, {}).get(criterion, np.nan) for one in query_ids)
    return np.fromiter(given, dtype=np.float64, count=len(query_ids))


def _means(columns: Sequence[Floats]) -> Floats:
    """Return (n,) means of what is known; NaN where nothing is."""
    stacked = np.stack(columns)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    out: Floats = np.full(len(count), np.nan)
    np.divide(total, count, out=out, where=count > 0)
    return out


def _values(run: Result, query_ids: Sequence[str]) -> dict[str, Floats]:
    """Metric -> (n,) values of some queries; NaN for one that is not scored."""
    places = {query_id: i for i, query_id in enumerate(run.query_ids)}
    rows = np.array([places.get(one, -1) for one in query_ids], dtype=np.intp)
    return {
        name: np.where(rows >= 0, values[rows], np.nan) for name, values in run.per_query.items()
    }
