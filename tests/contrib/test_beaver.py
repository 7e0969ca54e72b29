"""BEAVER from a small release in the authors' shape, sound and broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.data.reading import read
from tests.builders import Record, write_release

LOADER = registry.create("corpus", "beaver")
TABLES: Record = {
    "dw#sep#ROOMS": {
        "db_id": "dw",
        "table_name_original": "ROOMS",
        "column_names_original": ["ROOM_KEY", "BUILDING_KEY"],
        "column_types": ["NUMBER", "NUMBER"],
    },
    "nova#sep#instances": {
        "db_id": "nova",
        "table_name_original": "instances",
        "column_names_original": ["id", "host"],
        "column_types": ["int", "varchar(9)"],
        "primary_key": ["id"],
        "foreign_key": [
            {
                "column_name": "host",
                "referenced_table_name": "nova#sep#hosts",
                "referenced_column_name": "name",
            }
        ],
    },
}
WAREHOUSE: Record = {
    "question": "Which rooms?",
    "db_id": "dw",
    "sql": "SELECT 1",
    "gold_tables": ["dw#sep#ROOMS"],
    "mapping": {"rooms": ["ROOMS.ROOM_KEY"]},
    "join_keys": [],
}
NETWORK: Record = {
    "question": "Which hosts?",
    "db_id": "nova",
    "sql": "SELECT 2",
    "gold_tables": ["nova#sep#INSTANCES", "nova#sep#GONE"],
    "join_keys": [],
}


def _load(folder: Path, **changes: Any) -> Dataset:
    files = {
        "dev_tables": TABLES,
        "dev_dw": [WAREHOUSE],
        "dev_nw": [NETWORK],
    } | changes
    for name, content in files.items():
        write_release(folder, f"{name}.json", json.dumps(content), "gz")
    return read(LOADER, folder, "validation")


def test_tables_and_questions(tmp_path: Path) -> None:
    dataset = _load(tmp_path)
    rooms, instances = dataset.corpus
    assert rooms.id == TableId("dw", "ROOMS")
    assert list(rooms.header) == ["ROOM_KEY", "BUILDING_KEY"]
    assert rooms.context["title"] == "ROOMS"
    assert instances.context["primary_key"] == ["id"]
    assert instances.context["foreign_keys"] == [["host", "hosts.name"]]
    assert [query.id for query in dataset.queries] == ["dw-0", "nw-0"]
    assert dataset.queries[0].metadata["mapping"] == {"rooms": ["ROOMS.ROOM_KEY"]}


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("dev_tables", [], "dev_tables.json.gz: expected an object keyed by database and table"),
        ("dev_tables", {"rooms": TABLES["dw#sep#ROOMS"]}, "table rooms: expected the name"),
        ("dev_dw", {}, "dev_dw.json.gz: expected a list"),
        ("dev_nw", [{"question": "?"}], "question 1: no field 'gold_tables'"),
        ("dev_dw", [{**WAREHOUSE, "mapping": []}], "'mapping'"),
        ("dev_dw", [{**WAREHOUSE, "gold_tables": [None]}], "'gold_tables': .*, found None"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: Any, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        _load(tmp_path, **{name: content})
