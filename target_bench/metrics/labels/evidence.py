"""Evidence of a wording about a statement: the labels that it allows."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from target_bench.metrics.classification import FALSE, LABELS, NOT_ENOUGH, TRUE

Labels = frozenset[str]
"""The labels that a wording allows."""

YES, NO, UNKNOWN = frozenset({TRUE}), frozenset({FALSE}), frozenset({NOT_ENOUGH})
NOT_YES, NOT_NO = NO | UNKNOWN, YES | UNKNOWN
ANY, NONE = frozenset(LABELS), frozenset[str]()


class Weight(IntEnum):
    """Directness of a wording about the statement."""

    ASIDE = 1
    """Of something that may or may not be the statement."""
    SAID = 2
    """Of the statement."""
    VERDICT = 3
    """A verdict alone."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of a wording.

    Attributes:
        labels: those it allows.
        weight: how directly it speaks of the statement.
        hedged: whether a contrast ("but", "however") takes it back.
    """

    labels: Labels
    weight: Weight
    hedged: bool = False


def common(found: Iterable[Labels]) -> Labels:
    """Return the labels that all allow; any where there is nothing."""
    return ANY.intersection(*found)
