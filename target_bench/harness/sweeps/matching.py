"""Rules of ``include`` and ``exclude``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError, unknown_name
from target_bench.harness.sweeps.sweep_cell import SweepCell
from target_bench.harness.sweeps.yaml_lines import Document, Place

KEYS = (
    "task",
    "corpus",
    "split",
    "distractors",
    "retriever",
    "generator",
    "prompt",
    "tables",
    "table_format",
    "prompt_tokens",
    "schema_scope",
    "database",
    "seed",
    "repeat",
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A cell, and where the file says what it is made of.

    Attributes:
        cell: the cell.
        places: name of a list -> the place of what was chosen.
    """

    cell: SweepCell
    places: Mapping[str, Place]


class Matcher:
    """Tells the cells that one of several rules describes.

    Args:
        rules: each a mapping of ``KEYS`` to a value, a pattern with ``*`` and ``?``, or a list of
            them; a task, retriever or generator may be a mapping of ``name`` and settings. All
            entries of a rule have to match.
        place: where they stand.
        document: the file.

    Raises:
        ConfigError: an unknown key.
    """

    def __init__(
        self, rules: Sequence[Mapping[str, Any]], place: Place, document: Document
    ) -> None:
        self._rules = rules
        self._at = [document.at((*place, i)) for i in range(len(rules))]
        for i, rule in enumerate(rules):
            for key in rule:
                if key not in KEYS:
                    where = document.at((*place, i, key))
                    raise ConfigError(f"{where}: {unknown_name('key', key, KEYS)}")

    def kept(self, cells: Sequence[Placed]) -> list[Placed]:
        """Return the cells that a rule describes.

        Raises:
            ConfigError: a rule describes none: it says something else than was meant.
        """
        kept = []
        used = set()
        for placed in cells:
            matching = {i for i, rule in enumerate(self._rules) if _matches(rule, placed.cell)}
            used |= matching
            kept += [placed] if matching else []
        for i, where in enumerate(self._at):
            if i not in used:
                raise ConfigError(f"{where}: no cell is like that: {dict(self._rules[i])}")
        return kept


def _matches(rule: Mapping[str, Any], cell: SweepCell) -> bool:
    return all(_is_like(key, cell, wanted) for key, wanted in rule.items())


def _is_like(key: str, cell: SweepCell, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(_is_like(key, cell, one) for one in wanted)
    value = cell.value(key)
    if isinstance(wanted, Mapping):
        return _has_settings(key, cell.task_text if key == "task" else value, wanted)
    if key == "distractors":
        return fnmatchcase(" + ".join(value) or "none", "none" if wanted is None else str(wanted))
    if value is None or wanted is None:
        return value is wanted
    if key == "prompt":
        return fnmatchcase(value.name, str(wanted))
    name = cell.value(f"{key}_name") if key in ("retriever", "generator") else None
    return any(fnmatchcase(str(one), str(wanted)) for one in (value, name) if one is not None)


def _has_settings(kind: str, text: Any, wanted: Mapping[str, Any]) -> bool:
    plugin = _KINDS.get(kind)
    if plugin is None or text is None:
        return False
    spec = registry.parse(plugin, text)
    found = {"name": registry.canonical(plugin, spec.target), **spec.settings}
    named = {"name": registry.canonical(plugin, str(wanted["name"]))} if "name" in wanted else {}
    return all(key in found and found[key] == value for key, value in {**wanted, **named}.items())


_KINDS: Mapping[str, registry.Kind] = {
    "task": "task",
    "retriever": "retriever",
    "generator": "generator",
}
