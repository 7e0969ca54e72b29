"""What a comparison of two tables says: the alignment, the cells, the counts and their score.

The score is one less weighted shares of what is missing, extra and wrong: Pancholi et al. (2025),
section 2.3 and appendix B.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from html import escape
from math import isfinite
from typing import Any, Literal, NamedTuple, get_args

from target_bench.core.errors import ConfigError
from target_bench.core.text_tables import Column, TextTable, text
from target_bench.tables.comparison.align import Grid, Merged
from target_bench.tables.comparison.differences import KINDS, CellDifference, PartialKind
from target_bench.tables.comparison.values import DataType, cell_value

Outcome = Literal["exact", "partial", "missing", "extra"]
"""What became of a cell: ``missing`` and ``extra`` are cells of which one side is empty."""


class PlacePair(NamedTuple):
    """Places of a row or a column in both tables.

    Attributes:
        reference: its place in the reference; None for an extra one.
        prediction: its place in the prediction; None for a missing one.
    """

    reference: int | None
    prediction: int | None

    @property
    def is_matched(self) -> bool:
        """Whether both tables have it."""
        return None not in self

    @property
    def side(self) -> Literal["matched", "missing", "extra"]:
        """Whether both tables have it, or which."""
        if self.is_matched:
            return "matched"
        return "extra" if self.reference is None else "missing"


class ColumnPair(NamedTuple):
    """A column in both tables.

    Attributes:
        pair: its places.
        name: its name in the reference; that in the prediction for an extra one.
        predicted_name: its name in the prediction; empty for a missing one.
        type: the type of its cells in the reference; that in the prediction for an extra one.
        predicted_type: the type of its cells in the prediction.
        header: how the names differ; None where they do not.
    """

    pair: PlacePair
    name: str
    predicted_name: str
    type: DataType
    predicted_type: DataType
    header: CellDifference | None = None

    @property
    def is_renamed(self) -> bool:
        """Whether the prediction has another name for it."""
        return self.header is not None and self.header.share > 0


class CellPair(NamedTuple):
    """A cell of a row and a column that both tables have.

    Attributes:
        row: the places of its row.
        column: the places of its column.
        reference: what it says in the reference.
        prediction: what it says in the prediction.
        outcome: what became of it.
        difference: of a cell that is partially right, and of one written otherwise; else None.
    """

    row: PlacePair
    column: PlacePair
    reference: str
    prediction: str
    outcome: Outcome
    difference: CellDifference | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """The structure descriptor: how many rows, columns and cells are missing, extra or matched.

    Cells are counted in matched rows and columns.
    """

    missing_rows: int = 0
    missing_columns: int = 0
    missing_cells: int = 0
    extra_rows: int = 0
    extra_columns: int = 0
    extra_cells: int = 0
    matched_rows: int = 0
    matched_columns: int = 0
    matched_cells: int = 0
    renamed_columns: int = 0
    merged_columns: int = 0

    @property
    def rows(self) -> int:
        """Rows of both tables, matched ones once."""
        return self.missing_rows + self.extra_rows + self.matched_rows

    @property
    def columns(self) -> int:
        """Columns of both tables, matched ones once."""
        return self.missing_columns + self.extra_columns + self.matched_columns


@dataclass(frozen=True)
class TableComparison:
    """Two tables compared; notebooks and ``print`` show what differs.

    Attributes:
        reference: the table as it should be.
        prediction: the table as it is, turned if it was transposed.
        transposed: whether rows and columns of the prediction were exchanged.
        columns: the columns of both: those of the reference in their order, then extra ones.
        rows: the rows of both, in the same order.
        cells: the cells of matched rows and columns of which one is not empty.
        merged: columns that were merged or split.
    """

    reference: Grid
    prediction: Grid
    transposed: bool
    columns: tuple[ColumnPair, ...]
    rows: tuple[PlacePair, ...]
    cells: tuple[CellPair, ...]
    merged: tuple[Merged, ...] = ()

    def score(self, weights: "RubricWeights | None" = None) -> float:
        """Return how good the prediction is: 1 less the penalty, and at least 0.

        Args:
            weights: of the terms; None for the default ones.
        """
        return self.penalty(weights).score

    def penalty(self, weights: "RubricWeights | None" = None) -> "Penalty":
        """Return the penalty, term by term; ``weights`` as in ``score``."""
        return penalty(self.structure, self.partial_shares, weights or RubricWeights())

    def paper_score(self, weights: "RubricWeights | None" = None) -> float:
        """Return the score by the equation of the paper; ``weights`` as in ``score``.

        Its shares are of the rows, columns and cells of the reference, not of both tables, and
        names of columns, and columns that were merged or split, are in no term of their own.
        """
        own = replace(weights or RubricWeights(), renamed=0.0, merged=0.0)
        shape = len(self.reference.rows), len(self.reference.header)
        return penalty(self.structure, self.partial_shares, own, shape).score

    @cached_property
    def structure(self) -> Structure:
        """The structure descriptor."""
        counts = Counter(f"{pair.side}_rows" for pair in self.rows)
        for column in self.columns:
            side = "matched" if column.pair in self.merged_pairs else column.pair.side
            counts[f"{side}_columns"] += 1
            counts["renamed_columns"] += column.is_renamed
        for cell in self.cells:
            side = cell.outcome if cell.outcome in ("missing", "extra") else "matched"
            counts[f"{side}_cells"] += 1
        counts["merged_columns"] = sum(len(merged.parts) - 1 for merged in self.merged)
        return Structure(**counts)

    @cached_property
    def merged_pairs(self) -> frozenset[PlacePair]:
        """The pairs of columns that hold what was merged or split: none of them is missing."""
        return frozenset(
            column.pair
            for merged in self.merged
            for column in self.columns
            if column.pair[merged.in_prediction] == merged.whole
            or column.pair[not merged.in_prediction] in merged.parts
        )

    @cached_property
    def partial_shares(self) -> Mapping[PartialKind, float]:
        """Kind of difference -> the sum of the wrong shares of the cells with it."""
        shares: dict[PartialKind, float] = {}
        for cell in self.cells:
            if cell.difference is not None:
                kind = cell.difference.kind
                shares[kind] = shares.get(kind, 0.0) + cell.difference.share
        return shares

    @cached_property
    def types(self) -> "TypeTable":
        """The column descriptor: data type -> what is missing, extra and partially right of it."""
        outcomes = Counter((cell.column, cell.outcome) for cell in self.cells)
        rows = self.reference.rows, self.prediction.rows
        alone = [[pair[side] for pair in self.rows if not pair.is_matched] for side in (0, 1)]
        counts: dict[DataType, Counter[str]] = {}
        for column in self.columns:
            pair = column.pair
            own = counts.setdefault(column.type if column.type in TYPES else "other", Counter())
            own["columns"] += 1
            for outcome, name in zip(get_args(Outcome), TYPE_COUNTS[3:], strict=True):
                own[name] += outcomes[pair, outcome]
            if pair in self.merged_pairs and not pair.is_matched:
                continue
            for side, name in enumerate(("missing", "extra")):
                place = pair[side]
                if place is not None:
                    places = alone[side] if pair.is_matched else range(len(rows[side]))
                    cells = (rows[side][row][place] for row in places if row is not None)
                    own[f"{name}_columns"] += not pair.is_matched
                    own[name] += sum(cell_value(cell).type != "empty" for cell in cells)
        return {
            kind: {name: counts[kind][name] for name in TYPE_COUNTS}
            for kind in TYPES
            if kind in counts
        }

    def to_json(self, weights: "RubricWeights | None" = None) -> dict[str, Any]:
        """Return score, counts, and every difference, as JSON; ``weights`` as in ``score``."""
        penalty = self.penalty(weights)
        return {
            "score": penalty.score,
            "penalty": penalty.total,
            "paper_score": self.paper_score(weights),
            "terms": [term._asdict() | {"value": term.value} for term in penalty.terms],
            "structure": asdict(self.structure),
            "types": self.types,
            "transposed": self.transposed,
            "columns": [
                column._asdict() | {"header": column.header and column.header._asdict()}
                for column in self.columns
            ],
            "rows": list(self.rows),
            "cells": [
                cell._asdict() | {"difference": cell.difference and cell.difference._asdict()}
                for cell in self.cells
                if cell.outcome != "exact" or cell.difference
            ],
        }

    def __str__(self) -> str:
        return text(text_tables(self))

    def _repr_html_(self) -> str:
        body = _body(self, None, "Comparison")
        return f'<style>{_STYLE}</style><div class="tb-comparison">{body}</div>'


TYPES: tuple[DataType, ...] = ("number", "string", "bool", "date", "list", "time", "other")
"""The types of Table 3 of Pancholi et al. (2025); a column without a filled cell is ``other``."""

TYPE_COUNTS = (
    "columns",
    "missing_columns",
    "extra_columns",
    "equal",
    "partial",
    "missing",
    "extra",
)
"""What is counted of a data type, which is that of the reference's column, or of an extra one.

