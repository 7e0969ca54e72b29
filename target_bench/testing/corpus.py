"""The contract of a corpus as a list of checks."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import SkipTest

from target_bench.core import registry
from target_bench.core.errors import ANY_ERROR, DataError, PluginError
from target_bench.core.release import Release
from target_bench.core.schema import CorpusInfo
from target_bench.data import read_split
from target_bench.data.databases import stored_tables
from target_bench.data.select import make_task
from target_bench.testing.checks import (
    Check,
    CheckError,
    Maker,
    Report,
    assemble,
    calling,
    maker,
    run,
)
from target_bench.testing.corpus_data import PARTS, Source

_TEXTS = ("name", "title", "licence", "citation", "source")
_READ = "Read every file through the release that `tables` and `queries` are given."


def check_corpus(
    corpus: Callable[..., Any] | str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    data_dir: str | Path | None = None,
    splits: Sequence[str] = (),
    skip: Mapping[str, str] | None = None,
) -> Report:
    """Test whether a corpus keeps the contract, on its own data.

    Args:
        corpus: its class, a function that makes one, a name with settings as on the command line
            (``ottqa``, ``my_file.py:Mine``), or the path of a folder or database of your own.
        settings: arguments for the class or function.
        data_dir: the folder with its release files; default: where ``corpora.load`` finds them.
        splits: the splits to check; default: those whose files are there.
        skip: names of checks to leave out, each with the reason, which the report shows.

    Returns:
        What passed and what was skipped; ``print`` shows it.

    Raises:
        CheckError: a check failed; the message names all that did and how to fix them.
        ConfigError: an unknown name, setting or split, or an object in place of a class.
    """
    source = Source(_maker(corpus, settings), data_dir, tuple(splits))
    return run(source.name, assemble(source, CHECKS, skip)).raise_failures()


def corpus_checks(
    corpus: Callable[..., Any] | str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    data_dir: str | Path | None = None,
    splits: Sequence[str] = (),
    skip: Mapping[str, str] | None = None,
) -> list[Check]:
    """Return the checks of a corpus, one by one; arguments and errors as for ``check_corpus``.

    With pytest::

        @pytest.mark.parametrize("check", corpus_checks(MyCorpus), ids=str)
        def test_contract(check):
            check()
    """
    source = Source(_maker(corpus, settings), data_dir, tuple(splits))
    return assemble(source, CHECKS, skip)


def _maker(
    corpus: Callable[..., Any] | str | Path, settings: Mapping[str, Any] | None = None
) -> Maker:
    if isinstance(corpus, Path) or (isinstance(corpus, str) and read_split.is_path(corpus)):
        return Maker(str(corpus), lambda: read_split.loader(corpus), 0.0)
    return maker("corpus", "tables", corpus, settings)


def check_info(source: Source) -> None:
    """Check that it declares name, title, tasks, splits, licence, citation and source."""
    info = source.loader().info
    for field in _TEXTS:
        value = getattr(info, field)
        if not isinstance(value, str) or not value.strip():
            raise CheckError(f"info.{field} is {value!r}; write a text")
    if info.name != info.name.strip().lower() or {":", "/", "="} & set(info.name):
        raise CheckError(
            f"info.name is {info.name!r}; a name is lower-case, without colon, slash and ="
        )
    for field in ("tasks", "splits"):
        _expect_names(field, getattr(info, field))
    if not isinstance(info.files, tuple) or not all(isinstance(f, str) for f in info.files):
        raise CheckError(f"info.files is {info.files!r}; write a tuple of texts")
    if set(info.tasks) <= set(_unknown_tasks(info)):
        with calling(f"info.tasks: the task {info.tasks[0]!r}"):
            registry.resolve("task", info.tasks[0])


def _unknown_tasks(info: CorpusInfo) -> list[str]:
    names = registry.names("task")
    return [name for name in info.tasks if registry.canonical("task", name) not in names]


def _expect_names(field: str, value: object) -> None:
    given = value if isinstance(value, tuple) else ()
    if not given or not all(isinstance(name, str) and name for name in given):
        raise CheckError(f"info.{field} is {value!r}; write a tuple of at least one name")
    if len(set(given)) < len(given):
        raise CheckError(f"info.{field} names one twice: {value!r}")


def check_tables(source: Source) -> None:
    """Check that tables have unique ids, a header, rows of cells, and a context that is JSON."""
    for split in source.wanted:
        corpus = source.held(read_split.Tables, split).value
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


def check_queries(source: Source) -> None:
    """Check that queries have unique ids, a text, an answer, and metadata that is JSON."""
    for split in source.wanted:
        queries = source.held(read_split.Queries, split).value
        for query in queries:
            problem = _fault(query)
            if problem:
                raise CheckError(f"split {split}: query {query.id!r}: {problem}")
        if not any(query.text.strip() for query in queries):
            raise CheckError(f"split {split}: no query has a text")
        repeated = [name for name, n in Counter(q.id for q in queries).items() if n > 1]
        if repeated:
            raise CheckError(f"split {split}: query id {repeated[0]!r} occurs twice")


def _fault(query: Any) -> str | None:
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


def check_gold(source: Source) -> None:
    """Check that every query has a gold table in the corpus, in the database of the query."""
    for split in source.wanted:
        for query in source.dataset(split).queries:
            elsewhere = [table for table in query.gold if table[0] != query.database_id]
            if elsewhere:
                raise CheckError(
                    f"split {split}: query {query.id!r} is about the database "
                    f"{query.database_id!r}, but its gold table is {elsewhere[0]!s}"
                )


def check_splits(source: Source) -> None:
    """Check that the other splits it declares can be read too, where their files are there."""
    for split in source.wanted:
        source.dataset(split)
    if source.absent:
        reasons = "\n".join(source.absent.values())
        here = ", ".join(dataset.split for dataset in source.datasets())
        raise SkipTest(f"checked: {here}. The files of the others are not here:\n{reasons}")


def check_answers(source: Source) -> None:
    """Check that answers are what the tasks of the corpus can score: labels, texts, SQL.

    A query that does not say what task it is about is judged where the corpus has one such task.
    """
    info = source.loader().info
    unknown = _unknown_tasks(info)
    made = {name: make_task(name) for name in info.tasks if name not in unknown}
    tasks = {name: task for name, task in made.items() if not task.ranks}
    default = next(iter(tasks)) if len(tasks) == 1 and not unknown else None
    for name, task in tasks.items():
        asked, labelled = [], []
        for dataset in source.datasets():
            about = [q for q in dataset.queries if q.metadata.get("task", default) == name]
            asked += about
            labelled.append(replace(dataset, queries=tuple(filter(task.has_reference, about))))
        if asked and not any(dataset.queries for dataset in labelled):
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


def check_fingerprint(source: Source) -> None:
    """Check that two loaders read the same tables and queries, in the same order."""
    for dataset in source.datasets():
        again = source.fresh(dataset.split)
        if again.corpus.ids != dataset.corpus.ids:
            raise CheckError(
                f"{dataset.split}: a second loader gives the tables in another order, or others; "
                "sort what comes from a set or a folder"
            )
        if again.corpus.fingerprint != dataset.corpus.fingerprint:
            raise CheckError(f"{dataset.split}: a second loader gives other content of the tables")
        if again.queries != dataset.queries:
            raise CheckError(
                f"{dataset.split}: a second loader gives other queries, or in another order"
            )


def check_release(source: Source) -> None:
    """Check that files are read through the release, which remembers them."""
    read = {
        (dataset.split, part.kind): source.held(part, dataset.split).files
        for dataset in source.datasets()
        for part in PARTS
    }
    if not any(read.values()) and not source.loader().info.files:
        raise SkipTest("it reads no file through the release, so it is read again for every run")
    for (split, kind), files in read.items():
        if not files:
            raise CheckError(f"split {split}: its {kind} come from no file. {_READ}")


def check_missing(source: Source) -> None:
    """Check that without its files it raises a DataError that names what is missing, and where."""
    loader = source.loader()
    if loader.embedded is not None or not any(d.files for d in source.datasets()):
        raise SkipTest("its data come with it")
    with tempfile.TemporaryDirectory() as folder:
        release = Release(Path(folder), loader.info.source, loader.subfolders)
        split = source.wanted[0]
        _expect_missing("tables", partial(loader.tables, release, split), folder)
        _expect_missing("queries", partial(loader.queries, release, split), folder)


def _expect_missing(name: str, read: Callable[[], Iterable[object]], folder: str) -> None:
    try:
        list(read())
    except DataError as error:
        if folder in str(error):
            return
        raise CheckError(
            f"{name} of an empty folder: the message does not name the folder: {error}. Ask for a "
            "file with release.require, which does."
        ) from error
    except ANY_ERROR as error:
        raise CheckError(
            f"{name} of an empty folder raised {type(error).__name__}: {error}. Ask for a file "
            "with release.require, which raises a DataError that says what to do."
        ) from error
    raise CheckError(f"{name} of an empty folder raised nothing. {_READ}")


def check_databases(source: Source) -> None:
    """Check that its databases can be opened, and their tables are those of the corpus."""
    loader = source.reader()
    n = 0
    for dataset in source.datasets():
        try:
            found = read_split.databases(loader, source.folder, dataset.split)
        except (DataError, PluginError) as error:
            raise CheckError(f"{dataset.split}: {error}") from error
        n += len(found)
        here = {table_id.database_id for table_id in dataset.corpus.ids}
        for name, path in found.items():
            if name not in here:
                raise CheckError(f"{dataset.split}: no table is of the database {name!r} ({path})")
            with calling(f"{dataset.split}: opening {path}"):
                stored_tables.sound_tables(path)
    if not n:
        raise SkipTest("it has no databases")


_BASICS = (check_info, check_tables, check_queries, check_gold)
_READABLE = (*_BASICS, check_splits)

CHECKS: Mapping[Callable[[Source], None], tuple[Callable[[Source], None], ...]] = {
    check_info: (),
    check_tables: (check_info,),
    check_queries: (check_info,),
    check_gold: (check_info, check_tables, check_queries),
    check_splits: _BASICS,
    check_answers: _READABLE,
    check_fingerprint: _READABLE,
    check_release: _READABLE,
    check_missing: _READABLE,
    check_databases: _READABLE,
}
"""Each check, and those that have to pass before it means anything."""
