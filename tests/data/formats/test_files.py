"""Files of tables as people have them: each line of ``files.jsonl`` is a file and what is read."""

import csv
import gzip
import io
import json
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
from target_bench.data.formats.file_tables import FileSettings, parse_file_settings, read_file
from tests.data.strategies import any_cell, any_text
from tests.data.written import asked, write_own

LINES = Path(__file__).with_name("files.jsonl").read_text(encoding="utf-8").split("\n")
CASES = [json.loads(line) for line in LINES if line]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_a_file(tmp_path: Path, case: dict[str, Any]) -> None:
    """Its rows, the header first, the text above them, and a phrase of each note; or its fault."""
    path = tmp_path / case["file"]
    content = case["text"].encode(case.get("encoding", "utf-8"))
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    release = Release(tmp_path, "")
    settings = parse_file_settings(case.get("settings", {}), "settings")
    if "fault" in case:
        with pytest.raises(DataError) as caught:
            read_file(release, path, settings)
        assert str(path) in str(caught.value)
        assert case["fault"] in str(caught.value)
        return
    (table,) = read_file(release, path, settings)
    assert [list(table.header), *map(list, table.rows)] == case["rows"]
    assert table.preamble == case.get("preamble", "")
    phrases = case.get("notes", [])
    assert len(release.notes) == len(phrases), release.notes
    assert all(phrase in note for note, phrase in zip(release.notes, phrases, strict=True))
    assert all(str(path) in note for note in release.notes)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"sep": ";"}, "unknown setting 'sep'. Known: encoding, delimiter"),
        ({"delimiter": ";;"}, "delimiter: expected one character, found ';;'"),
        ({"encoding": "undefined"}, "encoding: expected an encoding"),
        ({"preamble": -1}, "preamble: expected a number of lines, found -1"),
        ({"header_rows": True}, "header_rows: expected a number of rows, found True"),
    ],
)
def test_invalid_settings(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=rf"t\.csv: {fault}"):
        parse_file_settings(settings, "t.csv")


cells = st.text(
    st.characters(exclude_characters='\0;|\t\r\n",\ufeff', exclude_categories=["Cs"]), min_size=1
).filter(str.strip)  # a row that ends with blank cells may be a title


@given(st.data(), st.sampled_from(DELIMITERS), st.integers(2, 4))
def test_any_table_without_other_delimiters_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, delimiter: str, width: int
) -> None:
    row = st.lists(cells, min_size=width, max_size=width)
    grid = data.draw(st.lists(row, min_size=1, max_size=4))
    path = tmp_path_factory.mktemp("any") / "t.csv"
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows(grid)
    path.write_bytes(file.getvalue().encode())
    (table,) = read_csv(Release(path.parent, ""), path, FileSettings(encoding="utf-8"))
    assert ([table.header, *table.rows], table.preamble) == (grid, "")


# rows that are longer or shorter than their header

NOTE = (
    "rows are not as long as their header: short ones got empty cells, for long ones the header "
    "got columns without a name: "
)


def _fill(header: list[str], rows: list[list[Any]]) -> tuple[list[str], list[Any], list[str]]:
    release = Release(Path(), "")
    names, filled = fill_rows(release, header, rows, lambda number: f"row {number}")
    return list(names), list(filled), release.notes


@given(
    st.lists(any_text, min_size=1, max_size=4), st.lists(st.lists(any_cell, max_size=6), max_size=6)
)
def test_no_cell_is_lost_and_the_order_is_kept(header: list[str], rows: list[list[Any]]) -> None:
    names, filled, notes = _fill(header, rows)
    width = max(len(header), *map(len, rows), 0)
    ragged = [row for row in rows if len(row) != len(header)]
    assert names == [*header, *[""] * (width - len(header))] if ragged else names == header
    for before, after in zip(rows, filled, strict=True):
        assert len(after) == len(names)
        assert repr(list(after)[: len(before)]) == repr(before)
        assert set(after[len(before) :]) <= {"", None}
    assert len(notes) == bool(ragged)
    start = f"{NOTE}{len(ragged)} (the first: row {rows.index(ragged[0]) if ragged else ''}: "
    assert not ragged or notes[0].startswith(start)
    assert repr(_fill(names, filled)) == repr((names, filled, []))


def test_ragged_rows_are_noted_each_time(tmp_path: Path) -> None:
    """Read from the file and from the cache alike, with the line of the first."""
    write_own(tmp_path, {"t.csv": "a,b\n1,2,3\n4\n"}, [asked("t")])
    for _ in range(2):
        (note,) = (note for note in corpora.load(tmp_path).notes if "rows are not" in note)
        first = f"{tmp_path / 'tables' / 't.csv'}, line 2: 3 cells"
        assert note.startswith(f"{NOTE}2 (the first: {first}")
        assert note.endswith("or do lines above the header (preamble=N)?)")
