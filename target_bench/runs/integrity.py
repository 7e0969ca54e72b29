"""Is a store of runs whole, and what may be removed from it?"""

import errno
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import portalocker

from target_bench.core.errors import StoreError, TargetBenchError
from target_bench.core.seals import FIELD
from target_bench.runs import answer_log, record_log
from target_bench.runs.find import key_of, run_folders
from target_bench.runs.record_log import cannot
from target_bench.runs.run_identity import run_key
from target_bench.runs.scored import check_tables, read_scored, read_scores
from target_bench.runs.store import read_run

State = Literal["finished", "unfinished", "damaged"]

_LOGS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "retrieval.jsonl": record_log.parse,
    "generations.jsonl": answer_log.parse,
}
_LINES_NAMED = 20
"""So many damaged lines of a file are named; of more, their number."""
_FILES = {
    "manifest.json",
    "lock",
    "scores.json",
    "per_query.parquet",
    "statistics.parquet",
    "judgements.jsonl",
    *_LOGS,
}


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look at a run folder found.

    Attributes:
        folder: the run folder.
        state: ``finished``, ``unfinished`` (the same command goes on with it) or ``damaged``.
        answered: how many queries have a ranking or an answer.
        asked: how many queries there are, or None where the run does not say.
        problems: what is damaged.
        notes: what is left over and does no harm.
    """

    folder: Path
    state: State
    answered: int
    asked: int | None
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Field name -> value."""
        return {
            "folder": str(self.folder),
            "state": self.state,
            "answered": self.answered,
            "asked": self.asked,
            "problems": list(self.problems),
            "notes": list(self.notes),
        }


def check(folder: Path) -> Checked:
    """Look at a run folder: manifest, identity, every line, coverage and scores."""
    problems: list[str] = []
    notes = [f"left over: {name}" for name in _leftovers(folder)]
    manifest: dict[str, Any] = {}
    try:
        if (folder / "manifest.json").exists():
            manifest = read_run(folder)
            problems += _identity_problems(folder, manifest)
        elif set(_names(folder)) & {*_LOGS, "scores.json"}:
            problems.append("manifest.json is missing, but there are answers")
    except TargetBenchError as error:
        problems.append(str(error))
    records: dict[str, Any] = {}
    for name, parse in _LOGS.items():
        found, damaged = _read(folder / name, parse)
        records = found or records
        problems += damaged
        if _torn(folder / name):
            notes.append(f"{name}: the last line is torn; it is cut off when the run goes on")
    problems += _judgement_problems(folder)
    asked = manifest.get("queries")
    if (folder / "scores.json").exists() and not problems:
        try:
            asked = read_scores(folder)[1]["asked"]
            problems += _score_problems(folder, records)
        except TargetBenchError as error:
            problems.append(str(error))
    notes += [f"{name} has no seal: it is of an earlier target-bench" for name in _unsealed(folder)]
    finished = (folder / "scores.json").exists()
    state: State = "damaged" if problems else "finished" if finished else "unfinished"
    return Checked(folder, state, len(records), asked, tuple(problems), tuple(notes))


def first_damage(folder: Path) -> str | None:
    """The first damage of a run folder that its name and its seals show, or None.

    Every byte is read but no line is parsed, so it takes a fraction of the time of ``check``, which
    looks for missing lines and for scores of other answers as well.
    """
    try:
        manifest = read_run(folder)
        problems = list(_identity_problems(folder, manifest))
        if problems:
            return problems[0]
        if (folder / "scores.json").exists():
            check_tables(folder, manifest)
        for name in (*_LOGS, "judgements.jsonl"):
            record_log.check_seals(folder / name)
    except StoreError as error:
        return str(error)
    return None


def _read(
    path: Path, parse: Callable[[dict[str, Any]], Any]
) -> tuple[dict[str, Any], Iterator[str]]:
    """Query id -> the last line of it that is whole, and what is damaged."""
    try:
        found = list(record_log.lines(path, parse))
    except StoreError as error:
        return {}, iter([str(error)])
    damaged = [str(one) for one in found if isinstance(one, StoreError)]
    whole = [one for one in found if not isinstance(one, StoreError)]
    return {_query_id(one): one for one in whole}, _first(damaged, path)


def _query_id(record: Any) -> str:
    found: str = getattr(record, "generation", record).query_id
    return found


