"""The contract of a corpus as checks, on its own data, which are read past the cache."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.errors import ANY_ERROR, DataError, PluginError
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Dataset
from target_bench.core.task_names import make_task
from target_bench.data.cache import QUERIES, TABLES, Cached, Kind
from target_bench.data.databases import stored_tables
from target_bench.data.load import (
    by_layout,
    folder_of,
    held,
    is_path,
    loader,
    make_dataset,
    read_databases,
    split_of,
)
from target_bench.testing.checks import (
    Check,
    CheckError,
    Contract,
    Report,
    calling,
    checks_of,
    maker,
    run,
)

_READ = "Read every file through the release that `tables` and `queries` are given."


def check_corpus(corpus: Callable[..., Any] | str | Path, **options: Any) -> Report:
    """Run ``corpus_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(corpus, corpus_checks(corpus, **options)).raise_failures()


def corpus_checks(
    corpus: Callable[..., Any] | str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    data_dir: str | Path | None = None,
    splits: Sequence[str] = (),
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the checks of a corpus, one by one.

    Args:
        corpus: its class, a function that makes one, a name with settings as on the command line
            (``ottqa``, ``my_file.py:Mine``), or the path of a folder or database of your own.
        settings: arguments for the class or function.
        data_dir: the folder with its release files; default: where ``corpora.load`` finds them.
        splits: the splits to check; default: those whose files are there.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Raises:
        ConfigError: an unknown name, setting or split, or an object in place of a class.
    """
    if isinstance(corpus, Path) or (isinstance(corpus, str) and is_path(corpus)):
        make: Callable[[], Any] = partial(loader, corpus)
    else:
        make = maker("corpus", "tables", corpus, settings)
    return checks_of(CORPUS, CorpusCase(make, data_dir, tuple(splits)), skip)


class _AbsentError(CheckError):
    """A split whose files are not here."""


class CorpusCase:
    """A corpus under test with its data; what was read of it is kept for the next check.

    Args:
        make: makes its loader.
        data_dir: as for ``check_corpus``.
        splits: the splits to check; empty: those whose files are there.
    """

    def __init__(
        self, make: Callable[[], Any], data_dir: str | Path | None, splits: tuple[str, ...]
    ) -> None:
        self._make, self._data_dir, self._splits = make, data_dir, splits
        self._parts: dict[tuple[str, str], Cached] = {}

    def loader(self) -> CorpusLoader:
        """Make a new loader; fails if what is made is none, or declares nothing."""
        made = self._make()
        if not isinstance(made, CorpusLoader):
            raise CheckError(
                f"{type(made).__name__} is not a corpus: inherit CorpusLoader, and define "
                "info, tables and queries"
            )
        if not isinstance(getattr(made, "info", None), CorpusInfo):
            raise CheckError("it has no info; write info = CorpusInfo(name=..., title=..., ...)")
        return made

    @cached_property
    def folder(self) -> Path:
        """The folder of its data; fails if there is none."""
        try:
            return folder_of(self.loader(), self._data_dir, self.wanted[0])
        except DataError as error:
            raise CheckError(str(error)) from error

    @cached_property
    def wanted(self) -> tuple[str, ...]:
        """The splits that have to be there: those asked for, else the default."""
        plugin = self.loader()
        named = tuple(split_of(plugin, split) for split in self._splits)
        return named or plugin.info.splits[:1]

    @cached_property
    def absent(self) -> Mapping[str, str]:
        """Split -> what is missing, of those that are not asked for and whose files are not here.

        Fails if a split cannot be read for another reason.
        """
        absent = {}
        for split in () if self._splits else self.loader().info.splits[1:]:
            try:
                self.dataset(split)
            except _AbsentError as error:
                absent[split] = str(error)
        return absent

    def datasets(self) -> Sequence[Dataset]:
        """Return each split that is wanted or can be read."""
        rest = () if self._splits else self.loader().info.splits[1:]
        splits = [*self.wanted, *(split for split in rest if split not in self.absent)]
        return [self.dataset(split) for split in splits]

    def dataset(self, split: str, fresh: bool = False) -> Dataset:
        """Return a split, read once, or again with a new loader.

        Fails if its tables or queries cannot be read, or a gold table is missing.
        """
        read = self._read if fresh else self.part
        tables, queries = read(TABLES, split), read(QUERIES, split)
        files = tables.files | queries.files
        try:
            return make_dataset(self.loader().info, split, tables.value, queries.value, files)
        except DataError as error:
            raise CheckError(str(error)) from error

    def part(self, kind: Kind, split: str) -> Cached:
        """Return the tables or queries of a split, read once, and the hashes of their files."""
        if (kind.name, split) not in self._parts:
            self._parts[kind.name, split] = self._read(kind, split)
        return self._parts[kind.name, split]

    def _read(self, kind: Kind, split: str) -> Cached:
        plugin = by_layout(self.loader(), self.folder)
        release = Release(self.folder, plugin.info.source, plugin.subfolders)
        try:
            return held(plugin, release, split, kind)
        except (DataError, PluginError) as error:
            fault = CheckError if release.hashes else _AbsentError
            raise fault(f"split {split}: {error}") from error


def info(case: CorpusCase) -> None:
    """It declares name, title, tasks, splits, licence, citation and source."""
    declared = case.loader().info
    for field in ("name", "title", "licence", "citation", "source"):
        value = getattr(declared, field)
        if not isinstance(value, str) or not value.strip():
            raise CheckError(f"info.{field} is {value!r}; write a text")
    name = declared.name
    if name != name.strip().lower() or {":", "/", "="} & set(name):
        raise CheckError(f"info.name is {name!r}; write lower case, without colon, slash and =")
    for field in ("tasks", "splits"):
        value = getattr(declared, field)
        given = value if isinstance(value, tuple) else ()
        if not given or not all(isinstance(name, str) and name for name in given):
            raise CheckError(f"info.{field} is {value!r}; write a tuple of at least one name")
        if len(set(given)) < len(given):
            raise CheckError(f"info.{field} names one twice: {value!r}")
    if not isinstance(declared.files, tuple):
        raise CheckError(f"info.files is {declared.files!r}; write a tuple of texts")
    if set(declared.tasks) <= set(_unknown_tasks(declared)):
        with calling(f"info.tasks: the task {declared.tasks[0]!r}"):
            registry.resolve("task", declared.tasks[0])


def _unknown_tasks(declared: CorpusInfo) -> list[str]:
    names = registry.names("task")
    return [name for name in declared.tasks if registry.canonical("task", name) not in names]


def tables(case: CorpusCase) -> None:
    """Tables have unique ids, a header, rows of cells, and a context that is JSON."""
    for split in case.wanted:
        corpus = case.part(TABLES, split).value
        if not len(corpus):
            raise CheckError(f"split {split}: there is no table")
        for table in corpus:
            for field in ("title", "section_title"):
                value = table.context.get(field)
                if value is not None and not isinstance(value, str):
                    raise CheckError(
                        f"split {split}: table {table.id}: context[{field!r}] is {value!r:.80}; "
                        "write a text or None"
                    )
        with calling(f"split {split}: the fingerprint of its tables"):
            assert corpus.fingerprint


def queries(case: CorpusCase) -> None:
    """Queries have unique ids, a text, an answer, and metadata that is JSON."""
    for split in case.wanted:
        queries_read = case.part(QUERIES, split).value
        for query in queries_read:
            problem = _query_fault(query)
            if problem:
                raise CheckError(f"split {split}: query {query.id!r}: {problem}")
        if not any(query.text.strip() for query in queries_read):
            raise CheckError(f"split {split}: no query has a text")
        repeated = [name for name, n in Counter(q.id for q in queries_read).items() if n > 1]
        if repeated:
            raise CheckError(f"split {split}: query id {repeated[0]!r} occurs twice")


def _query_fault(query: Any) -> str | None:
    answer = query.answer
    texts = (answer,) if isinstance(answer, str) else answer
    if not isinstance(texts, tuple) or not texts or not all(isinstance(t, str) for t in texts):
        return f"answer is {answer!r:.80}; write a text, or a tuple of at least one"
    if not isinstance(query.metadata, Mapping):
        return f"metadata is {query.metadata!r:.80}; write a dictionary"
    try:
        json.dumps(dict(query.metadata))
        "".join((query.id, query.text, *texts)).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return f"it cannot be written as JSON: {error}"
    return None


def gold(case: CorpusCase) -> None:
    """Every query has a gold table in the corpus, in the database of the query."""
    for split in case.wanted:
        for query in case.dataset(split).queries:
            elsewhere = [table for table in query.gold if table[0] != query.database_id]
            if elsewhere:
                raise CheckError(
                    f"split {split}: query {query.id!r} is about the database "
                    f"{query.database_id!r}, but its gold table is {elsewhere[0]!s}"
                )


def splits(case: CorpusCase) -> None:
    """The other splits it declares can be read too, where their files are there."""
    for split in case.wanted:
        case.dataset(split)
    if case.absent:
        reasons = "\n".join(case.absent.values())
        here = ", ".join(dataset.split for dataset in case.datasets())
        raise SkipTest(f"checked: {here}. The files of the others are not here:\n{reasons}")


def answers(case: CorpusCase) -> None:
    """Answers are what the tasks of the corpus can score: labels, texts, SQL."""
    declared = case.loader().info
    unknown = _unknown_tasks(declared)
    made = {name: make_task(name) for name in declared.tasks if name not in unknown}
    tasks = {name: task for name, task in made.items() if task.answer != "ranking"}
    default = next(iter(tasks)) if len(tasks) == 1 and not unknown else None
    for name, task in tasks.items():
        n_asked, labelled = 0, []
        for dataset in case.datasets():
            of_task = [q for q in dataset.queries if q.metadata.get("task", default) == name]
            n_asked += len(of_task)
            labelled.append(replace(dataset, queries=tuple(filter(task.has_reference, of_task))))
        if n_asked and not any(dataset.queries for dataset in labelled):
            raise CheckError(f"no query of the task {name} has an answer")
        for dataset in labelled:
            try:
                task.check(dataset)
            except DataError as error:
                raise CheckError(f"{dataset.split}: {error}") from error
    if unknown:
        raise SkipTest(
            f"no installed task is called {' or '.join(unknown)}, so the answers of the other "
            "tasks alone were checked; for a task in a file: target-bench check "
            "--task file.py:Class --corpus CORPUS"
        )


def fingerprint(case: CorpusCase) -> None:
    """Two loaders read the same tables and queries, in the same order."""
    for dataset in case.datasets():
        again = case.dataset(dataset.split, fresh=True)
        what = None
        if again.corpus.ids != dataset.corpus.ids:
            what = "the tables in another order, or others; sort what comes from a set or a folder"
        elif again.corpus.fingerprint != dataset.corpus.fingerprint:
            what = "other content of the tables"
        elif again.queries != dataset.queries:
            what = "other queries, or in another order"
        if what:
            raise CheckError(f"{dataset.split}: a second loader gives {what}")


def release(case: CorpusCase) -> None:
    """Files are read through the release, which remembers them."""
    files_read = {
        (d.split, kind.name): case.part(kind, d.split).files
        for d in case.datasets()
        for kind in (TABLES, QUERIES)
    }
    if not any(files_read.values()) and not case.loader().info.files:
        raise SkipTest("it reads no file through the release, so it is read again for every run")
    for (split, kind), files in files_read.items():
        if not files:
            raise CheckError(f"split {split}: its {kind} come from no file. {_READ}")


def missing(case: CorpusCase) -> None:
    """Without its files it raises a DataError that names what is missing, and where."""
    loader = case.loader()
    if loader.embedded is not None or not any(d.files for d in case.datasets()):
        raise SkipTest("its data come with it")
    with tempfile.TemporaryDirectory() as folder:
        empty = Release(Path(folder), loader.info.source, loader.subfolders)
        for name in ("tables", "queries"):
            _expect_missing(name, partial(getattr(loader, name), empty, case.wanted[0]), folder)


def _expect_missing(name: str, read: Callable[[], Iterable[object]], folder: str) -> None:
    hint = "Ask for a file with release.require, which raises a DataError that says what to do."
    try:
        list(read())
    except DataError as error:
        if folder not in str(error):
            raise CheckError(
                f"{name} of an empty folder: the message does not name the folder: {error}. {hint}"
            ) from error
        return
    except ANY_ERROR as error:
        raise CheckError(
            f"{name} of an empty folder raised {type(error).__name__}: {error}. {hint}"
        ) from error
    raise CheckError(f"{name} of an empty folder raised nothing. {_READ}")


def databases(case: CorpusCase) -> None:
    """Its databases can be opened, and their tables are those of the corpus."""
    loader = by_layout(case.loader(), case.folder)
    n = 0
    for dataset in case.datasets():
        try:
            files = read_databases(loader, case.folder, dataset.split)
        except (DataError, PluginError) as error:
            raise CheckError(f"{dataset.split}: {error}") from error
        n += len(files)
        here = {table_id.database_id for table_id in dataset.corpus.ids}
        for name, path in files.items():
            if name not in here:
                raise CheckError(f"{dataset.split}: no table is of the database {name!r} ({path})")
            with calling(f"{dataset.split}: opening {path}"):
                stored_tables.sound_tables(path)
    if not n:
        raise SkipTest("it has no databases")


_READABLE = "info tables queries gold splits"

CORPUS: Contract = {
    info: "",
    tables: "info",
    queries: "info",
    gold: "info tables queries",
    splits: "info tables queries gold",
    answers: _READABLE,
    fingerprint: _READABLE,
    release: _READABLE,
    missing: _READABLE,
    databases: _READABLE,
}
