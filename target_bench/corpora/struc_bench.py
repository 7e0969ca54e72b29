"""Struc-Bench's own JSON: instruction, input, output (Tang et al. 2023).

The authors publish their files on a file-sharing site, not in their repository, and we have none of
them. What is read here follows the paper and the repository: its scripts read a list of objects of
Alpaca's form and score the field ``output``; there is a set each of raw text, HTML and LaTeX.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.tables.answer_tables import TableFormat
from target_bench.tables.reading import read_tables
from target_bench.tables.text_table_lines import are_of_size, as_table, smallest_size

_KINDS: dict[str, TableFormat] = {"table": "text", "html": "html", "latex": "latex"}


class StrucBench(CorpusLoader):
    """Records of instruction, input and output, a file for each of the three formats.

    A query is the input (or, where that is empty, the instruction); its reference is the output.

    Args:
        at_least: rows and columns that all tables of an output have, headers included, as in
            ``3x3``. Other records are left out.
    """

    info = CorpusInfo(
        name="struc-bench",
        title="Struc-Bench",
        tasks=("retrieval", "text_to_table"),
        splits=("test", "validation", "train"),
        licence="none stated by the release",
        citation="Tang et al., Struc-Bench, NAACL 2024",
        source="https://github.com/gersteinlab/Struc-Bench",
        files=("table_test.json, html_test.json, latex_test.json (at least one of them)",),
    )

    subfolders = ("data",)

    def __init__(self, at_least: str = "1x1") -> None:
        self.at_least = at_least
        self._smallest = smallest_size(at_least)

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield every table of every output."""
        for _, name, _, _, tables in self._read_records(release, split):
            for number, table in enumerate(tables):
                yield as_table(f"{name}/{number}", table, {"title": table.name})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the input of every record; ids are ``<kind>/<number from 0>``."""
        for place, name, kind, record, tables in self._read_records(release, split):
            instruction = field(record, "instruction", str, place)
            text = field(record, "input", str, place) if "input" in record else ""
            yield Query(
                name,
                text or instruction,
                tuple(TableId("0", f"{name}/{number}") for number in range(len(tables))),
                field(record, "output", str, place),
                metadata={"format": kind, "instruction": instruction if text else ""},
            )

    def _read_records(self, release: Release, split: str) -> Iterator[tuple[Any, ...]]:
        names = {kind: f"{kind}_{split}.json" for kind in _KINDS}
        paths = {kind: path for kind, name in names.items() if (path := release.find(name))}
        if not paths:
            release.require(*names.values())
        for kind, path in paths.items():
            for number, (place, record) in enumerate(release.json_list(path)):
                read = read_tables(field(record, "output", str, place), _KINDS[kind])
                if read.error is not None:
                    raise DataError(
                        f"{place}: no table can be read in its output as {_KINDS[kind]} "
                        f"({read.error})"
                    )
                if are_of_size(read.tables, self._smallest):
                    yield place, f"{kind}/{number}", _KINDS[kind], record, read.tables
