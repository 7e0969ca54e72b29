"""Several requests to a model at a time."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import copy_context
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_WAIT = 0.5  # seconds; Windows delivers no Ctrl-C during a longer one


def imap_unordered(work: Callable[[T], R], items: Iterable[T], width: int) -> Iterator[R]:
    """Yield the result of work on each item as it is finished, with ``width`` threads.

    Items are taken from the iterable in the calling thread, each when a thread is free. An error is
    raised after the requests in flight have ended and their results were yielded, which may have
    been paid. Closing the iterator or an interrupt ends it without waiting: its threads are
    daemons.
    """
    results: SimpleQueue[tuple[R, None] | tuple[None, BaseException]] = SimpleQueue()

    def run(item: T) -> None:
        try:
            results.put((work(item), None))
        except BaseException as error:
            results.put((None, error))

    source, in_flight = iter(items), 0

    def wait() -> tuple[R, None] | tuple[None, BaseException]:
        nonlocal in_flight
        while True:
            with suppress(Empty):
                result = results.get(timeout=_WAIT)
                in_flight -= 1
                return result

    def drain() -> Iterator[R]:
        while in_flight:
            result = wait()
            if result[1] is None:
                yield result[0]

    while True:
        try:
            for item in islice(source, width - in_flight):
                context, name = copy_context(), "target-bench-request"
                Thread(target=context.run, args=(run, item), name=name, daemon=True).start()
                in_flight += 1
        except Exception:  # of the iterable, as of a prompt writer
            yield from drain()
            raise
        if not in_flight:
            return
        result = wait()
        if result[1] is not None:
            yield from drain()
            raise result[1]
        yield result[0]
