"""Is a store of runs whole, and what may be removed from it?"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from target_bench.core.errors import StoreError, TargetBenchError
from target_bench.core.files import free_lock
from target_bench.runs import corpus_tables
from target_bench.runs.find import run_folders
from target_bench.runs.manifest import key_of, read_manifest
from target_bench.runs.record_log import ANSWERS, JUDGEMENTS, LOGS, RANKINGS, cannot, is_torn
from target_bench.runs.result import Result
from target_bench.runs.slicing import MissingPluginError

_LINES_NAMED = 20
"""This many damaged lines of a file are named; of more, their number."""

_FILES = {
    *("manifest.json", "lock", "scores.json", "per_query.parquet", "statistics.parquet"),
    *(records.file for records in LOGS),
    corpus_tables.FILE,
}
_AGAIN = "run the same command again"


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look at a run folder found.

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

    def to_json(self) -> dict[str, Any]:
        """Return the mapping field name -> value."""
        return {**asdict(self), "folder": str(self.folder)}


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
    except TargetBenchError as error:
        problems.append(str(error))
    stored: dict[str, dict[str, Any]] = {}
    for records in LOGS:
        values, damaged, path = {}, [], folder / records.file
        try:
            for value in records.lines(folder):
                if isinstance(value, StoreError):
                    damaged.append(str(value))
                else:
                    values[records.query_id(value)] = value
        except StoreError as error:
            damaged.append(str(error))
        if (more := len(damaged) - _LINES_NAMED) > 0:
            damaged[_LINES_NAMED:] = [f"{path}: {more:,} more lines are damaged"]
        problems += damaged
        stored[records.file] = values
        if is_torn(path):
            notes.append(
                f"{records.file}: the last line is incomplete; it is removed when the run continues"
            )
    answered = stored[ANSWERS.file] or stored[RANKINGS.file]
    if run.is_scored and not problems:
        try:
            n_queries = run.n_queries
            problems += _score_problems(run, answered, stored[JUDGEMENTS.file])
        except TargetBenchError as error:
            problems.append(str(error))
    return Checked(
        folder,
        "damaged" if problems else "finished" if run.is_scored else "unfinished",
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
        yield (
            f"{len(missing)} of {n} scored queries have no line, the first is {missing[0]!r}; "
            f"{_AGAIN}"
        )
    lines = (records[query_id] for query_id in run.query_ids if query_id in records)
    failed = sum(getattr(line, "generation", line).error is not None for line in lines)
    if not missing and not run.n_unlabelled and failed != run.n_failed:
        yield (
            f"{failed} queries are recorded as failed, but scores.json says {run.n_failed}; "
            f"{_AGAIN}"
        )
    if judged or "judge" in run.manifest.seconds:
        missing = [query_id for query_id in run.query_ids if query_id not in judged]
        if missing:
            yield (
                f"{JUDGEMENTS.file}: {len(missing)} of {n} answers have no line, the first is that "
                f"to {missing[0]!r}; target-bench score {run.folder} judges them again"
            )


@dataclass(frozen=True, slots=True)
class Removable:
    """A run folder that may go.

    Attributes:
        folder: the run folder.
        files: the names of the files in it.
        why: what it is.
        bytes: how much it takes.
    """

    folder: Path
    files: tuple[str, ...]
    why: str
    bytes: int


def removable(root: Path) -> list[Removable]:
    """Return runs that were never finished.

    A run that another process is at, that holds files no run has, that other runs are built on,
    whose manifest cannot be read, or that is damaged and holds answers, is never among them.

    Raises:
        StoreError: there is no such folder.
    """
    folders = run_folders(root)
    needed = set()
    for folder in folders:
        with suppress(StoreError, OSError):
            needed.add(read_manifest(folder).asked.retrieval_run)
    candidates = (_removable(folder) for folder in folders if folder.name not in needed)
    return [candidate for candidate in candidates if candidate is not None]


def _removable(folder: Path) -> Removable | None:
    paths = sorted(folder.iterdir())
    ours = all(
        (path.name in _FILES or path.suffix == ".tmp") and path.is_file() and not path.is_symlink()
        for path in paths
    )
    with free_lock(folder / "lock") as free:
        if not ours or not free or (folder / "scores.json").exists():
            return None
    why = _abandoned(folder)
    if why is None:
        return None
    files = tuple(path.name for path in paths)
    return Removable(folder, files, why, sum(path.stat().st_size for path in paths))


def _abandoned(folder: Path) -> str | None:
    """Return why an unscored run may go, or None where it is not certain to be a run."""
    if not (folder / "manifest.json").exists():
        empty = all(path.name == "lock" or path.suffix == ".tmp" for path in folder.iterdir())
        return "never begun" if empty else None
    try:
        if read_manifest(folder).identity.key != key_of(folder):
            return None
    except StoreError:
        return None
    checked = check(folder)
    if checked.state == "damaged" and checked.answered:
        return None  # fsck says how the rest is kept
    total = f" of {checked.n_queries}" if checked.n_queries is not None else ""
    return f"unfinished, {checked.answered}{total} queries answered"


def remove(run: Removable) -> bool:
    """Remove a run; False if a process has begun to work there.

    Raises:
        StoreError: a file cannot be removed.
    """
    with free_lock(run.folder / "lock") as free:
        if not free or {path.name for path in run.folder.iterdir()} != set(run.files):
            return False
        try:
            for name in sorted(run.files, key=lambda name: name == "manifest.json"):
                (run.folder / name).unlink()
            run.folder.rmdir()
        except OSError as error:
            raise StoreError(cannot("be removed", run.folder, error)) from error
    return True
