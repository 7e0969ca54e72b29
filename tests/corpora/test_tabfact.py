"""TabFact from a small release in the authors' shape, sound and broken."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.corpora.tabfact import TabFact
from target_bench.data.reading import read
from tests.builders import HOWS, How, write_release, zipped

ONE, TWO = "1-10001.html.csv", "2-9.html.csv"
CSVS = {
    ONE: "year#team#\r\n1999#red, “fc”#1\r\n2000##2\r\n".encode(),
    TWO: b'name#"points\r\nann#3\r\n',
    "2-77.html.csv": b"another table\r\n",
}
EXAMPLES = {
    TWO: [["ann have 3 point"], [1], "league"],
    ONE: [["red win in 1999", "red win in 2000"], [1, 0], "cup"],
}


def _zip_of(csvs: dict[str, bytes]) -> bytes:
    return zipped({f"all_csv/{name}": content for name, content in csvs.items()})


def _load(
    folder: Path, examples: Any = EXAMPLES, csvs: dict[str, bytes] = CSVS, how: How = "plain"
) -> Dataset:
    write_release(folder, "test_examples.json", json.dumps(examples), how)
    write_release(folder, "test_csv.zip", _zip_of(csvs))
    return read(TabFact(), folder, "test")


def _is_sound(dataset: Dataset) -> None:
    assert (dataset.info.name, dataset.split) == ("tabfact", "test")
    assert dataset.notes == ("1 of 2 tables have some empty column names",)
    assert dataset.corpus.ids == (TableId("0", TWO), TableId("0", ONE))
    second, first = dataset.corpus
    assert [list(second.header), *map(list, second.rows)] == [["name", '"points'], ["ann", "3"]]
    assert list(first.header) == ["year", "team", ""]
    assert [list(row) for row in first.rows] == [["1999", "red, “fc”", "1"], ["2000", "", "2"]]
    assert [dict(second.context), dict(first.context)] == [{"title": "league"}, {"title": "cup"}]
    assert [(q.id, q.text, q.gold, q.answer) for q in dataset.queries] == [
        (f"{TWO}:0", "ann have 3 point", (TableId("0", TWO),), "True"),
        (f"{ONE}:0", "red win in 1999", (TableId("0", ONE),), "True"),
        (f"{ONE}:1", "red win in 2000", (TableId("0", ONE),), "False"),
    ]


@pytest.mark.parametrize("how", HOWS)
def test_every_field(tmp_path: Path, how: How) -> None:
    """No quoting, ``#`` between cells, CRLF line ends, tables in the order of the examples."""
    dataset = _load(tmp_path, how=how)
    _is_sound(dataset)
    suffix = "" if how == "plain" else f".{how}"
    assert set(dataset.files) == {f"test_examples.json{suffix}", "test_csv.zip"}


@pytest.mark.parametrize("place", ["", "data"])
def test_tables_from_all_csv(tmp_path: Path, place: str) -> None:
    """From the folder of this name, or packed."""
    write_release(tmp_path / "a" / "tokenized_data", "test_examples.json", json.dumps(EXAMPLES))
    write_release(tmp_path / "a" / place, "all_csv.zip", _zip_of(CSVS))
    _is_sound(read(TabFact(), tmp_path / "a", "test"))
    write_release(tmp_path / "b", "test_examples.json", json.dumps(EXAMPLES), "gz")
    for name, content in CSVS.items():
        write_release(tmp_path / "b" / place / "all_csv", name, content)
    dataset = read(TabFact(), tmp_path / "b", "test")
    _is_sound(dataset)
    assert len(dataset.files) == 3


PARTS = "expected [statements, labels, caption], with a label for each statement"


@pytest.mark.parametrize(
    ("example", "fault"),
    [
        ([["a"], [1]], PARTS),
        ([["a"], [1], "x", "y"], PARTS),
        (None, PARTS),
        ([["a"], [1], None], "caption: expected text"),
        ([["a", "b"], [1], "x"], PARTS),
        ([["a"], 1, "x"], PARTS),
        *(
            ([[text], [x], "x"], f"that are 0 or 1, found {text!r} with {x!r}")
            for text, x in ((5, 1), ("a", 2), ("a", "1"), ("a", None), ("a", [1]))
        ),
    ],
)
def test_broken_example(tmp_path: Path, example: object, fault: str) -> None:
    message = f"test_examples.json, table {TWO}: "
    with pytest.raises(DataError, match=f"{re.escape(message)}.*{re.escape(fault)}"):
        _load(tmp_path, {**EXAMPLES, TWO: example})
    with pytest.raises(DataError, match=r"examples\.json: expected an object keyed by table id"):
        _load(tmp_path, [])


def test_missing_csv(tmp_path: Path) -> None:
    """In the archive and in the folder; the message counts them and names the first."""
    missing = r"1 tables of test_examples\.json have no CSV file.*"
    with pytest.raises(DataError, match=missing + ONE):
        _load(tmp_path, csvs={TWO: CSVS[TWO]})
    (tmp_path / "test_csv.zip").unlink()
    write_release(tmp_path / "all_csv", ONE, CSVS[ONE])
    with pytest.raises(DataError, match=missing + TWO):
        read(TabFact(), tmp_path, "test")
