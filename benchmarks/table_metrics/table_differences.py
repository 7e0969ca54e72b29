"""How well differences of tables are found by rules: known errors in 10,000 tables of FeTaQA.

Every table has one known change (``benchmarks.table_metrics.changes``). What the comparison
by rules reports is right where it lies in a true difference: in the row, the column or the cell
that was changed. A true difference is found where something that is reported lies in it. A change
that keeps the meaning has no true difference, so all that is reported of it is wrong.

* precision: the share of reported differences that are right.
* recall: the share of true differences that are found.
* noticed: the share of tables that score less than 1; of harmless changes that should be none.
* moved: the share of tables of which it is named that values stand elsewhere.

    python -m benchmarks.table_metrics.table_differences [--n 10000] [--seed 0] [--json FILE]

Needs ``TARGET_BENCH_DATA``.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.table_metrics.changes import CHANGES, ERRORS, Difference
from benchmarks.table_metrics.drawing import Perturbation, draw, tables_of
from target_bench.data.load import load
from target_bench.tables.comparison import TableComparison, compare_tables


@dataclass
class Tally:
    """Counts of one change."""

    tables: int = 0
    noticed: int = 0
    reported: int = 0
    right: int = 0
    true: int = 0
    detected: int = 0
    moved: int = 0


_MOVED = ("shifted_column", "swapped_columns", "ragged_row")
"""Changes after which values stand elsewhere."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    drawn = draw(tables_of(load("fetaqa")), options.n, options.seed)
    tallies: dict[str, Tally] = defaultdict(Tally)
    started = time.process_time()
    for perturbed in drawn:
        count(perturbed, tallies[perturbed.change])
    seconds = time.process_time() - started
    references = {perturbed.table_id: perturbed.reference for perturbed in drawn}
    same = sum(compare_tables(rows, rows).score() == 1.0 for rows in references.values())
    print("| change | tables | noticed | precision | recall |\n|---|---|---|---|---|")
    for name in CHANGES:
        print(line(name, tallies[name]))
    counts = (asdict(tallies[name]).values() for name in ERRORS)
    every = Tally(*map(sum, zip(*counts, strict=True)))
    print(line("all errors", every))
    print(f"\n{same:,} of {len(references):,} tables score 1 beside themselves; ", end="")
    print(f"{1000 * seconds / len(drawn):.2f} ms of processor time a comparison")
    shares = [
        f"{tallies[name].moved / max(tallies[name].tables, 1):.1%} of {name}" for name in _MOVED
    ]
    others = sum(tally.moved for name, tally in tallies.items() if name not in _MOVED)
    print(f"moved: {', '.join(shares)}; {others} of all other tables")
    if options.json:
        options.json.write_text(json.dumps({n: asdict(t) for n, t in tallies.items()}))


def line(name: str, tally: Tally) -> str:
    precision = f"{tally.right / tally.reported:.3f}" if tally.reported else "–"
    recall = f"{tally.detected / tally.true:.3f}" if tally.true else "–"
    noticed = f"{tally.noticed / tally.tables:.3f}" if tally.tables else "–"
    return f"| {name} | {tally.tables:,} | {noticed} | {precision} | {recall} |"


def count(perturbed: Perturbation, tally: Tally) -> None:
    compared = compare_tables(perturbed.reference, perturbed.table)
    reported = list(reported_places(compared))
    right = [
        [lies_in(place, true, perturbed) for true in perturbed.differences] for place in reported
    ]
    tally.tables += 1
    tally.noticed += compared.score() < 1
    tally.moved += any(moved.kind != "order" for moved in compared.moved)
    tally.reported += len(reported)
    tally.right += sum(map(any, right))
    tally.true += len(perturbed.differences)
    tally.detected += sum(any(column) for column in zip(*right, strict=True)) if right else 0


@dataclass(frozen=True)
class Reported:
    """A difference as the comparison has it; rows by what they say, as two may say the same."""

    extra: bool
    row: tuple[str, ...] | None = None
    column: int | None = None


def reported_places(compared: TableComparison) -> Iterator[Reported]:
    for row in compared.rows:
        if row.prediction is None and row.reference is not None:
            yield Reported(False, compared.reference.rows[row.reference])
        elif row.reference is None and row.prediction is not None:
            yield Reported(True, compared.prediction.rows[row.prediction])
    merged = {
        (columns.in_prediction, part) for columns in compared.merged for part in columns.parts
    }
    wholes = {(columns.in_prediction, columns.whole) for columns in compared.merged}
    for columns in compared.merged:
        for part in columns.parts if columns.in_prediction else (columns.whole,):
            yield Reported(False, column=part)
    for column in compared.columns:
        reference, prediction = column.pair
        told = (True, reference) in merged or (False, reference) in wholes
        told = told or (False, prediction) in merged or (True, prediction) in wholes
        renamed = column.header is not None and column.header.share > 0
        if not told and (not column.pair.is_matched or renamed):
            place = prediction if reference is None else reference
            yield Reported(reference is None, column=place)
    for cell in compared.cells:
        if cell.outcome != "exact":
            assert cell.row.reference is not None
            values = compared.reference.rows[cell.row.reference]
            yield Reported(False, values, cell.column.reference)


def lies_in(place: Reported, true: Difference, perturbed: Perturbation) -> bool:
    """Return whether a reported difference is in a true one; a row is in none of its cells."""
    if place.extra != true.extra and true.part != "header":
        return False
    row = None
    if true.row:
        cells = (perturbed.table if true.extra else perturbed.reference)[true.row]
        row = (*cells, *[""] * (len(perturbed.reference[0]) - len(cells)))
    same_row = row is None or (place.row is not None and place.row[: len(row)] == row)
    same_column = true.column is None or place.column == true.column
    return same_row and same_column


if __name__ == "__main__":
    main()