Columns of both tables, paired ones once; those that one lacks; cells of both that are equal in any
format, and that differ; cells filled in one alone, those of missing and extra rows and columns too.
"""

TypeTable = Mapping[DataType, Mapping[str, int]]


def summed_types(tables: Iterable[TypeTable]) -> TypeTable:
    """Return data type -> the sums of its counts over several comparisons."""
    listed = list(tables)
    return {
        kind: {
            name: sum(table[kind][name] for table in listed if kind in table)
            for name in TYPE_COUNTS
        }
        for kind in TYPES
        if any(kind in table for table in listed)
    }


# The score.


@dataclass(frozen=True, slots=True)
class RubricWeights:
    """The weights of the score.

    Attributes:
        missing: of what the prediction lacks.
        extra: of what it has too much.
        partial: of cells that are partially right.
        row: of a row.
        column: of a column.
        cell: of a cell.
        renamed: of a column with another name, times that of a column.
        merged: of a column that was merged or split, times that of a column.
        kinds: kind of partial difference -> its weight; 1 where it has none.

    Raises:
        ConfigError: a kind is unknown, or a weight is not a number from 0 on.
    """

    missing: float = 1.0
    extra: float = 1.0
    partial: float = 1.0
    row: float = 1.0
    column: float = 1.0
    cell: float = 1.0
    renamed: float = 0.1
    merged: float = 0.1
    kinds: Mapping[PartialKind, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every weight."""
        for kind in self.kinds:
            if kind not in KINDS:
                raise ConfigError(f"RubricWeights: kinds: {kind!r}: there are {', '.join(KINDS)}")
        values: dict[str, Any] = {term: getattr(self, term) for term in _TERMS} | dict(self.kinds)
        for name, value in values.items():
            if not (isinstance(value, int | float) and isfinite(value) and value >= 0):
                raise ConfigError(f"RubricWeights: {name}={value!r}: expected a number from 0 on")


