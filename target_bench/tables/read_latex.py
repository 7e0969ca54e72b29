"""Tables in LaTeX, read with pylatexenc."""

import logging
import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import dropwhile
from typing import Any

from target_bench.core.grid import GridCell
from target_bench.tables.answer_tables import (
    AnswerTable,
    Cells,
    ReadAnswer,
    UnreadableTableError,
    check_depth,
    check_size,
    make_answer,
    strip_fences,
)

logging.getLogger("pylatexenc").setLevel(logging.ERROR)

_TABULARS = ("tabular", "tabular*", "tabularx", "longtable", "array")
_RULES = {
    *("hline", "toprule", "midrule", "bottomrule", "cline", "cmidrule", "hhline", "endhead"),
    *("endfirsthead", "endfoot", "endlastfoot", "addlinespace", "rowcolor", "morecmidrules"),
}
_ROW_ENDS = ("\\", "tabularnewline")
_BRACES = r"\s{0,9}\{(?:[^{}]|\{[^{}]{0,99}\}){0,99}\}"
_BRACKETS = r"(?:\s{0,9}\[[^][]{0,99}\])"
_LINE_END = re.compile(
    r"(\\\\)(?:\*|\s{0,9}\[\s{0,9}(?:-?[\d.]{1,9}\s{0,9}(?:[a-z]{2})?|[\d.]{0,9}\\[a-z]+)\s{0,9}\])+"
)
_RULE = re.compile(
    r"(?<!\\)((?:\\\\)*)\\(?:"
    rf"(?:cline|hhline|Xhline|noalign|arrayrulecolor{_BRACKETS}?){_BRACES}"
    rf"|(?:toprule|midrule|bottomrule|hdashline|addlinespace){_BRACKETS}"
    rf"|(?:cmidrule|cdashlinelr){_BRACKETS}?(?:\s{{0,9}}\([^()]{{0,99}}\))?{_BRACES}"
    rf"|cdashline{_BRACES}{_BRACKETS}?|Xcline{_BRACES}{_BRACES}"
    rf"|(?:specialrule|rowcolors\*?{_BRACKETS}?){_BRACES}{_BRACES}{_BRACES}"
    rf"|(?:row|column)color{_BRACKETS}?{_BRACES}{_BRACKETS}{{0,2}}"
    r"|(?:arrayrulecolor|morecmidrules|doublerulesep|hdashline|Xhline)(?![a-zA-Z])"
    r")"
)
_COLOR_OR_LINK = re.compile(
    rf"(?<!\\)((?:\\\\)*)\\(?:(?:(?:cell|text|page)?color|colorbox|href){_BRACKETS}?{_BRACES}"
    rf"|fcolorbox{_BRACKETS}?{_BRACES}{_BRACES})"
)
_ROWS_OF_ANY_WIDTH = re.compile(
    rf"(\\multirow{_BRACKETS}?{_BRACES})\s{{0,9}}([*=])(?=\s{{0,9}}[\[{{])"
)
_BEGUN = re.compile(r"\\begin\s*\{(?:tabular\*?|tabularx|longtable|array)\}")
_ENDED = re.compile(r"\\end\s*\{(?:tabular\*?|tabularx|longtable|array)\}")
_ACCENT_ON_NOTHING = re.compile(r"(?<!\\)\\([~^])\{\}")
_CHARACTERS = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_WIDEST = 1000  # rows or columns over which a cell reaches at most


def read_latex_tables(text: str) -> ReadAnswer:
    """Read the environments tabular, tabular*, tabularx, longtable and array.

    Formatting macros give the text of their arguments, those named multicolumn and multirow span,
    and rules are left out. A caption is the name of the table in whose environment it stands.
    """
    inside, faults = strip_fences(text)
    roots = parse_latex(_strip_arguments(inside))
    tables = []
    for name, tabular in _find_tabulars(roots, ""):
        nodes = _list_content(tabular)
        cells = tuple(_read_rows(nodes))
        if any(_environment(node) in _TABULARS for node in walk_nodes(nodes)):
            faults.append("nested")
        check_size(cells)
        tables.append(AnswerTable(name, _fill_spans(cells)))
    if len(_BEGUN.findall(inside)) > len(_ENDED.findall(inside)):
        faults.append("truncated")
    if _has_prose(roots):
        faults.append("prose")
    return make_answer(tables, faults)


def _strip_arguments(text: str) -> str:
    """Return LaTeX without what would be taken for text: arguments of rules, colours, links."""
    text = _ACCENT_ON_NOTHING.sub(lambda match: _CHARACTERS[match[1]], text)
    text = _LINE_END.sub(r"\1", text)
    text = _RULE.sub(r"\1\\hline ", text)
    text = _COLOR_OR_LINK.sub(r"\1\\em ", text)
    return _ROWS_OF_ANY_WIDTH.sub(r"\1{\2}", text)


def _find_tabulars(roots: Iterable[Any], name: str) -> Iterator[tuple[str, Any]]:
    """Yield the caption and the node of each table that is not inside another."""
    for node in roots:
        children, environment = list_children(node), _environment(node)
        if environment in _TABULARS:
            yield _read_caption(children) or name, node
        else:
            is_float = environment in ("table", "table*")
            yield from _find_tabulars(children, _read_caption(children) if is_float else name)


