"""OTT-QA from a small release in the authors' shape, sound and broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset, TableId
from target_bench.corpora.ottqa import OTTQA
from target_bench.data.reading import read
from tests.builders import (
    HOWS,
    How,
    Record,
    cells,
    json_lines,
    ottqa_question,
    ottqa_table,
    write_ottqa,
    write_release,
)

TABLES = [ottqa_table("Cup_0"), ottqa_table('Ståle_"Cup"_/_1', header=cells("", ""), data=[])]
QUESTIONS = [ottqa_question("q1", "Cup_0"), ottqa_question("q2", TABLES[1]["uid"], question=" ")]


def _load(
    folder: Path, tables: list[Any] = TABLES, questions: Any = QUESTIONS, how: How = "plain"
) -> Dataset:
    return read(OTTQA(), write_ottqa(folder, tables, questions, how), "validation")


@pytest.mark.parametrize("how", HOWS)
def test_every_field(tmp_path: Path, how: How) -> None:
    dataset = _load(tmp_path, how=how)
    assert (dataset.info.name, dataset.split) == ("ottqa", "validation")
    assert dataset.corpus.ids == (TableId("0", "Cup_0"), TableId("0", 'Ståle_"Cup"_/_1'))
    table = dataset.corpus["0", "Cup_0"]
    assert list(table.header) == ["Year", "Winner"]
    assert [list(row) for row in table.rows] == [["2001", "Ann Cup_0"], ["2002", "Bo"]]
    assert dict(table.context) == {
        "title": "Page Cup_0",
        "section_title": "Results",
        "section_text": "A section .",
        "intro": "An introduction .",
        "url": "https://en.wikipedia.org/wiki/Cup_0",
    }
    first, second = dataset.queries
    assert (first.id, first.text) == ("q1", "Who won Cup_0 in 2001 ?")
    assert (first.gold, first.answer) == ((TableId("0", "Cup_0"),), "Ann Cup_0")
    assert first.metadata == {"normal_form": "ottqa"}
    assert (second.id, second.text) == ("q2", " ")
    assert len(dataset.files) == 2


def test_odd_content_is_accepted_and_noted(tmp_path: Path) -> None:
    """A table without rows, one without column names, a question without text."""
    notes = "; ".join(_load(tmp_path).notes)
    assert "1 of 2 tables have no rows" in notes
    assert "1 of 2 tables have only empty column names" in notes
    assert "1 of 2 queries are empty" in notes
    assert _load(tmp_path, TABLES[:1], QUESTIONS[:1]).notes == ()


def _write_folder(folder: Path, tables: list[Record], ids: object, how: How = "plain") -> Path:
    """The authors' repositories: one file per table, and the ids of each split."""
    write_release(folder / "released_data", "dev.json", json.dumps(FOLDER_QUESTIONS))
    lists: Record = {"train": [], "dev": ids, "test": []}
    write_release(folder / "data", "train_dev_test_table_ids.json", json.dumps(lists))
    for table in tables:
        name = f"{table['uid']}.json"
        write_release(folder / "data" / "traindev_tables_tok", name, json.dumps(table), how)
    return folder


FOLDER_TABLES = [ottqa_table("Cup_0"), ottqa_table('Ståle_"Cup"_1'), ottqa_table("Unused_0")]
FOLDER_QUESTIONS = [ottqa_question("q1", "Cup_0"), ottqa_question("q2", 'Ståle_"Cup"_1')]


@pytest.mark.parametrize("how", HOWS)
def test_file_a_table(tmp_path: Path, how: How) -> None:
    """The same corpus as from one file, for any order of the ids."""
    ids = ['Ståle_"Cup"_1', "Cup_0"]
    dataset = read(OTTQA(), _write_folder(tmp_path / "a", FOLDER_TABLES, ids, how), "validation")
    in_a_file = _load(tmp_path / "b", FOLDER_TABLES[:2], FOLDER_QUESTIONS)
    assert dataset.corpus.fingerprint == in_a_file.corpus.fingerprint
    assert dataset.queries == in_a_file.queries
    assert len(dataset.files) == 4


@pytest.mark.parametrize(
    ("ids", "fault"),
    [
        (["Cup_0", "Gone_1"], r"no traindev_tables_tok/Gone_1\.json"),
        ("Cup_0", r"train_dev_test_table_ids\.json: field 'dev': expected"),
        (None, r"train_dev_test_table_ids\.json: field 'dev': expected"),
    ],
)
def test_ids_of_the_split(tmp_path: Path, ids: object, fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        read(OTTQA(), _write_folder(tmp_path, FOLDER_TABLES, ids), "validation")


def _without(record: Record, name: str) -> Record:
    return {key: value for key, value in record.items() if key != name}


LINKS = r"\[text, \[links\]\]"  # bare texts must not be read as their first letters
ROW_1 = cells("2001", "Ann")
FIELDS = ("question_id", "question", "table_id", "answer-text")


@pytest.mark.parametrize(
    ("table", "question", "fault"),
    [
        *((_without(TABLES[0], name), None, f"no field {name!r}") for name in sorted(TABLES[0])),
        *((None, _without(QUESTIONS[0], name), f"no field {name!r}") for name in FIELDS),
        *((None, QUESTIONS[0] | {n: None}, f"field {n!r}: expected str, found") for n in FIELDS),
        *((ottqa_table("Cup_0", **{part: rows}), None, f"{place}.*{LINKS}")
          for part, rows, place in (
            ("header", ["Year", "Winner"], "header"),
            ("header", [[], ["Winner", []]], "header"),
            ("data", [ROW_1, ["2002", "Bo"]], "data row 2"),
            ("data", [ROW_1, "ab"], "data row 2"),
            ("data", [[None, None]], "data row 1"),
        )),
    ],
)  # fmt: skip
def test_broken_records(
    tmp_path: Path, table: Record | None, question: Record | None, fault: str
) -> None:
    tables = TABLES if table is None else [TABLES[1], table]
    questions = QUESTIONS if question is None else [QUESTIONS[1], question]
    place = r"dev\.json, question 2" if table is None else r"dev_tables\.jsonl, line 2"
    with pytest.raises(DataError, match=f"{place}.*{fault}"):
        _load(tmp_path, tables, questions)


def test_missing_files(tmp_path: Path) -> None:
    for present, missing in (
        ([], r"no dev_tables\.jsonl .*github\.com/wenhuchen/OTT-QA"),
        (TABLES, r"no dev\.json .*github\.com/wenhuchen/OTT-QA"),
    ):
        if present:
            write_release(tmp_path, "dev_tables.jsonl", json_lines(present))
        with pytest.raises(DataError, match=missing):
            read(OTTQA(), tmp_path, "validation")
