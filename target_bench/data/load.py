"""Corpora by name, path or value: one split located, fetched, read and checked.

``load`` is the way for one split; ``Loader`` loads many of them once each, for runs. Below them is
how a corpus and its folder are located, how tables and queries are read (``read``), what makes a
dataset sound (``make_dataset``), and which task queries are about (``of_task``).
"""

import hashlib
import inspect
import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK, SQL_TASK
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
from target_bench.core.schema import (
    LEFT_OUT,
    SPLIT_ALIASES,
    Corpus,
    CorpusInfo,
    Dataset,
    Distractors,
    Query,
    Table,
)
from target_bench.core.task import Task
from target_bench.core.task_names import task_class, task_text
from target_bench.core.text_tables import first_of
from target_bench.core.unicode_text import compose
from target_bench.core.user_code import described, message, place
from target_bench.data import distractors as mixing
from target_bench.data.cache import (
    QUERIES,
    TABLES,
    Cached,
    Kind,
    Reading,
    read_cached,
)
from target_bench.data.checks import (
    check_queries,
    check_query,
    check_tables,
    complete_table,
    is_peculiarity,
    note_peculiarities,
)
from target_bench.data.databases.stored_tables import sound_tables
from target_bench.data.languages import TOLD_APART, WORDS_OF, language_name
from target_bench.data.table_text import languages_in, recognised_in, with_languages
from target_bench.data.tables import MemoryCorpus

CorpusLike = str | Path | Dataset
"""A corpus by name, by path, or loaded already."""

AnyTask = str | Task[Any] | type[Task[Any]]
"""A task, its class, or its short name."""

TaskLike = str | tuple[str, CorpusLike | Sequence[CorpusLike]]
"""A task by name, for all corpora that serve it or with its corpora."""

ENVIRONMENT = "TARGET_BENCH_DATA"
"""The variable that names the folder with one sub-folder per corpus."""

_ALIASES = {**SPLIT_ALIASES, "mini-dev": "mini_dev", "minidev": "mini_dev"}
HUB_PREFIX = "hf:"
"""How a data set of the hub is named as a corpus: ``hf:owner/name@revision``."""

_MOST_NAMED = 12  # databases, in a note
_DATABASES = (".sqlite", ".sqlite3", ".db", ".duckdb")  # as formats.database_files has them


def load(
    corpus: CorpusLike,
    split: str | None = None,
    distractors: Sequence[str] = (),
    *,
    data_dir: str | Path | None = None,
    observer: Observer | None = None,
) -> Dataset:
    """Load one split of a corpus; data that are pinned and nowhere here are fetched.

    Args:
        corpus: what ``loader`` takes, or a dataset that distractors are mixed into.
        split: ``train``, ``validation`` or ``test`` (``dev`` and ``val`` mean validation);
            default: the corpus's own, the one its paper reports on.
        distractors: tables of other corpora, splits or folders to mix in, each written as
            ``ottqa:split=train,n=1000,seed=7``; see ``DistractorSpec``.
        data_dir: the folder with the release files, or one that holds it under the corpus's name;
            default: ``$TARGET_BENCH_DATA/<name>``, else what was fetched, now or earlier.
        observer: is shown the progress of a download.

    Raises:
        ConfigError: an unknown corpus or split, or distractors are invalid.
        DataError: files are missing or broken, or cannot be fetched.
    """
    if isinstance(distractors, str | Path):
        raise ConfigError(f"distractors={str(distractors)!r}: expected a list of texts")
    if not isinstance(corpus, CorpusLike):
        raise ConfigError(_no_corpus(corpus))
    if isinstance(corpus, Dataset):
        if split not in (None, corpus.split):
            raise ConfigError(
                f"split={split!r}, but the dataset {corpus.info.name} given is its split "
                f"{corpus.split}"
            )
        dataset = corpus
    else:
        plugin = loader(corpus)
        split = split_of(plugin, split)
        folder = folder_of(plugin, data_dir, split, observer=observer)
        dataset = read(plugin, folder, split)
    for spec in distractors:
        dataset = _mixed(dataset, spec, data_dir, observer)
    return dataset


