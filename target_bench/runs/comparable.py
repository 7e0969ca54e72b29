"""Whether runs that are set side by side were asked the same, and made with the same packages."""

from collections.abc import Sequence

from target_bench.core.errors import DataError
from target_bench.core.metric import packages_in
from target_bench.runs.result import Result
from target_bench.runs.times import USED


def other_versions(runs: Sequence[Result], metrics: Sequence[str]) -> str | None:
    """Return a note if runs were made or scored with different versions of packages, else None.

    Args:
        runs: the runs; each has all metrics.
        metrics: whose signatures are looked at for packages.
    """
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        for part in {run.retrieval.folder: run.retrieval, run.folder: run}.values():
            for name, version in part.manifest.environment.get(USED, {}).items():
                found.setdefault(name, {})[str(version)] = None
        for metric in metrics:
            for name, version in packages_in(run.scores[metric].signature).items():
                found.setdefault(name, {})[version] = None
    different = [f"{name} {' and '.join(seen)}" for name, seen in found.items() if len(seen) > 1]
    if not different:
        return None
    return f"the runs were made with different versions of packages: {', '.join(different)}"


def check_same_slices(runs: Sequence[Result], names: Sequence[str], metrics: Sequence[str]) -> None:
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
