"""How far the agreement of TabXEval's score with people depends on its weights (its Figure 4)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from target_bench.harness.arena.comparison_sets import ComparisonSet
from target_bench.metrics.rank_agreement import spearman
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.comparison import RubricWeights, TableComparison, compare_tables
from target_bench.tables.comparison.rubric_score import TABXBENCH_WEIGHTS

DRAWS = 100

_DRAWN = ("missing", "extra", "partial", "row", "column", "cell")
_NAMED = {
    "default": RubricWeights(),
    "fitted on TabXBench": TABXBENCH_WEIGHTS,
    "appendix B": RubricWeights(missing=1, extra=0.9, partial=0.8, row=0.9, column=1, cell=0.8),
}


@dataclass(frozen=True)
class WeightRobustness:
    """Mean Spearman's rho under many weights.

    Attributes:
        named: name of weights -> rho: all 1 (the default), fitted ones, those of appendix B.
        drawn: (draws,) rho under weights drawn evenly from 0 to 1, sorted.
        best: the weights of the best draw.
    """

    named: dict[str, float]
    drawn: NDArray[np.float64]
    best: dict[str, float]


def weight_robustness(
    sets: Sequence[ComparisonSet], draws: int = DRAWS, seed: int = 0
) -> WeightRobustness:
    """Score every table once and weigh the counts in many ways.

    Args:
        sets: tables ranked by people.
        draws: how many weights are drawn.
        seed: of the random numbers.
    """
    compared = [[_comparison(pair) for pair in one.pairs] for one in sets]

    def rho(weights: RubricWeights) -> float:
        scores = (
            [0.0 if found is None else found.score(weights) for found in each] for each in compared
        )
        return fmean(spearman(one.order, found) for one, found in zip(sets, scores, strict=True))

    rng = np.random.default_rng(seed)
    drawn = [
        RubricWeights(missing, extra, partial, row, column, cell)
        for missing, extra, partial, row, column, cell in rng.random((draws, len(_DRAWN))).tolist()
    ]
    found = np.array([rho(weights) for weights in drawn])
    best = asdict(drawn[int(found.argmax())])
    return WeightRobustness(
        {name: rho(weights) for name, weights in _NAMED.items()},
        np.sort(found),
        {name: best[name] for name in _DRAWN},
    )


def _comparison(pair: ComparedTables) -> TableComparison | None:
    if not pair.answer.tables:
        return None
    return compare_tables(pair.reference.tables[0], pair.answer.tables[0])
