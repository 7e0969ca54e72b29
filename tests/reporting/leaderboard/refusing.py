"""How a hostile submission is refused."""

import io
import time
import tracemalloc
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from target_bench.reporting.leaderboard.archive import RefusedError
from target_bench.reporting.leaderboard.submission import opened
from target_bench.reporting.leaderboard.verify import verify
from tests.builders import Recorder

MEBI = 1024 * 1024
SECONDS, BYTES = 10.0, 64 * MEBI
"""What refusing may take at most."""

RANKINGS = "runs/0/retrieval.jsonl"


def zipped(members: Sequence[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return buffer.getvalue()


def refused(path: Path, content: bytes | None = None) -> RefusedError:
    """How a file is refused: soon, and without much memory."""
    if content is not None:
        path.write_bytes(content)
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(RefusedError) as caught:
        _read_all(path)
    seconds, (_, most) = time.perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < SECONDS
    assert most < BYTES
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000
    verification = verify(path, observer=Recorder())
    assert verification.verdict == "rejected"
    assert verification.entry is None
    assert [finding.check for finding in verification.findings] == [caught.value.check]
    return caught.value


def _read_all(path: Path) -> None:
    with opened(path) as submission:
        for name in sorted(submission.archive.names):
            if name.endswith(".jsonl"):
                for _ in submission.archive.lines(name):
                    pass
