"""Many pairs of systems: the p-values of one test at a time."""

import numpy as np
import pytest

from target_bench.metrics.stats import randomization_test, randomization_tests


def test_as_one_at_a_time() -> None:
    generator = np.random.default_rng(5)
    hard = generator.random(400)
    values = np.stack([(generator.random(400) > hard * x).astype(float) for x in (1, 0.97, 0.8, 1)])
    values[3] = np.round(values[3] * generator.random(400), 3)
    pairs = [(0, 1), (1, 0), (2, 0), (3, 0), (1, 1)]
    p_values = randomization_tests(values, pairs)
    expected = [randomization_test(values[i], values[j], resamples=4000)[0] for i, j in pairs]
    assert p_values == pytest.approx(expected, abs=0.03)
    assert p_values[0] == p_values[1]
    assert p_values[2] < 0.01
    assert p_values[4] == 1


@pytest.mark.parametrize("n", [1, 4, 11])
def test_exact_where_all_differ_by_one(n: int) -> None:
    generator = np.random.default_rng(n)
    values = generator.integers(0, 2, size=(4, n)).astype(np.float32)
    pairs = [(i, j) for i in range(4) for j in range(4)]
    expected = [randomization_test(values[i], values[j]) for i, j in pairs]
    assert all(exact for _, exact in expected)
    p_values = randomization_tests(values, pairs)
    assert p_values == pytest.approx([p for p, _ in expected], abs=1e-12)


def test_exact_where_few_differ() -> None:
    """The normal limit gives three queries, all better, .08, where one swap in four is as good."""
    values = np.zeros((2, 300))
    values[0, :3] = 0.5, 0.25, 1
    assert randomization_tests(values, [(0, 1)]) == [0.25]


def test_thirds_are_of_one_size() -> None:
    """All of 20 differ by a third, 15 in one direction: the sign test, whatever is rounded."""
    first = np.array([1 / 3, 2 / 3, 1.0] * 5 + [0.0, 1 / 3] * 2 + [2 / 3])
    second = np.array([0.0, 1 / 3, 2 / 3] * 5 + [1 / 3, 2 / 3] * 2 + [1.0])
    assert randomization_tests(np.stack([first, second]), [(0, 1)]) == pytest.approx([0.04138947])


def test_a_score_that_is_never_defined_has_no_p_value() -> None:
    with pytest.raises(ValueError, match="undefined after every swap"):
        randomization_test(np.zeros((2, 2)), np.zeros((2, 2)))


def test_a_rounded_tie_is_a_tie() -> None:
    wins = np.ones(15)
    for tie in (0.3, 0.1 + 0.2):
        values = np.stack([np.append(wins, tie), np.append(np.zeros(15), 0.3)])
        assert randomization_tests(values, [(0, 1)]) == [2 * 0.5**15]


def test_the_normal_limit_is_taken_for_many_queries() -> None:
    """2 to the power of 64 differing queries and more was 0 in numpy: swaps were sampled."""
    values = np.zeros((2, 200))
    values[0] = np.linspace(0.5, 1, 200)
    assert randomization_tests(values, [(0, 1)])[0] < 1e-20
