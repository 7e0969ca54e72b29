"""Runs side by side: their labels, in what they differ, and whether they can be compared.

A run is called by the user's names, or by the settings in which it differs from the others:
``bm25:k1=0.9,b=0.4`` and ``bm25:k1=1.2,b=0.4`` are called ``bm25:k1=0.9`` and ``bm25:k1=1.2``. What
runs of one plug-in share is left out; where only one run has a plug-in, all its settings stand.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.settings import written_settings
from target_bench.core.text_tables import list_first
from target_bench.runs.manifest import flatten

if TYPE_CHECKING:
    from target_bench.runs.result import Result

PLUGINS: Sequence[registry.Kind] = ("retriever", "generator", "task")
"""The plug-ins of a run that have settings of their own."""

_ALONE = ("corpus", "split", "task", "about")  # settings whose value says enough

# Settings that say what a run is of, and not how it answers.
_DATA = ("corpus", "split", "distractors", "about", "limit", "task")

_SHORTEST = 6  # characters of an id that tells runs apart where nothing else does


class Plugin(NamedTuple):
    """A plug-in of a run as the command named it."""

    target: str  # what the user calls it, or its name, file or module
    settings: Mapping[str, str]  # setting -> value, as it was written
    is_named: bool = False  # whether the user gave it a name


def plugins(run: "Result") -> dict[str, Plugin]:
    """Return retriever, generator and task of a run, as far as it has them."""
    command = run.command
    names = {"retriever": command.retriever_name, "generator": command.generator_name}
    texts = {kind: getattr(command, kind) for kind in PLUGINS}
    texts["task"] = texts["task"] or run.identity.task
    return {
        kind: _read_plugin(kind, texts[kind], names.get(kind))
        for kind in PLUGINS
        if texts[kind] is not None
    }


def _read_plugin(kind: registry.Kind, text: str, name: str | None) -> Plugin:
    try:
        target, settings = registry.split_settings(kind, text)
        written = written_settings(settings, text)
    except ConfigError:  # a label, such as that of a file of rankings
        target, written = text, {}
    return Plugin(name or target, written, is_named=name is not None)


def settings(run: "Result") -> dict[str, str]:
    """Return setting -> value of all that a user chose for a run, as text.

    Those of plug-ins are called ``retriever.k1`` and so on; ``retriever`` itself is what it is
    called. A setting that was left at its default is not there.
    """
    command = run.command
    values = {"corpus": run.identity.corpus, "split": run.identity.split}
    values["distractors"] = " + ".join(command.distractors) or "none"
    chosen = {"about": command.about, "limit": command.limit}
    cutoffs = run.rankings_run.identity.top_k
    chosen |= {"k": cutoffs[-1] if cutoffs else None, **(command.prompting or {})}
    if run.identity.has_answers and cutoffs:
        chosen["tables"] = chosen.get("tables") or cutoffs[-1]
    values |= {name: str(value) for name, value in chosen.items() if value is not None}
    for kind, plugin in plugins(run).items():
        values[kind] = plugin.target
        values |= {f"{kind}.{name}": value for name, value in plugin.settings.items()}
    return values


def describe_method(run: "Result") -> tuple[str, ...]:
    """Return the settings that identify a method on any corpus.

    A plug-in with a name is identified by it, so that one method may have other settings on each
    corpus.
    """
    left_out = [f"{kind}." for kind, plugin in plugins(run).items() if plugin.is_named]
    return tuple(
        f"{name}={value}"
        for name, value in sorted(settings(run).items())
        if name not in _DATA
        and (name != "k" or run.identity.has_answers)
        and not name.startswith(tuple(left_out))
    )


def describe_system(run: "Result") -> tuple[str, ...]:
    """Return what makes a system: all that tells runs apart but code and versions."""
    values = settings(run) | {
        path: str(value) for path, value in flatten(run.identity.content) if "config." in path
    }
    return tuple(f"{name}={value}" for name, value in sorted(values.items()))


def varying(runs: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the settings in which some of the runs differ, plug-ins first."""
    names = dict.fromkeys(name for run in runs for name in run)
    different = [name for name in names if len({run.get(name) for run in runs}) > 1]
    return sorted(different, key=lambda name: name.partition(".")[0] not in PLUGINS)


# Labels


def labels(runs: Sequence["Result"]) -> list[str]:
    """Return a label for each run, no two alike.

    It is the name that the user gave, or the plug-in with the settings that differ from the other
    runs of this plug-in. Runs that agree in these get what else they differ in: other settings,
    else the beginning of their id, else the folder.
    """
    of_runs = [plugins(run) for run in runs]
    by_kind = [
        _label_plugins([run_plugins.get(kind) for run_plugins in of_runs])
        for kind in ("retriever", "generator")
    ]
    texts = [" + ".join(filter(None, pair)) for pair in zip(*by_kind, strict=True)]
    for tell_apart in (_settings_apart, _ids_apart):
        texts = _make_unique(texts, runs, tell_apart)
    return texts


