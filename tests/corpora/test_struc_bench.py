"""Struc-Bench's JSON from small files in the shape that its scripts read, sound and broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from target_bench.corpora.struc_bench import StrucBench
from target_bench.data.load import read

TEXT = {"instruction": "Make tables.", "input": "Won.", "output": "Team:\n| a | b |\n| 1 | 2 |"}
LATEX = {
    "instruction": "Write LaTeX of a and b.",
    "input": "",
    "output": r"\begin{tabular}{ll} a & b \\ 1 & 2 \\ \end{tabular}",
}


def _load(folder: Path, **files: Any) -> Dataset:
    for name, records in files.items():
        (folder / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
    return read(StrucBench(), folder, "test")


def test_records_of_each_format(tmp_path: Path) -> None:
    dataset = _load(tmp_path, table_test=[TEXT], latex_test=[LATEX])
    first, second = dataset.queries
    assert (first.id, first.text, first.answer) == ("table/0", "Won.", TEXT["output"])
    assert first.metadata["format"] == "text"
    assert first.metadata["instruction"] == "Make tables."
    assert (second.text, second.metadata["format"]) == (LATEX["instruction"], "latex")
    tables = {table.id.table_id: table for table in dataset.corpus}
    assert list(tables) == ["table/0/0", "latex/0/0"]
    assert [list(row) for row in tables["latex/0/0"].rows] == [["1", "2"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": 1}, "expected a list of records, found dict"),
        ([{"instruction": "x", "input": "y"}], "record 1: no field 'output'|output"),
        ([TEXT | {"output": "none"}], r"record 1: no table can be read in its output as text"),
    ],
)
def test_broken_files(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _load(tmp_path, table_test=content)
