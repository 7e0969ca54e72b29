"""Tables in HTML, read with BeautifulSoup and a stated parser, and in LaTeX, with pylatexenc."""

import logging
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import dropwhile, zip_longest
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from target_bench.core.grid import CellGrid, GridCell
from target_bench.tables.answer_tables import (
    DEEPEST,
    MOST_CELLS,
    AnswerTable,
    Fault,
    ReadAnswer,
    UnreadableTableError,
    make_answer,
    make_unreadable,
    strip_fences,
)

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

HTML_PARSER = "html.parser"
"""The parser that BeautifulSoup uses; signatures name it."""

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NOT_PROSE = {*_HEADINGS, "table", "ul", "ol", "title", "style", "script", "tr", "td", "th"}
_NUMBER = re.compile("[1-9][0-9]{0,3}")
_CELL_TAGS = ("tr", "td", "th")
_SECTIONS = ["thead", "tbody", "tfoot", "table"]
_INLINE = {
    *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub"),
    *("sup", "time", "tt", "u", "var", "wbr"),
}
_OPENED, _CLOSED = re.compile(r"<table\b", re.IGNORECASE), re.compile(r"</table\b", re.IGNORECASE)
Cells = tuple[tuple[GridCell, ...], ...]
Rows = tuple[tuple[str, ...], ...]
_WIDEST = 1000  # columns over which a cell reaches at most, as in the standard


def read_html_tables(text: str, header_paths: bool = False) -> ReadAnswer:
    """Read the tables of HTML; a table inside a cell is text of that cell.

    Cells that span are repeated. Without ``<table>``, loose rows are one table, and so are the
    items of lists. A caption, or the heading before a table, is its name.

    Args:
        text: the HTML.
        header_paths: whether several header rows become one, of paths with dots.

    Raises:
        UnreadableTableError: tags are nested too deeply.
    """
    inside, faults = strip_fences(text)
    soup = parse_html(inside)
    tables = [table for table in soup.find_all("table") if table.find_parent("table") is None]
    if any(table.find("table") for table in tables):
        faults.append("nested")
    if len(_OPENED.findall(inside)) > len(_CLOSED.findall(inside)):
        faults.append("truncated")
    if _html_has_prose(soup):
        faults.append("prose")
    grids = [(_html_name(table), _html_grid(table)) for table in tables]
    if not tables:
        faults.append("no_table_tag")
        grids = [("", _html_grid(soup) or _items(soup))]
    if any(_size(grid) > MOST_CELLS for _, grid in grids):
        return make_unreadable("too_long")
    if not all(_is_filled(grid) for _, grid in grids) or _has_odd_span(soup):
        faults.append("ragged")
    rows = _html_rows_with_paths if header_paths else _html_rows
    return make_answer([AnswerTable(name, rows(grid)) for name, grid in grids], faults)


def _html_has_prose(soup: "BeautifulSoup") -> bool:
    from bs4.element import NavigableString, PreformattedString

    return any(
        isinstance(part, NavigableString)
        and not isinstance(part, PreformattedString)
        and part.strip()
        and not any(parent.name in _NOT_PROSE for parent in part.parents)
        for part in soup.descendants
    )


def _html_name(table: "Tag") -> str:
    caption = table.find("caption")
    if caption is not None:
        return _html_text(caption)
    before = table.find_previous_sibling(True)
    return _html_text(before) if before is not None and before.name in _HEADINGS else ""


def _html_text(tag: "Tag") -> str:
    """Return the text of a cell without that of cells that an end tag is missing before."""
    others = ("li",) if tag.name == "li" else _CELL_TAGS
    return " ".join("".join(_parts(tag, others)).split())


def _parts(tag: "Tag", others: Sequence[str]) -> Iterator[str]:
    """Yield the text of a tag, with a blank around every tag inside it that is not inline.

    Args:
        tag: the tag.
        others: tags that are left out; none of those of a table inside the tag.
    """
    from bs4.element import CData, NavigableString, Tag

    for part in tag.children:
        if isinstance(part, Tag):
            if part.name not in (*others, "script", "style", "template"):
                blank = "" if part.name in _INLINE else " "
                yield blank
                yield from _parts(part, () if part.name == "table" else others)
                yield blank
        elif type(part) in (NavigableString, CData):
            yield str(part)


