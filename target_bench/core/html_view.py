"""What notebooks show of tables, datasets and results: HTML in the colours of the page."""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice
from typing import Any

from target_bench.core.text_tables import Column, TextTable

ROWS = 10
"""Rows of a table that are shown."""

QUERIES = 5
"""Queries of a dataset that are shown."""

_COLUMNS = 20
_CHARACTERS = 200


def html(tables: Iterable[TextTable], notes: Iterable[str] = ()) -> str:
    """Return tables as HTML without colours of its own, which suits light and dark pages."""
    parts = [part for table in tables for part in _parts(table)]
    return "".join([*parts, *(f"<p>{_text(note)}</p>" for note in notes)])


def table_html(table: Any) -> str:
    """Return the first rows of a table."""
    names = [_short(name) for name in table.header[:_COLUMNS]]
    rows = [list(map(_cell, row[:_COLUMNS])) for row in islice(table.rows, ROWS)]
    title = " · ".join(filter(None, (table.id.label, _cell(table.context.get("title")))))
    sizes = ((len(rows), len(table.rows), "rows"), (len(names), len(table.header), "columns"))
    cut = [f"{shown:,} of {total:,} {what}" for shown, total, what in sizes if shown < total]
    note = f"{' and '.join(cut)} are shown." if cut else None
    return html([TextTable([Column(name) for name in names], rows, title, note=note)])


def dataset_html(dataset: Any) -> str:
    """Return the size of a dataset, and its first questions with their tables and answers."""
    rows = [
        [
            query.text,
            "\n".join(table.label for table in query.gold),
            "\n".join(filter(None, query.references)),
        ]
        for query in dataset.queries[:QUERIES]
    ]
    size = f"{len(dataset.corpus):,} tables, {len(dataset.queries):,} queries"
    title = f"{dataset.info.name} {dataset.split}: {size}"
    columns = [Column("query"), Column("gold tables"), Column("answer")]
    cut = len(rows) < len(dataset.queries)
    notes = [f"The first {len(rows)} queries are shown."] * cut + list(dataset.notes)
    return html([TextTable(columns, rows, title)], notes)


def _parts(table: TextTable) -> Iterator[str]:
    def row(tag: str, cells: Iterable[str], number: int = -1) -> str:
        styled = []
        for place, (cell, column) in enumerate(zip(cells, table.columns, strict=True)):
            style = f"text-align:{'right' if column.right else 'left'}"
            style += ";font-weight:bold" * (table.marks.get((number, place)) in ("good", "best"))
            styled.append(f'<{tag} style="{style}">{_text(cell)}</{tag}>')
        line = ' style="border-bottom:1px solid"' if number + 1 in table.rules else ""
        return f"<tr{line}>{''.join(styled)}</tr>"

    caption = f'<caption style="text-align:left">{_text(table.title)}</caption>'
    header = row("th", [column.name for column in table.columns])
    body = "".join(row("td", cells, number) for number, cells in enumerate(table.rows))
    yield (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse">'
        f"{caption * bool(table.title)}<thead>{header}</thead><tbody>{body}</tbody></table></div>"
    )
    if table.note:
        yield f"<p>{_text(table.note)}</p>"


def _text(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{len(value):,} bytes" if isinstance(value, bytes) else _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"
