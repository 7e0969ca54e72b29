"""What a run says and records beside its scores: its environment, notes, and warnings."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from target_bench.core.identity import list_outside_reads
from target_bench.core.metric import AnswerCounts, Counts
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Retrieval
from target_bench.core.task import Task
from target_bench.core.text_tables import count_noun, list_first
from target_bench.harness.systems import System
from target_bench.runs.environment import describe_environment, format_now
from target_bench.runs.run import Run


def describe_start(system: System) -> dict[str, Any]:
    """Return the entries of a new manifest that say where and when a system began to work."""
    return {"environment": describe_environment(system.packages), "started": format_now()}


def add_notes(run: Run, label: str, notes: Sequence[str], observer: Observer) -> None:
    """Say, and record, the notes that are not recorded yet."""
    recorded = run.manifest.notes
    new = [note for note in dict.fromkeys(notes) if note not in recorded]
    for note in new:
        observer.warning(f"{label}: {note}")
    if new:
        run.write_manifest(notes=(*recorded, *new))


def repeat_notes(run: Run, label: str, observer: Observer) -> None:
    """Say the recorded notes again: a score that is shown again needs its caveats again."""
    for note in run.manifest.notes:
        observer.warning(f"{label} (recorded): {note}")


def warn_of_reuse(system: System, observer: Observer) -> None:
    """Warn where a user's plug-in reads what is no part of its identity."""
    if system.plugin is not None and (reads := list_outside_reads(system.plugin)):
        observer.warning(
            f"{system.label}: reused; its code reads files or the environment "
            f"({list_first(reads, 3)}), whose changes are not noticed unless a setting names the "
            "file; to run it again, name another --out folder"
        )


def warn_of_depth(dataset: Dataset, depth: int, observer: Observer) -> None:
    """Warn where rankings would hold fewer tables than asked for."""
    if depth > len(dataset.corpus):
        observer.warning(
            f"top_k={depth} is more than the {count_noun(len(dataset.corpus), 'table')} of "
            f"{dataset.info.name} {dataset.split}, so recall@{depth} is 1 for a retriever that "
            "lists them all; a smaller --top-k tells more"
        )


def unlabelled_note(
    dataset: Dataset, task: Task[Any], counts: Counts | AnswerCounts, metrics: Iterable[str]
) -> str | None:
    """Write the warning about queries without a reference; None if there are none."""
    n_queries, n = len(dataset.queries), counts.unlabelled
    if not n:
        return None
    what = "gold table" if task.answer == "ranking" else "reference answer"
    so = f"scores are over the other {n_queries - n:,}"
    if n == n_queries:
        so = "there are no scores"
        if task.answer == "ranking":
            so += ". target-bench report shows rankings side by side; docs/data.md says how to "
            so += "label tables"
        if names := ", ".join(metrics):
            so = f"only {names} are computed, which need none"
    how_many = f"{n:,} of {count_noun(n_queries, 'query')} {'has' if n == 1 else 'have'}"
    return f"{dataset.info.name} {dataset.split}: {how_many} no {what}: {so}"


def ranking_notes(label: str, counts: Counts, rankings: Iterable[Retrieval]) -> Iterator[str]:
    """Write the warnings about scores that do not give the order of a ranking."""
    if counts.resorted:
        yield (
            f"{label} returned {counts.resorted} of {counts.answered} rankings in an order that "
            "contradicts their scores; they were sorted by score, highest first. Return "
            "similarities rather than distances, or ids without scores."
        )
    scored = sum(1 for ranking in rankings if ranking.scores)
    if counts.divided_ties > scored / 2:
        yield (
            f"{label}: in {counts.divided_ties} of {scored} scored rankings a cutoff divides "
            "tables of equal score. Which of them count is decided by a hash of their ids. A "
            "retriever of your own should return scores that tell tables apart: as they are before "
            "any sigmoid, in double precision, not rounded; or ids without scores, best first."
        )