def _html_grid(root: "Tag") -> Cells:
    """Return the cells of the rows that are of this table and of none inside it."""
    own = root if root.name == "table" else None
    rows: dict[int, list[Tag]] = {}
    loose = None  # the row that stands for a missing <tr>, as browsers put one around such cells
    for tag in root.find_all(_CELL_TAGS):
        if tag.find_parent("table") is not own:
            continue
        row = tag if tag.name == "tr" else tag.find_parent(["tr", *_SECTIONS])
        if row is not None and row.name == "tr":
            rows.setdefault(id(row), [])
            loose = None
        elif loose is None or loose[0] is not row:
            loose = (row, tag)
        if tag.name != "tr":
            rows.setdefault(id(row if loose is None else loose[1]), []).append(tag)
    return tuple(tuple(map(_html_cell, cells)) for cells in rows.values() if cells)


def _html_cell(cell: "Tag") -> GridCell:
    around = cell.find_parent(_SECTIONS)
    is_header = cell.name == "th" or (around is not None and around.name == "thead")
    return GridCell(_html_text(cell), _span(cell, "rowspan"), _span(cell, "colspan"), is_header)


def _span(cell: "Tag", name: str) -> int:
    span = re.match(r"\s*(\d{1,6})", str(cell.get(name, "1")))
    return min(max(int(span[1]), 1), _WIDEST) if span else 1


def _has_odd_span(soup: "BeautifulSoup") -> bool:
    """Return whether a span is not a number from 1 to the largest; it is read as one of these."""
    cells, names = soup.find_all(["th", "td"]), ("rowspan", "colspan")
    spans = (str(cell[name]).strip() for cell in cells for name in names if cell.has_attr(name))
    return any(not _NUMBER.fullmatch(span) or int(span) > _WIDEST for span in spans)


def _is_filled(grid: Cells) -> bool:
    """Return whether the cells, with their spans, fill a rectangle without covering each other."""
    places = CellGrid(grid).places()
    return sum(cell[1] * cell[2] for row in grid for cell in row) == sum(map(len, places))


def _items(soup: "BeautifulSoup") -> Cells:
    return tuple((GridCell(_html_text(item)),) for item in soup.find_all("li"))


def _size(grid: Cells) -> int:
    return sum(cell[2] * min(cell.row_span, len(grid)) for row in grid for cell in row)


def _html_rows_with_paths(grid: Cells) -> Rows:
    marked = CellGrid(grid).header_rows
    return _join_header(_html_rows(grid), marked or _count_header_rows(grid, 1))


def _count_header_rows(grid: Cells, n: int) -> int:
    """Return how many of the first rows name columns: n, and those below cells of them that span.

    A cell that spans all columns is a title, below which stand values.
    """
    width = max((sum(cell.column_span for cell in row) for row in grid), default=0)
    for i, row in enumerate(grid):
        if i < n:
            n = max([n, *(i + cell.row_span for cell in row)])
            if any(1 < cell.column_span < width for cell in row):
                n = max(n, i + 2)
    return n if n < len(grid) else 1


def _join_header(rows: Rows, n: int) -> Rows:
    """Return rows whose first n are one, of paths with dots."""
    columns = zip_longest(*rows[:n], fillvalue="")
    paths = (".".join(dict.fromkeys(filter(None, column))) for column in columns)
    return rows if n < 2 else (tuple(paths), *rows[n:])


def _html_rows(grid: Cells) -> Rows:
    """Return the rows with spans filled; as they are where there is no span."""
    if all(cell[1:3] == (1, 1) for row in grid for cell in row):
        return tuple(tuple(cell.text for cell in row) for row in grid)
    places = CellGrid(grid).places()
    return tuple(tuple(cell.text if cell else "" for cell in row) for row in places)


