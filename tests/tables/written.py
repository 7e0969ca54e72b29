"""Tables as answers hold them: what ``tables.reading`` reads, written."""

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from html import escape

Rows = Sequence[Sequence[str]]

_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%#_${}"},
}
_MARKDOWN_MARKS = re.compile(r"[\\`*_~<&\[|]")
_LATEX_MARKS = re.compile(r"[\\~^&%#_${}]|^\s*[*\[]|(?<=-)-|(?<=`)`|(?<=')'")
"""Marks that mean something alone, after a line break, or after one of their own."""


def written(rows: Rows, table_format: str) -> str:
    """Write a table whose rows are of one length.

    Args:
        rows: the cells, the header first.
        table_format: ``text`` (Markdown), ``html``, ``latex``, ``csv`` or ``json``.
    """
    return _WRITERS[table_format](rows)


def _markdown(rows: Rows) -> str:
    cells = (
        [_MARKDOWN_MARKS.sub(r"\\\g<0>", " ".join(cell.split())) for cell in row] for row in rows
    )
    header, *lines = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([header, f"|{'---|' * len(rows[0])}", *lines])


def _html(rows: Rows) -> str:
    kinds = ["th", *["td"] * (len(rows) - 1)]
    inner = (
        "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row)
        for kind, row in zip(kinds, rows, strict=True)
    )
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in inner) + "</table>"


def _latex(rows: Rows) -> str:
    cells = ([_LATEX_MARKS.sub(_latex_mark, cell) for cell in row] for row in rows)
    begin = r"\begin{tabular}{" + "l" * len(rows[0]) + "}"
    return "\n".join([begin, *(rf"{' & '.join(row)} \\" for row in cells), r"\end{tabular}"])


def _latex_mark(match: re.Match[str]) -> str:
    return _IN_LATEX.get(match[0]) or f"{{{match[0]}}}"


def _csv(rows: Rows) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().rstrip("\n")


def _json(rows: Rows) -> str:
    header, *others = rows
    if len(set(header)) < len(header) or not others:
        return json.dumps({"header": header, "rows": others}, ensure_ascii=False)
    return json.dumps([dict(zip(header, row, strict=True)) for row in others], ensure_ascii=False)


_WRITERS: dict[str, Callable[[Rows], str]] = {
    "text": _markdown,
    "html": _html,
    "latex": _latex,
    "csv": _csv,
    "json": _json,
}
