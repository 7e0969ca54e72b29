"""CSV files whose encoding, delimiter and preamble nobody states."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import Release
from target_bench.data.formats.csv_files import DELIMITERS, FileSettings, read_csv


def _read(folder: Path, content: str | bytes, name: str = "t.csv", **settings: Any) -> Any:
    """Header and rows, the preamble, and the notes."""
    raw = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(raw)
    release = Release(folder, "")
    default = "\t" if name.endswith(".tsv") else ","
    (header, rows), preamble = read_csv(
        release, folder / name, default, FileSettings.of(settings, name)
    )
    return [list(header), *map(list, rows)], preamble, release.notes


GRID = [["Straße", "Preis"], ["Allee 1", "1,50"], ["Platz 2", "2,75"]]
TEXT = "Straße;Preis\nAllee 1;1,50\nPlatz 2;2,75\n"


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (TEXT.encode(), None),
        (TEXT.encode("utf-8-sig"), None),
        (TEXT.encode("cp1252"), "cp1252"),
        (TEXT.encode("utf-16"), "utf-16"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("utf-32"), "utf-32"),
    ],
)
def test_encodings(tmp_path: Path, raw: bytes, encoding: str | None) -> None:
    grid, _, notes = _read(tmp_path, raw)
    assert grid == GRID
    noted = [note for note in notes if "are not UTF-8" in note]
    assert [note.endswith(f"t.csv: {encoding})") for note in noted] == [True] * (
        encoding is not None
    )


@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_delimiters(tmp_path: Path, delimiter: str, name: str) -> None:
    text = "name;price;sum\nA. B;1.5;2\nC;2.5;3\n".replace(";", delimiter)
    grid, _, notes = _read(tmp_path, text, name)
    assert grid == [["name", "price", "sum"], ["A. B", "1.5", "2"], ["C", "2.5", "3"]]
    usual = "\t" if name == "t.tsv" else ","
    assert bool(notes) == (delimiter != usual)
    assert _read(tmp_path, text, name, delimiter="#")[0][0] == [
        "name;price;sum".replace(";", delimiter)
    ]


def test_the_line_in_which_excel_declares_the_delimiter(tmp_path: Path) -> None:
    grid, preamble, notes = _read(tmp_path, "sep=#\r\na#b,c\r\n1#2,3\r\n4\r\n")
    assert (grid, preamble) == ([["a", "b,c"], ["1", "2,3"], ["4", ""]], "")
    assert "t.csv, line 4: 1 cells under 2 columns" in notes[1]


def test_single_bytes_of_another_encoding(tmp_path: Path) -> None:
    raw = "Stadt,Land\nKöln,Österreich\nZürich,Ägypten\n".encode() + "Malmö,S\n".encode("cp1252")
    grid, _, (note,) = _read(tmp_path, raw)
    assert [row[0] for row in grid] == ["Stadt", "Köln", "Zürich", "Malmö"]
    assert note.endswith("t.csv: UTF-8 with bytes of cp1252)")
    with pytest.raises(DataError, match=r"not valid UTF-8 with bytes of cp1252 .* Convert"):
        _read(tmp_path, raw + b"\x81,x\n")


@pytest.mark.parametrize(
    "before", ["Sales report\nMay 2024\n\n", "Sales report,,\nMay 2024,,\n,,\n"]
)
def test_lines_before_the_header(tmp_path: Path, before: str) -> None:
    grid, preamble, notes = _read(tmp_path, before + "region,amount,year\nN,1,2020\nS,2,2021\n")
    assert grid == [["region", "amount", "year"], ["N", "1", "2020"], ["S", "2", "2021"]]
    assert preamble == "Sales report\nMay 2024"
    assert notes == [
        "CSV files have lines before their header, which were left out of the table: 1 (the first: "
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
        ({"sep": ";"}, "t.csv: there is no setting 'sep'; there are encoding, delimiter"),
        ({"delimiter": ";;"}, "t.csv: delimiter should be one character, not ';;'"),
        ({"encoding": "undefined"}, "t.csv: encoding should be an encoding"),
        ({"encoding": "utf-8\0"}, "t.csv: encoding should be an encoding"),
        ({"encoding": "cp9"}, "t.csv: encoding should be an encoding such as cp1252, not 'cp9'"),
        ({"preamble": -1}, "t.csv: preamble should be a number of lines, not -1"),
        ({"header_rows": True}, "t.csv: header_rows should be a number of rows, not True"),
    ],
)
def test_invalid_settings(tmp_path: Path, settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault.replace(".", r"\.")):
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
    found, preamble, _ = _read(tmp_path_factory.mktemp("any"), file.getvalue(), encoding="utf-8")
    assert (found, preamble) == (grid, "")
