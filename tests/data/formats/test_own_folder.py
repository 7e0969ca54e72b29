"""A user's own folder: tables as CSV, TSV, Parquet, JSON lines and workbooks, and their queries."""

import csv
import gzip
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.schema import LEFT_OUT, Table, TableId
from target_bench.core.unicode_text import compose
from target_bench.data.formats.own_folder import TableFolder
from target_bench.data.reading import read
from tests.builders import Record, json_lines
from tests.data.strategies import exact
from tests.data.workbooks import Rows, write_workbook
from tests.data.written import asked, write_own, write_queries

CSV = 'Year,Winner\n2001,Ann\n2002,"Bo, ""B"""\n'


def _load(
    folder: Path, name: str, content: str | bytes, settings: Mapping[str, Any] | None = None
) -> Table:
    """The one table of a folder."""
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    raw = content.encode() if isinstance(content, str) else content
    (folder / "tables" / name).write_bytes(raw)
    write_queries(folder / "queries.jsonl", [asked(name.partition(".")[0])])
    (table,) = read(TableFolder(folder, settings), folder, "test").corpus
    return table


def _grid(table: Table) -> list[list[Any]]:
    return [list(table.header), *(list(row) for row in table.rows)]


def _ids(folder: Path, **options: Any) -> list[str]:
    return [table_id.table_id for table_id in corpora.load(folder, **options).corpus.ids]


@settings(deadline=None, max_examples=50)
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
    folder = tmp_path_factory.mktemp("mine")
    known = {"delimiter": "\t" if suffix == "tsv" else ",", "preamble": 0, "quote": '"'}
    packed = gzip.compress(raw) if suffix.endswith("gz") else raw
    assert _grid(_load(folder, f"t.{suffix}", packed, known)) == compose(grid)


