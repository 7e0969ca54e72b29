"""The runs that a folder of runs stands for in ``compare``, ``plot`` and ``report``.

They are those beside the run that began last: of each system its newest run. What the label of a
run can say (``differences.labels``) makes a system: plug-ins, their settings, options.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from target_bench.core.errors import StoreError
from target_bench.core.text_tables import count_noun
from target_bench.runs.differences import (
    data_options,
    describe_method,
    describe_system,
    option_text,
)
from target_bench.runs.find import run_folders
from target_bench.runs.result import Result

Shared = Mapping[str, Callable[[Result], Any]]
"""What runs must have in common with the newest one: name -> its value."""

COMPARED: Shared = {
    "task": lambda run: run.identity.task,
    "tables": lambda run: run.identity.corpus_fingerprint,
    "queries": lambda run: run.identity.queries_fingerprint,
    "cutoffs": lambda run: run.identity.top_k,
}
"""In a comparison."""

REPORTED: Shared = {"tables": lambda run: run.rankings_run.identity.corpus_fingerprint}
"""In reports, one of each set of queries with the rankings and answers of all tasks."""

BASELINE_OF_FOLDER = "bm25 if it is there, else the oldest"
"""The rule by which ``newest_runs`` puts a baseline first."""


def newest_runs(
    root: Path, shared: Shared = COMPARED, names: Collection[str] = ()
) -> tuple[list[Path], str | None]:
    """Return the runs beside the one that began last, of each system the newest.

    The baseline comes first (``BASELINE_OF_FOLDER``; upper and lower bounds last), then the others
    as they began. Among the runs must be these ``names``: else those beside an earlier run are
    tried. Also returned is a sentence on what was left out.
    """
    finished = [run for run in map(Result, run_folders(root)) if run.run.is_scored]
    readable = sorted(filter(_is_readable, finished), key=_read_start)
    if not readable:
        raise StoreError(f"{root}: holds no finished run; target-bench run mini makes some")
    tried: set[tuple[Any, ...]] = set()
    # Rankings that were made for answers to some of the questions come last.
    for newest in sorted(readable, key=lambda run: (run.command.is_basis, -_read_start(run))):
        values = tuple(read(newest) for read in shared.values())
        if values in tried:
            continue
        tried.add(values)
        systems, left_out = _find_beside(newest, readable, shared)
        if {run.command.label for run in systems}.issuperset(names):
            if len(readable) < len(finished):
                left_out["that cannot be read (runs list)"] = len(finished) - len(readable)
            first = min(systems, key=_baseline_key)
            systems.sort(key=lambda run: run is not first)
            return [run.folder for run in systems], _left_out_sentence(left_out, root)
    return [], None


def newest_runs_of_corpora(root: Path) -> tuple[list[Path], str | None]:
    """Return the runs of ``newest_runs``, and those of the same task on other corpora.

    Of each other corpus they are the runs beside the last one with the same limit, distractors and
    cutoffs, if the baseline is among them.
    """
    folders, left_out = newest_runs(root)
    scored = [
        run for run in map(Result, run_folders(root)) if run.run.is_scored and _is_readable(run)
    ]
    scored.sort(key=_read_start)
    chosen = {folder.resolve() for folder in folders}
    newest = [run for run in scored if run.folder.resolve() in chosen][-1]
    baseline = describe_method(Result(folders[0]))
    last_of_corpus = {
        run.identity.corpus: run for run in scored if _options(run) == _options(newest)
    }
    for corpus, last in last_of_corpus.items():
        if corpus != newest.identity.corpus:
            beside, _ = _find_beside(last, scored, COMPARED)
            if any(describe_method(run) == baseline for run in beside):
                folders += [run.folder for run in beside]
    added = {folder.resolve() for folder in folders} - chosen
    if added:
        rest = [run for run in scored if run.folder.resolve() not in added]
        left_out = _left_out_sentence(_find_beside(newest, rest, COMPARED)[1], root)
    return folders, left_out


def _options(run: Result) -> tuple[Any, ...]:
    """Return what runs of one comparison share beside their corpus."""
    command = run.command
    is_whole = command.about is None
    return run.identity.task, is_whole, command.limit, command.distractors, run.identity.top_k


def _is_readable(run: Result) -> bool:
    try:
        return bool(run.rankings_run.run.manifest and run.scores is not None)
    except StoreError:
        return False


def _read_start(run: Result) -> float:
    """Return when a run began; one that did not record it is the oldest."""
    started = run.run.manifest.started
    return datetime.fromisoformat(started).timestamp() if started else 0.0


def _find_beside(
    newest: Result, runs: Sequence[Result], shared: Shared
) -> tuple[list[Result], Counter[str]]:
    """Return the newest run of each system, and reason -> how many others there are."""
    used_by_answers = {run.rankings_run.folder for run in runs if run.rankings_run is not run}
    systems: dict[tuple[str, ...], Result] = {}
    left_out: Counter[str] = Counter()
    for run in runs:  # from the oldest on
        other = next((name for name, read in shared.items() if read(run) != read(newest)), None)
        if other is None:
            data = (
                run.identity.task,
                run.identity.corpus_fingerprint,
                run.identity.queries_fingerprint,
            )
            system = (*describe_system(run), *data)
            if systems.pop(system, None):
                left_out["older, of the same system"] += 1
            systems[system] = run
        elif run.folder not in used_by_answers:
            left_out[_describe_difference(run, newest, other)] += 1
    return list(systems.values()), left_out


def _describe_difference(run: Result, newest: Result, shared: str) -> str:
    """Return the first option in which a run differs from the newest one."""
    mine, theirs = (data_options(r) | {"cutoffs": r.identity.top_k} for r in (run, newest))
    options = [name for name in mine if mine[name] != theirs[name] and name != "queries"]
    return f"with {options[0]} {option_text(mine[options[0]])}" if options else f"on other {shared}"


def _baseline_key(run: Result) -> tuple[bool, bool, float]:
    """Order runs so that the baseline is the smallest."""
    is_plain_bm25 = run.command.retriever == "bm25" == run.command.names[0]
    return run.identity.is_bound, not is_plain_bm25, _read_start(run)


def _left_out_sentence(left_out: Counter[str], root: Path) -> str | None:
    if not left_out:
        return None
    (first, n), *others = left_out.most_common()
    reasons = [f"{count_noun(n, 'run')} {first}", *(f"{n} {reason}" for reason, n in others)]
    return (
        f"Left out: {', '.join(reasons)}. To choose runs, name them: target-bench runs list --out "
        f"{root}"
    )
