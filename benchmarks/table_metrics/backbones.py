"""TabXEval with other models as its authors ran it: Table 5, from the texts in their release.

    python -m benchmarks.table_metrics.backbones RELEASE [--outputs FILE]

RELEASE is a checkout of CoRAL-ASU/TabXEval, whose ``llama/syndataset/tabscore_results.pkl`` holds
what LLaMA-3.3 wrote of all 250 tables of TabXBench, aligned tables and comparison tuples, and what
the authors' code counted of them. Printed is how many counts ours are equal to, and the agreement
of the published score with the rankings by people. ``--outputs`` names another
file of the release with both texts, as Gemini's (``*.pklstep2``), which has no counts. Most of
these are over the size that public copies of the repository keep; GPT-4o and Qwen have none.
"""

import argparse
import json
import pickle
from dataclasses import asdict
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table_metrics.rank_agreement import RankAgreement, agreements
from tests.real.published_tabxeval import published_penalty, statistics

OUTPUTS = Path("EVALUATION_OF_MODELS", "llama", "syndataset", "tabscore_results.pkl")
PLACES = range(5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("release", type=Path, metavar="RELEASE")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS, help="a file of RELEASE")
    options = parser.parse_args()
    records = read_plain_pickle(options.release / options.outputs)
    scores, equal = {}, 0
    for record in records:
        counted = statistics(record["alignment"], record["comparison_tuples"] or "")
        equal += "type_counts" in record and (
            counted.types == record["type_counts"]
            and counted.empty == record["empty_cells"]
            and isclose(counted.numerical, record["partial_scores"]["Numerical"])
        )
        score = 1 - published_penalty(record["alignment"], counted)
        scores[record["table1"].strip(), record["table2"].strip()] = score
    measured = measure_agreement(options.release / "tabxbench", scores)
    figures = {"tables": len(records), "equal_counts": equal, **asdict(measured)}
    print(json.dumps(figures, indent=1))


def measure_agreement(folder: Path, scores: dict[tuple[str, str], float]) -> RankAgreement:
    """Return the mean agreement of scores with the rankings of TabXBench.

    Args:
        folder: has ``tables.json`` and ``gold_ranking.json``.
        scores: of (original, perturbation), as texts.
    """
    orders, by_set = [], []
    tables = json.loads((folder / "tables.json").read_text())
    rankings = json.loads((folder / "gold_ranking.json").read_text())
    for table, ranking in zip(tables, rankings, strict=True):
        digits = [int(digit) for digit in ranking["rankings"]]
        orders.append([digit - min(digits) for digit in digits])
        original = table["original"].strip()
        by_set.append([scores[original, table[f"pertubation{i}"].strip()] for i in PLACES])
    return RankAgreement(*np.mean(agreements(orders, by_set), axis=0).tolist())


def read_plain_pickle(file: Path) -> Any:
    """Read texts, numbers, lists and dicts; no class or function of a pickle is ever run."""
    with file.open("rb") as opened:
        return _PlainUnpickler(opened).load()


class _Left:
    """What stands for an object of any class: it takes what a pickle gives it, and does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, _: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> "_Left":
        return self


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, *_: str) -> Any:
        return _Left


if __name__ == "__main__":
    main()
