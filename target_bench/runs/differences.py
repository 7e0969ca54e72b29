"""Runs side by side: their labels, their differences, and whether they can be compared.

A label has the settings in which a run differs from the others: ``bm25:k1=0.9,b=0.4`` and
``bm25:k1=1.2,b=0.4`` are labelled ``bm25:k1=0.9`` and ``bm25:k1=1.2``. A plug-in that only one run
has is shown with all its settings, and a name that the user gave without any.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.settings import split_pairs
from target_bench.core.text_tables import list_first
from target_bench.runs.manifest import flatten

if TYPE_CHECKING:
    from target_bench.runs.result import Result

PLUGINS: Sequence[registry.Kind] = ("retriever", "generator", "task")
"""The plug-ins of a run that have settings of their own."""

_DATA = ("corpus", "split", "distractors", "about", "limit", "task")
"""Settings that choose tables and queries, and say nothing about the method."""

_SHOWN_WITHOUT_NAME = ("corpus", "split", "task", "about")
"""Settings whose value says enough: ``validation`` and not ``split=validation``.

``about`` is the task to whose queries a run was limited.
"""

_SHORTEST_ID = 6  # characters


class Plugin(NamedTuple):
    """A plug-in of a run as the command named it."""

    display_name: str  # the name that the user gave it, else its name, file or module
    settings: Mapping[str, str]  # setting -> value, as it was written
    has_user_name: bool = False


def read_plugins(result: "Result") -> dict[str, Plugin]:
    """Return kind -> plug-in: retriever, generator and task of a run, as far as it has them."""
    command, plugins = result.command, {}
    if command.retriever is not None:
        user_name = command.retriever_name
        plugins["retriever"] = _read_plugin("retriever", command.retriever, user_name)
    if command.generator is not None:
        user_name = command.generator_name
        plugins["generator"] = _read_plugin("generator", command.generator, user_name)
    plugins["task"] = _read_plugin("task", command.task, None)
    return plugins


def _read_plugin(kind: registry.Kind, text: str, user_name: str | None) -> Plugin:
    try:
        target, settings = registry.split_settings(kind, text)
        written = split_pairs(settings, text)
    except ConfigError:  # no plug-in, as a file of rankings
        target, written = text, {}
    return Plugin(user_name or target, written, has_user_name=user_name is not None)


def read_settings(result: "Result") -> dict[str, str]:
    """Return setting -> value, as text, of all that a user chose for a run.

    Settings of plug-ins are called ``retriever.k1`` and so on; those left at their defaults are
    not there. The value of ``retriever`` itself is its ``Plugin.display_name``.
    """
    command = result.command
    cutoffs = result.rankings_result.identity.top_k
    chosen: dict[str, Any] = {
        "corpus": result.identity.corpus,
        "split": result.identity.split,
        "distractors": " + ".join(command.distractors) or "none",
        "about": command.about,
        "limit": command.limit,
        "k": cutoffs[-1] if cutoffs else None,
        **(command.prompting or {}),
    }
    if result.identity.has_answers and cutoffs:  # a prompt holds all retrieved tables by default
        chosen["tables"] = chosen.get("tables") or cutoffs[-1]
    values = {name: str(value) for name, value in chosen.items() if value is not None}
    for kind, plugin in read_plugins(result).items():
        values[kind] = plugin.display_name
        values |= {f"{kind}.{name}": value for name, value in plugin.settings.items()}
    return values


def describe_method(result: "Result") -> tuple[str, ...]:
    """Return the settings by which a method is found again on another corpus.

    A plug-in that the user named is identified by the name, so that one method may have other
    settings on each corpus.
    """
    values = read_settings(result)
    for name in _DATA:
        values.pop(name, None)
    if not result.identity.has_answers:
        values.pop("k", None)  # a deeper ranking is of the same method, a longer prompt is not
    named = tuple(
        f"{kind}." for kind, plugin in read_plugins(result).items() if plugin.has_user_name
    )
    return tuple(
        f"{name}={value}" for name, value in sorted(values.items()) if not name.startswith(named)
    )


def describe_system(result: "Result") -> tuple[str, ...]:
    """Return all settings of a run; runs that have them in common are of one system."""
    values = read_settings(result)
    for path, value in flatten(result.identity.content):
        if "config." in path:  # constructor arguments of an object made in Python
            values[path] = str(value)
    return tuple(f"{name}={value}" for name, value in sorted(values.items()))


def find_varying(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the settings in which some of the runs differ, plug-ins first."""
    names = dict.fromkeys(name for values in settings for name in values)
    different = [name for name in names if len({values.get(name) for values in settings}) > 1]
    return sorted(different, key=lambda name: name.partition(".")[0] not in PLUGINS)


# Labels


def make_labels(results: Sequence["Result"]) -> list[str]:
    """Return a label for each run, no two alike.

    It is the name that the user gave, or the plug-in with the settings that differ from the other
    runs of this plug-in. Runs that agree in these get in brackets what else they differ in: other
    settings, else the beginning of their id, else the folder.
    """
    plugins = [read_plugins(result) for result in results]
    retrievers = _label_plugins([each.get("retriever") for each in plugins])
    generators = _label_plugins([each.get("generator") for each in plugins])
    pairs = zip(retrievers, generators, strict=True)
    labels = [" + ".join(filter(None, pair)) for pair in pairs]
    for tell_apart in (_tell_apart_by_settings, _tell_apart_by_ids):
        for equal in _find_equal(labels):
            for i, difference in zip(equal, tell_apart([results[i] for i in equal]), strict=True):
                labels[i] += f" ({difference})" if difference else ""
    return labels


