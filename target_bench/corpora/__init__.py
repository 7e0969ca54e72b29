"""The corpora: ``load`` finds a plug-in by name and reads one of its splits."""

import os
from pathlib import Path

from target_bench import registry
from target_bench.errors import ConfigError, DataError
from target_bench.interfaces import CorpusLoader, Dataset

ENVIRONMENT = "TARGET_BENCH_DATA"
"""The variable that names the folder with one sub-folder a corpus."""

_ALIASES = {"dev": "validation", "val": "validation"}


def loader(name: str) -> CorpusLoader:
    """The corpus plug-in of this name (``OTT-QA`` and ``ottqa`` are the same).

    Raises:
        ConfigError: nobody knows the name.
    """
    found = registry.create("corpus", registry.canonical("corpus", name))
    if not isinstance(found, CorpusLoader):
        raise ConfigError(f"{name!r} is not a corpus: {type(found).__name__} is no CorpusLoader")
    return found


def load(name: str, split: str | None = None, data_dir: str | Path | None = None) -> Dataset:
    """Load one split of a corpus.

    Args:
        name: a registered name, ``module:Class`` or ``path/file.py:Class``.
        split: ``train``, ``validation`` or ``test`` (``dev`` and ``val`` mean validation);
            default: the corpus's own, the one its paper reports on.
        data_dir: the folder with the release files, or one that holds it under the corpus's name;
            default: ``$TARGET_BENCH_DATA/<name>``.

    Raises:
        ConfigError: an unknown corpus or split.
        DataError: files are missing or broken.
    """
    plugin = loader(name)
    return plugin.load(_folder(plugin, data_dir), _split(plugin, split))


def _split(plugin: CorpusLoader, split: str | None) -> str:
    info = plugin.info
    if split is None:
        return info.splits[0]
    full = _ALIASES.get(split.lower(), split.lower())
    if full not in info.splits:
        raise ConfigError(
            f"corpus {info.name} has no split {split!r}. It has {', '.join(info.splits)}."
        )
    return full


def _folder(plugin: CorpusLoader, data_dir: str | Path | None) -> Path:
    info = plugin.info
    if plugin.embedded is not None:
        return plugin.embedded
    if data_dir is not None:
        folder = Path(data_dir)
        if not folder.is_dir():
            raise DataError(f"--data-dir {folder}: there is no such folder\n{_how_to_get(plugin)}")
        return folder / info.name if (folder / info.name).is_dir() else folder
    root = os.environ.get(ENVIRONMENT)
    if not root:
        raise DataError(f"the data of corpus {info.name} is not here.\n{_how_to_get(plugin)}")
    folder = Path(root) / info.name
    if not folder.is_dir():
        raise DataError(f"${ENVIRONMENT}/{info.name}: {folder} is no folder\n{_how_to_get(plugin)}")
    return folder


def _how_to_get(plugin: CorpusLoader) -> str:
    info = plugin.info
    lines = [
        f"Download {info.title} from {info.source} (licence: {info.licence}) and put these files",
        f"into a folder {info.name}/ (as they are, or as .gz or .zip):",
        *(f"  {name}" for name in info.files),
        f"Then set {ENVIRONMENT} to the folder that holds {info.name}/,",
        f"or pass --data-dir with the path of {info.name}/ itself.",
    ]
    return "\n".join(lines)