COLUMNS: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "text": ("string", st.text(max_size=5).map(compose)),
    "whole": ("int64", st.integers(-(2**63), 2**63 - 1)),
    "real": ("double", st.floats()),
    "flag": ("bool", st.booleans()),
    "raw": ("binary", st.binary(max_size=4)),
}


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_any_typed_columns_come_back_from_parquet(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Also columns of one name."""
    kinds = data.draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4))
    n = data.draw(st.integers(0, 4))
    values = [
        data.draw(st.lists(st.none() | COLUMNS[kind][1], min_size=n, max_size=n)) for kind in kinds
    ]
    arrays = [
        pyarrow.array(column, COLUMNS[kind][0]) for kind, column in zip(kinds, values, strict=True)
    ]
    packed = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays, names=kinds), packed)
    table = _load(tmp_path_factory.mktemp("mine"), "t.parquet", packed.getvalue())
    rows = [list(row) for row in zip(*values, strict=True)]
    assert exact(table) == exact(Table(TableId("0", "t"), kinds, rows, {"title": "t"}))


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"a": st.text().map(compose) | st.integers() | st.floats() | st.booleans() | st.none()},
            optional={"b": st.text().map(compose)},
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_records_come_back_from_json_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Record]
) -> None:
    """A name that a record lacks is an empty cell."""
    table = _load(tmp_path_factory.mktemp("mine"), "t.jsonl", json_lines(rows))
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name) for name in names] for row in rows]
    assert exact(table) == exact(Table(TableId("0", "t"), names, cells, {"title": "t"}))


# which files are tables


def _write_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n1\n", encoding="utf-8")


def test_ids_are_paths(tmp_path: Path) -> None:
    """Without suffix, in the order of their names; hidden files and READMEs are not tables."""
    write_own(tmp_path, {"b.csv": "x\n", "a.v2.csv": "x\n"}, [asked("sub/c")])
    _write_files(tmp_path / "tables/sub", "c.csv", ".hidden/d.csv", ".e.csv", "README.md")
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
    names = "a.csv b.md c/.DS_Store .git/x .git/y LICENSE old.xlsb"
    _write_files(tmp_path, *names.split(), *(f"{i}.PDF" for i in range(5)))
    assert corpora.load(tmp_path).notes == (
        ".md files are not read: 1 (b.md)",
        ".pdf files are not read: 5 (0.PDF, 1.PDF, 2.PDF and 2 more)",
        ".xlsb files are not read: 1 (old.xlsb)",
        "hidden files and folders are not read: 2 (.git, c/.DS_Store)",
        "other files are not read: 1 (LICENSE)",
    )
    assert TableFolder(tmp_path).unread()[".pdf files"] == [f"{i}.PDF" for i in range(5)]


def test_what_lies_beside_the_tables_is_named(tmp_path: Path) -> None:
    write_own(tmp_path, {"a.csv": "x\n1\n"}, [asked("a")])
    _write_files(tmp_path, "b.csv", "sales/c.csv", "runs/r1/manifest.json", "README.md")
    assert corpora.load(tmp_path).notes == (
        "files and folders beside tables/ are not read: 3 (README.md, b.csv, sales)",
    )


def test_links(tmp_path: Path) -> None:
    """Followed to files, reported where they lead elsewhere; an editor's lock is no table."""
    folder = write_own(tmp_path / "own", {"a.csv": CSV}, [asked("a")])
    (tmp_path / "more").mkdir()
    (folder / "tables" / ".#a.csv").symlink_to("nobody@nowhere")
    assert _ids(folder) == ["a"]
    (folder / "tables" / "b").symlink_to(tmp_path / "more")
    (folder / "tables" / "c.csv").symlink_to("gone.csv")
    for _ in range(2):  # read, and from the cache
        dataset = corpora.load(folder)
        assert [i.table_id for i in dataset.corpus.ids] == ["a"]
        assert dataset.notes[0].startswith(f"{LEFT_OUT} 1\n")
        assert "c.csv: a link to gone.csv, which does not exist" in dataset.notes[0]
        assert "links to folders are not read: 1 (tables/b)" in dataset.notes
    (folder / "tables" / "gone.csv").write_text(CSV)
    assert _ids(folder) == ["a", "c", "gone"]


@pytest.mark.parametrize("fill", [[], ["tables/.keep"], ["readme.txt", "data.json"]])
def test_folder_in_no_layout(tmp_path: Path, fill: list[str]) -> None:
    _write_files(tmp_path, *fill)
    with pytest.raises(DataError) as caught:
        corpora.load(tmp_path)
    for part in (
        str(tmp_path),
        "tables, *.csv (",
        " in it or in tables/",
        "corpus/<split>.parquet",
        "qrels/<split>.tsv",
    ):
        assert part in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    _write_files(tmp_path, "a.csv", "a.pdf")
    for name, fault in {
        "nowhere": "nowhere: there is no such folder or database file",
        "a.csv": rf"a\.csv: a single file .* its folder, {tmp_path}$",
        "a.pdf": r"a\.pdf: expected a folder, or a database file ending in",
    }.items():
        with pytest.raises(DataError, match=fault):
            corpora.load(tmp_path / name)


# tables.jsonl, settings, files that are left out


@pytest.mark.parametrize(
    ("records", "fault"),
    [
        ([{"table_id": "z"}], "line 1: table_id 'z' has no file in tables/"),
        ([{"table_id": "a"}, {"table_id": "a"}], "line 2: table_id 'a' occurs twice"),
        ([{"title": "x"}], "line 1: no field 'table_id'; it has title"),
        (["a"], "line 1: expected a JSON object, found str"),
    ],
)
def test_broken_list_of_tables(tmp_path: Path, records: list[Any], fault: str) -> None:
    write_own(tmp_path, {"a.csv": "x\n1\n"}, [asked("a")])
    write_queries(tmp_path / "tables.jsonl", records)
    with pytest.raises(DataError) as caught:
        corpora.load(tmp_path)
    assert f"{tmp_path / 'tables.jsonl'}, {fault}" in str(caught.value)


def test_settings_of_all_files(tmp_path: Path) -> None:
    write_own(tmp_path, {"a.csv": "T\nx;y\n1;2\n", "b.csv": "U\nx;y\n1;2\n"}, [asked("a")])
    dataset = corpora.load(f"{tmp_path}:preamble=1,delimiter=;")
    assert [list(table.header) for table in dataset.corpus] == [["x", "y"], ["x", "y"]]
    assert dict(dataset.corpus["0", "a"].context) == {"title": "a", "preamble": "T"}
    with pytest.raises(ConfigError, match=r"unknown setting 'sep'\. Known: encoding, "):
        corpora.load(f"{tmp_path}:sep=1")


def test_a_sheet_and_a_file_of_one_id(tmp_path: Path) -> None:
    """The note names both and every other fault; one of them is left out."""
    pytest.importorskip("openpyxl")
    write_own(tmp_path, {"z.csv": "\n", "a.csv": "x\n1\n"}, [asked("a")])
    sheets: dict[str, Rows] = {"y": [["x"], [1]], "z": [["x"], [2]]}
    write_workbook(tmp_path / "tables" / "b.xlsx", sheets)
    _write_files(tmp_path / "tables", "b/y.csv")
    assert _ids(tmp_path) == ["a", "b/y", "b/z"]
    fault = r" 2\n.*y\.csv: .*b\.xlsx, sheet 'y' has the same id, 'b/y'.*\n.*z\.csv"
    assert re.search(fault, corpora.load(tmp_path).notes[0])


def test_questions_about_files_that_were_left_out(tmp_path: Path) -> None:
    """They are left out, too, and named."""
    golds: list[Any] = ["a", "us/nul", ["a", "us/nul"]]
    (tmp_path / "tables" / "us").mkdir(parents=True)
    files = {"a.csv": "x\n1\n", "us/nul.csv": "x\n\0\n"}
    write_own(tmp_path, files, [asked(gold, query_id=i) for i, gold in enumerate(golds)])
    dataset = corpora.load(tmp_path)
    assert [query.id for query in dataset.queries] == ["0"]
    assert dataset.notes[1] == (
        "queries left out, because the files of their tables cannot be read: 2 of 3"
        "\n  1: us/nul\n  2: us/nul"
    )
    write_queries(tmp_path / "queries.jsonl", [asked("us/nul")])
    with pytest.raises(DataError, match=r"all 1 queries ask about tables whose files cannot be"):
        corpora.load(tmp_path)
    (tmp_path / "tables" / "a.csv").write_bytes(b"x\n\0\n")
    with pytest.raises(DataError, match=r"^2 files cannot be read:\n.*a\.csv.*\n.*nul\.csv"):
        corpora.load(tmp_path)


# queries


def test_queries_in_csv(tmp_path: Path) -> None:
    _write_files(tmp_path, "a.csv", "b.csv")
    text = 'query;table_id;answer;level\nWhat?;a;1;easy\nBoth?;["a", "b"];;\nNone?;;;\n'
    (tmp_path / "queries.csv").write_text(text)
    first, second, third = corpora.load(tmp_path).queries
    assert (first.id, first.text, first.answer) == ("1", "What?", "1")
    assert first.metadata == {"level": "easy"}
    assert [table.table_id for table in second.gold] == ["a", "b"]
    assert third.gold == ()
    # Labels beside questions that ``ask`` wrote are not left out.
    write_queries(tmp_path / "queries.jsonl", [asked("a")])
    with pytest.raises(DataError, match=r"queries\.jsonl and queries\.csv both hold queries.*Keep"):
        corpora.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('query,table_id\nWhat?,"[""a"""\n', "row 1: field 'table_id' is not a JSON list"),
        (f"query,table_id\nWhat?,{'[' * 100_000}\n", "row 1: field 'table_id' is not a JSON list"),
        ("query,query,table_id\nA?,B?,a\n", "the column 'query' occurs twice. Rename"),
        ("query,table_id\nA?,a\nOne, or?,a\n", "row 2: 'a' has no column name. Quote the cells"),
        ("query,table_id,,\nA?,a,stray,\n", "row 1: 'stray' has no column name. Quote the cells"),
        ("query,table\nA?,a\n", "no column 'table_id', but 'table'. Rename it to table_id"),
        ("One, or two?\nTwo, or one?\n", "no column 'query'; its columns are One"),
        ("Query,table_id\nWhat?,a\n", "its columns are Query, table_id. Rename the one that"),
        ("query,table_id\n?,films.csv\n", "(perhaps films)"),
    ],
)
def test_broken_queries_in_csv(tmp_path: Path, text: str, fault: str) -> None:
    _write_files(tmp_path, "films.csv")
    (tmp_path / "queries.csv").write_text(text)
    with pytest.raises(DataError) as caught:
        corpora.load(tmp_path)
    assert "queries.csv" in str(caught.value)
    assert fault in str(caught.value)
