"""A user's own folder: tables as CSV, TSV, Parquet and JSON lines."""

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from target_bench import corpora
from target_bench.core.errors import DataError
from target_bench.core.schema import Table, TableId
from target_bench.data.formats.own_folder import TableFolder
from tests.builders import Record, json_lines
from tests.data.strategies import exact
from tests.data.written import asked, write_own, write_queries

CSV = 'Year,Winner\n2001,Ann\n2002,"Bo, ""B"""\n'


def _load(folder: Path, name: str, content: str | bytes) -> Table:
    """The one table of a folder."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    raw = content.encode() if isinstance(content, str) else content
    (folder / "tables" / name).write_bytes(raw)
    write_queries(folder / "queries.jsonl", [asked(name.partition(".")[0])])
    (found,) = corpora.load(folder).corpus
    return found


def _grid(table: Table) -> list[list[Any]]:
    return [list(table.header), *(list(row) for row in table.rows)]


def _fault(folder: Path, name: str, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        _load(folder, name, content)
    assert str(folder / "tables" / name) in str(caught.value)
    return str(caught.value)


GRID = [["Year", "Winner"], ["2001", "Ann"], ["2002", 'Bo, "B"']]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", CSV),
        ("t.CSV", CSV),
        ("t.csv", CSV.replace("\n", "\r\n")),
        ("t.csv", CSV.replace("\n", "\r")),
        ("t.csv", "\ufeff" + CSV),
        ("t.csv", '\ufeff"Year","Winner"\n' + CSV.partition("\n")[2]),
        ("t.csv", "\n\n" + CSV.replace("\n", "\n\n")),
        ("t.csv", CSV.rstrip("\n")),
        ("t.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        (
            "t.tsv",
            CSV.replace(",2", "\t2")
            .replace("Year,", "Year\t")
            .replace("1,", "1\t")
            .replace('2,"', '2\t"'),
        ),
        ("t.jsonl", json_lines(dict(zip(GRID[0], row, strict=True)) for row in GRID[1:])),
    ],
)
def test_one_table_in_many_forms(tmp_path: Path, name: str, content: str | bytes) -> None:
    found = _load(tmp_path, name, content)
    assert _grid(found) == GRID
    assert (found.id, dict(found.context)) == (TableId("0", "t"), {"title": "t"})


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("\n\r\n", "the file is empty; the first line of a table is its header"),
        ("\ufeff", "the file is empty"),
        ('a,b\n"1,2\n3,4\n', "unexpected end of data. Quote cells that hold quotes"),
        ('a,b\n"1"x,2\n', "line 2: ',' expected after '\"'"),
        (b"a,b\n1,\x81\n", "not valid cp1252 (character maps to <undefined>). Convert the file"),
        ("a,b\n1,\0\n", "line 2: a NUL byte"),
    ],
)
def test_broken_csv(tmp_path: Path, content: str | bytes, fault: str) -> None:
    assert fault in _fault(tmp_path, "t.csv", content)


@settings(deadline=None)
@given(data=st.data(), suffix=st.sampled_from(["csv", "tsv", "csv.gz"]))
def test_any_text_comes_back_from_csv(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, suffix: str
) -> None:
    text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
    width = data.draw(st.integers(1, 3))
    row = st.lists(text, min_size=width, max_size=width)
    grid = data.draw(st.lists(row, min_size=1, max_size=4))
    file = io.StringIO(newline="")
    csv.writer(file, delimiter="\t" if suffix == "tsv" else ",").writerows(grid)
    raw = b"\xef\xbb\xbf" + file.getvalue().encode()
    packed = gzip.compress(raw) if suffix.endswith("gz") else raw
    folder = tmp_path_factory.mktemp("mine")
    known = {"delimiter": "\t" if suffix == "tsv" else ",", "preamble": 0}
    (folder / "tables.jsonl").write_text(json_lines([{"table_id": "t", "read": known}]))
    assert _grid(_load(folder, f"t.{suffix}", packed)) == grid


COLUMNS = {
    "text": st.text(max_size=5),
    "whole": st.integers(-(2**63), 2**63 - 1),
    "real": st.floats(),
    "flag": st.booleans(),
    "raw": st.binary(max_size=4),
}


@settings(deadline=None)
@given(data=st.data())
def test_any_typed_columns_come_back_from_parquet(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Also columns of one name."""
    kinds = data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4))
    n = data.draw(st.integers(0, 4))
    values = [
        data.draw(st.lists(st.none() | COLUMNS[kind], min_size=n, max_size=n)) for kind in kinds
    ]
    types = {"text": "string", "whole": "int64", "real": "double", "flag": "bool", "raw": "binary"}
    arrays = [
        pyarrow.array(column, types[kind]) for kind, column in zip(kinds, values, strict=True)
    ]
    folder = tmp_path_factory.mktemp("mine")
    (folder / "tables").mkdir()
    parquet.write_table(pyarrow.table(arrays, names=kinds), folder / "tables" / "t.parquet")
    write_queries(folder / "queries.jsonl", [asked("t")])
    (found,) = corpora.load(folder).corpus
    rows = [list(row) for row in zip(*values, strict=True)]
    assert exact(found) == exact(Table(TableId("0", "t"), kinds, rows, {"title": "t"}))


