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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from target_bench.core.errors import StoreError
from target_bench.core.files import DamageError, add_seal, check_file, digest, exclusive_lock
from target_bench.core.schema import Generation, Judgement, Retrieval
from target_bench.runs.find import list_run_folders
from target_bench.runs.manifest import (
    Command,
    Identity,
    Manifest,
    describe_error,
    read_key,
    read_manifest,
)
from target_bench.runs.record_log import (
    ANSWERS,
    JUDGEMENTS,
    LOGS,
    RANKINGS,
    Log,
    storage_errors,
    write_file,
)
from target_bench.runs.score_files import check_tables, encode_table, hash_columns, read_scores

T = TypeVar("T")

_MANIFEST = "manifest.json"

# A process that reads a finished run holds its lock for moments: no message for a shorter wait.
_SILENT_SECONDS = 0.5

# The options that say how a run is scored, and not how it is made.
_SCORED_BY = ("metrics",)


RunStatus = Literal["finished", "unfinished", "damaged"]
"""How a run stands.

``finished``: it has scores. ``unfinished``: the same command goes on with it. ``damaged``: a file
is not what was written, or cannot be read.
"""


class Run:
    """Read a run folder; or work in it, as ``run_system`` does.

    ```python
    from target_bench import evaluate, list_runs

    evaluate("bm25", "mini")
    for run in list_runs("runs"):
        print(run.status, len(run.rankings))  # finished 280
    ```

    Each file is read when it is needed; what reads a file raises ``StoreError`` where that is
    damaged.

    Args:
        folder: the folder.
        draft: what the command that works here would record. Of a new run it becomes the manifest;
            of a stored one it gives ``identity`` and ``command``. Only ``open_run`` gives one.

    Attributes:
        folder: the folder.
        reused: whether all that was asked for was there already: nothing had to be retrieved,
            answered, judged or scored in another way.
        new_because: why an earlier run of the same command was not used again; "" where none was
            there, or where it was used.
    """

    def __init__(self, folder: str | Path, draft: Manifest | None = None) -> None:
        self.folder = Path(folder)
        self.reused = True
        self.new_because = ""
        self._draft = draft
        self._manifest: Manifest | None = None

    # What is recorded

    @property
    def key(self) -> str:
        """The hash of the identity, with which the folder's name ends."""
        return read_key(self.folder) or self.folder.name

    @property
    def is_new(self) -> bool:
        """Whether nothing is recorded of the run yet."""
        return not (self.folder / _MANIFEST).is_file()

    @property
    def manifest(self) -> Manifest:
        """All that is recorded of the run, but for its answers and scores."""
        if self._manifest is None:
            self._manifest = read_manifest(self.folder)
        return self._manifest

    @property
    def identity(self) -> Identity:
        """All that can change the result."""
        return self._draft.identity if self._draft else self.manifest.identity

    @property
    def command(self) -> Command:
        """The command of the draft, which may differ from the recorded one; else that."""
        return (self._draft or self.manifest).command

    @property
    def is_scored(self) -> bool:
        """Whether there are scores."""
        return (self.folder / "scores.json").exists()

    @cached_property
    def rankings_run(self) -> "Run":
        """The run that its answers are built on; itself, for rankings or without retrieval."""
        name = self.command.retrieval_run
        return self if name is None else Run(self.folder.parent / name)

    @cached_property
    def rankings(self) -> Mapping[str, Retrieval]:
        """Query id -> its ranking, by the run that answers are built on."""
        return self.rankings_run._read(RANKINGS)

    @cached_property
    def answers(self) -> Mapping[str, Generation]:
        """Query id -> its answer; empty for a run of rankings."""
        return self._read(ANSWERS)

    @cached_property
    def judgements(self) -> Mapping[str, Judgement]:
        """Query id -> the judgement of its answer; empty where nothing was judged."""
        return self._read(JUDGEMENTS)

    def _read(self, log: Log[T]) -> dict[str, T]:
        """Return query id -> record of a log, checked where the run is finished."""
        # The manifest as it is now: another process may have finished the run since it was read.
        return log.read(self.folder, read_manifest(self.folder).logs.get(log.file))

    # State

    @cached_property
    def status(self) -> RunStatus:
        """``finished``, ``unfinished`` or ``damaged``; every byte of its files is read, once."""
        if self.problem is not None:
            return "damaged"
        is_unfinished = self.is_new or self.manifest.status == "running" or not self.is_scored
        return "unfinished" if is_unfinished else "finished"

    @cached_property
    def problem(self) -> str | None:
        """The first damage that its name and its checksums show, or None."""
        if self.is_new:
            return None
        try:
            key, rankings = self.identity.key, self.command.retrieval_run
            if key != read_key(self.folder):
                return (
                    f"manifest.json: its identity has the hash {key}, but the folder is named "
                    f"{self.folder.name}; the manifest was edited or moved"
                )
            if rankings and Run(self.folder.parent / rankings).is_new:
                return f"the run of its rankings is missing: {rankings}"
            if self.is_scored:
                read_scores(self.folder)
                check_tables(self.folder, self.manifest.value_file_hashes)
            for log in LOGS:
                log.check(self.folder, self.manifest.logs.get(log.file))
        except StoreError as error:
            return str(error)
        return None

    # Work

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
            # In a folder that cannot be written no lock is needed, and a finished run can still be
            # used: ``atomic_write`` skips a file that has the content already.
            with suppress(OSError):
                file = stack.enter_context(lock)
                # A full disk has no room for a name, and the lock needs none.
                file.truncate(0)
                file.write(f"process {os.getpid()} on {platform.node()}".encode())
            with suppress(OSError):  # a killed process leaves files that it had not put in place
                for left_behind in self.folder.glob("*.tmp"):
                    left_behind.unlink()
            self._reload()  # another process may have gone on with it
            try:
                yield
            except BaseException as error:
                self._record_error(error)
                raise

    def _reload(self) -> None:
        """Forget the manifest as it was read; refuse that of another run."""
        self._manifest = None
        if not self.is_new and self._draft and self.manifest.identity != self._draft.identity:
            path = self.folder / _MANIFEST
            raise StoreError(f"{path}: holds another run's identity; move the folder away")

    def _record_error(self, error: BaseException) -> None:
        if self._manifest is not None and self._manifest.status != "finished":
            with suppress(StoreError):  # where nothing can be written, the error alone says it
                self.write_manifest(error=describe_error(error))

    def write_new_manifest(self, **entries: Any) -> None:
        """Write the draft, and more entries, as the manifest of a new run."""
        assert self._draft is not None
        command = self._draft.command
        if command.options is not None:  # how it is scored is recorded with the scores
            options = {n: v for n, v in command.options.items() if n not in _SCORED_BY}
            command = command.model_copy(update={"options": options})
        entries |= {"id": self.folder.name, "command": command, "status": "running"}
        self._write(self._draft.model_copy(update=entries))

    def mark_running(self) -> None:
        """Record that a stage works on the run."""
        self.write_manifest(status="running", error=None, logs={})

    def finish(
        self, scores: Mapping[str, Any], values: Mapping[str, Mapping[str, Any]], **entries: Any
    ) -> None:
        """Write the tables of values, ``scores.json``, and last the manifest of a finished run.

        The manifest gets the SHA-256 of tables and logs, and other entries. Metrics of the command
        are recorded only here: one that raises would else be recorded, and would stop every later
        ``target-bench score``, which computes recorded metrics again.

        Args:
            scores: what ``scores.json`` holds.
            values: name of a table -> column -> its value of each query.
            entries: of the manifest.
        """
        # Of a finished run that is scored again, the manifest knows only the earlier tables, until
        # it is written. That moment is kept short: the logs, which take longest, are hashed before.
        paths = (self.folder / log.file for log in LOGS)
        with storage_errors("be read", self.folder):
            logs = {path.name: digest(path) for path in paths if path.exists()}
        hashes = {name: hash_columns(columns) for name, columns in values.items()}
        files = {name: self._write_values(name, values[name], hashes[name]) for name in values}
        self._write_document("scores.json", scores)
        self.write_manifest(
            status="finished",
            error=None,
            logs=logs,
            value_file_hashes=files,
            value_column_hashes=hashes,
            command=_update_command(recorded=self.manifest.command, current=self.command),
            **entries,
        )

    def _write_values(self, name: str, columns: Mapping[str, Any], columns_sha256: str) -> str:
        """Write a table, unless its file was made of columns with this hash; return the file's."""
        if self.manifest.value_column_hashes.get(name) == columns_sha256:
            with suppress(OSError, DamageError, KeyError):
                check_file(self.folder / name, self.manifest.value_file_hashes[name])
                return self.manifest.value_file_hashes[name]  # it was made of these columns
        encoded = encode_table(columns)
        write_file(self.folder / name, encoded)
        return hashlib.sha256(encoded).hexdigest()

    def read_log(self, log: Log[T]) -> dict[str, T]:
        """Return query id -> record of a log; nothing where the user removed a damaged one."""
        return self._read(log) if (self.folder / log.file).exists() else {}

    @contextmanager
    def open_to_append(
        self, log: Log[T], records: dict[str, T]
    ) -> Iterator[Callable[[Sequence[T]], None]]:
        """Open a log to append to it; yield a function that appends a batch.

        The lines of before stay: of a query the last one counts. Each batch is added to ``records``
        too. A killed process loses at most the batch that it was working on.
        """
        self.reused = False
        with log.open(self.folder) as write:

            def append(batch: Sequence[T]) -> None:
                write(batch)
                records.update((log.query_id(record), record) for record in batch)

            yield append

    def write_manifest(self, **entries: Any) -> None:
        """Replace entries of the manifest, by the names of its fields, and write it."""
        self._write(self.manifest.model_copy(update=entries))

    def _write(self, manifest: Manifest) -> None:
        self._write_document(_MANIFEST, manifest.to_json())
        self._manifest = manifest

    def _write_document(self, name: str, content: Mapping[str, Any]) -> None:
        text = json.dumps(add_seal(content), ensure_ascii=False, indent=2) + "\n"
        # A lone surrogate is not UTF-8; written with a backslash it is what JSON has for it.
        write_file(self.folder / name, text.encode("utf-8", "backslashreplace"))


