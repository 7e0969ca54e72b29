"""Hostile archives are refused, by name of what is wrong, in bounded time and memory."""

import io
import json
import random
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard import submission as submission_file
from target_bench.reporting.leaderboard.submission import RefusedError, lines, opened
from target_bench.reporting.leaderboard.verify import verify
from tests.reporting.leaderboard.forging import (
    BYTES,
    MEBI,
    RANKINGS,
    RUN,
    Files,
    packed,
    refused,
    zipped,
)


@pytest.mark.parametrize(
    "name",
    [
        "../evil", "runs/../../evil", "/etc/passwd", "C:\\evil", "C:/evil", "..\\evil",
        "runs\\0\\run.json", "runs/0/../0/run.json", "\\\\server\\share\\evil",
        "runs/0/run.json\x1b[2J", "runs/0/run.json\u202egnp", "runs/0/evil.pkl",
        "runs/100/run.json", "nested.zip", "card.yaml", "runs/0/", "x" * 60_000,
    ],
    ids=lambda name: ascii(name[:30]),
)  # fmt: skip
def test_names(at: Path, name: str) -> None:
    assert "no such file" in refused(at, zipped([(name, b"x")]))


def _with_header(value: int, **offsets: int) -> bytes:
    """A zip with another byte in its local header, in its directory, or in both."""
    content = bytearray(zipped([("card.json", b"{}")]))
    for name, offset in offsets.items():
        content[content.index({"local": b"PK\3\4", "directory": b"PK\1\2"}[name]) + offset] = value
    return bytes(content)


def _overlapping() -> bytes:
    content = bytearray(zipped([("card.json", b"a" * 500), ("submission.json", b"b" * 500)]))
    directory = content.rindex(b"PK\1\2")
    content[directory + 42 : directory + 46] = bytes(4)  # the second file begins at the first
    return bytes(content)


def _link() -> bytes:
    info = zipfile.ZipInfo("card.json")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zipped([(info, b"/etc/passwd")])


def _end(*fields: int) -> bytes:
    return struct.pack("<4s4HLLH", b"PK\5\6", *fields, 0)


def _millions_of_entries() -> bytes:
    n = 1_000_000
    return b"PK\1\2".ljust(46, b"\0") * n + _end(0, 0, n % 65535, n % 65535, 46 * n, 0)


def _more_entries_than_counted() -> bytes:
    content = zipped([(f"runs/{i}/run.json", b"{}") for i in range(99)])
    *_, size, start, _ = struct.unpack("<4s4HLLH", content[-22:])
    return content[:-22] + _end(0, 0, 1, 1, size, start)


def _zip64(*, locator: bool) -> bytes:
    content = zipped([("card.json", b"{}")])
    if locator:
        return content[:-22] + struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1) + content[-22:]
    return content[:-22] + _end(0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)


