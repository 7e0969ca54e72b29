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
from target_bench.core.text_tables import counted
from target_bench.runs.differences import method_of, system_of
from target_bench.runs.find import run_folders
from target_bench.runs.result import Result, data_options, option_text

Shared = Mapping[str, Callable[[Result], Any]]
"""What runs must have in common with the newest one: part -> its value."""

COMPARED: Shared = {
    "task": lambda run: run.task,
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
    as they began.

    Args:
        root: the folder of all runs.
        shared: what they must have in common with that run.
        names: labels that they must have among them; then it is the last run beside which they are.

    Returns:
        The run folders, none where ``names`` are not together anywhere; and a sentence on what was
        left out, if anything was.

    Raises:
        StoreError: there is no finished run, or no such folder.
    """
    finished = [run for run in map(Result, run_folders(root)) if run.is_scored]
    scored = sorted(filter(_is_readable, finished), key=_began)
    if not scored:
        raise StoreError(f"{root}: holds no finished run; target-bench run mini makes some")
    known: set[tuple[Any, ...]] = set()
    # Rankings that were made for answers to some of the questions are asked for last.
    for newest in sorted(scored, key=lambda run: (run.command.is_basis, -_began(run))):
        if (values := tuple(part(newest) for part in shared.values())) in known:
            continue
        known.add(values)
        systems, left_out = _beside(newest, scored, shared)
        if {run.label for run in systems}.issuperset(names):
            if len(scored) < len(finished):
                left_out["that cannot be read (runs list)"] = len(finished) - len(scored)
            first = min(systems, key=_merit_as_baseline)
            systems.sort(key=lambda run: run is not first)
            return [run.folder for run in systems], _sentence(left_out, root)
    return [], None


def newest_runs_of_corpora(root: Path) -> tuple[list[Path], str | None]:
    """Return the runs of ``newest_runs``, and those of the same task on other corpora.

    Of each other corpus they are the runs beside the last one with the same limit, distractors and
    cutoffs, if the baseline is among them.

    Args:
        root: the folder of all runs.

    Returns:
        The run folders, those of the newest run's corpus first; and a sentence on what was left
        out, if anything was.

    Raises:
        StoreError: there is no finished run, or no such folder.
    """
    folders, left_out = newest_runs(root)
    scored = [run for run in map(Result, run_folders(root)) if run.is_scored and _is_readable(run)]
    scored.sort(key=_began)
    chosen = {folder.resolve() for folder in folders}
    systems = [run for run in scored if run.folder.resolve() in chosen]
    newest, baseline = systems[-1], Result(folders[0])
    on_corpus = {run.corpus: run for run in scored if _options(run) == _options(newest)}
    for corpus, last in on_corpus.items():
        if corpus != newest.corpus:
            beside, _ = _beside(last, scored, COMPARED)
            if any(method_of(run) == method_of(baseline) for run in beside):
                folders += [run.folder for run in beside]
    others = {folder.resolve() for folder in folders} - chosen
    if others:
        rest = [run for run in scored if run.folder.resolve() not in others]
        left_out = _sentence(_beside(newest, rest, COMPARED)[1], root)
    return folders, left_out


def _options(run: Result) -> tuple[Any, ...]:
    """Return what runs of one comparison share beside their corpus."""
    asked = run.command
    return run.task, asked.about is None, asked.limit, asked.distractors, run.identity.top_k


def _is_readable(run: Result) -> bool:
    try:
        return bool(run.rankings_run.manifest and run.all_scores is not None)
    except StoreError:
        return False


def _began(run: Result) -> float:
    """Return when a run began, as it recorded that; a run that did not is the oldest."""
    started = run.manifest.started
    return datetime.fromisoformat(started).timestamp() if started else 0.0


def _beside(
    newest: Result, scored: Sequence[Result], shared: Shared
) -> tuple[list[Result], Counter[str]]:
    """Return the newest run of each system, by their beginning, and how many others there are."""
    built_on = {run.rankings_run.folder for run in scored if run.rankings_run is not run}
    systems: dict[tuple[str, ...], Result] = {}
    left_out: Counter[str] = Counter()
    for run in scored:
        other = next((name for name, part in shared.items() if part(run) != part(newest)), None)
        if other:
            left_out[_told_apart(run, newest, other)] += run.folder not in built_on
        else:
            data = (run.task, run.identity.corpus_fingerprint, run.identity.queries_fingerprint)
            if systems.pop(system := (*system_of(run), *data), None):
                left_out["older, of the same system"] += 1
            systems[system] = run
    return list(systems.values()), +left_out


def _told_apart(run: Result, newest: Result, part: str) -> str:
    """Return the first option in which a run differs from the newest one."""
    mine, theirs = (data_options(r) | {"cutoffs": r.identity.top_k} for r in (run, newest))
    options = [name for name in mine if mine[name] != theirs[name] and name != "queries"]
    return f"with {options[0]} {option_text(mine[options[0]])}" if options else f"on other {part}"


def _merit_as_baseline(run: Result) -> tuple[bool, bool, float]:
    """Return a key: the smallest is that of the baseline."""
    return (
        run.identity.is_bound,
        run.command.retriever != "bm25" or run.command.names[0] != "bm25",
        _began(run),
    )


def _sentence(left_out: Counter[str], root: Path) -> str | None:
    if not left_out:
        return None
    (first, n), *others = left_out.most_common()
    parts = [f"{counted(n, 'run')} {first}", *(f"{n} {what}" for what, n in others)]
    return (
        f"Left out: {', '.join(parts)}. To choose runs, name them: target-bench runs list --out "
        f"{root}"
    )
