"""The contract of a corpus as checks, on its own data, which are read past the cache."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.errors import ANY_ERROR, DataError, unknown_name
from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Dataset
from target_bench.core.task import has_reference
from target_bench.core.task_names import make_task
from target_bench.data.cache import QUERIES, TABLES
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


def check_corpus(corpus: Callable[[], Any] | str | Path, **options: Any) -> Report:
    """Run ``corpus_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(corpus, corpus_checks(corpus, **options)).raise_failures()


def corpus_checks(
    corpus: Callable[[], Any] | str | Path,
    *,
    data_dir: str | Path | None = None,
    splits: Sequence[str] = (),
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the checks of a corpus, one by one.

    Args:
        corpus: its class, a function that makes one, a name with settings as on the command line
            (``ottqa``, ``my_file.py:Mine``), or the path of a folder or database of your own.
        data_dir: the folder with its release files; default: where ``load`` finds them.
        splits: the splits to check; default: the first that it declares.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Raises:
        ConfigError: an unknown name, or an object in place of a class. The first check raises it
            for an unknown setting or split.
    """
    if isinstance(corpus, Path) or (isinstance(corpus, str) and is_path(corpus)):
        make: Callable[[], Any] = partial(loader, corpus)
    else:
        make = maker("corpus", corpus)
    return checks_of(CorpusContract(make, data_dir, splits), skip)


class CorpusContract(Contract):
    """The checks of a corpus; what was read of it is kept for the next one."""

    def __init__(
        self, make: Callable[[], Any], data_dir: str | Path | None, splits: Sequence[str]
    ) -> None:
        self._make, self._data_dir, self._named_splits = make, data_dir, splits

    def info(self) -> None:
        """It declares name, title, tasks, splits, licence, citation and source."""
        plugin = self._make()
        declared = getattr(plugin, "info", None)
        if not isinstance(plugin, CorpusLoader) or not isinstance(declared, CorpusInfo):
            raise CheckError(
                f"{type(plugin).__name__} is not a corpus: inherit CorpusLoader, and define "
                "info = CorpusInfo(...), tables and queries"
            )
        for field in ("name", "title", "licence", "citation", "source"):
            value = getattr(declared, field)
            is_text = isinstance(value, str) and value.strip()
            expect(is_text, f"info.{field} is {value!r}; write a text")
        for field in ("tasks", "splits"):
            value = getattr(declared, field)
            is_tuple = isinstance(value, tuple) and value
            expect(
                is_tuple and all(isinstance(name, str) for name in value),
                f"info.{field} is {value!r}; write a tuple of at least one name",
            )
        name = declared.name
        is_plain = name == name.strip().lower() and not {":", "/", "="} & set(name)
        expect(is_plain, f"info.name is {name!r}; write lower case, without colon, slash and =")
        assert self._splits

    def data(self) -> None:
        """Tables and queries are sound: unique ids, texts as titles, gold tables that are there."""
        for dataset, _ in self._parts:
            for table in dataset.corpus:
                titles = [table.context.get(field) for field in ("title", "section_title")]
                expect(
                    all(isinstance(title, str | None) for title in titles),
                    f"table {table.id}: title and section_title of its context are {titles!r:.80}; "
                    "write a text or None",
                )
            for query in dataset.queries:
                expect(
                    all(table.database_id == query.database_id for table in query.gold),
                    f"query {query.id!r} is about the database {query.database_id!r}, and its gold "
                    f"tables are {query.gold}",
                )
                with calling(f"writing the metadata of the query {query.id!r} as JSON"):
                    json.dumps(dict(query.metadata))

    def answers(self) -> None:
        """Answers are what the tasks of the corpus can score: labels, texts, SQL."""
        declared = self._make().info.tasks
        known = [name for name in declared if registry.is_known("task", name)]
        tasks = [task for task in map(make_task, known) if task.answer != "ranking"]
        only = tasks[0].name if len(tasks) == 1 else None
        for task in tasks:
            for dataset, _ in self._parts:
                about = [q for q in dataset.queries if q.metadata.get("task", only) == task.name]
                queries = tuple(query for query in about if has_reference(task, query))
                expect(queries or not about, f"no query of the task {task.name} has an answer")
                task.check(replace(dataset, queries=queries))
        if unknown := [name for name in declared if name not in known]:
            message = unknown_name("task", unknown[0], registry.names("task"))
            expect(known, message)
            raise SkipTest(f"{message}: its answers were not checked")

    def fingerprint(self) -> None:
        """Two loaders read the same tables and queries, in the same order.

        Sort what comes from a set or a folder.
        """
        for (dataset, _), (again, _) in zip(self._parts, self._read(), strict=True):
            for what, before, after in (
                ("tables, or in another order", dataset.corpus.ids, again.corpus.ids),
                ("cells", dataset.corpus.fingerprint, again.corpus.fingerprint),
                ("queries, or in another order", dataset.queries, again.queries),
            ):
                expect(before == after, f"{dataset.split}: a second loader gives other {what}")

    def release(self) -> None:
        """Files are read through the release, which remembers them and names one that is missing.

        Ask for a file with release.require, which raises a DataError with the path, and read it
        with a method of the release.
        """
        plugin, has_files = self._make(), [has_files for _, has_files in self._parts]
        if plugin.embedded is not None or not (plugin.info.files or any(has_files)):
            raise SkipTest("its data come with it, or it reads no file through the release")
        expect(all(has_files), "its tables or its queries come from no file")
        with tempfile.TemporaryDirectory() as folder:
            empty = Release(Path(folder), plugin.info.source, plugin.subfolders)
            for give in (plugin.tables, plugin.queries):
                try:
                    list(give(empty, self._splits[0]))
                    problem = "nothing"
                except ANY_ERROR as error:
                    problem = f"{type(error).__name__}: {error}"
                    if isinstance(error, DataError) and folder in str(error):
                        continue
                raise CheckError(f"{give.__name__} of an empty folder raised {problem}")

    def databases(self) -> None:
        """Its databases can be opened, and their tables are those of the corpus."""
        plugin, n = self._make(), 0
        for dataset, _ in self._parts:
            names = {table_id.database_id for table_id in dataset.corpus.ids}
            for name, path in read_databases(plugin, self._folder, dataset.split).items():
                expect(name in names, f"no table is of the database {name!r} ({path})")
                stored_tables.sound_tables(path)
                n += 1
        if not n:
            raise SkipTest("it has no databases")

    @cached_property
    def _splits(self) -> list[str]:
        plugin = self._make()
        return [split_of(plugin, split) for split in self._named_splits or plugin.info.splits[:1]]

    @cached_property
    def _folder(self) -> Path:
        return folder_of(self._make(), self._data_dir, self._splits[0])

    @cached_property
    def _parts(self) -> list[tuple[Dataset, bool]]:
        """The splits, each with whether its tables and its queries are from files."""
        return self._read()

    def _read(self) -> list[tuple[Dataset, bool]]:
        """Return ``_parts``, read with a new loader past the cache; fails if they are not sound."""
        plugin, parts = by_layout(self._make(), self._folder), []
        for split in self._splits:
            tables, queries = (
                held(plugin, Release(self._folder, plugin.info.source, plugin.subfolders), split, k)
                for k in (TABLES, QUERIES)
            )
            files = tables.files | queries.files
            dataset = make_dataset(plugin.info, split, tables.value, queries.value, files)
            parts.append((dataset, bool(tables.files and queries.files)))
        return parts
