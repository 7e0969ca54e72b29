"""A comparison of two tables for people: one view for the terminal, one HTML page.

Both show the same rows: every difference is marked and named, and the counts, sentences and the
arithmetic of the score are those of the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Literal, NamedTuple

from target_bench.core.text_tables import Column, TextTable
from target_bench.tables.comparison.differences import Difference
from target_bench.tables.comparison.rubric import (
    CellPair,
    ColumnPair,
    Pair,
    RubricWeights,
    TableComparison,
)

MOST_PRINTED = 60
"""Rows that are printed in a terminal."""

MOST_SHOWN = 500
"""Rows that are shown on a page."""

NAMES = {
    "format": "written otherwise",
    "unit": "unit",
    "identifier": "identifier",
    "numeric": "number",
    "relation": "bound or estimate",
    "date": "date",
    "time": "time",
    "boolean": "yes or no",
    "list": "list",
    "abbreviation": "abbreviation",
    "typo": "typo",
    "semantic": "reworded",
    "different": "other text",
    "type": "other type",
}
"""Kind of difference -> how it is called where people read it."""


def text_tables(
    comparison: TableComparison, weights: RubricWeights | None = None, name: str = "Comparison"
) -> list[TextTable]:
    """Return the aligned table with its differences, counts, and the arithmetic of the score.

    Args:
        comparison: what is shown.
        weights: of the score; None for the default ones.
        name: of the comparison.
    """
    shown = _shown_rows(comparison, MOST_PRINTED)
    left_out = len(comparison.rows) - len(shown)
    notes = [f"{left_out:,} more rows are not shown."] if left_out else []
    if comparison.transposed:
        notes.append("The prediction was transposed; it is compared as the reference lies.")
    aligned = TextTable(
        [
            Column("row"),
            *(Column(_in_one(cell), prose=True) for cell in _header(comparison)),
        ],
        [
            [f"{number} {_row_note(pair)}".strip(), *map(_in_one, cells)]
            for number, pair, cells in shown
        ],
        f"{name}: reference → prediction",
        note=" ".join(notes) or None,
    )
    types, counts, score = _number_tables(comparison, weights)
    sentences = list(_sentences(comparison))
    if not score.rows:
        sentences.append("Nothing costs anything: the score is 1.0000.")
        return [aligned, types.text(), counts.text(" ".join(sentences))]
    penalty = comparison.penalty(weights)
    at_least = "" if penalty.total <= 1 else ", and at least 0"
    arithmetic = f"1 − {penalty.total:.4f} = {1 - penalty.total:.4f}{at_least}"
    return [
        aligned,
        types.text(),
        counts.text(" ".join(sentences)),
        score.text(f"{arithmetic}: the score is {penalty.score:.4f}."),
    ]


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
        f"<h1>{escape(title)}</h1>{_body(comparison, weights)}</main></body></html>\n"
    )


def fragment(comparison: TableComparison, weights: RubricWeights | None = None) -> str:
    """Return a comparison as an element with its own style, as notebooks show it.

    Args:
        comparison: what is shown.
        weights: of the score; None for the default ones.
    """
    return f'<style>{_STYLE}</style><div class="tb-comparison">{_body(comparison, weights)}</div>'


# What both views show.


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
    mark: Literal["exact", "partial", "missing", "extra", "absent"]
    note: str = ""


class _Numbers(NamedTuple):
    """A table of numbers: the names of its rows stand in its first column."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self, note: str | None = None) -> TextTable:
        """Return it for the terminal."""
        columns = [
            Column(self.names[0]),
            *(Column(name, right=True) for name in self.names[1:]),
        ]
        return TextTable(columns, self.rows, self.title, note=note)


def _header(comparison: TableComparison) -> list[_Shown]:
    """Return the names of the columns of both tables."""
    return [_name(column, column.pair in comparison.merged_pairs) for column in comparison.columns]


def _name(column: ColumnPair, merged: bool) -> _Shown:
    side = column.pair.side
    names = ("" if side == "extra" else column.name, column.predicted_name)
    if merged:
        return _Shown(*names, "partial", "merged or split")
    if side != "matched":
        return _Shown(*names, side, f"{side} column")
    note = "" if column.header is None else f"name: {_named(column.header)}"
    return _Shown(*names, "partial" if column.is_renamed else "exact", note)


