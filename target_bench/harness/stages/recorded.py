"""What every stage records of a run beside its lines: its beginning, its packages, and notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core.identity import package_changes
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
        what: what it makes, in the plural.
    """

    def __init__(
        self,
        store: Run,
        dataset: Dataset,
        observer: Observer,
        label: str,
        packages: Mapping[str, str],
        what: str,
    ) -> None:
        self.store, self.dataset, self.observer = store, dataset, observer
        self.label, self.packages, self.what = label, packages, what

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

    def note_versions(self, n_done: int | None) -> list[str]:
        """Say where the run was made, or begun, with other versions of packages than there are now.

        Args:
            n_done: how many queries are done, of a run that is gone on with; None: all, of which a
                warning says so.

        Returns:
            A note to record, of a run that is gone on with.
        """
        earlier = self.store.manifest.environment.get(times.USED, {})
        changed = package_changes(earlier, self.packages)
        if changed is None:
            return []
        if n_done is not None:
            return [f"from query {n_done + 1:,} on, with other packages: {changed}"]
        self.observer.warning(
            f"{self.label}: the {self.what} are reused; they were {changed}. To make them again, "
            "name another --out folder"
        )
        return []

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
