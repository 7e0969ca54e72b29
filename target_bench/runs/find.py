"""The folders of runs, and the run that a user names."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from target_bench.core.errors import ConfigError, StoreError, did_you_mean
from target_bench.core.text_tables import count_noun
from target_bench.runs.manifest import Command, read_key, read_manifest

_MOST_LISTED = 20
_SHORTEST = 4  # characters of the beginning of a name or id that find a run


def list_run_folders(root: Path) -> list[Path]:
    """Return the run folders in a folder of runs, sorted; links are left out."""
    if not root.is_dir():
        raise StoreError(f"{root}: there is no such folder of runs; name one with --out")
    return [path for path in sorted(root.iterdir()) if _is_run_folder(path)]


def _is_run_folder(path: Path) -> bool:
    return read_key(path) is not None and path.is_dir() and not path.is_symlink()


def is_folder_of_runs(name: str | Path) -> bool:
    """Return whether a folder holds run folders, and is no run folder itself."""
    path = Path(name)
    is_run = (path / "manifest.json").is_file()
    return path.is_dir() and not is_run and any(map(_is_run_folder, path.iterdir()))


def is_run_name(name: str, root: Path) -> bool:
    """Return whether this is the name of a run, and of no other file or folder."""
    if (Path(name) / "manifest.json").is_file():
        return True
    return not Path(name).exists() and bool(
        _find_by_beginning(name, root) or find_runs_by_label(name, root)
    )


def find_run(name: str | Path, root: Path) -> Path:
    """Return the run folder with this path, name, id or label.

    The first 4 characters of a name or id are enough if no other run has them.
    """
    for folder in (Path(name), root / name):
        if (folder / "manifest.json").is_file():
            return folder
        if folder.is_dir() and str(name) not in ("", ".", ".."):
            raise ConfigError(f"{folder} is not a run folder: it holds no manifest.json")
    by_beginning = _find_by_beginning(name, root)
    matches = by_beginning or find_runs_by_label(str(name), root)
    if len(matches) == 1:
        return matches[0]
    if by_beginning:
        lines = [folder.name for folder in matches]
        raise _ambiguous_name(
            f"{name}: {len(matches)} runs have a name or id that begins with it; write more", lines
        )
    if matches:
        lines = [_describe_run(folder) for folder in matches]
        raise _ambiguous_name(f"{name}: {len(matches)} runs have this name; write the id", lines)
    names = [text for f, command in _read_commands(root) for text in (command.label, f.name)]
    raise ConfigError(
        f"{name}: neither a run folder nor the name or id (at least {_SHORTEST} characters) of a "
        f"run in {root}.{did_you_mean(str(name), names)} See "
        f"target-bench runs list --out {root}"
    )


def _ambiguous_name(problem: str, lines: list[str]) -> ConfigError:
    more = len(lines) - _MOST_LISTED
    shown = [*lines[:_MOST_LISTED], f"and {more} more"] if more > 0 else lines
    return ConfigError("\n  ".join([f"{problem} of the one that you mean:", *shown]))


def _describe_run(folder: Path) -> str:
    """Return the name of a run folder, which has task and corpus, and what else may differ."""
    manifest = read_manifest(folder)
    n = manifest.n_queries
    n_queries = "" if n is None else f" of {count_noun(n, 'question')}"
    return f"{folder.name}{n_queries}, {(manifest.started or '')[:16].replace('T', ' ')}"


def find_runs_by_label(name: str, root: Path) -> list[Path]:
    """Return the runs with this label, as ``bm25 + extractive``; none if it names a run or a path.

    Rankings that were made for answers to some of the questions count if there are no others.
    """
    if Path(name).exists() or (root / name).exists() or _find_by_beginning(name, root):
        return []
    runs = [(folder, command) for folder, command in _read_commands(root) if command.label == name]
    return [f for f, command in runs if not command.ranks_for_answers] or [f for f, _ in runs]


def _read_commands(root: Path) -> Iterator[tuple[Path, Command]]:
    for folder in list_run_folders(root) if root.is_dir() else []:
        with suppress(StoreError):
            yield folder, read_manifest(folder).command


def _find_by_beginning(name: str | Path, root: Path) -> list[Path]:
    """Return the runs whose name or id begins with this, in ``root`` or in its own folder."""
    parent, beginning = Path(name).parent, Path(name).name
    if parent == Path():
        parent = root
    elif not parent.is_dir():
        parent = root / parent
    if len(beginning) < _SHORTEST or not parent.is_dir():
        return []
    return [
        folder
        for folder in list_run_folders(parent)
        if folder.name.startswith(beginning) or str(read_key(folder)).startswith(beginning)
    ]
