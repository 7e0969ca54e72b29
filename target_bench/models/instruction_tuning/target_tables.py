"""The tables of a target, known again by their content under any id."""

from collections.abc import Iterable

from target_bench.core.errors import DataError
from target_bench.data.tables import MemoryCorpus
from target_bench.tables.answer_tables import TableFormat
from target_bench.tables.reading import read_tables
from target_bench.tables.text_table_lines import as_table


def contents_of_output(output: str, table_format: TableFormat, place: str) -> list[bytes]:
    """Return the digest of header and rows of each table, as corpora have it; empty ones left out.

    Raises:
        DataError: no table can be read.
    """
    found = read_tables(output, table_format)
    if found.error is not None:
        raise DataError(
            f"{place}: no table can be read in the output as {table_format} ({found.error}): "
            f"{output!r:.80}"
        )
    filled = (table for table in found.tables if table.width)
    tables = (as_table(str(number), table, {}) for number, table in enumerate(filled))
    return [digest.content for digest in MemoryCorpus(tables).digests]


def known_contents(outputs: Iterable[tuple[str, TableFormat]]) -> frozenset[bytes]:
    """Return the digests of all tables that can be read in some outputs."""
    return frozenset(
        content
        for output, table_format in outputs
        if read_tables(output, table_format).error is None
        for content in contents_of_output(output, table_format, "")
    )
