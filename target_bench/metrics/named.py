"""Name -> metric, for what is read back from a run folder."""

from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.interfaces import Metric
from target_bench.metrics import classification, retrieval, sql, text


def named(name: str) -> Metric[Any] | None:
    """The metric of a name with default settings, or None where the name is none of ours.

    Settings such as how labels are read change what is counted for a query, and are in the stored
    statistics; ``value`` is the same under all of them.
    """
    if name in text.FAMILIES:
        return text.FAMILIES[name].make("var")
    if name in classification.FAMILIES:
        return classification.FAMILIES[name].make("strict")
    if name in sql.FAMILIES:
        return sql.FAMILIES[name].make()
    try:
        return retrieval.parse(name)
    except ConfigError:
        return None
