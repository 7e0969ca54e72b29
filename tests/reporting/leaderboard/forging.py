"""Submissions taken apart, changed, put together again, and verified."""

import io
import json
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard.archive import MEBI, RefusedError
from target_bench.reporting.leaderboard.verify import verify
from tests.builders import Recorder

Files = dict[str, bytes]
Record = dict[str, Any]

SECONDS, BYTES = 10.0, 64 * MEBI
"""What refusing a hostile submission may take at most."""


def files_of(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def find(files: Files, end: str, start: str = "") -> str:
    """The one member whose name begins and ends so."""
    (name,) = [name for name in files if name.endswith(end) and name.startswith(start)]
    return name


def zip_members(members: Sequence[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def packed(path: Path, files: Files) -> Path:
    path.write_bytes(zip_members(list(files.items())))
    return path


def set_fields(files: Files, name: str, **fields: Any) -> Files:
    """The files with other fields of a JSON document."""
    return {**files, name: json.dumps(json.loads(files[name]) | fields).encode()}


def with_lines(files: Files, name: str, change: Callable[[list[Record]], list[Record]]) -> Files:
    lines = change([json.loads(line) for line in files[name].splitlines()])
    return {**files, name: "".join(json.dumps(line) + "\n" for line in lines).encode()}


def refused(path: Path, content: bytes | None = None, error: type[DataError] = RefusedError) -> str:
    """Why a file is refused: soon, without much memory, in a printable message with a remedy."""
    if content is not None:
        path.write_bytes(content)
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(error) as caught:
        verify(path, observer=Recorder())
    seconds, (_, most) = time.perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < SECONDS
    assert most < BYTES
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 1000
    assert "; " in message, "what to do about it"
    return message
