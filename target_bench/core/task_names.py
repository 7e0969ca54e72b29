"""Tasks by their names: short name, title or alias in any spelling, or a class of a user's own."""

from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.task import Task


def make_task(text: str) -> Task[Any]:
    """Return a task with its settings; errors as for ``task_class`` and ``registry.create``."""
    task_class(text)
    task: Task[Any] = registry.create("task", text)
    return task


def task_class(text: str) -> type[Task[Any]]:
    """Return the class of a task, from any of its names in any case, with or without settings.

    Raises:
        ConfigError: no task has this name, or what was named is not a task.
    """
    target = registry.parse("task", text).target
    cls = registry.resolve("task", target)
    if not (isinstance(cls, type) and issubclass(cls, Task)):
        raise ConfigError(f"{target} is not a task: it does not inherit target_bench.Task")
    for attribute in ("name", "title"):
        if not isinstance(getattr(cls, attribute, None), str):
            raise ConfigError(f"{target} is not a task: it has no attribute `{attribute}`")
    return cls


def task_named(text: str) -> str:
    """Return the short name of a task from any of its names; errors as for ``task_class``."""
    return task_class(text).name


def task_text(text: str) -> str:
    """Return a task with its settings, valid from any folder.

    Its name is in the registered spelling, as in ``mine:timeout=5``; the path of a file is
    absolute.

    Raises:
        ConfigError: the settings cannot be read.
    """
    target = registry.parse("task", text).target
    return registry.anywhere(registry.canonical("task", target)) + text[len(target) :]
