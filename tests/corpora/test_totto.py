"""ToTTo's files as tables and queries, and what is said of broken ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from target_bench.corpora import load

CELL = {"value": "a", "is_header": False, "column_span": 1, "row_span": 1}
HEADER = {**CELL, "value": "Year", "is_header": True}
RECORD: dict[str, Any] = {
    "table": [[HEADER, {**HEADER, "value": "Role", "column_span": 2}], [CELL, CELL, CELL], [CELL]],
    "table_webpage_url": "http://example.org",
    "table_page_title": "Ann",
    "table_section_title": "Stage",
    "table_section_text": None,
    "highlighted_cells": [[1, 0], [2, 0]],
    "example_id": -(2**63),
    "overlap_subset": True,
    "sentence_annotations": [{"final_sentence": "Ann won."}, {"final_sentence": "She won."}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "totto"
    path.mkdir()
    return path


def _loaded(folder: Path, *records: Any, corpus: str = "totto", split: str = "dev") -> Dataset:
    name = "unlabeled_totto_test_data" if split == "test" else "totto_dev_data"
    lines = [json.dumps(record) + "\n" for record in records]
    (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    return load(corpus, split, data_dir=folder)


def test_a_record(folder: Path) -> None:
    dataset = _loaded(folder, RECORD)
    (query,), (table,) = dataset.queries, dataset.corpus
    assert query.id == table.id.table_id == "-9223372036854775808"
    assert query.gold == (table.id,)
    assert query.references == ("Ann won.", "She won.")
    assert query.text == "Ann - Stage"
    assert query.metadata["highlighted_cells"] == [[1, 0], [2, 0]]
    assert query.metadata["overlap_subset"] == "overlap"
    assert "highlights" not in query.metadata
    assert list(table.header) == ["Year", "Role", "Role"]
    assert [list(row) for row in table.rows] == [["a", "a", "a"], ["a", "", ""]]
    assert table.grid is not None
    assert [len(row) for row in table.grid.rows] == [2, 3, 1]
    assert table.context["section_text"] == ""


def test_sentences_are_queries_for_their_table(folder: Path) -> None:
    """What is to be found stands in no reference, and what is to be written in no query."""
    dataset = _loaded(folder, RECORD, corpus="totto:ask=sentence")
    assert dataset.info.tasks == ("retrieval",)
    assert [(q.text, q.answer) for q in dataset.queries] == [("Ann won.", ""), ("She won.", "")]
    assert all("won" not in q.text for q in _loaded(folder, RECORD).queries)


@pytest.mark.parametrize(
    ("cells", "fault"), [([], "no highlight"), ([[1, 0], [2, 1]], "out of range")]
)
def test_highlights_that_cannot_be_used_are_counted(
    folder: Path, cells: list[list[int]], fault: str
) -> None:
    dataset = _loaded(folder, RECORD, {**RECORD, "highlighted_cells": cells, "example_id": 1})
    assert [q.metadata.get("highlights") for q in dataset.queries] == [None, fault]
    (note,) = (note for note in dataset.notes if "highlighted" in note)
    assert note.startswith(f"queries whose highlighted cells cannot be used: {fault}: 1 (the first")
    assert "line 2" in note


def test_spans_of_0_and_empty_sentences_are_counted(folder: Path) -> None:
    table = [[{**HEADER, "row_span": 0}], [CELL]]
    sentences = [{"final_sentence": " "}, {"final_sentence": "Ann won."}]
    dataset = _loaded(folder, {**RECORD, "table": table, "sentence_annotations": sentences})
    assert any("row_span 0" in note for note in dataset.notes)
    assert any("without a sentence" in note for note in dataset.notes)
    assert dataset.queries[0].references == ("Ann won.",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"example_id": True}, "not a signed 64-bit integer"),
        ({"example_id": 2**63}, "not a signed 64-bit integer"),
        ({"table": []}, "holds no cell"),
        ({"table": ["a"]}, "table row 0: expected a list of cells"),
        ({"table": [[{**CELL, "value": 3}]]}, "row 0, cell 0: field 'value': expected str"),
        ({"table": [[{k: v for k, v in CELL.items() if k != "column_span"}]]}, "'column_span'"),
        ({"table": [[{**CELL, "column_span": -1}]]}, "column_span -1 is not a whole number"),
        ({"table": [[{**CELL, "row_span": 10**9}]]}, "row_span 1000000000 is not"),
        ({"table": [[{**CELL, "is_header": None}]]}, "'is_header': expected bool"),
        ({"highlighted_cells": [[0, "1"]]}, r"expected pairs \[row, column\]"),
        ({"sentence_annotations": [{}]}, "sentence_annotations 0: no field 'final_sentence'"),
        ({"overlap_subset": "yes"}, "'overlap_subset': expected bool"),
    ],
)
def test_a_broken_record_is_named(folder: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=rf"line 1.*{message}"):
        _loaded(folder, {**RECORD, **change})
