"""A comparison of two tables as HTML: both side by side, the counts, the arithmetic of the score.

Both are one table with a line for every row, so that rows that belong together stay level.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from target_bench.tables.comparison import aligned_view
from target_bench.tables.comparison.aligned_view import ShownCell, ShownRow, side
from target_bench.tables.comparison.rubric import Pair, Rubric
from target_bench.tables.comparison.rubric_score import RubricWeights, Term

MOST_ROWS = 500
"""Rows that are shown."""

STYLE = """
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


def fragment(comparison: Rubric, weights: RubricWeights | None = None) -> str:
    """Return a comparison as an element with its own style, as notebooks show it.

    Args:
        comparison: what is shown.
        weights: of the score; None for the default ones.
    """
    return f'<style>{STYLE}</style><div class="tb-comparison">{_body(comparison, weights)}</div>'


def page(comparison: Rubric, title: str, weights: RubricWeights | None = None) -> str:
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
        f'{STYLE}</style></head><body><main class="tb-comparison">'
        f"<h1>{escape(title)}</h1>{_body(comparison, weights)}</main></body></html>\n"
    )


def _body(comparison: Rubric, weights: RubricWeights | None) -> str:
    columns = [column.pair for column in comparison.columns]
    header = aligned_view.header(comparison)
    shown = aligned_view.shown_rows(comparison, MOST_ROWS)
    found = comparison.penalty(weights)
    score = f"<strong>{found.score:.4f}</strong>: 1 less a penalty of {found.total:.4f}"
    notes = [f"<p>Score {score}.</p>"]
    if comparison.transposed:
        notes.append("<p>The prediction was transposed; it is shown as the reference lies.</p>")
    if len(comparison.rows) > len(shown):
        notes.append(
            f"<p>{len(shown):,} of {len(comparison.rows):,} rows are shown; rows without a "
            "difference were left out first.</p>"
        )
    notes += [f"<p>{escape(sentence)}</p>" for sentence in aligned_view.sentences(comparison)]
    counts = _numbers(
        "Counts", ("", "matched", "missing", "extra"), aligned_view.counts(comparison)
    )
    types = _numbers(
        "By data type", ("type", *aligned_view.TYPE_NAMES), aligned_view.types(comparison)
    )
    both = _both(columns, header, shown)
    return f"{''.join(notes)}{both}{counts}{types}{_arithmetic(comparison, weights)}"


def _both(
    columns: Sequence[Pair], header: Sequence[ShownCell], rows: Iterable[tuple[int, ShownRow]]
) -> str:
    """Return both tables as one: a line for every row, the reference's columns first."""
    sides = [[place for place, pair in enumerate(columns) if pair[at] is not None] for at in (0, 1)]
    names = "".join(
        f'<th colspan="{max(len(own), 1)}"{_next(at)}>{name}</th>'
        for at, (name, own) in enumerate(zip(("Reference", "Prediction"), sides, strict=True))
    )
    lines = "".join(
        f"<tr><th>{number}{_note(side(row.pair))}</th>{_line(row.cells, sides, 'td')}</tr>"
        for number, row in rows
    )
    return (
        '<section tabindex="0" aria-label="Reference and prediction"><table><thead>'
        f'<tr><th rowspan="2">#</th>{names}</tr><tr>{_line(header, sides, "th")}</tr></thead>'
        f"<tbody>{lines}</tbody></table></section>"
    )


def _line(cells: Sequence[ShownCell], sides: Sequence[Sequence[int]], tag: str) -> str:
    """Return the cells of both tables; one without columns has an empty cell."""
    shown = []
    for at, own in enumerate(sides):
        shown += [
            _cell(cells[place], at, tag, starts=at == 1 and place == own[0]) for place in own
        ] or [f"<{tag}{_next(at)}></{tag}>"]
    return "".join(shown)


def _next(at: int) -> str:
    return ' class="next"' if at else ""


def _cell(cell: ShownCell, at: int, tag: str, starts: bool) -> str:
    """Return a cell of one table; where both have it, the prediction names the difference.

    Args:
        cell: what it says in both.
        at: 0 for the reference, 1 for the prediction.
        tag: of the element.
        starts: whether the columns of the prediction begin here.
    """
    text = (cell.reference, cell.prediction)[at]
    absent = cell.mark in ("absent", ("extra", "missing")[at])
    kind = "absent" if absent else "" if cell.mark == "exact" else cell.mark
    note = cell.note or ("" if cell.mark in ("exact", "partial") else cell.mark)
    if absent or (at == 0 and cell.prediction and cell.mark in ("exact", "partial")):
        note = ""
    classes = " ".join([*([kind] if kind else []), *(["next"] if starts else [])])
    attribute = f' class="{classes}"' if classes else ""
    return f"<{tag}{attribute}>{escape(text)}{_note(note)}</{tag}>"


def _note(text: str) -> str:
    return f"<small>{escape(text)}</small>" if text else ""


def _numbers(caption: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = "".join(
        f"<tr><th>{escape(name)}</th>"
        + "".join(f'<td class="number">{number}</td>' for number in numbers)
        + "</tr>"
        for name, *numbers in rows
    )
    return (
        f"<section><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{lines}</tbody></table></section>"
    )


def _arithmetic(comparison: Rubric, weights: RubricWeights | None) -> str:
    found = comparison.penalty(weights)
    lines = "".join(f"<tr>{''.join(_terms(term))}</tr>" for term in found.terms)
    return (
        "<section><table><caption>Score</caption><thead><tr><th>term</th><th>weight</th>"
        f"<th>amount</th><th>of</th><th>penalty</th></tr></thead><tbody>{lines}<tr>"
        f'<th colspan="4">sum</th><td class="number">{found.total:.4f}</td></tr><tr>'
        f'<th colspan="4">score: 1 less the sum, and at least 0</th>'
        f'<td class="number">{found.score:.4f}</td></tr></tbody></table></section>'
    )


def _terms(term: Term) -> Iterator[str]:
    yield f"<td>{escape(term.name)}</td>"
    for value in (f"{term.weight:.4g}", f"{term.amount:.4g}", str(term.of), f"{term.value:.4f}"):
        yield f'<td class="number">{value}</td>'
