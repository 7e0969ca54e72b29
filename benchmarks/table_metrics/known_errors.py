"""What metrics of tables do with known errors, and with changes that keep the meaning.

    python -m benchmarks.table_metrics.known_errors [--corpus mini] [--n 300] [--metric NAME]

* sensitivity: the share of tables with an error that score less than the reference beside itself;
  also of errors at each level. A table without a score is not taken for right.
* specificity: the share of harmless changes that score exactly as the reference.
* F1 of noticing errors, and the harmonic mean of accuracy, sensitivity and specificity: colour and
  size of a bubble in Figure 1 of Pancholi et al. (2025).
* AUC: of two tables made from one reference, one harmless and one wrong, how often the harmless
  one scores higher; equal scores count half.
"""

import argparse
from collections.abc import Sequence
from statistics import harmonic_mean

import numpy as np
from numpy.typing import NDArray

from benchmarks.table_metrics import metrics
from benchmarks.table_metrics.changes import LEVELS, Rows
from benchmarks.table_metrics.drawing import Perturbation, draw, tables_of
from benchmarks.table_metrics.ranked_tables import markdown
from target_bench.data.load import load
from target_bench.tables.compared_tables import ComparedTables

TOLERANCE = 1e-9


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", default="mini")
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--metric", action="append", default=[], help="another of the package")
    options = parser.parse_args()
    drawn = draw(tables_of(load(options.corpus)), options.n, options.seed)
    names = dict.fromkeys((*metrics.METRICS, *metrics.OF_PACKAGE, *options.metric))
    columns = ("metric", "sensitivity", "specificity", "F1", "harmonic mean", "AUC", *LEVELS)
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name in names:
        print("|", " | ".join([name, *(f"{v:.3f}" for v in detection(drawn, name).values())]), "|")


def detection(drawn: Sequence[Perturbation], metric: str) -> dict[str, float]:
    """Return sensitivity, specificity, F1, harmonic mean, AUC, and sensitivity at each level.

    Tables whose reference has no score are left out; NaN of no tables.
    """
    references = {made.table_id: made.reference for made in drawn}
    perfect, _ = metrics.values(metric, [_pair(rows, rows) for rows in references.values()])
    best = dict(zip(references, perfect.tolist(), strict=True))
    drawn = [made for made in drawn if not np.isnan(best[made.table_id])]
    scores, _ = metrics.values(metric, [_pair(made.table, made.reference) for made in drawn])
    below = scores - np.array([best[made.table_id] for made in drawn])
    below = np.nan_to_num(below, nan=-np.inf)
    wrong = np.array([made.is_error for made in drawn], dtype=bool)
    level = np.array([made.level or "" for made in drawn], dtype=str)
    noticed = below < -TOLERANCE
    kept = np.abs(below) <= TOLERANCE
    right = np.where(wrong, noticed, kept)
    rates = [_share(right), _share(noticed[wrong]), _share(kept[~wrong])]
    hits, false = int(noticed[wrong].sum()), int((~kept[~wrong]).sum())
    return {
        "sensitivity": rates[1],
        "specificity": rates[2],
        "f1": 2 * hits / max(int(wrong.sum()) + hits + false, 1),
        "harmonic_mean": np.nan if np.isnan(rates).any() else harmonic_mean(rates),
        "auc": _auc(below, wrong, [made.table_id for made in drawn]),
        **{name: _share(noticed[wrong & (level == name)]) for name in LEVELS},
    }


def _pair(table: Rows, reference: Rows) -> ComparedTables:
    return ComparedTables(markdown(table), markdown(reference), "text")


def _share(hits: NDArray[np.bool_]) -> float:
    return float(hits.mean()) if len(hits) else np.nan


def _auc(below: NDArray[np.float64], wrong: NDArray[np.bool_], tables: Sequence[str]) -> float:
    """Compare every harmless with every wrong table of one reference."""
    names = np.array(tables)
    higher, total = 0.0, 0
    for name in dict.fromkeys(tables):
        here = names == name
        with np.errstate(invalid="ignore"):  # of two tables without a score: equal
            apart = below[here & ~wrong][:, None] - below[here & wrong][None, :]
        apart = np.nan_to_num(apart, nan=0.0)
        higher += float((apart > TOLERANCE).sum() + 0.5 * (np.abs(apart) <= TOLERANCE).sum())
        total += apart.size
    return higher / total if total else np.nan


if __name__ == "__main__":
    main()
