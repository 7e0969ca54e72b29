"""One split of a corpus: its plug-in and its folder found, its tables and queries read, checked."""

import inspect
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from target_bench.core import registry
from target_bench.core.errors import (
    PASSED_ON,
    ConfigError,
    DataError,
    PluginError,
    TargetBenchError,
)
from target_bench.core.observer import Observer
from target_bench.core.registry import is_own_code
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import Corpus, CorpusInfo, Dataset, Query, Table
from target_bench.core.user_code import described, message, place
from target_bench.data import cache, cache_writing
from target_bench.data.cache import Cached
from target_bench.data.how_to_get import ENVIRONMENT, data_missing
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

_ALIASES = {"dev": "validation", "val": "validation", "mini-dev": "mini_dev", "minidev": "mini_dev"}


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


def _folder_of_code(plugin: CorpusLoader) -> Path:
    return Path(inspect.getfile(type(plugin))).resolve().parent


def read(loader: CorpusLoader, folder: Path, split: str) -> Dataset:
    """Read tables and queries of one split.

    A folder of release files in TARGET's layout is read as that, whichever corpus it is of; any
    other by the corpus's own loader. A loader that brings its folder knows what is in it.

    Raises:
        DataError: a file is missing or broken; the message names it.
    """
    loader = by_layout(loader, folder)
    tables = Tables(loader, folder, split).cached()
    queries = Queries(loader, folder, split).cached()
    files = tables.files | queries.files
    asked: Sequence[Query] = queries.value
    more: Sequence[str] = ()
    if type(loader).answerable is not CorpusLoader.answerable:  # it may leave out tables
        asked, more = loader.answerable(asked, tables.value)
    notes = [*tables.notes, *queries.notes, *more]
    found = dataset(loader.info, split, tables.value, asked, files, notes, loader.tables_alone)
    return replace(found, databases=databases(loader, folder, split))


def read_tables(loader: CorpusLoader, folder: Path, split: str) -> Cached:
    """Return the tables of one split alone; errors as for ``read``."""
    return Tables(by_layout(loader, folder), folder, split).cached()


