"""One split of a corpus, loaded by the name or path of the corpus, or from a user's own files."""

from collections.abc import Sequence
from pathlib import Path

from target_bench.core.errors import DataError
from target_bench.core.schema import Dataset
from target_bench.data.formats.dataframe import from_dataframe
from target_bench.data.sources import folder_of, loader, split_of

__all__ = ["from_database", "from_dataframe", "from_folder", "load"]


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
        ConfigError: an unknown corpus or split, or distractors are invalid.
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
