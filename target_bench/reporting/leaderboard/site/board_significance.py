"""Which systems of a column differ from its best and from the baseline."""

from typing import NamedTuple

import numpy as np

from target_bench.metrics.significance import holm, randomization_tests
from target_bench.reporting.leaderboard.site.groups import Group, Member, Vector, spec

LEVEL = 0.05
RESAMPLES = 5_000
"""The fewest; there are more where there are more than 200 systems, so that a p-value that is
corrected for all of them can be below the level."""

_SMALLEST = 0.04


class PValues(NamedTuple):
    """Two-sided p-values of a system, corrected for all systems of its column (Holm).

    Attributes:
        best: against the best of the column; None for itself, and where nothing could be tested.
        baseline: against the baseline, likewise.
    """

    best: float | None
    baseline: float | None


def resamples(systems: int) -> int:
    """How many random swaps this many systems are tested under."""
    return max(RESAMPLES, round(systems / _SMALLEST))


def p_values(group: Group, baseline: Member | None) -> dict[str, dict[Member, PValues]]:
    """Metric -> row -> p-values, by the paired randomisation test, of every metric with values.

    Args:
        group: the column group.
        baseline: the row that is the baseline, if the group has it.
    """
    found = {}
    for name, rows_of in group.values.items():
        values = {m: row for m, row in rows_of.items() if not np.isnan(row).all()}
        if not values:
            continue
        members = list(values)
        matrix = np.stack([values[member] for member in members])
        missing = np.isnan(matrix)
        if (missing != missing[0]).any():
            continue  # the runs leave out different queries
        scores = [group.members[member].scores[name].value for member in members]
        best = int(np.argmax([spec(group, name).merit(score) for score in scores]))
        to = members.index(baseline) if baseline in values else None
        found[name] = dict(zip(members, _tested(matrix[:, ~missing[0]], best, to), strict=True))
    return found


def _tested(matrix: Vector, best: int, baseline: int | None) -> list[PValues]:
    """Return the rows of a matrix against two of them; each is a family of tests of its own."""
    targets = [best] if baseline is None else [best, baseline]
    families = [[(i, target) for i in range(len(matrix)) if i != target] for target in targets]
    pairs = [pair for family in families for pair in family]
    ps = iter(randomization_tests(matrix, pairs, resamples(len(matrix))))
    columns = []
    for family in families:
        corrected = holm([next(ps) for _ in family])
        of_row = dict(zip((i for i, _ in family), corrected, strict=True))
        columns.append([of_row.get(i) for i in range(len(matrix))])
    if baseline is None:
        columns.append([None] * len(matrix))
    return [PValues(*both) for both in zip(*columns, strict=True)]
