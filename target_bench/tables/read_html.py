"""Tables in HTML, read with BeautifulSoup and a stated parser."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from target_bench.core.grid import CellGrid, GridCell
from target_bench.tables.answer_tables import (
    DEEPEST,
    AnswerTable,
    Cells,
    ReadAnswer,
    UnreadableTableError,
    check_size,
    make_answer,
    strip_fences,
)

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

HTML_PARSER = "html.parser"
"""The parser that BeautifulSoup uses; signatures name it."""

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NOT_PROSE = {*_HEADINGS, "table", "ul", "ol", "title", "style", "script", "tr", "td", "th"}
_CELL_TAGS = ("tr", "td", "th")
_SECTIONS = ["thead", "tbody", "tfoot", "table"]
_INLINE = {
    *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub"),
    *("sup", "time", "tt", "u", "var", "wbr"),
}
_OPENED, _CLOSED = re.compile(r"<table\b", re.IGNORECASE), re.compile(r"</table\b", re.IGNORECASE)
_WIDEST = 1000  # columns over which a cell reaches at most, as in the standard


def read_html_tables(text: str) -> ReadAnswer:
    """Read the tables of HTML; a table inside a cell is text of that cell.

    Cells that span are repeated. Without ``<table>``, loose rows are one table, and so are the
    items of lists. A caption, or the heading before a table, is its name.
    """
    inside, faults = strip_fences(text)
    soup = parse_html(inside)
    outer = [table for table in soup.find_all("table") if table.find_parent("table") is None]
    grids = [(_read_name(table), _read_cells(table)) for table in outer]
    if not outer:
        faults.append("no_table_tag")
        items = tuple((GridCell(_read_text(item)),) for item in soup.find_all("li"))
        grids = [("", _read_cells(soup) or items)]
    if any(table.find("table") for table in outer):
        faults.append("nested")
    if len(_OPENED.findall(inside)) > len(_CLOSED.findall(inside)):
        faults.append("truncated")
    if _has_prose(soup):
        faults.append("prose")
    for _, cells in grids:
        check_size(cells)
    if not all(_is_filled(cells) for _, cells in grids):
        faults.append("ragged")
    return make_answer([_make_table(name, cells) for name, cells in grids], faults)


def _has_prose(soup: "BeautifulSoup") -> bool:
    from bs4.element import NavigableString, PreformattedString

    return any(
        isinstance(node, NavigableString)
        and not isinstance(node, PreformattedString)
        and node.strip()
        and not any(parent.name in _NOT_PROSE for parent in node.parents)
        for node in soup.descendants
    )


def _read_name(table: "Tag") -> str:
    caption = table.find("caption")
    if caption is not None:
        return _read_text(caption)
    before = table.find_previous_sibling(True)
    return _read_text(before) if before is not None and before.name in _HEADINGS else ""


def _read_text(tag: "Tag") -> str:
    # without end tags, the next cells are children of this one
    left_out = ("li",) if tag.name == "li" else _CELL_TAGS
    return " ".join("".join(_iterate_texts(tag, left_out)).split())


def _iterate_texts(tag: "Tag", left_out: Sequence[str]) -> Iterator[str]:
    """Yield the texts of a tag, with a blank around every tag inside it that is not inline."""
    from bs4.element import CData, NavigableString, Tag

    for child in tag.children:
        if isinstance(child, Tag):
            if child.name not in (*left_out, "script", "style", "template"):
                blank = "" if child.name in _INLINE else " "
                yield blank
                yield from _iterate_texts(child, () if child.name == "table" else left_out)
                yield blank
        elif type(child) in (NavigableString, CData):
            yield str(child)


def _read_cells(root: "Tag") -> Cells:
    """Return the cells of the rows that are of this table and of none inside it."""
    table = root if root.name == "table" else None
    rows: dict[int, list[Tag]] = {}
    loose = None  # the row that stands for a missing <tr>, as browsers put one around such cells
    for tag in root.find_all(_CELL_TAGS):
        if tag.find_parent("table") is not table:
            continue
        row = tag if tag.name == "tr" else tag.find_parent(["tr", *_SECTIONS])
        if row is not None and row.name == "tr":
            rows.setdefault(id(row), [])
            loose = None
        elif loose is None or loose[0] is not row:
            loose = (row, tag)
        if tag.name != "tr":
            rows.setdefault(id(row if loose is None else loose[1]), []).append(tag)
    return tuple(tuple(map(_read_cell, cells)) for cells in rows.values() if cells)


def _read_cell(cell: "Tag") -> GridCell:
    section = cell.find_parent(_SECTIONS)
    is_header = cell.name == "th" or (section is not None and section.name == "thead")
    spans = (_read_span(cell, "rowspan"), _read_span(cell, "colspan"))
    return GridCell(_read_text(cell), *spans, is_header)


def _read_span(cell: "Tag", name: str) -> int:
    span = re.match(r"\s*(\d{1,6})", str(cell.get(name, "1")))
    return min(max(int(span[1]), 1), _WIDEST) if span else 1


def _is_filled(cells: Cells) -> bool:
    """Return whether the cells, with their spans, fill a rectangle without covering each other."""
    area = sum(cell.row_span * cell.column_span for row in cells for cell in row)
    return area == sum(map(len, CellGrid(cells).places()))


def _make_table(name: str, cells: Cells) -> AnswerTable:
    """Return a table with spans filled; without a span rows keep their length."""
    rows = tuple(tuple(cell.text for cell in row) for row in cells)
    if any(cell[1:3] != (1, 1) for row in cells for cell in row):
        rows = tuple(tuple(c.text if c else "" for c in row) for row in CellGrid(cells).places())
    return AnswerTable(name, rows)


@lru_cache(maxsize=256)
def parse_html(text: str) -> "BeautifulSoup":
    """Parse HTML, however broken it is.

    Raises:
        UnreadableTableError: tags are nested more than ``DEEPEST`` levels deep.
    """
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    try:
        with catch_warnings():
            simplefilter("ignore")  # text that looks like a file name or like XML is HTML here
            soup = BeautifulSoup(_escape_open_ends(text), HTML_PARSER)
    except (ParserRejectedMarkup, RecursionError) as error:
        raise UnreadableTableError("syntax", f"{HTML_PARSER} cannot parse it: {error}") from error
    depths = {id(soup): 0}
    for tag in soup.find_all(True):
        depths[id(tag)] = depths[id(tag.parent)] + 1
        if depths[id(tag)] > DEEPEST:
            raise UnreadableTableError("too_deep", f"tags nested more than {DEEPEST} levels deep")
    return soup


def _escape_open_ends(text: str) -> str:
    """Escape what cannot be a tag or comment without an end: parsers look for one each time."""
    for opening, end in (("<!--", "-->"), ("<", ">")):
        last = text.rfind(end) + 1
        text = text[:last] + text[last:].replace(opening, f"&lt;{opening[1:]}")
    return text