@lru_cache(maxsize=256)
def parse_html(text: str, parser: str = HTML_PARSER) -> "BeautifulSoup":
    """Parse HTML, however broken it is.

    Raises:
        UnreadableTableError: tags are nested more than ``DEEPEST`` levels deep.
    """
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    try:
        with catch_warnings():
            simplefilter("ignore")  # text that looks like a file name or like XML is HTML here
            soup = BeautifulSoup(_without_open_ends(text), parser)
    except (ParserRejectedMarkup, RecursionError) as error:
        raise UnreadableTableError("syntax", f"{parser} cannot parse it: {error}") from error
    _check_depth(soup)
    return soup


def _without_open_ends(text: str) -> str:
    """Escape what cannot be a tag or comment without an end: parsers look for one each time."""
    for opening, end in (("<!--", "-->"), ("<", ">")):
        place = text.rfind(end) + 1
        text = text[:place] + text[place:].replace(opening, f"&lt;{opening[1:]}")
    return text


def _check_depth(soup: "BeautifulSoup") -> None:
    depths = {id(soup): 0}
    for tag in soup.find_all(True):
        depth = depths[id(tag.parent)] + 1
        depths[id(tag)] = depth
        if depth > DEEPEST:
            raise UnreadableTableError("too_deep", f"tags nested more than {DEEPEST} levels deep")


# LaTeX.

_TABULARS = ("tabular", "tabular*", "tabularx", "longtable", "array")
_RULES = {
    *("hline", "toprule", "midrule", "bottomrule", "cline", "cmidrule", "hhline", "endhead"),
    *("endfirsthead", "endfoot", "endlastfoot", "addlinespace", "rowcolor", "morecmidrules"),
}
_FULL_RULES = {"hline", "toprule", "midrule", "bottomrule", "hhline"}
_ROW_ENDS = ("\\", "tabularnewline")
_BRACES = r"\s{0,9}\{(?:[^{}]|\{[^{}]{0,99}\}){0,99}\}"
_BRACKETS = r"(?:\s{0,9}\[[^][]{0,99}\])"
_LINE_END = re.compile(
    r"(\\\\)(?:\*|\s{0,9}\[\s{0,9}(?:-?[\d.]{1,9}\s{0,9}(?:[a-z]{2})?|[\d.]{0,9}\\[a-z]+)\s{0,9}\])+"
)
_RULE_WITH_ARGUMENTS = re.compile(
    r"(?<!\\)((?:\\\\)*)\\(?:"
    rf"(?:hhline|Xhline){_BRACES}|specialrule{_BRACES}{_BRACES}{_BRACES}"
    rf"|(?:toprule|midrule|bottomrule|hdashline){_BRACKETS}|(?:hdashline|Xhline)(?![a-zA-Z])"
    r")"
)
_PART_OF_RULE = re.compile(
    r"(?<!\\)((?:\\\\)*)\\(?:"
    rf"(?:cline|noalign|arrayrulecolor{_BRACKETS}?){_BRACES}"
    rf"|(?:cmidrule|cdashlinelr){_BRACKETS}?(?:\s{{0,9}}\([^()]{{0,99}}\))?{_BRACES}"
    rf"|cdashline{_BRACES}{_BRACKETS}?|Xcline{_BRACES}{_BRACES}"
    rf"|rowcolors\*?{_BRACKETS}?{_BRACES}{_BRACES}{_BRACES}"
    rf"|(?:row|column)color{_BRACKETS}?{_BRACES}{_BRACKETS}{{0,2}}|addlinespace{_BRACKETS}"
    r"|(?:arrayrulecolor|morecmidrules|doublerulesep)(?![a-zA-Z])"
    r")"
)
_COLOR_OR_LINK = re.compile(
    rf"(?<!\\)((?:\\\\)*)\\(?:(?:(?:cell|text|page)?color|colorbox|href){_BRACKETS}?{_BRACES}"
    rf"|fcolorbox{_BRACKETS}?{_BRACES}{_BRACES})"
)
_ROWS_OF_ANY_WIDTH = re.compile(
    rf"(\\multirow{_BRACKETS}?{_BRACES})\s{{0,9}}([*=])(?=\s{{0,9}}[\[{{])"
)
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