def _shown_rows(comparison: TableComparison, most: int) -> list[tuple[int, Pair, list[_Shown]]]:
    """Return number, from 1, places and cells of some rows of both tables, in their order.

    Args:
        comparison: what is shown.
        most: how many rows; where there are more, those without a difference are left out first.
    """
    known = {(cell.row, cell.column): cell for cell in comparison.cells}
    every = [
        (number, row, [_cell(comparison, row, column.pair, known) for column in comparison.columns])
        for number, row in enumerate(comparison.rows, start=1)
    ]
    equal_last = sorted(
        every, key=lambda row: all(cell.mark == "exact" and not cell.note for cell in row[2])
    )
    return sorted(equal_last[:most], key=lambda row: row[0])


def _cell(
    comparison: TableComparison, row: Pair, column: Pair, known: dict[tuple[Pair, Pair], CellPair]
) -> _Shown:
    compared = known.get((row, column))
    if compared is not None:
        note = "" if compared.difference is None else _named(compared.difference)
        shown = _Shown(compared.reference, compared.prediction, compared.outcome, note)
    else:
        grids = (comparison.reference, comparison.prediction)
        texts = [
            "" if i is None or j is None else grid.rows[i][j]
            for grid, i, j in zip(grids, row, column, strict=True)
        ]
        alone = {row.side, column.side} - {"matched"}
        mark = "absent" if len(alone) > 1 else next(iter(alone), "exact")
        shown = _Shown(texts[0], texts[1], mark)  # type: ignore[arg-type]  # one of the marks
    merged = row.is_matched and column in comparison.merged_pairs
    return shown._replace(mark="partial") if merged else shown


def _named(difference: Difference) -> str:
    """Return the name of a difference and its size."""
    name, size = NAMES[difference.kind], difference.magnitude
    if size is None or difference.kind in ("format", "typo", "semantic", "different"):
        return name
    sign = "+" if size > 0 and difference.kind != "list" else ""
    unit = f" {difference.unit}" if difference.unit else ""
    return f"{name} {sign}{size:,.6g}{unit}"


def _row_note(row: Pair) -> str:
    return "" if row.is_matched else f"{row.side} row"


_TYPE_NAMES = (
    *("columns", "missing columns", "extra columns"),
    *("equal cells", "partial cells", "missing cells", "extra cells"),
)


def _number_tables(
    comparison: TableComparison, weights: RubricWeights | None
) -> tuple[_Numbers, _Numbers, _Numbers]:
    """Return the counts by data type, those of rows, columns and cells, and the penalty."""
    sides = ("matched", "missing", "extra")
    return (
        _Numbers(
            "By data type",
            ("type", *_TYPE_NAMES),
            [[kind, *map(str, counts)] for kind, counts in comparison.types.items()],
        ),
        _Numbers(
            "Counts",
            ("", *sides),
            [
                [part, *(str(getattr(comparison.structure, f"{side}_{part}")) for side in sides)]
                for part in ("rows", "columns", "cells")
            ],
        ),
        _Numbers(
            "Score",
            ("term", "weight", "amount", "of", "penalty"),
            [
                [
                    term.name,
                    f"{term.weight:.4g}",
                    f"{term.amount:.4g}",
                    str(term.of),
                    f"{term.value:.4f}",
                ]
                for term in comparison.penalty(weights).terms
            ],
        ),
    )


_MOST_NAMES = 10
"""Columns with another name that are listed."""


def _sentences(comparison: TableComparison) -> Iterator[str]:
    """Yield which columns have another name, which were merged or split, and which cells differ."""
    renamed = [f"{c.name} → {c.predicted_name}" for c in comparison.columns if c.is_renamed]
    if renamed:
        left = len(renamed) - _MOST_NAMES
        more = f"; and {left} more" if left > 0 else ""
        yield f"Columns with another name: {'; '.join(renamed[:_MOST_NAMES])}{more}."
    headers = comparison.reference.header, comparison.prediction.header
    for merged in comparison.merged:
        apart, together = headers if merged.in_prediction else reversed(headers)
        parts = " + ".join(apart[part] for part in merged.parts)
        names = (parts, together[merged.whole])
        first, second = names if merged.in_prediction else reversed(names)
        yield f"Columns {'merged' if merged.in_prediction else 'split'}: {first} → {second}."
    if comparison.repeated_keys:
        count = comparison.repeated_keys
        yield (
            f"{count:,} {'key stands' if count == 1 else 'keys stand'} in several rows: these are "
            "paired in their order."
        )
    kinds = [f"{NAMES[kind]} {n}" for kind, n in sorted(comparison.partial_counts.items())]
    if kinds:
        yield f"Matched cells that differ: {', '.join(kinds)}."
    elif comparison.structure.matched_cells:
        yield "All matched cells are equal."
    else:
        yield "No cell of one matches one of the other."


# The terminal: both tables in one.


def _in_one(cell: _Shown) -> str:
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