def _label_plugins(plugins: Sequence[Plugin | None]) -> list[str]:
    """Return the label of each plug-in; empty where a run has none."""
    texts = []
    for plugin in plugins:
        if plugin is None:
            texts.append("")
            continue
        namesakes = [p.settings for p in plugins if p and p.display_name == plugin.display_name]
        if len(namesakes) > 1:
            names = find_varying(namesakes)
        else:
            names = [] if plugin.has_user_name else list(plugin.settings)
        written = ",".join(f"{k}={value}" for k, value in plugin.settings.items() if k in names)
        texts.append(f"{plugin.display_name}:{written}" if written else plugin.display_name)
    return texts


def _find_equal(labels: Sequence[str]) -> list[list[int]]:
    """Return the indices of each label that several runs have."""
    indices: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        indices.setdefault(label, []).append(i)
    return [equal for equal in indices.values() if len(equal) > 1]


def _tell_apart_by_settings(results: Sequence["Result"]) -> list[str]:
    settings = [read_settings(result) for result in results]
    names = find_varying(settings)
    texts = ([_format_setting(name, values.get(name)) for name in names] for values in settings)
    return [", ".join(filter(None, parts)) for parts in texts]


def _format_setting(name: str, value: str | None) -> str:
    if name == "distractors":
        return f"distractors: {value}"
    if name in _SHOWN_WITHOUT_NAME:
        return value or ""
    return f"{name}=default" if value is None else f"{name}={value}"


def _tell_apart_by_ids(results: Sequence["Result"]) -> list[str]:
    ids = [result.run.key for result in results]
    if len(set(ids)) < len(ids):  # copies of one run in several folders
        return [str(result.folder) for result in results]
    n = _SHORTEST_ID
    while len({run_id[:n] for run_id in ids}) < len(ids):
        n += 1
    return [run_id[:n] for run_id in ids]


# Whether runs can be compared

_DATA_WORDS = {
    "task": "tasks",
    "corpus": "corpora",
    "split": "splits",
    "corpus_fingerprint": "tables",
    "queries_fingerprint": "queries",
}


def check_same_data(results: Sequence["Result"], entries: Iterable[str], advice: str) -> None:
    """Raise ``DataError`` unless runs agree in these entries of their identities."""
    first, *others = results
    for other in others:
        for entry in entries:
            if getattr(first.identity, entry) != getattr(other.identity, entry):
                raise DataError(
                    f"{first.folder} and {other.folder} are of different {_DATA_WORDS[entry]}: "
                    f"{_describe_data_difference(first, other, entry)}. {advice}"
                )


def _describe_data_difference(result: "Result", other: "Result", entry: str) -> str:
    """Return the options in which runs differ, else the files, else the values of an entry."""
    mine, theirs = read_data_options(result), read_data_options(other)
    options = [
        f"{name} {format_option(mine[name])} and {format_option(theirs[name])}"
        for name in mine
        if mine[name] != theirs[name]
    ]
    if options:
        return ", ".join(options)
    my_files, their_files = result.run.manifest.files, other.run.manifest.files
    files = {name for name, _ in my_files.items() ^ their_files.items()}
    if files:
        return f"files differ, as {list_first(sorted(files), 3)}"
    return f"{getattr(result.identity, entry):.12} and {getattr(other.identity, entry):.12}"


def read_data_options(result: "Result") -> dict[str, Any]:
    """Return option -> value of all that chooses the task, tables and queries of a run."""
    command = result.command
    return {
        "task": result.identity.task,
        "corpus": result.identity.corpus,
        "split": result.identity.split,
        "queries": result.run.manifest.n_queries,
        "distractors": command.distractors,
        "about": command.about,
        "limit": command.limit,
    }


def format_option(value: Any) -> str:
    """Return the value of an option as part of a sentence."""
    if isinstance(value, list | tuple):
        return " + ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def check_same_slices(
    results: Sequence["Result"], names: Sequence[str], metrics: Sequence[str]
) -> None:
    """Raise ``DataError`` unless each query has the same value of these properties in all runs.

    Rankings are reused without the properties of their queries, so these can differ. A property
    that the first run lacks makes no parts, and one that another run lacks contradicts nothing.
    """
    first, *others = results
    properties = set(names)
    if any("[db]" in metric for metric in metrics):
        properties.add("db_id")
    for name in sorted(properties):
        for other in others:
            mine, theirs = (run.per_query.properties.get(name) for run in (first, other))
            if mine is not None and theirs is not None and mine != theirs:
                raise DataError(
                    f"{first.folder.name} and {other.folder.name} differ in the {name} of their "
                    "queries. To see a property of answers, show one run: target-bench runs show "
                    f"RUN --by {name}. Otherwise the data changed in between: run both again; "
                    "their rankings are reused"
                )
