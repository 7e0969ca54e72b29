"""AIT-QA from a small release: levels of headers, and headers without cells."""

from pathlib import Path

from target_bench.core import registry
from target_bench.core.schema import TableId
from target_bench.data.reading import read
from tests.builders import json_lines, write_release

LOADER = registry.create("corpus", "aitqa")
FLEET = {
    "id": "tab-0",
    "column_header": [["Year ended", "2018"], ["Year ended", "2017"]],
    "row_header": [["Fleet", "Owned  aircraft"], ["Fleet", "Leased"], ["7"]],
    "data": [["1,100", "980"], ["12"]],
}
FUEL = {"id": "tab-1", "column_header": [["Year"], ["Gallons"]], "row_header": [], "data": [[1, 2]]}
QUESTION = {
    "id": "q-0",
    "table_id": "tab-0",
    "question": "How many aircraft did it own in 2018?",
    "answers": ["1,100"],
    "type": "Table-driven",
    "row_hierarchy_needed": "Yes",
    "paraphrase_group": "",
}


def _write(folder: Path, *tables: object) -> None:
    write_release(folder, "aitqa_tables.jsonl", json_lines([*tables]))
    write_release(folder, "aitqa_questions.jsonl", json_lines([QUESTION]), "gz")


def test_levels_of_headers_are_joined(tmp_path: Path) -> None:
    _write(tmp_path, FLEET, FUEL)
    dataset = read(LOADER, tmp_path, "test")
    fleet, fuel = dataset.corpus
    assert list(fleet.header) == ["", "Year ended / 2018", "Year ended / 2017"]
    assert [list(row) for row in fleet.rows] == [
        ["Fleet / Owned aircraft", "1,100", "980"],
        ["Fleet / Leased", "12", ""],
        ["7", "", ""],
    ]
    assert (list(fuel.header), [list(row) for row in fuel.rows]) == (["Year", "Gallons"], [[1, 2]])
    assert any("without cells" in note and "tab-0" in note for note in dataset.notes)
    (query,) = dataset.queries
    assert (query.gold, query.answer) == ((TableId("0", "tab-0"),), ("1,100",))
    assert query.metadata["row_hierarchy_needed"] == "Yes"
