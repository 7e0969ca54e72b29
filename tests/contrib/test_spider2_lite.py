"""Spider 2.0-lite from a small release: engines, name cases and gold tables that are not there."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.data.reading import read
from tests.builders import json_lines, write_release, zipped

LOADER = registry.create("corpus", "spider2-lite")


def _schema(full_name: str, *columns: str) -> bytes:
    record = {
        "table_name": full_name.rpartition(".")[2],
        "table_fullname": full_name,
        "column_names": columns,
        "column_types": ["STRING"] * len(columns),
        "description": ["what it is", None][: len(columns)],
        "sample_rows": [dict.fromkeys(columns, "x")],
    }
    return json.dumps(record).encode()


FOLDER = "resource/databases"
SCHEMAS = {
    f"{FOLDER}/bigquery/ga4/data.events/events_1.json": _schema("data.events.Events_1", "a", "b"),
    f"{FOLDER}/bigquery/ga4/data.events/events_2.json": _schema("data.events.Events_2", "a"),
    f"{FOLDER}/snowflake/GA4/E/EVENTS.json": _schema("GA4.E.EVENTS", "a"),
    f"{FOLDER}/sqlite/zoo/animal.json": _schema("animal", "id"),
    f"{FOLDER}/sqlite/zoo/notes.md": b"not a table",
    f"{FOLDER}/bigquery/ports/data.sea/ships.json": _schema("data.sea.ships", "a"),
    f"{FOLDER}/snowflake/PORTS/SEA/SHIPS.json": _schema("PORTS.SEA.SHIPS", "a"),
    f"{FOLDER}/snowflake/PORTS/LAND/SHIPS.json": _schema("PORTS.LAND.SHIPS", "a"),
}
QUESTIONS = [
    {"instance_id": "bq1", "db": "GA4", "question": "How many events?"},
    {"instance_id": "sf_bq2", "db": "GA4", "question": "Which events?"},
    {"instance_id": "local1", "db": "zoo", "question": "Which animals?"},
    {"instance_id": "local2", "db": "gone", "question": "Which films?"},
    {"instance_id": "bq3", "db": "ports", "question": "How many ships?"},
    {"instance_id": "sf_bq3", "db": "PORTS", "question": "How many ships?"},
]
GOLD = [
    {"instance_id": "bq1", "gold_tables": ["data.events.events_1", "data.events.events_2"]},
    {"instance_id": "bq2", "gold_tables": ["ga4.e.events", "ga4.e.unknown"]},
    {"instance_id": "local1", "gold_tables": ["plant"]},
    {"instance_id": "local2", "gold_tables": ["film"]},
    {"instance_id": "bq3", "gold_tables": ["DATA.sea.ships"]},
]


def _load(folder: Path, packed: bool = True) -> Dataset:
    write_release(folder, "spider2-lite.jsonl", json_lines(QUESTIONS), "gz")
    write_release(folder, "spider2-lite-gold-tables.jsonl", json_lines(GOLD))
    if packed:
        (folder / "databases.zip").write_bytes(zipped(SCHEMAS))
    else:
        for name, content in SCHEMAS.items():
            write_release(folder, name, content)
    return read(LOADER, folder, "test")


@pytest.mark.parametrize("packed", [True, False])
def test_tables_have_schemas_alone(tmp_path: Path, packed: bool) -> None:
    dataset = _load(tmp_path, packed)
    assert [str(table) for table in dataset.corpus.ids] == [
        "ga4/data.events.Events_1",
        "ga4/data.events.Events_2",
        "ports/data.sea.ships",
        "GA4/GA4.E.EVENTS",
        "PORTS/PORTS.LAND.SHIPS",
        "PORTS/PORTS.SEA.SHIPS",
        "zoo/animal",
    ]
    first = next(iter(dataset.corpus))
    assert (list(first.header), list(first.rows)) == (["a", "b"], [])
    assert first.context["column_descriptions"] == {"a": "what it is"}
    assert first.context["title"] == "data.events.Events_1"


def test_gold_tables_are_found_in_any_case_or_counted(tmp_path: Path) -> None:
    dataset = _load(tmp_path)
    events, other, animals, films, *_ = dataset.queries
    assert events.gold == (
        TableId("ga4", "data.events.Events_1"),
        TableId("ga4", "data.events.Events_2"),
    )
    assert (events.database_id, other.database_id) == ("ga4", "GA4")
    assert other.gold == (TableId("GA4", "GA4.E.EVENTS"),)
    assert animals.gold == films.gold == ()
    notes = " ".join(dataset.notes)
    for note in (
        "questions with gold tables that are not here, which are left out: 1 (sf_bq2; the first: ",
        "questions without a gold table that is here, which are not scored: 1 (local1; the first",
        "questions about a database that is not here, which are not scored: 1 (local2 (gone); ",
        "questions with gold tables of another database: 1 (bq1; the first: ",
    ):
        assert note in notes


@pytest.mark.parametrize(
    ("gold", "fault"),
    [
        ([*GOLD, GOLD[0]], "line 6: gold tables of bq1 for the second time"),
        ([{"instance_id": "bq1", "gold_tables": [None]}], "expected a list of texts, found None"),
    ],
)
def test_broken_gold_tables(tmp_path: Path, gold: list[Any], fault: str) -> None:
    _load(tmp_path)
    write_release(tmp_path, "spider2-lite-gold-tables.jsonl", json_lines(gold))
    with pytest.raises(DataError, match=fault):
        read(LOADER, tmp_path, "test")
