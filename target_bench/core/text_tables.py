"""Tables as text: laid out for the width of the terminal, never cropped.

A table is printed in the first of three layouts that fits: one line per row, intervals beside their
scores; intervals below them; or, in a narrow terminal, a block of lines a row. Text that is not
printed on a terminal has no width, so that one line per row always fits.

On a terminal with colours, headings are bold, intervals faint, and marked cells green or red;
``NO_COLOR`` turns that off.
"""

import csv
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

_GAP = "  "
Mark = Literal["good", "bad", "best"]
"""``best`` is also shown without colours: ``>`` before the cell, bold in Markdown and LaTeX."""

Style = Literal["heading", "faint", Mark]

_STYLES: Mapping[Style, str] = {
    "heading": "1",
    "faint": "2",
    "good": "1;32",
    "bad": "1;31",
    "best": "1;32",
}
_PROSE = 24
"""Columns that a sentence takes at least before a table is laid out otherwise."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: what stands above it; may have several lines.
        right: whether cells stand at the right edge, as numbers do.
        prose: whether cells are sentences, which may continue on the next line between words; all
            else is a name or a number and stays in one piece.
        below: whether cells may move below those of the column before, as an interval does.
        beside: whether the lines of a cell stand side by side where there is room, as a score and
            its interval do.
        label: what a cell is called in a block of lines; default: ``name`` on one line.
    """

    name: str
    right: bool = False
    prose: bool = False
    below: bool = False
    beside: bool = False
    label: str | None = None

    @property
    def shown_label(self) -> str:
        """Label of a cell in a block of lines."""
        return self.name.replace("\n", "") if self.label is None else self.label

    @property
    def heading(self) -> str:
        """What stands above it in Markdown and LaTeX, where no other column says what it is of."""
        return " ".join((self.shown_label if self.below else self.name).split())


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of text.

    Attributes:
        columns: its columns.
        rows: one cell per column each; a cell may have several lines.
        title: what stands above the table, or nothing.
        rules: numbers of rows that a line is drawn before.
        note: a sentence below the table, or None.
        marks: (row, column) -> how a cell is marked on a terminal with colours.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""
    rules: frozenset[int] = frozenset()
    note: str | None = None
    marks: Mapping[tuple[int, int], Mark] = field(default_factory=dict)


def best_rows(merits: Sequence[float]) -> list[int]:
    """Return the rows of the highest number; none if all are equal, or one is NaN."""
    if len(set(merits)) < 2 or any(merit != merit for merit in merits):
        return []
    return [row for row, merit in enumerate(merits) if merit == max(merits)]


def terminal_width() -> int | None:
    """Return the columns of the terminal on standard output; None where it is not a terminal."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console().width


def has_colours() -> bool:
    """Return whether standard output is a terminal with colours, and the user wants them."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return False
    from rich.console import Console

    console = Console()
    return console.color_system is not None and not console.legacy_windows


def lines(table: TextTable, width: int | None = None, colours: bool = False) -> list[str]:
    """Return the table without its title."""
    rows = [
        [">" * (table.marks.get((i, j)) == "best") + visible(cell) for j, cell in enumerate(row)]
        for i, row in enumerate(table.rows)
    ]
    columns = [replace(column, name=visible(column.name)) for column in table.columns]
    table = replace(table, columns=columns, rows=rows)
    return _first_grid(table, width, colours) or _blocks(table, width)


def text(tables: Iterable[TextTable], width: int | None = None, colours: bool = False) -> str:
    """Return tables with their titles and notes, an empty line between two of them."""
    return "\n\n".join("\n".join(_with_texts(table, width, colours)) for table in tables)


def _with_texts(table: TextTable, width: int | None, colours: bool) -> Iterator[str]:
    if table.title:
        for line in [*wrapped(table.title, width), ""]:
            yield _styled(line, "heading" if colours and line else None)
    yield from lines(table, width, colours)
    if table.note:
        yield from wrapped(table.note, width)


def markdown(tables: Iterable[TextTable]) -> str:
    """Return tables as pipe tables of Markdown, each below its title, with its note."""
    blocks = []
    for table in tables:
        header = [_one_line(column.heading) for column in table.columns]
        rows = [
            [
                _markdown_cell(cell, column, table.marks.get((i, j)) == "best")
                for j, (cell, column) in enumerate(zip(row, table.columns, strict=True))
            ]
            for i, row in enumerate(table.rows)
        ]
        right = [column.right for column in table.columns]
        blocks += [f"**{visible(table.title)}**"] if table.title else []
        blocks.append("\n".join(pipe_table(header, right, rows)))
        blocks += [table.note] if table.note else []
    return "\n\n".join(blocks)


def _markdown_cell(cell: str, column: Column, is_best: bool) -> str:
    """Return a cell of a pipe table: the lines of one that stand below each other are kept so."""
    lines = [cell] if column.beside or column.prose or not column.right else cell.split("\n")
    first, *below = map(_one_line, lines)
    if is_best:
        first = re.sub(r"^(.*?)((?:\\\*)*)$", r"**\1**\2", first)
    return "<br>".join(filter(None, [first, *below]))


