"""From a sweep's file to its cells: a list is a list of alternatives, cells are their product."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, product
from math import inf, prod
from pathlib import Path
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, unknown_name
from target_bench.core.observer import Observer
from target_bench.core.registry import find_task, make_task, spell_task
from target_bench.core.run_config import (
    EXTRACTIVE,
    OPTIONS,
    PROMPT_OPTIONS,
    RunConfig,
    add_columns,
    options_read,
    read_option,
)
from target_bench.core.settings import check_names_differ, split_name
from target_bench.data import distractors
from target_bench.data.load import HUB_PREFIX, loader, split_of
from target_bench.harness.sweeps.cell import SweepCell
from target_bench.harness.systems import make_generator, make_retriever
from target_bench.harness.yaml_file import PLUGINS, YamlFile, spell_plugin

MAX_CELLS = 10_000
"""More are surely a mistake: even to plan them would take hours."""

Options = dict[str, Any]
"""Option of ``run``, or entry that is a list, -> its value in one cell.

As in ``{"corpora": "mini", "split": None, "retrievers": "bm25", "retrievers.gpus": 0.0}``, with the
GPUs that the retriever needs.
"""

_OPTION_BY_LIST = {option.axis: name for name, option in OPTIONS.items() if option.axis}
"""Entry that lists values of one option -> that option: ``splits`` -> ``split``."""

_LISTS = tuple(dict.fromkeys(("corpora", "splits", "distractors", *PLUGINS, *_OPTION_BY_LIST)))
"""Entries that are lists. The first varies slowest, so that cells of one split stand together."""

_SHARED = [name for name in OPTIONS if name not in (*_LISTS, *_OPTION_BY_LIST.values())]
"""Options of ``run`` that are the same for all cells."""

_CORPUS_KEYS = {"splits": "split", "limit": "limit"}
"""Key of an entry of ``corpora`` -> option of ``run``."""


def read_name(file: YamlFile) -> str:
    """Return the name of a sweep: the entry ``name``, else that of its file."""
    name = file.content.get("name", file.path.stem)
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise ConfigError(f"{file.locate('name')}: {name!r}: expected letters, digits, ., _ and -")
    return name


def read_cells(file: YamlFile, out: Path | None = None) -> list[SweepCell]:
    """Return the cells of a sweep, those of one split together, numbered from 1."""
    shared = _read_shared(file)
    lists = [_read_list(entry, file) for entry in _LISTS]
    if (columns := shared.pop("columns", None)) and lists[0]:  # of the corpora of the hub alone
        with file.collect_problems(str(file.path)):
            names = add_columns([options["corpora"] for options in lists[0]], columns)
            lists[0] = [o | {"corpora": name} for o, name in zip(lists[0], names, strict=True)]
    cells: list[SweepCell] = []
    if not file.problems:
        shared["out"] = (out or shared["out"]).resolve()
        for alternatives in _multiply(lists, str(file.path)):
            options = shared.copy()
            for alternative in reversed(alternatives):  # corpora last: their splits and limit count
                options |= alternative
            with file.collect_problems(str(file.path)):
                cells += _make_cells(options, file)
    if file.problems:
        _check_plugins(lists, file)
        file.raise_problems()
    return [replace(cell, number=n) for n, cell in enumerate(dict.fromkeys(cells), 1)]


def _read_shared(file: YamlFile) -> Options:
    """Return the options that all cells share, and collect what is wrong with entries."""
    entries = [*_LISTS, *_SHARED, "name"]
    for entry in file.content:
        with file.collect_problems(file.locate(entry)):
            if entry not in entries:
                raise ConfigError(unknown_name("key", entry, entries))
    with file.collect_problems(file.locate("name")):
        read_name(file)
    shared = {}
    for name in _SHARED:
        value = file.content.get(name, RunConfig.model_fields[name].default)
        with file.collect_problems(file.locate(name)):
            shared[name] = read_option(name, value, file.locate(name))
    return shared


def _check_plugins(lists: Sequence[Sequence[Options]], file: YamlFile) -> None:
    """Collect what is wrong with plug-ins of a file that has other problems; load no data."""
    any_task = make_task(RANKING_TASK)
    checks: dict[str, Callable[[str], object]] = {
        "corpora": lambda text: text.startswith(HUB_PREFIX) or loader(text),
        "tasks": make_task,
        "retrievers": lambda text: make_retriever(split_name(text)[1], Observer()),
        "generators": lambda text: make_generator(text, any_task, RunConfig(), Observer()),
    }
    for options in chain.from_iterable(lists):
        for entry in options.keys() & checks.keys():
            with file.collect_problems(file.locate(entry)):
                if options[entry] is not None:
                    checks[entry](options[entry])


def _read_list(entry: str, file: YamlFile) -> list[Options]:
    """Return the alternatives that an entry lists, each as the options that it sets."""
    option = _OPTION_BY_LIST.get(entry)
    default = RunConfig.model_fields[option].default if option else None
    values = _to_list(file.content.get(entry, default))
    if entry == "corpora" and values == [None]:
        values = []
    alternatives: list[Options] = []
    for i, value in enumerate(values):
        where = file.locate(entry, i)
        with file.collect_problems(where):
            if entry == "corpora":
                alternatives += _read_corpora(value, where)
            elif entry == "distractors":
                alternatives += _read_distractors(value, where)
            elif entry in PLUGINS:
                alternatives += _read_plugins(entry, value, where)
            else:
                name = _OPTION_BY_LIST[entry]
                alternatives.append({name: read_option(name, value, where)})
    with file.collect_problems(file.locate(entry)):
        if not values:
            raise ConfigError("the list is empty")
        if entry in PLUGINS:
            names = [value.get("name") if isinstance(value, dict) else value for value in values]
            check_names_differ(name for name in names if isinstance(name, str))
    return alternatives


def _read_corpora(value: Any, where: str) -> list[Options]:
    alternatives = []
    for settings in _expand(value, where, tuple(_CORPUS_KEYS)):
        options = {"corpora": settings.pop("name")}
        for key, setting in settings.items():
            option = _CORPUS_KEYS[key]
            options[option] = read_option(option, setting, f"{where}.{key}")
        alternatives.append(options)
    return alternatives


def _read_distractors(value: Any, where: str) -> list[Options]:
    """Return the mixtures that a value stands for; a list is one mixture of several corpora."""
    parts = [
        [_spell_distractors(settings) for settings in _expand(part, where, distractors.SETTINGS)]
        for part in _to_list(value)
        if part not in ("none", None)
    ]
    return [{"distractors": tuple(filter(None, mixture))} for mixture in _multiply(parts, where)]


def _spell_distractors(settings: dict[str, Any]) -> str:
    """Return distractors as the command line writes them; "" for none of them."""
    name = str(settings.pop("name"))
    if settings.get("n") == 0:
        return ""
    if not settings:
        return name
    separator = "," if distractors.split_spec(name)[1] else ":"
    return name + separator + ",".join(f"{key}={value}" for key, value in settings.items())


def _read_plugins(entry: str, value: Any, where: str) -> list[Options]:
    if value is None:
        return [{entry: None, f"{entry}.gpus": 0.0}]
    alternatives = []
    for settings in _expand(value, where):
        gpus = settings.pop("gpus", 0.0)
        if gpus and entry == "tasks":
            raise ConfigError(f"{where}.gpus: name it for a retriever or a generator")
        if type(gpus) not in (int, float) or not 0 <= gpus < inf:
            raise ConfigError(f"{where}.gpus: expected a number from 0, not {gpus!r}")
        text = spell_plugin(PLUGINS[entry], settings)
        alternatives.append({entry: text, f"{entry}.gpus": gpus})
    return alternatives


def _expand(value: Any, where: str, known: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return ``{name: ..., setting: ...}`` for each combination of the settings of a value.

    Where ``known`` lists settings, others are refused.
    """
    if isinstance(value, str):
        return [{"name": value}]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise ConfigError(f"{where}: expected a name or {{name: ..., setting: ...}}, not {value!r}")
    for key, setting in value.items():
        if known and key not in ("name", *known):
            raise ConfigError(f"{where}.{key}: {unknown_name('key', key, known)}")
        if setting == []:
            raise ConfigError(f"{where}.{key}: the list is empty")
    lists = [_to_list(setting) for setting in value.values()]
    return [dict(zip(value, settings, strict=True)) for settings in _multiply(lists, where)]


