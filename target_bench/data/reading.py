"""One split of a corpus from its folder: tables, queries and databases, each checked."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from target_bench.core.built_in import SQL_TASK
from target_bench.core.errors import PASSED_ON, DataError, PluginError, TargetBenchError
from target_bench.core.families import note_families
from target_bench.core.identity import PACKAGE
from target_bench.core.registry import is_package_code
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import Corpus, CorpusInfo, Dataset, Query, Table
from target_bench.core.text_tables import list_first
from target_bench.core.unicode_text import compose
from target_bench.core.user_code import describe_with_line, find_user_line, read_message
from target_bench.data.cache import QUERIES, TABLES, Kind, Part, Reading, read_cached
from target_bench.data.checks import (
    check_queries,
    check_query,
    check_tables,
)
from target_bench.data.databases.stored_tables import read_stored_tables
from target_bench.data.folders import folder_of_code
from target_bench.data.languages import TOLD_APART, WORDS_OF, name_language
from target_bench.data.table_text import add_languages, list_languages, recognize_corpus_language
from target_bench.data.tables import MemoryCorpus

_MOST_NAMED = 12  # databases, in a note


def read(plugin: CorpusLoader, folder: Path, split: str) -> Dataset:
    """Read tables and queries of one split, and note what is wrong with its databases.

    A folder of release files in TARGET's layout is read as that, whichever corpus it is of; any
    other by the corpus's own loader.
    """
    reader = choose_reader(plugin, folder)
    databases = read_databases(reader, folder, split)
    if folder.is_relative_to(PACKAGE):
        return _read_packaged(type(reader), folder, split, tuple(databases.items()))
    return _read(reader, folder, split, databases)


@lru_cache(maxsize=4)
def _read_packaged(
    plugin: type[CorpusLoader], folder: Path, split: str, databases: tuple[tuple[str, Path], ...]
) -> Dataset:
    """Read a split that ships with this package once a process, as its files stay as they are."""
    return _read(plugin(), folder, split, dict(databases))


def _read(reader: CorpusLoader, folder: Path, split: str, files: Mapping[str, Path]) -> Dataset:
    tables = read_part(reader, folder, split, TABLES)
    asked = read_part(reader, folder, split, QUERIES)
    queries, left_out = reader.answerable(asked.value, tables.value)
    notes = [*tables.notes, *asked.notes, *left_out]
    hashes = tables.files | asked.files
    alone = reader.tables_alone
    return make_dataset(reader.info, split, tables.value, queries, hashes, notes, alone, files)


def choose_reader(plugin: CorpusLoader, folder: Path) -> CorpusLoader:
    """Return what reads a folder: columns that are declared, TARGET's layout, or the loader."""
    reader = plugin
    if plugin.columns is not None:
        from target_bench.data.declared import DeclaredCorpus

        reader = DeclaredCorpus(plugin.info, plugin.columns)
        reader.tables_alone |= plugin.tables_alone
        if reader.is_in(folder):
            return reader
    is_own_folder = not plugin.info.files and folder == folder_of_code(plugin)
    if plugin.embedded is not None or is_own_folder or (folder / "qrels").is_dir():  # BEIR's layout
        return reader
    if not any("corpus" in path.name for path in (folder.resolve(), *folder.glob("*"))):
        return reader  # without looking further: all files of TARGET's layout are named so
    from target_bench.data.formats.target_layout import TargetLayout

    return TargetLayout(folder, plugin.info) if TargetLayout.is_in(folder) else reader


def read_part(reader: CorpusLoader, folder: Path, split: str, kind: Kind) -> Part:
    """Return tables or queries of a split, checked one by one as they are read."""
    releases: list[Release] = []

    def start() -> Reading:
        release, notes = Release(folder, reader.info.source, reader.subfolders), list[str]()
        releases.append(release)
        if kind is QUERIES:
            return release, map(check_query, reader.queries(release, split)), notes
        tables = check_tables(reader.tables(release, split), release, notes)
        tables = note_families(tables, notes)
        return release, add_languages(tables) if reader.info.any_task else tables, notes

    with _explain_errors(reader, releases, f"{kind.name} of {split}"):
        part = read_cached(reader, folder, split, kind, start)
    for home, inside in ((folder, ""), (folder.parent, f"{folder.name}/")):
        if (home / "source.json").exists():  # the folder was downloaded, or is that of its hub data
            from target_bench.data import download

            download.verify_files(
                home, {f"{inside}{name}": sha for name, sha in part.files.items()}
            )
    return part


