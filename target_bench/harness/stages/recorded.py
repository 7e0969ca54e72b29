"""What every stage records of a run beside its lines: its beginning, its packages, and notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from target_bench.core.identity import outside_reads, sources_of
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset
from target_bench.core.text_tables import first_of
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
        plugin: the retriever or generator; None where none is asked.
    """

    def __init__(
        self,
        store: Run,
        dataset: Dataset,
        observer: Observer,
        label: str,
        packages: Mapping[str, str],
        plugin: object | None,
    ) -> None:
        self.store, self.dataset, self.observer = store, dataset, observer
        self.label, self.packages, self.plugin = label, packages, plugin

    def begin(self, **more: Any) -> None:
        """Record with what the run begins, unless an earlier command began it."""
        if self.store.manifest.environment:
            self.store.work_begins()
            return
        self.store.work_begins(
            environment={
                **times.environment(self.packages),
                times.SOURCES: sources_of(self.plugin) if self.plugin is not None else {},
            },
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

    def note_reuse(self) -> None:
        """Say what could make stored records differ from new ones, though identities agree."""
        before = self.store.manifest.environment.get(times.SOURCES, {})
        now = sources_of(self.plugin) if self.plugin is not None else {}
        changed = [name for name in before if now.get(name, before[name]) != before[name]]
        again = "to run it anew, name another --out folder"
        if changed:
            self.observer.warning(
                f"{self.label}: reused, but the source of {first_of(changed, 3)} has changed under "
                f"the same VERSION; {again}"
            )
        if self.plugin is not None and (reads := outside_reads(self.plugin)):
            self.observer.warning(
                f"{self.label}: reused; its code reads files or the environment "
                f"({first_of(reads, 3)}), and no change of these is seen, unless a setting names "
                f"the file; {again}"
            )

    def repeat_notes(self) -> None:
        """Say again what was recorded: a score that is shown again needs its caveats again."""
        for note in self.store.manifest.notes:
            self.observer.warning(f"{self.label} (recorded): {note}")
