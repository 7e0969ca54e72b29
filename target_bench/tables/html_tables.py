"""Tables in HTML, read with BeautifulSoup and a stated parser."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from target_bench.core.grid import CellGrid, GridCell
from target_bench.tables.answer_tables import (
    MOST_CELLS,
    AnswerTable,
    ReadAnswer,
    failed,
    read_answer,
    unfenced,
)
from target_bench.tables.official_sides import HTML_PARSER
from target_bench.tables.soup import parsed

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NOT_PROSE = {*_HEADINGS, "table", "ul", "ol", "title", "style", "script", "tr", "td", "th"}
_NUMBER = re.compile("[1-9][0-9]{0,3}")
_CELLS = ("tr", "td", "th")
_INLINE = {
    *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"),
    *("i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub"),
    *("sup", "time", "tt", "u", "var", "wbr"),
}
_OPENED, _CLOSED = re.compile(r"<table\b", re.IGNORECASE), re.compile(r"</table\b", re.IGNORECASE)
Cells = tuple[tuple[GridCell, ...], ...]
Rows = tuple[tuple[str, ...], ...]
_WIDEST = 1000
"""Columns over which a cell reaches at most, as in the standard."""


def read_html_tables(
    text: str, parser: str = HTML_PARSER, rows_of: Callable[[Cells], Rows] | None = None
) -> ReadAnswer:
    """Read the tables of HTML; a table inside a cell is text of that cell.

    Cells that span are repeated. Without ``<table>``, loose rows are one table, and so are the
    items of lists. A caption, or the heading before a table, is its name.

    Args:
        text: the HTML.
        parser: what it is parsed with.
        rows_of: gives the rows of the cells of a table; None for all rows as they stand.

    Raises:
        UnreadableTableError: tags are nested too deeply.
    """
    inside, faults = unfenced(text)
    soup = parsed(inside, parser)
    found = [table for table in soup.find_all("table") if table.find_parent("table") is None]
    if any(table.find("table") for table in found):
        faults.append("nested")
    if len(_OPENED.findall(inside)) > len(_CLOSED.findall(inside)):
        faults.append("truncated")
    if _has_prose(soup):
        faults.append("prose")
    grids = [(_name(table), _grid(table)) for table in found]
    if not found:
        faults.append("no_table_tag")
        grids = [("", _grid(soup) or _items(soup))]
    if any(_size(grid) > MOST_CELLS for _, grid in grids):
        return failed("too_long")
    if not all(_is_filled(grid) for _, grid in grids) or _has_odd_span(soup):
        faults.append("ragged")
    return read_answer(
        [AnswerTable(name, (rows_of or _rows)(grid)) for name, grid in grids], faults
    )


def _has_prose(soup: "BeautifulSoup") -> bool:
    from bs4.element import NavigableString, PreformattedString

    return any(
        isinstance(part, NavigableString)
        and not isinstance(part, PreformattedString)
        and part.strip()
        and not any(parent.name in _NOT_PROSE for parent in part.parents)
        for part in soup.descendants
    )


def _name(table: "Tag") -> str:
    caption = table.find("caption")
    if caption is not None:
        return _text(caption)
    before = table.find_previous_sibling(True)
    return _text(before) if before is not None and before.name in _HEADINGS else ""


def _text(tag: "Tag") -> str:
    """Return the text of a cell without that of cells that an end tag is missing before."""
    others = ("li",) if tag.name == "li" else _CELLS
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


def _grid(root: "Tag") -> Cells:
    """Return the cells of the rows that are of this table and of none inside it."""
    own = root if root.name == "table" else None
    rows = (row for row in root.find_all("tr") if row.find_parent("table") is own)
    cells = (tuple(_cells(row)) for row in rows)
    return tuple(row for row in cells if row)


def _cells(row: "Tag") -> Iterator[GridCell]:
    around = row.find_parent(["thead", "tbody", "table"])
    in_head = around is not None and around.name == "thead"
    for cell in row.find_all(["th", "td"]):
        if cell.find_parent("tr") is row:
            rows, columns = _span(cell, "rowspan"), _span(cell, "colspan")
            yield GridCell(_text(cell), rows, columns, in_head or cell.name == "th")


def _span(cell: "Tag", name: str) -> int:
    found = re.match(r"\s*(\d{1,6})", str(cell.get(name, "1")))
    return min(max(int(found[1]), 1), _WIDEST) if found else 1


def _has_odd_span(soup: "BeautifulSoup") -> bool:
    """Return whether a span is not a number from 1 to the largest; it is read as one of these."""
    cells, names = soup.find_all(["th", "td"]), ("rowspan", "colspan")
    given = (str(cell[name]).strip() for cell in cells for name in names if cell.has_attr(name))
    return any(not _NUMBER.fullmatch(one) or int(one) > _WIDEST for one in given)


def _is_filled(grid: Cells) -> bool:
    """Return whether the cells, with their spans, fill a rectangle without covering each other."""
    places = CellGrid(grid).places()
    return sum(cell[1] * cell[2] for row in grid for cell in row) == sum(map(len, places))


def _items(soup: "BeautifulSoup") -> Cells:
    return tuple((GridCell(_text(item)),) for item in soup.find_all("li"))


def _size(grid: Cells) -> int:
    return sum(cell[2] * min(cell.row_span, len(grid)) for row in grid for cell in row)


def rows_with_paths(grid: Cells) -> Rows:
    """Return the rows of a table, of which several header rows are one of paths with dots."""
    cells = CellGrid(grid)
    n = cells.header_rows
    return _rows(grid) if n < 2 else (tuple(cells.header_paths()), *_rows(grid)[n:])


def _rows(grid: Cells) -> Rows:
    """Return the rows with spans filled; as they are where there is no span."""
    if all(cell[1:3] == (1, 1) for row in grid for cell in row):
        return tuple(tuple(cell.text for cell in row) for row in grid)
    places = CellGrid(grid).places()
    return tuple(tuple(cell.text if cell else "" for cell in row) for row in places)
