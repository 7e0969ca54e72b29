"""A folder of files as people have them is read in one command, or every fault is named."""

from pathlib import Path

import pytest

from target_bench.core.schema import LEFT_OUT
from target_bench.data.load import load
from tests.data.messy_folder import write_messy_folder

pytest.importorskip("odf")
pytest.importorskip("xlwt")


def test_every_file_is_read_as_it_was_meant_or_named(tmp_path: Path) -> None:
    messy = write_messy_folder(tmp_path)
    dataset = load(tmp_path)
    grids = {
        table.id.table_id: [list(table.header), *(list(map(str, row)) for row in table.rows)]
        for table in dataset.corpus
    }
    assert grids == messy.tables
    table = dataset.corpus["0", "a/export00/data"]
    assert table.context["title"] == "a / export00 / data", "which tells files of one name apart"
    (left_out,) = (note for note in dataset.notes if note.startswith(LEFT_OUT))
    assert left_out.startswith(f"{LEFT_OUT} {len(messy.bad)}\n")
    assert all(str(tmp_path / name) in left_out for name in messy.bad)
    assert [note for note in dataset.notes if " are not read: " in note] == [
        ".pdf files are not read: 1 (scan.pdf)",
        ".txt files are not read: 1 (readme.txt)",
    ]
