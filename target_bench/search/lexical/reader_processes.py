"""Tokenize the texts of a large corpus in several processes."""

import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from threading import local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from target_bench.core.errors import StoreError
from target_bench.data.table_text import Analyzer, Piece, TermNumbers

T = TypeVar("T")
U = TypeVar("U")

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from target_bench.search.lexical.reader_processes import read_for_parent; read_for_parent()"
)
_AHEAD = 3  # pieces that each process gets before the first result is needed


def tokenize_in_processes(
    pieces: Iterable[Sequence[str]], analyzer: Analyzer, terms: dict[str, int], n: int
) -> Iterator[Piece]:
    """Yield the tokens of each piece as ``TermNumbers`` would, by ``n`` processes.

    A process numbers terms as it meets them, and sends the text of those that are new to it. Pieces
    are merged in their order, so ``terms`` is the same however many processes there are.
    """
    thread = local()  # each thread waits for a process
    readers: list[_Reader] = []
    numbers: dict[int, NDArray[np.int32]] = {}  # reader -> number of a term there -> number here

    def read(texts: Sequence[str]) -> tuple[int, Sequence[str], Piece]:
        if not hasattr(thread, "reader"):
            thread.reader = _Reader(analyzer)
            readers.append(thread.reader)
        return id(thread.reader), *thread.reader.read(texts)

    try:
        with ThreadPoolExecutor(n) as threads:
            for reader, new, piece in _map_in_order(threads, read, pieces, n * _AHEAD):
                here = np.array(
                    [terms.setdefault(term, len(terms)) for term in new], dtype=np.int32
                )
                earlier = numbers.get(reader, np.empty(0, dtype=np.int32))
                numbers[reader] = np.concatenate([earlier, here])
                yield Piece(numbers[reader][piece.numbers], piece.lengths)
    finally:
        for started in readers:
            started.end()


def _map_in_order(
    threads: ThreadPoolExecutor, work: Callable[[T], U], values: Iterable[T], ahead: int
) -> Iterator[U]:
    """Yield the results of values in their order; no more than ``ahead`` wait."""
    waiting: deque[Future[U]] = deque()
    try:
        for value in values:
            waiting.append(threads.submit(work, value))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


class _Reader:
    """A process that tokenizes texts."""

    # Not of ``multiprocessing``, which would run the user's script again in each process.

    def __init__(self, analyzer: Analyzer) -> None:
        path = [str(Path(folder).absolute()) for folder in sys.path]
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-c", _PROGRAM, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # an interrupt is for the parent, which ends it
        )
        try:
            self._send(analyzer.settings)
        except OSError as error:
            raise self._explain_end() from error

    def read(self, texts: Sequence[str]) -> tuple[Sequence[str], Piece]:
        """Return the terms that are new to the process, and the tokens."""
        assert self._process.stdout is not None
        try:
            self._send(texts)
            new, *arrays = pickle.load(self._process.stdout)  # noqa: S301 (our own program's)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise self._explain_end() from error
        return new, Piece(*arrays)

    def _explain_end(self) -> StoreError:
        code = self._process.wait()
        self._process.communicate()  # closes the pipes, even with output that nobody read
        return StoreError(
            f"a process that read tables for the index has ended (exit code {code}). Is there "
            "enough memory? With OMP_NUM_THREADS=1 in the environment one process does all of it, "
            "with less."
        )

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(value, self._process.stdin, protocol=5)
        self._process.stdin.flush()

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def read_for_parent() -> None:
    """Answer pieces of texts on standard input until it is closed."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what libraries print is for people
        terms: dict[str, int] = {}
        numbers = TermNumbers(Analyzer(*pickle.load(sys.stdin.buffer)), terms)  # noqa: S301
        n_sent = 0
        while True:
            try:
                texts = pickle.load(sys.stdin.buffer)  # noqa: S301 (our parent's)
            except EOFError:
                return
            piece = numbers(texts)
            new = list(islice(reversed(terms), len(terms) - n_sent))[::-1]
            n_sent = len(terms)
            pickle.dump((new, *piece), answers, protocol=5)
            answers.flush()
