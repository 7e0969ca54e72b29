"""Runs side by side: what they are called, in what they differ, and whether they can be compared.

A run is called by the user's names, or by the settings in which it differs from the others:
``bm25:k1=0.9,b=0.4`` and ``bm25:k1=1.2,b=0.4`` are called ``bm25:k1=0.9`` and ``bm25:k1=1.2``. What
runs of one plug-in share is left out; where only one run has a plug-in, all its settings stand.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.settings import written_settings
from target_bench.runs.manifest import flat
from target_bench.runs.result import Result

PLUGINS: Sequence[registry.Kind] = ("retriever", "generator", "task")
"""The plug-ins of a run that have settings of their own."""

_ALONE = ("corpus", "split", "task", "about")
"""Settings whose value says enough."""

_SHORTEST = 6
"""Characters of a run's id that a label ends with where nothing else tells two runs apart."""


class Plugin(NamedTuple):
    """A plug-in of a run as it was asked for.

    Attributes:
        target: what the user calls it, or its name, file or module.
        settings: setting -> value, as it was written.
        is_named: whether the user gave it a name.
    """

    target: str
    settings: Mapping[str, str]
    is_named: bool = False


def plugins(run: Result) -> dict[str, Plugin]:
    """Return retriever, generator and task of a run, as far as it has them."""
    command = run.command
    names = {"retriever": command.retriever_name, "generator": command.generator_name}
    texts = {kind: getattr(command, kind) for kind in PLUGINS}
    texts["task"] = texts["task"] or run.task
    return {
        kind: _plugin(kind, texts[kind], names.get(kind))
        for kind in PLUGINS
        if texts[kind] is not None
    }


def _plugin(kind: registry.Kind, text: str, name: str | None) -> Plugin:
    try:
        target, settings = registry.divided(kind, text)
        written = written_settings(settings, text)
    except ConfigError:  # a label, such as that of a file of rankings
        target, written = text, {}
    return Plugin(name or target, written, is_named=name is not None)


def settings(run: Result) -> dict[str, str]:
    """Return setting -> value of all that a user chose for a run, as text.

    Those of plug-ins are called ``retriever.k1`` and so on; ``retriever`` itself is what it is
    called. A setting that was left at its default is not there.
    """
    command = run.command
    values = {"corpus": run.corpus, "split": run.split}
    values["distractors"] = " + ".join(command.distractors) or "none"
    chosen = {"about": command.about, "limit": command.limit}
    ranked = run.rankings_run.identity.top_k
    chosen |= {"k": ranked[-1] if ranked else None, **(command.prompting or {})}
    if run.identity.has_answers and ranked:
        chosen["tables"] = chosen.get("tables") or ranked[-1]
    values |= {name: str(value) for name, value in chosen.items() if value is not None}
    for kind, plugin in plugins(run).items():
        values[kind] = plugin.target
        values |= {f"{kind}.{name}": value for name, value in plugin.settings.items()}
    return values


_DATA = ("corpus", "split", "distractors", "about", "limit", "task")
"""Settings that say what a run is of, and not how it answers."""


def method_of(run: Result) -> tuple[str, ...]:
    """Return the parts that identify a method on any corpus: plug-ins and their settings.

    A plug-in with a name is known by it, so that one method may have other settings on each corpus.
    """
    chosen = settings(run)
    of_named = [f"{kind}." for kind, plugin in plugins(run).items() if plugin.is_named]
    kept = (
        (name, value)
        for name, value in chosen.items()
        if name not in _DATA
        and not (name == "k" and not run.identity.has_answers)
        and not name.startswith(tuple(of_named))
    )
    return tuple(f"{name}={value}" for name, value in sorted(kept))


def system_of(run: Result) -> tuple[str, ...]:
    """Return what makes a system: plug-ins with their settings, also as objects, and options.

    That is all that a run is told apart by but code and versions.
    """
    chosen = settings(run) | {
        path: str(value) for path, value in flat(run.identity.content) if "config." in path
    }
    return tuple(f"{name}={value}" for name, value in sorted(chosen.items()))


