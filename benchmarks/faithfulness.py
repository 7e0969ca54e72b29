"""How faithfulness without a reference goes with the metrics that have one, on real outputs.

* Table-to-text: the 5 sample outputs of ToTTo, and T5's 2,003 outputs of each size for FeTaQA's
  test split in ToTTo's shape: support and coverage beside PARENT of every sentence.
* Text-to-table: GPT's and Gemini's outputs for the 728 reports of RotoWire: support and coverage
  beside H-Score, its repaired variant, and the F1 of cells, of every answer.

The answers of a set are one system's: how well a metric tells answers apart, not systems. ``both``
is the harmonic mean of support and coverage. ``of another``: the means where every answer is beside
the table or text of the next one, which should support little of it.

    python -m benchmarks.faithfulness [--json FILE]

Needs ``TARGET_BENCH_DATA``.
"""

import argparse
import gzip
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from target_bench.core.grid import GridCell
from target_bench.metrics.correlation import Correlations, correlations
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.descriptions import JudgedDescriptions
from target_bench.tables.faithfulness import Support
from target_bench.tables.totto_text import evidence, is_padded

Columns = Mapping[str, Sequence[float]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, help="a file for all figures")
    given = parser.parse_args()
    data = Path(os.environ["TARGET_BENCH_DATA"])
    figures: dict[str, dict[str, Any]] = {}
    for name, examples in _descriptions(data):
        _compare(name, _shares(examples.supports), _parent(examples), figures)
        moved = [*examples.evidence[1:], examples.evidence[0]]
        _say_means("of another", _shares(replace(examples, evidence=moved).supports))
    for name, answers in _tables(data):
        _compare(
            name, _shares([answer.support for answer in answers]), _table_scores(answers), figures
        )
        moved_texts = [answer.source for answer in [*answers[1:], answers[0]]]
        others = [replace(a, source=t) for a, t in zip(answers, moved_texts, strict=True)]
        _say_means("of another", _shares([answer.support for answer in others]))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))


def _compare(name: str, ours: Columns, others: Columns, figures: dict[str, dict[str, Any]]) -> None:
    _say_means(f"\n{name}, {len(ours['support'])} answers", ours)
    print("| without a reference | with one | n | Pearson | Spearman | Kendall |")
    print("|---|---|---|---|---|---|")
    for own, mine in ours.items():
        for reference, theirs in others.items():
            both = correlations(mine, theirs)
            print(_row(own, reference, both))
            figures.setdefault(name, {})[f"{own} / {reference}"] = asdict(both)


def _say_means(name: str, shares: Columns) -> None:
    means = ", ".join(f"{what} {np.nanmean(values):.3f}" for what, values in shares.items())
    print(f"{name}: {means}")


def _row(first: str, second: str, both: Correlations) -> str:
    cells = (first, second, both.n, both.pearson, both.spearman, both.kendall)
    return f"| {' | '.join(map(str, cells))} |"


def _shares(supports: Sequence[Support]) -> Columns:
    nan = float("nan")
    support = np.array([nan if s.precision is None else s.precision for s in supports])
    coverage = np.array([nan if s.coverage is None else s.coverage for s in supports])
    total = support + coverage
    both = np.where(total > 0, 2 * support * coverage / np.where(total > 0, total, 1), total)
    return {"support": support, "coverage": coverage, "both": both}


def _parent(examples: JudgedDescriptions) -> Columns:
    names = ("PARENT precision", "PARENT recall", "PARENT F")
    return dict(zip(names, examples.parents.T, strict=True))


def _table_scores(answers: Sequence[ComparedTables]) -> Columns:
    nan = float("nan")
    h_scores = [answer.h_score for answer in answers]
    cells = [[s["cells"].f1 for _, s in a.pairs("exact") if "cells" in s] for a in answers]
    return {
        "H content": [nan if score is None else score.content for score in h_scores],
        "H structure": [nan if score is None else score.structure for score in h_scores],
        "H content (v2)": [answer.h_score_v2.content for answer in answers],
        "cell F1": [float(np.mean(values)) if values else nan for values in cells],
    }


def _descriptions(data: Path) -> Iterable[tuple[str, JudgedDescriptions]]:
    records = [json.loads(line) for line in _lines(data / "totto/dev_sample.jsonl")]
    yield "ToTTo, sample outputs", _examples(records, _lines(data / "totto/output_sample.txt"))
    records = [json.loads(line) for line in _lines(data / "totto/fetaqa_as_totto_shape.jsonl.gz")]
    for size in ("small", "base"):
        yield f"FeTaQA, T5-{size}", _examples(records, _predictions(data / "fetaqa", records, size))


def _examples(records: Sequence[dict[str, Any]], answers: Sequence[str]) -> JudgedDescriptions:
    tables = []
    for record in records:
        rows = [
            [GridCell(c["value"], c["row_span"], c["column_span"], c["is_header"]) for c in row]
            for row in record["table"]
        ]
        titles = (
            record[f"table_{part}"] for part in ("page_title", "section_title", "section_text")
        )
        tables.append(evidence(rows, record["highlighted_cells"], *titles))
    accepted = [tuple(a["final_sentence"] for a in r["sentence_annotations"]) for r in records]
    return JudgedDescriptions(list(answers), accepted, tables, is_padded(accepted))


def _predictions(folder: Path, records: Sequence[dict[str, Any]], size: str) -> list[str]:
    (order,) = _lines(folder / "t5-test-predictions.feta_id_order.json.gz")
    lines = _lines(folder / f"t5-{size}-test-predictions.txt.gz")
    by_id = dict(zip(json.loads(order), lines, strict=True))
    return [by_id[record["example_id"]] for record in records]


def _tables(data: Path) -> Iterable[tuple[str, list[ComparedTables]]]:
    folder = data / "rotowire"
    texts, gold = (_lines(folder / f"rotowire.test.{kind}.gz") for kind in ("text", "data"))
    for name, answers in (("GPT", _gpt(folder)), ("Gemini", _gemini(folder))):
        pairs = zip(texts, gold, strict=True)
        compared = [
            ComparedTables(answers[key], data, "text", source=text)
            for place, (text, data) in enumerate(pairs)
            if (key := text if name == "GPT" else str(place)) in answers
        ]
        start = time.process_time()
        n = len([table.support for table in compared])
        print(f"\n{n} answers of {name}: {time.process_time() - start:.2f} s of processor")
        yield f"RotoWire, {name}", compared


def _gpt(folder: Path) -> dict[str, str]:
    path = folder / "model_outputs/gpt.rotowire.raw.json.gz"
    answers: dict[str, str] = json.loads(gzip.decompress(path.read_bytes()))
    return answers


def _gemini(folder: Path) -> dict[str, str]:
    records = map(json.loads, _lines(folder / "model_outputs/gemini.rotowire.raw.jsonl.gz"))
    return dict(map(_named, records))


def _named(record: dict[str, Any]) -> tuple[str, str]:
    return str(record["key"]), str(record["result"])


def _lines(path: Path) -> list[str]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return text.removesuffix("\n").split("\n")


if __name__ == "__main__":
    main()
