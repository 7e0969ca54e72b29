"""Files whose name says something else than their content."""

from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.core.release import Release
from target_bench.data.formats.csv_files import FileSettings
from target_bench.data.formats.table_files import read_file
from tests.data.workbooks import Rows, write_workbook

BOOK: dict[str, Rows] = {"S": [["a", "b"], [1, 2]]}


@pytest.mark.parametrize(("real", "name"), [("t.xlsx", "t.ods"), ("t.ods", "t.xlsx")])
def test_a_workbook_under_the_suffix_of_another_is_read(
    tmp_path: Path, real: str, name: str
) -> None:
    path = write_workbook(tmp_path / real, BOOK).rename(tmp_path / name)
    (table,) = read_file(Release(tmp_path, ""), path, FileSettings())
    assert (table.header, table.rows) == (["a", "b"], [[1, 2]])


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.xlsm", "t.ods", "t.xls"])
@pytest.mark.parametrize("end", [4, 10, 300, 3000, -1])
def test_a_damaged_workbook_is_never_called_text(tmp_path: Path, name: str, end: int) -> None:
    whole = write_workbook(tmp_path / "whole.xlsx", BOOK).read_bytes()
    path = tmp_path / name
    path.write_bytes(whole[:end])
    with pytest.raises(
        DataError, match=r"not (text, but a workbook|a workbook that can)"
    ) as caught:
        read_file(Release(tmp_path, ""), path, FileSettings())
    assert str(caught.value).startswith(f"{path}: ")
    assert ".csv." not in str(caught.value)
