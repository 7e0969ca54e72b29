"""Files whose name says something else than their content."""

from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.data.formats.csv_files import FileSettings
from target_bench.data.formats.signatures import advice
from target_bench.data.formats.table_files import read_file
from tests.data.workbooks import Rows, write_workbook

BOOK: dict[str, Rows] = {"S": [["a", "b"], [1, 2]]}


@pytest.mark.parametrize(
    ("real", "name", "told"),
    [
        ("t.xlsx", "t.ods", r"It is a workbook of Excel\. Rename it to end in \.xlsx"),
        ("t.xlsx", "t.csv", r"It is a workbook of Excel\. Rename it to end in \.xlsx"),
        ("t.ods", "t.xlsx", r"It is an OpenDocument workbook\. Rename it to end in \.ods"),
        ("t.csv", "t.xlsx", r"It is text\. Rename it to end in \.csv"),
    ],
)
def test_a_file_under_another_suffix(tmp_path: Path, real: str, name: str, told: str) -> None:
    pytest.importorskip("openpyxl")
    pytest.importorskip("odf")
    path = tmp_path / real
    if real == "t.csv":
        path.write_text("a,b\n1,2\n")
    else:
        write_workbook(path, BOOK)
    path = path.rename(tmp_path / name)
    with pytest.raises(DataError, match=rf"{path}: .*{told}"):
        read_file(Release(tmp_path, ""), path, FileSettings())


def test_what_first_bytes_say() -> None:
    assert "Excel 97 (.xls), or one with a password" in advice(b"\xd0\xcf\x11\xe0", ".xlsx")
    assert "end in .parquet" in advice(b"PAR1\0", ".csv")
    assert "end in .gz after its suffix" in advice(b"\x1f\x8b\x08", ".csv")
    assert advice(b"a,b\n", ".csv") == ""
    assert advice(b"\0\1", ".csv") == ""
    assert advice(b"\xd0\xcf\x11\xe0", ".xls") == ""
    for suffix in (".csv", ".xlsx", ".ods"):
        assert "a damaged zip archive" in advice(b"PK\x03\x04 no more", suffix)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.xlsm", "t.ods", "t.xls"])
@pytest.mark.parametrize("end", [4, 10, 300, 3000, -1])
def test_a_damaged_workbook_is_never_called_text(tmp_path: Path, name: str, end: int) -> None:
    whole = write_workbook(tmp_path / "whole.xlsx", BOOK).read_bytes()
    path = tmp_path / name
    path.write_bytes(whole[:end])
    with pytest.raises(DataError, match="zip archive") as caught:
        read_file(Release(tmp_path, ""), path, FileSettings())
    assert str(caught.value).startswith(f"{path}: ")
    assert ".csv." not in str(caught.value)