# HTML: both tables side by side, as one with a line for every row, so that rows stay level.

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
.tb-comparison .absent { background: repeating-linear-gradient(45deg, transparent 0 4px,
  light-dark(#eceff3, #262b34) 4px 8px); }
.tb-comparison .next { border-left: 0.5rem double light-dark(#8a93a1, #6d7685); }
.tb-comparison thead tr:first-child th { font-weight: 650; }
.tb-comparison small { display: block; font-size: 0.8em; color: light-dark(#525b69, #a5aebd); }
"""


def _body(comparison: TableComparison, weights: RubricWeights | None) -> str:
    shown = _shown_rows(comparison, MOST_SHOWN)
    penalty = comparison.penalty(weights)
    score = f"<strong>{penalty.score:.4f}</strong>: 1 less a penalty of {penalty.total:.4f}"
    notes = [f"<p>Score {score}.</p>"]
    if comparison.transposed:
        notes.append("<p>The prediction was transposed; it is shown as the reference lies.</p>")
    if len(comparison.rows) > len(shown):
        notes.append(
            f"<p>{len(shown):,} of {len(comparison.rows):,} rows are shown; rows without a "
            "difference were left out first.</p>"
        )
    notes += [f"<p>{escape(sentence)}</p>" for sentence in _sentences(comparison)]
    types, counts, terms = _number_tables(comparison, weights)
    sums = (
        f'<tr><th colspan="4">sum</th><td class="number">{penalty.total:.4f}</td></tr>'
        '<tr><th colspan="4">score: 1 less the sum, and at least 0</th>'
        f'<td class="number">{penalty.score:.4f}</td></tr>'
    )
    numbers = f"{_numbers(counts)}{_numbers(types)}{_numbers(terms, sums)}"
    return f"{''.join(notes)}{_both(comparison, shown)}{numbers}"


def _both(comparison: TableComparison, rows: Iterable[tuple[int, Pair, Sequence[_Shown]]]) -> str:
    """Return both tables as one: a line for every row, the reference's columns first."""
    pairs = [column.pair for column in comparison.columns]
    sides = [[place for place, pair in enumerate(pairs) if pair[at] is not None] for at in (0, 1)]
    names = "".join(
        f'<th colspan="{max(len(own), 1)}"{_class(["next"] * at)}>{name}</th>'
        for at, (name, own) in enumerate(zip(("Reference", "Prediction"), sides, strict=True))
    )
    lines = "".join(
        f"<tr><th>{number}{_note(_row_note(pair))}</th>{_line(cells, sides, 'td')}</tr>"
        for number, pair, cells in rows
    )
    return (
        '<section tabindex="0" aria-label="Reference and prediction"><table><thead>'
        f'<tr><th rowspan="2">#</th>{names}</tr><tr>{_line(_header(comparison), sides, "th")}</tr>'
        f"</thead><tbody>{lines}</tbody></table></section>"
    )


def _line(cells: Sequence[_Shown], sides: Sequence[Sequence[int]], tag: str) -> str:
    """Return the cells of both tables; one without columns has an empty cell."""
    return "".join(
        "".join(
            _side_cell(cells[place], at, tag, starts=at == 1 and place == own[0]) for place in own
        )
        or f"<{tag}{_class(['next'] * at)}></{tag}>"
        for at, own in enumerate(sides)
    )


def _side_cell(cell: _Shown, at: int, tag: str, starts: bool) -> str:
    """Return a cell of one table; where both have it, the prediction names the difference.

    Args:
        cell: what it says in both.
        at: 0 for the reference, 1 for the prediction.
        tag: of the element.
        starts: whether the columns of the prediction begin here.
    """
    in_both = cell.mark in ("exact", "partial")
    absent = cell.mark in ("absent", ("extra", "missing")[at])
    kind = "absent" if absent else "" if cell.mark == "exact" else cell.mark
    note = cell.note or ("" if in_both else cell.mark)
    if absent or (at == 0 and cell.prediction and in_both):
        note = ""
    classes = [*([kind] if kind else []), *(["next"] if starts else [])]
    return f"<{tag}{_class(classes)}>{escape(cell[at])}{_note(note)}</{tag}>"


def _class(names: Sequence[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def _note(text: str) -> str:
    return f"<small>{escape(text)}</small>" if text else ""


def _numbers(table: _Numbers, more: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.names)
    lines = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(f'<td class="number">{number}</td>' for number in numbers)
        + "</tr>"
        for name, *numbers in table.rows
    )
    return (
        f"<section><table><caption>{table.title}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{lines}{more}</tbody></table></section>"
    )
