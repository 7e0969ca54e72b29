"""Seals: a changed file is detected."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core import files
from target_bench.core.files import DamageError

KEYS = st.text(max_size=5).filter(lambda name: name not in (files.FIELD, files.LINE_FIELD))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


def _same(one: object, other: object) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(RECORDS)
def test_a_document_comes_back(record: dict[str, Any]) -> None:
    text = json.dumps(files.sealed(record), indent=1)
    assert _same(files.unsealed(json.loads(text)), record)


@given(RECORDS, st.data())
def test_no_flipped_bit_of_a_document_goes_unseen(record: dict[str, Any], data: Any) -> None:
    """It is an error, or the content is the same, as where it hits white space."""
    raw = bytearray(json.dumps(files.sealed(record), indent=1).encode())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        found = files.unsealed(json.loads(raw))
    except (ValueError, RecursionError):
        return
    assert _same(found, record)


@given(RECORDS, st.data())
def test_no_flipped_bit_of_a_line_goes_unseen(record: dict[str, Any], data: Any) -> None:
    """It is an error, or all fields that were written are as they were."""
    text = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace")
    line = files.sealed_line(text)
    assert files.unsealed_line(line) == text
    assert json.loads(line).keys() == {*record, files.LINE_FIELD}
    flipped = bytearray(line)
    flipped[data.draw(st.integers(0, len(line) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        found = json.loads(files.unsealed_line(bytes(flipped)))
    except (ValueError, RecursionError):
        return
    assert _same({name: found.get(name) for name in record}, record)


def test_a_seal_may_be_optional() -> None:
    assert files.unsealed({"a": 1}, required=False) == {"a": 1}
    with pytest.raises(DamageError, match="not what was written"):
        files.unsealed({"a": 2, "seal": files.seal_of({"a": 1})}, required=False)
    assert files.unsealed_line(b'{"a": 1}') == b'{"a": 1}'


def test_a_state_of_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(path: Path) -> str:
        read.append(path)
        return path.read_text(encoding="utf-8")

    monkeypatch.setattr(files, "sha256_of", counted)
    path = tmp_path / "file"
    path.write_text("one", encoding="utf-8")
    assert [files.digest(path), files.digest(path)] == ["one", "one"]
    assert len(read) == 1
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text("two", encoding="utf-8")
    os.utime(path, ns=times)  # of the same size and age
    assert files.digest(path) == "two"
    with pytest.raises(DamageError, match="file is not what was written"):
        files.check_file(path, "one")
    files.check_file(path, "two")
    with pytest.raises(OSError, match="No such file"):
        files.digest(tmp_path / "none")


@pytest.mark.parametrize("document", ['{"a":' * 2 + "%s" + "}" * 2, '{"a": %s, "seal": "x"}'])
def test_json_of_any_depth_is_read_or_a_value_error(document: str) -> None:
    """At the edge of Python's limit it can be read but not sealed."""
    for depth in (*range(985, 1000), 100_000):
        with pytest.raises(ValueError, match=r"nested too deep|not what was written"):
            files.unsealed(files.parse_json(document % ("[" * depth + "]" * depth)))
