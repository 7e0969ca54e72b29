"""A folder of 186 files as people have them is read in one command, or every fault is named."""

from pathlib import Path

import pytest

from target_bench import TARGET, corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.data import select
from tests.data.messy_folder import N_FILES, Messy, write_messy_folder
from tests.data.written import asked, write_own

pytest.importorskip("openpyxl")
pytest.importorskip("odf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Messy]:
    path = tmp_path_factory.mktemp("drive")
    return path, write_messy_folder(path)


def test_there_are_as_many_files_as_stated(folder: tuple[Path, Messy]) -> None:
    assert sum(path.is_file() for path in folder[0].rglob("*")) == N_FILES


def test_one_error_names_every_bad_file(folder: tuple[Path, Messy]) -> None:
    path, messy = folder
    with pytest.raises(DataError) as caught:
        select.load(path)
    message = str(caught.value)
    assert message.startswith(f"{len(messy.bad)} files cannot be read:\n")
    assert [name for name in messy.bad if f"{path / name}" not in message] == []
    assert message.endswith(f"add --skip-bad or write {path}:skip_bad=true.")


def test_all_other_files_are_read_as_they_were_meant(folder: tuple[Path, Messy]) -> None:
    path, messy = folder
    dataset = select.load(f"{path}:skip_bad=true")
    found = {
        table.id.table_id: [list(table.header), *(list(map(str, row)) for row in table.rows)]
        for table in dataset.corpus
    }
    assert found == messy.tables
    (left_out,) = (note for note in dataset.notes if "skip_bad" in note)
    assert left_out.startswith(f"{len(messy.bad)} files were left out (skip_bad):\n")
    assert all(str(path / name) in left_out for name in messy.bad)
    (others,) = (note for note in dataset.notes if "in no format of tables" in note)
    assert others.startswith(f"{len(messy.others)} files are in no format")


def test_titles_tell_files_of_one_name_apart(folder: tuple[Path, Messy]) -> None:
    dataset = select.load(f"{folder[0]}:skip_bad=true")
    table = dataset.corpus["0", "a0/export00/data"]
    assert table.context["title"] == "a0 / export00 / data"


def test_a_run_says_that_it_needs_questions(tmp_path: Path) -> None:
    write_own(tmp_path, {"a.csv": "x\n1\n"}, [asked("a")])
    (tmp_path / "queries.jsonl").unlink()
    with pytest.raises(DataError, match=r"1 tables and no query\..* target-bench ask writes"):
        TARGET(("Table Retrieval", tmp_path), out=tmp_path / "runs").run("bm25")


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
    (tmp_path / "queries.csv").write_text("Query,table_id\nWhat?,a\n")
    with pytest.raises(DataError, match=r"queries\.csv: no column 'query'; .* are Query, table_id"):
        corpora.load(tmp_path)


def test_of_two_files_of_queries_one_is_noted(tmp_path: Path) -> None:
    """Labels in ``queries.csv`` beside questions that ``ask`` wrote are not left out in silence."""
    write_own(tmp_path, {"a.csv": "x\n1\n"}, [asked("a")])
    (tmp_path / "queries.csv").write_text("query,table_id\nOther?,a\n")
    found = corpora.load(tmp_path)
    assert [query.id for query in found.queries] == ["q1"]
    (note,) = found.notes
    assert "queries.csv was not read, because there is " in note


def test_settings_of_one_file_and_of_all(tmp_path: Path) -> None:
    write_own(tmp_path, {"a.csv": "T\nx;y\n1;2\n", "b.csv": "x;y\n1;2\n"}, [asked("a")])
    about = '{"table_id": "a", "read": {"preamble": 1}}\n'
    (tmp_path / "tables.jsonl").write_text(about)
    dataset = corpora.load(f"{tmp_path}:preamble=0,delimiter=;")
    assert [list(table.header) for table in dataset.corpus] == [["x", "y"], ["x", "y"]]
    assert dict(dataset.corpus["0", "a"].context) == {"title": "a", "preamble": "T"}
    for setting, fault in [
        ("skip_bad=1", "skip_bad should be true"),
        ("sep=1", "no setting 'sep'"),
    ]:
        with pytest.raises(ConfigError, match=fault):
            corpora.load(f"{tmp_path}:{setting}")
