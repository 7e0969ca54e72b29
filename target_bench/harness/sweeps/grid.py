"""From what a sweep's file says to its cells: products, zips, seeds, and which are wanted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError, DataError, unknown_name
from target_bench.core.settings import check_named_once, named
from target_bench.core.task import Task
from target_bench.core.task_names import task_class, task_named, task_text
from target_bench.data import distractors
from target_bench.data.load import loader, split_of
from target_bench.harness.options import (
    EXTRACTIVE,
    PROMPT_OPTIONS,
    Options,
    in_sweeps,
    options_read,
)
from target_bench.harness.sweeps.cell import SweepCell, described
from target_bench.harness.sweeps.config import DistractorEntry, PluginEntry, SweepConfig
from target_bench.harness.sweeps.specs import spec_text, takes
from target_bench.harness.sweeps.sweep_file import Place, SweepFile

MOST_CELLS = 10_000
"""Combinations of a file at most: more would take hours to look at alone, and is a slip."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A cell, and where the file says what it is made of.

    Attributes:
        cell: the cell.
        places: name of a list -> the place of what was chosen.
    """

    cell: SweepCell
    places: Mapping[str, Place]


@dataclass(frozen=True, slots=True)
class Choice:
    """One alternative of a list.

    Attributes:
        value: what is chosen.
        place: where the file says it.
        gpus: how many GPUs it needs.
        name: what the user calls it; None without a name.
    """

    value: Any
    place: Place
    gpus: float = 0.0
    name: str | None = None


@dataclass(frozen=True, slots=True)
class _Data:
    """A corpus, and the parts of it that its own entry chooses."""

    name: str
    split: str | None
    database: str | None
    limit: int | None


def cells(config: SweepConfig, document: SweepFile) -> list[Placed]:
    """Return the cells of a sweep, those of one split together, numbered from 1.

    Raises:
        ConfigError: an invalid list, zip or filter; the message names its entry.
    """
    axes = _axes(config, document)
    _check_number(config.repeats, document.at(("repeats",)))
    unique: dict[SweepCell, Placed] = {}
    for chosen in combined(axes, config.zip, document, ("zip",), times=config.repeats):
        for placed in _cells(config, chosen, document):
            unnamed = replace(placed.cell, retriever_name=None, generator_name=None)
            unique.setdefault(unnamed, placed)
    kept = list(unique.values())
    if config.include:
        kept = _matching(config.include, ("include",), kept, document)
    if config.exclude:
        matched = _matching(config.exclude, ("exclude",), kept, document)
        kept = [placed for placed in kept if placed not in matched]
    if not kept:
        raise ConfigError(f"{document.file}: include and exclude leave no cell")
    return [replace(p, cell=replace(p.cell, number=n)) for n, p in enumerate(kept, 1)]


def combined(
    axes: Mapping[str, Sequence[Any]],
    zips: Sequence[str] | Sequence[Sequence[str]],
    document: SweepFile,
    place: Place,
    times: int = 1,
) -> Iterator[dict[str, Any]]:
    """Every combination of the alternatives; those that are zipped go together, one by one.

    Args:
        axes: list -> its alternatives.
        zips: lists that go together, or several groups of them.
        document: the file.
        place: where it zips them.
        times: how often each combination is run.

    Raises:
        ConfigError: a zip of anything but lists, of lists of other lengths, or of a list twice; or
            more than ``MOST_CELLS`` combinations.
    """
    groups = [[z] if isinstance(z, str) else list(z) for z in zips]
    if zips and isinstance(zips[0], str):
        groups = [[str(name) for name in zips]]
    zipped = [name for group in groups for name in group]
    for name in zipped:
        if name not in axes:
            raise ConfigError(f"{document.at(place)}: {unknown_name('list', name, axes)}")
        if zipped.count(name) > 1:
            raise ConfigError(f"{document.at(place)}: {name} is zipped twice")
    for group in groups:
        lengths = {name: len(axes[name]) for name in group}
        if len(set(lengths.values())) != 1:
            shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
            raise ConfigError(f"{document.at(place)}: needs lists of one length; {shown}")
    columns: list[list[dict[str, Any]]] = []
    for name in axes:
        group = next((g for g in groups if name in g), [name])
        if name == next(other for other in axes if other in group):
            rows = zip(*(axes[member] for member in group), strict=True)
            columns.append([dict(zip(group, row, strict=True)) for row in rows])
    _check_number(prod(map(len, columns)) * times, document.at(place[:-1]))
    for parts in product(*columns):
        yield {name: value for part in parts for name, value in part.items()}


def _check_number(n: int, where: str) -> None:
    """See that these are not too many cells, before any is made.

    Raises:
        ConfigError: they are.
    """
    if n > MOST_CELLS:
        raise ConfigError(
            f"{where}: the product of the lists has {n:,} cells, and a sweep has at most "
            f"{MOST_CELLS:,}. Shorten the lists, zip those that go together, or divide them among "
            "several files"
        )


_KINDS: Sequence[registry.Kind] = ("task", "retriever", "generator")


def _axes(config: SweepConfig, document: SweepFile) -> dict[str, list[Choice]]:
    """Return the lists of a file; cells that share data, and then a task, stand together."""
    listed: dict[str, Sequence[Any]] = {**config.alternatives, "seeds": config.seeds or [None]}
    plain = {
        name: [Choice(value, (name, i)) for i, value in enumerate(values)]
        for name, values in listed.items()
    }
    axes = {
        "corpora": list(_data(config)),
        "splits": plain.pop("splits"),
        "distractors": list(_distractors(config, document)),
    }
    for kind in _KINDS:
        name = f"{kind}s"
        choices = list(_plugins(getattr(config, name), name, kind, document))
        axes[name] = choices or [Choice(None, (name,))]
    return axes | plain


def _data(config: SweepConfig) -> Iterator[Choice]:
    for i, entry in enumerate(config.corpora):
        splits: Sequence[str | None] = entry.splits or [None]
        for split in splits:
            database = entry.database or config.chosen["database"]
            limit = entry.limit or config.chosen["limit"]
            yield Choice(_Data(entry.name, split, database, limit), ("corpora", i))


def _distractors(config: SweepConfig, document: SweepFile) -> Iterator[Choice]:
    for i, mixed in enumerate(config.distractors):
        n = prod(len(values) for entry in mixed for values in _alternatives(entry).values())
        _check_number(n, document.at(("distractors", i)))
        for parts in product(*map(_specs, mixed)):
            yield Choice(tuple(part for part in parts if part), ("distractors", i))


def _alternatives(entry: DistractorEntry) -> dict[str, Sequence[Any]]:
    names = ("split", "n", "seed", "near_copies")
    return {name: getattr(entry, name) or [None] for name in names}


def _specs(entry: DistractorEntry) -> Iterator[str]:
    """Yield the distractors of an entry as the command line writes them; empty for none."""
    alternatives = _alternatives(entry)
    for values in product(*alternatives.values()):
        drawn = dict(zip(alternatives, values, strict=True))
        settings = [f"{key}={value}" for key, value in drawn.items() if value is not None]
        text = entry.name + ("," if distractors.divided(entry.name)[1] else ":")
        yield "" if drawn["n"] == 0 else text + ",".join(settings) if settings else entry.name


def _plugins(
    entries: Sequence[PluginEntry], name: str, kind: registry.Kind, document: SweepFile
) -> Iterator[Choice]:
    for i, entry in enumerate(entries):
        place = (name, i)
        try:
            check_named_once(entry.name for entry in entries[: i + 1])
            called, plain = named(entry.name)
        except ConfigError as error:
            raise ConfigError(f"{document.at(place)}: {error}") from error
        axes: dict[str, list[Any]] = {}
        for key, value in (entry.model_extra or {}).items():
            if not str(key).isidentifier() or value == []:
                where = document.at((*place, key))
                raise ConfigError(f"{where}: a setting has a name and at least one value")
            axes[key] = value if isinstance(value, list) else [value]
        for settings in combined(axes, entry.zip, document, (*place, "zip")):
            try:
                yield Choice(spec_text(kind, plain, settings), place, entry.gpus, called)
            except ConfigError as error:
                raise ConfigError(f"{document.at(place)}: {error}") from error


def _cells(
    config: SweepConfig, chosen: Mapping[str, Choice], document: SweepFile
) -> Iterator[Placed]:
    for text in _tasks(config, chosen, document):
        seed, task = _Seed(chosen["seeds"].value), task_class(text)
        retriever, generator = chosen["retrievers"], chosen["generators"]
        cell = SweepCell(
            number=0,
            task=text,
            corpus=chosen["corpora"].value.name,
            retriever=_retriever(task, retriever.value, seed, document),
            options=_options(config, chosen, task, seed),
            gpus=max(retriever.gpus, generator.gpus),
        )
        if cell.retriever is not None:
            cell = replace(cell, retriever_name=retriever.name)
        if task.answer != "ranking":
            answering = seed.plugin("generator", generator.value or EXTRACTIVE)
            cell = replace(cell, generator=answering, generator_name=generator.name)
        cell = replace(cell, seed=seed.value if seed.taken else None)
        places = {name: choice.place for name, choice in chosen.items()}
        for repeat in range(1, config.repeats + 1):
            folder = config.out if repeat == 1 else config.out / f"repeat-{repeat}"
            options = replace(cell.options, out=folder.resolve())
            yield Placed(replace(cell, repeat=repeat, options=options), places)


def _retriever(
    task: type[Task[Any]], text: str | None, seed: "_Seed", document: SweepFile
) -> str | None:
    """Return the retriever of a cell; None for a task that retrieves nothing."""
    if task.source != "retrieved":
        return None
    if text is None:
        raise ConfigError(
            f"{document.at(())}: the entry retrievers is missing: {task.title} is about tables "
            "that are retrieved"
        )
    return seed.plugin("retriever", text)


def _options(
    config: SweepConfig, chosen: Mapping[str, Choice], task: type[Task[Any]], seed: "_Seed"
) -> Options:
    """Return the options of a cell; those of prompts that the task does not read make no cell."""
    data = chosen["corpora"].value
    values = dict(config.chosen)
    values |= {each.name: chosen[entry].value for entry, each in in_sweeps(axis=True)}
    read = options_read(task) if task.answer != "ranking" else frozenset[str]()
    values = {n: v for n, v in values.items() if n not in PROMPT_OPTIONS or n in read}
    if values.get("tables") == values["top_k"][-1] and task.source == "retrieved":
        del values["tables"]
    for name in ("prompt", "gold_corrections"):
        if values.get(name) is not None:
            values[name] = values[name].resolve()
    own = {
        "split": _split(data.name, data.split or chosen["splits"].value),
        "distractors": tuple(map(seed.distractors, chosen["distractors"].value)),
        "database": data.database,
        "limit": data.limit,
        "indexes": None,  # chosen where it is known which retrievers can save theirs
        "data_dir": None if config.data_dir is None else config.data_dir.resolve(),
    }
    return Options.of(values | own)


def _tasks(config: SweepConfig, chosen: Mapping[str, Choice], document: SweepFile) -> Iterable[str]:
    """Return the task that is chosen; else retrieval; else, with generators, all about answers."""
    choice = chosen["tasks"]
    if choice.value is not None:
        try:
            task_named(choice.value)
            return [task_text(choice.value)]
        except ConfigError as error:
            raise ConfigError(f"{document.at(choice.place)}: {error}") from error
    if not config.generators:
        return [RANKING_TASK]
    place = document.at(chosen["corpora"].place)
    try:
        tasks = loader(chosen["corpora"].value.name).info.tasks
    except (ConfigError, DataError) as error:
        raise ConfigError(f"{place}: {error}") from error
    return [task for task in tasks if task != RANKING_TASK]


def _split(corpus: str, split: str | None) -> str | None:
    """Return the full name of a split; an invalid one is reported where the corpus is loaded."""
    try:
        return split_of(loader(corpus), split)
    except (ConfigError, DataError):
        return split


class _Seed:
    """Gives a seed to the parts of a cell that take one and have none of their own."""

    def __init__(self, value: int | None) -> None:
        self.value = value
        self.taken = False

    def plugin(self, kind: registry.Kind, text: str) -> str:
        """Return a plug-in with this seed."""
        if self.value is None or not takes(kind, text, "seed"):
            return text
        self.taken = True
        return spec_text(kind, text, {"seed": self.value})

    def distractors(self, spec: str) -> str:
        """Return a random choice of tables with this seed; a corpus as a whole has none."""
        seeded = spec if self.value is None else distractors.seeded(spec, self.value)
        self.taken |= seeded != spec
        return seeded


_MATCHED = (
    *("task", "corpus", "split", "distractors", "retriever", "generator", "prompt", "tables"),
    *("table_format", "prompt_tokens", "schema_scope", "database", "seed", "repeat"),
)
"""Keys of the rules of ``include`` and ``exclude``, as ``described`` gives their values."""


def _matching(
    rules: Sequence[Mapping[str, Any]], place: Place, cells: Sequence[Placed], document: SweepFile
) -> list[Placed]:
    """Return the cells that a rule of ``include`` or ``exclude`` describes.

    Args:
        rules: each a mapping of keys to a value, a pattern with ``*`` and ``?``, or a list of them;
            a task, retriever or generator may be a mapping of ``name`` and settings. All entries of
            a rule have to match.
        place: where they stand.
        cells: those there are.
        document: the file.

    Raises:
        ConfigError: an unknown key; or a rule that describes no cell: it says something else than
            was meant.
    """
    matched: set[int] = set()
    values = [described(placed.cell) for placed in cells]
    for i, rule in enumerate(rules):
        for key in rule:
            if key not in _MATCHED:
                where = document.at((*place, i, key))
                raise ConfigError(f"{where}: {unknown_name('key', key, _MATCHED)}")
        like = {
            n
            for n, (placed, cell) in enumerate(zip(cells, values, strict=True))
            if all(_is_like(key, placed.cell, cell, wanted) for key, wanted in rule.items())
        }
        if not like:
            raise ConfigError(f"{document.at((*place, i))}: no cell is like that: {dict(rule)}")
        matched |= like
    return [cells[n] for n in sorted(matched)]


def _is_like(key: str, cell: SweepCell, values: Mapping[str, Any], wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_is_like(key, cell, values, alternative) for alternative in wanted)
    if isinstance(wanted, Mapping):
        return _has_settings(key, cell, wanted)
    value = values[key]
    if key == "distractors":
        value, wanted = value or "none", "none" if wanted is None else wanted
    if value is None or wanted is None:
        return value is wanted
    texts = (value, values.get(f"{key}_name"))
    return any(fnmatchcase(str(text), str(wanted)) for text in texts if text is not None)


def _has_settings(key: str, cell: SweepCell, wanted: Mapping[str, Any]) -> bool:
    """Whether a task, retriever or generator has this name and these settings."""
    kind = next((kind for kind in _KINDS if kind == key), None)
    text = None if kind is None else getattr(cell, kind)
    if kind is None or text is None:
        return False
    spec = registry.parse(kind, text)
    settings = {"name": registry.canonical(kind, spec.target), **spec.settings}
    if "name" in wanted:
        wanted = {**wanted, "name": registry.canonical(kind, str(wanted["name"]))}
    return all(name in settings and settings[name] == value for name, value in wanted.items())
