"""What both stages record of a run beside their lines: its beginning, its packages, and notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core.identity import package_changes
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset
from target_bench.runs import times
from target_bench.runs.store import Run


def begin(store: Run, dataset: Dataset, packages: Mapping[str, str], **more: Any) -> None:
    """Record with what a run begins, unless an earlier command began it."""
    if store.manifest.environment:
        store.work_begins()
        return
    store.work_begins(
        environment=times.environment(packages),
        files=dict(dataset.files),
        data_notes=tuple(dataset.notes),
        started=times.now(),
        **more,
    )


def note_on_versions(
    store: Run, packages: Mapping[str, str], n_done: int | None, reused: str, observer: Observer
) -> list[str]:
    """Say where a run was made, or begun, with other versions of packages than there are now.

    Args:
        store: the run folder.
        packages: package -> version now.
        n_done: how many queries are done, of a run that is gone on with; None: all.
        reused: what to warn of where all are done; followed by what changed.
        observer: gets the warning.

    Returns:
        A note to record, of a run that is gone on with.
    """
    changed = package_changes(store.manifest.environment.get(times.USED, {}), packages)
    if changed is None:
        return []
    if n_done is not None:
        return [f"from query {n_done + 1:,} on, with other packages: {changed}"]
    observer.warning(
        f"{reused} are reused; they were {changed}. To make them again, name another --out folder"
    )
    return []


def report(store: Run, label: str, notes: Sequence[str], observer: Observer) -> None:
    """Say, and record, the notes that are not recorded yet."""
    recorded = store.manifest.notes
    new = [note for note in dict.fromkeys(notes) if note not in recorded]
    for note in new:
        observer.warning(f"{label}: {note}")
    if new:
        store.write_manifest(notes=(*recorded, *new))


def repeat_notes(store: Run, label: str, observer: Observer) -> None:
    """Say again what was recorded: a score that is shown again needs its caveats again."""
    for note in store.manifest.notes:
        observer.warning(f"{label} (recorded): {note}")
