"""What models' tables lack, add and get wrong: the endurance test of TabXEval, by rules.

    TARGET_BENCH_DATA=... python -m benchmarks.table_metrics.endurance [--only tanq.gpt]
    python -m benchmarks.table_metrics.endurance --release RELEASE [--alignments]

Tables 3 and 4 of Pancholi et al. (2025): the outputs of three models for WikiTableText, WikiBio,
TANQ and RotoWire that the authors released (``rotowire/model_outputs`` of the data) beside their
references. As their ``comparison.ipynb`` has it, of each pair: the rows that are missing (MI),
extra (EI) or equal in all cells (EM), in percent of the rows of both tables, columns likewise; and
of the cells of paired rows and columns those that are missing, extra or differ (Partial), by data
type, in percent of the cells of both tables; all of them means over the pairs. Texts are equal as
they are written, as there; two values of different types are in no column, as there. TabXEval by
rules, in which formats do not count, stands beside that.

RELEASE is a checkout of CoRAL-ASU/TabXEval. It has what LLaMA and GPT-4o wrote for WikiBio, and
(``--alignments``) the aligned tables of WikiTableText and TANQ, in which a model paired rows and
columns: with those only the types of values are by rules. The comparison tuples that the paper
counts are in files over the size that public copies of the repository keep.
"""

import argparse
import gzip
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.table_metrics.backbones import read_plain_pickle
from target_bench.tables.answer_tables import AnswerTable
from target_bench.tables.comparison import TableComparison, compare_tables
from target_bench.tables.comparison.rubric import IndexPair
from target_bench.tables.comparison.values import LONGEST_VALUE, read_value
from target_bench.tables.reading import read_tables
from tests.real.published_tabxeval import compare_aligned_text

CORPORA = ("wikitabletext", "wikibio", "tanq", "rotowire")
MODELS = ("llama", "gpt", "gemini")
TYPES = {
    "Num": "number",
    "String": "string",
    "Bool": "bool",
    "Date": "date",
    "List": "list",
    "Time": "time",
    "Others": "other",
}
"""The data types of Table 3, and what they are here."""
TWO_TYPES = "Two types"
"""A text beside a list, ``40 minutes`` beside ``40``: in no column of Table 3."""

SHARES = ("MI", "EI", "EM")
"""What Table 4 counts of rows and columns."""
MODELS_OF_RELEASE = "EVALUATION_OF_MODELS"
CORPORA_OF_RELEASE = {"wikitabletext": "wikitables"}

NAMES = {kind: name for name, kind in TYPES.items()}
SIDES = {"missing": "MI", "extra": "EI"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="a corpus, or CORPUS.MODEL as in tanq.gpt")
    parser.add_argument("--release", type=Path, help="a checkout of CoRAL-ASU/TabXEval")
    parser.add_argument(
        "--alignments", action="store_true", help="rows and columns as the release has them paired"
    )
    options = parser.parse_args()
    if options.alignments and not options.release:
        parser.error("--alignments are read from --release")
    rows = []
    for corpus, model in product(CORPORA, MODELS):
        if not f"{corpus}.{model}".startswith(options.only):
            continue
        if options.alignments:
            measured = measure_alignments(options.release, corpus, model)
        else:
            measured = measure_tables(read_outputs(options.release, corpus, model))
        if measured["pairs"]:
            rows.append({"corpus": corpus, "model": model, **measured})
    print(json.dumps(rows, indent=1))


def read_outputs(
    release: Path | None, corpus: str, model: str
) -> Iterable[tuple[AnswerTable, AnswerTable]]:
    """Return reference and prediction of each pair: those of the data, or else of the release."""
    folder = Path(os.environ["TARGET_BENCH_DATA"]) / "rotowire" / "model_outputs"
    file = folder / f"{model}.{corpus}.pairs.json.gz"
    if file.is_file():
        return read_pairs(file)
    texts = release and release / MODELS_OF_RELEASE / model / corpus
    written = [*texts.glob("*output.pkl"), *texts.glob("results_*.pickle")] if texts else []
    return read_biographies(release, written[0]) if release and written else []


def read_pairs(file: Path) -> Iterable[tuple[AnswerTable, AnswerTable]]:
    """Yield reference and prediction of each pair; one without a table is empty."""
    records = json.loads(gzip.decompress(file.read_bytes()))
    for texts in records.values() if isinstance(records, dict) else records:
        reference, prediction = (read_tables(text, "text").tables for text in texts)
        yield (
            reference[0] if reference else AnswerTable("", ()),
            prediction[0] if prediction else AnswerTable("", ()),
        )


def read_biographies(release: Path, file: Path) -> Iterable[tuple[AnswerTable, AnswerTable]]:
    """Yield the pairs of WikiBio from texts of ``| key | value | <NEWLINE>``, as the authors do."""
    references = release / MODELS_OF_RELEASE / "gemini" / "wikibio" / "top_tables_wiki.json"
    written = {key: text for record in read_plain_pickle(file) for key, text in record.items()}
    for record in json.loads(references.read_text()):
        for key, text in record.items():
            yield _read_keys_and_values(text), _read_keys_and_values(written[key])


def _read_keys_and_values(text: str) -> AnswerTable:
    rows: list[tuple[str, ...]] = [("Field", "Value")]
    for line in re.sub(r"```(text)?|\"{3}", "", text).split("<NEWLINE>"):
        key, *values = [part.strip() for part in line.split("|") if part.strip()] or [""]
        if values:
            rows.append((key, " | ".join(values)))
    return AnswerTable("", tuple(rows))


