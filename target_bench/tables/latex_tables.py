"""Tables in LaTeX, read with pylatexenc."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import dropwhile
from typing import Any

from target_bench.core.grid import GridCell
from target_bench.tables.answer_tables import (
    MOST_CELLS,
    AnswerTable,
    Fault,
    ReadAnswer,
    failed,
    read_answer,
    unfenced,
)
from target_bench.tables.latex_nodes import all_nodes, inside, is_group, nodes

_TABULARS = ("tabular", "tabular*", "tabularx", "longtable", "array")
_RULES = {
    *("hline", "toprule", "midrule", "bottomrule", "cline", "cmidrule", "hhline", "endhead"),
    *("endfirsthead", "endfoot", "endlastfoot", "addlinespace", "rowcolor"),
}
_KNOWN = {
    *("textbf", "textit", "emph", "underline", "text", "texttt", "textsc", "mathrm", "mathbf"),
    *("bf", "it", "em", "small", "footnotesize", "scriptsize", "tiny", "large", "centering"),
    *("multicolumn", "multirow", "makecell", "thead", "%", "&", "_", "#", "$", "{", "}", " ", ","),
    *("times", "pm", "textbackslash", "textasciitilde", "textasciicircum", "\\", "newline"),
    *("'", "`", "^", '"', "~", "=", ".", "c", "v", "u", "H", "r", "d", "b", "k", "ss", "o", "O"),
    *("aa", "AA", "ae", "AE", "oe", "OE", "l", "L", "i", "j"),
}
_SPANS = ("multicolumn", "multirow")
_BEGUN = re.compile(r"\\begin\s*\{(?:tabular\*?|tabularx|longtable|array)\}")
_ENDED = re.compile(r"\\end\s*\{(?:tabular\*?|tabularx|longtable|array)\}")
_ACCENT_ON_NOTHING = re.compile(r"(?<!\\)\\([~^])\{\}")
_CHARACTERS = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_WIDEST = 1000


def read_latex_tables(text: str) -> ReadAnswer:
    """Read the environments tabular, tabular*, tabularx, longtable and array.

    Formatting macros give the text of their arguments, those named multicolumn and multirow span,
    and rules are left out. A caption is the name of the table in whose environment it stands.

    Raises:
        UnreadableTableError: it is nested too deeply, or cannot be parsed.
    """
    inner, faults = unfenced(text)
    roots = nodes(_ACCENT_ON_NOTHING.sub(_character, inner))
    found = list(_tabulars(roots, ""))
    if len(_BEGUN.findall(inner)) > len(_ENDED.findall(inner)):
        faults.append("truncated")
    if _has_prose(roots):
        faults.append("prose")
    faults += _faults_of(tabular for _, tabular in found)
    grids = [(name, tuple(_rows(_content(tabular)))) for name, tabular in found]
    if any(_size(grid) > MOST_CELLS for _, grid in grids):
        return failed("too_long")
    return read_answer([AnswerTable(name, _filled(grid)) for name, grid in grids], faults)


def _character(match: re.Match[str]) -> str:
    return _CHARACTERS[match[1]]


def _tabulars(roots: Iterable[Any], name: str) -> Iterator[tuple[str, Any]]:
    """Yield each table that is not inside another, with its caption."""
    for node in roots:
        environment = getattr(node, "envname", None)
        if environment in _TABULARS:
            yield _caption(inside(node)) or name, node
        else:
            is_float = environment in ("table", "table*")
            yield from _tabulars(inside(node), _caption(inside(node)) if is_float else name)


def _caption(found: Iterable[Any]) -> str:
    for node in found:
        if getattr(node, "macroname", None) == "caption":
            return _text([one for one in inside(node) if is_group(one)])
    return ""


def _faults_of(tabulars: Iterable[Any]) -> Iterator[Fault]:
    for tabular in tabulars:
        for node in all_nodes(_content(tabular)):
            name = getattr(node, "macroname", None)
            if name is not None and name not in _KNOWN | _RULES:
                yield "macros"
            if getattr(node, "envname", None) in _TABULARS:
                yield "nested"


def _has_prose(roots: Iterable[Any]) -> bool:
    return any(
        getattr(node, "chars", "").strip() != ""
        or (getattr(node, "envname", None) == "document" and _has_prose(inside(node)))
        for node in roots
    )


def _content(tabular: Any) -> list[Any]:
    """Return the nodes of the rows: without the arguments, known to the parser or not."""
    found = [node for node in (tabular.nodelist or ()) if node is not None]
    if tabular.nodeargd is None or not any(tabular.nodeargd.argnlist or ()):
        return list(dropwhile(_is_argument, found))
    return found


def _is_argument(node: Any) -> bool:
    return is_group(node) or not getattr(node, "chars", "x").strip()


def _rows(found: Iterable[Any]) -> Iterator[tuple[GridCell, ...]]:
    row: list[GridCell] = []
    cell: list[Any] = []
    for node in found:
        macro = getattr(node, "macroname", None)
        if getattr(node, "specials_chars", None) == "&":
            row.append(_cell(cell))
            cell = []
        elif macro in ("\\", "tabularnewline"):
            yield (*row, _cell(cell))
            row, cell = [], []
        elif macro not in _RULES:
            cell.append(node)
    last = _cell(cell)
    if row or last.text:
        yield (*row, last)


def _cell(found: list[Any]) -> GridCell:
    """Return a cell with its spans; the parser knows no arguments of the macros that span."""
    if len(found) == 1 and is_group(found[0]):
        return _cell(inside(found[0]))
    groups_at = [place for place, node in enumerate(found) if is_group(node)]
    for place, node in enumerate(found):
        macro = getattr(node, "macroname", None)
        if macro not in _SPANS:
            continue
        first = bisect(groups_at, place)
        groups = [*inside(node), *(found[at] for at in groups_at[first : first + 3])]
        if len(groups) >= 3:
            span, inner = _number(_text(groups[:1])), _cell([groups[2]])
            rows, columns = (inner.row_span, span) if macro == "multicolumn" else (span, 1)
            return GridCell(inner.text, rows, columns)
    return GridCell(_text(found))


def _number(text: str) -> int:
    found = re.match(r"-?(\d{1,6})", text)
    return min(max(int(found[1]), 1), _WIDEST) if found else 1


@cache
def _to_text() -> Any:
    from pylatexenc.latex2text import (
        LatexNodes2Text,
        MacroTextSpec,
        get_default_latex_context_db,
    )

    context = get_default_latex_context_db()
    caret = MacroTextSpec("textasciicircum", "^")
    context.add_context_category("characters", [caret], prepend=True)
    return LatexNodes2Text(context, math_mode="text", keep_comments=False)


def _text(found: list[Any]) -> str:
    written: str = _to_text().nodelist_to_text(found)
    return " ".join(written.split())


def _size(grid: tuple[tuple[GridCell, ...], ...]) -> int:
    return sum(cell[2] * min(cell.row_span, len(grid)) for row in grid for cell in row)


def _filled(grid: tuple[tuple[GridCell, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Return the rows with spans filled; below a cell that spans rows LaTeX has empty ones."""
    wide = tuple(tuple(cell._replace(row_span=1) for cell in row) for row in grid)
    rows = [[cell.text for cell in row for _ in range(cell[2])] for row in wide]
    for place, row in enumerate(grid):
        column = 0
        for cell in row:
            for below in rows[place + 1 : place + cell.row_span]:
                if column < len(below) and not below[column]:
                    below[column] = cell.text
            column += cell[2]
    return tuple(map(tuple, rows))
