"""How well the rubric by rules ranks the tables of TabXBench as people did, and its weights.

50 references, five perturbations each, ranked by people. Spearman's rho of scores and ranks for
each reference, equal scores with their mean rank; means over references with 95% intervals
(bootstrap over references). Compared:

* all weights of the paper 1, which nothing was fitted for;
* four weights (extra, row, column, partial; missing and cell are 1) fitted on one half of the
  references, and reported on the other, in both directions, for two ways to halve;
* the same fitted on all, which are ``TABXBENCH_WEIGHTS``: no figure to quote;
* those of appendix B of the paper, the 64 ways to set all six to 0 or 1, and to 0.25 or 1 (its
  Figure 4), and 100 draws of all six from 0 to 1;
* the numbers of the perturbations in the file, backwards.

Fitted is the logistic loss of pairs (Bradley & Terry 1952) with a ridge on the logarithms of the
weights; its strength changes nothing of note (``--ridge``).

    TARGET_BENCH_DATA=... python -m benchmarks.table_metrics.weights [--ridge 0.03]
"""

import argparse
import json
import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize
from scipy.stats import spearmanr

from benchmarks.table_metrics.table2 import OPEN
from target_bench.tables.comparison import RubricWeights, TableComparison, compare_tables
from target_bench.tables.reading import read_tables

Floats = NDArray[np.float64]
PLACES = range(5)
STEEPNESS = 5.0


def comparisons(folder: Path) -> list[list[TableComparison]]:
    """Each reference compared with its five perturbations."""
    compared = []
    for record in json.loads((folder / "tables.json").read_text()):
        reference, *rest = (
            read_tables(record[name], "text").tables[0]
            for name in ("original", *(f"pertubation{place}" for place in PLACES))
        )
        compared.append([compare_tables(reference, changed) for changed in rest])
    return compared


def goodness(folder: Path) -> Floats:
    """Return (50, 5): 5 for the perturbation that people found best, 1 for the worst."""
    good = []
    for record in json.loads((folder / "gold_ranking.json").read_text()):
        order = [int(digit) for digit in record["rankings"]]
        places = [place - min(order) for place in order]
        good.append([5.0 - places.index(place) for place in PLACES])
    return np.array(good)


def weights(logarithms: Floats) -> RubricWeights:
    """Four weights from their logarithms."""
    extra, row, column, partial = map(float, np.exp(logarithms))
    return RubricWeights(extra=extra, row=row, column=column, partial=partial)


def penalties(compared: list[list[TableComparison]], weights: RubricWeights) -> Floats:
    """Return (n, 5) penalties, before they are cut off at 1."""
    return np.array(
        [[comparison.penalty(weights).total for comparison in each] for each in compared]
    )


def rhos(scores: Floats, good: Floats) -> Floats:
    """Return (n,) Spearman's rho of each reference; 0 where all scores are equal."""
    return np.array(
        [spearmanr(a, b)[0] if np.ptp(a) else 0.0 for a, b in zip(scores, good, strict=True)]
    )


def fitted(compared: list[list[TableComparison]], good: Floats, ridge: float) -> RubricWeights:
    """Fit the four weights."""

    def loss(logarithms: Floats) -> float:
        total = penalties(compared, weights(logarithms))
        worse = total[:, None, :] - total[:, :, None]
        better = good[:, :, None] > good[:, None, :]
        return float(
            np.log1p(np.exp(-STEEPNESS * worse[better])).mean() + ridge * (logarithms**2).sum()
        )

    return weights(minimize(loss, np.zeros(4), method="L-BFGS-B").x)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ridge", type=float, default=0.03)
    ridge = parser.parse_args().ridge
    folder = Path(os.environ["TARGET_BENCH_DATA"]) / "tabxbench"
    compared, good = comparisons(folder), goodness(folder)
    table = Table("weights", "reported on", "Spearman", "95%", "extra, row, column, partial")

    def add(name: str, on: str, values: Floats, weights: RubricWeights | None) -> None:
        drawn = np.random.default_rng(0).integers(len(values), size=(10_000, len(values)))
        low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
        four = (
            ""
            if weights is None
            else f"{weights.extra:.2f}, {weights.row:.2f}, {weights.column:.2f}, "
            f"{weights.partial:.2f}"
        )
        table.add_row(name, on, f"{values.mean():.3f}", f"{low:.3f} to {high:.3f}", four)

    def scored(weights: RubricWeights, places: Sequence[int]) -> Floats:
        scores = np.array([[table.score(weights) for table in compared[i]] for i in places])
        return rhos(scores, good[list(places)])

    every = range(len(compared))
    add("all 1, fitted on nothing", "all 50", scored(RubricWeights(), every), RubricWeights())
    halves = {
        "0-24": range(25),
        "25-49": range(25, 50),
        "even": range(0, 50, 2),
        "odd": range(1, 50, 2),
    }
    for first, second in (("0-24", "25-49"), ("even", "odd")):
        both = np.zeros(len(compared))
        for source, target in ((first, second), (second, first)):
            learned_from = list(halves[source])
            weights = fitted([compared[i] for i in learned_from], good[learned_from], ridge)
            both[list(halves[target])] = scored(weights, halves[target])
            add(f"fitted on {source}", target, both[list(halves[target])], weights)
        add(f"each half by the other ({first}, {second})", "all 50", both, None)
    weights = fitted(compared, good, ridge)
    add("fitted on all 50", "all 50", scored(weights, every), weights)
    appendix = RubricWeights(missing=1, extra=0.9, partial=0.8, row=0.9, column=1, cell=0.8)
    add("appendix B", "all 50", scored(appendix, every), appendix)
    for name, several in (
        ("64 of Figure 4", list(product((0.0, 1.0), repeat=6))),
        ("64 of Figure 4", list(product((0.25, 1.0), repeat=6))),
        ("100 draws", np.random.default_rng(0).random((100, 6)).tolist()),
    ):
        means = sorted(float(scored(RubricWeights(*six), every).mean()) for six in several)
        spread = f"{means[0]:.3f} to {means[-1]:.3f}"
        given = f"each {several[0][0]:g} or 1" if name.endswith("4") else "each from 0 to 1"
        table.add_row(name, "all 50", f"{median(means):.3f}", spread, given)
    add("file order, backwards", "all 50", rhos(np.tile(-np.arange(5.0), (50, 1)), good), None)
    Console(width=120).print(OPEN, table)


if __name__ == "__main__":
    main()