def measure_tables(tables: Iterable[tuple[AnswerTable, AnswerTable]]) -> dict[str, Any]:
    """Return rows, columns and cells in percent, and both scores: means over the pairs."""
    shares, scores = [], []
    for reference, prediction in tables:
        comparison = compare_tables(reference, prediction)
        scores.append((comparison.score(), comparison.paper_score()))
        shares.append(compute_shares(comparison))
    return {
        "pairs": len(scores),
        "tabxeval": fmean(score for score, _ in scores) if scores else 0.0,
        "tabxeval[paper]": fmean(score for _, score in scores) if scores else 0.0,
        **_means(shares),
    }


def measure_alignments(release: Path, corpus: str, model: str) -> dict[str, Any]:
    """Return rows, columns and cells in percent, of the aligned tables of a release."""
    folder = release / MODELS_OF_RELEASE / model / CORPORA_OF_RELEASE.get(corpus, corpus)
    files = [*folder.glob("*step1")]
    records = read_plain_pickle(files[0]) if files else []
    shares = [compute_aligned_shares(record["alignment"]) for record in records]
    with_table = [share for share in shares if share]
    return {"pairs": len(with_table), **_means(with_table)}


def _means(shares: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return part -> kind -> the mean over the pairs, 0 where no pair has it."""
    types = (*TYPES, TWO_TYPES)
    kinds = {"Row": SHARES, "Col": SHARES, "EI": types, "MI": types, "Partial": types}
    return {
        part: {
            kind: sum(share.get(f"{part} {kind}", 0.0) for share in shares) / max(1, len(shares))
            for kind in names
        }
        for part, names in kinds.items()
    }


def compute_aligned_shares(alignment: str) -> dict[str, float]:
    """Return what an aligned table adds, in percent of its rows, columns and cells.

    A row or column is missing or extra if all its cells are. A cell that differs is Partial of its
    type by rules.
    """
    columns, rows = compare_aligned_text(alignment).marked
    shares: dict[str, float] = defaultdict(float)
    sides: dict[str, Sequence[Sequence[str | None]]] = {
        "Row": rows,
        "Col": [*zip(*rows, strict=True)],
    }
    for part, lines in sides.items():
        for line in lines:
            for share in SHARES:
                shares[f"{part} {share}"] += 100 / len(lines) * all(cell == share for cell in line)
    for cell in chain.from_iterable(rows):
        left, slash, right = (cell or "").partition("/")
        if slash:
            shares[f"Partial {_find_type(left, right)}"] += 100 / (len(rows) * len(columns))
    return dict(shares)


def _find_type(*sides: str) -> str:
    """Return the data type of a cell by both its sides; one that is empty has none."""
    types = {_read_type(side.strip()) for side in sides} - {"empty"}
    return NAMES[types.pop()] if len(types) == 1 else TWO_TYPES


_SEPARATORS = (re.compile(r"\s*;\s*"), re.compile(r"\s*\|\s*"), re.compile(r",\s+"))
_ITEM_WORDS = 5  # words of an item, above which commas divide clauses, not items


def _read_type(text: str) -> str:
    """Return the data type of a cell, where amounts of time are times, as the paper has them."""
    value = read_value(text)
    if value.type == "string" and len(text) <= LONGEST_VALUE and _is_list(value.text):
        return "list"
    return "time" if value.unit.kind == "time" else value.type


def _is_list(text: str) -> bool:
    inside = text[1:-1] if text[:1] + text[-1:] in ("[]", "{}") else text
    divided = ([i.strip(" '\"") for i in mark.split(inside)] for mark in _SEPARATORS)
    return any(
        len(items) > 1 and all(items) and max(len(i.split()) for i in items) <= _ITEM_WORDS
        for items in divided
    )


def compute_shares(comparison: TableComparison) -> dict[str, float]:
    """Return what one pair adds, in percent of the rows, columns and cells of both tables."""
    rows, columns = comparison.rows, [column.pair for column in comparison.columns]
    if not rows or not columns:
        return {}
    shares: dict[str, float] = defaultdict(float)
    for part, lines in (("Row", rows), ("Col", columns)):
        for line in lines:
            if line.side != "matched":
                shares[f"{part} {SIDES[line.side]}"] += 100 / len(lines)
    differing: set[tuple[IndexPair, IndexPair]] = set()
    tables = (comparison.reference.rows, comparison.prediction.rows)
    for row, column in product(rows, columns):
        sides = [
            "" if i is None or k is None else table[i][k].strip()
            for table, i, k in zip(tables, row, column, strict=True)
        ]
        if sides[0] == sides[1] or not any(text.strip(" -") for text in sides):
            continue
        differing.add((row, column))
        if row.side == column.side == "matched":
            empty = [read_value(text).type == "empty" for text in sides]
            side = "EI" if empty[0] else "MI" if empty[1] else "Partial"
            shares[f"{side} {_find_type(*sides)}"] += 100 / (len(rows) * len(columns))
    shares["Row EM"] = 100 * (1 - len({row for row, _ in differing}) / len(rows))
    shares["Col EM"] = 100 * (1 - len({column for _, column in differing}) / len(columns))
    return dict(shares)


if __name__ == "__main__":
    main()