def _update_command(recorded: Command, current: Command) -> Command:
    """Return the recorded command with what may differ in the one that works here.

    These are names, metrics, and the folder of the rankings.
    """
    options = recorded.options
    if options is not None:
        options = options | {n: v for n, v in (current.options or {}).items() if n in _SCORED_BY}
    names = {
        # Equal rankings may lie in a folder of another name than before.
        name: getattr(current, name) or getattr(recorded, name)
        for name in ("retriever_name", "generator_name", "retrieval_run")
    }
    return recorded.model_copy(update={"options": options, **names})


def open_run(root: Path, words: Iterable[str], manifest: Manifest) -> Run:
    """Open the run of an identity to work in it; its folder is created if it is not there.

    Args:
        root: the folder of all runs.
        words: stand before the hash of the identity in the name of the folder.
        manifest: what is written if nothing is recorded yet; its identity says which run it is.
    """
    plain = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-") for word in words]
    name = "-".join([*(word[:40] for word in plain), manifest.identity.key])
    # The same run may be there under a name with other words.
    folder = find_folder(root, manifest.identity) or root / name
    with storage_errors("be created", folder):
        folder.mkdir(parents=True, exist_ok=True)
    return Run(folder, manifest)


def find_folder(root: Path, identity: Identity) -> Path | None:
    """Return the folder of the run of this identity, if there is one; nothing is written."""
    return min(root.glob(f"*-{identity.key}"), default=None)


def list_runs(root: str | Path = "runs") -> list[Run]:
    """Return all runs of a folder by task, corpus and name, those with unreadable manifests first.

    ```python
    from target_bench import evaluate, list_runs

    evaluate(["bm25", "tfidf"], "mini")
    print([run.status for run in list_runs("runs")])  # ['finished', 'finished']
    ```

    A run that cannot be read is listed too: its ``status`` is ``damaged``, and its ``problem`` says
    why.

    Args:
        root: the folder of all runs.

    Raises:
        StoreError: there is no such folder.
    """
    return sorted(map(Run, list_run_folders(Path(root))), key=_sort_key)


def _sort_key(run: Run) -> tuple[str, str, str]:
    try:
        return run.identity.task, run.identity.corpus, run.folder.name
    except StoreError:
        return "", "", run.folder.name
