"""One split of a corpus: its plug-in and its folder found, its tables and queries read, checked."""

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NoReturn, TypeVar

from target_bench.core import registry
from target_bench.core.errors import (
    PASSED_ON,
    ConfigError,
    DataError,
    PluginError,
    TargetBenchError,
)
from target_bench.core.identity import PACKAGE
from target_bench.core.observer import Observer
from target_bench.core.registry import is_own_code
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import Corpus, CorpusInfo, Dataset, Query, Table
from target_bench.core.user_code import described, message, place
from target_bench.data.cache import QUERIES, TABLES, Cached, Kind, Reading, cached
from target_bench.data.databases.stored_tables import sound_tables
from target_bench.data.tables import (
    MemoryCorpus,
    NoteTally,
    check_queries,
    check_query,
    checked,
    query_notes,
    sound,
    table_notes,
)

T = TypeVar("T")

ENVIRONMENT = "TARGET_BENCH_DATA"
"""The variable that names the folder with one sub-folder per corpus."""

_ALIASES = {"dev": "validation", "val": "validation", "mini-dev": "mini_dev", "minidev": "mini_dev"}
_SQL_TASK = "text-to-sql"
_MOST_NAMED = 12  # tables or databases, in a note


def loader(name: str | Path) -> CorpusLoader:
    """Return the corpus plug-in of this name (``OTT-QA`` and ``ottqa`` are the same), or of a path.

    Args:
        name: a registered name, ``module:Class`` or ``path/file.py:Class``; or the path of a
            folder or database file of your own, written with a separator, as in ``./tables``; a
            folder may have settings, as in ``./tables:skip_bad=true``.

    Raises:
        ConfigError: the name is unknown.
        DataError: there is nothing readable at the path.
    """
    if is_path(name):
        from target_bench.data.formats import detect

        return detect.of_path(*detect.path_and_settings(name))
    name = str(name)
    try:
        plugin = registry.create("corpus", registry.canonical("corpus", name))
    except ConfigError as error:
        if Path(name).is_dir():
            raise ConfigError(f"{error} For the folder of this name write ./{name}") from error
        raise
    if not isinstance(plugin, CorpusLoader):
        kind = type(plugin).__name__
        raise ConfigError(f"{name!r} is not a corpus: {kind} is not a CorpusLoader")
    return plugin


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


def folder_of(
    plugin: CorpusLoader,
    data_dir: str | Path | None,
    split: str | None = None,
    strict: bool = False,
    observer: Observer | None = None,
) -> Path:
    """Return the folder that holds the data of this corpus, fetched if it is nowhere here.

    A corpus that declares no files needs none: where there is no folder, it reads the one of its
    code.

    Args:
        plugin: the corpus.
        data_dir: as for ``load``.
        split: the split that will be read; default: the corpus's own.
        strict: take ``data_dir`` only if it has a sub-folder of the corpus's name.
        observer: is shown the progress of a download.

    Raises:
        DataError: there is none; the message says how to get the data.
        TargetBenchError: a download failed.
    """
    name = plugin.folder or plugin.info.name
    if plugin.embedded is not None:
        return plugin.embedded
    if data_dir is not None:
        folder = Path(data_dir)
        if not folder.is_dir():
            raise data_missing(plugin, f"--data-dir {folder}: there is no such folder")
        if (folder / name).is_dir():
            return folder / name
        if not strict:
            return folder
    root = os.environ.get(ENVIRONMENT)
    if root and (Path(root) / name).is_dir():
        return Path(root) / name
    from target_bench.data import download

    split = split or plugin.info.splits[0]
    if downloaded := download.ready(plugin.info.name, split):
        return downloaded
    if not plugin.info.files:
        return _folder_of_code(plugin)
    if split in download.splits_of(plugin.info.name) and not download.is_offline():
        return download.fetch(plugin.info.name, [split], observer).folder
    where = f"${ENVIRONMENT}/{name}: {Path(root) / name} is not a folder" if root else ""
    raise data_missing(plugin, where or f"the data of corpus {name} is not here.", split)