_TERMS = tuple(field.name for field in fields(RubricWeights) if field.name != "kinds")


def weights_named(text: str) -> RubricWeights:
    """Read weights as users write them; the others stay 1.

    Args:
        text: ``equal``, or ``name=number`` pairs divided by commas: fields of ``RubricWeights``,
            and kinds of partial differences (the paper's gamma).

    Raises:
        ConfigError: a name is unknown or stands twice, or a weight is not a number from 0 on.
    """
    if text == "equal":
        return RubricWeights()
    weights: dict[str, Any] = {}
    for part in text.split(","):
        name, _, number = (side.strip() for side in part.partition("="))
        is_new = name in (*_TERMS, *KINDS) and name not in weights
        if not is_new or not number.replace(".", "", 1).isdecimal():
            raise ConfigError(
                f"--weights: {part.strip()!r} is not a weight. There is equal, or "
                "pairs such as missing=1,numeric=0.5: a number from 0 on for each, once, of "
                f"{', '.join((*_TERMS, *KINDS))}"
            )
        weights[name] = float(number)
    terms = {name: number for name, number in weights.items() if name in _TERMS}
    return RubricWeights(**terms, kinds={k: weights[k] for k in KINDS if k in weights})


class Term(NamedTuple):
    """A term of the penalty.

    Attributes:
        name: what it counts: ``missing rows``, ``numeric`` cells.
        weight: the product of its weights.
        amount: how many, or for partial cells the sum of their wrong shares.
        total: how many there are.
    """

    name: str
    weight: float
    amount: float
    total: int

    @property
    def value(self) -> float:
        """What it adds to the penalty."""
        return self.weight * self.amount / self.total if self.total else 0.0


