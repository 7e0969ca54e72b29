"""How a table is written besides plain text, and the fields that few tables have."""

import csv
import html
import io
import json
from collections.abc import Callable, Iterable, Sequence

from target_bench.core.grid import GridCell
from target_bench.core.schema import Cell, Table, TableFormat
from target_bench.data import highlights


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_markdown_line(header), f"|{' --- |' * len(header)}"] if header else []
    return "\n".join([*lines, *map(_markdown_line, rows)])


def _markdown_line(cells: Sequence[str]) -> str:
    together = "".join(cells)
    if "|" in together or "\n" in together:
        cells = [text.replace("|", "\\|").replace("\n", " ") for text in cells]
    return f"| {' | '.join(cells)} |"


def _csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = []
    for row in [header, *rows] if header else rows:
        out = io.StringIO()
        csv.writer(out, lineterminator="\r\n").writerow(row)  # so that it quotes either in a cell
        lines.append(out.getvalue().removesuffix("\r\n"))
    return "\n".join(lines)


def write_json(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return header and rows as JSON, in which numbers stay numbers."""
    cells = [[c.hex() if isinstance(c, bytes) else c for c in row] for row in rows]
    body: dict[str, object] = {"columns": list(header)} if header else {}
    if rows:
        body["rows"] = cells
    return json.dumps(body, ensure_ascii=False)


def _html(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(tag: str, cells: Iterable[str]) -> str:
        inner = "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells)
        return f"<tr>{inner}</tr>"

    lines = [line("th", header)] if header else []
    lines += [line("td", row) for row in rows]
    return "\n".join(["<table>", *lines, "</table>"])


def _sentences(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ", ".join(header)
    if not header:
        return "\n".join(f"{', '.join(row)}." for row in rows)
    pairs = (zip(header, row, strict=True) for row in rows)
    return "\n".join(f"{', '.join(f'{h} is {c}' for h, c in row)}." for row in pairs)


FORMATS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]]], str]] = {
    "markdown": _markdown,
    "csv": _csv,
    "html": _html,
    "sentences": _sentences,
}
"""Format -> the function that writes header and rows."""


def linearise_table(table: Table, rows: Sequence[Sequence[GridCell]], name: TableFormat) -> str:
    """Return a table, given its grid, as ToTTo's models read it."""
    places = highlights.select_places(rows, table.context.get("highlighted_cells") or ())
    if name.startswith("totto_full"):
        text = highlights.write_full_table(rows, places, strict=False)
    else:
        text = highlights.write_subtable(rows, places)
    if not name.endswith("metadata"):
        return text
    titles = (table.context.get(key) for key in ("title", "section_title"))
    return highlights.add_titles(text, *titles)


def _keys(table: Table) -> str:
    keys = {k: table.context[k] for k in ("primary_key", "foreign_keys") if table.context.get(k)}
    return json.dumps(keys, ensure_ascii=False) if keys else ""


def _database(table: Table) -> str:
    name = table.id.database_id.rpartition(":")[2]
    return "" if name == "0" else name


def _descriptions(table: Table) -> str:
    described = table.context.get("column_descriptions") or {}
    return "\n".join(f"{column}: {text}" for column, text in described.items())


PARTS: dict[str, Callable[[Table], str]] = {
    "id": lambda table: table.id.table_id,
    "database": _database,
    "title": lambda table: str(table.context.get("title") or ""),
    "section": lambda table: str(table.context.get("section_title") or ""),
    "columns": lambda table: " ".join(map(str, table.context.get("columns") or ())),
    "descriptions": _descriptions,
    "keys": _keys,
}
"""Field -> the function that writes it, besides header and rows."""
