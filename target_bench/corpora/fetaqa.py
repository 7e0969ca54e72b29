"""FeTaQA: free-form answers from Wikipedia tables (Nan et al. 2022)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId

_FILE_NAME = {"train": "train", "validation": "dev", "test": "test"}
_CONTEXT = {
    "title": "table_page_title",
    "section_title": "table_section_title",
    "url": "page_wikipedia_url",
}


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
        """Yield the table of every record."""
        for place, record in _records(release, split):
            header, *rows = _grid(place, record)
            context = {name: field(record, theirs, str, place) for name, theirs in _CONTEXT.items()}
            yield Table(_table_id(place, record), header, rows, context)

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the question of every record."""
        for place, record in _records(release, split):
            yield Query(
                id=str(field(record, "feta_id", int, place)),
                text=field(record, "question", str, place),
                gold=(_table_id(place, record),),
                answer=field(record, "answer", str, place),
                metadata={"highlighted_cells": field(record, "highlighted_cell_ids", list, place)},
            )


def _records(release: Release, split: str) -> Iterator[tuple[str, Any]]:
    return release.json_lines(release.require(f"fetaQA-v1_{_FILE_NAME[split]}.jsonl"))


def _table_id(place: str, record: Any) -> TableId:
    return TableId("0", field(record, "table_source_json", str, place))


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
