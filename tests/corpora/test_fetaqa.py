"""FeTaQA from a small release in the authors' shape, sound and broken."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.corpora.fetaqa import FeTaQA
from target_bench.data.load import read
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


def _fault(folder: Path, records: list[Any]) -> str:
    with pytest.raises(DataError) as caught:
        _load(folder, records)
    return str(caught.value)


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


@pytest.mark.parametrize(
    ("split", "name"), [("test", "test"), ("validation", "dev"), ("train", "train")]
)
def test_splits_and_the_authors_folder(tmp_path: Path, split: str, name: str) -> None:
    write_release(tmp_path / "data", f"fetaQA-v1_{name}.jsonl", json_lines(RECORDS))
    dataset = read(FeTaQA(), tmp_path, split)
    assert dataset.split == split
    assert set(dataset.files) == {f"data/fetaQA-v1_{name}.jsonl"}


def test_odd_content_is_accepted_and_noted(tmp_path: Path) -> None:
    records = [
        _record(1, table_array=[["Year"]]),
        _record(2, table_array=[["", " "], ["a", "b"]]),
        _record(3, question=""),
        _record(4),
    ]
    dataset = _load(tmp_path, records)
    assert len(dataset.corpus) == len(dataset.queries) == 4
    notes = "; ".join(dataset.notes)
    assert "1 of 4 tables have no rows" in notes
    assert "1 of 4 tables have only empty column names" in notes
    assert "1 of 4 queries are empty" in notes


def test_copies_are_accepted(tmp_path: Path) -> None:
    """The same table under two ids, as 57 are in the test split."""
    same = _record(8, table_array=RECORDS[1]["table_array"])
    assert list(_load(tmp_path, [*RECORDS, same]).corpus.groups) == [0, 1, 1]


@pytest.mark.parametrize("name", sorted(RECORDS[0]))
def test_record_without_a_field(tmp_path: Path, name: str) -> None:
    broken = {key: value for key, value in RECORDS[1].items() if key != name}
    message = _fault(tmp_path, [RECORDS[0], broken])
    assert f"{NAME}, line 2: no field {name!r}" in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("feta_id", "12"),
        ("table_source_json", 12),
        ("table_array", "Year"),
        ("table_page_title", None),
        ("highlighted_cell_ids", {}),
        ("question", ["x"]),
        ("answer", None),
    ],
)
def test_field_of_the_wrong_type(tmp_path: Path, name: str, value: object) -> None:
    message = _fault(tmp_path, [RECORDS[0], _record(7, **{name: value})])
    assert f"{NAME}, line 2: field {name!r} should be" in message


@pytest.mark.parametrize(
    "grid", [[["Year", "Title"], "ab"], [["Year", "Title"], ["1999", 5]], [["Year"], None]]
)
def test_row_of_the_wrong_type(tmp_path: Path, grid: list[Any]) -> None:
    message = _fault(tmp_path, [RECORDS[0], _record(7, table_array=grid)])
    assert f"{NAME}, line 2: table_array row 1" in message


@pytest.mark.parametrize("line", [["x"], "x", 5, None])
def test_record_that_is_not_an_object(tmp_path: Path, line: object) -> None:
    assert f"{NAME}, line 1: expected a JSON object" in _fault(tmp_path, [line])


@pytest.mark.parametrize("grid", [[], [[]], [[], []]])
def test_table_without_header(tmp_path: Path, grid: list[Any]) -> None:
    message = _fault(tmp_path, [RECORDS[0], _record(7, table_array=grid)])
    assert "header" in message
    assert NAME in message
    assert "line 2" in message or "example-7.json" in message


def test_duplicate_table(tmp_path: Path) -> None:
    again = _record(8, table_source_json=RECORDS[1]["table_source_json"])
    message = _fault(tmp_path, [*RECORDS, again])
    for part in ("fetaqa", NAME, "example-7.json", "occurs twice"):
        assert part in message


def test_duplicate_question(tmp_path: Path) -> None:
    message = _fault(tmp_path, [*RECORDS, _record(8, feta_id=7)])
    for part in ("fetaqa", NAME, "'7'", "twice"):
        assert part in message


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no fetaQA-v1_test\.jsonl .*Yale-LILY/FeTaQA"):
        read(FeTaQA(), tmp_path, "test")


def test_no_record(tmp_path: Path) -> None:
    """A release cut to nothing is not a release."""
    assert "fetaqa" in _fault(tmp_path, []).lower()


def test_truncated(tmp_path: Path) -> None:
    packed = gzip.compress(json_lines(RECORDS).encode())
    (tmp_path / f"{NAME}.gz").write_bytes(packed[:-20])
    with pytest.raises(DataError, match=rf"{NAME}\.gz: the file is truncated"):
        read(FeTaQA(), tmp_path, "test")
    write_release(tmp_path, NAME, json_lines(RECORDS)[:-20])
    with pytest.raises(DataError, match=rf"{NAME}, line 2: not valid JSON at column"):
        read(FeTaQA(), tmp_path, "test")


def test_invalid_utf8(tmp_path: Path) -> None:
    write_release(tmp_path, NAME, json_lines(RECORDS).encode().replace("Ö".encode(), b"\xd6"))
    with pytest.raises(DataError, match=rf"{NAME}, line 1: not valid UTF-8 .*0xd6"):
        read(FeTaQA(), tmp_path, "test")
