"""The corpora: ``load`` finds one by name or path and reads one of its splits."""

import os
from collections.abc import Sequence
from pathlib import Path

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.interfaces import CorpusLoader, Dataset
from target_bench.data.formats.dataframe import from_dataframe

__all__ = ["ENVIRONMENT", "from_database", "from_dataframe", "from_folder", "load", "loader"]

ENVIRONMENT = "TARGET_BENCH_DATA"
"""The variable that names the folder with one sub-folder a corpus."""

_ALIASES = {"dev": "validation", "val": "validation", "mini-dev": "mini_dev", "minidev": "mini_dev"}


def loader(name: str | Path) -> CorpusLoader:
    """The corpus plug-in of this name (``OTT-QA`` and ``ottqa`` are the same), or of a path.

    Args:
        name: a registered name, ``module:Class`` or ``path/file.py:Class``; or the path of a
            folder or database file of your own, written with a separator, as in ``./tables``.

    Raises:
        ConfigError: nobody knows the name.
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
        raise ConfigError(f"{name!r} is not a corpus: {type(found).__name__} is no CorpusLoader")
    return found


def load(
    name: str | Path,
    split: str | None = None,
    data_dir: str | Path | None = None,
    distractors: Sequence[str] = (),
) -> Dataset:
    """Load one split of a corpus.

    Args:
        name: what ``loader`` takes.
        split: ``train``, ``validation`` or ``test`` (``dev`` and ``val`` mean validation);
            default: the corpus's own, the one its paper reports on.
        data_dir: the folder with the release files, or one that holds it under the corpus's name;
            default: ``$TARGET_BENCH_DATA/<name>``, else what ``target-bench data pull`` fetched.
        distractors: tables of other corpora, splits or folders to mix in, each written as
            ``ottqa:split=train,n=1000,seed=7``.

    Raises:
        ConfigError: an unknown corpus or split, or distractors that cannot be.
        DataError: files are missing or broken.
    """
    from target_bench.data import distractors as mixing
    from target_bench.data import read_split

    plugin = loader(name)
    dataset = read_split.read(plugin, folder_of(plugin, data_dir), split_of(plugin, split))
    return mixing.mixed(dataset, distractors, data_dir)


def from_folder(folder: str | Path, split: str | None = None) -> Dataset:
    """Load tables and queries of your own.

    Args:
        folder: a folder in one of three layouts. Your own: ``tables/`` with a CSV, TSV, Parquet or
            JSON-lines file a table, and ``queries.jsonl``. TARGET's: ``corpus`` and ``queries`` as
            Parquet or JSON lines. BEIR's: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``.
        split: one of the splits of its queries; default: ``test`` where there is one.

    Raises:
        ConfigError: there is no such split.
        DataError: files are missing or broken.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: there is no such folder")
    return load(folder, split)


def from_database(
    file: str | Path, queries: str | Path | None = None, split: str | None = None
) -> Dataset:
    """Load the tables of a SQLite or DuckDB file, and queries from a file beside it.

    Args:
        file: the database, opened read-only. Its name without suffix is the database id.
        queries: a file in the form of ``queries.jsonl``; default: ``<name>.queries.jsonl`` or
            ``queries.jsonl`` in the folder of the database.
        split: one of the splits of its queries; default: ``test`` where there is one.

    Raises:
        ConfigError: there is no such split.
        DataError: a file is missing or broken.
    """
    from target_bench.data import read_split
    from target_bench.data.formats.database_files import DatabaseFile

    plugin = DatabaseFile(Path(file), Path(queries) if queries else None)
    return read_split.read(plugin, folder_of(plugin, None), split_of(plugin, split))


def is_path(name: str | Path) -> bool:
    """Whether a corpus is named by its path: a folder or a database file."""
    if isinstance(name, Path):
        return True
    if ":" in name and registry.parse("corpus", name).target != name.partition(":")[0]:
        return False  # module:Class or path/file.py:Class
    suffixes = (".sqlite", ".sqlite3", ".db", ".duckdb")
    return "/" in name or os.sep in name or name in (".", "..") or name.lower().endswith(suffixes)


def split_of(plugin: CorpusLoader, split: str | None) -> str:
    """The full name of a split of this corpus.

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
    """The folder that holds the data of this corpus.

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
            f"${ENVIRONMENT}/{info.name}: {Path(root) / info.name} is no folder\n"
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
