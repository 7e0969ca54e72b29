"""Agreement of a metric's scores with a ranking by people: the five measures of TabXEval's Table 2.

Pancholi et al. (2025) name them without defining them; no code of theirs computes them. Equal
scores get their mean rank in the first three; where an order is needed, equal scores keep theirs.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PERSISTENCE = 0.9
"""The ``p`` of rank-biased overlap."""


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Agreement of scores with a ranking.

    Attributes:
        spearman: Spearman's rho; 0 where all scores are equal.
        kendall: Kendall's tau-b; 0 where all scores are equal.
        weighted_tau: tau with additive hyperbolic weights, the best ranks weighing most (Vigna
            2015); 0 where all scores are equal.
        rbo: rank-biased overlap, truncated (Webber et al. 2010): at most 1 - p^n, .41 for 5 items.
        footrule: Spearman's footrule over its maximum, floor(n²/2): a distance, 0 for equal orders.
    """

    spearman: float
    kendall: float
    weighted_tau: float
    rbo: float
    footrule: float


MEASURES = tuple(field.name for field in fields(RankAgreement))


def order_of(scores: Sequence[float]) -> list[int]:
    """Return the places of scores, best first; equal scores keep their order."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])


def rank_agreement(order: Sequence[int], scores: Sequence[float]) -> RankAgreement:
    """Compare scores with a ranking of the same items.

    Args:
        order: places of the items, best first.
        scores: of each item; higher is better.

    Raises:
        ValueError: the order is not one of the items, or there are fewer than two of them.
    """
    n = len(scores)
    if n < 2 or sorted(order) != list(range(n)):
        raise ValueError(f"order {list(order)} is not one of {n} items (from 2 on)")
    by_scores = order_of(scores)
    distance = footrule(order, by_scores) / (n * n // 2)
    overlap = rank_biased_overlap(order, by_scores)
    if min(scores) == max(scores):
        return RankAgreement(0.0, 0.0, 0.0, overlap, distance)
    from scipy.stats import kendalltau, weightedtau

    good = _goodness(order)
    return RankAgreement(
        spearman(order, scores),
        float(kendalltau(good, scores)[0]),
        float(weightedtau(good, scores)[0]),
        overlap,
        distance,
    )


def spearman(order: Sequence[int], scores: Sequence[float]) -> float:
    """Return Spearman's rho alone; arguments as for ``rank_agreement``."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)
    apart = ranks - ranks.mean()
    good = _goodness(order)
    good -= good.mean()
    size = float(np.sqrt((apart @ apart) * (good @ good)))
    return float(apart @ good) / size if size else 0.0


def _goodness(order: Sequence[int]) -> Floats:
    good = np.empty(len(order))
    good[list(order)] = np.arange(len(order), 0, -1)
    return good


def rank_biased_overlap(
    first: Sequence[int], second: Sequence[int], persistence: float = PERSISTENCE
) -> float:
    """Return the rank-biased overlap of two orders of the same items, cut at their length.

    (1 - p) times the sum over depths d of p^(d-1) times the share of items that both have among
    their first d (Webber, Moffat & Zobel 2010, equation 4). With p = 1 it is the mean share.
    """
    shares = [len(set(first[:d]) & set(second[:d])) / d for d in range(1, len(first) + 1)]
    if persistence == 1:
        return sum(shares) / len(shares)
    weights = (persistence**d for d in range(len(shares)))
    return (1 - persistence) * sum(
        weight * share for weight, share in zip(weights, shares, strict=True)
    )


def footrule(first: Sequence[int], second: Sequence[int]) -> int:
    """Return Spearman's footrule: the sum of the differences of the ranks of each item."""
    places = {item: place for place, item in enumerate(second)}
    return sum(abs(place - places[item]) for place, item in enumerate(first))


def agreements(orders: Sequence[Sequence[int]], scores: Sequence[Sequence[float]]) -> Floats:
    """Return (n, 5): the measures of each of n sets, in the order of ``MEASURES``."""
    rows = [astuple(rank_agreement(*pair)) for pair in zip(orders, scores, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(-1, len(MEASURES))
