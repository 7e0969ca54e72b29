"""Tables as comma-separated values, read with the csv module."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence

from target_bench.tables.answer_tables import (
    AnswerTable,
    Fault,
    ReadAnswer,
    failed,
    read_answer,
    unfenced,
)

_DELIMITERS = (",", ";", "\t")


def read_csv_tables(text: str) -> ReadAnswer:
    """Read tables of at least two columns; empty lines divide them.

    A line of one cell that ends in a colon, before a table, is its name. Cells are divided by
    commas, semicolons or tabs: by what gives most lines the same number of cells.
    """
    inside, faults = unfenced(text.replace("<NEWLINE>", "\n"))
    if inside.count('"') % 2:
        faults.append("truncated")
    found = [_DELIMITERS[0], *(one for one in _DELIMITERS[1:] if one in inside)]
    try:
        records = max((_records(inside, delimiter) for delimiter in found), key=_evenness)
    except csv.Error:
        return failed("syntax")
    tables = list(_tables(records, faults))
    return read_answer(tables, faults)


def _records(text: str, delimiter: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True))


def _evenness(records: Sequence[Sequence[str]]) -> float:
    """Return the share of lines that have the most common number of cells, of those above 1."""
    widths = Counter(len(record) for record in records if record)
    return max((n for width, n in widths.items() if width > 1), default=0) / max(widths.total(), 1)


def _tables(records: Sequence[Sequence[str]], faults: list[Fault]) -> Iterator[AnswerTable]:
    blocks = list(_blocks(records))
    longest = max((len(rows) for _, rows in blocks), default=0)
    for name, rows in blocks:
        if not rows or (len(rows) == 1 and longest > 1):
            faults.append("prose")
        else:
            yield AnswerTable(name, tuple(rows))


def _blocks(
    records: Sequence[Sequence[str]],
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield name and rows of each run of lines with several cells; no rows: a line of prose."""
    name = ""
    rows: list[tuple[str, ...]] = []
    for record in [*records, []]:
        if len(record) > 1:
            rows.append(tuple(cell.strip() for cell in record))
            continue
        if rows:
            yield name, rows
            name, rows = "", []
        said = record[0].strip() if record else ""
        if said.endswith(":"):
            name = said[:-1].strip(" #*")
        elif said:
            yield "", []
