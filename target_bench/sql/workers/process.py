"""A worker process as its pool sees it, and what goes between the two.

Messages are plain values, each preceded by its length. Of the result of a prediction only the
beginning and the shape are sent.
"""

import io
import math
import os
import pickle
import struct
import sys
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

from target_bench.core.errors import BudgetError, ConfigError, DataError
from target_bench.core.schema import Cell, Executed, SQLOutcome
from target_bench.sql.engines.databases import Database, EngineName, Limits

if TYPE_CHECKING:
    import subprocess

GRACE = 0.2
"""Seconds after the deadline in which the engine may stop by itself; then its process is killed."""

Wanted = Literal["all", "beginning", "none"]
"""Rows of a result that a process sends back."""

ROWS, COLUMNS, CHARACTERS = 20, 20, 200
"""Size of a result preview: rows, columns, and characters of a cell or name."""

SENT_AT_ONCE = 1 << 20
"""Bytes of a result that come with the report of the run; a larger one is asked for apart."""

_PATIENCE = 120.0  # seconds for a worker to start, to open a database, to hand over a large result
_MOST_OPEN: dict[EngineName, int] = {"sqlite": 16, "duckdb": 2}  # at once, in one worker
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "LANG", "LC_ALL")

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from target_bench.sql.workers.worker import main; main()"
)
_LENGTH = struct.Struct("<Q")


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


class Shape(NamedTuple):
    """The size of a whole result."""

    rows: int = 0
    columns: int = 0


class WorkerProcess:
    """One process that keeps databases open and runs one statement at a time.

    It gets none of the user's environment variables but those needed to start, and no signal of
    the terminal.

    Args:
        limits: of every statement.
        end: the ``time.monotonic`` at which all work has to end; None for none.

    Raises:
        ConfigError: it cannot be started.
    """

    def __init__(self, limits: Limits, end: float | None = None) -> None:
        self.limits = limits
        self._end = end
        self._open: OrderedDict[Database, int] = OrderedDict()
        self._opened = 0
        self._warm = False
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
        """Return whether the database is open already."""
        return database in self._open

    def run(
        self, database: Database, sql: str, repeat: int, wanted: Wanted = "all"
    ) -> tuple[Executed, int, Shape]:
        """Run a statement ``repeat`` times; return the result, the bytes it takes, and its shape.

        Of ``wanted`` rows that are the ``beginning``, and of their names, the rest stays
        with the process, to be compared there until it runs another statement.

        Raises:
            DataError: the database cannot be opened or read; ``DiedOpeningError`` if the process
                ended over it.
        """
        number = self._number(database)
        seconds: tuple[float, ...] = ()
        for _ in range(repeat - 1):
            earlier, *_ = self._run(database, number, sql, "none")
            seconds += earlier.seconds
            if earlier.outcome != "executed" or not self.alive:
                return replace(earlier, seconds=seconds), 0, Shape()
        last, size, shape = self._run(database, number, sql, wanted)
        return replace(last, seconds=seconds + last.seconds), size, shape

    def compare(
        self, names: tuple[str, ...], gold: Executed, gold_sql: str
    ) -> dict[str, float] | Executed:
        """Compare the result that stayed with the process with the gold's (``sql_rules.compared``).

        Returns:
            The value under each rule; or what stopped the comparison.
        """
        request = ("comparing", names, gold.rows, gold_sql)
        found = self._limited(request, "the comparison of its result with the gold's")
        if isinstance(found, Executed):
            return found
        values: dict[str, float] = found[1]
        return values

    def read(self, name: str, details: tuple[Any, ...], what: str) -> Any:
        """Process a text (``text_work``), under the limits of a statement.

        Args:
            name: of the work.
            details: what it is done on; plain values.
            what: what is done, for a message.

        Returns:
            What the work gives, or an ``Executed`` that says what stopped it.
        """
        if not self._warm:  # which may take longer than a statement may
            self._warm = True
            stopped = self._limited(("reading", "warmed", ()), "starting", _PATIENCE)
            if isinstance(stopped, Executed):
                return stopped
        found = self._limited(("reading", name, details), what)
        return found if isinstance(found, Executed) else found[1]

    def kill(self) -> None:
        """End the process at once; harmless if it has ended."""
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            _stdin(self._process).close()

    def _run(
        self, database: Database, number: int, sql: str, wanted: Wanted
    ) -> tuple[Executed, int, Shape]:
        reply = self._limited(("running", number, sql, wanted), "the statement")
        if isinstance(reply, Executed):
            return reply, 0, Shape()
        what, *found = reply
        if what == "ran" and wanted == "all" and found[0][4] > SENT_AT_ONCE:
            reply = self._limited(("fetching",), "handing over its result", _PATIENCE)
            if isinstance(reply, Executed):
                return reply, 0, Shape()
            found[1] = reply[1]
        if what == "unusable":
            raise DataError(f"database {database.path}: {found[0]}")
        (outcome, columns, message, seconds, size, sound), rows, shape = found
        if not sound:
            self.kill()
        executed = Executed(outcome, tuple(columns), tuple(rows), message, (seconds,))
        return executed, size, Shape(*shape)

    def _limited(
        self, request: tuple[Any, ...], what: str, seconds: float | None = None
    ) -> tuple[Any, ...] | Executed:
        """Return the reply to a request, or the reason of the process's death.

        Raises:
            BudgetError: the time for all work is over.
        """
        start = monotonic()
        limit = self.limits.seconds if seconds is None else seconds
        left = math.inf if self._end is None else self._end - start
        try:
            reply: tuple[Any, ...] = self._ask(request, max(min(limit + GRACE, left), 0.0))
        except _LateError:
            if left < limit + GRACE:
                raise BudgetError("the time for all statements together is over") from None
            message = f"{what} was stopped after {limit:g} s"
            return Executed("timeout", message=message, seconds=(monotonic() - start,))
        except _DiedError as error:
            outcome: SQLOutcome = "memory" if error.by_system else "error"
            return Executed(outcome, message=str(error), seconds=(monotonic() - start,))
        if reply[0] == "exhausted":
            self.kill()
            message = f"{what}: {reply[1]}"
            return Executed("memory", message=message, seconds=(monotonic() - start,))
        return reply

    def _number(self, database: Database) -> int:
        """Return the worker's number for an open database; the one used longest ago makes room."""
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
        """Return the reply to a request; a process that gives none in time is killed."""
        with suppress(OSError):  # that it is dead shows below
            send(_stdin(self._process), request)
        try:
            reply = self._replies.get(timeout=seconds)
        except Empty:
            self.kill()
            raise _LateError(f"no reply in {seconds:g} s") from None
        if reply is None:
            from subprocess import TimeoutExpired

            with suppress(TimeoutExpired):  # its own end says more than being killed
                self._process.wait(1)
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


