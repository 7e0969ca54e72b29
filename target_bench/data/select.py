"""Selection of tasks and corpora: names of tasks, corpora by name, path or value, loaded once."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.schema import CorpusInfo, Dataset, Query
from target_bench.core.task import Task
from target_bench.data.distractors import resolved
from target_bench.data.load import load
from target_bench.data.read_split import is_path, loader, notes_about

CorpusLike = str | Path | Dataset
"""A corpus by name, by path, or loaded already."""

AnyTask = str | Task[Any] | type[Task[Any]]
"""A task, its class, or its short name."""

TaskLike = str | tuple[str, CorpusLike | Sequence[CorpusLike]]
"""A task by name, for all corpora that serve it or with its corpora."""


@dataclass(frozen=True)
class Loaded:
    """A dataset and the seconds it took to load.

    Attributes:
        dataset: the split.
        seconds: how long it took.
        asked: how it was asked for, for whoever goes on with a run of it.
        only_about: the task that the queries are about, where the split has other queries too.
    """

    dataset: Dataset
    seconds: float
    asked: Mapping[str, Any] = field(default_factory=dict)
    only_about: str | None = None

    def limited(self, n: int | None) -> "Loaded":
        """Return the data with the first n queries only."""
        return self if n is None else self._with(self.dataset.queries[:n], limit=n)

    def of_database(self, name: str | None) -> "Loaded":
        """Return the data with the queries of one database only; case counts only if ambiguous.

        Raises:
            ConfigError: no query is about it.
        """
        if name is None:
            return self
        known = sorted({query.database_id for query in self.dataset.queries})
        if name not in known:
            same = [other for other in known if other.lower() == name.lower()]
            if len(same) != 1:
                raise ConfigError(
                    f"no query is about the database {name!r}; there are {', '.join(known)}"
                )
            name = same[0]
        queries = tuple(q for q in self.dataset.queries if q.database_id == name)
        return self._with(queries, database=name)

    def of_task(self, task: AnyTask) -> "Loaded":
        """Return the data with the queries about a task only, as ``of_task`` finds them.

        Raises:
            ConfigError: no query is about it.
        """
        queries = of_task(self.dataset, task).queries
        if _ranks(task):
            return replace(self, dataset=replace(self.dataset, queries=queries))
        about = queries[0].metadata.get("task", _name(task))
        some = len(queries) < len(self.dataset.queries)
        return replace(
            self._with(queries, about=about), only_about=about if some else self.only_about
        )

    def _with(self, queries: tuple[Query, ...], **asked: Any) -> "Loaded":
        dataset = replace(self.dataset, queries=queries)
        return replace(self, dataset=dataset, asked={**self.asked, **asked})


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
    return task == RANKING_TASK if isinstance(task, str) else task.ranks


def _fitting(task: AnyTask) -> Iterator[str]:
    """Yield the names of the tasks whose references fit a task, the nearest first."""
    yield _name(task)
    if isinstance(task, str):
        return
    cls = task if isinstance(task, type) else type(task)
    if not registry.is_own_code(cls):
        yield from (base.name for base in cls.__mro__[1:] if hasattr(base, "name"))
        for name in registry.BUILT_IN["task"]:
            other = registry.resolve("task", name)
            if other.answer == cls.answer and other.needs_databases >= cls.needs_databases:
                yield name


class Loader:
    """A loader that loads every split once.

    Args:
        data_dir: as for ``corpora.load``.
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
        database: str | None = None,
    ) -> Loaded:
        """Return a split of a corpus with distractors; errors as for ``corpora.load``.

        Args:
            corpus: by name, path or value.
            split: its name; default: the corpus's own.
            distractors: as for ``corpora.load``.
            database: the only one that will be asked about; of others there are no warnings.
        """
        key = (id(corpus) if isinstance(corpus, Dataset) else str(corpus), split, distractors)
        if key not in self._loaded:
            self._observer.stage(f"load {name_of(corpus)}")
            start = time.perf_counter()
            dataset = load(
                corpus, split, distractors, data_dir=self._data_dir, observer=self._observer
            )
            asked = {"corpus": _spelled(corpus), "distractors": list(map(resolved, distractors))}
            self._loaded[key] = Loaded(dataset, time.perf_counter() - start, asked)
            notes = dataset.notes if database is None else notes_about(dataset, database)
            for note in notes:
                self._observer.warning(f"{dataset.info.name} {dataset.split}: {note}")
        return self._loaded[key]


def _spelled(corpus: CorpusLike) -> str | None:
    """Return a corpus's name or absolute path, valid from any folder; None for one in memory."""
    if isinstance(corpus, Dataset):
        return None
    if is_path(corpus):
        return str(Path(corpus).resolve())
    target = registry.parse("corpus", str(corpus)).target
    return registry.anywhere(target) + str(corpus)[len(target) :]


