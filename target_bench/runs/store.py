"""One run on disk: ``manifest.json``, ``retrieval.jsonl``, ``scores.json`` and tables of values.

Records are appended one line per query and found again by query id; the other files are replaced as
a whole, so a reader sees the old or the new content and never half of one. Manifest and scores
carry a checksum; those of the other files of a finished run are in the manifest.
"""

import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from target_bench.core.errors import StoreError
from target_bench.core.files import DamageError, check_file, digest, exclusive_lock, sealed
from target_bench.core.schema import Query
from target_bench.runs.manifest import (
    Command,
    Manifest,
    describe_error,
    read_manifest,
    run_key,
)
from target_bench.runs.record_log import LOGS, LogFile, storage_errors, write_file
from target_bench.runs.score_files import encode_table, hash_columns

T = TypeVar("T")

# A process that reads a finished run holds its lock for moments: no message for a shorter wait.
_SILENT_SECONDS = 0.5

# The options that say how a run is scored, and not how it is made.
_SCORED_BY = ("metrics",)


class Run:
    """Open a run folder, created if it is not there.

    ```python
    run = Run(Path("runs"), ["retrieval", "mini", "bm25"], manifest)
    with run.locked(print):
        run.begin()
        rankings, n_reused = run.complete(RANKINGS, queries, work, keep)
    ```

    Args:
        root: the folder of all runs.
        label: words before the hash of the identity, in the name of the folder.
        manifest: what is written if nothing is recorded yet; its identity says which run it is.
    """

    def __init__(self, root: Path, label: Iterable[str], manifest: Manifest) -> None:
        self.identity, self._draft = manifest.identity, manifest
        words = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-") for word in label]
        name = "-".join([*(word[:40] for word in words), self.identity.key])
        # The same run may be there under a name with other words.
        self.folder = find_folder(root, self.identity.content) or root / name
        self.id = self.folder.name
        self.new_because = ""  # why an earlier run is not used again
        with storage_errors("be created", self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._read_manifest()

    def _read_manifest(self) -> None:
        path = self.folder / "manifest.json"
        self._manifest = read_manifest(self.folder) if path.exists() else None
        if self._manifest is not None and self._manifest.identity != self.identity:
            raise StoreError(f"{path}: holds another run's identity; move the folder away")

    @property
    def is_new(self) -> bool:
        """Whether nothing is recorded of the run yet."""
        return self._manifest is None

    @property
    def manifest(self) -> Manifest:
        """What is recorded of the run, from ``begin`` on."""
        assert self._manifest is not None, f"{self.folder}: begin the run first"
        return self._manifest

    @contextmanager
    def locked(self, tell: Callable[[str], None]) -> Iterator[None]:
        """Keep every other process out of this run, waiting for one that holds it.

        An error that ends work on the run is recorded in the manifest; an error over a finished
        run, as of a metric, is not. ``tell`` gets the message that another process is waited for.
        """

        def report_wait(file: IO[bytes]) -> None:
            holder = "another process"
            with suppress(OSError):  # some systems lock the content too
                file.seek(0)
                holder = file.read().decode(errors="replace") or holder
            tell(f"{holder} is running this; waiting for it to finish: {self.folder}")

        def report_no_locks(error: Exception) -> None:
            tell(f"{self.folder} cannot be locked ({error}); let one process at a time run there")

        path = self.folder / "lock"
        lock = exclusive_lock(path, report_wait, report_no_locks, _SILENT_SECONDS)
        with ExitStack() as stack:
            try:
                file = stack.enter_context(lock)
            except OSError:  # nothing can be written here, so no lock is needed
                yield
                return
            with suppress(OSError):  # a full disk has no room for a name, and the lock needs none
                file.truncate(0)
                file.write(f"process {os.getpid()} on {platform.node()}".encode())
            with suppress(OSError):  # a killed process leaves files that it had not put in place
                for left_behind in self.folder.glob("*.tmp"):
                    left_behind.unlink()
            self._read_manifest()  # another process may have gone on with it
            try:
                yield
            except BaseException as error:
                self._record_error(error)
                raise

    def _record_error(self, error: BaseException) -> None:
        if self._manifest is not None and self._manifest.status != "finished":
            with suppress(StoreError):  # where nothing can be written, the error alone says it
                self.write_manifest(error=describe_error(error))

    def begin(self) -> None:
        """Write the manifest of a new run, if nothing is recorded yet."""
        if self._manifest is not None:
            return
        command = self._draft.asked
        if command.options is not None:  # how it is scored is recorded with the scores
            options = {n: v for n, v in command.options.items() if n not in _SCORED_BY}
            command = command.model_copy(update={"options": options})
        entries = {"id": self.id, "asked": command, "status": "running"}
        self._write(self._draft.model_copy(update=entries))

    def begin_work(self, **entries: Any) -> None:
        """Record that a stage works on the run, and entries of the manifest."""
        self.write_manifest(status="running", error=None, logs={}, **entries)

    def finish(self, command: Command, **entries: Any) -> None:
        """Record that the scores are those of all answers, and entries of the manifest.

        Names and metrics of the command are recorded only now: a metric that raises would end
        every later command, too.
        """
        paths = (self.folder / records.file for records in LOGS)
        with storage_errors("be read", self.folder):
            logs = {path.name: digest(path) for path in paths if path.exists()}
        asked = _add_names_and_metrics(self.manifest.asked, command)
        self.write_manifest(status="finished", error=None, logs=logs, asked=asked, **entries)

    def read(self, log: LogFile[T]) -> dict[str, T]:
        """Return query id -> record of a log, checked where the run is finished.

        A log that was removed is read as an empty one, so that its queries are asked again.
        """
        is_there = (self.folder / log.file).exists()
        return log.read(self.folder, self.manifest.logs.get(log.file) if is_there else None)

    def complete(
        self,
        log: LogFile[T],
        queries: Sequence[Query],
        work: Callable[[Sequence[Query], Mapping[str, T]], Iterable[Sequence[T]]],
        keep: Callable[[dict[str, T]], dict[str, T]],
    ) -> tuple[dict[str, T], int]:
        """Return the record of every query: those of the log, and new ones, appended as they come.

        A killed process loses at most the records that it was writing. ``keep`` selects the records
        of the log that stay: failed ones are asked again. ``work`` takes the queries without a
        record and the records that stay, and yields new ones in batches. Also returned is how many
        records were there already.
        """
        records = keep(self.read(log))
        todo = [query for query in queries if query.id not in records]
        if todo:
            # The log is opened first: a folder that cannot be written is reported before the work.
            with log.log(self.folder) as append:
                batches = work(todo, records)
                try:
                    for batch in batches:
                        append(batch)
                        records.update((log.query_id(record), record) for record in batch)
                finally:
                    if isinstance(batches, Generator):
                        batches.close()  # it records times in a ``finally``: while the run is open
        return {query.id: records[query.id] for query in queries}, len(queries) - len(todo)

    def write_manifest(self, **entries: Any) -> None:
        """Replace entries of the manifest, by the names of its fields, and write it."""
        self._write(self.manifest.model_copy(update=entries))

    def _write(self, manifest: Manifest) -> None:
        self._write_document("manifest.json", manifest.to_json())
        self._manifest = manifest

    def write_scores(
        self, scores: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        """Write the tables of values, then ``scores.json``, and their SHA-256 into the manifest."""
        values, written = {}, {}
        for name, columns in (tables or {}).items():
            values[name] = hash_columns(columns)
            if self.manifest.values.get(name) == values[name]:
                with suppress(OSError, DamageError, KeyError):
                    check_file(self.folder / name, self.manifest.tables[name])
                    written[name] = self.manifest.tables[name]  # it was made of these columns
                    continue
            encoded = encode_table(columns)
            written[name] = hashlib.sha256(encoded).hexdigest()
            write_file(self.folder / name, encoded)
        self._write_document("scores.json", scores)
        if tables:
            self.write_manifest(tables=written, values=values)

    def _write_document(self, name: str, content: Mapping[str, Any]) -> None:
        text = json.dumps(sealed(content), ensure_ascii=False, indent=2) + "\n"
        # A lone surrogate is not UTF-8; written with a backslash it is what JSON has for it.
        write_file(self.folder / name, text.encode("utf-8", "backslashreplace"))


def _add_names_and_metrics(first: Command, command: Command) -> Command:
    """Return the words of the first command, with what a later one names and scores it by."""
    options = first.options
    if options is not None:
        options = options | {n: v for n, v in (command.options or {}).items() if n in _SCORED_BY}
    names = {
        "retriever_name": command.retriever_name or first.retriever_name,
        "generator_name": command.generator_name or first.generator_name,
    }
    return first.model_copy(update={"options": options, **names})


def find_folder(root: Path, identity: Mapping[str, Any]) -> Path | None:
    """Return the folder of the run of this identity, if there is one; nothing is written."""
    return min(root.glob(f"*-{run_key(json.loads(json.dumps(identity)))}"), default=None)