def _started() -> "subprocess.Popen[bytes]":
    import subprocess  # here, as a worker imports this module too and has no use for it

    path = [str(Path(folder).absolute()) for folder in sys.path]
    return subprocess.Popen(  # noqa: S603 (our own program)
        [sys.executable, "-I", "-B", "-X", "utf8", "-c", _PROGRAM, *path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        start_new_session=True,
    )


def _stdin(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def send(file: IO[bytes], value: Any) -> None:
    """Write a value made of numbers, text, bytes, None, tuples and lists.

    Raises:
        OSError: the other end is closed.
    """
    data = pickle.dumps(value, protocol=5)
    file.write(_LENGTH.pack(len(data)))
    file.write(data)
    file.flush()


def receive(file: IO[bytes]) -> Any:
    """Read the next value.

    Raises:
        EOFError: the other end is closed.
        pickle.UnpicklingError: it is more than plain values.
    """
    (length,) = _LENGTH.unpack(_exactly(file, _LENGTH.size))
    return _Plain(io.BytesIO(_exactly(file, length))).load()


def _exactly(file: IO[bytes], n: int) -> bytes:
    data = file.read(n)
    if len(data) < n:
        raise EOFError
    return data


class _Plain(pickle.Unpickler):
    """An unpickler of plain values only: no class, so no code from outside."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")


def beginning(result: Executed) -> Executed:
    """Return a preview: first rows and columns; a text may be one character longer than shown."""
    columns = tuple(begun_names(result.columns))
    return replace(result, columns=columns, rows=tuple(begun(result.rows)))


def begun_names(columns: Sequence[str]) -> list[str]:
    """Return the beginning of the names of columns: a statement can make them any length."""
    return [name[: CHARACTERS + 1] for name in columns[:COLUMNS]]


def begun(rows: Sequence[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """Return the beginning of rows, as in a preview."""
    return [tuple(map(_short, row[:COLUMNS])) for row in rows[:ROWS]]


def _short(cell: Cell) -> Cell:
    return cell[: CHARACTERS + 1] if isinstance(cell, str | bytes) else cell
