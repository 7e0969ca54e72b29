"""What the metrics of table-to-text cost: PARENT, and a whole ``score``.

FeTaQA's test split in ToTTo's shape (``totto/fetaqa_as_totto_shape.jsonl.gz``), repeated until
there are 7,700 examples, as many as ToTTo's validation split. The references of an example are
FeTaQA's own, that of the next record and T5-small's prediction, the predictions those of T5-base;
half of the examples are in the overlap subset. Figures of quality mean nothing here.

* PARENT of the first 1,000 examples against three references, from text to values: ToTTo's own
  ``totto_parent_eval.py`` took 22.1 s for them on such a machine;
* ``target-bench score --by overlap_subset`` in a process of its own, from the release file to the
  tables: once with an empty cache of corpora, once with what that left.

    python -m benchmarks.table_to_text [--examples 7700] [--repeat 3]

Needs ``TARGET_BENCH_DATA``.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from target_bench.core.grid import GridCell
from target_bench.tables.descriptions import JudgedDescriptions
from target_bench.tables.totto_text import evidence

OFFICIAL = 22.1
"""Seconds of ToTTo's script for 1,000 examples of three references."""

EXAMPLES = 1_000


def main() -> None:
    given = _arguments()
    records, predictions = _enlarged(Path(os.environ["TARGET_BENCH_DATA"]), given.examples)
    seconds = [_parent(records[:EXAMPLES], predictions) for _ in range(given.repeat)]
    ours = median(seconds)
    print(f"PARENT, {len(records[:EXAMPLES]):,} examples, 3 references: {ours:.2f} s of processor")
    print(f"  ToTTo's script: {OFFICIAL} s, {OFFICIAL / ours:.0f} times as long")
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), records, predictions)
        for what in ("empty cache", "filled cache"):
            busy, peak = _scored(Path(folder), f"runs-{what[:5].strip()}")
            print(f"score, {len(records):,} examples, {what}: {busy:.1f} s of processor, {peak} MB")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=7_700)
    parser.add_argument("--repeat", type=int, default=3)
    return parser.parse_args()


def _enlarged(data: Path, n: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return n records in ToTTo's shape, and a prediction for each."""
    known = [json.loads(line) for line in _lines(data / "totto/fetaqa_as_totto_shape.jsonl.gz")]
    base, small = (_predictions(data / "fetaqa", known, size) for size in ("base", "small"))
    own = [record["sentence_annotations"][0]["final_sentence"] for record in known]
    records = []
    for i in range(n):
        place = i % len(known)
        texts = (own[place], own[(place + 1) % len(known)], small[place])
        sentences = [{"final_sentence": text} for text in texts]
        changed = {"example_id": -i - 1, "overlap_subset": i % 2 == 0}
        records.append({**known[place], **changed, "sentence_annotations": sentences})
    return records, [base[i % len(base)] for i in range(n)]


def _predictions(folder: Path, known: list[dict[str, Any]], size: str) -> list[str]:
    """Return T5's predictions in the order of the records, whose ids are FeTaQA's."""
    (order,) = _lines(folder / "t5-test-predictions.feta_id_order.json.gz")
    lines = _lines(folder / f"t5-{size}-test-predictions.txt.gz")
    by_id = dict(zip(json.loads(order), lines, strict=True))
    return [by_id[record["example_id"]] for record in known]


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def _parent(records: list[dict[str, Any]], predictions: list[str]) -> float:
    """Return the processor seconds of PARENT, from tables and texts to values."""
    start = time.process_time()
    shown = [
        evidence(
            [[GridCell(c["value"], is_header=c["is_header"]) for c in row] for row in r["table"]],
            r["highlighted_cells"],
            r["table_page_title"],
            r["table_section_title"],
            r["table_section_text"],
        )
        for r in records
    ]
    references = [
        tuple(entry["final_sentence"] for entry in r["sentence_annotations"]) for r in records
    ]
    values = JudgedDescriptions(predictions[: len(records)], references, shown).parents
    assert values.shape == (len(records), 3)
    return time.process_time() - start


def _write(folder: Path, records: list[dict[str, Any]], predictions: list[str]) -> None:
    (folder / "totto").mkdir()
    with (folder / "totto" / "totto_dev_data.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    answers = {str(r["example_id"]): p for r, p in zip(records, predictions, strict=True)}
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")


def _scored(folder: Path, out: str) -> tuple[float, int]:
    """Return the processor seconds and the peak of resident memory, in MB, of a whole score."""
    command = [sys.executable, "-m", "target_bench", "score", "--corpus", "totto"]
    command += ["--task", "table_to_text", "--predictions", str(folder / "answers.json")]
    command += ["--by", "overlap_subset", "--out", str(folder / out)]
    own = {"TARGET_BENCH_DATA": str(folder), "TARGET_BENCH_CACHE": str(folder / "cache")}
    with subprocess.Popen(command, env=os.environ | own) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


if __name__ == "__main__":
    main()
