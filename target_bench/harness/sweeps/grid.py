"""From a sweep's file to its cells: a list is a list of alternatives, cells are their product."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import inf, prod
from pathlib import Path
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, unknown_name
from target_bench.core.registry import find_task, spell_task
from target_bench.core.run_config import (
    EXTRACTIVE,
    OPTIONS,
    PROMPT_OPTIONS,
    RunConfig,
    options_read,
    read_option,
)
from target_bench.core.settings import check_named_once, split_name
from target_bench.data import distractors
from target_bench.data.load import loader, split_of
from target_bench.harness.sweeps.cell import SweepCell
from target_bench.harness.yaml_file import PLUGINS, YamlFile, spec_text, with_name

MOST_CELLS = 10_000
"""Combinations of a file at most: more would take hours to look at alone, and is a slip."""

_OPTION_LISTS = {option.axis: name for name, option in OPTIONS.items() if option.axis}
"""Entry -> option of ``run`` of which it lists values."""

_LISTS = ("corpora", "splits", "distractors", *PLUGINS, *_OPTION_LISTS)
"""Entries that are lists; cells that share data, and then a task, stand together."""

_SHARED = [n for n, option in OPTIONS.items() if n not in _LISTS and not option.axis]
"""Options of ``run`` that are the same for all cells."""

_OF_CORPUS = {"splits": "split", "limit": "limit"}
"""Key of an entry of ``corpora`` -> option of ``run``."""


def read_name(file: YamlFile) -> str:
    """Return the name of a sweep: what its file says, else that of its file."""
    name = file.content.get("name", file.path.stem)
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise ConfigError(f"{file.at('name')}: {name!r}: expected letters, digits, ., _ and -")
    return name


def cells(file: YamlFile, out: Path | None = None) -> list[SweepCell]:
    """Return the cells of a sweep, those of one split together, numbered from 1."""
    shared = _read_shared(file)
    axes = {entry: _axis(entry, file) for entry in _LISTS}
    file.raise_problems()
    folder = (out or shared["out"]).resolve()
    shared |= {"out": folder}
    chosen = combine_axes(axes, str(file.path))
    unique = dict.fromkeys(cell for each in chosen for cell in _cells(each, shared, file))
    return [replace(cell, number=n) for n, cell in enumerate(unique, 1)]


def _read_shared(file: YamlFile) -> dict[str, Any]:
    """Return the options that all cells share, and check the names of all entries."""
    entries = [*dict.fromkeys(_LISTS), *_SHARED, "name"]
    for entry in file.content:
        with file.collecting(file.at(entry)):
            if entry not in entries:
                raise ConfigError(unknown_name("key", entry, entries))
    shared = {}
    for name in _SHARED:
        value = file.content.get(name, RunConfig.model_fields[name].default)
        with file.collecting(file.at(name)):
            shared[name] = read_option(name, value, file.at(name))
    file.raise_problems()
    return shared


def combine_axes(axes: Mapping[str, Sequence[Any]], where: str) -> list[dict[str, Any]]:
    """Return every combination of the alternatives."""
    n = prod(map(len, axes.values()))
    if n > MOST_CELLS:
        raise ConfigError(
            f"{where}: the product of the lists has {n:,} cells, and a sweep has at most "
            f"{MOST_CELLS:,}. Shorten the lists, or divide them among several files"
        )
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _to_list(value: Any) -> list[Any]:
    """Return a list as it is; a single value stands for a list of one."""
    return value if isinstance(value, list) else [value]


# The lists of a file


def _axis(entry: str, file: YamlFile) -> list[Any]:
    """Return the alternatives of a list of the file."""
    name = _OPTION_LISTS.get(entry)
    default = RunConfig.model_fields[name].default if name else None
    values = _to_list(file.content.get(entry, default))
    if values == [None] and entry == "corpora":
        values = []
    alternatives: list[Any] = []
    for i, value in enumerate(values):
        where = file.at(entry, i)
        with file.collecting(where):
            alternatives += _alternatives(entry, value, where)
    with file.collecting(file.at(entry)):
        if not values:
            raise ConfigError("the list is empty")
        if entry in PLUGINS:
            names = [value.get("name") if isinstance(value, dict) else value for value in values]
            check_named_once(name for name in names if isinstance(name, str))
    return alternatives


def _alternatives(entry: str, value: Any, where: str) -> Iterator[Any]:
    """Yield what a value in a list stands for.

    That is of ``corpora`` (name, options), of plug-ins (text or None, GPUs), of ``distractors`` a
    tuple of texts, and else the value of an option.
    """
    if entry in _OPTION_LISTS:
        yield read_option(_OPTION_LISTS[entry], value, where)
    elif entry == "distractors":
        mixed = [_specs(part, where) for part in _to_list(value) if part not in ("none", None)]
        for parts in combine_axes({str(i): specs for i, specs in enumerate(mixed)}, where):
            yield tuple(filter(None, parts.values()))
    elif entry == "corpora":
        for data in _expand_settings(value, where, tuple(_OF_CORPUS)):
            name = data.pop("name")
            options = {_OF_CORPUS[key]: (key, each) for key, each in data.items()}
            yield (
                name,
                {
                    option: read_option(option, each, f"{where}.{key}")
                    for option, (key, each) in options.items()
                },
            )
    elif value is None:
        yield None, 0.0
    else:
        for settings in _expand_settings(value, where):
            gpus = settings.pop("gpus", 0.0)
            if not isinstance(gpus, int | float) or not 0 <= gpus < inf:
                raise ConfigError(f"{where}.gpus: expected a number from 0, not {gpus!r}")
            name, plain = split_name(settings.pop("name"))
            yield with_name(name, spec_text(PLUGINS[entry], plain, settings)), gpus


def _expand_settings(value: Any, where: str, known: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return ``{name: ..., setting: ...}`` for each combination of the settings of an entry."""
    if isinstance(value, str):
        return [{"name": value}]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ConfigError(f"{where}: expected a name or {{name: ..., setting: ...}}, not {value!r}")
    axes = {key: _to_list(given) for key, given in value.items()}
    for key, alternatives in axes.items():
        if known and key not in ("name", *known):
            raise ConfigError(f"{where}.{key}: {unknown_name('key', key, known)}")
        if not alternatives:
            raise ConfigError(f"{where}.{key}: the list is empty")
    return combine_axes(axes, where)


