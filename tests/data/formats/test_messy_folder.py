"""A folder of files as people have them is read in one command, or every fault is named."""

from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.data.load import load
from tests.data.messy_folder import write_messy_folder

pytest.importorskip("odf")
pytest.importorskip("xlwt")


def test_every_file_is_read_as_it_was_meant_or_named(tmp_path: Path) -> None:
    messy = write_messy_folder(tmp_path)
    with pytest.raises(DataError) as caught:
        load(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{len(messy.bad)} files cannot be read:\n")
    assert [name for name in messy.bad if f"{tmp_path / name}" not in message] == []
    assert f"write {tmp_path}:skip_bad=true; run, search, ask, describe and labels also" in message
    dataset = load(f"{tmp_path}:skip_bad=true")
    grids = {
        table.id.table_id: [list(table.header), *(list(map(str, row)) for row in table.rows)]
        for table in dataset.corpus
    }
    assert grids == messy.tables
    table = dataset.corpus["0", "a/export00/data"]
    assert table.context["title"] == "a / export00 / data", "which tells files of one name apart"
    (left_out,) = (note for note in dataset.notes if "skip_bad" in note)
    assert left_out.startswith(f"{len(messy.bad)} files left out (skip_bad):\n")
    assert all(str(tmp_path / name) in left_out for name in messy.bad)
    assert [note for note in dataset.notes if " are not read: " in note] == [
        ".pdf files are not read: 1 (scan.pdf)",
        ".txt files are not read: 1 (readme.txt)",
    ]
