"""Validation of the answers of generators."""

from math import isfinite
from types import NoneType

from target_bench.core.schema import Generation

_TYPES: dict[str, tuple[type, ...]] = {
    "query_id": (str,),
    "text": (str,),
    "error": (str, NoneType),
    "input_tokens": (int, NoneType),
    "output_tokens": (int, NoneType),
    "cost": (int, float, NoneType),
    "seconds": (int, float, NoneType),
    "cached": (bool,),
    "finish_reason": (str, NoneType),
}


def generation_fault(generation: Generation) -> str | None:
    """Return the first field of an answer with an invalid type or value, or None.

    An answer comes from code of others, or from a file that may have been edited.
    """
    for name, kinds in _TYPES.items():
        value = getattr(generation, name)
        if not isinstance(value, kinds):
            return f"its {name} is {type(value).__name__}"
        if isinstance(value, float) and not isfinite(value):
            return f"its {name} is {value}"
        if isinstance(value, int | float) and value < 0:
            return f"its {name} is {value}, less than 0"
    return None
