"""What varies between the runs of a sweep: factors, and the level of each run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from target_bench.runs.labels import PLUGINS, settings, varying
from target_bench.runs.result import Result

DEFAULT = "default"
"""The level of a run that leaves a setting at its default."""

NONE = "–"
"""The level of a run whose plug-in has no such setting, or never a chosen one."""

_FIXED = ("corpus", "split", "about", "database", "limit", "task", "k")
"""Settings that decide which queries are asked, or how deep; runs of one conclusion share them."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that varies between runs.

    Attributes:
        name: a setting as users write it, ``k1``; several that always vary together are joined.
        of_run: the level of each run, as text.
    """

    name: str
    of_run: tuple[str, ...]

    @property
    def levels(self) -> list[str]:
        """The levels that runs have: numbers ascending, else in the order of the runs."""
        found = [level for level in dict.fromkeys(self.of_run) if level != NONE]
        return sorted(found, key=float) if all(map(_is_number, found)) else found


def factors(runs: Sequence[Result]) -> list[Factor]:
    """Find what varies between runs that were asked the same queries.

    A setting that all runs of a plug-in share belongs to the plug-in and is not a factor. Settings
    that always vary together, such as those that a sweep zips, are one factor.
    """
    found = [settings(run) for run in runs]
    names = [name for name in varying(found) if name not in _FIXED and not _implied(name, found)]
    columns = {name: tuple(_level(name, one, found) for one in found) for name in names}
    joined: list[list[str]] = []
    for name, column in columns.items():
        same = (group for group in joined if _go_together(columns[group[0]], column))
        group = next(same, None)
        if group is None:
            joined.append([name])
        else:
            group.append(name)
    short = _short(names)
    return [
        Factor(", ".join(short[name] for name in group), _levels([columns[name] for name in group]))
        for group in joined
    ]


def _implied(name: str, found: Sequence[Mapping[str, str]]) -> bool:
    """Whether every run of a plug-in has the same value of this setting of it."""
    kind, dot, _ = name.partition(".")
    pairs = {(one.get(kind), one.get(name)) for one in found}
    return bool(dot) and len(pairs) == len({plugin for plugin, _ in pairs})


def _level(name: str, one: Mapping[str, str], found: Sequence[Mapping[str, str]]) -> str:
    if name in one:
        return one[name]
    kind, dot, _ = name.partition(".")
    if dot or kind in PLUGINS:
        has = any(name in other for other in found if other.get(kind) == one.get(kind))
        return DEFAULT if has else NONE
    return DEFAULT


def _go_together(one: Sequence[str], other: Sequence[str]) -> bool:
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


def _levels(columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(
        NONE if set(values) == {NONE} else ", ".join(values)
        for values in zip(*columns, strict=True)
    )


def _short(names: Sequence[str]) -> dict[str, str]:
    """Return settings without the kind of their plug-in, where that leaves them distinct."""
    last = [name.rpartition(".")[2] for name in names]
    return {
        name: short if last.count(short) == 1 else name
        for name, short in zip(names, last, strict=True)
    }


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False
