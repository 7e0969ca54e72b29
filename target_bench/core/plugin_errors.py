"""Errors of plug-ins: each names the plug-in, the call, and the line of the user's file."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

from target_bench.core.errors import PASSED_ON, PluginError, TargetBenchError
from target_bench.core.registry import class_name, is_package_code
from target_bench.core.user_code import find_user_line, read_message

T = TypeVar("T")


@contextmanager
def plugin_errors(name: str, during: str, advice: str = "") -> Iterator[None]:
    """Turn exceptions of a plug-in inside a ``with`` block into ``PluginError``.

    Args:
        name: the plug-in, as ``retriever bm25``.
        during: the call, as ``embed_corpus on mini test``.
        advice: the end of the message.
    """
    try:
        yield
    except (*PASSED_ON, TargetBenchError):
        raise
    except BaseException as error:
        raise plugin_error(error, name, during, advice) from error


def guard_plugin(kind: str, plugin: object, during: str) -> AbstractContextManager[None]:
    """Return ``plugin_errors`` for a user's task or metric, nothing for those of this package."""
    if is_package_code(type(plugin)):
        return nullcontext()
    return plugin_errors(f"{kind} {class_name(type(plugin))}", during)


def plugin_error(error: BaseException, name: str, during: str, advice: str = "") -> PluginError:
    """Return the error for what a plug-in raised; arguments as for ``plugin_errors``."""
    problem = f"{name} raised {type(error).__name__} in {during}: {read_message(error)}{advice}"
    return PluginError(problem + find_user_line(error))


def iterate_guarded(items: Iterable[T], name: str, during: str, advice: str = "") -> Iterator[T]:
    """Iterate over the items of a plug-in, with ``plugin_errors`` around its code alone."""
    with plugin_errors(name, during, advice):
        iterator = iter(items)
    while True:
        with plugin_errors(name, during, advice):
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item  # outside: a reader that stops early is no fault of the plug-in
