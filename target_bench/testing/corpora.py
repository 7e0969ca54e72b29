"""The contract of a corpus as checks, on its own data, which are read past the cache."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.errors import ANY_ERROR, DataError, PluginError
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Dataset
from target_bench.core.task import has_reference
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
    expect,
    maker,
    run,
)


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
        data_dir: the folder with its release files; default: where ``load`` finds them.
        splits: the splits to check; default: the first that it declares.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Raises:
        ConfigError: an unknown name, setting or split, or an object in place of a class.
    """
    if isinstance(corpus, Path) or (isinstance(corpus, str) and is_path(corpus)):
        make: Callable[[], Any] = partial(loader, corpus)
    else:
        make = maker("corpus", "tables", corpus, settings)
    return checks_of(CORPUS, CorpusCase(make, data_dir, tuple(splits)), skip)


class CorpusCase:
    """A corpus under test with its data; what was read of it is kept for the next check.

    Args:
        make: makes its loader.
        data_dir: as for ``corpus_checks``.
        splits: the splits to check; empty: the default one.
    """

    def __init__(
        self, make: Callable[[], Any], data_dir: str | Path | None, splits: Sequence[str]
    ) -> None:
        self._make, self._data_dir, self._splits = make, data_dir, splits
        self._datasets: dict[str, Dataset] = {}

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
    def splits(self) -> list[str]:
        """The splits to check."""
        plugin = self.loader()
        return [split_of(plugin, split) for split in self._splits or plugin.info.splits[:1]]

    @cached_property
    def folder(self) -> Path:
        """The folder of its data; fails if there is none."""
        try:
            return folder_of(self.loader(), self._data_dir, self.splits[0])
        except DataError as error:
            raise CheckError(str(error)) from error

    def datasets(self) -> list[Dataset]:
        """Return the splits, each read once."""
        for split in self.splits:
            if split not in self._datasets:
                self._datasets[split] = self.dataset(split)
        return [self._datasets[split] for split in self.splits]

    def dataset(self, split: str) -> Dataset:
        """Return a split, read with a new loader; fails if it is not sound."""
        tables, queries = self.read(TABLES, split), self.read(QUERIES, split)
        files = tables.files | queries.files
        try:
            return make_dataset(self.loader().info, split, tables.value, queries.value, files)
        except DataError as error:
            raise CheckError(str(error)) from error

    def read(self, kind: Kind, split: str) -> Cached:
        """Return the tables or queries of a split, and the hashes of their files."""
        plugin = by_layout(self.loader(), self.folder)
        release = Release(self.folder, plugin.info.source, plugin.subfolders)
        try:
            return held(plugin, release, split, kind)
        except (DataError, PluginError) as error:
            raise CheckError(f"split {split}: {error}") from error


def info(case: CorpusCase) -> None:
    """It declares name, title, tasks, splits, licence, citation and source."""
    declared = case.loader().info
    for field in ("name", "title", "licence", "citation", "source"):
        value = getattr(declared, field)
        expect(isinstance(value, str) and value.strip(), f"info.{field} is {value!r}; write a text")
    name = declared.name
    expect(
        name == name.strip().lower() and not {":", "/", "="} & set(name),
        f"info.name is {name!r}; write lower case, without colon, slash and =",
    )
    for field in ("tasks", "splits"):
        value = getattr(declared, field)
        expect(
            isinstance(value, tuple) and value and all(isinstance(each, str) for each in value),
            f"info.{field} is {value!r}; write a tuple of at least one name",
        )
    if _unknown_tasks(declared) == [*declared.tasks]:
        with calling(f"info.tasks: the task {declared.tasks[0]!r}"):
            registry.resolve("task", declared.tasks[0])


def _unknown_tasks(declared: CorpusInfo) -> list[str]:
    names = registry.names("task")
    return [name for name in declared.tasks if registry.canonical("task", name) not in names]


def tables(case: CorpusCase) -> None:
    """Tables have unique ids, a header, rows of cells, and a context that is JSON."""
    for split in case.splits:
        corpus = case.read(TABLES, split).value
        expect(len(corpus), f"split {split}: there is no table")
        for table in corpus:
            for field in ("title", "section_title"):
                value = table.context.get(field)
                expect(
                    value is None or isinstance(value, str),
                    f"split {split}: table {table.id}: context[{field!r}] is {value!r:.80}; write "
                    "a text or None",
                )
        with calling(f"split {split}: the fingerprint of its tables"):
            assert corpus.fingerprint


