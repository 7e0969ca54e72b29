"""FeTaQA from a small release in the authors' shape, sound and broken."""

import re
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.corpora.fetaqa import FeTaQA
from target_bench.data.reading import read
from tests.builders import HOWS, How, Record, json_lines, write_release

NAME = "fetaQA-v1_test.jsonl"


def _record(number: int, **changes: Any) -> Record:
    return {
        "feta_id": number,
        "table_source_json": f"totto_source/dev_json/example-{number}.json",
        "page_wikipedia_url": f"http://en.wikipedia.org/wiki/{number}",
        "table_page_title": f"Page {number}",
        "table_section_title": "Filmography",
        "table_array": [["Year", "Title"], ["1999", f"Film {number}"], ["2000", "Ö"]],
        "highlighted_cell_ids": [[1, 0], [1, 1]],
        "question": f"What was film {number}?",
        "answer": f"It was Film {number}.",
    } | changes


RECORDS = [_record(2205), _record(7)]


def _load(folder: Path, records: list[Any], how: How = "plain") -> Dataset:
    write_release(folder, NAME, json_lines(records), how)
    return read(FeTaQA(), folder, "test")


@pytest.mark.parametrize("how", HOWS)
def test_every_field(tmp_path: Path, how: How) -> None:
    dataset = _load(tmp_path, RECORDS, how)
    assert (dataset.info.name, dataset.split, dataset.notes) == ("fetaqa", "test", ())
    first = TableId("0", "totto_source/dev_json/example-2205.json")
    assert dataset.corpus.ids == (first, TableId("0", "totto_source/dev_json/example-7.json"))
    table = dataset.corpus[first]
    assert list(table.header) == ["Year", "Title"]
    assert [list(row) for row in table.rows] == [["1999", "Film 2205"], ["2000", "Ö"]]
    assert dict(table.context) == {
        "title": "Page 2205",
        "section_title": "Filmography",
        "url": "http://en.wikipedia.org/wiki/2205",
    }
    query = dataset.queries[0]
    assert (query.id, query.text, query.gold) == ("2205", "What was film 2205?", (first,))
    assert query.answer == "It was Film 2205."
    assert dict(query.metadata) == {"highlighted_cells": [[1, 0], [1, 1]]}
    assert [query.id for query in dataset.queries] == ["2205", "7"]


ROW = "table_array row 1"
NEEDED = ("feta_id", "question", "table_source_json", "table_array")


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        *(({k: v for k, v in RECORDS[1].items() if k != name}, f"no field {name!r}")
          for name in sorted(RECORDS[0])),
        *((_record(7, **{name: None}), f"field {name!r}: expected") for name in NEEDED),
        (5, "expected a JSON object"),
        (_record(7, table_array=[]), "field 'table_array': expected a list of rows, the header"),
        (_record(7, table_array=[["Year", "Title"], "ab"]), ROW),
        (_record(7, table_array=[["Year"], None]), ROW),
        (_record(8, table_source_json=RECORDS[0]["table_source_json"]), "differs from that of"),
    ],
)  # fmt: skip
def test_broken_records(tmp_path: Path, record: Any, fault: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"{NAME}, line 2: ") + f".*{fault}"):
        _load(tmp_path, [RECORDS[0], record])