def _no_corpus(value: object) -> str:
    return (
        f"{value!r:.100} is no corpus: expected a name as 'mini', a path as './tables', or a "
        "Dataset; a loader of your own is named by its file, as 'my_corpus.py:Mine'"
    )


def _mixed(
    dataset: Dataset, text: str, data_dir: str | Path | None, observer: Observer | None
) -> Dataset:
    """Add distractors to the tables of a dataset; queries and gold tables stay as they are."""
    spec = mixing.parse(text)
    plugin = loader(spec.corpus)
    split = split_of(plugin, spec.split)
    same = (plugin.info.name, plugin.info.source) == (dataset.info.name, dataset.info.source)
    folder = folder_of(plugin, data_dir, split, not same, observer)
    tables = read_tables(plugin, folder, split)
    has_questions = bool(plugin.info.tasks) or is_path(spec.corpus)
    default: mixing.NearCopies | None = None if has_questions else "out"
    setting = None if spec.near_copies == default else spec.near_copies
    spec = replace(spec, near_copies=spec.near_copies or default)
    gold = {table_id for query in dataset.queries for table_id in query.gold}
    corpus = mixing.MixedCorpus(dataset.corpus, tables.value, same, spec, gold)
    notes = (*tables.notes, *corpus.notes)
    origin = f"{plugin.info.name} {split}"
    files = {f"{origin}: {name}": sha256 for name, sha256 in tables.files.items()}
    there = read_databases(plugin, folder, split)
    databases = {
        mixed_id: there[own_id]
        for own_id, mixed_id in corpus.drawn_databases.items()
        if own_id in there
    }
    drawn = Distractors(text, tuple(corpus.drawn_ids), notes, corpus.near_copies, setting)
    return replace(
        dataset,
        corpus=corpus,
        files={**dataset.files, **files},
        notes=(*dataset.notes, *(f"distractors {text}: {note}" for note in notes)),
        distractors=(*dataset.distractors, drawn),
        databases={**databases, **dataset.databases},
    )


@dataclass(frozen=True)
class Loaded:
    """A dataset and the seconds it took to load.

    Attributes:
        dataset: the split.
        seconds: how long it took.
        words: how it was asked for, for whoever goes on with a run of it.
        only_about: the task that the queries are about, where the split has other queries too.
    """

    dataset: Dataset
    seconds: float
    words: Mapping[str, Any] = field(default_factory=dict)
    only_about: str | None = None

    def limited(self, n: int | None) -> "Loaded":
        """Return the data with a sample of n queries, the same in every run."""
        return self if n is None else self._with(sample_queries(self.dataset.queries, n), limit=n)

    def of_task(self, task: AnyTask) -> "Loaded":
        """Return the data with the queries about a task only, as ``of_task`` selects them.

        Raises:
            ConfigError: no query is about it.
        """
        dataset = of_task(self.dataset, task)
        if _ranks(task):
            return replace(self, dataset=dataset)
        task_name = dataset.queries[0].metadata.get("task", _name(task))
        some = len(dataset.queries) < len(self.dataset.queries)
        return replace(
            self._with(dataset.queries, about=task_name),
            only_about=task_name if some else self.only_about,
        )

    def _with(self, queries: tuple[Query, ...], **chosen: Any) -> "Loaded":
        dataset = replace(self.dataset, queries=queries)
        return replace(self, dataset=dataset, words={**self.words, **chosen})


def sample_queries(queries: Sequence[Query], n: int) -> tuple[Query, ...]:
    """Sample n queries, from each database its share; the same ones in every run, in their order.

    The first n would be those of a few databases, as releases list queries database by database.
    """
    if n >= len(queries):
        return tuple(queries)
    numbers: dict[str, list[int]] = defaultdict(list)
    for i, query in enumerate(queries):
        numbers[query.database_id].append(i)

    def draw(i: int) -> bytes:
        return hashlib.sha256(queries[i].id.encode("utf-8", "surrogatepass")).digest()

    # The largest remainders get the queries that shares rounded down leave over.
    shares = {name: divmod(n * len(those), len(queries)) for name, those in numbers.items()}
    left = n - sum(share for share, _ in shares.values())
    more = sorted(shares, key=lambda name: (-shares[name][1], name))[:left]
    chosen = [
        i
        for name, those in numbers.items()
        for i in sorted(those, key=draw)[: shares[name][0] + (name in more)]
    ]
    return tuple(queries[i] for i in sorted(chosen))