def _nested_bomb() -> bytes:
    bomb = zipped([("bomb", bytes(50 * MEBI))])
    return zipped([(f"{i}.zip", bomb) for i in range(20)])


ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a name that ends at NUL": (
        lambda: zipped([("card.json-evil", b"{}")]).replace(b"card.json-evil", b"card.json\0evil"),
        "no such file",
    ),
    "nested bomb": (_nested_bomb, "no such file"),
    "flat bomb": (lambda: zipped([(RANKINGS, bytes(200 * MEBI))]), "unpacks to"),
    "overlapping files": (_overlapping, "is not right behind the file before it"),
    "link": (_link, "is a link"),
    "encrypted": (lambda: _with_header(1, local=6, directory=8), "encrypted"),
    **{
        f"method {n}": (lambda n=n: _with_header(n, directory=10), "unknown method")  # type: ignore[misc]
        for n in (12, 14, 93, 97)
    },
    "millions of entries": (_millions_of_entries, "are read"),  # they are not even listed
    "more entries than counted": (_more_entries_than_counted, ""),
    "zip64": (lambda: _zip64(locator=True), "zip64"),
    "counts of zip64": (lambda: _zip64(locator=False), "are read"),
    "no end": (lambda: b"PK", "does not end as a zip"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives(at: Path, name: str) -> None:
    content, message = ARCHIVES[name]
    assert message in refused(at, content())


def test_many_small_bombs(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission_file, "LARGEST_TOTAL", 8 * MEBI)
    names = sorted(submission_file.NAMES - {"card.json"})[:40]
    assert "it unpacks to" in refused(at, zipped([(name, bytes(MEBI // 4)) for name in names]))


def test_a_name_twice(at: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = zipped([("card.json", b"{}"), ("card.json", b"[]")])
    assert "no such file, or has it once" in refused(at, content)


def test_zip_bomb_that_lies_about_its_size(at: Path, rankings: Files) -> None:
    """What is declared is read, and no more: the rest does not fit the checksum."""
    whole = zipped(list(rankings.items()))
    content = whole.replace(struct.pack("<L", len(rankings[RANKINGS])), struct.pack("<L", 10))
    assert content != whole
    assert "damaged" in refused(at, content)


@pytest.mark.parametrize("place", ["before card.json", "before submission.json", "after the last"])
def test_bytes_that_belong_to_no_file(at: Path, place: str) -> None:
    whole, hidden = zipped([("card.json", b"a" * 500), ("submission.json", b"b" * 500)]), b"#!/bin/"
    start = whole.index(b"PK\1\2")
    second = whole.index(b"PK\3\4", 1)
    into = {"before card.json": 0, "before submission.json": second}.get(place, start)
    content = bytearray(whole[:into] + hidden + whole[into:])
    start += len(hidden)
    end = content.rindex(b"PK\5\6")
    content[end + 16 : end + 20] = struct.pack("<L", start)
    for offset in (0, second):
        if offset >= into:
            content[start + 42 : start + 46] = struct.pack("<L", offset + len(hidden))
        start = content.index(b"PK\1\2", start + 1) if offset == 0 else start
    with zipfile.ZipFile(io.BytesIO(content)) as read_by_others:
        assert read_by_others.testzip() is None
    assert "is not right behind" in refused(at, bytes(content))


def test_many_documents_of_tiny_values(
    at: Path, rankings: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes twenty times its bytes in memory; so not all of them are read."""
    monkeypatch.setattr(submission_file, "LARGEST_DOCUMENTS", MEBI)
    chance = random.Random(1)
    tiny: dict[str, object] = {"x": [chance.choice(([], {})) for _ in range(30_000)]}
    run = json.dumps(json.loads(rankings[RUN]) | {"environment": tiny}, separators=(",", ":"))
    files = {f"runs/{i}/run.json": run.encode() for i in range(40)}
    files |= {f"runs/{i}/retrieval.jsonl": rankings[RANKINGS] for i in range(40)}
    index = json.loads(rankings["submission.json"]) | {"runs": 40}
    packed(at, {**rankings, **files, "submission.json": json.dumps(index).encode()})
    tracemalloc.start()
    with pytest.raises(RefusedError, match="documents have more than"), opened(at):
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < BYTES / 2


def test_truncated_lengthened_and_too_large(at: Path, packed_retrieval: Path) -> None:
    content = packed_retrieval.read_bytes()
    for changed in (content[:-1], content[: len(content) // 2], content + b"\0", b"#!" + content):
        refused(at, changed)
    with at.open("wb") as file:
        file.truncate(submission_file.LARGEST_ARCHIVE + 1)
    assert "are read" in refused(at)


def test_a_folder_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "text.tbs.zip").write_text("no zip file")
    for path in (tmp_path, tmp_path / "none.tbs.zip", tmp_path / "text.tbs.zip"):
        with pytest.raises(DataError, match=path.name):
            verify(path)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_damage_is_refused_or_harmless(
    data: st.DataObject, packed_retrieval: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever bytes are changed, what is read is what was packed, or it is refused."""
    content = bytearray(packed_retrieval.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.tbs.zip"
    path.write_bytes(content)
    try:
        with opened(path) as damaged, opened(packed_retrieval) as whole:
            mine, theirs = (
                list(lines(each.archive, RANKINGS, each.hashes[RANKINGS]))
                for each in (damaged, whole)
            )
            assert mine == theirs
    except RefusedError:
        pass
