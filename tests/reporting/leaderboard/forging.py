"""Submissions taken apart, changed, and put together again with the right hashes."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from target_bench.reporting.leaderboard import archive

Files = dict[str, bytes]
Record = dict[str, Any]


def files_of(path: Path) -> Files:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def packed(path: Path, files: Files) -> Path:
    """An archive of these files, its index as it has to be."""
    index = json.loads(files["submission.json"])
    contents = {name: raw for name, raw in files.items() if name != "submission.json"}
    index["files"] = {name: hashlib.sha256(raw).hexdigest() for name, raw in contents.items()}
    archive.write(path, {**contents, "submission.json": json.dumps(index).encode()})
    return path


def with_document(files: Files, name: str, change: Callable[[Record], object]) -> Files:
    document = json.loads(files[name])
    change(document)
    return {**files, name: json.dumps(document).encode()}


def with_lines(files: Files, name: str, change: Callable[[list[Record]], list[Record]]) -> Files:
    lines = change([json.loads(line) for line in files[name].splitlines()])
    return {**files, name: "".join(json.dumps(line) + "\n" for line in lines).encode()}


def run_of(files: Files, task: str, about: str | None = None) -> str:
    """The folder of the run of a task."""
    for name in sorted(files):
        if name.endswith("run.json"):
            document = json.loads(files[name])
            if document["task"] == task and (task != "retrieval" or document["about"] == about):
                return name.removesuffix("/run.json")
    raise LookupError(task)
