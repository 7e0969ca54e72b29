"""How many queries show a difference of two systems, before any is labelled or from a pilot.

The test is paired, two-sided at 0.05, and finds the difference in 80 of 100 samples. Connor 1987,
"Sample size for testing differences in proportions for the paired-sample design", Biometrics 43,
207-211: of two systems that differ by ``effect`` in the mean, with a mean square ``m`` of the
differences of a query, ``(1.96 sqrt(m) + 0.84 sqrt(m - effect²))² / effect²`` queries are needed.
For values of 0 and 1, m is the share of queries on which the systems differ. For other values from
0 to 1, m is at most that share.
"""

from math import ceil, sqrt
from statistics import NormalDist

_OF_THE_TEST = NormalDist().inv_cdf(0.975)
_OF_THE_POWER = NormalDist().inv_cdf(0.8)


def queries_needed(effect: float, mean_square: float) -> int | None:
    """Return the number of queries that show a difference; None where it cannot be that large.

    Args:
        effect: the true difference of the means, above 0.
        mean_square: the mean of the squared differences of a query, from 0 to 1.

    Raises:
        ValueError: an argument is not in its range.
    """
    if effect <= 0 or not 0 <= mean_square <= 1:
        raise ValueError(f"effect={effect}, mean_square={mean_square}")
    if effect**2 > mean_square:
        return None
    sides = _OF_THE_TEST * sqrt(mean_square) + _OF_THE_POWER * sqrt(mean_square - effect**2)
    return ceil((sides / effect) ** 2)


def detectable_with(n: int, mean_square: float) -> float | None:
    """Return the smallest difference that n queries show; None where they show none.

    It solves the equation of ``queries_needed`` for the effect.

    Args:
        n: how many queries.
        mean_square: as for ``queries_needed``.

    Raises:
        ValueError: an argument is not in its range.
    """
    if n < 1 or not 0 <= mean_square <= 1:
        raise ValueError(f"n={n}, mean_square={mean_square}")
    test, power = _OF_THE_TEST, _OF_THE_POWER
    if n < test**2:  # the test shows nothing with so few, even if they all differ
        return None
    inner = test**2 * n - (n + power**2) * (test**2 - power**2)
    found = sqrt(mean_square) * (test * sqrt(n) + sqrt(max(inner, 0))) / (n + power**2)
    return found if 0 < found**2 <= mean_square else None
