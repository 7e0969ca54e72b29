"""Shared parts of the engines: results under limits, and errors of unreadable databases."""

from collections.abc import Callable, Iterable
from itertools import chain
from sys import getsizeof
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from target_bench.core.schema import Cell, SQLOutcome
from target_bench.sql.engines.databases import Limits

MORE_THAN_ONE = (
    "more than one statement, or text after the first (a fence, prose): one statement may be run"
)
"""Reason why several statements are not run."""


class UnusableError(Exception):
    """A database that cannot be opened or read, with any statement; says why and what to do."""


class TooLargeError(Exception):
    """A result over a limit; says which."""


class Ran(NamedTuple):
    """One run of a statement.

    Attributes:
        outcome: what became of it.
        columns: the names of the result's columns.
        rows: the result.
        size: bytes the names and rows take.
        message: the engine's words, or which limit was met.
        seconds: how long it took.
        sound: whether the engine can go on; if not, its process has to end.
    """

    outcome: SQLOutcome
    columns: list[str]
    rows: list[tuple[Cell, ...]]
    size: int
    message: str
    seconds: float
    sound: bool


class Engine(Protocol):
    """An open database."""

    def run(self, sql: str) -> Ran:
        """Run a statement and fetch its result.

        Raises:
            UnusableError: the database cannot be read.
        """

    def close(self) -> None:
        """Close the database."""


class Failure(NamedTuple):
    """The reason why a statement was not executed."""

    outcome: SQLOutcome
    message: str
    sound: bool = True


Result = tuple[list[str], Iterable[tuple[Cell, ...]]]


def timed(
    result: Callable[[], Result], failure: Callable[[Exception], Failure], limits: Limits
) -> Ran:
    """Run and fetch: names and rows from ``result``, within the limits.

    Args:
        result: starts the statement.
        failure: what an exception of the engine's means.
        limits: how much may be fetched.
    """
    start = perf_counter()
    try:
        columns, rows = result()
        fetched, size = _within(columns, rows, limits)
        return Ran("executed", columns, fetched, size, "", perf_counter() - start, True)
    except TooLargeError as error:
        failed = Failure("memory", str(error))
    except MemoryError:
        failed = Failure("memory", f"more than {limits.memory:,} bytes of memory", sound=False)
    except Exception as error:
        failed = failure(error)
    seconds = perf_counter() - start
    return Ran(failed.outcome, [], [], 0, failed.message, seconds, failed.sound)


def _within(
    columns: list[str], rows: Iterable[tuple[Any, ...]], limits: Limits
) -> tuple[list[tuple[Any, ...]], int]:
    kept: list[tuple[Any, ...]] = []
    size = _checked(sum(map(getsizeof, columns)), limits)
    for row in rows:
        size += sum(map(getsizeof, chain((row,), row)))
        kept.append(row)
        if len(kept) > limits.rows:
            raise TooLargeError(f"more than {limits.rows:,} rows")
        _checked(size, limits)
    return kept, size


def _checked(size: int, limits: Limits) -> int:
    if size > limits.result_bytes:
        raise TooLargeError(f"a result of more than {limits.result_bytes:,} bytes")
    return size
