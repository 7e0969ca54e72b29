"""Tables as text: laid out for the width of the terminal, never cropped.

Text that is not printed on a terminal has no width, so that every row takes one line. On a terminal
with colours, headings are bold, intervals faint, and marked cells green or red; ``NO_COLOR`` turns
that off.
"""

import csv
import io
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

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
_GAP = 2  # columns between cells
_NARROWEST = 16  # columns that are left to texts, which continue on the next line


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: its heading. One of two lines, as ``R@10`` above ``[95%]``, has cells of two lines,
            which stand beside each other where there is room.
        right: whether cells stand at the right edge, as numbers do, and in one piece.
    """

    name: str
    right: bool = False

    @property
    def heading(self) -> str:
        """The name in one line."""
        return " ".join(self.name.split())


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
    """Return the table without its title; each cell keeps all its text at any width."""
    texts = []
    for j, column in enumerate(table.columns):
        cells = [
            ">" * (table.marks.get((i, j)) == "best") + visible(row[j])
            for i, row in enumerate(table.rows)
        ]
        texts.append([visible(column.name), *cells])
    beside = [
        _join_pairs(cells, column.right) if "\n" in column.name else cells
        for column, cells in zip(table.columns, texts, strict=True)
    ]
    widths = _fit(table.columns, beside, width)
    if width is not None and _total(widths) > width:
        beside, widths = texts, _fit(table.columns, texts, width)
    blocks = [
        _lay_out(table, block, [beside[j] for j in block], [widths[j] for j in block], colours)
        for block in _divide(table.columns, widths, width)
    ]
    return [line for n, block in enumerate(blocks) for line in ([""] if n else []) + block]


def _divide(
    columns: Sequence[Column], widths: Sequence[int], width: int | None
) -> list[Sequence[int]]:
    """Divide columns into blocks that fit the terminal, each beginning with the labels of rows."""
    labels = next((j for j, column in enumerate(columns) if column.right), len(columns)) or 1
    blocks: list[Sequence[int]] = [range(labels)]
    for j in range(labels, len(columns)):
        longer = [*blocks[-1], j]
        fits = width is None or _total([widths[k] for k in longer]) <= width
        if fits or len(blocks[-1]) == labels:
            blocks[-1] = longer
        else:
            blocks.append([*range(labels), j])
    return blocks


def _lay_out(
    table: TextTable,
    block: Sequence[int],
    texts: Sequence[Sequence[str]],
    widths: Sequence[int],
    colours: bool,
) -> list[str]:
    """Return the lines of some columns of a table, with their heading."""
    columns = [table.columns[j] for j in block]
    heading: Style | None = "heading" if colours else None
    rule = " " + "─" * (_total(widths) - 1)
    header, *rows = zip(*texts, strict=True)
    tallest = max(name.count("\n") for name in header)
    header = tuple("\n" * (tallest - name.count("\n")) + name for name in header)
    printed = [*_lay_out_row(columns, header, widths, [heading] * len(widths), heading), rule]
    for i, row in enumerate(rows):
        if i in table.rules:
            printed.append(rule)
        marks = [table.marks.get((i, j)) if colours else None for j in block]
        below: Style | None = "faint" if colours else None
        printed += _lay_out_row(columns, row, widths, marks, below)
    return printed


def _join_pairs(cells: Sequence[str], right: bool) -> list[str]:
    """Return a column with the two lines of its cells side by side."""
    first = max((_cell_len(cell.split("\n")[0]) for cell in cells[1:]), default=0)
    joined = [cells[0].replace("\n", " ")]
    for upper, *lower in (cell.split("\n") for cell in cells[1:]):
        blank = " " * (first - _cell_len(upper))
        joined.append(" ".join([blank + upper if right else upper + blank, *lower]))
    widest = max(map(_cell_len, joined))
    return [cell + " " * (widest - _cell_len(cell)) for cell in joined]


def _total(widths: Sequence[int]) -> int:
    return 1 + sum(widths) + _GAP * (len(widths) - 1)


def _fit(columns: Sequence[Column], texts: Sequence[Sequence[str]], width: int | None) -> list[int]:
    """Return the width of every column, narrowed to the terminal as far as texts can be."""
    widths = [max(map(_cell_len, "\n".join(cells).split("\n"))) for cells in texts]
    spare = 0 if width is None else width - _total(widths)
    for j in sorted(range(len(widths)), key=lambda j: -widths[j]):
        if spare < 0 and not columns[j].right:
            pieces = map(str.strip, _PIECE.findall(" ".join(texts[j])))
            longest = max(map(_cell_len, pieces), default=0)
            narrower = max(min(widths[j], max(_NARROWEST, longest)), widths[j] + spare)
            spare += widths[j] - narrower
            widths[j] = narrower
    return widths


def _lay_out_row(
    columns: Sequence[Column],
    row: Sequence[str],
    widths: Sequence[int],
    first: Sequence[Style | None],
    below: Style | None,
) -> Iterator[str]:
    """Yield the lines of one row; the styles are of the first line of a cell and of those below."""
    cells = [
        [line for part in cell.split("\n") for line in _wrap(part, width, "", _PIECE)]
        for cell, width in zip(row, widths, strict=True)
    ]
    for n in range(max(map(len, cells))):
        printed = []
        for j, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            line = cell[n] if n < len(cell) else ""
            blank = " " * (width - _cell_len(line))
            if n == 0 or columns[j].right:
                line = _add_style(line, below if n else first[j])
            printed.append(blank + line if columns[j].right else line + blank)
        yield f" {(' ' * _GAP).join(printed)}".rstrip()


def _add_style(text: str, style: Style | None) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text else text


def text(tables: Iterable[TextTable], width: int | None = None, colours: bool = False) -> str:
    """Return tables with their titles and notes, an empty line between two of them."""
    blocks = []
    for table in tables:
        title = [*wrap_sentence(table.title, width), ""] if table.title else []
        note = wrap_sentence(table.note, width) if table.note else []
        bold = [_add_style(line, "heading") for line in title] if colours else title
        blocks.append("\n".join([*bold, *lines(table, width, colours), *note]))
    return "\n\n".join(blocks)


def markdown(tables: Iterable[TextTable]) -> str:
    """Return tables as pipe tables of Markdown, each below its title, with its note."""
    blocks = []
    for table in tables:
        header = [_one_line(column.heading) for column in table.columns]
        sides = ["---:" if column.right else "---" for column in table.columns]
        rows = [[_one_line(cell) for cell in row] for row in table.rows]
        for (i, j), mark in table.marks.items():
            if mark == "best":  # stars of significance stay outside
                rows[i][j] = re.sub(r"^(\S+?)((?:\\\*)*)(?=\s|$)", r"**\1**\2", rows[i][j])
        pipes = [f"| {' | '.join(row)} |" for row in (header, sides, *rows)]
        blocks += [f"**{visible(table.title)}**"] if table.title else []
        blocks.append("\n".join(pipes))
        blocks += [table.note] if table.note else []
    return "\n\n".join(blocks)


def _one_line(cell: str) -> str:
    """Return a cell in one line, without what Markdown takes for emphasis, HTML or a border."""
    return re.sub(r"[*<|]", r"\\\g<0>", " ".join(visible(cell).split()))


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


def count_noun(n: int, noun: str) -> str:
    """Return how many things there are: ``1 query``, ``1,200 queries``."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else several}"