def _one_line(cell: str) -> str:
    """Return a cell in one line, without what Markdown takes for emphasis or HTML."""
    return re.sub(r"[*<]", r"\\\g<0>", " ".join(visible(cell).split()))


def pipe_table(
    header: Sequence[str], right: Sequence[bool], rows: Iterable[Sequence[str]]
) -> list[str]:
    """Return the lines of a table of Markdown; ``right`` says which columns hold numbers."""
    lines = [header, ["---:" if number else "---" for number in right], *rows]
    return [f"| {' | '.join(cell.replace('|', _BAR) for cell in line)} |" for line in lines]


_BAR = "\\|"


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Return records as CSV: a column for each of their names, nothing where a value is None.

    Text that a spreadsheet would run as a formula has an apostrophe in front of it.
    """
    out = io.StringIO()
    names = dict.fromkeys(name for record in records for name in record)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_harmless, names))
    writer.writerows([_harmless(record.get(name)) for name in names] for record in records)
    return out.getvalue()


_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")


def _harmless(value: Any) -> Any:
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def print_tables(*tables: TextTable) -> None:
    """Print tables on standard output, laid out for the terminal if it is one."""
    say_as_it_is(text(tables, terminal_width(), has_colours()))


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return how many things there are: ``1 query``, ``1,200 queries``."""
    several = plural or (f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")
    return f"{n:,} {noun if n == 1 else several}"


def first_of(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are: ``a, b and 1,200 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def say(line: str) -> None:
    """Print a line in one piece; what standard output cannot encode is printed as an escape."""
    say_as_it_is(visible(line))


_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Return a text with control characters as escapes, such as ``\x1b``; tabs and lines stay.

    Use it on everything for people that may hold words of others (plug-ins, tables, files): such
    characters could move the cursor, set the title of the window, or turn the direction of text.
    """
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)


def say_as_it_is(line: str) -> None:
    """Print a text that was laid out here, with its colours; see ``say``."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        plain = line.translate(_PLAIN)
        line = plain.encode(encoding, "backslashreplace").decode(encoding)
    sys.stdout.write(line + "\n")


def say_wrapped(sentence: str, indent: str = "") -> None:
    """Print a sentence, in several lines where the terminal is narrow; see ``wrapped``."""
    say("\n".join(wrapped(sentence, terminal_width(), indent)))


def say_heading(title: str) -> None:
    """Print a title, bold on a terminal with colours."""
    style: Style | None = "heading" if has_colours() else None
    for line in wrapped(title, terminal_width()):
        say_as_it_is(_styled(line, style))


def wrapped(sentence: str, width: int | None, indent: str = "") -> list[str]:
    """Return a sentence in lines of at most this width; None for no limit.

    Words stay in one piece, as ids and paths that are copied; all lines but the first begin with
    ``indent``.
    """
    sentence = visible(sentence)
    if not width or _cell_len(sentence) <= width:
        return [sentence]
    finished, line = [], ""
    for word in re.findall(r"\s*\S+", sentence):  # with the spaces before it
        if line and _cell_len(line + word) > width:
            finished.append(line)
            line, word = indent, word.lstrip()
        line += word
    return [*finished, line]


_MOST_DIGITS = 6


def interval(low: float, high: float, digits: int, between: str = "–", sign: str = "") -> str:
    """Return bounds as text, with more decimals where they would look the same.

    The interval of a perfect score of 12,779 queries, 0.9997 to 1, is not shown as 1.000 to 1.000.
    """
    while low < high and digits < _MOST_DIGITS and f"{low:.{digits}f}" == f"{high:.{digits}f}":
        digits += 1
    return f"{score_text(low, digits, sign)}{between}{score_text(high, digits, sign)}"


def score_text(value: float, digits: int = 3, sign: str = "") -> str:
    """Return a score as it stands everywhere: ``.797``, and ``0.50`` of metrics up to 100."""
    text = f"{value:{sign}z.{digits}f}"
    return re.sub(r"\b0\.", ".", text) if digits > 2 else text


def p_text(p: float) -> str:
    """Return a p-value as it stands in tables and sentences: ``.38``, ``.034``, ``< .001``."""
    if p < 0.001:
        return "< .001"
    digits = 2 if p >= 0.1 or p == round(p, 2) else 3
    return f"{p:.{digits}f}".removeprefix("0")


_PLAIN = str.maketrans({"─": "-", "–": "-", "·": "-"})


def _first_grid(table: TextTable, width: int | None, colours: bool = False) -> list[str] | None:
    grids = (_grid(laid_out, width, colours) for laid_out in _layouts(table))
    return next((grid for grid in grids if grid is not None), None)


def _layouts(table: TextTable) -> Iterator[TextTable]:
    """Yield the layouts with a line or two a row, the widest first."""
    if any(column.beside for column in table.columns):
        yield _side_by_side(table)
    yield table
    yield _stacked(table)


def _side_by_side(table: TextTable) -> TextTable:
    """Return the table with the lines of cells in one, the first ones equally wide."""
    columns, by_column = [], []
    for i, column in enumerate(table.columns):
        cells = [row[i] for row in table.rows]
        if column.beside:
            column = replace(column, name=column.name.replace("\n", " "), right=False)
            width = max((_cell_len(cell.split("\n")[0]) for cell in cells), default=0)
            cells = [
                f"{first:>{width}} {' '.join(more)}".rstrip()
                for first, *more in (cell.split("\n") for cell in cells)
            ]
        columns.append(column)
        by_column.append(cells)
    rows = list(zip(*by_column, strict=True)) if table.rows else []
    return replace(table, columns=columns, rows=rows)


def _stacked(table: TextTable) -> TextTable:
    """Return the table with the columns that may move below the ones before them."""
    groups: list[list[int]] = []
    for i, column in enumerate(table.columns):
        if column.below and groups:
            groups[-1].append(i)
        else:
            groups.append([i])
    columns = [
        replace(table.columns[group[0]], name="\n".join(table.columns[i].name for i in group))
        for group in groups
    ]
    rows = [
        ["\n".join(row[i] for i in group).rstrip("\n") for group in groups] for row in table.rows
    ]
    firsts = {group[0]: n for n, group in enumerate(groups)}
    marks = {(row, firsts[i]): mark for (row, i), mark in table.marks.items() if i in firsts}
    return replace(table, columns=columns, rows=rows, marks=marks)


def _grid(table: TextTable, width: int | None, colours: bool = False) -> list[str] | None:
    """Return one line per row; None where that is wider than the terminal."""
    widths = _widths(table, width)
    if widths is None:
        return None
    header = [column.name.split("\n") for column in table.columns]
    rule = " " + "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    bold: list[Style | None] = ["heading" if colours else None] * len(header)
    printed = [*_printed(header, table.columns, widths, bold, bold, at_bottom=True), rule]
    faint: list[Style | None] = ["faint" if colours and c.right else None for c in table.columns]
    for number, row in enumerate(table.rows):
        if number in table.rules:
            printed.append(rule)
        cells = map(_in_lines, row, table.columns, widths)
        marks = [table.marks.get((number, i)) if colours else None for i in range(len(row))]
        printed += _printed(list(cells), table.columns, widths, marks, faint)
    return printed


def _styled(text: str, style: Style | None) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text else text


def _widths(table: TextTable, width: int | None) -> list[int] | None:
    """Return the width of every column; None where they do not fit."""
    named = [[column.name for column in table.columns], *table.rows]
    texts = [list(cells) for cells in zip(*named, strict=True)]
    widths = [max(map(_cell_len, "\n".join(cells).split("\n"))) for cells in texts]
    if width is None:
        return widths
    spare = width - 1 - sum(widths) - len(_GAP) * (len(widths) - 1)
    for i in sorted(range(len(widths)), key=lambda i: -widths[i]):
        if spare < 0 and table.columns[i].prose:
            words = " ".join(texts[i]).split()
            least = min(widths[i], max(_PROSE, *map(_cell_len, words)))
            narrower = max(least, widths[i] + spare)
            spare += widths[i] - narrower
            widths[i] = narrower
    return widths if spare >= 0 else None


def _in_lines(cell: str, column: Column, width: int) -> list[str]:
    parts = cell.split("\n")
    if not column.prose or max(map(_cell_len, parts)) <= width:
        return parts
    return [line for part in parts for line in wrapped(part, width)]


def _printed(
    cells: Sequence[Sequence[str]],
    columns: Sequence[Column],
    widths: Sequence[int],
    first: Sequence[Style | None],
    below: Sequence[Style | None],
    at_bottom: bool = False,
) -> Iterator[str]:
    """Yield the lines of one row, whose cells stand at the top or the bottom of it.

    The styles are of the first line of each cell, and of those below it.
    """
    height = max(map(len, cells))
    for n in range(height):
        shown = []
        for place, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True)):
            i = n - (height - len(cell)) if at_bottom else n
            line = cell[i] if 0 <= i < len(cell) else ""
            blank = " " * (width - _cell_len(line))
            line = _styled(line, below[place] if i else first[place])
            shown.append(blank + line if column.right else line + blank)
        yield f" {_GAP.join(shown)}".rstrip()


def _blocks(table: TextTable, width: int | None) -> list[str]:
    """Return one block of lines per row: its first cell, then its other cells that are not empty.

    Each takes one line; sentences continue on the next ones.
    """
    printed: list[str] = []
    for number, row in enumerate(table.rows):
        printed += [""] if number else []
        named = [(column, cell) for column, cell in zip(table.columns, row, strict=True) if cell]
        for place, (column, cell) in enumerate(named):
            value = " ".join(cell.split()) if column.prose else cell.replace("\n", " ")
            line = f"{'  ' if place else ''}{column.shown_label}: {value}"
            printed += wrapped(line, width, "    ") if column.prose else [line]
    return printed


def _cell_len(line: str) -> int:
    """Return the columns that a line takes in a terminal; a wide character takes two."""
    from rich.cells import cell_len

    return cell_len(line)
