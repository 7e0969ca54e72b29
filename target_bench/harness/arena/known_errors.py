"""What a metric does with known errors, and with changes that keep the meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from target_bench.harness.arena.comparison_sets import perturbed_pairs
from target_bench.harness.arena.tested_metrics import MetricUnderTest
from target_bench.models.perturbations.drawing import CHANGES, Perturbation
from target_bench.models.perturbations.perturbed import LEVELS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Share:
    """A share of tables.

    Attributes:
        value: NaN of none.
        n: how many tables it is of.
    """

    value: float
    n: int


@dataclass(frozen=True)
class ErrorDetection:
    """What one metric does with perturbed tables.

    Attributes:
        name: of the metric.
        sensitivity: the share of tables with an error that score less than the reference itself.
        specificity: the share of harmlessly changed tables that score as the reference itself.
        auc: how often a harmlessly changed table scores higher than one with an error made from the
            same reference; equal scores count half.
        by_change: name of a change -> sensitivity, or of a harmless one specificity.
        by_level: level -> sensitivity.
        seconds: of processor time, for all tables.
    """

    name: str
    sensitivity: Share
    specificity: Share
    auc: Share
    by_change: Mapping[str, Share]
    by_level: Mapping[str, Share]
    seconds: float


def error_detection(
    perturbations: Sequence[Perturbation], metric: MetricUnderTest
) -> ErrorDetection:
    """Score perturbed tables, and every reference beside itself.

    A table without a score counts as one that is noticed: it is not taken for right. Tables whose
    reference has no score are left out.
    """
    references = {one.table_id: one.reference for one in perturbations}
    same = [Perturbation(name, "", None, rows, rows, ()) for name, rows in references.items()]
    perfect, _ = metric.values(perturbed_pairs(same))
    best = dict(zip(references, perfect, strict=True))
    made = {one.change for one in perturbations}
    perturbations = [one for one in perturbations if not np.isnan(best[one.table_id])]
    values, seconds = metric.values(perturbed_pairs(perturbations))
    below = values - np.array([best[one.table_id] for one in perturbations])
    below = np.nan_to_num(below, nan=-np.inf)
    noticed, kept = below < -_TOLERANCE, np.abs(below) <= _TOLERANCE
    is_error = np.array([one.is_error for one in perturbations], dtype=bool)
    change = np.array([one.change for one in perturbations], dtype=str)
    level = np.array([one.level or "" for one in perturbations], dtype=str)
    right = np.where(is_error, noticed, kept)
    return ErrorDetection(
        metric.spec.name,
        _share(noticed, is_error),
        _share(kept, ~is_error),
        _auc(below, is_error, [one.table_id for one in perturbations]),
        {name: _share(right, change == name) for name in CHANGES if name in made},
        {name: _share(noticed, is_error & (level == name)) for name in LEVELS},
        seconds,
    )


def _share(found: Bools, among: Bools) -> Share:
    n = int(among.sum())
    return Share(float(found[among].mean()) if n else np.nan, n)


def _auc(below: Floats, is_error: Bools, tables: Sequence[str]) -> Share:
    """Compare every harmless with every wrong table of one reference."""
    names = np.array(tables)
    higher, total = 0.0, 0
    for name in dict.fromkeys(tables):
        here = names == name
        wrong, harmless = below[here & is_error], below[here & ~is_error]
        with np.errstate(invalid="ignore"):
            apart = harmless[:, None] - wrong[None, :]
        apart = np.nan_to_num(apart, nan=0.0)
        higher += float((apart > _TOLERANCE).sum() + 0.5 * (np.abs(apart) <= _TOLERANCE).sum())
        total += apart.size
    return Share(higher / total if total else np.nan, total)
