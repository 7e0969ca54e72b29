"""Run folders: all of a folder of runs, or the one that a user means."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from target_bench.core.errors import ConfigError, StoreError, did_you_mean
from target_bench.core.text_tables import count_noun
from target_bench.runs.manifest import Command, read_key, read_manifest

_NAME = re.compile(r"(.*-)?[0-9a-f]{12}")
_LISTED = 20
_SHORTEST = 4  # characters of a name or id that find a run


def run_folders(root: Path) -> list[Path]:
    """Return the folders of a folder that are named as runs are, sorted; links are none."""
    if not root.is_dir():
        raise StoreError(f"{root}: there is no such folder of runs; name one with --out")
    return [path for path in sorted(root.iterdir()) if _is_run(path)]


def _is_run(path: Path) -> bool:
    return read_key(path) is not None and path.is_dir() and not path.is_symlink()


def is_store(name: str | Path) -> bool:
    """Return whether this is a folder of runs."""
    path = Path(name)
    is_run = (path / "manifest.json").is_file()
    return path.is_dir() and not is_run and any(map(_is_run, path.iterdir()))


def is_name(name: str, root: Path) -> bool:
    """Return whether this names a run as ``find`` takes it, and nothing else."""
    path = Path(name)
    if (path / "manifest.json").is_file():
        return True
    is_written_so = _NAME.fullmatch(path.name) is not None
    names_run = is_written_so or bool(_find_by_beginning(name, root) or find_by_label(name, root))
    return names_run and not path.exists()


def find(name: str | Path, root: Path) -> Path:
    """Return the folder of a run: by its path, name, id, their beginning (4 letters) or label."""
    for folder in (Path(name), root / name):
        if (folder / "manifest.json").is_file():
            return folder
        if folder.is_dir() and str(name) not in ("", ".", ".."):
            raise ConfigError(f"{folder} is not a run folder: it holds no manifest.json")
    by_beginning = _find_by_beginning(name, root)
    matches = {f.name: f for f in by_beginning or find_by_label(str(name), root)}
    if len(matches) == 1:
        return next(iter(matches.values()))
    if matches:
        lines = [n if by_beginning else n + _facts(folder) for n, folder in sorted(matches.items())]
        lines[_LISTED:] = [f"and {more} more"] if (more := len(lines) - _LISTED) > 0 else []
        how = "begin so; write more" if by_beginning else "are called so; write the id"
        raise ConfigError(
            "\n  ".join([f"{name}: {len(matches)} runs {how} of the one that you mean:", *lines])
        )
    names = [text for f, command in _read_commands(root) for text in (command.label, f.name)]
    raise ConfigError(
        f"{name}: neither a run folder nor the name or id of a run in {root}, of which "
        f"{_SHORTEST} characters at least are needed.{did_you_mean(str(name), names)} See "
        f"target-bench runs list --out {root}"
    )


def _facts(folder: Path) -> str:
    """Return what tells runs of a label apart, beside task and corpus, which their folders name."""
    manifest = read_manifest(folder)
    n_queries = (
        "" if manifest.queries is None else f" of {count_noun(manifest.queries, 'question')}"
    )
    return f"{n_queries}, {(manifest.started or '')[:16].replace('T', ' ')}"


def find_by_label(name: str, root: Path) -> list[Path]:
    """Return the runs that lists and tables call so, as ``bm25 + extractive``.

    None if a folder has the name, or the name or id of a run begins with it.
    """
    if Path(name).exists() or (root / name).exists() or _find_by_beginning(name, root):
        return []
    runs = [(folder, command) for folder, command in _read_commands(root) if command.label == name]
    # Rankings for answers to some of the questions count only where there are no others.
    return [f for f, command in runs if not command.is_basis] or [f for f, _ in runs]


def _read_commands(root: Path) -> Iterator[tuple[Path, Command]]:
    for folder in run_folders(root) if root.is_dir() else []:
        with suppress(StoreError):
            yield folder, read_manifest(folder).asked


def _find_by_beginning(name: str | Path, root: Path) -> list[Path]:
    """Return the runs whose name or id begins with this, those of ``root`` first."""
    path = Path(name)
    if len(path.name) < _SHORTEST:
        return []
    stores = [root] if path.parent == Path() else [root / path.parent, path.parent]
    folders = [folder for store in stores if store.is_dir() for folder in run_folders(store)]
    return [
        folder
        for folder in dict.fromkeys(folders)
        if any(n.startswith(path.name) for n in (folder.name, folder.name.rpartition("-")[2]))
    ]
