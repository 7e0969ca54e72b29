"""Name -> metric and declaration, for what is read back from a run folder.

The declaration of a metric of this package is found by its name. Of any other metric it stands
beside the score (``Score.spec``), so that a run is shown right where the plug-in is not installed.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import BUILT_IN
from target_bench.core.errors import ConfigError
from target_bench.core.metric import Metric, MetricSpec, split

Scores = Iterable[str] | Mapping[str, Any]
"""Names of metrics, or name -> score: a ``Score``, what ``Score.to_json`` wrote, or a number."""


def is_built_in(name: str) -> bool:
    """Say whether this is the name of a metric of this package, with a cutoff or without."""
    return _found(name) is not None


def spec_of(name: str, score: Any = None) -> MetricSpec:
    """Find the declaration of a metric.

    It is that of the metric of this package, else the one stored beside the score, else that of an
    installed plug-in; a metric that none of them knows is taken for a share of which higher is
    better.

    Args:
        name: as it is stored, with its cutoff.
        score: its score, if there is one: a ``Score``, or what ``Score.to_json`` wrote.
    """
    found = _found(name)
    if found is not None:
        return found
    stored = score.get("spec") if isinstance(score, Mapping) else getattr(score, "spec", None)
    if isinstance(stored, MetricSpec):
        return stored
    if stored is not None:
        return MetricSpec.from_json(stored)
    return _installed(name) or MetricSpec(name.partition("@")[0] or "metric", at_k="@" in name)


def specs_of(scores: Scores) -> dict[str, MetricSpec]:
    """Find the declarations of the metrics of a run: name -> declaration, in the run's order."""
    if isinstance(scores, Mapping):
        return {name: spec_of(name, score) for name, score in scores.items()}
    return {name: spec_of(name) for name in scores}


def parse(name: str, needs_cutoff: bool = True) -> tuple[MetricSpec, int | None]:
    """Read a metric as users write it: ``recall@10`` -> its declaration and its cutoff.

    ``MetricSpec.at`` prints it again. A class of a plug-in is written ``file.py:Class`` or
    ``module:Class``.

    Args:
        name: the metric.
        needs_cutoff: whether a metric that is read at a cutoff has to be named with one.

    Raises:
        ConfigError: there is no such metric, or its cutoff is missing or superfluous.
    """
    if ":" in name:
        return declared(registry.resolve("metric", name), name), None
    family, k = split(name)
    spec = declared(registry.resolve("metric", family), family)
    if spec.at_k and k is None and needs_cutoff:
        raise ConfigError(f"metric {name!r}: write it with a cutoff, as in {spec.at(10)}")
    if not spec.at_k and k is not None:
        raise ConfigError(f"metric {name!r}: it has no cutoff; write it as {spec.at()}")
    return spec, k


def declared(found: Any, name: str) -> MetricSpec:
    """Return the declaration of a class or object that the registry found.

    Raises:
        ConfigError: it has none.
    """
    spec = getattr(found, "spec", None)
    if not isinstance(spec, MetricSpec):
        raise ConfigError(
            f"{name!r} is not a metric: its class has no attribute `spec` with a MetricSpec"
        )
    return spec


def all_specs() -> list[MetricSpec]:
    """Return every registered metric: those of this package, then installed plug-ins."""
    return [declared(registry.resolve("metric", n), n) for n in registry.names("metric")]


def named(name: str) -> Metric[Any] | None:
    """Make the metric of a name with default settings; None where that cannot be done.

    Settings such as how labels are read change what is counted for a query, and are in the stored
    statistics; ``value`` is the same under all of them. A metric of an unknown plug-in, or one that
    needs a setting, is None.
    """
    if ":" in name:
        return None  # reading a run imports no file that it names
    try:
        spec, k = parse(name)
        made: Metric[Any] = registry.build("metric", spec.name, {} if k is None else {"k": k})
    except ConfigError:
        return None
    return made


@cache
def _found(name: str) -> MetricSpec | None:
    """Return the declaration of a metric of this package."""
    try:
        family, k = split(name)
    except ConfigError:
        return None
    if family not in BUILT_IN["metric"]:
        return None
    spec = declared(registry.resolve("metric", family), family)
    return spec if spec.at_k == (k is not None) else None


def _installed(name: str) -> MetricSpec | None:
    if ":" in name:
        return None  # reading a run imports no file that it names
    try:
        return parse(name)[0]
    except ConfigError:
        return None
