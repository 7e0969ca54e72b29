"""How well the confidence of a retriever says when its tables are wrong, or none is right.

``nauc`` is MTEB's normalised area under the abstention curve (Gisserot-Boukhlef et al. 2024,
"Towards Trustworthy Reranking: A Simple yet Effective Abstention Mechanism", arXiv:2402.12997;
``mteb._evaluators.retrieval_metrics`` of MTEB 2.26, which keeps the expected value of tied
queries). Both measures are functions of all queries, and depend on the order of confidences alone.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCES = ("max", "std", "diff1")
"""The confidences in a ranking: its best score, their standard deviation, best less second best."""

_RATES: Floats = np.linspace(0, 1, 11)[:-1]
_AREA: Floats = np.array([0.5, *[1.0] * 8, 0.5]) / 10  # of the trapezoidal rule
_EQUAL = 1e-12  # areas that are as close are equal: all values are


def confidences(scores: Sequence[float]) -> tuple[float, float, float]:
    """Return the three ``CONFIDENCES`` of the scores of a ranking; 0 without scores, as MTEB."""
    if not scores:
        return 0.0, 0.0, 0.0
    best = sorted(scores, reverse=True)[:2]
    return best[0], float(np.std(scores)), best[0] - best[-1]


def ranks(confidence: Floats) -> Floats:
    """Return (n,) the rank of each confidence as a share of n, in (0, 1); ties share the middle.

    So the confidences of two retrievers, whose scores have other scales, can be swapped.
    """
    ordered = np.sort(confidence)
    below, to = (np.searchsorted(ordered, confidence, side=side) for side in ("left", "right"))
    shares: Floats = (below + to) / (2 * len(confidence))
    return shares


def nauc(confidence: Floats, values: Floats, leave_one_out: bool = False) -> Floats:
    """Return the normalised area under the abstention curve; 0 is chance, 1 the best order.

    The curve is the mean value of the queries that are left when 0, 10, ..., 90% of the queries,
    those of the least confidence, are not answered. Its area is normalised: 0 for a flat curve, 1
    for that of queries ordered by their values.

    Args:
        confidence: (n,) of each query.
        values: (n,) of each query, as its recall.
        leave_one_out: return (n,) the areas without each query, for the jackknife.

    Returns:
        (), NaN where all values are equal or there is none; or (n,).
    """
    if not len(values):
        return np.array(np.nan)
    own, best = (_curve(by, values, leave_one_out) for by in (confidence, values))
    flat = best[..., 0] * (_RATES[-1] - _RATES[0])
    gained, most = own @ _AREA - flat, best @ _AREA - flat
    areas: Floats = np.full(flat.shape, np.nan)
    np.divide(gained, most, out=areas, where=most > _EQUAL)
    return areas


def _curve(by: Floats, values: Floats, leave_one_out: bool) -> Floats:
    """Return (10,) means of the queries that are left, or (n, 10) without each of the queries."""
    n = len(values)
    order = np.argsort(by, kind="stable")
    ordered = by[order]
    start = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    end = np.append(start[1:], n)
    sums = np.add.reduceat(values[order], start)
    after = np.append(np.cumsum(sums[::-1])[::-1][1:], 0.0)
    without = np.repeat(np.arange(len(start)), end - start)[:, None]  # the group of who is left out
    value, m = values[order][:, None], n - 1
    if not leave_one_out:
        without, value, m = np.array([[len(start)]]), np.zeros((1, 1)), n
    cut = np.minimum(np.rint(_RATES * m), m - 1).astype(np.intp)
    # A cut in or after the group of the query that is left out is one place further among all.
    group = np.repeat(np.arange(len(start)), end - start)
    shifted = cut >= np.append(end, n + 2)[without] - 1
    at = group[cut + shifted]
    inside = at == without
    total = after[at] - value * (without > at)
    partly = (end[at] - (without <= at) - cut) * (sums[at] - value * inside)
    curves = (total + partly / ((end - start)[at] - inside)) / (m - cut)
    if not leave_one_out:
        return np.asarray(curves[0], dtype=np.float64)
    unordered = np.empty((n, len(_RATES)))
    unordered[order] = curves
    return unordered


def chance_above(
    unanswerable: NDArray[np.bool_], weight: Floats, confidence: Floats, leave_one_out: bool = False
) -> Floats:
    """Return how likely an unanswerable query has a higher confidence than an answered one.

    Ties count half, so it is 1 less the area under the ROC curve.

    Args:
        unanswerable: (n,) which queries have no answer.
        weight: (n,) how much a query counts as an answered one, as its recall; 0 for the others.
        confidence: (n,) of each query.
        leave_one_out: return (n,) the chances without each query, for the jackknife.

    Returns:
        (), NaN where there is no query of one kind; or (n,).
    """
    order = np.argsort(confidence)
    ordered, heavy = confidence[order], np.concatenate([[0.0], np.cumsum(weight[order])])
    none = np.concatenate([[0], np.cumsum(unanswerable[order])])
    below, to = (np.searchsorted(ordered, confidence, side=side) for side in ("left", "right"))
    above_it = none[-1] - (none[below] + none[to]) / 2
    below_it = (heavy[below] + heavy[to]) / 2
    pairs, total, n = np.array(weight @ above_it), np.array(heavy[-1]), np.array(none[-1])
    if leave_one_out:
        pairs = pairs - weight * above_it - unanswerable * below_it
        total, n = total - weight, n - unanswerable
    n_pairs = total * n
    chances: Floats = np.full(np.shape(n_pairs), np.nan)
    np.divide(pairs, n_pairs, out=chances, where=n_pairs > _EQUAL)
    return chances