def _specs(entry: Any, where: str) -> list[str]:
    """Return distractors as the command line writes them; empty text for none."""
    specs = []
    for settings in _expand_settings(entry, where, distractors.SETTINGS):
        name = settings.pop("name")
        text = ",".join(f"{key}={value}" for key, value in settings.items())
        between = "," if distractors.split_spec(name)[1] else ":"
        specs.append("" if settings.get("n") == 0 else f"{name}{between}{text}" if text else name)
    return specs


# Cells


def _cells(
    chosen: Mapping[str, Any], shared: Mapping[str, Any], file: YamlFile
) -> Iterator[SweepCell]:
    """Yield a cell for each task of a combination; without a task, those that its corpus serves."""
    corpus, of_corpus = chosen["corpora"]
    (retriever, gpus_to_rank), (generator, gpus_to_answer) = (
        chosen["retrievers"],
        chosen["generators"],
    )
    values = {**shared, "distractors": chosen["distractors"]}
    values |= {name: chosen[entry] for entry, name in _OPTION_LISTS.items()} | of_corpus
    with suppress(ConfigError, DataError):  # told where the corpus is loaded
        values["split"] = split_of(loader(corpus), values["split"])
    for text in _tasks(chosen, file):
        task = find_task(text)
        ranks, answers = task.source == "retrieved", task.answer != "ranking"
        if ranks and retriever is None:
            raise ConfigError(
                f"{file.path}: the entry retrievers is missing: {task.title} is about tables "
                "that are retrieved"
            )
        # Options of prompts that the task does not read make no cell.
        read = OPTIONS.keys() - PROMPT_OPTIONS | (options_read(task) if answers else set())
        config = RunConfig(
            corpora=corpus,
            tasks=text,
            retrievers=retriever if ranks else (),
            generators=(generator or EXTRACTIVE) if answers else (),
            **{name: value for name, value in values.items() if name in read},
        )
        yield SweepCell(
            0,
            config,
            max(gpus_to_rank if ranks else 0.0, gpus_to_answer if answers else 0.0),
        )


def _tasks(chosen: Mapping[str, Any], file: YamlFile) -> list[str]:
    """Return the task that is chosen; else retrieval; else, with generators, all about answers."""
    (text, _), (corpus, _) = chosen["tasks"], chosen["corpora"]
    try:
        if text is not None:
            find_task(text)
            return [spell_task(text)]
        if chosen["generators"][0] is None:
            return [RANKING_TASK]
        return [task for task in loader(corpus).info.tasks if task != RANKING_TASK]
    except (ConfigError, DataError) as error:
        raise ConfigError(f"{file.at('tasks' if text else 'corpora')}: {error}") from error
