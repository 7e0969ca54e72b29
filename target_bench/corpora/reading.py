"""Reading one split: which layout the folder has, through the cache, checked."""

from pathlib import Path

from target_bench.corpora import cache
from target_bench.corpora.store import dataset
from target_bench.corpora.target_layout import TargetLayout
from target_bench.interfaces import CorpusLoader, Dataset


def read(loader: CorpusLoader, folder: Path, split: str) -> Dataset:
    """Tables and queries of one split.

    A folder of release files in TARGET's layout is read as that, whichever corpus it is of; any
    other by the corpus's own loader. A loader that brings its folder knows what is in it.

    Raises:
        DataError: a file is missing or broken; the message names it.
    """
    loader = _by_layout(loader, folder)
    tables = read_tables(loader, folder, split)
    queries = cache.queries(loader, folder, split)
    files = tables.files | queries.files
    return dataset(
        loader.info, split, tables.value, queries.value, files, [*tables.notes, *queries.notes]
    )


def read_tables(loader: CorpusLoader, folder: Path, split: str) -> cache.Cached:
    """The tables of one split alone; errors as for ``read``."""
    return cache.tables(_by_layout(loader, folder), folder, split)


def _by_layout(loader: CorpusLoader, folder: Path) -> CorpusLoader:
    if loader.embedded is not None or not TargetLayout.is_in(folder):
        return loader
    return TargetLayout(folder, loader.info)