@settings(deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"a": st.text() | st.integers() | st.floats() | st.booleans() | st.none()},
            optional={"b": st.text()},
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_records_come_back_from_json_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Record]
) -> None:
    """A name that a record lacks is an empty cell."""
    found = _load(tmp_path_factory.mktemp("mine"), "t.jsonl", json_lines(rows))
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name) for name in names] for row in rows]
    assert exact(found) == exact(Table(TableId("0", "t"), names, cells, {"title": "t"}))


def test_parquet_with_values_that_python_has_not(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    column = pyarrow.array([2**60], pyarrow.timestamp("ms"))
    path = tmp_path / "tables" / "t.parquet"
    parquet.write_table(pyarrow.table({"when": column}), path)
    write_queries(tmp_path / "queries.jsonl", [asked("t")])
    with pytest.raises(DataError, match=rf"{path}, column 'when': a value cannot be read.*Cast it"):
        corpora.load(tmp_path)


def test_ids_are_paths(tmp_path: Path) -> None:
    """Without suffix, in the order of their names; hidden files and READMEs are not tables."""
    write_own(tmp_path, {"b.csv": "x\n", "a.v2.csv": "x\n"}, [asked("sub/c")])
    (tmp_path / "tables" / "sub" / ".hidden").mkdir(parents=True)
    for name in ("c.csv", ".hidden/d.csv", ".e.csv", "README.md"):
        (tmp_path / "tables" / "sub" / name).write_text("x\n1\n", encoding="utf-8")
    dataset = corpora.load(tmp_path)
    assert [i.table_id for i in dataset.corpus.ids] == ["a.v2", "b", "sub/c"]
    assert dataset.corpus["0", "sub/c"].context == {"title": "sub / c"}
    assert dataset.notes == (
        "2 of 3 tables have no rows",
        ".md files are not read: 1 (tables/sub/README.md)",
        "hidden files and folders are not read: 2 (tables/sub/.e.csv, tables/sub/.hidden)",
    )


def test_every_file_of_a_folder_is_read_or_named(tmp_path: Path) -> None:
    """One note per kind with the first names; ``unread`` has all of them."""
    names = ["a.csv", *(f"{i}.PDF" for i in range(5)), "b.md", "c/.DS_Store", ".git/x", ".git/y"]
    for name in (*names, "LICENSE", "old.xlsb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n1\n", encoding="utf-8")
    assert corpora.load(tmp_path).notes == (
        ".md files are not read: 1 (b.md)",
        ".pdf files are not read: 5 (0.PDF, 1.PDF, 2.PDF and 2 more)",
        ".xlsb files are not read: 1 (old.xlsb)",
        "hidden files and folders are not read: 2 (.git, c/.DS_Store)",
        "other files are not read: 1 (LICENSE)",
    )
    unread = TableFolder(tmp_path).unread()
    assert unread[".pdf files"] == [f"{i}.PDF" for i in range(5)]
    assert list(unread) == [".md files", ".pdf files", ".xlsb files",
                            "hidden files and folders", "other files"]  # fmt: skip


def test_what_lies_beside_the_tables_is_named(tmp_path: Path) -> None:
    write_own(tmp_path, {"a.csv": "x\n1\n"}, [asked("a")])
    for name in ("b.csv", "sales/c.csv", "runs/r1/manifest.json", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n1\n", encoding="utf-8")
    assert corpora.load(tmp_path).notes == (
        "files and folders beside tables/ are not read: 3 (README.md, b.csv, sales)",
    )


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("Münster,300000\nKöln,1080000\n", True),
        ("Münster,NRW\nKöln,NRW\n", True),
        ("Münster,1.5\nKöln,2.5\n", True),
        ("2020-01-01,x\n2020-01-02,y\n", True),
        ("city,people\nKöln,1080000\n", False),
        ("city,2020,2021\nKöln,1,2\n", False),
        ("city,1/22/20,1/23/20\nKöln,1,2\n", False),
        ("0,1,2\n7,8,9\n", False),
        ("city,people\nKöln,1\ncity,people\nBonn,2\n", False),
    ],
)
def test_files_without_a_header_are_noted(tmp_path: Path, text: str, noted: bool) -> None:
    write_own(tmp_path, {"a.csv": text}, [asked("a")])
    notes = corpora.load(tmp_path).notes
    told = "files or sheets begin with a row that looks like data and was taken as the header"
    assert [note.startswith(told) for note in notes] == [True] * noted
    assert corpora.load(f"{tmp_path}:header_rows=1").notes == (), "it is known then"


