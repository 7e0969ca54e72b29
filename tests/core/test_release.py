"""Reading release files, and detecting broken ones."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.core.files import Seen
from target_bench.core.release import Release, decode, field
from tests.builders import HOWS, How, tarred, write_release, zipped

SOURCE = "https://example.org/data"
TEXT = "first\nzweite, größer\n第三\u2028\n"


def _release(folder: Path, *subfolders: str) -> Release:
    return Release(folder, SOURCE, subfolders)


@given(content=st.binary(max_size=2000) | st.text().map(str.encode), how=st.sampled_from(HOWS))
def test_content_is_the_same_however_it_is_packed(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, how: How
) -> None:
    folder = tmp_path_factory.mktemp("files")
    path = write_release(folder, "a.bin", content, how)
    assert _release(folder).require("a.bin") == path
    assert _release(folder).content(path) == content


@given(records=st.lists(st.one_of(st.text(), st.integers(), st.dictionaries(st.text(), st.text()))))
def test_json_lines_come_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[object]
) -> None:
    """Line separators of Unicode inside texts are not line ends; blank lines are skipped."""
    folder = tmp_path_factory.mktemp("files")
    lines = "\n\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    path = write_release(folder, "a.jsonl", lines)
    assert [value for _, value in _release(folder).json_lines(path)] == records


def test_places_in_order(tmp_path: Path) -> None:
    """The folder itself, then sub-folders; in each the plain file, then .gz, then .zip."""
    release = _release(tmp_path, "data", "other")
    last = write_release(tmp_path / "other", "a.txt", "x")
    assert release.find("a.txt") == last
    better: list[tuple[Path, How]] = [
        (tmp_path / "data", "zip"),
        (tmp_path / "data", "gz"),
        (tmp_path / "data", "plain"),
        (tmp_path, "zip"),
    ]
    for folder, how in better:
        assert write_release(folder, "a.txt", "x", how) == release.find("a.txt")
    assert release.find("b.txt") is None


def _with_a_flipped_byte(raw: bytes) -> bytes:
    place = len(raw) // 3
    return raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :]


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zip", "a.tar.gz"])
def test_damaged_archive(tmp_path: Path, name: str) -> None:
    """A flipped byte in the middle, a file that never was an archive, and one that is cut."""
    how: How = "zip" if name.endswith("zip") else "gz"
    path = write_release(tmp_path, "a.txt", TEXT * 50, how)
    whole = path.read_bytes()
    damaged = [_with_a_flipped_byte(whole), b"<html>404</html>", whole[:60]]
    if name == "a.tar.gz":
        path, whole = tmp_path / name, tarred({"1.csv": bytes(range(256)) * 9})
        damaged = [b"<html>404</html>", *(whole[:n] for n in (0, 1, 60))]
    for raw in damaged:
        path.write_bytes(raw)
        release = _release(tmp_path)
        with pytest.raises(DataError, match=f"{name}: .*truncated or damaged.*Download it again"):
            list(release.members(path)) if "tar" in name else release.content(path)


def test_encrypted_zip(tmp_path: Path) -> None:
    raw = bytearray(zipped({"a.txt": TEXT.encode()}))
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path = tmp_path / "a.txt.zip"
    path.write_bytes(bytes(raw))
    with pytest.raises(DataError, match=r"a\.txt\.zip"):
        _release(tmp_path).content(path)


def test_bundled_files_come_from_a_zip_or_its_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no all\.zip or data/all/ "):
        list(_release(tmp_path).bundled("all", "data/all"))
    members = {"data/all/b": b"1", "data/all/a/c": b"2"}
    for name, content in members.items():
        write_release(tmp_path, name, content)
    unpacked = [file[1:] for file in _release(tmp_path).bundled("all", "data/all")]
    (tmp_path / "all.zip").write_bytes(zipped(members | {"__MACOSX/data/all/._b": b""}))
    release = _release(tmp_path)
    packed = list(release.bundled("all", "data/all"))
    assert [file[1:] for file in packed] == unpacked == [(n, members[n]) for n in sorted(members)]
    assert packed[0][0].endswith("all.zip, data/all/a/c")
    assert list(release.hashes) == ["all.zip"]


def test_invalid_utf8_names_line_and_byte(tmp_path: Path) -> None:
    path = write_release(tmp_path, "a.txt", b"fine\ncaf\xe9\n")
    with pytest.raises(DataError, match=r"a\.txt: not valid UTF-8 at line 2 .*0xe9 at offset 8"):
        _release(tmp_path).text(path)
    with pytest.raises(DataError, match=r"here: not valid UTF-8 at line 1 .*0xff at offset 0"):
        decode(b"\xff", "here")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"\xff", "line 3: not valid UTF-8 (byte 0xff at position 0 of"),
        (b'{"a": 1', "line 3: not valid JSON at column 8"),
        (b'{"b": {"a": 1, "a": 2}}', "line 3: not usable JSON: the key 'a' occurs twice"),
    ],
)
def test_json_lines_are_read_as_a_stream(tmp_path: Path, how: How, line: bytes, fault: str) -> None:
    """What follows need not be sound to read what comes before."""
    path = write_release(tmp_path, "a.jsonl", b'\xef\xbb\xbf{"a": 1}\r\n\n' + line + b"\n{}\n", how)
    lines = _release(tmp_path).json_lines(path)
    assert next(lines) == (f"{path}, line 1", {"a": 1})
    with pytest.raises(DataError, match=re.escape(fault)):
        next(lines)


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({"a": 1}, "here: no field 'b'; it has a"),
        ({}, "here: no field 'b'; it has no field"),
        ({"b": "x"}, "here: field 'b': expected int, found str: 'x'"),
        ([], "here: expected a JSON object, found list"),
    ],
)
def test_field(record: object, fault: str) -> None:
    assert field({"b": 1}, "b", int, "here") == 1
    with pytest.raises(DataError, match=re.escape(fault)):
        field(record, "b", int, "here")


def test_what_was_seen_is_distinguished_from_another_state(tmp_path: Path) -> None:
    """Content, size, files that were missing, and what a pattern matched."""
    write_release(tmp_path / "data", "a.txt", "one")
    write_release(tmp_path, "b.csv", "x")

    def seen() -> Seen:
        release = _release(tmp_path, "data")
        release.text(release.require("a.txt"))
        assert release.find("c.txt") is None
        assert release.find_folder("d") is None
        assert [path.name for path in release.matching("*.csv")] == ["b.csv"]
        return Seen.from_json(json.loads(json.dumps(release.seen.to_json())))

    before = seen()
    assert before.still_true(tmp_path)
    changes: list[tuple[str, bytes | None]] = [
        ("data/a.txt", b"two"),
        ("data/a.txt", b"longer"),
        ("data/a.txt", None),
        ("a.txt", b"one"),
        ("a.txt.gz", b""),
        ("data/c.txt.zip", b""),
        ("d/x", b""),
        ("e.csv", b""),
        ("b.csv", None),
    ]
    for name, content in changes:
        path = tmp_path / name
        old = path.read_bytes() if path.exists() else None
        _put(path, content)
        assert not before.still_true(tmp_path), name
        _put(path, old)
        if path.parent.name == "d":
            path.parent.rmdir()
        assert before.still_true(tmp_path), name


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)


def test_file_outside_the_folder(tmp_path: Path) -> None:
    path = write_release(tmp_path / "elsewhere", "q.jsonl", "{}")
    release = _release(tmp_path / "data")
    assert list(release.json_lines(path)) == [(f"{path}, line 1", {})]
    assert set(release.hashes) == {path.resolve().as_posix()}
    assert release.seen.still_true(tmp_path / "data")
    path.write_text("[]", encoding="utf-8")
    assert not release.seen.still_true(tmp_path / "data")
    path.unlink()
    with pytest.raises(DataError, match=r"q\.jsonl: cannot be read: No such file"):
        _release(tmp_path / "data").text(path)


def test_a_remark_is_counted(tmp_path: Path) -> None:
    """One note for each kind, in the order of the first; other notes stay where they are."""
    release = Release(tmp_path, "")
    for place in range(1200):
        release.remark("lines are odd", f"line {place}")
    release.notes.append("another thing")
    release.remark("cells are even", "cell 1")
    release.remark("lines are odd", "line 9999")
    assert release.notes == [
        "lines are odd: 1,201 (the first: line 0)",
        "another thing",
        "cells are even: 1 (the first: cell 1)",
    ]
