"""How long the H-Score of text-to-table takes, beside the libraries that the official code uses.

All 728 RotoWire outputs of GPT (``TARGET_BENCH_DATA``). Compared, in turns, the best of each:

* ``h_score_text``: the official H-Score, equal to the golden vectors;
* the same scores as the official scripts get them: difflib and Levenshtein on the same lists, and a
  data frame of pandas for the mean of two tables. Without these scripts' own reading, so the ratio
  is a lower bound; ``--official FILE`` times a file with their ``score_raw_tables`` instead;
* every metric of the task over the same answers, reading included.

    TARGET_BENCH_DATA=... python benchmarks/text_to_table.py [--repeat 3] [--official FILE]

Needs the packages Levenshtein and pandas.
"""

import argparse
import difflib
import gzip
import json
import os
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import Levenshtein
import pandas as pd
from rich.console import Console
from rich.table import Table

from target_bench.tables import h_score
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.h_score import h_score_text
from target_bench.tables.table_metrics import table_metrics

Pairs = list[tuple[str, str]]


def pairs() -> Pairs:
    """Answer and gold of each report."""
    folder = Path(os.environ["TARGET_BENCH_DATA"]) / "rotowire"
    texts, gold = (
        gzip.decompress((folder / f"rotowire.test.{kind}.gz").read_bytes()).decode().split("\n")
        for kind in ("text", "data")
    )
    outputs = folder / "model_outputs" / "gpt.rotowire.raw.json.gz"
    answers = json.loads(gzip.decompress(outputs.read_bytes()))
    pairs = zip(texts, gold, strict=True)
    return [(answers[text], table) for text, table in pairs if text in answers]


def ours(given: Pairs) -> float:
    """Mean content of the H-Score."""
    h_score._team_and_player.cache_clear()
    return sum(h_score_text(*pair).content for pair in given) / len(given)


def plain(given: Pairs) -> float:
    """The same by difflib, Levenshtein and pandas, on the lists that ``h_score_text`` compares."""
    return sum(_plain(*pair) for pair in given) / len(given)


def _plain(answer: str, gold: str) -> float:
    sides = zip(h_score._team_and_player(answer), h_score._team_and_player(gold), strict=True)
    scored = {
        name: {
            "rows": float(rows == gold_rows),
            "columns": float(columns == gold_columns),
            **_similar("names", names, gold_names),
            **_similar("data", cells, gold_cells),
        }
        for name, (
            (rows, columns, names, cells),
            (gold_rows, gold_columns, gold_names, gold_cells),
        ) in zip(("team", "player"), sides, strict=True)
    }
    means = pd.DataFrame(scored).mean(axis=1).to_dict()
    return float(means["data edits"] + means["data ratio"])


def _similar(name: str, gold: Any, answer: Any) -> dict[str, float]:
    gold, answer = list(gold), list(answer)
    edits = 1 - Levenshtein.distance(gold, answer) / (2 * len(answer)) if answer else 0.0
    ratio = difflib.SequenceMatcher(None, gold, answer).ratio()
    return {f"{name} edits": edits, f"{name} ratio": ratio}


def official(path: Path) -> Callable[[Pairs], float]:
    """Make the mean content by ``score_raw_tables`` of a file."""
    score = runpy.run_path(str(path))["score_raw_tables"]

    def mean(given: Pairs) -> float:
        scores = [score(*pair) for pair in given]
        total = sum(each["data_levenshtein_score"] + each["data_difflib_score"] for each in scores)
        return float(total) / len(scores)

    return mean


def everything(given: Pairs) -> float:
    """Mean content, after every metric of the task was computed."""
    compared = [ComparedTables(answer, gold, "text") for answer, gold in given]
    values = {m.name: m.value(m.statistics(compared).sum(axis=0)) for m in table_metrics()}
    return float(values["h_content"])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--official", type=Path)
    arguments = parser.parse_args()
    given = pairs()
    other = official(arguments.official) if arguments.official else plain
    name = "official code" if arguments.official else "difflib, Levenshtein, pandas"
    ways = {"target-bench: H-Score": ours, name: other, "target-bench: every metric": everything}
    best = dict.fromkeys(ways, float("inf"))
    content = {}
    for _ in range(arguments.repeat):
        for label, way in ways.items():
            begin = time.process_time()
            content[label] = way(given)
            best[label] = min(best[label], time.process_time() - begin)
    table = Table("what", "seconds", "x H-Score", "content")
    first = best["target-bench: H-Score"]
    for label, seconds in best.items():
        table.add_row(label, f"{seconds:.3f}", f"{seconds / first:.1f}", f"{content[label]:.5f}")
    Console().print(table)


if __name__ == "__main__":
    main()