def data_missing(plugin: CorpusLoader, what: str, split: str | None = None) -> DataError:
    """Return the error that says what is missing, where to get it, and where to put it."""
    from target_bench.data import download

    info = plugin.info
    folder = plugin.folder or info.name
    lines = [
        what,
        f"Download {info.title} from {info.source} (licence: {info.licence}) and put these files",
        f"into a folder {folder}/ (as they are, or as .gz or .zip):",
        *(f"  {name}" for name in info.files),
        f"Then set {ENVIRONMENT} to the folder that holds {folder}/,",
        f"or pass --data-dir with the path of {folder}/ itself.",
    ]
    fetched = download.splits_of(info.name)
    if split in fetched:
        lines.append(f"It would be fetched by itself, but --offline or {download.OFFLINE} is set.")
    elif fetched:
        lines.append(f"Fetched by themselves are the splits {', '.join(fetched)}.")
    return DataError("\n".join(lines))


def _folder_of_code(plugin: CorpusLoader) -> Path:
    return Path(inspect.getfile(type(plugin))).resolve().parent


def read(plugin: CorpusLoader, folder: Path, split: str) -> Dataset:
    """Read tables and queries of one split, and note what is wrong with its databases.

    A folder of release files in TARGET's layout is read as that, whichever corpus it is of; any
    other by the corpus's own loader. A loader that brings its folder knows what is in it. What
    ships with this package is read once a process, as its files stay as they are.

    Raises:
        DataError: a file is missing or broken; the message names it.
    """
    if not folder.is_relative_to(PACKAGE):
        return _read(plugin, folder, split)
    databases = frozenset(_databases(plugin, folder, split).items())
    return _shipped(type(plugin), folder, split, databases)


@lru_cache(maxsize=4)
def _shipped(
    plugin: type[CorpusLoader],
    folder: Path,
    split: str,
    databases: frozenset[tuple[str, Path]],  # noqa: ARG001 (part of the key: they are in the cache)
) -> Dataset:
    return _read(plugin(), folder, split)


def _read(plugin: CorpusLoader, folder: Path, split: str) -> Dataset:
    plugin = by_layout(plugin, folder)
    tables = _part(plugin, folder, split, TABLES)
    asked = _part(plugin, folder, split, QUERIES)
    queries: Sequence[Query] = asked.value
    more: Sequence[str] = ()
    if type(plugin).answerable is not CorpusLoader.answerable:  # it may leave out tables
        queries, more = plugin.answerable(queries, tables.value)
    notes = [*tables.notes, *asked.notes, *more]
    files = tables.files | asked.files
    loaded = dataset(plugin.info, split, tables.value, queries, files, notes, plugin.tables_alone)
    loaded = replace(loaded, databases=_databases(plugin, folder, split))
    if not loaded.databases and _SQL_TASK not in plugin.info.tasks:
        return loaded
    about = _on_databases(loaded.queries)
    return replace(
        loaded, notes=(*loaded.notes, *_database_notes(loaded.corpus, about, loaded.databases))
    )


def read_tables(plugin: CorpusLoader, folder: Path, split: str) -> Cached:
    """Return the tables of one split alone; errors as for ``read``."""
    return _part(by_layout(plugin, folder), folder, split, TABLES)