class Loader:
    """A loader that loads every split once.

    Args:
        data_dir: as for ``load``.
        observer: is notified of loading, and of notes about the data.
    """

    def __init__(self, data_dir: str | Path | None, observer: Observer) -> None:
        self._data_dir = data_dir
        self._observer = observer
        self._loaded: dict[tuple[Any, ...], Loaded] = {}

    def load(
        self,
        corpus: CorpusLike,
        split: str | None,
        distractors: tuple[str, ...],
    ) -> Loaded:
        """Return a split of a corpus with distractors; arguments and errors as for ``load``."""
        name = id(corpus) if isinstance(corpus, Dataset) else str(corpus)
        key = (name, split, distractors)
        if key not in self._loaded:
            self._observer.stage(f"load {name_of(corpus)}")
            start = time.perf_counter()
            dataset = load(
                corpus,
                split,
                distractors,
                data_dir=self._data_dir,
                observer=self._observer,
            )
            seconds = time.perf_counter() - start
            words: dict[str, Any] = {
                "corpus": None if isinstance(corpus, Dataset) else _anywhere(str(corpus)),
                "distractors": [_anywhere(spec) for spec in distractors],
            }
            self._loaded[key] = Loaded(dataset, seconds, words)
            of_files = not (isinstance(corpus, Dataset) or dataset.databases) and is_path(corpus)
            for note in dataset.notes:
                is_note = LEFT_OUT not in note and (of_files or is_peculiarity(note))
                say = self._observer.note if is_note else self._observer.warning
                say(f"{dataset.info.name} {dataset.split}: {note}")
        return self._loaded[key]


def _anywhere(spec: str) -> str:
    """Return a corpus with its settings as it is written from any folder."""
    name = mixing.divided(spec)[0]
    if name.startswith(HUB_PREFIX):
        return spec
    whole = str(Path(name).resolve()) if is_path(name) else registry.anywhere(name)
    return whole + spec[len(name) :]


def loader(name: str | Path) -> CorpusLoader:
    """Return the corpus plug-in of this name (``OTT-QA`` and ``ottqa`` are the same), or of a path.

    Args:
        name: a registered name, ``module:Class`` or ``path/file.py:Class``; a data set of the hub
            in a known layout, as ``hf:owner/name@revision``, which is fetched; or the path of a
            folder or database file of your own, written with a separator, as in ``./tables``; a
            folder may have settings, as in ``./tables:encoding=cp1252``.

    Raises:
        ConfigError: the name is unknown.
        DataError: there is nothing readable at the path.
    """
    if is_path(name):
        from target_bench.data.formats import detect

        return detect.of_path(*detect.path_and_settings(name))
    name = str(name)
    if name.startswith(HUB_PREFIX):
        from target_bench.data.declared import load_hub_corpus

        return load_hub_corpus(name)
    try:
        plugin = registry.create("corpus", registry.canonical("corpus", name))
    except ConfigError as error:
        if Path(name.partition(":")[0]).is_dir():
            folder = f"For the folder of this name write ./{name}"
            raise ConfigError(f"unknown corpus {name!r}. {folder}") from error
        raise
    if not isinstance(plugin, CorpusLoader):
        kind = type(plugin).__name__
        raise ConfigError(f"{name!r} is not a corpus: {kind} is not a CorpusLoader")
    if not isinstance(getattr(plugin, "info", None), CorpusInfo):
        kind = type(plugin).__name__
        raise ConfigError(f"corpus {name}: {kind} has no info; define info = CorpusInfo(...) in it")
    has_tables = (
        type(plugin).tables is not CorpusLoader.tables or plugin.columns or plugin.info.data
    )
    if not has_tables:
        raise ConfigError(f"corpus {name}: define tables(), or columns = Columns(...) in it")
    return plugin