def _label_plugins(plugins: Sequence[Plugin | None]) -> list[str]:
    """Return the label of each plug-in; empty where a run has none."""
    texts = []
    for plugin in plugins:
        if plugin is None:
            texts.append("")
            continue
        alike = [p.settings for p in plugins if p is not None and p.target == plugin.target]
        if len(alike) > 1:
            names = varying(alike)
        else:
            names = [] if plugin.is_named else list(plugin.settings)
        written = ",".join(f"{k}={plugin.settings[k]}" for k in plugin.settings if k in names)
        texts.append(f"{plugin.target}:{written}" if written else plugin.target)
    return texts


def _make_unique(
    texts: Sequence[str],
    runs: Sequence["Result"],
    tell_apart: Callable[[Sequence["Result"]], Sequence[str]],
) -> list[str]:
    """Return the labels; those that several runs have with what tells these runs apart."""
    unique = list(texts)
    for label in {label for label in texts if texts.count(label) > 1}:
        indices = [i for i, other in enumerate(texts) if other == label]
        for i, difference in zip(indices, tell_apart([runs[i] for i in indices]), strict=True):
            unique[i] = f"{label} ({difference})" if difference else label
    return unique


def _settings_apart(runs: Sequence["Result"]) -> list[str]:
    of_runs = [settings(run) for run in runs]
    names = varying(of_runs)
    texts = ([_setting_text(name, chosen.get(name)) for name in names] for chosen in of_runs)
    return [", ".join(filter(None, of_run)) for of_run in texts]


def _setting_text(name: str, value: str | None) -> str:
    if name == "distractors":
        return f"distractors: {value}"
    return value or "" if name in _ALONE else f"{name}={'default' if value is None else value}"


def _ids_apart(runs: Sequence["Result"]) -> list[str]:
    if len({run.run.id for run in runs}) < len(runs):  # the same run, made twice
        return [str(run.folder) for run in runs]
    n = _SHORTEST
    while len({run.run.id[:n] for run in runs}) < len({run.run.id for run in runs}):
        n += 1
    return [run.run.id[:n] for run in runs]


# Whether runs can be compared

_DATA_WORDS = {
    "task": "tasks",
    "corpus": "corpora",
    "split": "splits",
    "corpus_fingerprint": "tables",
    "queries_fingerprint": "queries",
}


def check_same_data(runs: Sequence["Result"], entries: Iterable[str], advice: str) -> None:
    """Raise ``DataError`` unless runs agree in these entries of their identities."""
    first, *others = runs
    for other in others:
        for entry in entries:
            mine, theirs = getattr(first.identity, entry), getattr(other.identity, entry)
            if mine != theirs:
                raise DataError(
                    f"{first.folder} and {other.folder} are of different {_DATA_WORDS[entry]}: "
                    f"{_data_apart(first, other) or f'{mine:.12} and {theirs:.12}'}. {advice}"
                )


def _data_apart(run: "Result", other: "Result") -> str:
    """Return the options in which runs differ, else the files."""
    mine, theirs = data_options(run), data_options(other)
    options = [
        f"{name} {option_text(mine[name])} and {option_text(theirs[name])}"
        for name in mine
        if mine[name] != theirs[name]
    ]
    files = dict(sorted(run.run.manifest.files.items() ^ other.run.manifest.files.items()))
    return ", ".join(options) or (f"files differ, as {list_first([*files], 3)}" if files else "")


def data_options(run: "Result") -> dict[str, Any]:
    """Return option -> value of all that says what a run is of."""
    command = run.command
    return {
        "task": run.identity.task,
        "corpus": run.identity.corpus,
        "split": run.identity.split,
        "queries": run.run.manifest.queries,
        **{name: getattr(command, name) for name in ("distractors", "about", "limit")},
    }


def option_text(value: Any) -> str:
    """Return the value of an option in a sentence."""
    if isinstance(value, tuple):
        return " + ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def check_same_slices(
    runs: Sequence["Result"], names: Sequence[str], metrics: Sequence[str]
) -> None:
    """Raise ``DataError`` if a query is in another part in one of the runs.

    Rankings are reused without the properties of their queries, so these can differ.
    """
    properties = {*names, *(("db_id",) if any("[db]" in metric for metric in metrics) else ())}
    for name in sorted(properties):
        for other in runs[1:]:
            theirs = other.queries.properties.get(name)
            if theirs is not None and theirs != runs[0].queries.properties.get(name):
                raise DataError(
                    f"{runs[0].folder.name} and {other.folder.name} differ in the {name} of their "
                    "queries. A property of answers is shown of one run: runs show RUN --by "
                    f"{name}. Else the data were changed in between: run both again; rankings are "
                    "reused"
                )