def list_first(names: Sequence[str], most: int) -> str:
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
    """Print a sentence, in several lines where the terminal is narrow; see ``wrap_sentence``."""
    say("\n".join(wrap_sentence(sentence, terminal_width(), indent)))


def say_heading(title: str) -> None:
    """Print a title, bold on a terminal with colours."""
    style: Style | None = "heading" if has_colours() else None
    for line in wrap_sentence(title, terminal_width()):
        say_as_it_is(_add_style(line, style))


def wrap_sentence(sentence: str, width: int | None, indent: str = "") -> list[str]:
    """Return a sentence in lines of at most this width; None for no limit.

    Words stay in one piece, as ids and paths that are copied; all lines but the first begin with
    ``indent``.
    """
    return _wrap(visible(sentence), width, indent, re.compile(r"\s*\S+"))


_PIECE = re.compile(r"\s*[^\s,]*(?:,+|(?=\s|$))")  # settings of a plug-in break after a comma


def _wrap(sentence: str, width: int | None, indent: str, piece: re.Pattern[str]) -> list[str]:
    if not width or _cell_len(sentence) <= width:
        return [sentence]
    finished, line = [], ""
    for word in piece.findall(sentence):  # with the spaces before it
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


def _cell_len(line: str) -> int:
    """Return the columns that a line takes in a terminal."""
    if line.isascii():
        return len(line)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in line)
    return len(line) + wide - sum(map(bool, map(unicodedata.combining, line)))
