"""A folder of 188 files as people have them is read in one command, or every fault is named."""

from pathlib import Path
from typing import Any

import pytest

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.data.load import load
from tests.data.messy_folder import Messy, write_messy_folder
from tests.data.workbooks import Rows, write_workbook
from tests.data.written import asked, write_own, write_queries

pytest.importorskip("odf")
pytest.importorskip("xlwt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Messy]:
    path = tmp_path_factory.mktemp("drive")
    return path, write_messy_folder(path)


def test_one_error_names_every_bad_file(folder: tuple[Path, Messy]) -> None:
    path, messy = folder
    with pytest.raises(DataError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{len(messy.bad)} files cannot be read:\n")
    assert [name for name in messy.bad if f"{path / name}" not in message] == []
    assert f"write {path}:skip_bad=true; run, search, ask, describe and labels also" in message


def test_all_other_files_are_read_as_they_were_meant(folder: tuple[Path, Messy]) -> None:
    path, messy = folder
    dataset = load(f"{path}:skip_bad=true")
    found = {
        table.id.table_id: [list(table.header), *(list(map(str, row)) for row in table.rows)]
        for table in dataset.corpus
    }
    assert found == messy.tables
    (left_out,) = (note for note in dataset.notes if "skip_bad" in note)
    assert left_out.startswith(f"{len(messy.bad)} files left out (skip_bad):\n")
    assert all(str(path / name) in left_out for name in messy.bad)
    others = [note for note in dataset.notes if " are not read: " in note]
    assert others == [
        ".pdf files are not read: 1 (scan.pdf)",
        ".png files are not read: 1 (photo.png)",
        ".txt files are not read: 1 (readme.txt)",
    ]
    assert len(others) == len(messy.others)


def test_titles_tell_files_of_one_name_apart(folder: tuple[Path, Messy]) -> None:
    dataset = load(f"{folder[0]}:skip_bad=true")
    table = dataset.corpus["0", "a0/export00/data"]
    assert table.context["title"] == "a0 / export00 / data"


def test_queries_in_csv(tmp_path: Path) -> None:
    write_own(tmp_path, {"a.csv": "x\n1\n", "b.csv": "x\n2\n"}, [])
    (tmp_path / "queries.jsonl").unlink()
    text = 'query;table_id;answer;level\nWhat?;a;1;easy\nBoth?;["a", "b"];;\nNone?;;;\n'
    (tmp_path / "queries.csv").write_text(text)
    first, second, third = corpora.load(tmp_path).queries
    assert (first.id, first.text, first.answer) == ("1", "What?", "1")
    assert first.metadata == {"level": "easy"}
    assert [table.table_id for table in second.gold] == ["a", "b"]
    assert third.gold == ()
    (tmp_path / "queries.csv").write_text('query,table_id\nWhat?,"[""a"""\n')
    with pytest.raises(DataError, match=r"queries\.csv, row 1: field 'table_id' is not a JSON li"):
        corpora.load(tmp_path)
    for text, fault in {
        "query,query,table_id\nA?,B?,a\n": "the column 'query' occurs twice. Rename",
        "query,table_id\nA?,a\nOne, or two?,a\n": "row 2: 'a' is in no column. Quote the cells",
        "query,table_id,,\nA?,a,stray,\n": "row 1: 'stray' is in no column. Quote the cells",
        "query,table\nA?,a\n": "no column 'table_id', but 'table'. Rename it to table_id",
        "query,tabel\nA?,a\n": "no column 'table_id', but 'tabel'. Rename it to table_id",
        "query\nOne, or two?\nTwo, or one?\n": "no column 'query'.* stands above them. Quote",
    }.items():
        (tmp_path / "queries.csv").write_text(text)
        with pytest.raises(DataError, match=fault):
            corpora.load(tmp_path)
    (tmp_path / "queries.csv").write_text("Query,table_id\nWhat?,a\n")
    with pytest.raises(
        DataError, match=r"queries\.csv: no column 'query'; .* are Query, table_id. Rename the one"
    ):
        corpora.load(tmp_path)


def test_questions_about_files_that_were_left_out(tmp_path: Path) -> None:
    """They are left out, too, and named."""
    golds: list[Any] = ["a", "us/nul", ["a", "us/nul"]]
    files = {"a.csv": "x\n1\n", "us/nul.csv": "x\n\0\n"}
    (tmp_path / "tables" / "us").mkdir(parents=True)
    write_own(tmp_path, files, [asked(gold, query_id=i) for i, gold in enumerate(golds)])
    found = corpora.from_folder(tmp_path, skip_bad=True)
    assert [query.id for query in found.queries] == ["0"]
    assert found.notes[1] == (
        "2 of 3 queries were left out, because their tables are not here (skip_bad):"
        "\n  1: us/nul\n  2: us/nul"
    )
    write_queries(tmp_path / "queries.jsonl", [asked("us/nul")])
    with pytest.raises(DataError, match=r"all 1 queries ask about tables that are not here"):
        corpora.from_folder(tmp_path, skip_bad=True)


def test_two_files_of_queries_are_refused(tmp_path: Path) -> None:
    """Labels in ``queries.csv`` beside questions that ``ask`` wrote are not left out."""
    write_own(tmp_path, {"a.csv": "x\n1\n"}, [asked("a")])
    (tmp_path / "queries.csv").write_text("query,table_id\nOther?,a\n")
    with pytest.raises(DataError, match=r"queries\.jsonl and queries\.csv both hold queries.*Keep"):
        corpora.load(tmp_path)
    (tmp_path / "queries.csv").unlink()
    assert [query.id for query in corpora.load(tmp_path).queries] == ["q1"]


def test_a_sheet_and_a_file_of_one_id(tmp_path: Path) -> None:
    """The error names both and every other fault; ``skip_bad`` leaves out one of them."""
    pytest.importorskip("openpyxl")
    write_own(tmp_path, {"z.csv": "\n", "a.csv": "x\n1\n"}, [asked("a")])
    sheets: dict[str, Rows] = {"y": [["x"], [1]], "z": [["x"], [2]]}
    write_workbook(tmp_path / "tables" / "b.xlsx", sheets)
    (tmp_path / "tables" / "b").mkdir()
    (tmp_path / "tables" / "b" / "y.csv").write_text("x\n3\n")
    fault = r"2 files cannot.*\n.*y\.csv: .*b\.xlsx, sheet 'y' has the same id, 'b/y'.*\n.*z\.csv"
    with pytest.raises(DataError, match=fault):
        corpora.load(tmp_path)
    found = corpora.from_folder(tmp_path, skip_bad=True)
    assert [i.table_id for i in found.corpus.ids] == ["a", "b/y", "b/z"]


def test_settings_of_one_file_and_of_all(tmp_path: Path) -> None:
    write_own(tmp_path, {"a.csv": "T\nx;y\n1;2\n", "b.csv": "x;y\n1;2\n"}, [asked("a")])
    about = '{"table_id": "a", "read": {"preamble": 1}}\n'
    (tmp_path / "tables.jsonl").write_text(about)
    dataset = corpora.load(f"{tmp_path}:preamble=0,delimiter=;")
    assert [list(table.header) for table in dataset.corpus] == [["x", "y"], ["x", "y"]]
    assert dict(dataset.corpus["0", "a"].context) == {"title": "a", "preamble": "T"}
    for setting, fault in [
        ("skip_bad=1", "skip_bad should be true"),
        ("sep=1", "no setting 'sep'; .*, and skip_bad for a whole folder"),
    ]:
        with pytest.raises(ConfigError, match=fault):
            corpora.load(f"{tmp_path}:{setting}")
