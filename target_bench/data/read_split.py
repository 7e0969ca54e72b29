"""Reading of one split: detection of its layout, the cache, and checks."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError, PluginError
from target_bench.core.interfaces import Corpus, CorpusLoader, Dataset
from target_bench.core.release import Release
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data import cache
from target_bench.data.cache import ArrowCorpus, Cached, Part, _found
from target_bench.data.cache_writing import _read, _read_without_cache, write_tables
from target_bench.data.databases.lazy_rows import LazyRows, sound_tables
from target_bench.data.formats.target_databases import TargetDatabases
from target_bench.data.formats.target_layout import TargetLayout
from target_bench.data.tables import (
    MemoryCorpus,
    NoteTally,
    _is_id,
    checked,
    decoded,
    encoded,
    rectangular,
    table_notes,
    titled,
)

if TYPE_CHECKING:
    pass


def _cached(part: Part) -> Cached:
    from target_bench.data import hub

    given = _given(part)
    hub.check(part.folder, given.files)
    return given


def _given(part: Part) -> Cached:
    if not part.loader.cached:
        release = part.release()
        value, notes = _named(lambda: part.hold(release), part, release)
        return Cached(value, dict(release.hashes), tuple(notes))
    if part.code is None:
        note = f"{part.name} is read again every time: its loader's code or settings have no hash"
        return _read_without_cache(part, note)
    found, faults = _found(part)
    fresh = found or _read(part)
    return Cached(fresh.value, fresh.files, (*faults, *fresh.notes))


def _named(read: Callable[[], T], part: Part, release: Release) -> T:
    """Return the result of ``read``; an error without a file gets the corpus and its files."""
    try:
        return read()
    except DataError as error:
        text = str(error)
        folder = str(part.folder) if part.folder.name else None  # "." is in any text
        if any(name in text for name in (*release.hashes, folder) if name):
            raise
        where = f"corpus {part.loader.info.name}, split {part.split}"
        raise DataError(f"{where}{from_files(list(release.hashes))}: {error}") from error


T = TypeVar("T")


_NOT_SETTINGS = ("info", "embedded")


class Tables(Part):
    """The tables of a split."""

    kind = "tables"
    file = "tables.arrow"

    def read(self, release: Release, path: Path) -> list[str]:
        """Write them into an Arrow file as they come."""
        tally = NoteTally()
        write_tables(path, self._seen(release, tally))
        return [*tally.notes(), *release.notes]

    def hold(self, release: Release) -> tuple[Corpus, list[str]]:
        """Return the tables as a corpus in memory."""
        tally = NoteTally()
        corpus = MemoryCorpus(self._seen(release, tally))
        return corpus, [*tally.notes(), *release.notes]

    def _seen(self, release: Release, tally: NoteTally) -> Iterator[Table]:
        given = self.given(lambda: self.loader.tables(release, self.split), Table)
        for table in checked(_sound(release, table) for table in given):
            tally.see(table)
            yield table

    def open(self, path: Path) -> Corpus:
        """Return the corpus, memory-mapped."""
        return ArrowCorpus(path)


def _sound(release: Release, table: Table) -> Table:
    """Return the table with rows as long as its header and, if it has a name, with a title."""
    if not isinstance(table.rows, LazyRows):
        place = f"table {table.id}"
        header, rows = rectangular(
            release, table.header, table.rows, lambda number: f"{place}, row {number + 1}"
        )
        if rows is not table.rows:
            table = replace(table, header=header, rows=rows)
    return titled(table)


class Queries(Part):
    """The queries of a split."""

    kind = "queries"
    file = "queries.jsonl"

    def read(self, release: Release, path: Path) -> list[str]:
        """Write them into a file, a line a query."""
        with path.open("wb") as file:
            for query in self._given(release):
                file.write(_line(query))
        return release.notes

    def hold(self, release: Release) -> tuple[list[Query], list[str]]:
        """Return the queries as a list."""
        return list(self._given(release)), release.notes

    def _given(self, release: Release) -> Iterator[Query]:
        where = f"corpus {self.loader.info.name}, split {self.split}"
        for query in self.given(lambda: self.loader.queries(release, self.split), Query):
            check_query(query, where)
            yield query

    def open(self, path: Path) -> list[Query]:
        """Return the queries, read back."""
        with path.open("rb") as file:
            return [_query(decoded(line)) for line in file]


def databases(loader: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of a split, by the loader.

    Raises:
        DataError: a file is broken.
        PluginError: a plug-in that is not ours raised, or gave something else.
    """
    part = _Databases(loader, folder, split)
    with part.named_faults() as where:
        found = loader.databases(part.release(), split)
        for name, path in found.items():
            if not isinstance(name, str) or not isinstance(path, Path) or not path.is_file():
                raise PluginError(f"{where}: {name!r} should be the path of a file, not {path!r}")
        return dict(found)


