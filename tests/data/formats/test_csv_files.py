"""CSV files whose encoding, delimiter and preamble nobody states."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench import corpora
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import Release
from target_bench.data.checks import fill_rows
from target_bench.data.formats.csv_files import DELIMITERS, read_csv
from target_bench.data.formats.file_tables import parse_file_settings
from tests.data.strategies import any_cell, any_text
from tests.data.written import asked, write_own


def _read(folder: Path, content: str | bytes, name: str = "t.csv", **settings: Any) -> Any:
    """Header and rows, the preamble, and the notes."""
    raw = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(raw)
    release = Release(folder, "")
    default = "\t" if name.endswith(".tsv") else ","
    (table,) = read_csv(release, folder / name, parse_file_settings(settings, name), default)
    return [list(table.header), *map(list, table.rows)], table.preamble, release.notes


GRID = [["Straße", "Preis"], ["Allee 1", "1,50"], ["Platz 2", "2,75"]]
TEXT = "Straße;Preis\nAllee 1;1,50\nPlatz 2;2,75\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    grid, _, notes = _read(tmp_path, TEXT.encode(encoding))
    assert grid == GRID
    named = [note.rpartition(": ")[2] for note in notes if "are not UTF-8" in note]
    assert named == [f"{encoding})"] * (not encoding.startswith("utf-8"))
    assert _read(tmp_path, TEXT.encode("utf-16-le"), encoding="utf-16-le")[0] == GRID


def test_single_bytes_of_another_encoding(tmp_path: Path) -> None:
    raw = "Stadt,Land\nKöln,Österreich\nZürich,Ägypten\n".encode() + "Malmö,S\n".encode("cp1252")
    grid, _, (note,) = _read(tmp_path, raw)
    assert [row[0] for row in grid] == ["Stadt", "Köln", "Zürich", "Malmö"]
    assert note.endswith("t.csv: UTF-8 with bytes of cp1252)")
    with pytest.raises(DataError, match=r"not valid UTF-8 with bytes of cp1252 .* Convert"):
        _read(tmp_path, raw + b"\x81,x\n")


@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_delimiters(tmp_path: Path, delimiter: str, name: str) -> None:
    text = "name;price;sum\nA. B;1.5;2\nC;2.5;3\n".replace(";", delimiter)
    grid, _, notes = _read(tmp_path, text, name)
    assert grid == [["name", "price", "sum"], ["A. B", "1.5", "2"], ["C", "2.5", "3"]]
    assert bool(notes) == (delimiter != ("\t" if name == "t.tsv" else ","))
    assert len(_read(tmp_path, text, name, delimiter="#")[0][0]) == 1


def test_the_line_in_which_excel_declares_the_delimiter(tmp_path: Path) -> None:
    grid, preamble, notes = _read(tmp_path, "sep=#\r\na#b,c\r\n1#2,3\r\n4\r\n")
    assert (grid, preamble) == ([["a", "b,c"], ["1", "2,3"], ["4", ""]], "")
    assert "t.csv, line 4: 1 cells under 2 columns" in notes[1]


@pytest.mark.parametrize(
    "before", ["Sales report\nMay 2024\n\n", "Sales report,,\nMay 2024,,\n,,\n"]
)
def test_lines_before_the_header(tmp_path: Path, before: str) -> None:
    grid, preamble, notes = _read(tmp_path, before + "region,amount,year\nN,1,2020\nS,2,2021\n")
    assert grid == [["region", "amount", "year"], ["N", "1", "2020"], ["S", "2", "2021"]]
    assert preamble == "Sales report\nMay 2024"
    assert notes == [
        "CSV files have lines before their header, which were left out of the table (preamble=0 "
        "says that there are none): 1 (the first: "
        f"{tmp_path / 't.csv'}: 3)"
    ]


def test_settings_for_preamble_and_header(tmp_path: Path) -> None:
    text = "x,y\n\nyear,2020,\n,a,b\nN,1,2\n"
    grid, preamble, notes = _read(tmp_path, text, preamble=2, header_rows=2)
    assert grid == [["year", "2020 a", "2020 b"], ["N", "1", "2"]]
    assert (preamble, notes) == ("x\ny", [])
    assert _read(tmp_path, "N,1\nS,2\n", header_rows=0)[0] == [["", ""], ["N", "1"], ["S", "2"]]
    with pytest.raises(DataError, match=r"t\.csv: nothing follows the 9 lines of preamble"):
        _read(tmp_path, text, preamble=9)
    with pytest.raises(DataError, match=r"t\.csv: 1 rows, but header_rows is 2"):
        _read(tmp_path, "a,b\n", header_rows=2)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"sep": ";"}, "there is no setting 'sep'; there are encoding, delimiter"),
        ({"delimiter": ";;"}, "delimiter should be one character, not ';;'"),
        ({"encoding": "undefined"}, "encoding should be an encoding"),
        ({"preamble": -1}, "preamble should be a number of lines, not -1"),
        ({"header_rows": True}, "header_rows should be a number of rows, not True"),
    ],
)
def test_invalid_settings(tmp_path: Path, settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=rf"t\.csv: {fault}"):
        _read(tmp_path, "a,b\n1,2\n", **settings)


cells = st.text(
    st.characters(exclude_characters='\0;|\t\r\n",\ufeff', exclude_categories=["Cs"]), min_size=1
)


@given(st.data(), st.sampled_from(DELIMITERS), st.integers(2, 4))
def test_any_table_without_other_delimiters_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, delimiter: str, width: int
) -> None:
    row = st.lists(cells, min_size=width, max_size=width)
    grid = data.draw(st.lists(row, min_size=1, max_size=4))
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows(grid)
    read_back, preamble, _ = _read(
        tmp_path_factory.mktemp("any"), file.getvalue(), encoding="utf-8"
    )
    assert (read_back, preamble) == (grid, "")


# rows that are longer or shorter than their header

NOTE = (
    "rows are not as long as their header: short ones got empty cells, for long ones the header "
    "got columns without a name: "
)


def _squared(header: list[str], rows: list[list[Any]]) -> tuple[list[str], list[Any], list[str]]:
    release = Release(Path(), "")
    names, squared = fill_rows(release, header, rows, lambda number: f"row {number}")
    return list(names), list(squared), release.notes


@given(
    st.lists(any_text, min_size=1, max_size=4), st.lists(st.lists(any_cell, max_size=6), max_size=6)
)
def test_no_cell_is_lost_and_the_order_is_kept(header: list[str], rows: list[list[Any]]) -> None:
    names, squared, notes = _squared(header, rows)
    width = max(len(header), *map(len, rows), 0)
    ragged = [row for row in rows if len(row) != len(header)]
    assert names == [*header, *[""] * (width - len(header))] if ragged else names == header
    for before, after in zip(rows, squared, strict=True):
        assert len(after) == len(names)
        assert repr(list(after)[: len(before)]) == repr(before)
        assert set(after[len(before) :]) <= {"", None}
    assert len(notes) == bool(ragged)
    assert not ragged or notes[0].startswith(
        f"{NOTE}{len(ragged)} (the first: row {rows.index(ragged[0])}: "
    )
    assert repr(_squared(names, squared)) == repr((names, squared, []))


@pytest.mark.parametrize(
    ("content", "grid", "first", "n"),
    [
        ("a,b\n1,2\n\n3\n", [["a", "b"], ["1", "2"], ["3", ""]], "line 4: 1 cells under 2", 1),
        ("a,b\n1,2,3\n4\n", [["a", "b", ""], ["1", "2", "3"], ["4", "", ""]], "line 2: 3 cells", 2),
        ('a\n"x\ny"\n1,2\n', [["a", ""], ["x\ny", ""], ["1", "2"]], "line 4: 2 cells under 1", 1),
    ],
)
def test_ragged_csv(
    tmp_path: Path, content: str, grid: list[list[str]], first: str, n: int
) -> None:
    """Read from the files and from the cache alike, and noted each time."""
    write_own(tmp_path, {"t.csv": content}, [asked("t")])
    for _ in range(2):
        dataset = corpora.load(tmp_path)
        (table,) = dataset.corpus
        assert [list(table.header), *map(list, table.rows)] == grid
        (note,) = (note for note in dataset.notes if "rows are not" in note)
        assert note.startswith(f"{NOTE}{n} (the first: {tmp_path / 'tables' / 't.csv'}, {first}")
        assert note.endswith("or do lines above the header (preamble=N)?)")


WORLD_BANK = """"Data Source","World Development Indicators",\r
\r
"Last Updated Date","2024-05-30",\r
\r
"Country Name","Country Code","Indicator Name","2019","2020",\r
"Norland","NLD","Population","100","101",\r
"Sudland","SUD","Population","200","",\r
"Estland","EST","Population","300","301",\r
"""
KEYS = "Report,Sales by region\nFrom,2024-01-01\nTo,2024-03-31\n"
SALES = "Region,Product,Units\nNorth,Bolt,5\nSouth,Nut,7\nEast,Bolt,9\n"


@pytest.mark.parametrize(
    ("text", "header", "n"),
    [
        (WORLD_BANK, "Country Name|Country Code|Indicator Name|2019|2020|", 3),
        (f"{KEYS}\n{SALES}", "Region|Product|Units", 3),
        (f"{KEYS}{SALES}", "Region|Product|Units", 3),
        (KEYS.replace("\n", ",\n") + f",,\n{SALES}", "Region|Product|Units", 3),
        (f"Sales\n{KEYS}\n{SALES}", "Region|Product|Units", 3),
        ("# source: agency, retrieved 2024, v1\nid,name,v\n1,a,2\n2,b,3\n", "id|name|v", 2),
        ("# station 7, river A\nid,name,v\n1,a,2\n2,b,3\n3,c,4\n", "id|name|v", 3),
        ("# a, b\n# c, d, e\nname,city\nAnn,Oslo\n", "name|city", 1),
        # no lines above the header
        ("# id,name,v\n1,a,2\n2,b,3\n", "# id|name|v", 2),
        ("#,name\n1,a\n2,b\n", "#|name", 2),
        ("name,city\nAnn,Oslo,5\nBo,Nice,7\nCy,Bonn,9\n", "name|city|", 3),
        ("name,city\nAnn,Oslo,x\nBo,Nice,y\nCy,Bonn,z\n", "name|city|", 3),
        ("name,city\nAnn,Oslo\nBo,Nice,extra\nCy,Bonn,z\nDi,Rome,z\n", "name|city|", 4),
        ("sentence\nHello, world\nIt rains, again\nYes, sir\n", "sentence", 3),
        ("a,b\n1,2\n\nc,d\n3,4\n", "a|b", 3),
    ],
)
def test_lines_of_several_cells_before_the_header(
    tmp_path: Path, text: str, header: str, n: int
) -> None:
    """Real ones are left out with a note; a short header stays one."""
    grid, preamble, notes = _read(tmp_path, text)
    assert "|".join(grid[0]) == header
    assert len(grid) == n + 1
    assert bool(preamble) == any("preamble=0" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Source,World Bank\n\nUpdated,2024\n\nCountry,2019\nA,1\nB,2\nC,3\n", 2),
        ("a,b\n1,2\n\nc,d\n3,4\n", 3),
        ("a,b\n1,2\n,\nc,d\n3,4\n", 3),
        ("a,b\n\n1,2\n\n3,4\n", None),  # a blank one below each line
        ("a\n\n1\n2\n3\n", None),
        ("a,b\n1,2\n3,4\n\n", None),
        (f"{KEYS}\n{SALES}", None),  # the lines above the header are left out
    ],
)
def test_a_blank_line_among_the_first_rows(tmp_path: Path, text: str, line: int | None) -> None:
    """Whether what is above it is no part of the table cannot be told, so it is said."""
    _, _, notes = _read(tmp_path, text)
    places = [note.partition(", line ")[2] for note in notes if "preamble=N leaves out" in note]
    assert places == ([] if line is None else [f"{line})"])


@pytest.mark.parametrize(
    ("name", "text", "rows", "setting"),
    [
        ("t.csv", 'id, name, note\n1, "Smith, J", x\n2, "Doe, A", y\n', "1|Smith, J|x", "blanks"),
        ("t.csv", 'id, name\n1, "Ann"\n2, "Bo"\n', "1|Ann", "blanks"),
        ("t.csv", "id,name,v\n1,'Smith, J',3\n2,'Doe, A',4\n", "1|Smith, J|3", "quote="),
        ("t.csv", "id,name\n1,'tis\n2,rock 'n' roll\n", "1|'tis", ""),
        ("t.csv", 'id,text\n1,"say \\"hi, you\\""\n2,"x"\n', '1|say "hi, you"', "escape="),
        ("t.csv", 'a,nick,m\nAnna,"ham" Berg,a\nBo,Bo,b\n', 'Anna|"ham" Berg|a', "quote=none"),
        ("t.tsv", 'id\ttitle\ty\n1\t"Heat\t5\n3\tIce\t7\n4\tSnow"\t8\n', '1|"Heat|5', "quote=none"),
        ("t.tsv", 'id\ttitle\n1\t"a" b\n2\tc\n', '1|"a" b', "quote=none"),
        ("t.tsv", 'id\ttitle\n1\t"a\tb"\n2\t"c\nd"\n', "1|a\tb", ""),
        ("t.csv", 'id,title\n1,"a ""b"", c"\n2,"c\nd, e"\n', '1|a "b", c', ""),
    ],
)  # fmt: skip
def test_quotes(tmp_path: Path, name: str, text: str, rows: str, setting: str) -> None:
    """Each way is found, and said with the setting that names it."""
    grid, _, notes = _read(tmp_path, text, name)
    assert "|".join(grid[1]) == rows
    assert [setting in note for note in notes] == [True] * bool(setting)
    assert len({len(row) for row in grid}) == 1


def test_settings_for_quotes(tmp_path: Path) -> None:
    text = 'a,b\n|1,x|,"2\n'
    assert _read(tmp_path, text, quote="|")[0] == [["a", "b"], ["1,x", '"2']]
    assert _read(tmp_path, 'a,b\n1,"2\n', quote="none")[0] == [["a", "b"], ["1", '"2']]
    assert _read(tmp_path, 'a,b\n1,"2^"3"\n', escape="^")[0] == [["a", "b"], ["1", '2"3']]
    with pytest.raises(DataError, match=r"t\.csv, line 3: .* settings quote and escape"):
        _read(tmp_path, 'a,b\n1,"2\n3,4,5\n')
    with pytest.raises(ConfigError, match="quote should be one character, or none, not 'no'"):
        _read(tmp_path, "a\n", quote="no")
