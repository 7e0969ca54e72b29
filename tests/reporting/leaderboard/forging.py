"""Submissions taken apart, changed, put together again with the right hashes, and verified."""

import hashlib
import io
import json
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from target_bench.reporting.leaderboard import submission as submission_file
from target_bench.reporting.leaderboard.submission import RefusedError, lines, opened
from target_bench.reporting.leaderboard.verify import Verification, verify
from tests.builders import Recorder

Files = dict[str, bytes]
Record = dict[str, Any]

RANKINGS = "runs/0/retrieval.jsonl"
RUN = "runs/0/run.json"

MEBI = 1024 * 1024
SECONDS, BYTES = 10.0, 64 * MEBI
"""What refusing a hostile submission may take at most."""


def files_of(path: Path) -> Files:
    with zipfile.ZipFile(path) as opened_zip:
        return {name: opened_zip.read(name) for name in opened_zip.namelist()}


def packed(path: Path, files: Files) -> Path:
    """An archive of these files, its index as it has to be."""
    index = json.loads(files["submission.json"])
    contents = {name: raw for name, raw in files.items() if name != "submission.json"}
    index["files"] = {name: hashlib.sha256(raw).hexdigest() for name, raw in contents.items()}
    submission_file.write(path, {**contents, "submission.json": json.dumps(index).encode()})
    return path


def with_document(files: Files, name: str, change: Callable[[Record], object]) -> Files:
    document = json.loads(files[name])
    change(document)
    return {**files, name: json.dumps(document).encode()}


def with_lines(files: Files, name: str, change: Callable[[list[Record]], list[Record]]) -> Files:
    lines = change([json.loads(line) for line in files[name].splitlines()])
    return {**files, name: "".join(json.dumps(line) + "\n" for line in lines).encode()}


def run_of(files: Files, task: str, answers_to: str | None = None) -> str:
    """The folder of the run of a task, or of the rankings that its answers are built on."""
    for name in sorted(files):
        if name.endswith("run.json"):
            document = json.loads(files[name])
            if document["task"] == task and (
                task != "retrieval" or document["about"] == answers_to
            ):
                return name.removesuffix("/run.json")
    raise LookupError(task)


def verified(path: Path, files: Files, **options: Any) -> Verification:
    return verify(packed(path, files), observer=Recorder(), **options)


def levels(verification: Verification) -> dict[str, str]:
    """Check -> ``rejected``, notes left out."""
    return {f.check: f.level for f in verification.findings if f.level != "note"}


def zipped(members: Sequence[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened_zip:
        for name, content in members:
            opened_zip.writestr(name, content)
    return buffer.getvalue()


def refused(path: Path, content: bytes | None = None) -> str:
    """Why a file is refused: soon, and without much memory."""
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
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 1000
    verification = verify(path, observer=Recorder())
    assert (verification.verdict, verification.entry) == ("rejected", None)
    assert [finding.check for finding in verification.findings] == [caught.value.check]
    return message


def _read_all(path: Path) -> None:
    with opened(path) as submission:
        for name, sha256 in submission.hashes.items():
            if name.endswith(".jsonl"):
                list(lines(submission.archive, name, sha256))
