"""Hostile archives are refused, by name of what is wrong, in bounded time and memory."""

import io
import json
import random
import stat
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard import archive
from target_bench.reporting.leaderboard.archive import RefusedError
from target_bench.reporting.leaderboard.submission import opened
from target_bench.reporting.leaderboard.verify import verify
from tests.reporting.leaderboard.forging import Files, packed
from tests.reporting.leaderboard.refusing import BYTES, MEBI, RANKINGS, refused, zipped


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "runs/../../evil",
        "/etc/passwd",
        "C:\\evil",
        "C:/evil",
        "..\\evil",
        "runs\\0\\run.json",
        "runs/0/../0/run.json",
        "\\\\server\\share\\evil",
        "runs/0/run.json\x1b[2J",
        "runs/0/run.json\u202egnp",
        "runs/0/evil.pkl",
        "runs/100/run.json",
        "nested.zip",
        "card.yaml",
        "runs/0/",
        "x" * 60_000,
    ],
    ids=lambda name: ascii(name[:30]),
)
def test_names(at: Path, name: str) -> None:
    assert "no such file" in str(refused(at, zipped([(name, b"x")])))


def test_name_that_ends_at_nul(at: Path) -> None:
    content = zipped([("card.json-evil", b"{}")]).replace(b"card.json-evil", b"card.json\0evil")
    assert "no such file" in str(refused(at, content))


def test_nested_zip_bomb(at: Path) -> None:
    inner = zipped([("bomb", bytes(50 * MEBI))])
    assert "no such file" in str(refused(at, zipped([(f"{i}.zip", inner) for i in range(20)])))


def test_flat_zip_bomb(at: Path) -> None:
    error = refused(at, zipped([(RANKINGS, bytes(200 * MEBI))]))
    assert "unpacks to" in str(error)


def test_zip_bomb_that_lies_about_its_size(at: Path, rankings: Files) -> None:
    """What is declared is read, and no more: the rest does not fit the checksum."""
    whole = zipped(list(rankings.items()))
    size = struct.pack("<L", len(rankings[RANKINGS]))
    small = struct.pack("<L", 10)
    content = whole.replace(size, small)
    assert content != whole
    assert "damaged" in str(refused(at, content))


def test_files_that_lie_over_each_other(at: Path) -> None:
    content = bytearray(zipped([("card.json", b"a" * 500), ("submission.json", b"b" * 500)]))
    directory = content.rindex(b"PK\1\2")
    content[directory + 42 : directory + 46] = bytes(4)  # the second file begins at the first
    assert "is not right behind the file before it" in str(refused(at, bytes(content)))


@pytest.mark.parametrize("place", ["before card.json", "before submission.json", "after the last"])
def test_bytes_that_belong_to_no_file(at: Path, place: str) -> None:
    files, hidden = [("card.json", b"a" * 500), ("submission.json", b"b" * 500)], b"#!/bin/sh\n"
    whole = zipped(files)
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
    with zipfile.ZipFile(io.BytesIO(content)) as there:  # a zip that others read
        assert there.testzip() is None
    assert "is not right behind" in str(refused(at, bytes(content)))


def test_many_small_bombs(at: Path) -> None:
    names = sorted(archive.NAMES - {"card.json"})[:300]
    refused(at, zipped([(name, bytes(MEBI // 4) * 9) for name in names]))


def test_many_documents_of_tiny_values(at: Path, rankings: Files) -> None:
    """Each takes twenty times its bytes in memory; so not all of them are read."""
    chance = random.Random(1)
    tiny: dict[str, object] = {"x": [chance.choice(([], {})) for _ in range(300_000)]}
    run = json.loads(rankings["runs/0/run.json"]) | {"environment": tiny}
    files = {f"runs/{i}/run.json": _compact(run) for i in range(10)}
    files |= {f"runs/{i}/retrieval.jsonl": rankings[RANKINGS] for i in range(10)}
    index = json.loads(rankings["submission.json"]) | {"runs": 10}
    packed(at, {**rankings, **files, "submission.json": _compact(index)})
    tracemalloc.start()
    with pytest.raises(RefusedError, match="documents have more than"), opened(at):
        pass
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 * BYTES


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def test_symbolic_link(at: Path) -> None:
    info = zipfile.ZipInfo("card.json")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "is a link" in str(refused(at, zipped([(info, b"/etc/passwd")])))


def test_a_name_twice(at: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = zipped([("card.json", b"{}"), ("card.json", b"[]")])
    assert "no such file, or has it once" in str(refused(at, content))


def test_encrypted(at: Path) -> None:
    content = bytearray(zipped([("card.json", b"{}")]))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + offset] |= 1
    assert "encrypted" in str(refused(at, bytes(content)))


@pytest.mark.parametrize("method", [12, 14, 93, 97])
def test_unknown_compression(at: Path, method: int) -> None:
    content = bytearray(zipped([("card.json", b"{}")]))
    content[content.index(b"PK\1\2") + 10] = method
    assert "unknown method" in str(refused(at, bytes(content)))


def test_millions_of_entries(at: Path) -> None:
    """They are not even listed."""
    record = bytearray(46)
    record[:4] = b"PK\1\2"
    n = 1_000_000
    end = struct.pack("<4s4HLLH", b"PK\5\6", 0, 0, n % 65535, n % 65535, 46 * n, 0, 0)
    assert "are read" in str(refused(at, bytes(record) * n + end))


def test_more_entries_than_are_counted(at: Path) -> None:
    content = zipped([(f"runs/{i}/run.json", b"{}") for i in range(99)] * 1)
    end = struct.unpack("<4s4HLLH", content[-22:])
    lying = struct.pack("<4s4HLLH", end[0], 0, 0, 1, 1, *end[5:])
    refused(at, content[:-22] + lying)


def test_zip64(at: Path) -> None:
    content = zipped([("card.json", b"{}")])
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    assert "zip64" in str(refused(at, content[:-22] + locator + content[-22:]))
    end = struct.pack("<4s4HLLH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert "are read" in str(refused(at, content[:-22] + end))


def test_a_zip_without_its_end(at: Path) -> None:
    refused(at, b"PK")


def test_truncated_and_lengthened(at: Path, packed_retrieval: Path) -> None:
    content = packed_retrieval.read_bytes()
    for changed in (content[:-1], content[: len(content) // 2], content + b"\0", b"#!" + content):
        refused(at, changed)


def test_archive_of_many_bytes(at: Path) -> None:
    with at.open("wb") as file:
        file.truncate(archive.LARGEST_ARCHIVE + 1)
    assert "are read" in str(refused(at))


def test_a_folder_and_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.tbs.zip"):
        with pytest.raises(DataError, match=path.name):
            verify(path)
