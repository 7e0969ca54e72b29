"""Is a store of runs whole, and what may be removed from it?"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from target_bench.core.errors import StoreError, TargetBenchError
from target_bench.core.files import free_lock
from target_bench.runs.find import run_folders
from target_bench.runs.manifest import key_of, read_manifest
from target_bench.runs.record_log import (
    ANSWERS,
    JUDGEMENTS,
    LOGS,
    RANKINGS,
    LogFile,
    cannot,
    is_torn,
)
from target_bench.runs.result import Result
from target_bench.runs.slicing import MissingPluginError

State = Literal["finished", "unfinished", "damaged"]

_LINES_NAMED = 20
"""This many damaged lines of a file are named; of more, their number."""

_FILES = {
    "manifest.json",
    "lock",
    "scores.json",
    "per_query.parquet",
    "statistics.parquet",
    *(records.file for records in LOGS),
}


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
    state: State
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
    notes = [f"left over: {name}" for name in _leftovers(folder)]
    run, n_queries = Result(folder), None
    try:
        if (folder / "manifest.json").exists():
            n_queries = run.manifest.queries
            problems += filter(None, [run.identity_problem()])
        elif set(_names(folder)) & {RANKINGS.file, ANSWERS.file, "scores.json"}:
            problems.append("manifest.json is missing, but there are answers")
    except TargetBenchError as error:
        problems.append(str(error))
    stored: dict[str, dict[str, Any]] = {}
    for records in LOGS:
        stored[records.file], damaged = _read(records, folder)
        problems += damaged
        if is_torn(folder / records.file):
            notes.append(
                f"{records.file}: the last line is incomplete; it is removed when the run continues"
            )
    answered = stored[ANSWERS.file] or stored[RANKINGS.file]
    if run.is_scored and not problems:
        try:
            n_queries = run.n_queries
            problems += _score_problems(run, answered)
            problems += _judgement_problems(run, stored[JUDGEMENTS.file])
        except TargetBenchError as error:
            problems.append(str(error))
    state: State = "damaged" if problems else "finished" if run.is_scored else "unfinished"
    return Checked(folder, state, len(answered), n_queries, tuple(problems), tuple(notes))


def _read(records: LogFile[Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Query id -> the last line of it that is whole, and what is damaged."""
    try:
        lines = list(records.lines(folder))
    except StoreError as error:
        return {}, [str(error)]
    damaged = [str(line) for line in lines if isinstance(line, StoreError)]
    if len(damaged) > _LINES_NAMED:
        more = f"{folder / records.file}: {len(damaged) - _LINES_NAMED:,} more lines are damaged"
        damaged = [*damaged[:_LINES_NAMED], more]
    whole = (line for line in lines if not isinstance(line, StoreError))
    return {records.query_id(line): line for line in whole}, damaged


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _leftovers(folder: Path) -> list[str]:
    return [name for name in _names(folder) if name.endswith(".tmp")]


def _judgement_problems(run: Result, judged: Mapping[str, Any]) -> Iterator[str]:
    """Yield a problem if a run with judged answers lacks the judgements of some."""
    if not judged and "judge" not in run.manifest.seconds:
        return
    missing = [query_id for query_id in run.query_ids if query_id not in judged]
    if missing:
        yield (
            f"{JUDGEMENTS.file}: {len(missing)} of {len(run.query_ids)} answers have no line, the "
            f"first is that to {missing[0]!r}; target-bench score {run.folder} judges them again"
        )


def _score_problems(run: Result, records: Mapping[str, Any]) -> Iterator[str]:
    """Yield the disagreements between scores, per-query values and answers."""
    for metric in run.scores:
        with suppress(MissingPluginError):
            run.measured(metric)
    missing = [query_id for query_id in run.query_ids if query_id not in records]
    again = "run the same command again"
    if missing:
        yield (
            f"{len(missing)} of {len(run.query_ids)} scored queries have no line, the first is "
            f"{missing[0]!r}; {again}"
        )
    scored = set(run.query_ids)
    failed = sum(_failed(record) for query_id, record in records.items() if query_id in scored)
    if not missing and not run.n_unlabelled and failed != run.n_failed:
        yield (
            f"{failed} queries are recorded as failed, but scores.json says {run.n_failed}; {again}"
        )


def _failed(record: Any) -> bool:
    error = getattr(record, "error", None) or getattr(record, "generation", record).error
    return error is not None


@dataclass(frozen=True, slots=True)
class Removable:
    """What may go.

    Attributes:
        folder: a run folder.
        files: the names of the files in it that may go; all of them if the run may.
        whole: whether the folder goes too.
        why: what it is.
        bytes: how much it takes.
    """

    folder: Path
    files: tuple[str, ...]
    whole: bool
    why: str
    bytes: int


def removable(root: Path) -> list[Removable]:
    """Return runs that were never finished, and what killed processes left in others.

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
    candidates = (_removable(folder, folder.name in needed) for folder in folders)
    return [candidate for candidate in candidates if candidate is not None]


def _removable(folder: Path, needed: bool) -> Removable | None:
    names = _names(folder)
    leftovers = _leftovers(folder)
    ours = all(
        (name in _FILES or name in leftovers)
        and (folder / name).is_file()
        and not (folder / name).is_symlink()
        for name in names
    )
    if not ours or _in_use(folder):
        return None
    why = None if needed or (folder / "scores.json").exists() else _abandoned(folder, names)
    gone = names if why else leftovers
    if not gone and not why:
        return None
    size = sum((folder / name).stat().st_size for name in gone)
    return Removable(folder, tuple(gone), bool(why), why or "left by a killed process", size)


def _abandoned(folder: Path, names: list[str]) -> str | None:
    """Return why an unscored run may go, or None where it is not certain to be a run."""
    if "manifest.json" not in names:
        empty = not set(names) - {"lock", *_leftovers(folder)}
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


def _in_use(folder: Path) -> bool:
    with free_lock(folder / "lock") as free:
        return not free


def remove(what: Removable) -> bool:
    """Remove it; False if a process has begun to work there.

    Raises:
        StoreError: a file cannot be removed.
    """
    with free_lock(what.folder / "lock") as free:
        if not free or (what.whole and set(_names(what.folder)) != set(what.files)):
            return False
        try:
            for name in sorted(what.files, key=lambda name: name == "manifest.json"):
                (what.folder / name).unlink(missing_ok=True)
            if what.whole:
                what.folder.rmdir()
        except OSError as error:
            raise StoreError(cannot("be removed", what.folder, error)) from error
    return True