def queries(case: CorpusCase) -> None:
    """Queries have unique ids, a text, an answer, and metadata that is JSON."""
    for split in case.splits:
        listed = case.read(QUERIES, split).value
        for query in listed:
            answers = (query.answer,) if isinstance(query.answer, str) else query.answer
            expect(
                isinstance(answers, tuple) and answers and all(isinstance(a, str) for a in answers),
                f"split {split}: query {query.id!r}: answer is {query.answer!r:.80}; write a text, "
                "or a tuple of at least one",
            )
            with calling(f"split {split}: query {query.id!r}: writing its metadata as JSON"):
                json.dumps(dict(query.metadata))
        expect(any(query.text.strip() for query in listed), f"split {split}: no query has a text")
        ((name, n),) = Counter(query.id for query in listed).most_common(1)
        expect(n == 1, f"split {split}: query id {name!r} occurs {n} times")


def gold(case: CorpusCase) -> None:
    """Every query has a gold table in the corpus, in the database of the query."""
    for dataset in case.datasets():
        for query in dataset.queries:
            for table in query.gold:
                expect(
                    table[0] == query.database_id,
                    f"split {dataset.split}: query {query.id!r} is about the database "
                    f"{query.database_id!r}, but its gold table is {table}",
                )


def answers(case: CorpusCase) -> None:
    """Answers are what the tasks of the corpus can score: labels, texts, SQL."""
    declared = case.loader().info
    unknown = _unknown_tasks(declared)
    made = {name: make_task(name) for name in declared.tasks if name not in unknown}
    tasks = {name: task for name, task in made.items() if task.answer != "ranking"}
    default = next(iter(tasks)) if len(tasks) == 1 and not unknown else None
    for name, task in tasks.items():
        split_queries = [
            replace(
                d, queries=tuple(q for q in d.queries if q.metadata.get("task", default) == name)
            )
            for d in case.datasets()
        ]
        scored = [
            replace(d, queries=tuple(q for q in d.queries if has_reference(task, q)))
            for d in split_queries
        ]
        expect(
            any(d.queries for d in scored) or not any(d.queries for d in split_queries),
            f"no query of the task {name} has an answer",
        )
        for dataset in scored:
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
        again = case.dataset(dataset.split)
        for what, before, after in (
            ("tables, or in another order", dataset.corpus.ids, again.corpus.ids),
            ("cells", dataset.corpus.fingerprint, again.corpus.fingerprint),
            ("queries, or in another order", dataset.queries, again.queries),
        ):
            hint = "Sort what comes from a set or a folder."
            expect(before == after, f"{dataset.split}: a second loader gives other {what}. {hint}")


def release(case: CorpusCase) -> None:
    """Files are read through the release, which remembers them."""
    parts = [(split, kind) for split in case.splits for kind in (TABLES, QUERIES)]
    without = [f"{split}: {kind.name}" for split, kind in parts if not case.read(kind, split).files]
    if len(without) == len(parts) and not case.loader().info.files:
        raise SkipTest("it reads no file through the release, so it is read again for every run")
    expect(
        not without,
        f"{', '.join(without)} come from no file. Read every file through the release that "
        "`tables` and `queries` are given.",
    )


def missing(case: CorpusCase) -> None:
    """Without its files it raises a DataError that names what is missing, and where."""
    plugin = case.loader()
    if plugin.embedded is not None or not any(d.files for d in case.datasets()):
        raise SkipTest("its data come with it")
    with tempfile.TemporaryDirectory() as folder:
        empty = Release(Path(folder), plugin.info.source, plugin.subfolders)
        for name in ("tables", "queries"):
            try:
                list(getattr(plugin, name)(empty, case.splits[0]))
                problem = "raised nothing"
            except ANY_ERROR as error:
                names_it = isinstance(error, DataError) and folder in str(error)
                problem = "" if names_it else f"raised {type(error).__name__}: {error}"
            hint = "Ask for a file with release.require, which raises a DataError with the path."
            expect(not problem, f"{name} of an empty folder {problem}. {hint}")


def databases(case: CorpusCase) -> None:
    """Its databases can be opened, and their tables are those of the corpus."""
    plugin, n = by_layout(case.loader(), case.folder), 0
    for dataset in case.datasets():
        try:
            files = read_databases(plugin, case.folder, dataset.split)
        except (DataError, PluginError) as error:
            raise CheckError(f"{dataset.split}: {error}") from error
        n += len(files)
        names = {table_id.database_id for table_id in dataset.corpus.ids}
        for name, path in files.items():
            expect(name in names, f"{dataset.split}: no table is of the database {name!r} ({path})")
            with calling(f"{dataset.split}: opening {path}"):
                stored_tables.sound_tables(path)
    if not n:
        raise SkipTest("it has no databases")


CORPUS: Contract = (
    info,
    tables,
    queries,
    gold,
    answers,
    fingerprint,
    release,
    missing,
    databases,
)
