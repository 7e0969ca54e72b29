"""The folder of a site: written as a whole or not at all.

It is replaced only if nothing but a site is lost.
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import exclusive_lock, parse_json
from target_bench.runs.record_log import cannot

MARKER = "target-bench-site.json"
"""Names the files of a site; a folder without it is none."""


def check_folder(out: Path, submissions: Path) -> None:
    """See that a folder may be replaced.

    Raises:
        ConfigError: it is a file or link, holds files that are not of an earlier site, or is the
            folder of submissions, the one that the program runs in, or above one of them.
    """
    if Path.cwd().is_relative_to(out.resolve()):
        raise ConfigError(f"-o {out}: is the folder you are in, or above it; name another folder")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ConfigError(f"-o {out}: is not a folder; name a new or empty one")
    if submissions.resolve().is_relative_to(out.resolve()):
        raise ConfigError(f"-o {out}: holds the submissions; name another folder")
    if not out.exists():
        return
    there = _files(out)
    if not there:
        return
    others = sorted(there - _known(out))
    if MARKER not in there:
        raise ConfigError(
            f"-o {out}: holds {others[0]!a} and is not a site that target-bench built; name a new "
            "or empty folder"
        )
    if others:
        raise ConfigError(
            f"-o {out}: holds {', '.join(ascii(name) for name in others[:3])}, which the site "
            "there does not; move it away, for the folder is replaced as a whole"
        )


def replace_folder(out: Path, files: Iterable[tuple[str, str]]) -> int:
    """Write files into a new folder beside ``out``, and put it in its place.

    Builds of the same site wait for each other, and each removes what killed ones left: the system
    gives back the lock of a process that ended. What does not say that a build wrote it stays.

    Args:
        out: the folder.
        files: (path in the folder, text) of each.

    Returns:
        Bytes of all files.

    Raises:
        StoreError: it cannot be written; what was there stays.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with _alone(out) as alone:
            if alone:
                _remove_left_behind(out, ".tmp")
            size = _replace(out, files)
            if alone:
                _remove_left_behind(out, ".old")
    except OSError as error:
        raise StoreError(cannot("be written", out, error, "-o")) from error
    return size


def _replace(out: Path, files: Iterable[tuple[str, str]]) -> int:
    half = out.with_name(f".{out.name}.{uuid4().hex[:8]}.tmp")
    old = half.with_suffix(".old")
    try:
        half.mkdir()
        size = _write(half, files)
        if out.exists():
            out.rename(old)
        try:
            half.rename(out)
        except OSError:
            with suppress(OSError):
                old.rename(out)
            raise
    finally:
        shutil.rmtree(half, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
    return size


@contextmanager
def _alone(out: Path) -> Iterator[bool]:
    """Keep other builds of this site out; False where the file system has no locks."""
    path = out.with_name(f".{out.name}.target-bench.lock")
    refused: list[Exception] = []
    with exclusive_lock(path, unlocked=refused.append) as file:
        try:
            yield not refused
        finally:
            if not refused and not os.fstat(file.fileno()).st_size:  # else it is somebody's file
                with suppress(OSError):  # as on Windows, where it is open
                    path.unlink()


def _remove_left_behind(out: Path, suffix: str) -> None:
    """Remove the folders of builds that were killed; the caller is the only build."""
    name = re.compile(rf"\.{re.escape(out.name)}\.[0-9a-f]{{8}}{re.escape(suffix)}")
    for path in out.parent.iterdir():
        if name.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            there = _files(path)
            known = _known(path) if suffix == ".old" else there  # half a site has no list yet
            if not there or (MARKER in there and there <= known):
                shutil.rmtree(path, ignore_errors=True)


def _write(folder: Path, files: Iterable[tuple[str, str]]) -> int:
    names, size = [MARKER], 0
    (folder / MARKER).write_text(_marker(names), encoding="ascii")  # what is half written says so
    for name, text in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        raw = text.encode("utf-8")
        path.write_bytes(raw)
        names.append(name)
        size += len(raw)
    marker = _marker(names)
    (folder / MARKER).write_text(marker, encoding="ascii")
    return size + len(marker)


def _marker(names: list[str]) -> str:
    return json.dumps({"format": 1, "files": sorted(names)}, indent=1) + "\n"


def _files(folder: Path) -> set[str]:
    """All that is in a folder but folders."""
    inside = folder.rglob("*")
    return {str(p.relative_to(folder)) for p in inside if p.is_symlink() or not p.is_dir()}


def _known(out: Path) -> set[str]:
    """Return the files that the site there says are its own."""
    try:
        found = parse_json((out / MARKER).read_bytes())["files"]
        return {name.replace("/", os.sep) for name in found}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {MARKER}