def read_latex_tables(text: str, header_paths: bool = False) -> ReadAnswer:
    """Read the environments tabular, tabular*, tabularx, longtable and array.

    Formatting macros give the text of their arguments, those named multicolumn and multirow span,
    and rules are left out. A caption is the name of the table in whose environment it stands.

    Args:
        text: the LaTeX.
        header_paths: whether several header rows become one, of paths with dots.

    Raises:
        UnreadableTableError: it is nested too deeply, or cannot be parsed.
    """
    inner, faults = strip_fences(text)
    roots = parse_latex(_without_arguments(inner))
    tabulars = list(_tabulars(roots, ""))
    if len(_BEGUN.findall(inner)) > len(_ENDED.findall(inner)):
        faults.append("truncated")
    if _latex_has_prose(roots):
        faults.append("prose")
    faults += _faults_of(tabular for _, tabular in tabulars)
    grids = [(name, tuple(_latex_rows(_content(tabular)))) for name, tabular in tabulars]
    if any(_size(grid) > MOST_CELLS for _, grid in grids):
        return make_unreadable("too_long")
    tables = [AnswerTable(name, _latex_filled(grid)) for name, grid in grids]
    if header_paths:
        tables = [
            replace(table, rows=_join_header(table.rows, _latex_header_rows(grid, tabular)))
            for table, (_, grid), (_, tabular) in zip(tables, grids, tabulars, strict=True)
        ]
    return make_answer(tables, faults)


def _latex_header_rows(grid: Cells, tabular: Any) -> int:
    """Return how many rows stand above the first rule below some, if their cells span."""
    n = rows = 0
    for node in _content(tabular):
        macro = getattr(node, "macroname", None)
        rows += macro in _ROW_ENDS
        if rows and macro in _FULL_RULES:
            n = rows
            break
    has_span = any(max(cell[1:3]) > 1 for row in grid[: max(n - 1, 1)] for cell in row)
    return _count_header_rows(grid, max(n, 1)) if has_span else 1


def _without_arguments(text: str) -> str:
    """Return LaTeX without what would be taken for text: arguments of rules, colours, links."""
    text = _ACCENT_ON_NOTHING.sub(lambda m: _CHARACTERS[m[1]], text)
    text = _LINE_END.sub(r"\1", text)
    text = _PART_OF_RULE.sub(r"\1\\addlinespace ", text)
    text = _RULE_WITH_ARGUMENTS.sub(r"\1\\hline ", text)
    text = _COLOR_OR_LINK.sub(r"\1\\em ", text)
    return _ROWS_OF_ANY_WIDTH.sub(r"\1{\2}", text)


def _tabulars(roots: Iterable[Any], name: str) -> Iterator[tuple[str, Any]]:
    """Yield each table that is not inside another, with its caption."""
    for node in roots:
        environment = getattr(node, "envname", None)
        if environment in _TABULARS:
            yield _caption(list_children(node)) or name, node
        else:
            is_float = environment in ("table", "table*")
            yield from _tabulars(
                list_children(node), _caption(list_children(node)) if is_float else name
            )


def _caption(nodes: Iterable[Any]) -> str:
    for node in nodes:
        if getattr(node, "macroname", None) == "caption":
            return _latex_text([child for child in list_children(node) if is_group(child)])
    return ""


def _faults_of(tabulars: Iterable[Any]) -> Iterator[Fault]:
    for tabular in tabulars:
        for node in walk_nodes(_content(tabular)):
            name = getattr(node, "macroname", None)
            if name is not None and name not in _KNOWN | _RULES:
                yield "macros"
            if getattr(node, "envname", None) in _TABULARS:
                yield "nested"


def _latex_has_prose(roots: Iterable[Any]) -> bool:
    return any(
        getattr(node, "chars", "").strip() != ""
        or (getattr(node, "envname", None) == "document" and _latex_has_prose(list_children(node)))
        for node in roots
    )