def read_databases(loader: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of one split; errors as for ``read``."""
    return databases(by_layout(loader, folder), folder, split)


def by_layout(loader: CorpusLoader, folder: Path) -> CorpusLoader:
    """Return the loader of TARGET's layout for a folder in it, else the given one."""
    if loader.embedded is not None or not _may_hold_target_layout(folder):
        return loader
    if not loader.info.files and folder == _folder_of_code(loader):
        return loader
    from target_bench.data.formats.target_databases import TargetDatabases
    from target_bench.data.formats.target_layout import TargetLayout

    for layout in (TargetDatabases, TargetLayout):
        if layout.is_in(folder):
            return layout(folder, loader.info)
    return loader


def _may_hold_target_layout(folder: Path) -> bool:
    """Return whether a folder, or a name in it, says ``corpus``, as all do in TARGET's layout."""
    return "corpus" in folder.resolve().name or any("corpus" in p.name for p in folder.glob("*"))


class PluginPart(cache.Part):
    """A part of a split as its plug-in gives it."""

    def release(self) -> Release:
        """Return the data folder, with nothing read yet."""
        return Release(self.folder, self.loader.info.source, self.loader.subfolders)

    def cached(self) -> Cached:
        """Return it from the cache, read into it first if need be.

        Loaders that declare ``cached = False`` are read again, into memory.

        Raises:
            DataError: a source file is missing or broken, or holds nothing sound.
            PluginError: the loader is a plug-in and raised.
            StoreError: neither the cache nor the temporary folder has room.
        """
        given = self._given()
        if (self.folder / "source.json").exists():  # the folder was downloaded
            from target_bench.data import download

            download.check(self.folder, given.files)
        return given

    def _given(self) -> Cached:
        if not self.loader.cached:
            release = self.release()
            value, notes = self.hold(release)
            return Cached(value, dict(release.hashes), tuple(notes))
        if self.code is None:
            why = "its loader's code or settings have no hash"
            note = f"{self.name} is read again every time: {why}"
            return cache_writing.read_without_cache(self, note)
        found, faults = cache.found(self)
        fresh = found or cache_writing.read_into_cache(self)
        return Cached(fresh.value, fresh.files, (*faults, *fresh.notes))

    @abstractmethod
    def hold(self, release: Release) -> tuple[Any, list[str]]:
        """Read the sources into memory; return the value and notes for the user about it."""

    def given(self, read: Callable[[], Iterable[T]], kind: type[T]) -> Iterator[T]:
        """Yield the values of the plug-in; an error in it becomes one that names the plug-in.

        Raises:
            DataError: a file cannot be read.
            PluginError: a plug-in that is not ours raised, or gave something else.
        """
        where = _where(self.loader, f"{self.kind} of {self.split}")
        left: Iterator[T] | None = None
        while True:
            try:
                left = iter(read()) if left is None else left
                item = next(left)
            except StopIteration:
                return
            except BaseException as error:
                _raise_named(error, self.loader, self.folder, where)
            if not isinstance(item, kind):
                other = type(item).__name__
                raise PluginError(f"{where}: expected {kind.__name__}, found {other}")
            yield item

    @contextmanager
    def naming_files(self, release: Release) -> Iterator[None]:
        """Give an error inside the block that names no file the corpus and its files."""
        try:
            yield
        except DataError as error:
            text = str(error)
            folder = str(self.folder) if self.folder.name else None  # "." is in any text
            if any(name in text for name in (*release.hashes, folder) if name):
                raise
            where = f"corpus {self.loader.info.name}, split {self.split}"
            raise DataError(f"{where}{_from_files(list(release.hashes))}: {error}") from error


class Tables(PluginPart):
    """The tables of a split."""

    kind = "tables"
    file = "tables.arrow"
    writer = staticmethod(cache_writing.write_tables)

    def read(self, release: Release, path: Path) -> list[str]:
        """Write them into an Arrow file as they come."""
        tally = NoteTally()
        with self.naming_files(release):
            self.writer(path, self._seen(release, tally))
        return [*tally.notes(), *release.notes]

    def hold(self, release: Release) -> tuple[Corpus, list[str]]:
        """Return the tables as a corpus in memory."""
        tally = NoteTally()
        with self.naming_files(release):
            corpus = MemoryCorpus(self._seen(release, tally))
        return corpus, [*tally.notes(), *release.notes]

    def open(self, path: Path) -> Corpus:
        """Return the corpus, memory-mapped."""
        return cache.ArrowCorpus(path)

    def _seen(self, release: Release, tally: NoteTally) -> Iterator[Table]:
        given = self.given(lambda: self.loader.tables(release, self.split), Table)
        for table in checked(sound(release, table) for table in given):
            tally.see(table)
            yield table


class Queries(PluginPart):
    """The queries of a split."""

    kind = "queries"
    file = "queries.jsonl"
    writer = staticmethod(cache_writing.write_queries)

    def read(self, release: Release, path: Path) -> list[str]:
        """Write them into a file, one line per query."""
        with self.naming_files(release):
            self.writer(path, self._seen(release))
        return release.notes

    def hold(self, release: Release) -> tuple[list[Query], list[str]]:
        """Return the queries as a list."""
        with self.naming_files(release):
            return list(self._seen(release)), release.notes

    def open(self, path: Path) -> list[Query]:
        """Return the queries, read back."""
        return cache.read_queries(path)

    def _seen(self, release: Release) -> Iterator[Query]:
        where = f"corpus {self.loader.info.name}, split {self.split}"
        for query in self.given(lambda: self.loader.queries(release, self.split), Query):
            check_query(query, where)
            yield query


def databases(loader: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of a split, by the loader; errors as for ``PluginPart.given``."""
    if type(loader).databases is CorpusLoader.databases:  # a corpus of tables alone
        return {}
    where = _where(loader, f"databases of {split}")
    try:
        found = loader.databases(Release(folder, loader.info.source, loader.subfolders), split)
        for name, path in found.items():
            if not isinstance(name, str) or not isinstance(path, Path) or not path.is_file():
                raise PluginError(f"{where}: {name!r} should be the path of a file, not {path!r}")
        return dict(found)
    except BaseException as error:
        _raise_named(error, loader, folder, where)


def _where(loader: CorpusLoader, what: str) -> str:
    return f"corpus {loader.info.name} ({type(loader).__name__}), {what}"


def _raise_named(error: BaseException, loader: CorpusLoader, folder: Path, where: str) -> NoReturn:
    """Raise what a loader raised as an error that names it; errors as for ``databases``."""
    if isinstance(error, (*PASSED_ON, TargetBenchError)):
        raise error
    if isinstance(error, OSError):
        reason = error.strerror or message(error)
        file = error.filename or folder
        raise DataError(f"{where}: {file}: cannot be read: {reason}{place(error)}") from error
    if is_own_code(type(loader)):
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