def _read_caption(nodes: Iterable[Any]) -> str:
    caption = next((node for node in nodes if _macro(node) == "caption"), None)
    return "" if caption is None else _write(list(filter(is_group, list_children(caption))))


def _has_prose(roots: Iterable[Any]) -> bool:
    return any(
        getattr(node, "chars", "").strip() != ""
        or (_environment(node) == "document" and _has_prose(list_children(node)))
        for node in roots
    )


def _list_content(tabular: Any) -> list[Any]:
    """Return the nodes of the rows: without the arguments, which the parser may not recognise."""
    nodes = [node for node in (tabular.nodelist or ()) if node is not None]
    if tabular.nodeargd is None or not any(tabular.nodeargd.argnlist or ()):
        return list(dropwhile(lambda n: is_group(n) or not getattr(n, "chars", "x").strip(), nodes))
    return nodes


def _read_rows(nodes: Iterable[Any]) -> Iterator[tuple[GridCell, ...]]:
    row: list[GridCell] = []
    cell: list[Any] = []
    for node in nodes:
        macro = _macro(node)
        if getattr(node, "specials_chars", None) == "&":
            row.append(_read_cell(cell))
            cell = []
        elif macro in _ROW_ENDS:
            yield (*row, _read_cell(cell))
            row, cell = [], []
        elif macro not in _RULES:
            cell.append(node)
    last = _read_cell(cell)
    if row or last.text:
        yield (*row, last)


def _read_cell(nodes: list[Any]) -> GridCell:
    """Return a cell with its spans, whose arguments may stand behind the macro as groups."""
    if len(nodes) == 1 and is_group(nodes[0]):
        return _read_cell(list_children(nodes[0]))
    groups_at = [i for i, node in enumerate(nodes) if is_group(node)]
    for i, node in enumerate(nodes):
        macro = _macro(node)
        if macro not in ("multicolumn", "multirow"):
            continue
        first = bisect(groups_at, i)
        arguments = list_children(node)
        groups = [*arguments, *(nodes[at] for at in groups_at[first : first + 3])]
        if len(groups) >= 3:
            number = re.match(r"-?(\d{1,6})", _write(groups[:1]))
            span = min(max(int(number[1]), 1), _WIDEST) if number else 1
            inner = _read_cell([groups[2]])
            rows, columns = (inner.row_span, span) if macro == "multicolumn" else (span, 1)
            end = i + 1 if len(arguments) >= 3 else groups_at[first + 2 - len(arguments)] + 1
            texts = (_write(nodes[:i]), inner.text, _write(nodes[end:]))
            return GridCell(" ".join(filter(None, texts)), rows, columns)
    return GridCell(_write(nodes))


def _fill_spans(cells: Cells) -> tuple[tuple[str, ...], ...]:
    """Return the rows with spans filled; below a cell that spans rows LaTeX has empty ones."""
    rows = [[cell.text for cell in row for _ in range(cell.column_span)] for row in cells]
    for i, row in enumerate(cells):
        column = 0
        for cell in row:
            for below in rows[i + 1 : i + cell.row_span]:
                if column < len(below) and not below[column]:
                    below[column] = cell.text
            column += cell.column_span
    return tuple(map(tuple, rows))


def _write(nodes: list[Any]) -> str:
    """Return the text of nodes in one line."""
    try:
        text: str = _get_writer().nodelist_to_text(nodes)
    except (ValueError, LookupError) as error:  # of macros without their arguments
        raise UnreadableTableError("syntax", f"pylatexenc cannot write it: {error}") from error
    return " ".join(text.split())


@cache
def _get_writer() -> Any:
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    context = get_default_latex_context_db()
    caret = MacroTextSpec("textasciicircum", "^")
    context.add_context_category("characters", [caret], prepend=True)
    return LatexNodes2Text(context, math_mode="text", keep_comments=False)


@lru_cache(maxsize=256)
def parse_latex(text: str) -> tuple[Any, ...]:
    """Parse LaTeX with pylatexenc, however broken it is.

    Raises:
        UnreadableTableError: it is nested too deeply, or cannot be parsed.
    """
    from pylatexenc.latexwalker import LatexWalker, LatexWalkerError

    check_depth(text.replace("\\begin", "{").replace("\\end", "}"))
    try:
        return tuple(node for node in LatexWalker(text).get_latex_nodes()[0] if node is not None)
    except (LatexWalkerError, RecursionError, ValueError, IndexError) as error:
        raise UnreadableTableError("syntax", f"pylatexenc cannot parse it: {error}") from error


def list_children(node: Any) -> list[Any]:
    """Return the nodes of a node: its arguments, then its content."""
    arguments = getattr(node, "nodeargd", None)
    inner = [*((arguments and arguments.argnlist) or ()), *(getattr(node, "nodelist", None) or ())]
    return [child for child in inner if child is not None]


def walk_nodes(roots: Iterable[Any]) -> Iterator[Any]:
    """Yield nodes and all that is inside them, in the order of the text."""
    left = [*roots][::-1]
    while left:
        node = left.pop()
        yield node
        left.extend(list_children(node)[::-1])


def is_group(node: Any) -> bool:
    """Return whether a node is text in braces."""
    return type(node).__name__ == "LatexGroupNode"


def _macro(node: Any) -> str | None:
    return getattr(node, "macroname", None)


def _environment(node: Any) -> str | None:
    return getattr(node, "envname", None)
