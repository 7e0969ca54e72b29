"""The runs that ``compare``, ``plot`` and ``report`` take from a folder of runs.

They are the newest run of each system, among the runs on the same data as the newest of all. Two
runs are of one system if ``differences.describe_system`` says the same of both.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.errors import StoreError
from target_bench.core.text_tables import count_noun
from target_bench.runs.differences import (
    describe_method,
    describe_system,
    format_option,
    read_data_options,
)
from target_bench.runs.find import list_run_folders
from target_bench.runs.result import Result

COMPARED = ("task", "tables", "queries", "cutoffs")
"""What runs in a comparison have in common with the newest one."""

REPORTED = ("tables",)
"""What runs in reports have in common: one file shows rankings and answers of all tasks."""

BASELINE_OF_FOLDER = "bm25 if it is there, else the oldest"
"""The rule by which ``find_newest_runs`` puts a baseline first."""


class NewestRuns(NamedTuple):
    """The runs that are taken from a folder."""

    folders: list[Path]  # the baseline first, then by the time they began
    left_out: str | None  # a sentence on the other runs


def find_newest_runs(
    root: Path, shared: Sequence[str] = COMPARED, labels: Collection[str] = ()
) -> NewestRuns:
    """Return the newest run of each system that has the same data as the newest run of all.

    Args:
        root: the folder of runs.
        shared: what all must have in common, as ``COMPARED``.
        labels: the newest data on which all systems with these labels were run are taken.
    """
    results, unread = _read_finished(root)
    if not results:
        raise StoreError(f"{root}: holds no finished run; target-bench run mini makes some")
    used = _find_used_rankings(results)
    for newest in _find_newest_on_each_data(results, shared):
        systems, left_out = _find_systems(newest, results, shared, used)
        if {result.command.label for result in systems}.issuperset(labels):
            baseline = min(systems, key=_baseline_key)
            others = [result.folder for result in systems if result is not baseline]
            sentence = _describe_left_out(left_out + unread, root)
            return NewestRuns([baseline.folder, *others], sentence)
    return NewestRuns([], None)


def find_newest_runs_of_corpora(root: Path) -> NewestRuns:
    """Return the newest runs, and those of the same task and options on other corpora.

    A corpus on which the baseline was not run is left out.
    """
    first = find_newest_runs(root)
    results, unread = _read_finished(root)
    newest = min((r for r in results if r.folder in first.folders), key=_newest_key)
    newest_of_corpus = {  # results come oldest first, so the newest of a corpus stays
        result.identity.corpus: result
        for result in results
        if _read_options(result) == _read_options(newest)
    }
    del newest_of_corpus[newest.identity.corpus]
    baseline, used = describe_method(Result(first.folders[0])), _find_used_rankings(results)
    added: list[Path] = []
    for result in newest_of_corpus.values():
        systems, _ = _find_systems(result, results, COMPARED, used)
        if any(describe_method(system) == baseline for system in systems):
            added += [system.folder for system in systems]
    others = [result for result in results if result.folder not in added]
    _, left_out = _find_systems(newest, others, COMPARED, used)
    sentence = _describe_left_out(left_out + unread, root)
    return NewestRuns([*first.folders, *added], sentence)


def _read_finished(root: Path) -> tuple[list[Result], Counter[str]]:
    """Return the finished runs, oldest first, and reason -> number of the other runs."""
    results: list[Result] = []
    unread: Counter[str] = Counter()
    for result in map(Result, list_run_folders(root)):
        if not result.run.is_scored:
            unread["not finished (runs list)"] += 1
            continue
        try:
            _ = result.rankings_result.run.manifest, result.scores  # read here, to raise here
        except StoreError:
            unread["that cannot be read (runs list)"] += 1
        else:
            results.append(result)
    return sorted(results, key=_read_start), unread


def _read_start(result: Result) -> float:
    """Return when a run began; one that did not record it is the oldest."""
    started = result.run.manifest.started
    return datetime.fromisoformat(started).timestamp() if started else 0.0


def _find_newest_on_each_data(results: Sequence[Result], shared: Sequence[str]) -> list[Result]:
    """Return the newest result of those that agree in ``shared``, the newest of all first."""
    newest: dict[tuple[Any, ...], Result] = {}
    for result in sorted(results, key=_newest_key):
        data = _read_data(result)
        newest.setdefault(tuple(data[name] for name in shared), result)
    return list(newest.values())


def _newest_key(result: Result) -> tuple[bool, float]:
    """Sort the newest first; rankings that were made only for answers come last."""
    return result.command.ranks_for_answers, -_read_start(result)


def _read_data(result: Result) -> dict[str, Any]:
    return {
        "task": result.identity.task,
        "tables": result.identity.corpus_fingerprint,
        "queries": result.identity.queries_fingerprint,
        "cutoffs": result.identity.top_k,
    }


def _read_options(result: Result) -> tuple[Any, ...]:
    """Return what runs in a comparison of several corpora have in common."""
    command, identity = result.command, result.identity
    are_all_queries = command.about is None  # the task in about may differ between corpora
    return identity.task, are_all_queries, command.limit, command.distractors, identity.top_k


def _find_used_rankings(results: Iterable[Result]) -> set[Path]:
    """Return the folders of the rankings that answers are built on."""
    return {
        result.rankings_result.folder for result in results if result.rankings_result is not result
    }


def _find_systems(
    newest: Result, results: Sequence[Result], shared: Sequence[str], used: Collection[Path]
) -> tuple[list[Result], Counter[str]]:
    """Return the newest run of each system, and reason -> number of runs that are left out.

    ``used`` are the rankings that answers are built on: where these are left out, nobody misses
    them, and they are not counted.
    """
    expected = _read_data(newest)
    systems: dict[tuple[Any, ...], Result] = {}
    left_out: Counter[str] = Counter()
    for result in results:  # the oldest first
        data = _read_data(result)
        different = [name for name in shared if data[name] != expected[name]]
        if not different:
            system = (describe_system(result), data["task"], data["tables"], data["queries"])
            if systems.pop(system, None):
                left_out["older, of the same system"] += 1
            systems[system] = result
        elif result.folder not in used:
            left_out[_describe_difference(result, newest, different[0])] += 1
    return list(systems.values()), left_out


def _describe_difference(result: Result, newest: Result, different: str) -> str:
    """Return the first option in which a run differs from the newest, else the data."""
    mine, theirs = (read_data_options(r) | {"cutoffs": r.identity.top_k} for r in (result, newest))
    for name in mine:
        if name != "queries" and mine[name] != theirs[name]:  # their number follows from others
            return f"with {name} {format_option(mine[name])}"
    return f"on other {different}"


def _baseline_key(result: Result) -> tuple[bool, bool, float]:
    """Sort the baseline first, and upper and lower bounds last."""
    is_plain_bm25 = result.command.retriever == "bm25" == result.command.names[0]
    return result.identity.is_bound, not is_plain_bm25, _read_start(result)


def _describe_left_out(left_out: Counter[str], root: Path) -> str | None:
    if not left_out:
        return None
    (first, n), *others = left_out.most_common()
    reasons = [f"{count_noun(n, 'run')} {first}", *(f"{n} {reason}" for reason, n in others)]
    return (
        f"Left out: {', '.join(reasons)}. To choose runs, name them: target-bench runs list --out "
        f"{root}"
    )