def tasks_and_corpora(asked: TaskLike) -> list[tuple[str, CorpusLike]]:
    """Return the (task, corpus) pairs that a task, or a task with corpora, stands for.

    Tasks are spelled by ``task_text``.

    Raises:
        ConfigError: an unknown task or corpus, or a corpus that does not serve the task.
        DataError: there is nothing readable at a path.
    """
    written, wanted = _task_with_corpora(asked)
    text, task = task_text(written), task_named(written)
    if wanted is None:
        names = [n for n in registry.working("corpus") if task in loader(n).info.tasks]
        return [(text, name) for name in names]
    listed = [wanted] if isinstance(wanted, CorpusLike) else list(wanted)
    for corpus in listed:
        info = corpus.info if isinstance(corpus, Dataset) else loader(corpus).info
        if not _serves(info, written):
            raise ConfigError(
                f"corpus {info.name} does not serve the task {task}; it serves "
                f"{', '.join(info.tasks) or f'none (mix it in: --distractors {info.name}:n=1000)'}"
            )
    return [(text, corpus) for corpus in listed]


def _task_with_corpora(
    asked: TaskLike,
) -> tuple[str, CorpusLike | Sequence[CorpusLike] | None]:
    """Return a task with its corpora, or None for all.

    Raises:
        ConfigError: it is neither a name nor a pair, or the name is that of a corpus.
    """
    written, wanted = asked, None
    if isinstance(asked, tuple) and len(asked) == 2:
        written, wanted = asked
    if not isinstance(written, str):
        raise ConfigError(
            f"{asked!r:.100}: expected the name of a task, or a pair of a task and corpora, as in "
            'TARGET(("Table Retrieval", "mini")). A generator is named in run(generator=...).'
        )
    if _is_corpus(written):
        raise ConfigError(
            f"{written!r} is a corpus, and a task comes first, as in "
            f'TARGET(("Table Retrieval", "{written}"))'
        )
    return written, wanted


def _is_corpus(name: str) -> bool:
    """Return whether a name that may be of a task is that of a corpus, or a path."""
    if registry.is_known("task", registry.parse("task", name).target):
        return False
    return is_path(name) or registry.is_known("corpus", name)


def once(pairs: Iterable[tuple[str, CorpusLike]]) -> list[tuple[str, CorpusLike]]:
    """Return the pairs without repeated ones; two datasets in memory are never the same."""
    kept: dict[tuple[str, Any], tuple[str, CorpusLike]] = {}
    for task, corpus in pairs:
        key = id(corpus) if isinstance(corpus, Dataset) else name_of(corpus)
        kept.setdefault((task, key), (task, corpus))
    return list(kept.values())


def _serves(info: CorpusInfo, text: str) -> bool:
    """Return whether a corpus serves a task; a user's own data serves any for which it has all."""
    cls = task_class(text)
    if any(name in info.tasks for name in _fitting(cls)):
        return True
    return info.any_task and not cls.needs_databases


def task_class(text: str) -> type[Task[Any]]:
    """Return the class of a task, from any of its names in any case, with or without settings.

    Raises:
        ConfigError: no task has this name, or what was named is not a task.
    """
    target = registry.parse("task", text).target
    found = registry.resolve("task", target)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ConfigError(f"{target} is not a task: it does not inherit target_bench.Task")
    missing = [
        name for name in ("name", "title") if not isinstance(getattr(found, name, None), str)
    ]
    if missing:
        raise ConfigError(f"{target} is not a task: it has no attribute `{missing[0]}`")
    return found


def make_task(text: str) -> Task[Any]:
    """Return a task with its settings; errors as for ``task_class`` and ``registry.create``."""
    task_class(text)
    made: Task[Any] = registry.create("task", text)
    return made


def task_named(text: str) -> str:
    """Return the short name of a task, from any of its names in any case, with or without settings.

    Raises:
        ConfigError: no task has this name, or what was named is not a task.
    """
    return task_class(text).name


def task_text(text: str) -> str:
    """Return a task with its settings and an absolute path, valid from any folder.

    Its name is in the registered spelling, as in ``mine:timeout=5``; the path of a file is
    absolute.

    Raises:
        ConfigError: the settings cannot be read.
    """
    target = registry.parse("task", text).target
    return registry.anywhere(registry.canonical("task", target)) + text[len(target) :]


def name_of(corpus: CorpusLike) -> str:
    """Return the name of a corpus in messages; the same corpus has one name."""
    if isinstance(corpus, Dataset):
        return f"{corpus.info.name} {corpus.split}"
    return registry.canonical("corpus", corpus) if isinstance(corpus, str) else str(corpus)
