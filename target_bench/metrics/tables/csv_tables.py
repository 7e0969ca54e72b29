"""Tables as comma-separated values, read with the csv module."""

import csv
import io
from collections.abc import Iterator, Sequence

from target_bench.metrics.tables.answer_tables import (
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
    commas; where no line has one, by semicolons or tabs.
    """
    inside, faults = unfenced(text.replace("<NEWLINE>", "\n"))
    if inside.count('"') % 2:
        faults.append("truncated")
    lines = inside.splitlines()
    delimiter = next((one for one in _DELIMITERS if any(one in line for line in lines)), ",")
    try:
        records = list(csv.reader(io.StringIO(inside), delimiter=delimiter, skipinitialspace=True))
    except csv.Error:
        return failed("syntax")
    tables = list(_tables(records, faults))
    return read_answer(tables, faults)


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
