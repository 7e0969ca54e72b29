"""Scores by slice beside the scores of a result."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from target_bench.core.schema import Dataset
from target_bench.harness.results import Result
from target_bench.runs.read import read_run
from target_bench.runs.slicing import by_property, check_names, scores_by


def check(names: Sequence[str], datasets: Iterable[Dataset]) -> None:
    """See that queries have the properties by which scores are wanted, before anything runs.

    Raises:
        ConfigError: the queries of a dataset do not have one of them.
    """
    for dataset in datasets if names else ():
        check_names(by_property(dataset.queries), names)


def added(results: Iterable[Result], names: Sequence[str]) -> list[Result]:
    """Add the scores by each of these properties, from the stored runs.

    Raises:
        ConfigError: the queries do not have one of them.
        StoreError: a run cannot be read.
    """
    return [_with_slices(result, names) if names else result for result in results]


def _with_slices(result: Result, names: Sequence[str]) -> Result:
    stored = read_run(result.folder)
    return replace(result, by={name: scores_by(stored, name) for name in names})