class _Databases(Part):
    """The database files of a split, which stay where they are."""

    kind = "databases"


def _settings(loader: CorpusLoader) -> str:
    settings = {k: v for k, v in vars(loader).items() if k not in _NOT_SETTINGS}
    return json.dumps(settings, sort_keys=True, default=_path)


def _path(value: object) -> list[str]:
    if isinstance(value, Path):
        return ["path", str(value)]
    raise TypeError(f"{type(value).__name__} has no representation that identifies it")


def _line(query: Query) -> bytes:
    parts = [query.id, query.text, query.gold, query.answer, query.database_id, query.metadata]
    try:
        return encoded(parts) + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"query {query.id!r} cannot be written as JSON: {error}") from error


def _query(parts: list[Any]) -> Query:
    query_id, text, gold, answer, database_id, metadata = parts
    return Query(
        query_id,
        text,
        tuple(TableId(*pair) for pair in gold),
        tuple(answer) if isinstance(answer, list) else answer,
        database_id,
        metadata,
    )


def dataset(
    info: CorpusInfo,
    split: str,
    corpus: Corpus | Iterable[Table],
    queries: Iterable[Query],
    files: Mapping[str, str] | None = None,
    notes: Sequence[str] | None = None,
) -> Dataset:
    """Return a checked split.

    Args:
        info: what the corpus declares about itself.
        split: the split's full name.
        corpus: a corpus, or tables to hold in memory.
        queries: the queries.
        files: SHA-256 of the source files, by name.
        notes: what a user should know about the tables; default: what they show.

    Raises:
        DataError: the faults that ``checked`` refuses, a repeated query id, no
            query at all, or a gold table that is not in the corpus; the message names the files.
    """
    where = f"corpus {info.name}, split {split}{from_files(list(files or ()))}"
    try:
        tables = corpus if isinstance(corpus, Corpus) else MemoryCorpus(corpus)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    asked = tuple(queries)
    if not asked or (not tables and any(query.gold for query in asked)):
        raise DataError(f"{where}: {len(tables)} tables and {len(asked)} queries; both are needed")
    _check_queries(asked, tables, where)
    if notes is None:
        notes = table_notes(tables)
    return Dataset(info, split, tables, asked, dict(files or {}), (*notes, *_query_notes(asked)))


def from_files(names: Sequence[str]) -> str:
    """Return the first of these files, in brackets; empty without any."""
    if not names:
        return ""
    more = f" and {len(names) - 3} more files" if len(names) > 3 else ""
    return f" (from {', '.join(names[:3])}{more})"


def check_query(query: Query, where: str) -> None:
    """Check the types of a query's fields.

    Raises:
        DataError: id or text is not text, or a gold table is not a pair of texts.
    """
    texts = {"id": query.id, "text": query.text, "database_id": query.database_id}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise DataError(
                f"{where}: query {query.id!r}: {name} should be text, not {value!r:.80}"
            )
    if not isinstance(query.gold, tuple) or not all(map(_is_id, query.gold)):
        raise DataError(
            f"{where}: query {query.id!r}: gold should be a tuple of TableId, "
            f"not {query.gold!r:.80}"
        )


def _check_queries(queries: Sequence[Query], corpus: Corpus, where: str) -> None:
    seen = set()
    for query in queries:
        check_query(query, where)
        if query.id in seen:
            raise DataError(f"{where}: query id {query.id!r} occurs twice; ids must be unique")
        seen.add(query.id)
        for table_id in query.gold:
            if table_id not in corpus:
                raise DataError(
                    f"{where}: query {query.id!r} has gold table {table_id}, which is not among "
                    f"the {len(corpus)} tables"
                )


def _query_notes(queries: Sequence[Query]) -> list[str]:
    silent = sum(1 for query in queries if not query.text.strip())
    return [f"{silent} of {len(queries)} queries are empty"] if silent else []


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
