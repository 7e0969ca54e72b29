"""Is a store of runs whole, and what may be removed from it?"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from target_bench.core.errors import StoreError, TargetBenchError
from target_bench.core.files import free_lock
from target_bench.runs.find import run_folders
from target_bench.runs.manifest import key_of, read_manifest
from target_bench.runs.record_log import ANSWERS, JUDGEMENTS, LOGS, RANKINGS, is_torn, refused
from target_bench.runs.result import Result
from target_bench.runs.slicing import MissingPluginError

_LINES_NAMED = 20
"""This many damaged lines of a file are named; of more, their number."""

_FILES = {
    *("manifest.json", "lock", "scores.json", "per_query.parquet", "statistics.parquet"),
    *(records.file for records in LOGS),
}
_AGAIN = "run the same command again"


class Checked(NamedTuple):
    """What a look at a run folder shows.

    Attributes:
        folder: the run folder.
        state: ``finished``, ``unfinished`` (the same command goes on with it) or ``damaged``.
        answered: how many queries have a ranking or an answer.
        n_queries: how many queries there are, or None where the run does not say.
        problems: what is damaged.
        notes: what is left over and does no harm.
    """

    folder: Path
    state: Literal["finished", "unfinished", "damaged"]
    answered: int
    n_queries: int | None
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def check(folder: Path) -> Checked:
    """Look at a run folder: manifest, identity, every line, coverage and scores."""
    problems: list[str] = []
    notes = [f"left over: {path.name}" for path in sorted(folder.glob("*.tmp"))]
    run, n_queries = Result(folder), None
    try:
        if (folder / "manifest.json").exists():
            n_queries = run.manifest.queries
            problems += filter(None, [run.identity_problem()])
        elif any((folder / n).exists() for n in (RANKINGS.file, ANSWERS.file, "scores.json")):
            problems.append("manifest.json is missing, but there are answers")
    except StoreError as error:
        problems.append(str(error))
    stored: dict[str, dict[str, Any]] = {}
    for records in LOGS:
        path = folder / records.file
        lines: list[Any] = []
        try:
            lines += records.lines(folder)
        except StoreError as error:
            problems.append(str(error))
        damaged = [str(line) for line in lines if isinstance(line, StoreError)]
        if (more := len(damaged) - _LINES_NAMED) > 0:
            damaged[_LINES_NAMED:] = [f"{path}: {more:,} more lines are damaged"]
        problems += damaged
        whole = [line for line in lines if not isinstance(line, StoreError)]
        stored[records.file] = {records.query_id(value): value for value in whole}
        if is_torn(path):
            torn = "the last line is incomplete; it is removed when the run continues"
            notes.append(f"{records.file}: {torn}")
    answered = stored[ANSWERS.file] or stored[RANKINGS.file]
    if run.is_scored and not problems:
        try:
            n_queries = run.n_queries
            problems += _score_problems(run, answered, stored[JUDGEMENTS.file])
        except TargetBenchError as error:
            problems.append(str(error))
    state: Literal["finished", "unfinished"] = "finished" if run.is_scored else "unfinished"
    return Checked(
        folder,
        "damaged" if problems else state,
        len(answered),
        n_queries,
        tuple(problems),
        tuple(notes),
    )


def _score_problems(
    run: Result, records: Mapping[str, Any], judged: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the disagreements between scores, per-query values, answers and judgements."""
    for metric in run.scores:
        with suppress(MissingPluginError):
            run.measured(metric)
    n = len(run.query_ids)
    missing = [query_id for query_id in run.query_ids if query_id not in records]
    if missing:
        no_line = f"{len(missing)} of {n} scored queries have no line, the first is {missing[0]!r}"
        yield f"{no_line}; {_AGAIN}"
    lines = (records[query_id] for query_id in run.query_ids if query_id in records)
    failed = sum(getattr(line, "generation", line).error is not None for line in lines)
    if not missing and not run.n_unlabelled and failed != run.n_failed:
        yield (
            f"{failed} queries are recorded as failed, but scores.json says {run.n_failed}; "
            f"{_AGAIN}"
        )
    missing = [query_id for query_id in run.query_ids if query_id not in judged]
    if missing and (judged or "judge" in run.manifest.seconds):
        yield (
            f"{JUDGEMENTS.file}: {len(missing)} of {n} answers have no line, the first is that "
            f"to {missing[0]!r}; target-bench score {run.folder} judges them again"
        )


def removable(root: Path) -> dict[Path, str]:
    """Return the folders of runs that were never finished, each with what it is.

    A run that another process is at, that holds files no run has, that other runs are built on,
    whose manifest cannot be read, or that is damaged and holds answers, is never among them.

    Raises:
        StoreError: there is no such folder.
    """
    folders, needed = run_folders(root), set()
    for folder in folders:
        with suppress(StoreError):
            needed.add(read_manifest(folder).asked.retrieval_run)
    texts = {folder: _abandoned(folder) for folder in folders if folder.name not in needed}
    return {folder: text for folder, text in texts.items() if text is not None}


def _abandoned(folder: Path) -> str | None:
    """Return what an unfinished run is; None where it is finished, in use or perhaps no run."""
    with free_lock(folder / "lock") as free:
        if not free or not _is_ours(folder) or (folder / "scores.json").exists():
            return None
    if not (folder / "manifest.json").exists():
        empty = all(path.name == "lock" or path.suffix == ".tmp" for path in folder.iterdir())
        return "never begun" if empty else None
    try:
        key = read_manifest(folder).identity.key
    except StoreError:
        return None
    checked = check(folder)
    if key != key_of(folder) or (checked.problems and checked.answered):
        return None  # fsck says how the rest of a damaged run is kept
    total = f" of {checked.n_queries}" if checked.n_queries is not None else ""
    return f"unfinished, {checked.answered}{total} queries answered"


def _is_ours(folder: Path) -> bool:
    """Whether a folder holds files of runs alone."""
    return all(
        (path.name in _FILES or path.suffix == ".tmp") and path.is_file() and not path.is_symlink()
        for path in folder.iterdir()
    )


def remove(folder: Path) -> bool:
    """Remove a run; False if a process works there, has finished it, or another file is there.

    Raises:
        StoreError: a file cannot be removed.
    """
    with free_lock(folder / "lock") as free:
        if not free or not _is_ours(folder) or (folder / "scores.json").exists():
            return False
        with refused("be removed", folder):
            for path in sorted(folder.iterdir(), key=lambda path: path.name == "manifest.json"):
                path.unlink()
            folder.rmdir()
    return True