def is_path(name: str | Path) -> bool:
    """Return whether a corpus is named by its path: a folder or a database file."""
    if isinstance(name, Path):
        return True
    if name.startswith(HUB_PREFIX):
        return False
    target = registry.divided("corpus", name)[0]
    if ":" in target[2:]:  # module:Class or path/file.py:Class; before it a drive of Windows
        return False
    named = name.lower().endswith(_DATABASES)
    with_separator = "/" in target or ("/" in name and "=" not in name) or "\\" in target
    return with_separator or name in (".", "..") or named


def name_of(corpus: CorpusLike) -> str:
    """Return the name of a corpus in messages; the same corpus has one name."""
    if isinstance(corpus, Dataset):
        return f"{corpus.info.name} {corpus.split}"
    if isinstance(corpus, Path) or corpus.startswith(HUB_PREFIX):
        return str(corpus)
    return registry.canonical("corpus", corpus)


def split_of(plugin: CorpusLoader, split: str | None) -> str:
    """Return the full name of a split of this corpus; default: its first.

    Raises:
        ConfigError: it has no such split.
    """
    info = plugin.info
    if split is None:
        return info.splits[0]
    for name in (split, _ALIASES.get(split.lower(), split.lower())):
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
    info = plugin.info
    name = plugin.folder or info.name
    split = split or info.splits[0]
    if plugin.embedded is not None:
        return plugin.embedded
    if data_dir is not None:
        folder = Path(data_dir)
        if not folder.is_dir():
            raise _data_missing(plugin, f"--data-dir {folder}: there is no such folder", split)
        if (folder / name).is_dir() or not strict:
            return folder / name if (folder / name).is_dir() else folder
    root = os.environ.get(ENVIRONMENT)
    if root and (Path(root) / name).is_dir():
        return Path(root) / name
    from target_bench.data import download

    if downloaded := download.find_download(info, split):
        return downloaded
    if not (info.files or info.fetched_splits):
        return _folder_of_code(plugin)
    if info.sources(split) and not download.is_offline():
        return download.fetch(info, [split], observer).folder
    where = f"${ENVIRONMENT}/{name}: {Path(root) / name} is not a folder" if root else ""
    raise _data_missing(plugin, where or f"the data of corpus {name} is not here.", split)


def _data_missing(plugin: CorpusLoader, what: str, split: str) -> DataError:
    """Return the error that says what is missing, where to get it, and where to put it."""
    from target_bench.data import download

    info = plugin.info
    folder = plugin.folder or info.name
    lines = [
        what,
        f"Download {info.title} from {info.source} (licence: {info.licence}) and put these files",
        f"into a folder {folder}/ (as they are, or as .gz or .zip):",
        *(f"  {name}" for name in info.files or _patterns(info, split)),
        f"Then set {ENVIRONMENT} to the folder that holds {folder}/,",
        f"or pass --data-dir with the path of {folder}/ itself.",
    ]
    if info.sources(split):
        lines.append(f"It would be fetched by itself, but --offline or {download.OFFLINE} is set.")
    elif info.fetched_splits:
        lines.append(f"Fetched by themselves are the splits {', '.join(info.fetched_splits)}.")
    return DataError("\n".join(lines))


def _patterns(info: CorpusInfo, split: str) -> list[str]:
    return [pattern for source in info.sources(split) for pattern in source.patterns]


def _folder_of_code(plugin: CorpusLoader) -> Path:
    return Path(inspect.getfile(type(plugin))).resolve().parent


def read(plugin: CorpusLoader, folder: Path, split: str) -> Dataset:
    """Read tables and queries of one split, and note what is wrong with its databases.

    A folder of release files in TARGET's layout is read as that, whichever corpus it is of; any
    other by the corpus's own loader. What ships with this package is read once a process, as its
    files stay as they are.

    Raises:
        DataError: a file is missing or broken; the message names it.
    """
    if not folder.is_relative_to(PACKAGE):
        return _read(plugin, folder, split)
    databases = frozenset(read_databases(plugin, folder, split).items())
    return _read_once(type(plugin), folder, split, databases)


@lru_cache(maxsize=4)
def _read_once(
    plugin: type[CorpusLoader],
    folder: Path,
    split: str,
    databases: frozenset[tuple[str, Path]],  # noqa: ARG001 (part of the key: they are in the cache)
) -> Dataset:
    return _read(plugin(), folder, split)