def _first(damaged: list[str], path: Path) -> Iterator[str]:
    yield from damaged[:_LINES_NAMED]
    if len(damaged) > _LINES_NAMED:
        yield f"{path}: {len(damaged) - _LINES_NAMED:,} more lines are damaged"


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _leftovers(folder: Path) -> list[str]:
    return [name for name in _names(folder) if name.endswith(".tmp")]


def _unsealed(folder: Path) -> Iterator[str]:
    for name in ("manifest.json", "scores.json"):
        with suppress(OSError, ValueError, RecursionError):
            if FIELD not in json.loads((folder / name).read_bytes()):
                yield name


def _identity_problems(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    key = run_key(manifest["identity"])
    if key != key_of(folder):
        yield (
            f"manifest.json: its identity has the hash {key}, but the folder is named "
            f"{folder.name}; the manifest was edited or moved"
        )
    rankings = manifest["asked"].get("retrieval_run")
    if rankings and not (folder.parent / rankings / "manifest.json").is_file():
        yield f"the run of its rankings is missing: {rankings}"


def _judgement_problems(folder: Path) -> Iterator[str]:
    path = folder / "judgements.jsonl"
    try:
        for _ in record_log.read_lines(path, lambda record: record["query_id"]):
            pass
    except StoreError:
        yield f"{path}: damaged; score the run again with target-bench score {folder}"


def _score_problems(folder: Path, records: Mapping[str, Any]) -> Iterator[str]:
    """Whether scores, per-query values and answers are of one mind."""
    scored = read_scored(folder)
    for metric in scored.scores:
        scored.measured(metric)
    missing = [query_id for query_id in scored.query_ids if query_id not in records]
    again = "run the same command again"
    if missing:
        yield (
            f"{len(missing)} of {len(scored.query_ids)} scored queries have no line, the first is "
            f"{missing[0]!r}; {again}"
        )
    asked = set(scored.query_ids)
    failed = sum(_failed(found) for query_id, found in records.items() if query_id in asked)
    if not missing and failed != scored.counts["failed"]:
        yield (
            f"{failed} queries are recorded as failed, but scores.json says "
            f"{scored.counts['failed']}; {again}"
        )


def _failed(record: Any) -> bool:
    error = getattr(record, "error", None) or getattr(record, "generation", record).error
    return error is not None


def _torn(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            if file.tell() == 0:
                return False
            file.seek(-1, 2)
            return file.read(1) != b"\n"
    except OSError:
        return False


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
    """Runs that were never finished, and what killed processes left in others.

    A run that another process is at, that holds files no run has, that other runs are built on,
    whose manifest cannot be read, or that is damaged and holds answers, is never among them.

    Raises:
        StoreError: there is no such folder.
    """
    folders = run_folders(root)
    needed = set()
    for folder in folders:
        with suppress(StoreError, OSError):
            needed.add(read_run(folder)["asked"].get("retrieval_run"))
    found = (_removable(folder, folder.name in needed) for folder in folders)
    return [one for one in found if one is not None]


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
    """Why an unscored run may go, or None where it is not certain to be a run."""
    if "manifest.json" not in names:
        empty = not set(names) - {"lock", *_leftovers(folder)}
        return "never begun" if empty else None
    try:
        if run_key(read_run(folder)["identity"]) != key_of(folder):
            return None
    except StoreError:
        return None
    checked = check(folder)
    if checked.state == "damaged" and checked.answered:
        return None  # fsck says how the rest is kept
    of = f" of {checked.asked}" if checked.asked is not None else ""
    return f"unfinished, {checked.answered}{of} queries answered"


def _in_use(folder: Path) -> bool:
    with _lock(folder) as free:
        return not free


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Hold the lock of a run, if it is free; True if it is."""
    try:
        file = (folder / "lock").open("rb+")
    except FileNotFoundError:
        yield True
        return
    except OSError as error:
        yield error.errno == errno.EROFS  # where nobody can write nobody works
        return
    with file:
        try:
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except portalocker.LockException:
            yield False
            return
        yield True


def remove(one: Removable) -> bool:
    """Remove it; False if a process has begun to work there.

    Raises:
        StoreError: a file cannot be removed.
    """
    with _lock(one.folder) as free:
        if not free or (one.whole and set(_names(one.folder)) != set(one.files)):
            return False
        try:
            for name in sorted(one.files, key=lambda name: name == "manifest.json"):
                (one.folder / name).unlink(missing_ok=True)
            if one.whole:
                one.folder.rmdir()
        except OSError as error:
            raise StoreError(cannot("be removed", one.folder, error)) from error
    return True
