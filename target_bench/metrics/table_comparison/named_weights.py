"""Weights of the score as users write them: ``equal``, ``tabxbench``, ``missing=1,numeric=0.5``."""

from dataclasses import fields, replace
from math import isfinite
from typing import get_args

from target_bench.core.errors import ConfigError
from target_bench.metrics.table_comparison.differences import PartialKind
from target_bench.metrics.table_comparison.rubric_score import TABXBENCH_WEIGHTS, RubricWeights

NAMED = {"equal": RubricWeights(), "tabxbench": TABXBENCH_WEIGHTS}
"""Weights with a name; ``tabxbench`` are fitted on the rankings of TabXBench."""

_TERMS = tuple(field.name for field in fields(RubricWeights) if field.name != "kinds")
_KINDS = get_args(PartialKind)


def weights_named(text: str) -> RubricWeights:
    """Read weights; what is not said stays as in ``equal``.

    Args:
        text: a name of ``NAMED``, or ``name=number`` pairs divided by commas: fields of
            ``RubricWeights``, and kinds of partial differences (the paper's gamma).

    Raises:
        ConfigError: a name is unknown, or a weight is no number from 0 on.
    """
    if text in NAMED:
        return NAMED[text]
    given = dict(_pair(part) for part in text.split(","))
    kinds = {kind: given[kind] for kind in _KINDS if kind in given}
    terms = {name: number for name, number in given.items() if name in _TERMS}
    return replace(RubricWeights(), **terms, kinds=kinds)


def _pair(text: str) -> tuple[str, float]:
    name, _, number = (part.strip() for part in text.partition("="))
    if name not in (*_TERMS, *_KINDS):
        raise ConfigError(
            f"--weights: {name!r} is no weight. There are {', '.join(NAMED)}, or pairs such as "
            f"missing=1,numeric=0.5 of {', '.join((*_TERMS, *_KINDS))}"
        )
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if value < 0 or not isfinite(value):
        raise ConfigError(f"--weights: {name}={number}: expected a number from 0 on")
    return name, value
