"""What is worth its cost for many tables: several processes, several threads, one large matrix."""

import os
import pickle
import subprocess
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate, islice
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
    "from target_bench.search.lexical.large_corpora import read_for_parent; read_for_parent()"
)
_AHEAD = 3
"""Pieces that are handed out for each process before the first result is waited for."""
_MOST_WEIGHTS = 2**26
"""The most weights in one matrix (768 MiB). While it is joined, its parts are in memory as well;
every further matrix costs each query a little time."""


def read_beside(
    pieces: Iterable[Sequence[str]], analyzer: Analyzer, terms: dict[str, int], n: int
) -> Iterator[Piece]:
    """Yield the tokens of each piece, found by ``n`` processes, as ``TermNumbers`` would find them.

    A process numbers the terms as it meets them, and sends those that are new to it. Pieces are
    merged in their order, so the numbers here are the same however many processes there are.

    Raises:
        StoreError: a process has ended.
    """
    own = local()
    numbers_of: dict[int, NDArray[np.int32]] = {}

    def read(texts: Sequence[str]) -> tuple[int, Sequence[str], Piece]:
        if not hasattr(own, "reader"):
            own.reader = _Reader(analyzer)
            readers.append(own.reader)
        return id(own.reader), *own.reader.read(texts)

    readers: list[_Reader] = []
    try:
        with ThreadPoolExecutor(n) as threads:
            for reader, new, found in _in_order(threads, read, pieces, n * _AHEAD):
                here = [terms.setdefault(term, len(terms)) for term in new]
                known = numbers_of.get(reader, np.empty(0, dtype=np.int32))
                numbers_of[reader] = np.concatenate([known, np.array(here, dtype=np.int32)])
                yield Piece(numbers_of[reader][found.numbers], found.lengths)
    finally:
        for started in readers:
            started.end()


def _in_order(
    threads: ThreadPoolExecutor, work: Callable[[T], U], values: Iterable[T], ahead: int
) -> Iterator[U]:
    """Yield the results of values in their order; no more than a few wait."""
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
    """A process that reads texts."""

    def __init__(self, analyzer: Analyzer) -> None:
        path = [str(Path(folder).absolute()) for folder in sys.path]
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-c", _PROGRAM, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # an interrupt is for the parent, which ends it
        )
        self._send(analyzer.settings)

    def read(self, texts: Sequence[str]) -> tuple[Sequence[str], Piece]:
        """Return the terms that are new to the process, and the tokens."""
        assert self._process.stdout is not None
        try:
            self._send(texts)
            new, *found = pickle.load(self._process.stdout)  # noqa: S301 (our own program's)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise StoreError(
                "a process that read tables for the index has ended (exit code "
                f"{self._process.wait()}). Is there enough memory? With OMP_NUM_THREADS=1 in the "
                "environment one process does all of it, with less."
            ) from error
        return new, Piece(*found)

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
        known = 0
        while True:
            try:
                texts = pickle.load(sys.stdin.buffer)  # noqa: S301 (our parent's)
            except EOFError:
                return
            found = numbers(texts)
            new = list(islice(reversed(terms), len(terms) - known))[::-1]
            known = len(terms)
            pickle.dump((new, *found), answers, protocol=5)
            answers.flush()


def side_by_side(parts: list[Any]) -> Iterator[Any]:
    """Join (terms, tables) CSR matrices of consecutive tables into few, each within the limit.

    A matrix is taken off the list when its turn comes, so that few weights are in memory twice.
    """
    while parts:
        n = bisect_right(list(accumulate(part.nnz for part in parts)), _MOST_WEIGHTS)
        yield _joined([parts.pop(0) for _ in range(max(1, n))])


def _joined(parts: list[Any]) -> Any:
    from scipy.sparse import csr_matrix

    if len(parts) == 1:
        return parts[0]
    indptr = np.zeros(len(parts[0].indptr), dtype=np.int32)
    for part in parts:
        indptr += part.indptr
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    shape, n_tables, free = (len(indptr) - 1, sum(p.shape[1] for p in parts)), 0, indptr[:-1].copy()
    while parts:
        part = parts.pop(0)
        n = np.diff(part.indptr)
        places = np.repeat(free - part.indptr[:-1], n) + np.arange(part.nnz, dtype=np.int32)
        indices[places] = part.indices + np.int32(n_tables)
        data[places] = part.data
        free += n
        n_tables += part.shape[1]
    return csr_matrix((data, indices, indptr), shape=shape)