def varying(runs: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the settings in which some of the runs differ, plug-ins first.

    Args:
        runs: ``settings`` of each.
    """
    names = dict.fromkeys(name for run in runs for name in run)
    different = [name for name in names if len({run.get(name) for run in runs}) > 1]
    return sorted(different, key=lambda name: name.partition(".")[0] not in PLUGINS)


def labels(runs: Sequence[Result]) -> list[str]:
    """Return a label for each run, no two alike.

    It is the name that the user gave, or the plug-in with the settings that differ from the other
    runs of this plug-in. Runs that agree in these get what else they differ in: other settings,
    else the beginning of their id, else the folder.
    """
    of_runs = [plugins(run) for run in runs]
    of_kind = {
        kind: _labels_of([run_plugins.get(kind) for run_plugins in of_runs])
        for kind in ("retriever", "generator")
    }
    called = [" + ".join(filter(None, parts)) for parts in zip(*of_kind.values(), strict=True)]
    for tell in (_settings_apart, _ids_apart):
        called = _apart(called, runs, tell)
    return called


def _labels_of(plugins: Sequence[Plugin | None]) -> list[str]:
    """Return the label of each plug-in; empty where a run has none."""
    shown = []
    for plugin in plugins:
        if plugin is None:
            shown.append("")
            continue
        alike = [p.settings for p in plugins if p is not None and p.target == plugin.target]
        kept = (
            varying(alike) if len(alike) > 1 else [] if plugin.is_named else list(plugin.settings)
        )
        written = ",".join(f"{k}={plugin.settings[k]}" for k in plugin.settings if k in kept)
        shown.append(f"{plugin.target}:{written}" if written else plugin.target)
    return shown


def _apart(
    called: Sequence[str],
    runs: Sequence[Result],
    tell: Callable[[Sequence[Result]], Sequence[str]],
) -> list[str]:
    """Return the labels; those that several runs have with what tells these runs apart."""
    added = list(called)
    for label in {label for label in called if called.count(label) > 1}:
        places = [i for i, other in enumerate(called) if other == label]
        for i, difference in zip(places, tell([runs[i] for i in places]), strict=True):
            added[i] = f"{label} ({difference})" if difference else label
    return added


def _settings_apart(runs: Sequence[Result]) -> list[str]:
    of_runs = [settings(run) for run in runs]
    names = varying(of_runs)
    shown = ([_setting_text(name, chosen.get(name)) for name in names] for chosen in of_runs)
    return [", ".join(filter(None, texts)) for texts in shown]


def _setting_text(name: str, value: str | None) -> str:
    if name == "distractors":
        return f"distractors: {value}"
    return value or "" if name in _ALONE else f"{name}={'default' if value is None else value}"


def _ids_apart(runs: Sequence[Result]) -> list[str]:
    if len({run.id for run in runs}) < len(runs):  # the same run, made twice
        return [str(run.folder) for run in runs]
    n = _SHORTEST
    while len({run.id[:n] for run in runs}) < len({run.id for run in runs}):
        n += 1
    return [run.id[:n] for run in runs]


def check_same_slices(runs: Sequence[Result], names: Sequence[str], metrics: Sequence[str]) -> None:
    """Check that the runs agree on the properties of queries: rankings are reused without them.

    Raises:
        DataError: a query is in another part in one of them.
    """
    properties = {*names, *(("db_id",) if any("[db]" in metric for metric in metrics) else ())}
    for name in sorted(properties):
        for other in runs[1:]:
            if name in other.slices and other.slices[name] != runs[0].slices.get(name):
                raise DataError(
                    f"{runs[0].folder.name} and {other.folder.name} differ in the {name} of their "
                    "queries: the data were changed in between. Run both again; rankings are reused"
                )
