"""From a sweep's file to its cells: a list is a list of alternatives, cells are their product."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import inf, prod
from typing import Any, NamedTuple

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, unknown_name
from target_bench.core.settings import check_named_once, named
from target_bench.core.task import Task
from target_bench.core.task_names import task_class, task_named, task_text
from target_bench.data import distractors
from target_bench.data.load import loader, split_of
from target_bench.harness.options import (
    EXTRACTIVE,
    OPTIONS,
    PROMPT_OPTIONS,
    Options,
    in_sweeps,
    options_read,
    read_option,
)
from target_bench.harness.sweeps.cell import SweepCell
from target_bench.harness.sweeps.specs import PLUGINS, spec_text
from target_bench.harness.sweeps.sweep_file import SweepFile

MOST_CELLS = 10_000
"""Combinations of a file at most: more would take hours to look at alone, and is a slip."""

_OPTION_LISTS = {entry: each.name for entry, each in in_sweeps(axis=True)}
"""Entry -> option of ``run`` of which it lists values."""

_LISTS = ("corpora", "splits", "distractors", *PLUGINS, *_OPTION_LISTS)
"""Entries that are lists; cells that share data, and then a task, stand together."""

_SHARED = {entry: each.name for entry, each in in_sweeps(axis=False)} | {
    "out": "out",
    "data_dir": "data_dir",
}
"""Entry -> option of ``run`` that is the same for all cells."""

_OF_CORPUS = {"splits": "split", "database": "database", "limit": "limit"}
"""Key of an entry of ``corpora`` -> option of ``run``."""

_ENTRIES = [*dict.fromkeys(_LISTS), *_SHARED, "name"]


class CellPlugin(NamedTuple):
    """A task, retriever or generator as on the command line, its name, and the GPUs it needs."""

    text: str | None
    name: str | None = None
    gpus: float = 0.0


def name_of(document: SweepFile) -> str:
    """Return the name of a sweep: what its file says, else that of its file."""
    name = document.content.get("name", document.file.stem)
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]*\w", name) or name[0] == ".":
        raise ConfigError(f"{document.at('name')}: {name!r} is no name for files")
    return name


def shared_options(document: SweepFile) -> dict[str, Any]:
    """Return the options of ``run`` that all cells share, and check the names of all entries."""
    for entry in document.content:
        with document.collecting(document.at(entry)):
            if entry not in _ENTRIES:
                raise ConfigError(unknown_name("key", entry, _ENTRIES))
    shared = {}
    for entry, name in _SHARED.items():
        value = document.content.get(entry, OPTIONS[name].default)
        with document.collecting(document.at(entry)):
            shared[name] = read_option(name, value, document.at(entry))
    document.raise_problems()
    return shared


def cells(document: SweepFile, shared: Mapping[str, Any]) -> list[SweepCell]:
    """Return the cells of a sweep, those of one split together, numbered from 1.

    Args:
        document: the file.
        shared: its ``shared_options``.
    """
    axes = _axes(document)
    unique: dict[SweepCell, SweepCell] = {}
    for chosen in combined(axes, document.at()):
        for cell in _cells(chosen, shared, document):
            unique.setdefault(replace(cell, retriever_name=None, generator_name=None), cell)
    return [replace(cell, number=n) for n, cell in enumerate(unique.values(), 1)]


def combined(axes: Mapping[str, Sequence[Any]], where: str) -> list[dict[str, Any]]:
    """Return every combination of the alternatives.

    Args:
        axes: list -> its alternatives.
        where: the entry that the lists are part of.
    """
    n = prod(map(len, axes.values()))
    if n > MOST_CELLS:
        raise ConfigError(
            f"{where}: the product of the lists has {n:,} cells, and a sweep has at most "
            f"{MOST_CELLS:,}. Shorten the lists, or divide them among several files"
        )
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _listed(value: Any) -> list[Any]:
    """Return a list as it is; a single value stands for a list of one."""
    return value if isinstance(value, list) else [value]


# The lists of a file


def _axes(document: SweepFile) -> dict[str, list[Any]]:
    """Return the alternatives of each list."""
    axes: dict[str, list[Any]] = {}
    for entry in _LISTS:
        default = OPTIONS[_OPTION_LISTS[entry]].default if entry in _OPTION_LISTS else None
        values = document.content.get(entry, default)
        if values is None and entry == "corpora":
            values = []
        choices: list[Any] = []
        for i, value in enumerate(_listed(values)):
            where = document.at(entry, i)
            with document.collecting(where):
                choices += _choices(entry, value, where)
        axes[entry] = choices
        with document.collecting(document.at(entry)):
            if values == []:
                raise ConfigError("the list is empty")
            if entry in PLUGINS:
                names = [v.get("name") if isinstance(v, dict) else v for v in _listed(values)]
                check_named_once(name for name in names if isinstance(name, str))
    document.raise_problems()
    return axes


def _choices(entry: str, value: Any, where: str) -> Iterator[Any]:
    """Yield the alternatives that a value in a list of the file stands for."""
    if entry in _OPTION_LISTS:
        yield read_option(_OPTION_LISTS[entry], value, where)
    elif entry == "distractors":
        mixed = [_specs(part, where) for part in _listed(value) if part not in ("none", None)]
        for parts in combined({str(i): specs for i, specs in enumerate(mixed)}, where):
            yield tuple(filter(None, parts.values()))
    elif entry == "corpora":
        for data in _expanded(value, where, tuple(_OF_CORPUS)):
            name = data.pop("name")
            yield (
                name,
                {
                    _OF_CORPUS[key]: read_option(_OF_CORPUS[key], each, f"{where}.{key}")
                    for key, each in data.items()
                },
            )
    elif value is None:
        yield CellPlugin(None)
    else:
        for settings in _expanded(value, where):
            gpus = settings.pop("gpus", 0.0)
            if not isinstance(gpus, int | float) or not 0 <= gpus < inf:
                raise ConfigError(f"{where}.gpus: expected a number from 0, not {gpus!r}")
            name, plain = named(settings.pop("name"))
            yield CellPlugin(spec_text(PLUGINS[entry], plain, settings), name, gpus)


def _expanded(value: Any, where: str, known: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return ``{name: ..., setting: ...}`` for each combination of the settings of an entry.

    Args:
        value: the entry: a name, or a mapping of settings to values or lists of alternatives.
        where: the entry, for messages.
        known: the settings that there are; empty if they are checked later.
    """
    if isinstance(value, str):
        return [{"name": value}]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ConfigError(f"{where}: expected a name or {{name: ..., setting: ...}}, not {value!r}")
    axes = {key: _listed(given) for key, given in value.items()}
    for key, alternatives in axes.items():
        if known and key not in ("name", *known):
            raise ConfigError(f"{where}.{key}: {unknown_name('key', key, known)}")
        if not alternatives:
            raise ConfigError(f"{where}.{key}: the list is empty")
    return combined(axes, where)


