"""InfiAgent-DABench from a small release: messy files and named values."""

from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.schema import TableId
from target_bench.data.reading import read
from tests.builders import json_lines, write_release

LOADER = registry.create("corpus", "infiagent")
QUESTION = {
    "id": 7,
    "question": "What is the mean fare?",
    "concepts": ["Summary Statistics"],
    "constraints": "Round to two decimals.",
    "format": "@mean_fare[value]",
    "file_name": "old ships.csv",
    "level": "easy",
}
LABEL: dict[str, Any] = {"id": 7, "common_answers": [["mean_fare", "34.65"], ["n", "3"]]}


def test_questions_about_messy_files(tmp_path: Path) -> None:
    """A byte-order mark, carriage returns, another encoding, a row that is too short."""
    write_release(tmp_path, "da-dev-questions.jsonl", json_lines([QUESTION]), "gz")
    write_release(tmp_path, "da-dev-labels.jsonl", json_lines([LABEL]))
    files = {
        "old ships.csv": "\ufeffship,fare\rAnn,1\rBo\r".encode(),
        "latin.csv": "name,city\nJosé,Málaga\n".encode("latin-1"),
        "README.txt": b"not a table",
    }
    for name, content in files.items():
        write_release(tmp_path, f"da-dev-tables/{name}", content)
    dataset = read(LOADER, tmp_path, "validation")
    latin, ships = dataset.corpus
    assert [list(row) for row in latin.rows] == [["José", "Málaga"]]
    assert (list(ships.header), [list(row) for row in ships.rows]) == (
        ["ship", "fare"],
        [["Ann", "1"], ["Bo", ""]],
    )
    assert ships.context["title"] == "old ships"
    (query,) = dataset.queries
    assert query.gold == (TableId("0", "old ships.csv"),)
    assert query.answer == "@mean_fare[34.65] @n[3]"
    assert query.metadata["constraints"] == "Round to two decimals."
    notes = " ".join(dataset.notes)
    assert "files are not UTF-8 and are read as Latin-1: 1 (the first" in notes
    assert "old ships.csv, line 3: 1 cells under 2 columns" in notes


@pytest.mark.parametrize(
    ("labels", "fault"),
    [
        ([{**LABEL, "common_answers": ["mean"]}], "line 1: .*pairs of name and value.* 'mean'"),
        ([{**LABEL, "common_answers": [["a", "1", "2"]]}], "'common_answers' should hold pairs"),
        ([LABEL, LABEL], "line 2: answers of question 7 for the second time"),
    ],
)
def test_broken_labels(tmp_path: Path, labels: list[Any], fault: str) -> None:
    write_release(tmp_path, "da-dev-questions.jsonl", json_lines([QUESTION]))
    write_release(tmp_path, "da-dev-labels.jsonl", json_lines(labels))
    write_release(tmp_path, "da-dev-tables/old ships.csv", b"ship,fare\nAnn,1\n")
    with pytest.raises(DataError, match=fault):
        read(LOADER, tmp_path, "validation")
