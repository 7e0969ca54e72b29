"""Whether runs that are set side by side were asked the same."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.runs.earlier_versions import earlier_note
from target_bench.runs.read import StoredRun


def check_same_version(one: StoredRun, other: StoredRun) -> None:
    """See that the queries of two runs about answers are known by fingerprints of one kind.

    Raises:
        DataError: one of them is of an earlier version.
    """
    earlier = [run.folder.name for run in (one, other) if run.identity.is_earlier]
    if len(earlier) == 1 and one.task == other.task:
        raise DataError(
            f"{earlier_note(earlier[0])}: nothing tells whether both were asked the same. Answer "
            "its queries again"
        )


def check_same_slices(
    runs: Sequence[StoredRun], names: Sequence[str], metrics: Sequence[str]
) -> None:
    """Check that the runs agree on the properties of queries: rankings are reused without them.

    Raises:
        DataError: a query is in another part in one of them.
    """
    wanted = {*names, *(("db_id",) if any("[db]" in metric for metric in metrics) else ())}
    for name in sorted(wanted):
        for other in runs[1:]:
            if name in other.slices and other.slices[name] != runs[0].slices.get(name):
                raise DataError(
                    f"{runs[0].folder.name} and {other.folder.name} differ in the {name} of their "
                    "queries: the data were changed in between. Run both again; rankings are reused"
                )


def check_same_data(data: Mapping[Path, Mapping[str, Any]], part: str, about: str) -> None:
    """Check that runs under one name are of the same data.

    Args:
        data: run folder -> ``Result.data``.
        part: which entry of it has to be the same.
        about: corpus and split.

    Raises:
        ConfigError: two of them differ.
    """
    (first, mine), *others = data.items()
    for other, theirs in others:
        if mine.get(part) != theirs.get(part):
            raise ConfigError(
                f"{first} and {other} are of different {part} under one name ({about}): "
                f"{_difference(mine.get('files', {}), theirs.get('files', {}))}. Figures of "
                "different data cannot be compared; run one of them again on the other's data."
            )


def _difference(mine: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
    if not names:
        return "their fingerprints differ"
    pairs = (
        f"{name} has SHA-256 {mine.get(name, 'none')[:12]} and {theirs.get(name, 'none')[:12]}"
        for name in names[:3]
    )
    return "; ".join(pairs)