def _specs(entry: Any, where: str) -> list[str]:
    """Return distractors as the command line writes them; empty text for none."""
    specs = []
    for settings in _expanded(entry, where, distractors.SETTINGS):
        name = settings.pop("name")
        text = ",".join(f"{key}={value}" for key, value in settings.items())
        between = "," if distractors.divided(name)[1] else ":"
        specs.append("" if settings.get("n") == 0 else f"{name}{between}{text}" if text else name)
    return specs


# Cells


def _cells(
    chosen: Mapping[str, Any], shared: Mapping[str, Any], document: SweepFile
) -> Iterator[SweepCell]:
    """Yield a cell for each task of a combination; without a task, those that its corpus serves."""
    corpus, _ = chosen["corpora"]
    retriever, generator = chosen["retrievers"], chosen["generators"]
    for text in _tasks(chosen, document):
        task = task_class(text)
        if task.source == "retrieved" and retriever.text is None:
            raise ConfigError(
                f"{document.at()}: the entry retrievers is missing: {task.title} is about tables "
                "that are retrieved"
            )
        ranking = retriever if task.source == "retrieved" else CellPlugin(None)
        answering = generator if task.answer != "ranking" else CellPlugin(None)
        if task.answer != "ranking" and generator.text is None:
            answering = CellPlugin(EXTRACTIVE)
        yield SweepCell(
            number=0,
            task=text,
            corpus=corpus,
            retriever=ranking.text,
            generator=answering.text,
            options=_options(task, chosen, shared),
            retriever_name=ranking.name,
            generator_name=answering.name,
            gpus=max(ranking.gpus, answering.gpus),
        )


def _tasks(chosen: Mapping[str, Any], document: SweepFile) -> list[str]:
    """Return the task that is chosen; else retrieval; else, with generators, all about answers."""
    text, (corpus, _) = chosen["tasks"].text, chosen["corpora"]
    try:
        if text is not None:
            task_named(text)
            return [task_text(text)]
        if chosen["generators"].text is None:
            return [RANKING_TASK]
        return [task for task in loader(corpus).info.tasks if task != RANKING_TASK]
    except (ConfigError, DataError) as error:
        raise ConfigError(f"{document.at('tasks' if text else 'corpora')}: {error}") from error


def _options(
    task: type[Task[Any]], chosen: Mapping[str, Any], shared: Mapping[str, Any]
) -> Options:
    """Return the options of a cell; those of prompts that the task does not read make no cell."""
    corpus, own = chosen["corpora"]
    values = {**shared, "distractors": chosen["distractors"]}
    values |= {name: chosen[entry] for entry, name in _OPTION_LISTS.items()} | own
    with suppress(ConfigError, DataError):  # told where the corpus is loaded
        values["split"] = split_of(loader(corpus), values["split"])
    values["indexes"] = None  # chosen where it is known which retrievers can save theirs
    values["out"] = values["out"].resolve()
    read = options_read(task) if task.answer != "ranking" else frozenset[str]()
    return Options.of({n: v for n, v in values.items() if n not in PROMPT_OPTIONS or n in read})
