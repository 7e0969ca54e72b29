"""The packages that target-bench declares, held against those that are installed."""

from functools import cache

from target_bench.core.errors import ConfigError

DISTRIBUTION = "target-bench"


def conflicts() -> list[str]:
    """Return the faults of the installed versions of required packages, a sentence each.

    Optional packages are not looked at. Where target-bench itself is not installed (its source
    folder is on the path), nothing is declared and the list is empty.
    """
    from importlib.metadata import PackageNotFoundError, requires, version

    from packaging.requirements import Requirement

    try:
        declared = [Requirement(line) for line in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        return []
    found = []
    for needed in declared:
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        wanted = f"{needed.name}{needed.specifier}"
        try:
            installed = version(needed.name)
        except PackageNotFoundError:
            found.append(f"target-bench needs {wanted}, which is not installed.")
            continue
        if not needed.specifier.contains(installed, prereleases=True):
            found.append(f"{needed.name} {installed} is installed; target-bench needs {wanted}.")
    return found


@cache
def check() -> None:
    """Check the installed versions of the required packages; once a process.

    Raises:
        ConfigError: a required package is missing or of a version that does not work.
    """
    found = conflicts()
    if found:
        raise ConfigError(message(found))


def message(found: list[str]) -> str:
    """Return a message of the conflicts and what to do about them."""
    return (
        f"{' '.join(found)} Another package may have changed the version: install that package in "
        f"an environment of its own, and restore this one with: pip install '{DISTRIBUTION}'"
    )