def _to_list(value: Any) -> list[Any]:
    """Return a list as it is; a single value stands for a list of one."""
    return value if isinstance(value, list) else [value]


def _multiply(lists: Sequence[Sequence[Any]], where: str) -> Iterator[tuple[Any, ...]]:
    """Return every combination of one value of each list."""
    n = prod(map(len, lists))
    if n > MAX_CELLS:
        raise ConfigError(
            f"{where}: the product of the lists has {n:,} cells, and a sweep has at most "
            f"{MAX_CELLS:,}. Shorten the lists, or divide them among several files"
        )
    return product(*lists)


def _make_cells(options: Options, file: YamlFile) -> Iterator[SweepCell]:
    """Yield a cell for each task of a combination of alternatives."""
    with suppress(ConfigError, DataError):  # told where the corpus is loaded
        options["split"] = split_of(loader(options["corpora"]), options["split"])
    for text in _list_tasks(options, file):
        task = find_task(text)
        plugins = {"tasks": text, "retrievers": (), "generators": ()}
        # Options that the task does not read are left out: ``read_cells`` drops equal cells.
        names_read = OPTIONS.keys() - PROMPT_OPTIONS - PLUGINS.keys()
        gpus = [0.0]
        if task.source == "retrieved":
            if options["retrievers"] is None:
                raise ConfigError(
                    f"{file.path}: the entry retrievers is missing: {task.title} is about tables "
                    "that are retrieved"
                )
            plugins["retrievers"] = options["retrievers"]
            gpus.append(options["retrievers.gpus"])
        if task.answer != "ranking":
            plugins["generators"] = options["generators"] or EXTRACTIVE
            gpus.append(options["generators.gpus"])
            names_read |= options_read(task) & PROMPT_OPTIONS
        config = RunConfig(
            **plugins, **{name: options[name] for name in names_read if name in options}
        )
        yield SweepCell(0, config, max(gpus))


def _list_tasks(options: Options, file: YamlFile) -> list[str]:
    """Return the task that is chosen; else retrieval; else, with generators, all about answers."""
    text, corpus = options["tasks"], options["corpora"]
    try:
        if text is not None:
            find_task(text)
            return [spell_task(text)]
        if options["generators"] is None:
            return [RANKING_TASK]
        return [task for task in loader(corpus).info.tasks if task != RANKING_TASK]
    except (ConfigError, DataError) as error:
        raise ConfigError(f"{file.locate('tasks' if text else 'corpora')}: {error}") from error
