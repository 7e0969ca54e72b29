"""What notebooks show of tables, queries, corpora and results: HTML in the colours of the page."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

from target_bench.core.text_tables import Column, TextTable

ROWS = 10
"""Rows of a table, and tables of a corpus, that are shown."""

_COLUMNS = 20
_CHARACTERS = 200

_CELL = "padding: 0.2em 0.6em; vertical-align: top; text-align: {}; {}"
_LINE = "border-bottom: 1px solid color-mix(in srgb, currentColor 35%, transparent);"
_CAPTION = "caption-side: top; text-align: left; font-weight: bold; padding: 0.3em 0.6em;"


class ShownTable:
    """A table, of which notebooks show the first rows."""

    __slots__ = ()
    id: Any
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    context: Mapping[str, Any]

    def _repr_html_(self) -> str:
        names = [_short(name) for name in self.header[:_COLUMNS]]
        rows = [list(map(_cell, row[:_COLUMNS])) for row in islice(self.rows, ROWS)]
        title = " · ".join(filter(None, (str(self.id), _cell(self.context.get("title")))))
        left = [
            f"{shown:,} of {total:,} {what}"
            for shown, total, what in (
                (len(rows), len(self.rows), "rows"),
                (len(names), len(self.header), "columns"),
            )
            if shown < total
        ]
        note = f"{' and '.join(left)} are shown." if left else None
        return html([TextTable([Column(name) for name in names], rows, title, note=note)])


class ShownQuery:
    """A query, which notebooks show with its gold tables and its reference."""

    __slots__ = ()
    id: Any
    text: str
    gold: Sequence[Any]
    answer: Any
    metadata: Mapping[str, Any]

    def _repr_html_(self) -> str:
        answers = [self.answer] if isinstance(self.answer, str) else self.answer
        parts = {
            "text": self.text,
            "gold": "\n".join(map(str, self.gold)),
            "answer": "\n".join(filter(None, answers)),
            **{name: _cell(value) for name, value in self.metadata.items()},
        }
        rows = [[name, part] for name, part in parts.items() if part]
        return html([TextTable([Column("query"), Column(str(self.id))], rows)])


class ShownCorpus(Collection[Any]):
    """A corpus, of which notebooks show the size and the first tables."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} tables)"

    def _repr_html_(self) -> str:
        rows = [_summary(table) for table in islice(self, ROWS)]
        columns = [Column("table"), Column("title"), Column("rows", right=True), Column("header")]
        more = f"The first {len(rows)} are shown." if len(rows) < len(self) else None
        return html([TextTable(columns, rows, f"Corpus of {len(self):,} tables", note=more)])


def html(tables: Iterable[TextTable], notes: Iterable[str] = ()) -> str:
    """Return tables as HTML without colours of its own, which suits light and dark pages.

    Args:
        tables: the tables, with their titles and notes.
        notes: sentences below all of them.
    """
    parts = [part for table in tables for part in _parts(table)]
    return "".join([*parts, *(f"<p>{_text(note)}</p>" for note in notes)])


def _parts(table: TextTable) -> Iterator[str]:
    caption = f'<caption style="{_CAPTION}">{_text(table.title)}</caption>' if table.title else ""
    header = _row("th", table.columns, [column.name for column in table.columns], line=True)
    body = "".join(
        _row("td", table.columns, row, number + 1 in table.rules, best)
        for number, row in enumerate(table.rows)
        for best in [{at for (n, at), mark in table.marks.items() if (n, mark) == (number, "good")}]
    )
    yield (
        '<div style="overflow-x: auto"><table style="border-collapse: collapse">'
        f"{caption}<thead>{header}</thead><tbody>{body}</tbody></table></div>"
    )
    if table.note:
        yield f"<p>{_text(table.note)}</p>"


def _row(
    tag: str,
    columns: Sequence[Column],
    cells: Sequence[str],
    line: bool,
    bold: Collection[int] = (),
) -> str:
    """Return a row, with or without a line below it, some of its cells in bold."""
    found = []
    for at, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        more = _LINE * line + "font-weight: bold;" * (at in bold)
        style = _CELL.format("right" if column.right else "left", more)
        found.append(f'<{tag} style="{style}">{_text(cell)}</{tag}>')
    return f"<tr>{''.join(found)}</tr>"


def _text(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _summary(table: Any) -> list[str]:
    title, header = _cell(table.context.get("title")), ", ".join(map(str, table.header))
    return [str(table.id), title, f"{len(table.rows):,}", _short(header)]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{len(value):,} bytes" if isinstance(value, bytes) else _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"
