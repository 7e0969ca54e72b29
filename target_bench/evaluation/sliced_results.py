"""Scores by slice beside the scores of a result."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from target_bench.core.interfaces import Dataset
from target_bench.evaluation.results import Result
from target_bench.runs.read import read_run
from target_bench.runs.slicing import by_property, check_names, scores_by


def checked(names: Sequence[str], datasets: Iterable[Dataset]) -> list[str]:
    """See that queries have the properties by which scores are wanted, before anything runs.

    Raises:
        ConfigError: the queries of a dataset do not have one of them.
    """
    once = list(dict.fromkeys(names))
    for dataset in datasets if once else ():
        check_names(by_property(dataset.queries), once)
    return once


def added(result: Result, names: Sequence[str]) -> Result:
    """Add the scores by each of these properties, from the stored run.

    Raises:
        ConfigError: the queries do not have one of them.
        StoreError: the run cannot be read.
    """
    if not names:
        return result
    stored = read_run(result.folder)
    return replace(result, by={name: scores_by(stored, name) for name in names})