def _read(plugin: CorpusLoader, folder: Path, split: str) -> Dataset:
    reader = choose_reader(plugin, folder)
    tables = read_tables(reader, folder, split)
    read_queries = _read_part(reader, folder, split, QUERIES)
    queries, more = reader.answerable(read_queries.value, tables.value)
    files = tables.files | read_queries.files
    notes = [*tables.notes, *read_queries.notes, *more]
    dataset = make_dataset(
        reader.info, split, tables.value, queries, files, notes, reader.tables_alone
    )
    databases = read_databases(reader, folder, split)
    if databases or SQL_TASK in reader.info.tasks:
        notes = [*dataset.notes, *_database_notes(dataset, databases)]
        dataset = replace(dataset, databases=databases, notes=tuple(notes))
    return dataset


def choose_reader(plugin: CorpusLoader, folder: Path) -> CorpusLoader:
    """Return what reads a folder: columns that are declared, TARGET's layout, or the loader."""
    if plugin.columns is not None:
        from target_bench.data.declared import DeclaredCorpus

        return DeclaredCorpus(plugin, plugin.columns)
    is_own_folder = not plugin.info.files and folder == _folder_of_code(plugin)
    if plugin.embedded is not None or is_own_folder:
        return plugin
    if not any("corpus" in path.name for path in (folder.resolve(), *folder.glob("*"))):
        return plugin  # without looking further: all files of TARGET's layout are named so
    if (folder / "qrels").is_dir():  # the layout of BEIR
        return plugin
    from target_bench.data.formats.target_layout import TargetDatabases, TargetLayout

    for layout in (TargetDatabases, TargetLayout):
        if layout.is_in(folder):
            return layout(folder, plugin.info)
    return plugin


def read_tables(plugin: CorpusLoader, folder: Path, split: str) -> Cached:
    """Return the tables of one split alone; errors as for ``read``."""
    return _read_part(choose_reader(plugin, folder), folder, split, TABLES)


def _read_part(reader: CorpusLoader, folder: Path, split: str, kind: Kind) -> Cached:
    """Return tables or queries of a split, checked one by one as they are read."""
    releases: list[Release] = []

    def reading() -> Reading:
        release = Release(folder, reader.info.source, reader.subfolders)
        releases.append(release)
        if kind is QUERIES:
            queries = map(check_query, reader.queries(release, split))
            return Reading(release, queries, lambda: release.notes)
        notes: list[str] = []
        complete = (complete_table(release, table) for table in reader.tables(release, split))
        tables = note_peculiarities(check_tables(complete), notes)
        tables = with_languages(tables) if reader.info.any_task else tables
        return Reading(release, tables, lambda: [*notes, *release.notes])

    with _explain_errors(reader, releases, f"{kind.name} of {split}"):
        part = read_cached(reader, folder, split, kind, reading)
    for home, inside in ((folder, ""), (folder.parent, f"{folder.name}/")):
        if (home / "source.json").exists():  # the folder was downloaded, or is that of its hub data
            from target_bench.data import download

            read_files = {f"{inside}{name}": sha256 for name, sha256 in part.files.items()}
            download.verify_files(home, read_files)
    return part


def read_databases(plugin: CorpusLoader, folder: Path, split: str) -> Mapping[str, Path]:
    """Return database id -> file of one split; errors as for ``read``."""
    reader = choose_reader(plugin, folder)
    release = Release(folder, reader.info.source, reader.subfolders)
    with _explain_errors(reader, [release], f"databases of {split}") as where:
        files: dict[str, Path] = compose(dict(reader.databases(release, split)))
        for name, path in files.items():
            if not isinstance(name, str) or not isinstance(path, Path) or not path.is_file():
                raise PluginError(f"{where}: {name!r} should be the path of a file, not {path!r}")
    return files


