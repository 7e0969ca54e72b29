"""What every stage records of a run beside its lines: its beginning, its packages, and notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset
from target_bench.runs import times
from target_bench.runs.store import Run


class Stage:
    """A stage that goes on with a run.

    Args:
        store: the run folder.
        dataset: tables and queries.
        observer: gets progress and warnings.
        label: what works.
        packages: package -> version of those that it uses now.
    """

    def __init__(
        self,
        store: Run,
        dataset: Dataset,
        observer: Observer,
        label: str,
        packages: Mapping[str, str],
    ) -> None:
        self.store, self.dataset, self.observer = store, dataset, observer
        self.label, self.packages = label, packages

    def begin(self, **more: Any) -> None:
        """Record with what the run begins, unless an earlier command began it."""
        if self.store.manifest.environment:
            self.store.work_begins()
            return
        self.store.work_begins(
            environment=times.environment(self.packages),
            files=dict(self.dataset.files),
            data_notes=tuple(self.dataset.notes),
            started=times.now(),
            **more,
        )

    def report(self, notes: Sequence[str]) -> None:
        """Say, and record, the notes that are not recorded yet."""
        recorded = self.store.manifest.notes
        new = [note for note in dict.fromkeys(notes) if note not in recorded]
        for note in new:
            self.observer.warning(f"{self.label}: {note}")
        if new:
            self.store.write_manifest(notes=(*recorded, *new))

    def repeat_notes(self) -> None:
        """Say again what was recorded: a score that is shown again needs its caveats again."""
        for note in self.store.manifest.notes:
            self.observer.warning(f"{self.label} (recorded): {note}")
