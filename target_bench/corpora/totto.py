"""ToTTo: sentences that describe highlighted cells of Wikipedia tables (Parikh et al. 2020)."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from typing import Any, Literal

from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid, GridCell, sound_rows
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data import highlights

Ask = Literal["cells", "sentence"]
"""What a query is: the highlighted cells, to be described, or a sentence whose table is sought."""

WIDEST = 1_000  # columns or rows that a cell spans at most, as in browsers

_FILES = {
    "validation": ("totto_dev_data.jsonl", "dev_sample.jsonl"),
    "train": ("totto_train_data.jsonl", "train_sample.jsonl"),
    "test": ("unlabeled_totto_test_data.jsonl",),
}
_FIELDS = itemgetter("value", "row_span", "column_span", "is_header")


class ToTTo(CorpusLoader):
    """Each record is a table with highlighted cells and up to three sentences about them.

    The id of a table, and of its query, is the ``example_id``, a signed 64-bit integer. The
    metadata of a query holds ``highlighted_cells`` (row and column in the ragged rows of the file),
    ``overlap_subset`` (``overlap`` or ``non-overlap`` of the header with those of train; validation
    and test) and, where they cannot be used as they are, ``highlights``: ``no highlight`` or ``out
    of range``. Without the release, its official samples are read.

    Args:
        ask: ``cells``: a query is to be described, for table-to-text; ``sentence``: each sentence
            is a query for the table that it describes, for retrieval.
    """

    info = CorpusInfo(
        name="totto",
        title="ToTTo",
        tasks=("table_to_text", "retrieval"),
        splits=("validation", "train", "test"),
        licence="CC BY-SA 3.0",
        citation="Parikh et al., ToTTo: A Controlled Table-To-Text Generation Dataset, EMNLP 2020",
        source="https://github.com/google-research-datasets/ToTTo",
        files=(
            "totto_dev_data.jsonl, totto_train_data.jsonl, unlabeled_totto_test_data.jsonl",
            "or the samples dev_sample.jsonl and train_sample.jsonl (from sample/)",
        ),
    )
    subfolders = ("totto_data", "sample")

    def __init__(self, ask: Ask = "cells") -> None:
        self.ask = ask
        only: Any = {"cells": ("table_to_text",), "sentence": ("retrieval",)}
        self.info = replace(type(self).info, tasks=only[ask])

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Yield the table of every record."""
        return (
            _read_table(release, place, record) for place, record in _read_records(release, split)
        )

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the query of every record; with ``ask=sentence`` one for each of its sentences."""
        for place, record in _read_records(release, split):
            query = _read_query(release, place, record)
            if self.ask == "cells":
                yield query
            elif not any(query.references):
                yield replace(query, text="", answer="")
            else:
                for number, text in enumerate(filter(None, query.references)):
                    yield replace(query, id=f"{query.id}:{number}", text=text, answer="")


def _read_records(release: Release, split: str) -> Iterator[tuple[str, Any]]:
    return release.json_lines(release.require(*_FILES[split]))


def _read_id(place: str, record: Any) -> str:
    number = field(record, "example_id", int, place)
    if isinstance(number, bool) or not -(2**63) <= number < 2**63:
        raise DataError(f"{place}: example_id {number!r} is not a signed 64-bit integer")
    return str(number)


def _read_table(release: Release, place: str, record: Any) -> Table:
    grid = CellGrid(_read_rows(release, place, record))
    header, rows = grid.rectangular()
    if not header:
        raise DataError(f"{place}: the table holds no cell")
    return Table(
        id=TableId("0", _read_id(place, record)),
        header=header,
        rows=rows,
        context={
            "title": _read_text(record, "table_page_title", place),
            "section_title": _read_text(record, "table_section_title", place),
            "section_text": _read_text(record, "table_section_text", place),
            "url": _read_text(record, "table_webpage_url", place),
        },
        grid=grid,
    )


def _read_text(record: Any, name: str, place: str) -> str:
    """Return a text that may be missing or null."""
    return "" if record.get(name) is None else field(record, name, str, place)


def _read_rows(release: Release, place: str, record: Any) -> tuple[tuple[GridCell, ...], ...]:
    rows = field(record, "table", list, place)
    with suppress(TypeError, KeyError):
        usual = sound_rows([list(map(_FIELDS, row)) for row in rows], WIDEST)
        if usual is not None:
            return usual
    checked = []
    for number, row in enumerate(rows):
        where = f"{place}, table row {number}"
        if not isinstance(row, list):
            raise DataError(f"{where}: expected a list of cells, found {row!r:.60}")
        checked.append(
            tuple(_read_cell(release, f"{where}, cell {n}", cell) for n, cell in enumerate(row))
        )
    return tuple(checked)


def _read_cell(release: Release, place: str, cell: Any) -> GridCell:
    text = field(cell, "value", str, place)
    spans = {
        "row_span": cell.get("row_span", 1),
        "column_span": field(cell, "column_span", int, place),
    }
    for name, value in spans.items():
        if type(value) is not int or not 0 <= value <= WIDEST:
            raise DataError(
                f"{place}: {name} {value!r:.40} is not a whole number from 1 to {WIDEST}"
            )
        if value == 0:  # which HTML has for all that are left
            release.remark(f"cells with {name} 0, which is read as 1", place)
    rows, columns = (max(value, 1) for value in spans.values())
    return GridCell(text, rows, columns, field(cell, "is_header", bool, place))


def _read_query(release: Release, place: str, record: Any) -> Query:
    own = _read_id(place, record)
    marked = field(record, "highlighted_cells", list, place)
    for entry in marked:
        if not isinstance(entry, list) or [type(n) for n in entry] != [int, int]:
            raise DataError(
                f"{place}: highlighted_cells: expected pairs [row, column], found {entry!r:.60}"
            )
    metadata: dict[str, Any] = {highlights.HIGHLIGHTED: marked}
    if "overlap_subset" in record:
        overlaps = field(record, "overlap_subset", bool, place)
        metadata["overlap_subset"] = "overlap" if overlaps else "non-overlap"
    fault = highlights.find_fault(field(record, "table", list, place), marked)
    if fault is not None:
        metadata["highlights"] = fault
        release.remark(f"queries whose highlighted cells cannot be used: {fault}", place)
    references = []  # the unlabelled test split has none
    if record.get("sentence_annotations") is not None:
        for number, entry in enumerate(field(record, "sentence_annotations", list, place)):
            text = field(entry, "final_sentence", str, f"{place}, sentence_annotations {number}")
            references.append(text)
            if not text.strip():
                release.remark("annotations without a sentence, which are left out", place)
    titles = (
        _read_text(record, name, place) for name in ("table_page_title", "table_section_title")
    )
    return Query(
        id=own,
        text=" - ".join(text for text in titles if text) or f"Example {own}",
        gold=(TableId("0", own),),
        answer=tuple(text for text in references if text.strip()),
        metadata=metadata,
    )