class Penalty(NamedTuple):
    """The penalty of a prediction; ``terms`` are those with an amount."""

    terms: tuple[Term, ...]

    @property
    def total(self) -> float:
        """The sum of the terms, which may be over 1."""
        return sum(term.value for term in self.terms)

    @property
    def score(self) -> float:
        """One less the total, and at least 0."""
        return max(0.0, 1.0 - self.total)


def penalty(
    structure: Structure,
    shares: Mapping[PartialKind, float],
    weights: RubricWeights,
    shape: tuple[int, int] | None = None,
) -> Penalty:
    """Return the penalty of a structure and its partial cells.

    Args:
        structure: the structure descriptor.
        shares: kind of difference -> the sum of the wrong shares of its cells.
        weights: of the terms.
        shape: rows and columns that shares are of; None for those of both tables.
    """
    if shape is None:
        rows, columns = structure.rows, structure.columns
    else:  # what is extra beside an empty reference is all of it
        rows, columns = max(shape[0], 1), max(shape[1], 1)
    sizes = {
        "rows": (weights.row, rows),
        "columns": (weights.column, columns),
        "cells": (weights.cell, rows * columns),
    }
    terms = [
        Term(f"{side} {part}", of_side * size, getattr(structure, f"{side}_{part}"), total)
        for side, of_side in (("missing", weights.missing), ("extra", weights.extra))
        for part, (size, total) in sizes.items()
    ]
    for part, weight in (("renamed", weights.renamed), ("merged", weights.merged)):
        amount = getattr(structure, f"{part}_columns")
        terms.append(Term(f"{part} columns", weight * weights.column, amount, columns))
    partial = weights.partial * weights.cell
    terms += [
        Term(f"{kind} cells", partial * weights.kinds.get(kind, 1.0), amount, rows * columns)
        for kind, amount in sorted(shares.items())
    ]
    return Penalty(tuple(term for term in terms if term.amount))


# For people: tables for the terminal, and the same ones as a page.

MOST_PRINTED = 60
"""Rows that are printed in a terminal."""

MOST_SHOWN = 500
"""Rows that are shown on a page."""

_MOST_NAMES = 10  # columns with another name that are listed


def text_tables(
    comparison: TableComparison,
    weights: RubricWeights | None = None,
    name: str = "Comparison",
    most: int = MOST_PRINTED,
) -> list[TextTable]:
    """Return the aligned table with its differences, counts, and the arithmetic of the score.

    Args:
        comparison: what is shown.
        weights: of the score; None for the default ones.
        name: of the comparison.
        most: rows that are shown; those without a difference are left out first.
    """
    shown = _shown_rows(comparison, most)
    left_out = len(comparison.rows) - len(shown)
    notes = [f"{left_out:,} more rows are not shown."] if left_out else []
    if comparison.transposed:
        notes.append("The prediction was transposed; it is compared as the reference lies.")
    header = (Column(_in_one(cell), prose=True) for cell in _header(comparison))
    rows = [[f"{number} {note}".strip(), *map(_in_one, cells)] for number, note, cells in shown]
    title = f"{name}: reference → prediction"
    aligned = TextTable([Column("row"), *header], rows, title, note=" ".join(notes) or None)
    types, counts, score = _number_tables(comparison, weights)
    sentences = list(_sentences(comparison))
    if not score.rows:
        sentences.append("Nothing costs anything: the score is 1.0000.")
    counts = replace(counts, note=" ".join(sentences))
    if not score.rows:
        return [aligned, types, counts]
    penalty = comparison.penalty(weights)
    at_least = "" if penalty.total <= 1 else ", and at least 0"
    arithmetic = f"1 − {penalty.total:.4f} = {1 - penalty.total:.4f}{at_least}"
    note = f"{arithmetic}: the score is {penalty.score:.4f}. {_by_the_paper(comparison, weights)}"
    return [aligned, types, counts, replace(score, note=note)]


