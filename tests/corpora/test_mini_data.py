"""The data files of the embedded corpus, and the checks that derive its queries from them."""

import csv
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from target_bench.data.load import load
from tools.mini.__main__ import main
from tools.mini.queries import DATA, faults, write

Grid = list[list[str]]

FILES = "2c3475207de464739dade67bd75540ccd73435903e9b915f56d530d3622a2a3c"
FINGERPRINT = "6b47241e10e2a41fa4b93d9ff0a0b22a997e180b720b285116b89933a13f79ea"


def _lines(name: str) -> list[dict[str, Any]]:
    text = (DATA / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _grid(table_id: str) -> Grid:
    with (DATA / "tables" / f"{table_id}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _gold(query: dict[str, Any]) -> list[str]:
    gold = query["table_id"]
    return [gold] if isinstance(gold, str) else list(gold)


def _accepted(query: dict[str, Any]) -> list[str]:
    answer = query["answer"]
    return [answer] if isinstance(answer, str) else list(answer)


@pytest.fixture(scope="module")
def headings() -> dict[str, dict[str, Any]]:
    """The lines of the list of tables, by table."""
    return {line["table_id"]: line for line in _lines("tables.jsonl")}


@pytest.fixture(scope="module")
def grids(headings: dict[str, dict[str, Any]]) -> dict[str, Grid]:
    """The cells of every table, header first."""
    return {table_id: _grid(table_id) for table_id in headings}


@pytest.fixture(scope="module")
def queries() -> list[dict[str, Any]]:
    """All the queries, in order."""
    return _lines("queries.jsonl")


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the data files, to be changed."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_bytes(text.replace(old, new).encode())


def test_data_files_stay_as_they_are() -> None:
    """Runs and submissions on mini hold for these bytes, and for this fingerprint."""
    digest = hashlib.sha256()
    for name, content in sorted(_files(DATA).items()):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    assert digest.hexdigest() == FILES
    assert {load("mini", split).corpus.fingerprint for split in ("test", "validation")} == {
        FINGERPRINT
    }


def test_queries_follow_from_tables_and_databases(
    copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The committed queries are those that the checks derive, byte for byte."""
    assert faults(DATA) == []
    (copied / "queries.jsonl").unlink()
    write(copied)
    assert _files(copied) == _files(DATA)
    monkeypatch.setattr("sys.argv", ["mini"])
    main()
    assert "tables, databases and queries agree" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("queries.jsonl", '"answer": "Regina"', '"answer": "Saskatoon"', "Saskatoon"),
        ("tables/divisions-of-canada.csv", "Regina", "Saskatoon", "Saskatoon"),
        ("tables/divisions-of-canada.csv", "Saskatchewan", "Manitoba", "0 rows hold"),
        ("tables/olympics-1972-medals.csv", "East Germany,20,", "East Germany,21,", "label"),
        ("tables/divisions-of-canada.csv", ",Regina", "", "divisions-of-canada: ragged"),
        ("tables.jsonl", "divisions-of-canada", "divisions-of-kanada", "differ"),
        ("databases/mountain_huts.sql", "CREATE TABLE hut (", "CREATE TABLE cabin (", "hut"),
    ],
)
def test_a_changed_file_is_a_fault(copied: Path, file: str, old: str, new: str, fault: str) -> None:
    """What no longer answers a question, or contradicts its label, is named."""
    _replace(copied / file, old, new)
    (found, *_) = faults(copied)
    assert fault in found


def test_the_command_fails_on_a_fault(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _replace(copied / "tables.jsonl", "divisions-of-canada", "divisions-of-kanada")
    monkeypatch.setattr("tools.mini.__main__.DATA", copied)
    monkeypatch.setattr("sys.argv", ["mini"])
    with pytest.raises(SystemExit, match="1"):
        main()


def test_files_have_unix_line_ends() -> None:
    """No file has a carriage return."""
    assert not [name for name, content in _files(DATA).items() if b"\r" in content]


def test_tables_are_listed_once_and_all_there(headings: dict[str, dict[str, Any]]) -> None:
    """The list of tables and the folder of tables agree."""
    stems = {path.stem for path in (DATA / "tables").glob("*.csv")}
    assert len(_lines("tables.jsonl")) == len(headings) >= 80
    assert set(headings) == stems
    assert all(line["title"] and line["section_title"] for line in headings.values())
    assert all(list(line) == ["table_id", "title", "section_title"] for line in headings.values())


def test_tables_are_rectangular_and_different(grids: dict[str, Grid]) -> None:
    """Tables are small, rectangular and pairwise different."""
    for header, *rows in grids.values():
        assert all(header)
        assert 3 <= len(header) <= 7
        assert 5 <= len(rows) <= 14
        assert {len(row) for row in rows} == {len(header)}
    assert len({json.dumps(rows) for _, *rows in grids.values()}) == len(grids)


def test_families_of_look_alikes(grids: dict[str, Grid]) -> None:
    """Many tables share their header with at least three others."""
    families = Counter(tuple(grid[0]) for grid in grids.values())
    assert sum(size >= 4 for size in families.values()) >= 12


def test_splits_and_identifiers(queries: list[dict[str, Any]]) -> None:
    """Both splits are large enough, and nothing in them repeats."""
    splits = Counter(query["split"] for query in queries)
    assert set(splits) == {"test", "validation"}
    assert splits["test"] >= 150
    assert splits["validation"] >= 50
    assert len({query["query_id"] for query in queries}) == len(queries)
    assert len({query["query"] for query in queries}) == len(queries)
    keys = ["query_id", "split", "task", "query", "answer", "table_id"]
    more = ["database_id", "difficulty", "hardness", "evidence"]
    for query in queries:
        assert list(query) == keys + more * (query["task"] == "text_to_sql")


def test_gold_tables_exist_and_all_are_used(
    queries: list[dict[str, Any]], headings: dict[str, dict[str, Any]]
) -> None:
    """Every gold table exists, and every table is gold for some query; databases apart."""
    web = [query for query in queries if query["task"] != "text_to_sql"]
    assert {gold for query in web for gold in _gold(query)} == set(headings)
    assert sum(len(_gold(query)) == 2 for query in queries) >= 15


def test_answers_come_from_the_gold_tables(
    queries: list[dict[str, Any]],
    grids: dict[str, Grid],
    headings: dict[str, dict[str, Any]],
) -> None:
    """An answer is a cell or a heading of a gold table, or else a computed number."""
    asked = [query for query in queries if query["task"] == "question_answering"]
    in_cells = 0
    for query in asked:
        first = _accepted(query)[0]
        cells = {cell for gold in _gold(query) for row in grids[gold][1:] for cell in row}
        names = " / ".join(
            str(headings[gold][key]) for gold in _gold(query) for key in ("title", "section_title")
        )
        in_cells += first in cells
        assert first in cells or first in names or first.isdigit(), query
    assert in_cells > len(asked) * 0.6


def test_labels_are_balanced(queries: list[dict[str, Any]]) -> None:
    """True and false statements are about as many in each split."""
    for split in ("test", "validation"):
        labels = Counter(
            query["answer"]
            for query in queries
            if query["task"] == "fact_verification" and query["split"] == split
        )
        assert set(labels) == {"True", "False"}
        assert 0.4 <= labels["True"] / labels.total() <= 0.6
