"""Reading of one split: detection of its layout, the cache, and checks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from target_bench.core import registry
from target_bench.core.errors import DataError
from target_bench.core.interfaces import Corpus, CorpusLoader, Dataset
from target_bench.core.schema import CorpusInfo, Query
from target_bench.data import cache
from target_bench.data.cache_parts import apart, databases
from target_bench.data.databases.connection import sound_tables
from target_bench.data.formats.target_databases import TargetDatabases
from target_bench.data.formats.target_layout import TargetLayout
from target_bench.data.tables import dataset

_NAMED = 12
"""How many tables or databases a note names at most."""


def read(loader: CorpusLoader, folder: Path, split: str) -> Dataset:
    """Read tables and queries of one split.

    A folder of release files in TARGET's layout is read as that, whichever corpus it is of; any
    other by the corpus's own loader. A loader that brings its folder knows what is in it.

    Raises:
        DataError: a file is missing or broken; the message names it.
    """
    loader = by_layout(loader, folder)
    tables = read_tables(loader, folder, split)
    queries = cache.queries(loader, folder, split)
    files = tables.files | queries.files
    found = dataset(
        loader.info, split, tables.value, queries.value, files, [*tables.notes, *queries.notes]
    )
    found = replace(found, apart=apart(loader, folder, split))
    there = databases(loader, folder, split)
    if not there and not _runs_sql(loader.info):
        return found
    notes = database_notes(found.corpus, found.queries, there)
    return replace(found, databases=there, notes=(*found.notes, *notes))


def read_tables(loader: CorpusLoader, folder: Path, split: str) -> cache.Cached:
    """Return the tables of one split alone; errors as for ``read``."""
    return cache.tables(by_layout(loader, folder), folder, split)


def read_databases(loader: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of one split; errors as for ``read``."""
    return databases(by_layout(loader, folder), folder, split)


def notes_about(dataset: Dataset, database: str | None) -> Sequence[str]:
    """Return the notes of a dataset; with ``database`` only that one's, its name in any case."""
    if database is None:
        return dataset.notes
    others = database_notes(dataset.corpus, dataset.queries, dataset.databases)
    wanted = database.lower()
    queries = [query for query in dataset.queries if query.database_id.lower() == wanted]
    there = {name: file for name, file in dataset.databases.items() if name.lower() == wanted}
    kept = (note for note in dataset.notes if note not in others)
    return (*kept, *database_notes(dataset.corpus, queries, there))


def database_notes(
    corpus: Corpus, queries: Sequence[Query], there: Mapping[str, Path]
) -> list[str]:
    """Return notes for the user about databases: missing or damaged ones, empty tables.

    Args:
        corpus: the tables.
        queries: those of them that are about other tasks say so in their metadata.
        there: database id -> its file.
    """
    about = (q for q in queries if _may_run_sql(q.metadata.get("task")))
    asked = Counter(query.database_id for query in about)
    n_tables = Counter(table_id.database_id for table_id in corpus.ids)
    missing = [name for name in asked if name not in there]
    notes = []
    if missing:
        notes.append(
            f"{len(missing)} of {len(asked)} databases are not here ({_some(missing)}): their "
            f"{sum(n_tables[name] for name in missing)} tables are known by their schema alone, "
            f"and the {sum(asked[name] for name in missing)} queries on them cannot be run"
        )
    damaged: dict[str, DataError] = {}
    empty = []
    for name, file in there.items():
        try:
            sound_tables(file)
        except DataError as error:
            damaged[name] = error
    for table_id in corpus.ids:
        if table_id.database_id in there and table_id.database_id not in damaged:
            try:
                empty += [] if corpus[table_id].rows else [str(table_id)]
            except DataError as error:
                damaged[table_id.database_id] = error
    notes += [
        f"{error} The {asked[name]} queries on {name} are not run"
        for name, error in damaged.items()
        if asked[name]
    ]
    if empty:
        notes.append(f"tables without rows: {_some(empty)}")
    return notes


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def by_layout(loader: CorpusLoader, folder: Path) -> CorpusLoader:
    """Return the loader of TARGET's layout for a folder in it, else the given one."""
    if loader.embedded is not None or not TargetLayout.is_in(folder):
        return loader
    layout = TargetDatabases if TargetDatabases.is_in(folder) else TargetLayout
    return layout(folder, loader.info)


def _runs_sql(info: CorpusInfo) -> bool:
    """Return whether a task that the corpus serves needs databases."""
    return any(map(_may_run_sql, info.tasks))


def _may_run_sql(task: str | None) -> bool:
    """Return whether a task, by its short name, needs databases.

    A query that names no task may be about any.

    A task that nothing is registered of, such as one of a file, is taken to need none.
    """
    if task is None:
        return True
    known = task in registry.names("task")
    return known and bool(registry.resolve("task", task).needs_databases)
