"""TabXBench: tables, five perturbations of each, and their ranking by people (TabXEval)."""

from collections.abc import Iterable, Iterator
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.tables.read_text import read_pipe_tables
from target_bench.tables.text_table_lines import as_table

_TABLES, _RANKINGS = "tables.json", "gold_ranking.json"


class TabXBench(CorpusLoader):
    """Each query is a perturbed table as Markdown, its answer and its gold table the original.

    ``rank`` in the metadata is its place in the ranking by people, 0 for the best of its original.
    Three of the 300 tables have rows of different lengths, which is part of the error (46 where a
    reader strips the bars of empty cells): queries and answers keep the text as it is, the tables
    of the corpus are filled up.
    """

    info = CorpusInfo(
        name="tabxbench",
        title="TabXBench",
        tasks=("retrieval",),
        splits=("test",),
        licence="MIT",
        citation="Pancholi et al., TabXEval, Findings of ACL 2025",
        source="https://github.com/CoRAL-ASU/TabXEval",
        files=(f"{_TABLES}, {_RANKINGS}",),
    )

    subfolders = ("data", "TabXBench")

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (there is one)
        """Yield the originals; the id of each is its number, from 0."""
        for number, (place, record) in enumerate(_read_records(release, _TABLES)):
            read = read_pipe_tables(field(record, "original", str, place))
            if len(read.tables) != 1:
                raise DataError(
                    f"{place}: field 'original': {len(read.tables)} tables, expected one"
                )
            yield as_table(str(number), read.tables[0], {"title": ""})

    def queries(self, release: Release, split: str) -> Iterable[Query]:  # noqa: ARG002
        """Yield the perturbations; ids are ``<original>/<number from 0>``."""
        rankings = list(_read_records(release, _RANKINGS))
        tables = list(_read_records(release, _TABLES))
        if len(tables) != len(rankings):
            counts = f"{_TABLES} has {len(tables)} records, {_RANKINGS} has {len(rankings)}"
            raise DataError(f"{release.folder}: {counts}")
        for number, ((place, record), (where, ranking)) in enumerate(
            zip(tables, rankings, strict=True)
        ):
            original = field(record, "original", str, place)
            if field(ranking, "original", str, where) != original:
                raise DataError(f"{where}: field 'original' is not that of {place}")
            ranks = _read_ranks(field(ranking, "rankings", str, where), where)
            for i, rank in enumerate(ranks):
                text = field(record, f"pertubation{i}", str, place)
                gold = (TableId("0", str(number)),)
                metadata = {"rank": rank, "format": "text"}
                yield Query(f"{number}/{i}", text, gold, original, metadata=metadata)


def _read_records(release: Release, name: str) -> Iterator[tuple[str, Any]]:
    return release.json_list(release.require(name))


def _read_ranks(digits: str, place: str) -> list[int]:
    """Return the rank of each perturbation, from digits that name perturbations, best first."""
    # the first 25 records number them from 0, the others from 1
    named = [int(digit) for digit in digits if digit.isdecimal()]
    order = [number - min(named, default=0) for number in named]
    if len(named) != len(digits) or sorted(order) != list(range(5)):
        raise DataError(f"{place}: field 'rankings' is {digits!r}; expected five numbers in a row")
    return [order.index(number) for number in range(5)]
