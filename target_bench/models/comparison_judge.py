"""A language model that checks how two tables were aligned, and how their texts differ.

TabAlign and TabCompare of Pancholi et al. (2025), as refinements of what rules found: numbers,
dates and other values that are computed stay with the rules.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from target_bench.models.judges import ModelJudge, Wording, last_object
from target_bench.tables.comparison import TableComparison, compare_tables
from target_bench.tables.comparison.align import Grid, Pairs
from target_bench.tables.comparison.compare import AnyTable, compare_aligned
from target_bench.tables.comparison.differences import CellDifference
from target_bench.tables.comparison.rubric import CellPair, Outcome

COMPARISON = Wording(
    "table_comparison",
    "tabxeval-prompts:1",
    "You compare tables carefully, cell by cell, and answer with JSON.",
)

REQUESTS = 2
"""Requests for a pair of tables at most: about the alignment, then about the cells."""

_ALIGN = """\
Find the rows and the columns of two tables that belong together. Names may be abbreviated, \
translated or reworded, units and formats may differ, and the order may be another one.

Reference:
{reference}

Prediction:
{prediction}

Rules found these pairs of numbers, the reference first:
{found}

Keep what is right, correct what is wrong. A row or column without a partner is in no pair, and \
none is in two. End with a JSON object in a fenced block:

```json
{{"columns": [[1, 1], ...], "rows": [[1, 1], ...]}}
```"""
_COMPARE = """\
These cells stand at the same place of two tables, the reference and a prediction, and their texts \
differ:

{cells}

Say for each number what the difference is: "same" (the same thing, written otherwise), \
"abbreviation", "typo", "similar" (nearly the same meaning) or "different". End with a JSON object \
in a fenced block:

