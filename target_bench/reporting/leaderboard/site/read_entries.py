"""The entries in a folder, each seen to be one before it is used."""

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import NoReturn

import numpy as np

from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard.entry import SUFFIX, Entry, RunEntry
from target_bench.reporting.leaderboard.site.entry_documents import check
from target_bench.runs.manifest import NO_CONTEXT

MOST_BYTES = 256 * 2**20
"""Of an entry file."""

_ROUNDING = 1e-4


def files(folder: Path) -> list[Path]:
    """Return the entry files in a folder and its sub-folders, in the order of their names.

    Raises:
        DataError: there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    return sorted(folder.rglob(f"*{SUFFIX}"))


def entries(folder: Path) -> Iterator[tuple[Path, Entry]]:
    """Every entry in a folder with its file, rejected ones too, one at a time.

    Raises:
        DataError: there is no such folder or no entry in it, a file cannot be read or is not an
            entry, or two have the same id; the message names file and field.
    """
    seen: dict[str, Path] = {}
    for path in files(folder):
        entry = read(path)
        other = seen.setdefault(entry.id.casefold(), path)
        if other is not path:
            raise DataError(
                f"{path}: id: {entry.id!a} is the id of {other} too; it should be there once"
            )
        yield path, entry
    if not seen:
        raise DataError(
            f"{folder}: holds no *{SUFFIX}; target-bench leaderboard verify writes one for each "
            "submission"
        )


def read(path: Path) -> Entry:
    """Return the entry in a file, checked field by field.

    Raises:
        DataError: it cannot be read, is too large, or is not an entry.
    """
    try:
        if path.is_symlink() or not path.is_file():
            raise DataError(f"{path}: is a link or no file; an entry is read from a plain file")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise DataError(f"{path}: {size:,} bytes; an entry has at most {MOST_BYTES:,}")
        record = json.loads(path.read_bytes(), parse_constant=_no_number)
        check(record)
        entry = Entry.from_json(record)
        runs = (_checked(run, i) for i, run in enumerate(entry.runs))
        return replace(entry, runs=tuple(map(_without_rankings, runs)))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, zlib.error, RecursionError) as error:
        raise DataError(
            f"{path}: holds no entry: {error}. Write it again with target-bench leaderboard verify."
        ) from error


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def _checked(run: RunEntry, place: int) -> RunEntry:
    """Return the run, its recalls seen to be those of its queries."""
    for name, score in run.scores.items():
        values = run.per_query.get(name)
        if values is None or not name.startswith("recall@"):
            continue
        if np.isinf(values).any():
            raise ValueError(f"runs.{place}.per_query.{name}: holds an infinite number")
        known = values[~np.isnan(values)]
        if len(known) and not abs(float(known.mean()) - score.value) <= _ROUNDING:
            raise ValueError(
                f"runs.{place}.scores.{name}.value: {score.value:g}, but its queries have "
                f"{float(known.mean()):g} in the mean"
            )
    return run


def _without_rankings(run: RunEntry) -> RunEntry:
    """Return the run; where answers were given without tables, its rankings have no scores."""
    if not (run.basis and run.retriever == NO_CONTEXT):
        return run
    scores = {
        name: replace(one, value=nan, low=nan, high=nan, n=0) for name, one in run.scores.items()
    }
    values = {name: np.full_like(found, np.nan) for name, found in run.per_query.items()}
    return replace(run, scores=scores, per_query=values)
