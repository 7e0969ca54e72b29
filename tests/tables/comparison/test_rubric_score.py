"""Weights as users write them."""

import pytest

from target_bench.core.errors import ConfigError
from target_bench.tables.comparison import RubricWeights
from target_bench.tables.comparison.rubric import weights_named


def test_weights_are_read_by_name() -> None:
    assert weights_named("equal") == RubricWeights()
    assert weights_named("missing=1, numeric=2") == RubricWeights(kinds={"numeric": 2})


def test_a_weight_that_is_given_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"--weights: 'missing' has 2 weights; give one"):
        weights_named("missing=1,missing=5")
