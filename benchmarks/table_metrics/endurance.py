"""What models' tables lack, add and get wrong: the endurance test of TabXEval, by rules.

    TARGET_BENCH_DATA=... python -m benchmarks.table_metrics.endurance [--only tanq.gpt] [--json]

Tables 3 and 4 of Pancholi et al. (2025): the outputs of three models for WikiTableText, WikiBio,
TANQ and RotoWire that the authors released (``rotowire/model_outputs`` of the data) beside their
references. As their ``comparison.ipynb`` has it, of each pair: the rows that are missing (MI),
extra (EI) or equal in all cells (EM), in percent of the rows of both tables, columns likewise; and
of the cells of paired rows and columns those that are missing, extra or differ (Partial), by data
type, in percent of the cells of both tables; all of them means over the pairs. Texts are equal as
they are written, as there; two values of different types are in no column, as there. TabXEval by
rules, in which formats do not count, stands beside that.
"""

import argparse
import gzip
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.comparison import TableComparison, compare_tables
from target_bench.tables.comparison.rubric import PlacePair
from target_bench.tables.comparison.values import DataType, cell_value
from target_bench.tables.reading import read_tables

CORPORA = {
    "wikitabletext": "WikiTableText",
    "wikibio": "WikiBio",
    "tanq": "TANQ",
    "rotowire": "RotoWire",
}
MODELS = {"llama": "LLaMA-3.3 70B", "gpt": "GPT-4o", "gemini": "Gemini-2.0-flash"}
TYPES: Mapping[str, DataType] = {
    "Num": "number",
    "String": "string",
    "Bool": "bool",
    "Date": "date",
    "List": "list",
    "Time": "time",
    "Others": "other",
}
"""The data types of Table 3, and what they are here."""

NAMES = {kind: name for name, kind in TYPES.items()}
SIDES = {"missing": "MI", "extra": "EI"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="a corpus, or CORPUS.MODEL as in tanq.gpt")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    options = parser.parse_args()
    folder = Path(os.environ["TARGET_BENCH_DATA"]) / "rotowire" / "model_outputs"
    found = []
    for corpus in CORPORA:
        for model in MODELS:
            file = folder / f"{model}.{corpus}.pairs.json.gz"
            if file.is_file() and f"{corpus}.{model}".startswith(options.only):
                found.append({"corpus": corpus, "model": model, **measured(pairs(file))})
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print_tables(found)


def pairs(file: Path) -> Iterable[tuple[AnswerTable, AnswerTable]]:
    """Yield reference and prediction of each pair; one without a table is empty."""
    records = json.loads(gzip.decompress(file.read_bytes()))
    for texts in records.values() if isinstance(records, dict) else records:
        reference, prediction = (read_tables(text, "text").tables for text in texts)
        yield (
            reference[0] if reference else AnswerTable("", ()),
            prediction[0] if prediction else AnswerTable("", ()),
        )


def measured(tables: Iterable[tuple[AnswerTable, AnswerTable]]) -> dict[str, Any]:
    """Return rows, columns and cells in percent, and both scores: means over the pairs."""
    sums: dict[str, float] = defaultdict(float)
    scores: list[tuple[float, float]] = []
    for reference, prediction in tables:
        comparison = compare_tables(reference, prediction)
        scores.append((comparison.score(), comparison.paper_score()))
        for name, percent in percentages(comparison).items():
            sums[name] += percent
    means = {name: total / len(scores) for name, total in sums.items()}
    return {
        "pairs": len(scores),
        "tabxeval": fmean(score for score, _ in scores),
        "tabxeval[paper]": fmean(score for _, score in scores),
        **{
            part: {kind: means.get(f"{part} {kind}", 0.0) for kind in ("MI", "EI", "EM")}
            for part in ("Row", "Col")
        },
        **{
            kind: {name: means.get(f"{kind} {name}", 0.0) for name in TYPES}
            for kind in ("EI", "MI", "Partial")
        },
    }


def percentages(comparison: TableComparison) -> dict[str, float]:
    """Return what one pair adds, in percent of the rows, columns and cells of both tables."""
    structure = comparison.structure
    sizes = {"Row": structure.rows, "Col": structure.columns}
    if not all(sizes.values()):
        return {}
    found: dict[str, float] = defaultdict(float)
    rows, columns = comparison.rows, [column.pair for column in comparison.columns]
    for part, pairs_ in (("Row", rows), ("Col", columns)):
        for pair in pairs_:
            if not pair.is_matched:
                found[f"{part} {SIDES[pair.side]}"] += 100 / sizes[part]
    unequal: set[tuple[PlacePair, PlacePair]] = set()
    for cell in comparison.cells:
        if cell.reference.strip() != cell.prediction.strip():
            unequal.add((cell.row, cell.column))
            kinds = {cell_value(text).type for text in (cell.reference, cell.prediction)}
            kinds -= {"empty"}
            if len(kinds) == 1:
                name = f"{SIDES.get(cell.outcome, 'Partial')} {NAMES[kinds.pop()]}"
                found[name] += 100 / (sizes["Row"] * sizes["Col"])
    for side, grid in enumerate((comparison.reference, comparison.prediction)):
        for row, column in product(rows, columns):
            i, k = row[side], column[side]
            alone = not row.is_matched or not column.is_matched
            if alone and i is not None and k is not None and grid.rows[i][k].strip(" -"):
                unequal.add((row, column))
    found["Row EM"] = 100 * (1 - len({row for row, _ in unequal}) / sizes["Row"])
    found["Col EM"] = 100 * (1 - len({column for _, column in unequal}) / sizes["Col"])
    return dict(found)


def print_tables(found: list[dict[str, Any]]) -> None:
    """Print Table 4 with the scores, then Table 3."""
    print("| corpus | model | pairs | row MI | EI | EM | column MI | EI | EM | TabXEval | paper |")
    print(f"|{'---|' * 11}")
    for one in found:
        numbers = [f"{one[part][kind]:.2f}" for part in ("Row", "Col") for kind in one[part]]
        scores = [f"{one[name]:.3f}" for name in ("tabxeval", "tabxeval[paper]")]
        print("|", " | ".join([*_names(one), f"{one['pairs']:,}", *numbers, *scores]), "|")
    print(f"\n| corpus | model | cells | {' | '.join(TYPES)} |\n|{'---|' * (3 + len(TYPES))}")
    for one in found:
        for kind in ("EI", "MI", "Partial"):
            numbers = [f"{one[kind][name]:.2f}" for name in TYPES]
            print("|", " | ".join([*_names(one), kind, *numbers]), "|")


def _names(one: Mapping[str, Any]) -> tuple[str, str]:
    return CORPORA[one["corpus"]], MODELS[one["model"]]


if __name__ == "__main__":
    main()
