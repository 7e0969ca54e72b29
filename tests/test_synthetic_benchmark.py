"""The benchmark of synthetic questions computes what it prints."""

import numpy as np
import pytest

pytest.importorskip("rich")

from benchmarks.synthetic_questions import RETRIEVERS, agreement, clear_pairs


def _values(*means: float, n: int = 400) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([(rng.random(n) < mean).astype(float) for mean in means])


def test_orders_that_agree() -> None:
    people, synthetic = _values(0.9, 0.6, 0.3), _values(0.8, 0.7, 0.4)
    assert agreement("mrr", people, synthetic).startswith("mrr: tau 1.00 (")
    assert clear_pairs(people, synthetic) == (3, 3)


def test_orders_that_do_not() -> None:
    people, synthetic = _values(0.9, 0.6, 0.3), _values(0.4, 0.7, 0.8)
    assert agreement("mrr", people, synthetic).startswith("mrr: tau -1.00 (")
    assert clear_pairs(people, synthetic) == (3, 0)


def test_pairs_that_people_do_not_tell_apart() -> None:
    people, synthetic = _values(0.5, 0.5, 0.1), _values(0.6, 0.4, 0.1)
    assert clear_pairs(people, synthetic) == (2, 2)


def test_nine_retrievers() -> None:
    assert len(set(RETRIEVERS)) == 9
