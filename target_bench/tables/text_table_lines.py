"""The files of Wu et al. (2022): a text a line, its tables on the same line of another file."""

import re
from collections.abc import Iterator, Sequence

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import Release
from target_bench.core.schema import Table, TableId
from target_bench.tables.answer_tables import AnswerTable

_SPLITS = {"test": "test", "validation": "valid", "train": "train"}  # as files call them


def as_table(table_id: str, table: AnswerTable, context: dict[str, str]) -> Table:
    """Make a table of a corpus from one that was read; its first row is the header."""
    header, *rows = table.pad_rows()
    return Table(TableId("0", table_id), list(header), [list(row) for row in rows], context)


def lines(release: Release, name: str, split: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield number from 0, location, text and tables of each line of a split.

    Files are called ``<name>.test.text`` and ``.data``, or ``test.text`` in a folder of that name.
    """
    stem = _SPLITS[split]
    paths = [
        release.require(f"{name}.{stem}.{kind}", f"{name}/{stem}.{kind}")
        for kind in ("text", "data")
    ]
    texts, data = (release.text(path).removesuffix("\n").split("\n") for path in paths)
    if len(texts) != len(data):
        raise DataError(f"{paths[0]}: {len(texts)} lines for {len(data)} lines of {paths[1]}")
    for number, (text, tables) in enumerate(zip(texts, data, strict=True)):
        yield number, f"{paths[1]}, line {number + 1}", text.strip(), tables.strip()


def smallest_size(at_least: str) -> tuple[int, int]:
    """Return the rows and columns, headers included, that ``3x3`` says."""
    match = re.fullmatch(r"(\d+)x(\d+)", at_least)
    if match is None:
        raise ConfigError(f"at_least={at_least!r}: expected rows x columns, as in at_least=3x3")
    return int(match[1]), int(match[2])


def are_of_size(tables: Sequence[AnswerTable], smallest: tuple[int, int]) -> bool:
    """Return whether all tables of a text have as many rows and columns as ``smallest_size``."""
    rows, columns = smallest
    return all(len(t.rows) >= rows and t.width >= columns for t in tables)