@pytest.mark.parametrize(
    ("about", "fault"),
    [
        ([{"table_id": "z"}], "line 1: table_id 'z' has no file in tables/"),
        ([{"table_id": "a"}, {"table_id": "a"}], "line 2: table_id 'a' occurs twice"),
        ([{"title": "x"}], "line 1: no field 'table_id'; it has title"),
        (["a"], "line 1: expected a JSON object, found str"),
    ],
)
def test_broken_list_of_tables(tmp_path: Path, about: list[Any], fault: str) -> None:
    write_own(tmp_path, {"a.csv": "x\n1\n"}, [asked("a")])
    write_queries(tmp_path / "tables.jsonl", about)
    with pytest.raises(DataError) as caught:
        corpora.load(tmp_path)
    assert f"{tmp_path / 'tables.jsonl'}, {fault}" in str(caught.value)


def test_a_gold_table_named_as_its_file(tmp_path: Path) -> None:
    write_own(tmp_path, {"films.csv": "x\n1\n"}, [asked("films.csv")])
    with pytest.raises(DataError, match=r"0/films\.csv, which .* likely films, by its name"):
        corpora.load(tmp_path)


@pytest.mark.parametrize("fill", [[], ["tables/.keep"], ["readme.txt", "data.json"]])
def test_folder_in_no_layout(tmp_path: Path, fill: list[str]) -> None:
    for name in fill:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(DataError) as caught:
        corpora.load(tmp_path)
    for part in (str(tmp_path), "tables/*.csv", "corpus/<split>.parquet", "qrels/<split>.tsv"):
        assert part in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: there is no such folder or database file"):
        corpora.load(tmp_path / "nowhere")
    with pytest.raises(DataError, match="nowhere: there is no such folder"):
        corpora.from_folder(tmp_path / "nowhere")
    (tmp_path / "a.csv").write_text("x\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"a\.csv: a single file .* its folder, {tmp_path}$"):
        corpora.load(tmp_path / "a.csv")
    (tmp_path / "a.pdf").touch()
    with pytest.raises(DataError, match=r"a\.pdf: expected a folder, or a database file ending in"):
        corpora.load(tmp_path / "a.pdf")


def test_no_table_answers_a_query(tmp_path: Path) -> None:
    """Null says so, and so does a field of its own; an empty list says that nothing is known."""
    golds: list[Record] = [
        {"table_id": None},
        {"table_id": []},
        {"table_id": None, "answer": "5"},
        {"table_id": [], "unanswerable": "yes"},
        {"table_id": None, "unanswerable": "no"},
        {"table_id": "a", "unanswerable": False},
    ]
    queries = [{"query_id": i, "query": "?", **gold} for i, gold in enumerate(golds)]
    write_own(tmp_path, {"a.csv": CSV}, queries)
    found = corpora.load(tmp_path).queries
    assert [query.unanswerable for query in found] == [True, False, False, True, False, False]
    (tmp_path / "queries.jsonl").unlink()
    file = tmp_path / "queries.csv"
    file.write_text("query,table_id,unanswerable\n?,a,\n?,,\n?,,true\n")
    assert [q.unanswerable for q in corpora.load(tmp_path).queries] == [False, False, True]
    file.write_text("query,table_id,unanswerable\n?,a,true\n")
    with pytest.raises(DataError, match="no table answers the query, and field 'table_id' is"):
        corpora.load(tmp_path)
