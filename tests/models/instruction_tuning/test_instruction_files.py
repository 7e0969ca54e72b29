"""Files of instruction, input and output; every fault names file and line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.models.instruction_tuning.instruction_files import (
    Instruction,
    read_instructions,
    write_instructions,
)
from target_bench.tables.answer_tables import FORMATS

ONE = {"instruction": "do", "input": "facts", "output": "| a |"}


def test_lists_and_lines_hold_the_same(tmp_path: Path) -> None:
    whole, lines = tmp_path / "html_train.json", tmp_path / "html_train.jsonl"
    whole.write_text(json.dumps([ONE, ONE], indent=2))
    lines.write_text(f"{json.dumps(ONE)}\n\n{json.dumps(ONE)}\n")
    first, second = read_instructions(whole)
    assert (first.table_format, first.place) == ("html", f"{whole}, line 2")
    assert second.place == f"{whole}, line 7"
    assert [one.place for one in read_instructions(lines)] == [f"{lines}, line {n}" for n in (1, 3)]


def test_a_record_may_name_its_format_and_lack_an_input(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text(json.dumps([{"instruction": "do", "output": "x", "format": "csv"}]))
    (found,) = read_instructions(path)
    assert (found.table_format, found.input) == ("csv", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[\n{"instruction": "a", "input": "b"}]', "line 2: the field 'output' is missing"),
        ('[\n\n{"input": "a", "output": "b"}]', "line 3: the field 'instruction' is missing"),
        ('[{"instruction": "a", "output": 3}]', "line 1: the field 'output' is int, not text"),
        ('[{"instruction": " ", "output": "b"}]', "line 1: the field 'instruction' is empty"),
        ('[{"instruction": "a", "input": [], "output": "b"}]', "the field 'input' is list"),
        ('[{"instruction": "a", "output": "b", "format": "x"}]', "format 'x' is not one of text"),
        ("[\n3]", "line 2: expected an object with instruction, input and output, found int"),
        ('{"instruction": "a"}', "line 1: expected a list of objects"),
        ('[{"instruction": "a", "output": "b"}\n{}]', "line 2: not valid JSON: expected ','"),
        ('[{"instruction": "a", "output": "b"}', "line 1: not valid JSON: expected ','"),
        ('[{"instruction": "a", "output": "b"}]\nmore', "line 2: there is more after the list"),
        ('[{"instruction": "a",\n "output": }]', "line 1: not valid JSON"),
        ("[]", "there is no record in it"),
        ("", "line 1: expected a list"),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "table_train.json"
    path.write_text(content)
    with pytest.raises(DataError) as raised:
        read_instructions(path)
    assert str(raised.value).startswith(str(path))
    assert message in str(raised.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "table_train.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        read_instructions(path)


_TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)
_RECORDS = st.builds(Instruction, _TEXTS, st.text(), _TEXTS, st.sampled_from(FORMATS))


@given(st.lists(_RECORDS, min_size=1))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[Instruction]
) -> None:
    folder = tmp_path_factory.mktemp("written")
    found = write_instructions(folder, "train", records)
    assert sum(map(len, found.values())) == len(records)
    for path, some in found.items():
        read = read_instructions(path)
        assert [_plain(one) for one in read] == [_plain(one) for one in some]


def _plain(one: Instruction) -> Any:
    return one.instruction, one.input, one.output, one.table_format


@given(st.text() | st.recursive(st.none() | st.text(), st.lists, max_leaves=5).map(json.dumps))
def test_any_text_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "table_train.json"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(DataError):
        read_instructions(path)
