"""FeTaQA: free-form answers from Wikipedia tables (Nan et al. 2022)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data.tables import rectangular

_FILE_NAME = {"train": "train", "validation": "dev", "test": "test"}


class FeTaQA(CorpusLoader):
    """Each record is a question and its table; some tables repeat under another id."""

    info = CorpusInfo(
        name="fetaqa",
        title="FeTaQA",
        tasks=("retrieval", "question_answering", "table_to_text"),
        splits=("test", "validation", "train"),
        licence="CC BY-SA 4.0",
        citation="Nan et al., FeTaQA: Free-form Table Question Answering, TACL 2022",
        source="https://github.com/Yale-LILY/FeTaQA",
        files=("fetaQA-v1_test.jsonl, fetaQA-v1_dev.jsonl, fetaQA-v1_train.jsonl (from data/)",),
    )

    subfolders = ("data",)

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Return the table of every record."""
        return (_table(release, place, record) for place, record in _records(release, split))

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Return the question of every record."""
        return (_query(place, record) for place, record in _records(release, split))


def _records(release: Release, split: str) -> Iterator[tuple[str, Any]]:
    return release.json_lines(release.require(f"fetaQA-v1_{_FILE_NAME[split]}.jsonl"))


def _table(release: Release, place: str, record: Any) -> Table:
    names, *found = _grid(place, record)
    header, rows = rectangular(
        release, names, found, lambda number: f"{place}, table_array row {number + 1}"
    )
    return Table(
        id=TableId("0", field(record, "table_source_json", str, place)),
        header=header,
        rows=rows,
        context={
            "title": field(record, "table_page_title", str, place),
            "section_title": field(record, "table_section_title", str, place),
            "url": field(record, "page_wikipedia_url", str, place),
        },
    )


def _grid(place: str, record: Any) -> Sequence[Sequence[str]]:
    grid = field(record, "table_array", list, place)
    if not grid:
        raise DataError(f"{place}: table_array is empty; its first row is the header")
    for number, row in enumerate(grid):
        if not isinstance(row, list) or not all(isinstance(cell, str) for cell in row):
            raise DataError(
                f"{place}: table_array row {number} is not a list of texts: {row!r:.80}"
            )
    return grid


def _query(place: str, record: Any) -> Query:
    return Query(
        id=str(field(record, "feta_id", int, place)),
        text=field(record, "question", str, place),
        gold=(TableId("0", field(record, "table_source_json", str, place)),),
        answer=field(record, "answer", str, place),
        metadata={"highlighted_cells": field(record, "highlighted_cell_ids", list, place)},
    )