def page(comparison: TableComparison, title: str, weights: RubricWeights | None = None) -> str:
    """Return a comparison as a whole page, which needs no other file.

    Args:
        comparison: what is shown.
        title: of the page.
        weights: of the score; None for the default ones.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>:root {{ color-scheme: light dark; }} "
        "body { margin: 1.5rem; background: light-dark(#fff, #14171c); }"
        f'{_STYLE}</style></head><body><main class="tb-comparison">'
        f"{_body(comparison, weights, title)}</main></body></html>\n"
    )


class _Shown(NamedTuple):
    """A cell of both tables.

    Attributes:
        reference: what the reference says.
        prediction: what the prediction says.
        mark: what became of it; ``absent``: it is in an extra row and a missing column, or the
            reverse.
        note: the name of the difference and its size; empty where there is none.
    """

    reference: str
    prediction: str
    mark: str
    note: str = ""


def _header(comparison: TableComparison) -> Iterator[_Shown]:
    """Yield the names of the columns of both tables."""
    for column in comparison.columns:
        side = column.pair.side
        mark, note = "partial" if column.is_renamed else "exact", ""
        if column.pair in comparison.merged_pairs:
            mark, note = "partial", "merged or split"
        elif side != "matched":
            mark, note = side, f"{side} column"
        elif column.header is not None:
            note = f"name: {_named(column.header)}"
        yield _Shown("" if side == "extra" else column.name, column.predicted_name, mark, note)


def _shown_rows(comparison: TableComparison, most: int) -> list[tuple[int, str, list[_Shown]]]:
    """Return number from 1, note and cells of at most so many rows, in their order.

    Where there are more, those without a difference are left out first.
    """
    known = {(cell.row, cell.column): cell for cell in comparison.cells}
    every = [
        (
            number,
            "" if row.is_matched else f"{row.side} row",
            [_shown(comparison, row, column.pair, known) for column in comparison.columns],
        )
        for number, row in enumerate(comparison.rows, start=1)
    ]
    every.sort(key=lambda row: all(cell.mark == "exact" and not cell.note for cell in row[2]))
    return sorted(every[:most], key=lambda row: row[0])


def _shown(
    comparison: TableComparison,
    row: PlacePair,
    column: PlacePair,
    known: Mapping[tuple[PlacePair, PlacePair], CellPair],
) -> _Shown:
    grids = comparison.reference, comparison.prediction
    reference, prediction = (
        "" if i is None or j is None else grid.rows[i][j]
        for grid, i, j in zip(grids, row, column, strict=True)
    )
    cell = known.get((row, column))
    alone = {row.side, column.side} - {"matched"}
    mark = cell.outcome if cell else "absent" if len(alone) > 1 else next(iter(alone), "exact")
    if row.is_matched and column in comparison.merged_pairs:
        mark = "partial"
    return _Shown(
        reference, prediction, mark, _named(cell.difference) if cell and cell.difference else ""
    )


def _named(difference: CellDifference) -> str:
    """Return the name of a difference and its size."""
    name, size = KINDS[difference.kind], difference.magnitude
    if size is None or difference.kind in ("format", "typo", "semantic", "different"):
        return name
    sign = "+" if size > 0 and difference.kind != "list" else ""
    unit = f" {difference.unit}" if difference.unit else ""
    return f"{name} {sign}{size:,.6g}{unit}"


def _number_tables(
    comparison: TableComparison, weights: RubricWeights | None
) -> tuple[TextTable, TextTable, TextTable]:
    """Return the counts by data type, those of rows, columns and cells, and the penalty."""

    def numbers(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> TextTable:
        first, *others = names
        columns = [Column(first), *(Column(name, right=True) for name in others)]
        return TextTable(columns, rows, title)

    sides = ("matched", "missing", "extra")
    names = [f"{name} cells" if "_" not in name else name.replace("_", " ") for name in TYPE_COUNTS]
    structure = comparison.structure
    return (
        numbers(
            "By data type",
            ("type", "columns", *names[1:]),
            [[kind, *map(str, counts.values())] for kind, counts in comparison.types.items()],
        ),
        numbers(
            "Counts",
            ("", *sides),
            [
                [part, *(str(getattr(structure, f"{side}_{part}")) for side in sides)]
                for part in ("rows", "columns", "cells")
            ],
        ),
        numbers(
            "Score",
            ("term", "weight", "amount", "of", "penalty"),
            [
                [t.name, f"{t.weight:.4g}", f"{t.amount:.4g}", str(t.total), f"{t.value:.4f}"]
                for t in comparison.penalty(weights).terms
            ],
        ),
    )


def _by_the_paper(comparison: TableComparison, weights: RubricWeights | None) -> str:
    return f"With shares of the reference, as in the paper: {comparison.paper_score(weights):.4f}."


def _sentences(comparison: TableComparison) -> Iterator[str]:
    """Yield which columns are named otherwise, merged or split, and which cells differ."""
    renamed = [f"{c.name} → {c.predicted_name}" for c in comparison.columns if c.is_renamed]
    if renamed:
        left = len(renamed) - _MOST_NAMES
        more = f"; and {left} more" if left > 0 else ""
        yield f"Columns with another name: {'; '.join(renamed[:_MOST_NAMES])}{more}."
    headers = comparison.reference.header, comparison.prediction.header
    for merged in comparison.merged:
        apart, together = headers if merged.in_prediction else reversed(headers)
        names = " + ".join(apart[part] for part in merged.parts), together[merged.whole]
        first, second = names if merged.in_prediction else reversed(names)
        yield f"Columns {'merged' if merged.in_prediction else 'split'}: {first} → {second}."
    kinds = Counter(cell.difference.kind for cell in comparison.cells if cell.difference)
    if kinds:
        named = ", ".join(f"{KINDS[kind]} {n}" for kind, n in sorted(kinds.items()))
        yield f"Matched cells that differ: {named}."
    elif comparison.structure.matched_cells:
        yield "All matched cells are equal."
    else:
        yield "No cell of one matches one of the other."


def _in_one(cell: _Shown) -> str:
    """Return a cell of both tables as the terminal shows it."""
    note = f" [{cell.note}]" if cell.note else ""
    if cell.mark == "absent":
        return ""
    if cell.mark == "missing" or (note and not cell.prediction):
        return f"− {cell.reference}{note}"
    if cell.mark == "extra" or (note and not cell.reference):
        return f"+ {cell.prediction}{note}"
    if note or (cell.mark == "partial" and cell.reference and cell.prediction):
        return f"{cell.reference} → {cell.prediction}{note}"
    return cell.reference or cell.prediction


# HTML: the tables of the terminal, with a colour for what is missing, extra or wrong.

_STYLE = """
.tb-comparison { color-scheme: light dark; color: light-dark(#1a1e25, #e7eaf0);
  background: light-dark(#fff, #14171c); font: 0.95rem/1.45 system-ui, sans-serif; }
.tb-comparison section { overflow-x: auto; min-width: 0; }
.tb-comparison table { border-collapse: collapse; width: max-content; }
.tb-comparison caption { text-align: left; font-weight: 650; padding: 0.25rem 0; }
.tb-comparison th, .tb-comparison td { border: 1px solid light-dark(#d7dce3, #353b46);
  padding: 0.2rem 0.5rem; text-align: left; vertical-align: top; max-width: 20rem; }
.tb-comparison th { background: light-dark(#eceff3, #262b34); }
.tb-comparison td.number { text-align: right; font-variant-numeric: tabular-nums; }
.tb-comparison .missing { background: light-dark(#fbe7e9, #461c22); }
.tb-comparison .extra { background: light-dark(#e6eefc, #1f3050); }
.tb-comparison .partial { background: light-dark(#fdf1d6, #3d3013); }
"""


def _body(comparison: TableComparison, weights: RubricWeights | None, name: str) -> str:
    aligned, *others = text_tables(comparison, weights, name, MOST_SHOWN)
    shown = _shown_rows(comparison, MOST_SHOWN)
    marks = [["", *(cell.mark for cell in cells)] for _, _, cells in shown]
    header = ["", *(cell.mark for cell in _header(comparison))]
    return _html(aligned, header, marks) + "".join(map(_html, others))


def _html(table: TextTable, header: Sequence[str] = (), marks: Sequence[Sequence[str]] = ()) -> str:
    """Return a table and its note; marks are classes of cells, in place of those of numbers."""
    kinds = ["number" if column.right else "" for column in table.columns]
    names = zip((column.name for column in table.columns), header or [""] * len(kinds), strict=True)
    head = "".join(_element("th", name, mark) for name, mark in names)
    lines = (
        "".join(_element("td", cell, kind) for cell, kind in zip(row, classes, strict=True))
        for row, classes in zip(table.rows, marks or [kinds] * len(table.rows), strict=True)
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    note = _element("p", table.note or "") if table.note else ""
    return (
        f"<section><table><caption>{escape(table.title or '')}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></section>{note}"
    )


def _element(name: str, text: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<{name}{attribute}>{escape(text)}</{name}>"
