"""TabXBench from small files in the shape of its release, sound and broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.table_metrics.ranked_tables import ranked_sets
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from target_bench.corpora.tabxbench import TabXBench
from target_bench.data.load import read

ORIGINAL = "| a | b |\n| - | - |\n| 1 | 2 |"
TABLES = {"original": ORIGINAL} | {
    f"pertubation{i}": f"\n| a | b |\n|---|---|\n| 1 | {i} |{' 9 |' if i == 4 else ''}\n"
    for i in range(5)
}
OTHER = {name: text.replace("a", "c") for name, text in TABLES.items()}


def _write(folder: Path, tables: Any, rankings: Any) -> Path:
    (folder / "tables.json").write_text(json.dumps(tables))
    (folder / "gold_ranking.json").write_text(json.dumps(rankings))
    return folder


def _load(folder: Path, *digits: str) -> Dataset:
    records = [TABLES, OTHER][: len(digits)]
    rankings = [
        {"original": record["original"], "rankings": each}
        for record, each in zip(records, digits, strict=True)
    ]
    return read(TabXBench(), _write(folder, records, rankings), "test")


def test_rankings_name_tables_best_first_from_0_or_from_1(tmp_path: Path) -> None:
    dataset = _load(tmp_path, "20143", "31254")
    assert [query.metadata["rank"] for query in dataset.queries] == [1, 2, 0, 4, 3] * 2
    assert dataset.queries[4].text == TABLES["pertubation4"]
    assert dataset.queries[4].answer == ORIGINAL
    assert [list(table.header) for table in dataset.corpus] == [["a", "b"], ["c", "b"]]
    first, second = ranked_sets(dataset)
    assert first.order == second.order == (2, 0, 1, 4, 3)
    assert [pair.answer.tables[0].is_ragged for pair in first.pairs] == [False] * 4 + [True]


@pytest.mark.parametrize("digits", ["01234 ", "00123", "0123", "abcde", ""])
def test_rankings_that_are_none(tmp_path: Path, digits: str) -> None:
    with pytest.raises(DataError, match="record 1: field 'rankings' is"):
        _load(tmp_path, digits)


@pytest.mark.parametrize(
    ("tables", "rankings", "message"),
    [
        ([TABLES], [], "tables.json has 1 records, gold_ranking.json has 0"),
        ({}, [], "tables.json: expected a list of records"),
        ([TABLES], [{"original": "x", "rankings": "01234"}], "'original' is not that of"),
        ([{"original": "no table"}], [{}], "field 'original': 0 tables, expected one"),
        (
            [{"original": ORIGINAL}],
            [{"original": ORIGINAL, "rankings": "01234"}],
            "no field 'pertubation0'",
        ),
    ],
)
def test_broken_files(tmp_path: Path, tables: Any, rankings: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(TabXBench(), _write(tmp_path, tables, rankings), "test")
