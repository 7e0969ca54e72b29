"""Released predictions of Adaptive Table Retrieval, scored as sets of tables with our gold.

    TARGET_BENCH_DATA=... python -m benchmarks.atr uae.spider.jsonl.gz --corpus spider

The files are those of github.com/sbY99/Adaptive-Table-Retrieval (commit d367d9ac), in the folder
``atr`` of ``$TARGET_BENCH_DATA``: a line for each question of the development set, in its order,
which lists the tables that the system chose as ``[database, table]``. Printed as JSON, each a mean
over the questions: ``complete_recall`` (all gold tables are chosen), ``set_recall``,
``set_precision``, ``set_f1`` and ``set_size``, as docs/metrics.md defines them. Their pool for
Spider has a table more than our corpus, ``sqlite_sequence`` of ``world_1``: chosen, it counts as a
wrong table.
"""

import argparse
import gzip
import json
import os
from pathlib import Path

import numpy as np

from target_bench import load

METRICS = ("complete_recall", "set_recall", "set_precision", "set_f1", "set_size")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--corpus", choices=("spider", "bird"), required=True)
    options = parser.parse_args()
    queries = load(options.corpus).queries
    with gzip.open(Path(os.environ["TARGET_BENCH_DATA"], "atr", options.file), "rt") as file:
        chosen_tables = [json.loads(line) for line in file]
    rows = []
    for query, tables in zip(queries, chosen_tables, strict=True):
        # The names of some databases and tables differ in case.
        gold = {str(table).lower() for table in query.gold}
        chosen = {f"{database}/{table}".lower() for database, table in tables}
        hits = len(gold & chosen)
        precision = hits / len(chosen) if chosen else 0.0
        f1 = 2 * hits / (len(gold) + len(chosen))
        rows.append((gold <= chosen, hits / len(gold), precision, f1, len(chosen)))
    means = np.mean(rows, axis=0).tolist()
    print(json.dumps(dict(zip(METRICS, means, strict=True)), indent=1))


if __name__ == "__main__":
    main()
