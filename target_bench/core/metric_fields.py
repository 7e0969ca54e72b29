"""The values that the fields of a metric's declaration may have when they are read from JSON."""

from collections.abc import Callable
from typing import Any, Literal, get_args

Scale = Literal["share", "percent", "unbounded"]
"""A number from 0 to 1, one from 0 to 100, or one without an upper bound."""

References = Literal["any", "short", "long"]
"""The length of the references for which a metric of text says something."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


FITS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("name", "label", "description", "source", "of"),
        lambda value: isinstance(value, str) and len(value) <= 1000,
    ),
    **dict.fromkeys(
        ("at_k", "higher_is_better", "deterministic", "decides", "synthetic"),
        lambda value: isinstance(value, bool),
    ),
    "scale": lambda value: value in get_args(Scale),
    "references": lambda value: value in get_args(References),
    "highest": lambda value: value is None or _is_number(value),
    "tolerance": _is_number,
    "digits": lambda value: type(value) is int and 0 <= value <= 12,
    "rank": lambda value: value is None or (type(value) is int and abs(value) < 10**9),
    "needs": lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value),
}
"""Field -> whether a value is one that it may have."""
