"""The score of a comparison: one less weighted shares of what is missing, extra and wrong.

Pancholi et al. (2025), section 2.3 and appendix B.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from numbers import Real
from typing import NamedTuple, get_args

from target_bench.core.errors import ConfigError
from target_bench.tables.comparison.differences import PartialKind
from target_bench.tables.comparison.structure import Structure

_KINDS = get_args(PartialKind)


@dataclass(frozen=True, slots=True)
class RubricWeights:
    """The weights of the score.

    Attributes:
        missing: of what the prediction lacks.
        extra: of what it has too much.
        partial: of cells that are partially right.
        row: of a row.
        column: of a column.
        cell: of a cell.
        renamed: of a column with another name, times that of a column.
        merged: of a column that was merged or split, times that of a column.
        kinds: kind of partial difference -> its weight; 1 where it has none.

    Raises:
        ConfigError: a kind is unknown, or a weight is not a number from 0 on.
    """

    missing: float = 1.0
    extra: float = 1.0
    partial: float = 1.0
    row: float = 1.0
    column: float = 1.0
    cell: float = 1.0
    renamed: float = 0.1
    merged: float = 0.1
    kinds: Mapping[PartialKind, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every weight."""
        unknown = [repr(kind) for kind in self.kinds if kind not in _KINDS]
        if unknown:
            raise ConfigError(
                f"RubricWeights: kinds: {', '.join(unknown)}: there are {', '.join(_KINDS)}"
            )
        terms = ((name, getattr(self, name)) for name in self.__slots__ if name != "kinds")
        for name, value in (*terms, *self.kinds.items()):
            if not _is_weight(value):
                raise ConfigError(f"RubricWeights: {name}={value!r}: expected a number from 0 on")


def _is_weight(value: object) -> bool:
    return isinstance(value, Real) and isfinite(float(value)) and float(value) >= 0


TABXBENCH_WEIGHTS = RubricWeights(extra=0.52, row=0.92, column=0.73, partial=0.78)
"""Weights fitted on the rankings of all 50 tables of TabXBench: quote no figure on these with them.

``benchmarks/tabxbench_weights.py`` fits them, and reports weights of one half on the other.
"""


NAMED = {"equal": RubricWeights(), "tabxbench": TABXBENCH_WEIGHTS}
"""Weights with a name; ``tabxbench`` are fitted on the rankings of TabXBench."""

_TERMS = tuple(field.name for field in fields(RubricWeights) if field.name != "kinds")


def weights_named(text: str) -> RubricWeights:
    """Read weights as users write them; the others stay as in ``equal``.

    Args:
        text: a name of ``NAMED``, or ``name=number`` pairs divided by commas: fields of
            ``RubricWeights``, and kinds of partial differences (the paper's gamma).

    Raises:
        ConfigError: a name is unknown or stands twice, or a weight is not a number from 0 on.
    """
    if text in NAMED:
        return NAMED[text]
    pairs = [_pair(part) for part in text.split(",")]
    given = dict(pairs)
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ConfigError(f"--weights: {name!r} has {count} weights; give one")
    kinds = {kind: given[kind] for kind in _KINDS if kind in given}
    terms = {name: number for name, number in given.items() if name in _TERMS}
    return replace(RubricWeights(), **terms, kinds=kinds)


def _pair(text: str) -> tuple[str, float]:
    name, _, number = (part.strip() for part in text.partition("="))
    if name not in (*_TERMS, *_KINDS):
        raise ConfigError(
            f"--weights: {name!r} is not a weight. There are {', '.join(NAMED)}, or pairs such as "
            f"missing=1,numeric=0.5 of {', '.join((*_TERMS, *_KINDS))}"
        )
    if not number:
        raise ConfigError(f"--weights: {name} has no number: write {name}=1, say")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not _is_weight(value):
        raise ConfigError(f"--weights: {name}={number}: expected a number from 0 on")
    return name, value


class Term(NamedTuple):
    """A term of the penalty.

    Attributes:
        name: what it counts: ``missing rows``, ``numeric`` cells.
        weight: the product of its weights.
        amount: how many, or for partial cells the sum of their wrong shares.
        of: how many there are.
    """

    name: str
    weight: float
    amount: float
    of: int

    @property
    def value(self) -> float:
        """What it adds to the penalty."""
        return self.weight * self.amount / self.of if self.of else 0.0


class Penalty(NamedTuple):
    """The penalty of a prediction.

    Attributes:
        terms: those with an amount.
    """

    terms: tuple[Term, ...]

    @property
    def total(self) -> float:
        """The sum of the terms, which may be over 1."""
        return sum(term.value for term in self.terms)

    @property
    def score(self) -> float:
        """One less the total, and at least 0."""
        return max(0.0, 1.0 - self.total)


def penalty(
    structure: Structure, shares: Mapping[PartialKind, float], weights: RubricWeights
) -> Penalty:
    """Return the penalty of a structure and its partial cells.

    Args:
        structure: the structure descriptor.
        shares: kind of difference -> the sum of the wrong shares of its cells.
        weights: of the terms.
    """
    places = structure.rows * structure.columns
    sizes = {
        "rows": (weights.row, structure.rows),
        "columns": (weights.column, structure.columns),
        "cells": (weights.cell, places),
    }
    terms = [
        Term(f"{side} {part}", of_side * size, getattr(structure, f"{side}_{part}"), of)
        for side, of_side in (("missing", weights.missing), ("extra", weights.extra))
        for part, (size, of) in sizes.items()
    ]
    for part, weight in (("renamed", weights.renamed), ("merged", weights.merged)):
        amount = getattr(structure, f"{part}_columns")
        terms.append(Term(f"{part} columns", weight * weights.column, amount, structure.columns))
    terms += [
        Term(
            f"{kind} cells",
            weights.partial * weights.cell * weights.kinds.get(kind, 1.0),
            n,
            places,
        )
        for kind, n in sorted(shares.items())
    ]
    return Penalty(tuple(term for term in terms if term.amount))