@contextmanager
def _explain_errors(plugin: CorpusLoader, releases: Sequence[Release], what: str) -> Iterator[str]:
    """Raise what a loader raises as an error that names it, and the files it had read.

    Raises:
        DataError: a file cannot be read, or a table or query is refused.
        PluginError: a plug-in that is not ours raised, or gave something else.
    """
    where = f"corpus {plugin.info.name} ({type(plugin).__name__}), {what}"
    try:
        yield where
    except DataError as error:
        names = list(releases[-1].hashes) if releases else []
        folder = releases[-1].folder if releases else Path()
        if any(name in str(error) for name in (*names, str(folder)) if name not in ("", ".")):
            raise
        raise DataError(f"{where}{_from_files(names)}: {error}") from error
    except (*PASSED_ON, TargetBenchError, GeneratorExit):
        raise
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        reason = error.strerror or message(error)
        raise DataError(f"{where}: {file}cannot be read: {reason}{place(error)}") from error
    except BaseException as error:
        if is_own_code(type(plugin)):
            raise
        raise PluginError(f"{where}: {described(error)}{place(error)}") from error


def make_dataset(
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
    where = f"corpus {info.name}, split {split}{_from_files(list(files or ())[::-1])}"
    try:
        tables = corpus if isinstance(corpus, Corpus) else MemoryCorpus(corpus)
        queries = tuple(map(check_query, queries))
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    if not (queries or tables_alone) or (not tables and any(query.gold for query in queries)):
        raise DataError(
            f"{where}: {len(tables)} tables and {len(queries)} queries; both are needed"
        )
    check_queries(queries, tables, where)
    if notes is None:
        deque(note_peculiarities(tables, notes := []), maxlen=0)
    silent = sum(1 for query in queries if not query.text.strip())
    empty = [f"{silent} of {len(queries)} queries are empty"] if silent else []
    languages = _language_notes(tables) if info.any_task else []
    return Dataset(info, split, tables, queries, dict(files or {}), (*languages, *notes, *empty))


def _from_files(names: Sequence[str]) -> str:
    """Return the first of these files, in brackets; empty without any."""
    return f" (from {first_of(names, 3)})" if names else ""


def _language_notes(tables: Corpus) -> list[str]:
    """Return what retrievers make of tables in another language than English."""
    if len(languages := languages_in(tables)) > 1:
        several = f"{len(languages)} languages ({', '.join(map(language_name, languages))})"
        return [f"the tables are in {several}: bm25, rows and best read words of each"]
    language = recognised_in(tables) or "en"
    if language == "en":
        return []
    name = language_name(language)
    how = f"bm25, rows and best read words of {name}; bm25:language=en reads English ones"
    if language not in WORDS_OF:
        divided = "pairs of characters" if language in TOLD_APART else "what spaces divide"
        how = f"without a stemmer and stop words for it, words are {divided}"
    return [f"the tables are in {name}: {how}"]


def _database_notes(dataset: Dataset, there: Mapping[str, Path]) -> list[str]:
    """Return notes for the user about databases that are missing or damaged.

    SQL may be run for the queries that name no task, or text-to-SQL.
    """
    of_sql = (q for q in dataset.queries if q.metadata.get("task", SQL_TASK) == SQL_TASK)
    n_queries = Counter(query.database_id for query in of_sql)
    missing = [name for name in n_queries if name not in there]
    notes = []
    if missing:
        lost_tables = sum(table_id.database_id in missing for table_id in dataset.corpus.ids)
        lost_queries = sum(n_queries[name] for name in missing)
        notes.append(
            f"{len(missing)} of {len(n_queries)} databases are not here "
            f"({first_of(missing, _MOST_NAMED)}): their {lost_tables} tables are known by their "
            f"schema alone, and SQL for the {lost_queries:,} queries on them cannot be run"
        )
    for name, file in there.items():
        try:
            sound_tables(file)
        except DataError as error:
            if n_queries[name]:
                notes.append(f"{error} The {n_queries[name]} queries on {name} are not run")
    return notes


def of_task(dataset: Dataset, task: AnyTask) -> Dataset:
    """Return the dataset with the queries that are about a task only.

    A query says in its metadata what it is about; one that says nothing is about every task. A task
    that is not of this package gets the queries about the built-in task that it is a subclass of,
    or else about one with answers of the same kind. For table retrieval these are all but those
    whose metadata say that they are not ``ranked``.

    Args:
        dataset: the split.
        task: a task, its class, or its short name.

    Raises:
        ConfigError: no query is about it.
    """
    if _ranks(task):
        ranked = tuple(q for q in dataset.queries if q.metadata.get("ranked", True))
        return dataset if len(ranked) == len(dataset.queries) else replace(dataset, queries=ranked)
    for name in _fitting(task):
        queries = tuple(q for q in dataset.queries if q.metadata.get("task", name) == name)
        if queries:
            return replace(dataset, queries=queries)
    name = f"{dataset.info.name} {dataset.split}"
    raise ConfigError(f"no query of {name} is about the task {_name(task)}")


def _name(task: AnyTask) -> str:
    return task if isinstance(task, str) else task.name


def _ranks(task: AnyTask) -> bool:
    return task == RANKING_TASK if isinstance(task, str) else task.answer == "ranking"


def _fitting(task: AnyTask) -> Iterator[str]:
    """Yield the names of the tasks whose references fit a task, the nearest first."""
    yield _name(task)
    if isinstance(task, str):
        return
    cls = task if isinstance(task, type) else type(task)
    if not registry.is_own_code(cls):
        yield from (base.name for base in cls.__mro__[1:] if hasattr(base, "name"))
        for name in registry.BUILT_IN["task"]:
            if registry.resolve("task", name).answer == cls.answer:
                yield name


def tasks_and_corpora(task: TaskLike) -> list[tuple[str, CorpusLike]]:
    """Return the (task, corpus) pairs that a task, or a task with corpora, stands for.

    Tasks are spelled by ``task_text``.

    Raises:
        ConfigError: an unknown task or corpus, or a corpus that does not serve the task.
        DataError: there is nothing readable at a path.
    """
    written, corpora = task if isinstance(task, tuple) and len(task) == 2 else (task, None)
    if not isinstance(written, str):
        raise ConfigError(
            f"{written!r:.100} is no task: expected its name, as 'qa', or the place of a class of "
            "your own, as 'my_task.py:Mine'"
        )
    is_task = registry.is_known("task", registry.parse("task", written).target)
    if not is_task and (is_path(written) or registry.is_known("corpus", written)):
        raise ConfigError(f"{written!r} is a corpus, and a task is expected, as 'retrieval'")
    text, cls = task_text(written), task_class(written)
    if corpora is None:
        names = registry.working("corpus")
        return [(text, name) for name in names if _serves(loader(name).info, cls)]
    listed: list[Any] = list(corpora) if isinstance(corpora, list | tuple | set) else [corpora]
    for corpus in listed:
        if not isinstance(corpus, CorpusLike):
            raise ConfigError(_no_corpus(corpus))
        info = corpus.info if isinstance(corpus, Dataset) else loader(corpus).info
        if not _serves(info, cls):
            served = ", ".join(info.tasks) or f"none (mix it in: --distractors {info.name}:n=1000)"
            served += f"; name one with --task {info.tasks[0]}" if info.tasks else ""
            raise ConfigError(
                f"corpus {info.name} does not serve the task {cls.name}; it serves {served}. "
                f"A task runs on corpora whose questions have answers of its kind ({cls.answer})"
                f"{_database_beside_tables(corpus) if cls.answer == 'sql' else ''}"
            )
    return [(text, corpus) for corpus in listed]


def _database_beside_tables(corpus: Any) -> str:
    """Return which database of a folder to name for SQL, or nothing.

    Beside files of tables, a database is only more tables.
    """
    folder = Path(corpus) if isinstance(corpus, str | Path) and is_path(corpus) else None
    if folder is None or not folder.is_dir():
        return ""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _DATABASES)
    return f". For SQL name the database alone, without the other tables: {files[0]}" * bool(files)


def _serves(info: CorpusInfo, cls: type[Task[Any]]) -> bool:
    """Return whether a corpus serves a task; a user's own data serves any for which it has all."""
    served = any(name in info.tasks for name in _fitting(cls))
    return served or (info.any_task and cls.answer != "sql")


def once(pairs: Iterable[tuple[str, CorpusLike]]) -> list[tuple[str, CorpusLike]]:
    """Return the pairs without repeated ones; two datasets in memory are never the same."""
    kept: dict[tuple[str, Any], tuple[str, CorpusLike]] = {}
    for task, corpus in pairs:
        key = id(corpus) if isinstance(corpus, Dataset) else name_of(corpus)
        kept.setdefault((task, key), (task, corpus))
    return list(kept.values())
