"""A worker process as its pool sees it."""

import os
import pickle
import subprocess
import sys
from collections import OrderedDict
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import IO, Any

from target_bench.errors import ConfigError, DataError
from target_bench.schema import Executed, SQLOutcome
from target_bench.sql.databases import Database
from target_bench.sql.engine import EngineName
from target_bench.sql.limits import Limits
from target_bench.sql.messages import receive, send
from target_bench.sql.worker import SENT_AT_ONCE

GRACE = 0.2
"""Seconds after the deadline in which the engine may stop by itself; then its process is killed."""

_PATIENCE = 120.0  # seconds for a worker to start, to open a database, to hand over a large result
_MOST_OPEN: dict[EngineName, int] = {"sqlite": 16, "duckdb": 2}  # at once, in one worker
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from target_bench.sql.worker import main; main()"
)


class _LateError(Exception):
    """No reply in time; the process was killed."""


class _DiedError(Exception):
    """The process ended.

    Args:
        status: as ``subprocess`` gives it: the negative number of a signal.
    """

    def __init__(self, status: int) -> None:
        how = f"signal {-status}" if status < 0 else f"status {status}"
        super().__init__(f"the process that ran it ended ({how})")
        self.by_system = status == -9  # as Linux does when memory runs out


class DiedOpeningError(DataError):
    """The process ended while it opened a database, which need not be the database's fault."""


class WorkerProcess:
    """One process that keeps databases open and runs one statement at a time.

    It gets none of the user's environment variables but those needed to start, and no signal of
    the terminal.

    Raises:
        ConfigError: it cannot be started.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: OrderedDict[Database, int] = OrderedDict()
        self._opened = 0
        self._replies: SimpleQueue[Any] = SimpleQueue()
        try:
            self._process = _started()
            Thread(target=self._listen, daemon=True).start()
            self._ask(astuple(limits), _PATIENCE)
        except (OSError, _LateError, _DiedError) as error:
            raise ConfigError(
                f"no process can be started to run SQL in ({sys.executable}): {error}. Its own "
                "words, if any, stand above; close other programs if memory is short"
            ) from error

    @property
    def alive(self) -> bool:
        """Whether it can run statements."""
        return self._process.poll() is None

    def has_open(self, database: Database) -> bool:
        """Whether the database need not be opened any more."""
        return database in self._open

    def run(self, database: Database, sql: str, repeat: int) -> tuple[Executed, int]:
        """Run a statement so many times; the first result, and the bytes it takes.

        Raises:
            DataError: the database cannot be opened or read; ``DiedOpeningError`` if the process
                ended over it.
        """
        number = self._number(database)
        first, size = self._run(database, number, sql, with_rows=True)
        last, seconds = first, first.seconds
        for _ in range(repeat - 1):
            if last.outcome != "executed" or not self.alive:
                break
            last, _ = self._run(database, number, sql, with_rows=False)
            seconds += last.seconds
        kept = first if last.outcome == "executed" else last
        return replace(kept, seconds=seconds), size

    def kill(self) -> None:
        """End the process at once; harmless if it has ended."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            _stdin(self._process).close()

    def _run(
        self, database: Database, number: int, sql: str, with_rows: bool
    ) -> tuple[Executed, int]:
        start = monotonic()
        try:
            request = ("running", number, sql, with_rows)
            what, *found = self._ask(request, self.limits.seconds + GRACE)
            if what == "ran" and with_rows and found[0][4] > SENT_AT_ONCE:
                fetched, rows = self._ask(("fetching",), _PATIENCE)
                what, found = (what, [found[0], rows]) if fetched == "rows" else (fetched, [rows])
        except _LateError:
            message = f"stopped after {self.limits.seconds:g} s"
            return Executed("timeout", message=message, seconds=(monotonic() - start,)), 0
        except _DiedError as error:
            outcome: SQLOutcome = "memory" if error.by_system else "error"
            return Executed(outcome, message=str(error), seconds=(monotonic() - start,)), 0
        if what == "unusable":
            raise DataError(f"database {database.path}: {found[0]}")
        if what == "exhausted":
            self.kill()
            return Executed("memory", message=found[0], seconds=(monotonic() - start,)), 0
        (outcome, columns, message, seconds, size, sound), rows = found
        if not sound:
            self.kill()
        return Executed(outcome, tuple(columns), tuple(rows), message, (seconds,)), size

    def _number(self, database: Database) -> int:
        """The worker's number for an open database; the one used longest ago makes room."""
        if database in self._open:
            self._open.move_to_end(database)
            return self._open[database]
        others = [other for other in self._open if other.engine == database.engine]
        fault = "the process that opened it ended"
        try:
            if len(others) >= _MOST_OPEN[database.engine]:
                self._ask(("closing", self._open.pop(others[0])), _PATIENCE)
            self._opened += 1
            what, *why = self._ask(
                ("opening", self._opened, database.engine, database.path), _PATIENCE
            )
        except _LateError as error:
            raise DataError(
                f"database {database.path} could not be opened in {_PATIENCE:g} s"
            ) from error
        except _DiedError as error:
            raise DiedOpeningError(
                f"database {database.path}: {fault}: {error}. Is it whole?"
            ) from error
        if what != "done":
            raise DataError(f"database {database.path}: {why[0]}")
        self._open[database] = self._opened
        return self._opened

    def _ask(self, request: tuple[Any, ...], seconds: float) -> Any:
        """The reply to a request; a process that gives none in time is killed."""
        with suppress(OSError):  # that it is dead shows below
            send(_stdin(self._process), request)
        try:
            reply = self._replies.get(timeout=seconds)
        except Empty:
            self.kill()
            raise _LateError(f"no reply in {seconds:g} s") from None
        if reply is None:
            self.kill()
            raise _DiedError(self._process.returncode)
        return reply

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as replies:
            try:
                while True:
                    self._replies.put(receive(replies))
            except (EOFError, OSError, pickle.UnpicklingError):
                self._replies.put(None)


def _started() -> subprocess.Popen[bytes]:
    path = [str(Path(folder).absolute()) for folder in sys.path]
    return subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-I", "-B", "-X", "utf8", "-c", _PROGRAM, *path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        start_new_session=True,
    )


def _stdin(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin
