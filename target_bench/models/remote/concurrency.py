"""Concurrent requests: many items processed at once, in an event loop in its own thread."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

Notice = Callable[[], None]
Work = Callable[[T], Awaitable[R]]
Session = Callable[[], AbstractAsyncContextManager[Work[T, R]]]

_LOOK = 0.5  # seconds between looks at signals, which some systems do not deliver to a wait


@dataclass(frozen=True, slots=True)
class _Done(Generic[R]):
    """The result of a finished piece of work."""

    value: R


@dataclass(frozen=True, slots=True)
class _Failed:
    """Error that a piece of work raised."""

    error: BaseException


class ConcurrentRequests(Generic[T, R]):
    """Requests processed concurrently in an event loop; what one raises is raised to the caller.

    Items are drawn, notices called and results given in the calling thread, so it may have an
    event loop of its own, and nothing is drawn that is not begun at once.

    Args:
        session: opened before the first item and closed after the last, in the event loop; gives
            what is done with an item.
        width: how many items are under way at most.
    """

    def __init__(self, session: Session[T, R], width: int) -> None:
        self._session = session
        self._width = width
        self._queue: SimpleQueue[_Done[R] | _Failed | Notice] = SimpleQueue()

    def post(self, notice: Notice) -> None:
        """Have this called in the thread that waits for results, soon; from any thread."""
        self._queue.put(notice)

    def results(self, items: Iterable[T]) -> Iterator[R]:
        """Yield the results as they are finished.

        Closing the iterator cancels what is under way and closes the session.

        Raises:
            BaseException: what the session, the items or a piece of work raised.
        """
        thread: _LoopThread[T, R] = _LoopThread(self._session, self._queue)
        source, under_way = iter(items), 0
        try:
            while True:
                for item in islice(source, self._width - under_way):
                    thread.begin(item)
                    under_way += 1
                if not under_way:
                    break
                result = self._next(thread)
                under_way -= 1
                yield result
        finally:
            thread.stop()
            self._call_the_rest()

    def _next(self, thread: "_LoopThread[T, R]") -> R:
        while True:
            try:
                found = self._queue.get(timeout=_LOOK)
            except Empty:
                thread.check()
                continue
            if isinstance(found, _Done):
                return found.value
            if isinstance(found, _Failed):
                raise found.error
            found()

    def _call_the_rest(self) -> None:
        with suppress(Empty):
            while True:
                found = self._queue.get_nowait()
                if not isinstance(found, _Done | _Failed):
                    found()


class _LoopThread(Generic[T, R]):
    """The event loop, its thread, and the session in it."""

    def __init__(
        self, session: Session[T, R], queue: "SimpleQueue[_Done[R] | _Failed | Notice]"
    ) -> None:
        self._session = session
        self._queue = queue
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = Thread(target=self._run, name="target-bench-requests", daemon=True)
        self._work: Work[T, R]
        self._stopping: asyncio.Event

    def begin(self, item: T) -> None:
        """Begin work on an item; the first opens the session.

        Raises:
            BaseException: the session could not be opened.
        """
        if self._thread.ident is None:
            self._thread.start()
        self._ready.result().call_soon_threadsafe(self._begin, item)

    def check(self) -> None:
        """See that the thread is alive.

        Raises:
            RuntimeError: it is not, so no result will come.
        """
        if not self._thread.is_alive():
            raise RuntimeError("the event loop of the requests has ended")

    def stop(self) -> None:
        """Cancel what is under way, close the session, end the thread."""
        if self._thread.ident is None:
            return
        if self._ready.exception() is None:
            with suppress(RuntimeError):  # its loop is closed already
                self._ready.result().call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        try:
            async with self._session() as work:
                self._work = work
                self._stopping = asyncio.Event()
                self._ready.set_result(asyncio.get_running_loop())
                await self._stopping.wait()
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    def _begin(self, item: T) -> None:
        task = asyncio.create_task(self._one(item))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _one(self, item: T) -> None:
        try:
            done: _Done[R] | _Failed = _Done(await self._work(item))
        except asyncio.CancelledError as error:
            if self._stopping.is_set():
                raise
            done = _Failed(RuntimeError(f"a request was cancelled: {error}"))
        except BaseException as error:
            done = _Failed(error)
        self._queue.put(done)