```json
{{"1": "same", ...}}
```"""
# What a model says -> the kind of difference, and the share of the cell that is wrong.
_KINDS: Mapping[str, tuple[str, float]] = {
    "same": ("format", 0.0),
    "abbreviation": ("abbreviation", 0.25),
    "typo": ("typo", 0.25),
    "similar": ("semantic", 0.25),
    "different": ("different", 1.0),
}

_TEXT_KINDS = frozenset({"abbreviation", "typo", "semantic", "different", "type"})


class JudgedComparison(NamedTuple):
    """A comparison that a model has checked."""

    comparison: TableComparison
    unread: tuple[str, ...]
    """Which of ``alignment`` and ``cells`` got a reply of another form: the rules stand there."""


def compare_by_model(
    generator: Any, pairs: Mapping[str, tuple[AnyTable, AnyTable]]
) -> dict[str, JudgedComparison]:
    """Ask a generator about the alignment of each pair, then about the texts that differ.

    Args:
        generator: as written on the command line, or an object.
        pairs: what a comparison is called -> the table as it should be, and as it is.
    """
    judge = ModelJudge(generator, COMPARISON)

    def ask(prompts: Mapping[str, str]) -> dict[str, str]:
        replies = judge.replies(prompts)
        return {name: "" if reply.error else reply.text for name, reply in replies.items()}

    compared = {name: compare_tables(*pair) for name, pair in pairs.items()}
    unread: dict[str, list[str]] = {name: [] for name in pairs}
    replies = ask({f"{n}#align": _write_alignment_prompt(rules) for n, rules in compared.items()})
    for name, rules in compared.items():
        aligned = parse_alignment(replies[f"{name}#align"], rules)
        if aligned is None:
            unread[name].append("alignment")
        else:
            compared[name] = compare_aligned(
                rules.reference, rules.prediction, *aligned, rules.transposed
            )
    differing = {name: cells for name, pair in compared.items() if (cells := _select_cells(pair))}
    replies = ask({f"{n}#compare": _write_cells_prompt(cells) for n, cells in differing.items()})
    for name, cells in differing.items():
        kinds = parse_kinds(replies[f"{name}#compare"], len(cells))
        if kinds is None:
            unread[name].append("cells")
        else:
            compared[name] = _replace_kinds(compared[name], cells, kinds)
    return {name: JudgedComparison(pair, tuple(unread[name])) for name, pair in compared.items()}


def parse_alignment(reply: str, rules: TableComparison) -> tuple[Pairs, Pairs] | None:
    """Read pairs of columns and rows; None unless all are of the form and of these tables."""
    pairs, gold, answer = last_object(reply) or {}, rules.reference, rules.prediction
    columns = _read_pairs(pairs.get("columns"), len(gold.header), len(answer.header))
    rows = _read_pairs(pairs.get("rows"), len(gold.rows), len(answer.rows))
    return None if columns is None or rows is None else (columns, rows)


def _read_pairs(numbers: Any, n: int, m: int) -> Pairs | None:
    """Return pairs of indices from pairs of numbers; None unless all are, each taken once."""
    if not isinstance(numbers, list):
        return None
    for pair in numbers:
        if not isinstance(pair, list) or [type(number) for number in pair] != [int, int]:
            return None
    pairs: Pairs = [(i - 1, j - 1) for i, j in numbers]
    sides = (({i for i, _ in pairs}, n), ({j for _, j in pairs}, m))
    valid = all(len(side) == len(pairs) and side <= set(range(size)) for side, size in sides)
    return sorted(pairs) if valid else None


def parse_kinds(reply: str, count: int) -> list[str] | None:
    """Read the kind of each cell; None unless all cells are named, and nothing else."""
    kinds = last_object(reply) or {}
    numbers = [str(number) for number in range(1, count + 1)]
    if set(kinds) != set(numbers):
        return None
    if not all(isinstance(kind, str) and kind in _KINDS for kind in kinds.values()):
        return None
    return [kinds[number] for number in numbers]


def _select_cells(comparison: TableComparison) -> list[CellPair]:
    return [c for c in comparison.cells if c.difference and c.difference.kind in _TEXT_KINDS]


def _replace_kinds(
    comparison: TableComparison, cells: Sequence[CellPair], kinds: Sequence[str]
) -> TableComparison:
    judged = {(c.row, c.column): kind for c, kind in zip(cells, kinds, strict=True)}

    def change(cell: CellPair) -> CellPair:
        answer = judged.get((cell.row, cell.column))
        if answer is None or cell.difference is None:
            return cell
        kind, share = _KINDS[answer]
        # Both sides are there: "partial" is all that is not equal, and the share says how wrong.
        outcome: Outcome = "partial" if share else "exact"
        _, _, magnitude, unit = cell.difference
        return cell._replace(
            outcome=outcome, difference=CellDifference(kind, share, magnitude, unit)
        )

    return replace(comparison, cells=tuple(map(change, comparison.cells)))


def _write_alignment_prompt(rules: TableComparison) -> str:
    pairs = {"columns": [column.pair for column in rules.columns], "rows": rules.rows}
    alignment = {
        part: [[i + 1, j + 1] for i, j in some if i is not None and j is not None]
        for part, some in pairs.items()
    }
    return _ALIGN.format(
        reference=_write_grid(rules.reference),
        prediction=_write_grid(rules.prediction),
        found=json.dumps(alignment),
    )


def _write_grid(grid: Grid) -> str:
    """Return a table as lines of JSON, with the numbers of its rows and columns."""
    header = {str(number): name for number, name in enumerate(grid.header, start=1)}
    rows = (f"row {n}: {_json(row)}" for n, row in enumerate(grid.rows, start=1))
    return "\n".join([f"columns: {_json(header)}", *rows])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_cells_prompt(cells: Sequence[CellPair]) -> str:
    lines = (
        f"{number}. {_json(cell.reference)} / {_json(cell.prediction)}"
        for number, cell in enumerate(cells, start=1)
    )
    return _COMPARE.format(cells="\n".join(lines))
