"""Requests to a model, several at a time."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import copy_context
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_SIGNALS = 0.5  # seconds between looks at signals, which Windows does not deliver to a wait


def in_threads(work: Callable[[T], R], items: Iterable[T], width: int) -> Iterator[R]:
    """Yield the result of work on each item as it is finished; ``width`` of them at a time.

    An item is drawn, in the calling thread, when its work begins at once. An error is raised when
    what is under way is done, so that answers that are paid for can be kept. Closing the iterator
    or an interrupt ends it without waiting: its threads are daemons.
    """
    results: SimpleQueue[tuple[R, None] | tuple[None, BaseException]] = SimpleQueue()

    def run(item: T) -> None:
        try:
            results.put((work(item), None))
        except BaseException as error:
            results.put((None, error))

    source, under_way = iter(items), 0
    while True:
        for item in islice(source, width - under_way):
            context, name = copy_context(), "target-bench-request"
            Thread(target=context.run, args=(run, item), name=name, daemon=True).start()
            under_way += 1
        if not under_way:
            return
        try:
            result = results.get(timeout=_SIGNALS)
        except Empty:
            continue
        under_way -= 1
        if result[1] is not None:
            while under_way:
                with suppress(Empty):
                    results.get(timeout=_SIGNALS)
                    under_way -= 1
            raise result[1]
        yield result[0]
