"""From a sweep's file to its cells: a list is a list of alternatives, cells are their product."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from math import inf, prod
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, unknown_name
from target_bench.core.settings import check_named_once, named, whole
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
from target_bench.harness.sweeps.cell import SweepCell, described
from target_bench.harness.sweeps.specs import spec_text, takes
from target_bench.harness.sweeps.sweep_file import SweepFile

MOST_CELLS = 10_000
"""Combinations of a file at most: more would take hours to look at alone, and is a slip."""

_PLUGINS: Mapping[str, registry.Kind] = {
    "tasks": "task",
    "retrievers": "retriever",
    "generators": "generator",
}

_OPTION_LISTS = {entry: each.name for entry, each in in_sweeps(axis=True)}
"""Entry -> option of ``run`` of which it lists values."""

_LISTS = ("corpora", "splits", "distractors", *_PLUGINS, *_OPTION_LISTS, "seeds")
"""Entries that are lists; cells that share data, and then a task, stand together."""

_SHARED = {entry: each.name for entry, each in in_sweeps(axis=False)} | {
    "out": "out",
    "data_dir": "data_dir",
}
"""Entry -> option of ``run`` that is the same for all cells."""

_ENTRIES = [*dict.fromkeys(_LISTS), *_SHARED, "name", "repeats", "zip", "include", "exclude"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One alternative of a list.

    Attributes:
        value: what is chosen.
        place: the entry of the file that says it.
        gpus: how many GPUs it needs.
        name: what the user calls it; None without a name.
    """

    value: Any
    place: str
    gpus: float = 0.0
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A cell, and where the file says what it is made of: name of a list -> entry."""

    cell: SweepCell
    places: Mapping[str, str]


def name_of(document: SweepFile) -> str:
    """Return the name of a sweep: what its file says, else that of its file.

    Raises:
        ConfigError: it cannot be part of the names of files.
    """
    name = document.content.get("name", document.file.stem)
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]*\w", name) or name[0] == ".":
        raise ConfigError(f"{document.at('name')}: {name!r} is no name for files")
    return name


def shared_options(document: SweepFile) -> dict[str, Any]:
    """Return the options of ``run`` that all cells share, and check the names of all entries.

    Raises:
        ConfigError: unknown entries or invalid values; the message has a line for each.
    """
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


def cells(document: SweepFile, shared: Mapping[str, Any]) -> list[Placed]:
    """Return the cells of a sweep, those of one split together, numbered from 1.

    Args:
        document: the file.
        shared: its ``shared_options``.

    Raises:
        ConfigError: an invalid list, zip or filter; the message names its entry.
    """
    content = document.content
    axes = _axes(document)
    repeats = whole(1)(document.at("repeats"), content.get("repeats")) or 1
    unique: dict[SweepCell, Placed] = {}
    for chosen in combined(axes, content.get("zip", []), document.at(), repeats):
        places = {name: choice.place for name, choice in chosen.items()}
        for cell in _cells(chosen, shared, document):
            for repeat in range(1, repeats + 1):
                out = shared["out"] if repeat == 1 else shared["out"] / f"repeat-{repeat}"
                options = replace(cell.options, out=out.resolve())
                repeated = replace(cell, repeat=repeat, options=options)
                unnamed = replace(repeated, retriever_name=None, generator_name=None)
                unique.setdefault(unnamed, Placed(repeated, places))
    kept = list(unique.values())
    if rules := _listed(content.get("include", [])):
        kept = _matching(rules, "include", kept, document)
    if rules := _listed(content.get("exclude", [])):
        excluded = _matching(rules, "exclude", kept, document)
        kept = [placed for placed in kept if placed not in excluded]
    if not kept:
        raise ConfigError(f"{document.file}: include and exclude leave no cell")
    return [replace(p, cell=replace(p.cell, number=n)) for n, p in enumerate(kept, 1)]


def combined(
    axes: Mapping[str, Sequence[Any]], zips: Any, where: str, times: int = 1
) -> list[dict[str, Any]]:
    """Return every combination of the alternatives; those that are zipped go together in order.

    Args:
        axes: list -> its alternatives.
        zips: names of lists that go together, or several lists of names.
        where: the entry that the lists are part of.
        times: how often each combination is run.

    Raises:
        ConfigError: a zip of anything but lists of one length, or of a list twice; or more than
            ``MOST_CELLS`` combinations.
    """
    zips = _listed(zips)
    groups = zips if all(isinstance(group, list) for group in zips) else [zips]
    zipped = [name for group in groups for name in group]
    for name in zipped:
        if not isinstance(name, str) or name not in axes:
            raise ConfigError(f"{where}: zip: {unknown_name('list', str(name), axes)}")
        if zipped.count(name) > 1:
            raise ConfigError(f"{where}: zip: {name} is zipped twice")
    columns: list[list[dict[str, Any]]] = []
    for name in axes:
        group = next((group for group in groups if name in group), [name])
        if name != next(other for other in axes if other in group):
            continue  # it stands with the first of its group
        if len({len(axes[member]) for member in group}) > 1:
            lengths = ", ".join(f"{member} has {len(axes[member])}" for member in group)
            raise ConfigError(f"{where}: zip: needs lists of one length; {lengths}")
        rows = zip(*(axes[member] for member in group), strict=True)
        columns.append([dict(zip(group, row, strict=True)) for row in rows])
    n = prod(map(len, columns)) * times
    if n > MOST_CELLS:
        raise ConfigError(
            f"{where}: the product of the lists has {n:,} cells, and a sweep has at most "
            f"{MOST_CELLS:,}. Shorten the lists, zip those that go together, or divide them among "
            "several files"
        )
    return [{k: v for part in parts for k, v in part.items()} for parts in product(*columns)]


def _listed(value: Any) -> list[Any]:
    """Return a list as it is; a single value stands for a list of one."""
    return value if isinstance(value, list) else [value]


# The lists of a file


def _axes(document: SweepFile) -> dict[str, list[Choice]]:
    """Return the alternatives of each list.

    Raises:
        ConfigError: invalid entries; the message has a line for each.
    """
    axes: dict[str, list[Choice]] = {}
    for entry in _LISTS:
        default = OPTIONS[_OPTION_LISTS[entry]].default if entry in _OPTION_LISTS else None
        values = document.content.get(entry, default)
        choices: list[Choice] = []
        for i, value in enumerate(_listed(values)):
            where = document.at(entry, i)
            with document.collecting(where):
                choices += _choices(entry, value, where)
        axes[entry] = choices
        with document.collecting(document.at(entry)):
            if values == [] or (values is None and entry == "corpora"):
                raise ConfigError("the list is empty")
            if entry in _PLUGINS:
                names = [v.get("name") if isinstance(v, dict) else v for v in _listed(values)]
                check_named_once(name for name in names if isinstance(name, str))
    document.raise_problems()
    return axes


def _choices(entry: str, value: Any, where: str) -> Iterator[Choice]:
    """Yield the alternatives that a value in a list of the file stands for."""
    if entry in _OPTION_LISTS:
        yield Choice(read_option(_OPTION_LISTS[entry], value, where), where)
    elif entry == "seeds":
        yield Choice(whole(0)(where, value), where)
    elif entry == "distractors":
        mixed = [_specs(part, where) for part in _listed(value) if part not in ("none", None)]
        for parts in combined({str(i): specs for i, specs in enumerate(mixed)}, [], where):
            yield Choice(tuple(filter(None, parts.values())), where)
    elif value is None:
        yield Choice(None, where)
    elif entry == "corpora":
        for data in _expanded(value, where, ("splits", "database", "limit")):
            yield Choice(data, where)
    else:
        for settings in _expanded(value, where):
            gpus = settings.pop("gpus", 0.0)
            if not isinstance(gpus, int | float) or not 0 <= gpus < inf:
                raise ConfigError(f"{where}.gpus: expected a number from 0, not {gpus!r}")
            name, plain = named(settings.pop("name"))
            yield Choice(spec_text(_PLUGINS[entry], plain, settings), where, gpus, name)


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
    axes = {key: _listed(given) for key, given in value.items() if key != "zip"}
    for key, alternatives in axes.items():
        if known and key not in ("name", *known):
            raise ConfigError(f"{where}.{key}: {unknown_name('key', key, known)}")
        if not alternatives:
            raise ConfigError(f"{where}.{key}: the list is empty")
    return combined(axes, value.get("zip", []), where)


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
    chosen: Mapping[str, Choice], shared: Mapping[str, Any], document: SweepFile
) -> Iterator[SweepCell]:
    """Yield a cell for each task of a combination; without a task, those that its corpus serves."""
    data, seed = chosen["corpora"].value, chosen["seeds"].value
    retriever, generator = chosen["retrievers"], chosen["generators"]
    mixed_in = chosen["distractors"].value
    drawn = tuple(spec if seed is None else distractors.seeded(spec, seed) for spec in mixed_in)
    for text in _tasks(chosen):
        task = task_class(text)
        ranks, answer = None, None
        if task.source == "retrieved":
            if retriever.value is None:
                raise ConfigError(
                    f"{document.at()}: the entry retrievers is missing: {task.title} is about "
                    "tables that are retrieved"
                )
            ranks = _seeded("retriever", retriever.value, seed)
        if task.answer != "ranking":
            answer = _seeded("generator", generator.value or EXTRACTIVE, seed)
        parts = (ranks, retriever.value), (answer, generator.value or EXTRACTIVE), (drawn, mixed_in)
        yield SweepCell(
            number=0,
            task=text,
            corpus=data["name"],
            retriever=ranks,
            generator=answer,
            options=_options(task, chosen, {**shared, "distractors": drawn}),
            retriever_name=retriever.name if ranks else None,
            generator_name=generator.name if answer else None,
            seed=seed if any(a and a != b for a, b in parts) else None,
            gpus=max(retriever.gpus, generator.gpus),
        )


def _tasks(chosen: Mapping[str, Choice]) -> list[str]:
    """Return the task that is chosen; else retrieval; else, with generators, all about answers."""
    choice = chosen["tasks"]
    if choice.value is not None:
        try:
            task_named(choice.value)
            return [task_text(choice.value)]
        except ConfigError as error:
            raise ConfigError(f"{choice.place}: {error}") from error
    if chosen["generators"].value is None:
        return [RANKING_TASK]
    try:
        tasks = loader(chosen["corpora"].value["name"]).info.tasks
    except (ConfigError, DataError) as error:
        raise ConfigError(f"{chosen['corpora'].place}: {error}") from error
    return [task for task in tasks if task != RANKING_TASK]


def _seeded(kind: registry.Kind, text: str, seed: int | None) -> str:
    """Return a plug-in with a seed, if it takes one and has none of its own."""
    if seed is None or not takes(kind, text, "seed"):
        return text
    return spec_text(kind, text, {"seed": seed})


def _options(
    task: type[Task[Any]], chosen: Mapping[str, Choice], shared: Mapping[str, Any]
) -> Options:
    """Return the options of a cell; those of prompts that the task does not read make no cell."""
    data = chosen["corpora"].value
    values = dict(shared) | {name: chosen[entry].value for entry, name in _OPTION_LISTS.items()}
    values |= {name: data[name] for name in ("database", "limit") if name in data}
    split = data.get("splits", values["split"])
    try:
        values["split"] = split_of(loader(data["name"]), split)
    except (ConfigError, DataError):  # told where the corpus is loaded
        values["split"] = split
    read = options_read(task) if task.answer != "ranking" else frozenset[str]()
    # indexes are chosen where it is known which retrievers can save theirs
    return Options.of(
        {n: v for n, v in values.items() if n not in PROMPT_OPTIONS or n in read}
        | {"indexes": None}
    )


# Which cells are wanted

_MATCHED = (
    *("task", "corpus", "split", "distractors", "retriever", "generator", "prompt", "tables"),
    *("table_format", "prompt_tokens", "schema_scope", "database", "seed", "repeat"),
)
"""Keys of the rules of ``include`` and ``exclude``, as ``described`` gives their values."""


def _matching(
    rules: Sequence[Any], entry: str, cells: Sequence[Placed], document: SweepFile
) -> list[Placed]:
    """Return the cells that a rule of ``include`` or ``exclude`` matches.

    Args:
        rules: each a mapping of keys to a value, a pattern with ``*`` and ``?``, or a list of them;
            a task, retriever or generator may be a mapping of ``name`` and settings. All entries of
            a rule have to match.
        entry: ``include`` or ``exclude``.
        cells: those there are.
        document: the file.

    Raises:
        ConfigError: an unknown key; or a rule that matches no cell: it says something else than was
            meant.
    """
    matched: set[int] = set()
    values = [described(placed.cell) for placed in cells]
    for i, rule in enumerate(rules):
        where = document.at(entry, i)
        if not isinstance(rule, dict):
            raise ConfigError(f"{where}: expected a mapping such as {{retriever: bm25}}")
        for key in rule:
            if key not in _MATCHED:
                raise ConfigError(f"{where}.{key}: {unknown_name('key', key, _MATCHED)}")
        like = {
            n
            for n, placed in enumerate(cells)
            if all(_is_like(key, placed.cell, values[n], wanted) for key, wanted in rule.items())
        }
        if not like:
            raise ConfigError(f"{where}: no cell is like that: {rule}")
        matched |= like
    return [cells[n] for n in sorted(matched)]


def _is_like(key: str, cell: SweepCell, values: Mapping[str, Any], wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_is_like(key, cell, values, alternative) for alternative in wanted)
    if isinstance(wanted, dict):
        return _has_settings(key, cell, wanted)
    value = values[key]
    if key == "distractors":
        value, wanted = value or "none", wanted or "none"
    if value is None or wanted is None:
        return value is wanted
    texts = filter(None, (str(value), values.get(f"{key}_name")))
    return any(fnmatchcase(text, str(wanted)) for text in texts)


def _has_settings(key: str, cell: SweepCell, wanted: Mapping[str, Any]) -> bool:
    """Whether a task, retriever or generator has this name and these settings."""
    kind = _PLUGINS.get(f"{key}s")
    text = getattr(cell, key, None)
    if kind is None or text is None:
        return False
    spec = registry.parse(kind, text)
    settings = {"name": registry.canonical(kind, spec.target), **spec.settings}
    if "name" in wanted:
        wanted = {**wanted, "name": registry.canonical(kind, str(wanted["name"]))}
    return all(name in settings and settings[name] == value for name, value in wanted.items())