def read_databases(plugin: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of one split; errors as for ``read``."""
    return _databases(by_layout(plugin, folder), folder, split)


def by_layout(plugin: CorpusLoader, folder: Path) -> CorpusLoader:
    """Return the loader of TARGET's layout for a folder in it, else the given one."""
    named = (folder.resolve(), *folder.glob("*"))
    if plugin.embedded is not None or not any("corpus" in path.name for path in named):
        return plugin  # without looking further: all files of TARGET's layout are named so
    if not plugin.info.files and folder == _folder_of_code(plugin):
        return plugin
    from target_bench.data.formats.target_layout import TargetDatabases, TargetLayout

    for layout in (TargetDatabases, TargetLayout):
        if layout.is_in(folder):
            return layout(folder, plugin.info)
    return plugin


def _part(plugin: CorpusLoader, folder: Path, split: str, kind: Kind) -> Cached:
    """Return tables or queries of a split, from the cache if the loader wants one.

    Raises:
        DataError: a source file is missing or broken, or holds nothing sound.
        PluginError: the loader is a plug-in and raised.
        StoreError: neither the cache nor the temporary folder has room.
    """
    if not plugin.cached:
        part = held(plugin, Release(folder, plugin.info.source, plugin.subfolders), split, kind)
    else:
        releases: list[Release] = []

        def reading() -> Reading:
            releases.append(Release(folder, plugin.info.source, plugin.subfolders))
            return _reading(plugin, releases[-1], split, kind)

        with _naming_files(plugin, releases, split):
            part = cached(plugin, folder, split, kind, reading)
    if (folder / "source.json").exists():  # the folder was downloaded
        from target_bench.data import download

        download.check(folder, part.files)
    return part


def held(plugin: CorpusLoader, release: Release, split: str, kind: Kind) -> Cached:
    """Return tables or queries read past the cache, into memory; errors as for ``read``."""
    with _naming_files(plugin, [release], split):
        _, items, notes = _reading(plugin, release, split, kind)
        value = MemoryCorpus(items) if kind is TABLES else list(items)
        return Cached(value, dict(release.hashes), tuple(notes()))


def _reading(plugin: CorpusLoader, release: Release, split: str, kind: Kind) -> Reading:
    """Return tables or queries of a split, checked one by one as they are read."""
    tally = NoteTally()

    def tables() -> Iterator[Table]:
        given = _given(plugin, release, lambda: plugin.tables(release, split), split, Table)
        for table in checked(sound(release, table) for table in given):
            tally.see(table)
            yield table

    def queries() -> Iterator[Query]:
        for query in _given(plugin, release, lambda: plugin.queries(release, split), split, Query):
            check_query(query, f"corpus {plugin.info.name}, split {split}")
            yield query

    if kind is QUERIES:
        return Reading(release, queries(), lambda: release.notes)
    return Reading(release, tables(), lambda: [*tally.notes(), *release.notes])


@contextmanager
def _naming_files(plugin: CorpusLoader, releases: Sequence[Release], split: str) -> Iterator[None]:
    """Give an error inside the block that names no file the corpus and the files of a release."""
    try:
        yield
    except DataError as error:
        release = releases[-1] if releases else Release(Path(), "")
        folder = str(release.folder) if release.folder.name else ""  # "." is in any text
        if any(name in str(error) for name in (*release.hashes, folder) if name):
            raise
        where = f"corpus {plugin.info.name}, split {split}"
        raise DataError(f"{where}{_from_files(list(release.hashes))}: {error}") from error


def _given(
    plugin: CorpusLoader,
    release: Release,
    give: Callable[[], Iterable[T]],
    split: str,
    kind: type[T],
) -> Iterator[T]:
    """Yield the values of a plug-in; an error in it becomes one that names the plug-in.

    Raises:
        DataError: a file cannot be read.
        PluginError: a plug-in that is not ours raised, or gave something else.
    """
    what = f"{'tables' if issubclass(kind, Table) else 'queries'} of {split}"
    left: Iterator[T] | None = None
    while True:
        try:
            left = iter(give()) if left is None else left
            item = next(left)
        except StopIteration:
            return
        except BaseException as error:
            _raise_named(error, plugin, release.folder, what)
        if not isinstance(item, kind):
            raise PluginError(
                f"{_where(plugin, what)}: expected {kind.__name__}, found {type(item).__name__}"
            )
        yield item


def _databases(plugin: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of a split, by the loader; errors as for ``_given``."""
    if type(plugin).databases is CorpusLoader.databases:  # a corpus of tables alone
        return {}
    what = f"databases of {split}"
    try:
        files = plugin.databases(Release(folder, plugin.info.source, plugin.subfolders), split)
        for name, path in files.items():
            if not isinstance(name, str) or not isinstance(path, Path) or not path.is_file():
                raise PluginError(
                    f"{_where(plugin, what)}: {name!r} should be the path of a file, not {path!r}"
                )
        return dict(files)
    except BaseException as error:
        _raise_named(error, plugin, folder, what)


def _where(plugin: CorpusLoader, what: str) -> str:
    return f"corpus {plugin.info.name} ({type(plugin).__name__}), {what}"


def _raise_named(error: BaseException, plugin: CorpusLoader, folder: Path, what: str) -> NoReturn:
    """Raise what a loader raised as an error that names it; errors as for ``_given``."""
    if isinstance(error, (*PASSED_ON, TargetBenchError)):
        raise error
    where = _where(plugin, what)
    if isinstance(error, OSError):
        reason = error.strerror or message(error)
        file = error.filename or folder
        raise DataError(f"{where}: {file}: cannot be read: {reason}{place(error)}") from error
    if is_own_code(type(plugin)):
        raise error
    raise PluginError(f"{where}: {described(error)}{place(error)}") from error


def dataset(
    info: CorpusInfo,
    split: str,
    corpus: Corpus | Iterable[Table],
    queries: Iterable[Query],
    files: Mapping[str, str] | None = None,
    notes: Sequence[str] | None = None,
    tables_alone: bool = False,
) -> Dataset:
    """Return a checked split.

    Args:
        info: what the corpus declares about itself.
        split: the split's full name.
        corpus: a corpus, or tables to hold in memory.
        queries: the queries.
        files: SHA-256 of the source files, by name.
        notes: what a user should know about the tables; default: what they show.
        tables_alone: whether it may have no query.

    Raises:
        DataError: the faults that ``checked`` refuses, a repeated query id, no
            query at all, or a gold table that is not in the corpus; the message names the files.
    """
    split_of_corpus = f"corpus {info.name}, split {split}"
    where = f"{split_of_corpus}{_from_files(list(files or ()))}"
    try:
        tables = corpus if isinstance(corpus, Corpus) else MemoryCorpus(corpus)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    asked = tuple(queries)
    if not (asked or tables_alone) or (not tables and any(query.gold for query in asked)):
        raise DataError(f"{where}: {len(tables)} tables and {len(asked)} queries; both are needed")
    check_queries(asked, tables, f"{split_of_corpus}{_from_files(list(files or ())[::-1])}")
    if notes is None:
        notes = table_notes(tables)
    return Dataset(info, split, tables, asked, dict(files or {}), (*notes, *query_notes(asked)))


def _from_files(names: Sequence[str]) -> str:
    """Return the first of these files, in brackets; empty without any."""
    if not names:
        return ""
    more = f" and {len(names) - 3} more files" if len(names) > 3 else ""
    return f" (from {', '.join(names[:3])}{more})"


def notes_about(dataset: Dataset, database: str) -> Sequence[str]:
    """Return the notes of a dataset; about databases only those on one, its name in any case."""
    wanted = database.lower()
    about = _on_databases(dataset.queries)
    others = _database_notes(dataset.corpus, about, dataset.databases)
    queries = [query for query in about if query.database_id.lower() == wanted]
    there = {name: file for name, file in dataset.databases.items() if name.lower() == wanted}
    kept = (note for note in dataset.notes if note not in others)
    return (*kept, *_database_notes(dataset.corpus, queries, there))


def _database_notes(
    corpus: Corpus, queries: Sequence[Query], there: Mapping[str, Path]
) -> list[str]:
    """Return notes for the user about databases: missing or damaged ones, empty tables.

    Args:
        corpus: the tables.
        queries: those that may be about a task that runs SQL.
        there: database id -> its file.
    """
    asked = Counter(query.database_id for query in queries)
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
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _on_databases(queries: Iterable[Query]) -> list[Query]:
    """Return the queries that SQL may be run for: those that name no task, or that one."""
    return [query for query in queries if query.metadata.get("task", _SQL_TASK) == _SQL_TASK]
