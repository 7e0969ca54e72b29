"""The files of Wu et al. (2022): one text per line, its tables on the same line of another."""

from collections.abc import Iterator

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.core.schema import Table, TableId
from target_bench.tables.answer_tables import AnswerTable

_FILE_NAME = {"test": "test", "validation": "valid", "train": "train"}


def as_table(table_id: str, table: AnswerTable, context: dict[str, str]) -> Table:
    """Make a table of a corpus from one that was read; its first row is the header."""
    header, *rows = table.padded()
    return Table(TableId("0", table_id), list(header), [list(row) for row in rows], context)


def lines(release: Release, name: str, split: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, text and tables of each line of a split.

    Raises:
        DataError: the files have different numbers of lines, or a line is empty.
    """
    stem = f"{name}.{_FILE_NAME[split]}"
    paths = [release.require(f"{stem}.{kind}") for kind in ("text", "data")]
    texts, data = (release.text(path).rstrip("\n").split("\n") for path in paths)
    if len(texts) != len(data):
        raise DataError(f"{paths[0]}: {len(texts)} lines for {len(data)} lines of {paths[1]}")
    for number, (text, tables) in enumerate(zip(texts, data, strict=True), start=1):
        if not tables.strip():
            raise DataError(f"{paths[1]}, line {number}: expected tables, found an empty line")
        yield f"{paths[1]}, line {number}", text.strip(), tables.strip()
