"""Parts of a set of queries: ``difficulty=hard``, ``gold_tables>1``, or one part a value."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import ConfigError

Columns = Mapping[str, Sequence[Any]]
Mask = NDArray[np.bool_]

_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_SLICE = re.compile(r"\s*(?:slice\.)?([^=<>!]+?)\s*(?:(!=|>=|<=|=|>|<)\s*(.*?)\s*)?")
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Slice:
    """A condition, or a name alone: one part a value.

    Attributes:
        name: which property of the queries.
        compared: ``=``, ``!=``, ``>``, ``>=``, ``<`` or ``<=``; empty for one part a value.
        wanted: what it is compared with, as it was written.
    """

    name: str
    compared: str = ""
    wanted: str = ""

    def __str__(self) -> str:
        return f"{self.name}{self.compared}{self.wanted}"


def parse(text: str) -> Slice:
    """Read a slice.

    Raises:
        ConfigError: it is none.
    """
    found = _SLICE.fullmatch(text)
    if found is None or (found[2] and not found[3]):
        raise ConfigError(
            f"--slice {text!r}: expected a name alone or with a value, as in difficulty=hard, "
            "gold_tables>1 or db_id"
        )
    return Slice(found[1], found[2] or "", found[3] or "")


def parts(columns: Columns, slices: Sequence[Slice], n: int) -> dict[str, Mask]:
    """The parts that slices together make of n queries: description -> (n,) which are in it.

    Conditions hold together; a name alone makes a part of each of its values. Without slices there
    is one part, described by an empty text.

    Raises:
        ConfigError: an unknown name, a value that no number can be, or a condition that no query
            meets.
    """
    found = {"": np.ones(n, dtype=np.bool_)}
    for one in slices:
        options = _options(columns, one)
        found = {
            ", ".join(filter(None, (name, more))): mask & kept
            for (name, mask), (more, kept) in product(found.items(), options.items())
        }
    kept = {name: mask for name, mask in found.items() if mask.any()}
    if not kept:
        raise ConfigError(f"no query is in the slice {', '.join(map(str, slices))}")
    return kept


def _options(columns: Columns, one: Slice) -> dict[str, Mask]:
    if one.name not in columns:
        known = ", ".join(columns) or "none"
        raise ConfigError(f"unknown slice {one.name!r}; the queries have: {known}")
    values = columns[one.name]
    if not one.compared:
        return {f"{one.name}={_shown(v)}": _mask(values, operator.eq, v) for v in _distinct(values)}
    wanted = _wanted(one, values)
    mask = _mask(values, _COMPARED[one.compared], wanted)
    if not mask.any():
        listed = [_shown(value) for value in _distinct(values)]
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        raise ConfigError(
            f"no query is in the slice {one}; {one.name} is {', '.join(listed[:_SHOWN])}{more}"
        )
    return {str(one): mask}


def _wanted(one: Slice, values: Sequence[Any]) -> Any:
    """What is compared with, of the type that the queries have."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        truths = {"true": True, "false": False}
        if one.wanted.lower() not in truths or one.compared not in ("=", "!="):
            raise ConfigError(f"--slice {one}: {one.name} is true or false")
        return truths[one.wanted.lower()]
    if kinds <= {int, float}:
        try:
            return float(one.wanted)
        except ValueError:
            raise ConfigError(f"--slice {one}: {one.name} is a number") from None
    if one.compared not in ("=", "!="):
        raise ConfigError(f"--slice {one}: {one.name} is text; compare it with = or !=")
    return one.wanted


def _mask(values: Sequence[Any], compared: Callable[[Any, Any], bool], wanted: Any) -> Mask:
    """Where a comparison holds; a query without the property is only ever equal to none."""
    if wanted is None:
        return np.array([value is None for value in values], dtype=np.bool_)
    holds = (value is not None and compared(value, wanted) for value in values)
    return np.array(list(holds), dtype=np.bool_)


def _distinct(values: Sequence[Any]) -> list[Any]:
    known = sorted({value for value in values if value is not None})
    return [*known, None] if None in values else known


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "(none)" if value is None else str(value)
