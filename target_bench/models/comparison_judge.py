"""A language model that checks how two tables were aligned, and how their texts differ.

TabAlign and TabCompare of Pancholi et al. (2025), as refinements of what rules found: numbers,
dates and other values that are computed stay with the rules.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from target_bench.core import registry
from target_bench.core.schema import GenerationRequest, Message
from target_bench.models.generator_calls import ask_generator, check_generator
from target_bench.models.json_replies import last_object
from target_bench.tables.comparison import TableComparison, compare_tables
from target_bench.tables.comparison.align import Pairs
from target_bench.tables.comparison.compare import AnyTable, compare_aligned
from target_bench.tables.comparison.differences import Difference, PartialKind
from target_bench.tables.comparison.rubric import CellPair, Grid, Outcome

VERSION = "tabxeval-prompts:1"
"""The version of the wordings below."""

REQUESTS = 2
"""Requests for a pair of tables at most: about the alignment, then about the cells."""

_SYSTEM = "You compare tables carefully, cell by cell, and answer with JSON."
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
_SAYINGS: Mapping[str, tuple[PartialKind, float]] = {
    "same": ("format", 0.0),
    "abbreviation": ("abbreviation", 0.25),
    "typo": ("typo", 0.25),
    "similar": ("semantic", 0.25),
    "different": ("different", 1.0),
}
"""What a model says -> the kind of difference, and the share of the cell that is wrong."""

_ASKED = frozenset({"abbreviation", "typo", "semantic", "different", "type", "list"})


class TablePair(NamedTuple):
    """Two tables to compare.

    Attributes:
        query_id: what the comparison is called.
        reference: the table as it should be.
        prediction: the table as it is.
    """

    query_id: str
    reference: AnyTable
    prediction: AnyTable


class JudgedComparison(NamedTuple):
    """A comparison that a model has checked.

    Attributes:
        comparison: the comparison.
        replies: what the model said of the alignment and of the cells; empty where it was not
            asked or did not answer. ``replayed`` makes the comparison from them again.
        unread: of which of the two the reply was not of the form that was asked for; there the
            rules' findings stand.
    """

    comparison: TableComparison
    replies: tuple[str, str]
    unread: tuple[str, ...]


class ComparisonJudge:
    """Asks a generator about the alignment of each pair, then about the texts that differ.

    Args:
        generator: as written on the command line, or an object.

    Raises:
        ConfigError: it is not a generator.
    """

    def __init__(self, generator: Any) -> None:
        self._generator = check_generator(registry.part("generator", generator))

    def compared(self, pairs: Sequence[TablePair]) -> dict[str, JudgedComparison]:
        """Return query id -> the comparison.

        Raises:
            TargetBenchError: what the generator raises on purpose, such as for a wrong key.
            DataError: a table is too large to be compared.
        """
        rules = {pair.query_id: compare_tables(*pair[1:]) for pair in pairs}
        said = self._replies({f"{name}#align": _align(one) for name, one in rules.items()})
        first = {name: (said[f"{name}#align"], "") for name in rules}
        aligned = {name: _replayed(rules[name], first[name]).comparison for name in rules}
        asked = {f"{name}#compare": _compare(one) for name, one in aligned.items() if _texts(one)}
        said = self._replies(asked)
        return {
            name: _replayed(rules[name], (first[name][0], said.get(f"{name}#compare", "")))
            for name in rules
        }

    def _replies(self, prompts: Mapping[str, str]) -> dict[str, str]:
        requests = [_request(name, prompt) for name, prompt in prompts.items()]
        found = ask_generator(self._generator, requests)
        return {name: "" if one.error else one.text for name, one in found.items()}


def replayed(
    reference: AnyTable, prediction: AnyTable, replies: tuple[str, str]
) -> JudgedComparison:
    """Compare two tables with what a model said of them before.

    Args:
        reference: the table as it should be.
        prediction: the table as it is.
        replies: as in ``JudgedComparison``.

    Raises:
        DataError: a table is too large to be compared.
    """
    return _replayed(compare_tables(reference, prediction), replies)


def _replayed(rules: TableComparison, replies: tuple[str, str]) -> JudgedComparison:
    unread = []
    found = rules
    pairs = parse_alignment(replies[0], rules)
    if pairs is not None:
        found = compare_aligned(rules.reference, rules.prediction, *pairs, rules.transposed)
    else:
        unread.append("alignment")
    cells = _texts(found)
    kinds = parse_kinds(replies[1], len(cells)) if cells else {}
    if kinds is None:
        unread.append("cells")
    else:
        found = _with_kinds(found, cells, kinds)
    return JudgedComparison(found, replies, tuple(unread))


def parse_alignment(reply: str, rules: TableComparison) -> tuple[Pairs, Pairs] | None:
    """Read pairs of columns and rows; None unless all are of the form and of these tables."""
    said = last_object(reply) or {}
    sizes = {
        "columns": (len(rules.reference.header), len(rules.prediction.header)),
        "rows": (len(rules.reference.rows), len(rules.prediction.rows)),
    }
    found = [_pairs(said.get(part), *size) for part, size in sizes.items()]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _pairs(said: Any, n: int, m: int) -> Pairs | None:
    """Return pairs of places from pairs of numbers; None unless all are, each taken once."""
    if not isinstance(said, list):
        return None
    found: Pairs = []
    for pair in said:
        if not isinstance(pair, list) or [type(number) for number in pair] != [int, int]:
            return None
        found.append((pair[0] - 1, pair[1] - 1))
    sides = (({i for i, _ in found}, n), ({j for _, j in found}, m))
    valid = all(len(side) == len(found) and side <= set(range(size)) for side, size in sides)
    return sorted(found) if valid else None


def parse_kinds(reply: str, count: int) -> dict[int, str] | None:
    """Read what is said of each of some cells; None unless all are named, and nothing else."""
    said = last_object(reply) or {}
    if set(said) != {str(number) for number in range(1, count + 1)}:
        return None
    if not all(isinstance(kind, str) and kind in _SAYINGS for kind in said.values()):
        return None
    return {int(number) - 1: kind for number, kind in said.items()}


def _texts(comparison: TableComparison) -> list[CellPair]:
    """Return the cells that a model is asked about."""
    return [
        cell
        for cell in comparison.cells
        if cell.difference is not None and cell.difference.kind in _ASKED
    ]


def _with_kinds(
    comparison: TableComparison, cells: Sequence[CellPair], kinds: Mapping[int, str]
) -> TableComparison:
    said = {(cells[i].row, cells[i].column): kind for i, kind in kinds.items()}
    changed = tuple(
        _with_kind(cell, said[cell.row, cell.column]) if (cell.row, cell.column) in said else cell
        for cell in comparison.cells
    )
    return replace(comparison, cells=changed)


def _with_kind(cell: CellPair, saying: str) -> CellPair:
    kind, share = _SAYINGS[saying]
    magnitude = cell.difference.magnitude if cell.difference else None
    unit = cell.difference.unit if cell.difference else ""
    outcome: Outcome = "partial" if share else "exact"
    return cell._replace(outcome=outcome, difference=Difference(kind, share, magnitude, unit))


def _request(name: str, prompt: str) -> GenerationRequest:
    return GenerationRequest(
        query_id=name,
        task="table_comparison",
        messages=(Message("system", _SYSTEM), Message("user", prompt)),
        query="",
    )


def _align(rules: TableComparison) -> str:
    pairs = {"columns": [column.pair for column in rules.columns], "rows": rules.rows}
    found = {
        part: [[i + 1, j + 1] for i, j in some if i is not None and j is not None]
        for part, some in pairs.items()
    }
    return _ALIGN.format(
        reference=_numbered(rules.reference),
        prediction=_numbered(rules.prediction),
        found=json.dumps(found),
    )


def _numbered(grid: Grid) -> str:
    """Return a table as lines of JSON, with the numbers of its rows and columns."""
    header = {str(number): name for number, name in enumerate(grid.header, start=1)}
    rows = (f"row {n}: {_json(row)}" for n, row in enumerate(grid.rows, start=1))
    return "\n".join([f"columns: {_json(header)}", *rows])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _compare(comparison: TableComparison) -> str:
    cells = (
        f"{number}. {_json(cell.reference)} / {_json(cell.prediction)}"
        for number, cell in enumerate(_texts(comparison), start=1)
    )
    return _COMPARE.format(cells="\n".join(cells))