def read_databases(reader: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of one split; errors as of ``read_part``."""
    release = Release(folder, reader.info.source, reader.subfolders)
    with _explain_errors(reader, [release], f"databases of {split}") as where:
        files: dict[str, Path] = compose(dict(reader.databases(release, split)))
        for name, path in files.items():
            if not isinstance(name, str) or not isinstance(path, Path) or not path.is_file():
                raise PluginError(f"{where}: {name!r}: expected the path of a file, found {path!r}")
    return files


@contextmanager
def _explain_errors(plugin: CorpusLoader, releases: Sequence[Release], what: str) -> Iterator[str]:
    """Raise what a loader raises as an error that names it, and the files it had read."""
    where = f"corpus {plugin.info.name} ({type(plugin).__name__}), {what}"
    try:
        yield where
    except DataError as error:
        files = [name for release in releases[-1:] for name in release.hashes]
        names = {*files, *(str(release.folder) for release in releases)} - {".", ""}
        if any(name in str(error) for name in names):
            raise
        raise DataError(f"{where}{_list_files(files)}: {error}") from error
    except (*PASSED_ON, TargetBenchError, GeneratorExit):
        raise
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        reason = error.strerror or read_message(error)
        raise DataError(
            f"{where}: {file}cannot be read: {reason}{find_user_line(error)}"
        ) from error
    except BaseException as error:
        if is_package_code(type(plugin)):
            raise
        raise PluginError(f"{where}: {describe_with_line(error)}") from error


def make_dataset(
    info: CorpusInfo,
    split: str,
    corpus: Corpus | Iterable[Table],
    queries: Iterable[Query],
    files: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    tables_alone: bool = False,
    databases: Mapping[str, Path] | None = None,
) -> Dataset:
    """Return a split: checked tables and queries, or, of an iterable of tables, both to be checked.

    Raises:
        DataError: a table or query is refused, a query id occurs twice, there is no query at all,
            or a gold table is not in the corpus; the message names the files.
    """
    where = f"corpus {info.name}, split {split}{_list_files(list(files or ())[::-1])}"
    databases, shown = databases or {}, list[str]()  # what is peculiar about tables in memory
    if isinstance(corpus, Corpus):
        tables, queries = corpus, tuple(queries)
    else:
        try:
            tables, queries = MemoryCorpus(corpus, shown), tuple(map(check_query, queries))
        except DataError as error:
            raise DataError(f"{where}: {error}") from error
    if not (queries or tables_alone) or (not tables and any(query.gold for query in queries)):
        raise DataError(
            f"{where}: {len(tables)} tables and {len(queries)} queries; both are needed"
        )
    check_queries(queries, tables, where)
    notes = [*(_note_languages(tables) if info.any_task else ()), *shown, *notes]
    if silent := sum(1 for query in queries if not query.text.strip()):
        notes.append(f"{silent} of {len(queries)} queries are empty")
    if databases or SQL_TASK in info.tasks:
        notes += _note_databases(tables, queries, databases)
    return Dataset(info, split, tables, queries, dict(files or {}), tuple(notes), (), databases)


def _list_files(names: Sequence[str]) -> str:
    """Return the first of these files, in brackets; empty without any."""
    return f" (from {list_first(names, 3)})" if names else ""


def _note_languages(tables: Corpus) -> list[str]:
    """Return what retrievers make of tables in another language than English."""
    if len(languages := list_languages(tables)) > 1:
        several = f"{len(languages)} languages ({', '.join(map(name_language, languages))})"
        return [f"the tables are in {several}: bm25, rows and best read words of each"]
    language = recognize_corpus_language(tables) or "en"
    if language == "en":
        return []
    name = name_language(language)
    how = f"bm25, rows and best read words of {name}; bm25:language=en reads English ones"
    if language not in WORDS_OF:
        divided = "pairs of characters" if language in TOLD_APART else "what spaces divide"
        how = f"without a stemmer and stop words for it, words are {divided}"
    return [f"the tables are in {name}: {how}"]


def _note_databases(
    tables: Corpus, queries: Sequence[Query], there: Mapping[str, Path]
) -> list[str]:
    """Return notes for the user about databases that are missing or damaged.

    SQL may be run for the queries that name no task, or text-to-SQL.
    """
    of_sql = (q for q in queries if q.metadata.get("task", SQL_TASK) == SQL_TASK)
    n_queries = Counter(query.database_id for query in of_sql)
    missing = [name for name in n_queries if name not in there]
    notes = []
    if missing:
        lost_tables = sum(table_id.database_id in missing for table_id in tables.ids)
        lost_queries = sum(n_queries[name] for name in missing)
        notes.append(
            f"{len(missing)} of {len(n_queries)} databases are not here "
            f"({list_first(missing, _MOST_NAMED)}): their {lost_tables} tables are known by their "
            f"schema alone, and SQL for the {lost_queries:,} queries on them cannot be run"
        )
    for name, file in there.items():
        try:
            read_stored_tables(file, first_rows=True)
        except DataError as error:
            if n_queries[name]:
                notes.append(f"{error} The {n_queries[name]} queries on {name} are not run")
    return notes