def _content(tabular: Any) -> list[Any]:
    """Return the nodes of the rows: without the arguments, known to the parser or not."""
    nodes = [node for node in (tabular.nodelist or ()) if node is not None]
    if tabular.nodeargd is None or not any(tabular.nodeargd.argnlist or ()):
        return list(dropwhile(_is_argument, nodes))
    return nodes


def _is_argument(node: Any) -> bool:
    return is_group(node) or not getattr(node, "chars", "x").strip()


def _latex_rows(nodes: Iterable[Any]) -> Iterator[tuple[GridCell, ...]]:
    row: list[GridCell] = []
    cell: list[Any] = []
    for node in nodes:
        macro = getattr(node, "macroname", None)
        if getattr(node, "specials_chars", None) == "&":
            row.append(_latex_cell(cell))
            cell = []
        elif macro in _ROW_ENDS:
            yield (*row, _latex_cell(cell))
            row, cell = [], []
        elif macro not in _RULES:
            cell.append(node)
    last = _latex_cell(cell)
    if row or last.text:
        yield (*row, last)


def _latex_cell(nodes: list[Any]) -> GridCell:
    """Return a cell with its spans; the parser knows no arguments of the macros that span."""
    if len(nodes) == 1 and is_group(nodes[0]):
        return _latex_cell(list_children(nodes[0]))
    groups_at = [place for place, node in enumerate(nodes) if is_group(node)]
    for place, node in enumerate(nodes):
        macro = getattr(node, "macroname", None)
        if macro not in _SPANS:
            continue
        first = bisect(groups_at, place)
        known = list_children(node)
        groups = [*known, *(nodes[at] for at in groups_at[first : first + 3])]
        if len(groups) >= 3:
            span, inner = _number(_latex_text(groups[:1])), _latex_cell([groups[2]])
            rows, columns = (inner.row_span, span) if macro == "multicolumn" else (span, 1)
            end = place + 1 if len(known) >= 3 else groups_at[first + 2 - len(known)] + 1
            texts = (_latex_text(nodes[:place]), inner.text, _latex_text(nodes[end:]))
            return GridCell(" ".join(filter(None, texts)), rows, columns)
    return GridCell(_latex_text(nodes))


def _number(text: str) -> int:
    number = re.match(r"-?(\d{1,6})", text)
    return min(max(int(number[1]), 1), _WIDEST) if number else 1


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


def _latex_text(nodes: list[Any]) -> str:
    try:
        written: str = _to_text().nodelist_to_text(nodes)
    except (ValueError, LookupError) as error:  # of macros without their arguments
        raise UnreadableTableError("syntax", f"pylatexenc cannot write it: {error}") from error
    return " ".join(written.split())


def _latex_filled(grid: Cells) -> Rows:
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


logging.getLogger("pylatexenc").setLevel(logging.ERROR)


@lru_cache(maxsize=256)
def parse_latex(text: str) -> tuple[Any, ...]:
    """Parse LaTeX with pylatexenc, however broken it is.

    Raises:
        UnreadableTableError: groups are nested more than ``DEEPEST`` levels deep, or it cannot be
            parsed.
    """
    from pylatexenc.latexwalker import LatexWalker, LatexWalkerError

    if _latex_depth(text) > DEEPEST:
        raise UnreadableTableError("too_deep", f"nested more than {DEEPEST} levels deep")
    try:
        return tuple(node for node in LatexWalker(text).get_latex_nodes()[0] if node is not None)
    except (LatexWalkerError, RecursionError, ValueError, IndexError) as error:
        raise UnreadableTableError("syntax", f"pylatexenc cannot parse it: {error}") from error


def _latex_depth(text: str) -> int:
    """Return an upper bound of how deeply a text is nested."""
    depth = deepest = 0
    for part in text.replace("\\begin", "{").replace("\\end", "}"):
        depth = max(depth + (part in "{[") - (part in "}]"), 0)
        deepest = max(deepest, depth)
    return deepest


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
