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
    raised after the requests in flight have ended, so that paid answers are kept. Closing the
    iterator or an interrupt ends it without waiting: its threads are daemons.
    """
    results: SimpleQueue[tuple[R, None] | tuple[None, BaseException]] = SimpleQueue()

    def run(item: T) -> None:
        try:
            results.put((work(item), None))
        except BaseException as error:
            results.put((None, error))

    source, in_flight = iter(items), 0
    while True:
        for item in islice(source, width - in_flight):
            context, name = copy_context(), "target-bench-request"
            Thread(target=context.run, args=(run, item), name=name, daemon=True).start()
            in_flight += 1
        if not in_flight:
            return
        try:
            result = results.get(timeout=_WAIT)
        except Empty:
            continue
        in_flight -= 1
        if result[1] is not None:
            while in_flight:
                with suppress(Empty):
                    results.get(timeout=_WAIT)
                    in_flight -= 1
            raise result[1]
        yield result[0]
