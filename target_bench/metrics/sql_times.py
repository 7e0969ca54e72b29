"""Speed of a right query relative to the gold one: BIRD's VES and R-VES."""

from collections.abc import Sequence
from math import isnan

import numpy as np

_REWARDS = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5))


def time_ratio(gold_seconds: Sequence[float], predicted_seconds: Sequence[float]) -> float:
    """Return the mean of gold time over predicted time; above 1 where the prediction is faster.

    As in BIRD's evaluation_ves.py: ratios three standard deviations or more from the mean are left
    out. That leaves none where all ratios are the same (one run always is), and then the official
    code divides by zero and counts 0, as is done here; so is a predicted time of 0.

    Args:
        gold_seconds: one time per run.
        predicted_seconds: as many.

    Raises:
        ValueError: not as many times of one as of the other.
    """
    if len(gold_seconds) != len(predicted_seconds):
        raise ValueError(
            f"{len(gold_seconds)} times of the gold query and {len(predicted_seconds)} of the "
            "predicted one: both must have run equally often"
        )
    if not gold_seconds or 0 in predicted_seconds:
        return 0.0
    ratios = np.array(gold_seconds, dtype=np.float64) / np.array(predicted_seconds)
    mean, deviation = ratios.mean(), ratios.std()
    kept = ratios[(ratios < mean + 3 * deviation) & (ratios > mean - 3 * deviation)]
    return float(kept.mean()) if len(kept) else 0.0


def reward(ratio: float) -> float:
    """Return R-VES's reward of a time ratio.

    It is 1.25 from 2 on, 1 from 1, 0.75 from 1/2 and 0.5 from 1/4.
    Below that it is 0.25, but 0 for a ratio of 0, which is that of a wrong query. NaN stays NaN.
    """
    if ratio == 0 or isnan(ratio):
        return ratio
    return next((given for least, given in _REWARDS if ratio >= least), 0.25)
