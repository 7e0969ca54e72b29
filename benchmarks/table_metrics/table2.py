"""Print how far metrics of tables agree with people: Table 2 of TabXEval (Pancholi et al. 2025).

    TARGET_BENCH_DATA=... python -m benchmarks.table_metrics.table2 [--json]
    python -m benchmarks.table_metrics.table2 --corpus mini
    python -m benchmarks.table_metrics.table2 --corpus written

Each set has one reference and a ranking of its tables: by people in TabXBench and mini, by a rule
that was fixed before in written_tables.yaml (``written-errors`` leaves out the best table of each
set, which is written in another order and format). Of every metric: the mean over the sets of
Spearman's rho, Kendall's tau-b, weighted tau, rank-biased overlap, and Spearman's footrule (a
distance). **File order** scores earlier tables higher.

The rules of TabXEval were corrected while some twenty tables of TabXBench lay open: its figure
there is none on unseen tables. The written tables were ranked before it ran.
"""

import argparse
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.table_metrics.rank_agreement import MEASURES, agreements
from benchmarks.table_metrics.ranked_tables import RankedSet, ranked_sets, written_sets
from target_bench.data.load import load
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.comparison import compare_tables
from target_bench.tables.h_score import h_score_of_table
from target_bench.tables.header_cell_scores import Grid, compute_chrf

CORPORA = ("tabxbench", "mini", "written", "written-errors")
FILE_ORDER = "file order"
_DIGITS = 9  # decimals by which scores are compared: what lies below is rounding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", choices=CORPORA, default="tabxbench")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    options = parser.parse_args()
    scores = all_scores(sets := sets_of(options.corpus))
    if options.corpus == "tabxbench":
        scores["TabXEval (released, GPT-4o)"] = released(Path(os.environ["TARGET_BENCH_DATA"]))
    rows = [{"metric": name, **agreement(sets, values)} for name, values in scores.items()]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"| metric | {' | '.join(MEASURES)} |\n|{'---|' * (1 + len(MEASURES))}")
    for row in sorted(rows, key=lambda row: -row["spearman"]):
        print("|", row["metric"], "|", " | ".join(f"{row[name]:.3f}" for name in MEASURES), "|")


def sets_of(corpus: str) -> list[RankedSet]:
    """Return the ranked sets of one of ``CORPORA``."""
    if corpus.startswith("written"):
        return written_sets(errors_alone=corpus.endswith("errors"))
    return ranked_sets(load(corpus))


def all_scores(sets: Sequence[RankedSet]) -> dict[str, list[list[float]]]:
    """Return metric -> the scores of the tables of each set, higher for the better table."""
    scores = {
        name: [
            [
                measure(pair.reference.tables[0], pair.answer.tables[0])
                if pair.answer.tables
                else 0.0
                for pair in ranked.pairs
            ]
            for ranked in sets
        ]
        for name, measure in METRICS.items()
    }
    return {FILE_ORDER: [[-float(i) for i in range(len(r.pairs))] for r in sets], **scores}


def agreement(sets: Sequence[RankedSet], scores: Sequence[Sequence[float]]) -> Mapping[str, Any]:
    """Return the mean of each of ``MEASURES`` over the sets."""
    rounded = [np.round(values, _DIGITS).tolist() for values in scores]
    means = agreements([ranked.order for ranked in sets], rounded).mean(axis=0)
    return dict(zip(MEASURES, means.tolist(), strict=True))


def released(data: Path) -> list[list[float]]:
    """Return the scores that the authors released of TabXBench's tables."""
    records = json.loads((data / "tabxbench" / "our_scores.json").read_text())
    return [[record[f"result{place}"] for place in range(5)] for record in records]


Compare = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]


def _compare_pairs(measure: Callable[[str, str], float]) -> Compare:
    return lambda left, right: np.array([[measure(a, b) for b in right] for a in left])


def cell_f1(reference: Grid, answer: Grid, compare: Compare) -> float:
    """Return F1 of all cells, header included, each with the most similar one of the other side.

    So the paper compares tables by the metrics of texts; where a cell stands does not count.

    Args:
        reference: rows, the header first.
        answer: those of the answer.
        compare: cells of the answer, cells of the reference -> their similarities from 0 to 1.
    """
    left, right = ([cell for row in rows for cell in row] for rows in (answer, reference))
    if not left or not right:
        return float(left == right)
    names = [list(dict.fromkeys(side)) for side in (left, right)]
    similar = compare(*names)
    best = [dict(zip(names[i], similar.max(axis=1 - i), strict=True)) for i in (0, 1)]
    precision, recall = (
        fmean(own[cell] for cell in side) for own, side in zip(best, (left, right), strict=True)
    )
    both = precision + recall
    return float(2 * precision * recall / both) if both else 0.0


@lru_cache(maxsize=1 << 20)
def _rouge_l(answer: str, reference: str) -> float:
    if _words(answer).isdisjoint(_words(reference)):
        return 0.0
    return float(_scorer().score(reference, answer)["rougeL"].fmeasure)


@lru_cache(maxsize=1 << 16)
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


@cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"])


METRICS: dict[str, Callable[[AnswerTable, AnswerTable], float]] = {
    "EM of cells": lambda reference, answer: cell_f1(
        reference.rows, answer.rows, _compare_pairs(lambda a, b: float(a == b))
    ),
    "chrF of cells": lambda reference, answer: cell_f1(
        reference.rows, answer.rows, lambda left, right: compute_chrf(left, right).T
    ),
    "ROUGE-L of cells": lambda reference, answer: cell_f1(
        reference.rows, answer.rows, _compare_pairs(_rouge_l)
    ),
    "H content (official)": lambda reference, answer: (
        h_score_of_table(answer.pad_rows(), reference.pad_rows()).content
    ),
    "tabxeval": lambda reference, answer: compare_tables(reference, answer).score(),
}
"""Name -> how alike a reference and an answer are."""


if __name__ == "__main__":
    main()
