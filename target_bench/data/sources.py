"""Sources of a corpus: its plug-in by name or path, its split, its folder."""

import os
from pathlib import Path

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import CorpusLoader

ENVIRONMENT = "TARGET_BENCH_DATA"
"""The variable that names the folder with one sub-folder a corpus."""

_ALIASES = {"dev": "validation", "val": "validation", "mini-dev": "mini_dev", "minidev": "mini_dev"}


def loader(name: str | Path) -> CorpusLoader:
    """Return the corpus plug-in of this name (``OTT-QA`` and ``ottqa`` are the same), or of a path.

    Args:
        name: a registered name, ``module:Class`` or ``path/file.py:Class``; or the path of a
            folder or database file of your own, written with a separator, as in ``./tables``.

    Raises:
        ConfigError: the name is unknown.
        DataError: there is nothing readable at the path.
    """
    if is_path(name):
        from target_bench.data.formats import detect

        return detect.of_path(Path(name).expanduser())
    name = str(name)
    try:
        found = registry.create("corpus", registry.canonical("corpus", name))
    except ConfigError as error:
        if Path(name).is_dir():
            raise ConfigError(f"{error} For the folder of this name write ./{name}") from error
        raise
    if not isinstance(found, CorpusLoader):
        raise ConfigError(f"{name!r} is not a corpus: {type(found).__name__} is not a CorpusLoader")
    return found


def is_path(name: str | Path) -> bool:
    """Return whether a corpus is named by its path: a folder or a database file."""
    if isinstance(name, Path):
        return True
    if ":" in name and registry.parse("corpus", name).target != name.partition(":")[0]:
        return False  # module:Class or path/file.py:Class
    suffixes = (".sqlite", ".sqlite3", ".db", ".duckdb")
    return "/" in name or os.sep in name or name in (".", "..") or name.lower().endswith(suffixes)


def split_of(plugin: CorpusLoader, split: str | None) -> str:
    """Return the full name of a split of this corpus.

    Raises:
        ConfigError: it has no such split.
    """
    info = plugin.info
    if split is None:
        return info.splits[0]
    full = _ALIASES.get(split.lower(), split.lower())
    for name in (split, full):
        if name in info.splits:
            return name
    raise ConfigError(
        f"corpus {info.name} has no split {split!r}. It has {', '.join(info.splits)}."
    )


def folder_of(plugin: CorpusLoader, data_dir: str | Path | None, strict: bool = False) -> Path:
    """Return the folder that holds the data of this corpus.

    Args:
        plugin: the corpus.
        data_dir: as for ``load``.
        strict: take ``data_dir`` only if it has a sub-folder of the corpus's name.

    Raises:
        DataError: there is none; the message says how to get the data.
    """
    info = plugin.info
    if plugin.embedded is not None:
        return plugin.embedded
    if data_dir is not None:
        folder = Path(data_dir)
        if not folder.is_dir():
            raise DataError(f"--data-dir {folder}: there is no such folder\n{_how_to_get(plugin)}")
        if (folder / info.name).is_dir():
            return folder / info.name
        if not strict:
            return folder
    root = os.environ.get(ENVIRONMENT)
    if root and (Path(root) / info.name).is_dir():
        return Path(root) / info.name
    from target_bench.data import hub

    pulled = hub.pulled(info.name)
    if pulled is not None:
        return pulled
    if root:
        raise DataError(
            f"${ENVIRONMENT}/{info.name}: {Path(root) / info.name} is not a folder\n"
            f"{_how_to_get(plugin)}"
        )
    raise DataError(f"the data of corpus {info.name} is not here.\n{_how_to_get(plugin)}")


def _how_to_get(plugin: CorpusLoader) -> str:
    from target_bench.data import hub

    info = plugin.info
    lines = [
        f"Download {info.title} from {info.source} (licence: {info.licence}) and put these files",
        f"into a folder {info.name}/ (as they are, or as .gz or .zip):",
        *(f"  {name}" for name in info.files),
        f"Then set {ENVIRONMENT} to the folder that holds {info.name}/,",
        f"or pass --data-dir with the path of {info.name}/ itself.",
    ]
    if hub.knows(info.name):
        lines.append(f"Or fetch TARGET's copy: target-bench data pull {info.name}")
    return "\n".join(lines)
