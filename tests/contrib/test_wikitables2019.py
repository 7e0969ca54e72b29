"""Wikipedia tables of 2019 from small archives."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from target_bench import corpora
from target_bench.cli.main import app
from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import TableId
from target_bench.data.cache import TABLES
from target_bench.data.load import pair_with_corpora
from target_bench.data.reading import read_part
from tests.builders import tarred
from tests.data.written import asked, write_own

LOADER = registry.create("corpus", "wikitables2019")
MEMBERS = {
    "csv_tables_2019/tables_part_1/12-7.csv": b"Year,Member\n1958_election,Jean\n1973,\n",
    "csv_tables_2019/tables_part_1/12-8.csv": "Name\n{{DEN}}\nÉlodie,x\n".encode(),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with one archive, and a corpus of two tables and a question."""
    data = tmp_path / "data" / "wikitables2019"
    data.mkdir(parents=True)
    (data / "tables_part_1.tar.gz").write_bytes(tarred(MEMBERS))
    monkeypatch.setenv(corpora.ENVIRONMENT, str(data.parent))
    own = {"a.csv": "Year,Member\n1958 election,Jean\n1973,Borel\n", "b.csv": "x\n1\n"}
    return write_own(tmp_path / "own", own, [asked("a")])


def test_tables(folder: Path) -> None:
    read = read_part(LOADER, folder.parent / "data" / "wikitables2019", "test", TABLES)
    first, second = read.value
    assert first.id == TableId("0", "12-7")
    assert (list(first.header), [list(row) for row in first.rows]) == (
        ["Year", "Member"],
        [["1958 election", "Jean"], ["1973", ""]],
    )
    assert list(second.header) == ["Name", ""]
    assert any("12-8.csv, line 3: 2 cells under 1 columns" in note for note in read.notes)
    assert list(read.files) == ["tables_part_1.tar.gz"]


def test_it_is_for_distractors(folder: Path) -> None:
    """Near-copies of gold tables are left out, counted and listed."""
    dataset = corpora.load(folder, distractors=["wikitables2019:seed=7"])
    assert {i.table_id for i in dataset.corpus.ids} == {"a", "b", "12-8"}
    (added,) = dataset.distractors
    assert "1 tables of 2 drawn are near-copies of gold tables and were left out" in added.notes
    (near,) = added.near_copies
    assert (near.id, near.gold, near.similarity) == (("0", "12-7"), ("0", "a"), 0.8333)


def test_it_has_no_questions(folder: Path) -> None:
    """It can be loaded and described, and serves no task."""
    dataset = corpora.load("wikitables2019")
    assert (len(dataset.corpus), dataset.queries) == (2, ())
    described = CliRunner().invoke(app, ["describe", "corpus", "wikitables2019"])
    assert described.exit_code == 0, described.output
    assert "tables: 2" in described.output
    with pytest.raises(ConfigError, match=r"serves none \(mix it in: --distractors wikitables2019"):
        pair_with_corpora("retrieval", "wikitables2019")


def test_without_archives(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no tables_part_1\.tar\.gz"):
        read_part(LOADER, tmp_path, "test", TABLES)
