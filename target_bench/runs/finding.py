"""Run folders: all of a store, or the one that a user means."""

import re
from pathlib import Path

from target_bench.errors import ConfigError, StoreError

_ID = re.compile(r".*-([0-9a-f]{12})")
_NAME = re.compile(r"(.*-)?[0-9a-f]{12}")


def run_folders(root: Path) -> list[Path]:
    """Every folder under ``root`` that is named as a run is, sorted by name; links are none.

    The runs that a sweep repeated, in ``root/repeat-N``, come after the others.

    Raises:
        StoreError: there is no such folder.
    """
    if not root.is_dir():
        raise StoreError(f"{root}: there is no such folder of runs; name one with --out")
    folders = [root, *filter(_is_folder, sorted(root.glob("repeat-*")))]
    return [path for folder in folders for path in sorted(folder.iterdir()) if _is_run(path)]


def key_of(folder: Path) -> str | None:
    """The hash that a run folder's name ends with, or None."""
    found = _ID.fullmatch(folder.name)
    return found[1] if found else None


def is_name(name: str) -> bool:
    """Whether this is a run folder, or is written as its name or hash is, and nothing else."""
    path = Path(name)
    return (path / "manifest.json").is_file() or (
        not path.exists() and _NAME.fullmatch(path.name) is not None
    )


def find(name: str | Path, root: Path) -> Path:
    """The folder of a run.

    Args:
        name: the folder, its name under ``root``, or the hash at the end of that.
        root: the folder of all runs.

    Raises:
        ConfigError: there is no such run, or the folder is none.
    """
    for folder in (Path(name), root / name):
        if (folder / "manifest.json").is_file():
            return folder
        if folder.is_dir() and str(name) not in ("", ".", ".."):
            raise ConfigError(f"{folder} is no run folder: it holds no manifest.json")
    found = [path for path in run_folders(root) if key_of(path) == str(name)] if _any(root) else []
    if found:
        return found[0]
    raise ConfigError(
        f"{name}: neither a run folder nor the id of a run in {root}; see target-bench runs list "
        f"--out {root}"
    )


def _is_run(path: Path) -> bool:
    return key_of(path) is not None and _is_folder(path)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _any(root: Path) -> bool:
    return root.is_dir()
