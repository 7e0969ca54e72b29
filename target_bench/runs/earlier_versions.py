"""Runs of earlier versions that cannot be reused, and what is said of them."""

from collections.abc import Sequence
from contextlib import suppress

from target_bench.core.errors import StoreError
from target_bench.core.observer import Observer
from target_bench.core.schema import Query
from target_bench.runs.manifest import read_manifest
from target_bench.runs.run_identity import earlier_answers_fingerprint, earlier_note
from target_bench.runs.store import Run


def tell_of_earlier(run: Run, queries: Sequence[Query], observer: Observer) -> None:
    """Say why a new run of answers does not begin with those of an earlier version.

    Args:
        run: a run about answers; nothing is said of one that is there already.
        queries: its queries.
        observer: gets the warnings.
    """
    if not run.is_new:
        return
    label = run.id.rpartition("-")[0]
    wanted = ""
    for folder in sorted(run.folder.parent.glob(f"{label}-{'[0-9a-f]' * 12}")):
        if folder == run.folder:
            continue
        with suppress(StoreError):
            identity = read_manifest(folder).identity
            if not identity.is_earlier:
                continue
            wanted = wanted or earlier_answers_fingerprint(queries)
            if identity.queries_fingerprint == wanted:
                observer.warning(
                    f"{earlier_note(folder.name)}: its answers are not reused, and all queries "
                    "are answered again"
                )
                return
