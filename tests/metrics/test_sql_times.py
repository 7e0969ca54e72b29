"""Time ratios and rewards."""

from math import isnan, nan

import pytest

from target_bench.metrics.sql import reward, time_ratio


def test_ratio_is_gold_over_predicted() -> None:
    assert time_ratio([2.0, 4.2], [1.0, 2.0]) == pytest.approx(2.05)


def test_outliers_are_left_out() -> None:
    gold = [1.0 + i / 100 for i in range(20)]
    assert time_ratio([*gold, 500.0], [1.0] * 21) == pytest.approx(1.095)


@pytest.mark.parametrize("times", [([0.5], [0.25]), ([0.5] * 3, [0.25] * 3), ([], [])])
def test_without_any_spread_all_ratios_are_outliers(
    times: tuple[list[float], list[float]],
) -> None:
    assert time_ratio(*times) == 0


def test_a_time_of_zero_counts_as_no_ratio() -> None:
    assert time_ratio([0.5, 0.6], [0.0, 0.5]) == 0


def test_both_must_have_run_equally_often() -> None:
    with pytest.raises(ValueError, match="2 times of the gold query and 1 of the predicted one"):
        time_ratio([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (0.0, 0.0),
        (0.1, 0.25),
        (0.25, 0.5),
        (0.5, 0.75),
        (0.99, 0.75),
        (1.0, 1.0),
        (1.99, 1.0),
        (2.0, 1.25),
        (99.0, 1.25),
    ],
)
def test_rewards_rise_in_steps(ratio: float, expected: float) -> None:
    assert reward(ratio) == expected


def test_an_unknown_ratio_has_no_reward() -> None:
    assert isnan(reward(nan))
