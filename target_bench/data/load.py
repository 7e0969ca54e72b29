"""Corpora by name, path or value: ``load`` gives one split, ``load_once`` each of many once.

``loader`` finds the plug-in of a name or path, ``folders`` its data, ``reading`` reads them.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.registry import find_task, spell_task
from target_bench.core.release import CorpusLoader
from target_bench.core.schema import LEFT_OUT, SPLIT_ALIASES, CorpusInfo, Dataset
from target_bench.core.task import Task
from target_bench.data import distractors as mixing
from target_bench.data.cache import TABLES
from target_bench.data.checks import is_peculiarity
from target_bench.data.folders import folder_of
from target_bench.data.formats.file_tables import DATABASES
from target_bench.data.reading import choose_reader, read, read_databases, read_part
from target_bench.data.selection import fitting_tasks

CorpusLike = str | Path | Dataset
"""A corpus by name, by path, or loaded already."""

_ALIASES = {**SPLIT_ALIASES, "mini-dev": "mini_dev", "minidev": "mini_dev"}
HUB_PREFIX = "hf:"
"""How a data set of the hub is named as a corpus: ``hf:owner/name@revision``."""


def load(
    corpus: CorpusLike,
    split: str | None = None,
    distractors: Sequence[str] = (),
    *,
    data_dir: str | Path | None = None,
    observer: Observer | None = None,
) -> Dataset:
    """Load one split of a corpus; data that are pinned and nowhere here are fetched.

    ```python
    from target_bench import load

    print(load("mini"))  # Dataset(mini test: 139 tables, 490 queries)
    ```

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
    if isinstance(corpus, Dataset):
        dataset = corpus
        if split not in (None, dataset.split):
            raise ConfigError(
                f"split={split!r}: the dataset {dataset.info.name} was loaded with the split "
                f"{dataset.split}; leave split out"
            )
    elif isinstance(corpus, CorpusLike):
        plugin = loader(corpus)
        split = split_of(plugin, split)
        dataset = read(plugin, folder_of(plugin, data_dir, split, observer=observer), split)
    else:
        raise _explain_no_corpus(corpus)
    for text in distractors:
        dataset = _mix_in(dataset, text, data_dir, observer)
    return dataset


def _explain_no_corpus(value: object) -> ConfigError:
    return ConfigError(
        f"{value!r:.100} is no corpus: expected a name as 'mini', a path as './tables', or a "
        "Dataset; a loader of your own is named by its file, as 'my_corpus.py:Mine'"
    )


def _mix_in(
    dataset: Dataset, text: str, data_dir: str | Path | None, observer: Observer | None
) -> Dataset:
    """Add distractors, as they are written, to the tables of a dataset."""
    spec = mixing.parse_spec(text)
    plugin = loader(spec.corpus)
    split = split_of(plugin, spec.split)
    same = (plugin.info.name, plugin.info.source) == (dataset.info.name, dataset.info.source)
    folder = folder_of(plugin, data_dir, split, not same, observer)
    reader = choose_reader(plugin, folder)
    tables = read_part(reader, folder, split, TABLES)
    files = {f"{plugin.info.name} {split}: {name}": sha for name, sha in tables.files.items()}
    has_questions = bool(plugin.info.tasks) or is_path(spec.corpus)
    databases = read_databases(reader, folder, split)
    return mixing.mix_in(
        dataset, tables._replace(files=files), databases, spec, same, has_questions
    )


def load_once(
    corpus: CorpusLike,
    split: str | None,
    distractors: tuple[str, ...],
    data_dir: str | Path | None,
    observer: Observer,
    loaded: dict[Any, Dataset] | None = None,
) -> Dataset:
    """Load a split, or take it from ``loaded``, which gets it; warn of what is odd in its data."""
    in_memory = isinstance(corpus, Dataset)
    key = (id(corpus) if in_memory else str(corpus), split, distractors)
    if loaded is not None and key in loaded:
        return loaded[key]
    observer.stage(f"load {name_of(corpus)}")
    start = time.perf_counter()
    dataset = load(corpus, split, distractors, data_dir=data_dir, observer=observer)
    request: dict[str, Any] = {
        "corpus": None if in_memory else _anywhere(str(corpus)),
        "distractors": [_anywhere(spec) for spec in distractors],
    }
    dataset = replace(dataset, request=request, seconds=time.perf_counter() - start)
    if loaded is not None:
        loaded[key] = dataset
    of_files = not (isinstance(corpus, Dataset) or dataset.databases) and is_path(corpus)
    for note in dataset.notes:
        is_note = LEFT_OUT not in note and (of_files or is_peculiarity(note))
        say = observer.note if is_note else observer.warning
        say(f"{dataset.info.name} {dataset.split}: {note}")
    return dataset


def _anywhere(spec: str) -> str:
    """Return a corpus with its settings as it is written from any folder."""
    name = mixing.split_spec(spec)[0]
    if name.startswith(HUB_PREFIX):
        return spec
    whole = str(Path(name).resolve()) if is_path(name) else registry.make_absolute(name)
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

        return detect.choose_loader(*detect.split_settings(name))
    name = str(name)
    if name.startswith(HUB_PREFIX):
        from target_bench.data.declared import load_hub_corpus

        return load_hub_corpus(name)
    try:
        plugin = registry.create("corpus", registry.spell_name("corpus", name))
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
    target = registry.split_settings("corpus", name)[0]
    if ":" in target[2:]:  # module:Class or path/file.py:Class; before it a drive of Windows
        return False
    named = name.lower().endswith(DATABASES)
    with_separator = "/" in target or ("/" in name and "=" not in name) or "\\" in target
    return with_separator or name in (".", "..") or named


def name_of(corpus: CorpusLike) -> str:
    """Return the name of a corpus in messages; the same corpus has one name."""
    if isinstance(corpus, Dataset):
        return f"{corpus.info.name} {corpus.split}"
    if isinstance(corpus, Path) or corpus.startswith(HUB_PREFIX):
        return str(corpus)
    return registry.spell_name("corpus", corpus)


def split_of(plugin: CorpusLoader, split: str | None) -> str:
    """Return the full name of a split of this corpus; default: its first."""
    info = plugin.info
    if split is None:
        return info.splits[0]
    for name in (split, _ALIASES.get(split.lower(), split.lower())):
        if name in info.splits:
            return name
    raise ConfigError(
        f"corpus {info.name} has no split {split!r}. It has {', '.join(info.splits)}."
    )


def pair_with_corpora(
    task: str, corpora: CorpusLike | Sequence[CorpusLike] | None = None
) -> list[tuple[str, CorpusLike]]:
    """Return a pair of the task with each corpus, after a check that the corpora serve it.

    ```python
    from target_bench.plugin_tools import pair_with_corpora

    print(pair_with_corpora("table-to-text", ["mini"]))  # [('table_to_text', 'mini')]
    ```

    Args:
        task: its name, with settings perhaps; the pairs have it as ``spell_task`` spells it.
        corpora: one or several; default: all that serve the task.

    Raises:
        ConfigError: an unknown task or corpus, or a corpus that does not serve the task.
        DataError: there is nothing readable at a path.
    """
    if not isinstance(task, str):
        raise ConfigError(
            f"{task!r:.100} is not a task: expected a name, such as 'qa', or a class of your own, "
            "such as 'my_task.py:Mine'"
        )
    is_task = registry.is_known("task", registry.parse("task", task).target)
    if not is_task and (is_path(task) or registry.is_known("corpus", task)):
        raise ConfigError(f"{task!r} is a corpus: expected a task, such as 'retrieval'")
    text, cls = spell_task(task), find_task(task)
    if corpora is None:
        names = registry.list_importable("corpus")
        return [(text, name) for name in names if _serves(loader(name).info, cls)]
    listed: list[Any] = list(corpora) if isinstance(corpora, list | tuple | set) else [corpora]
    for corpus in listed:
        if not isinstance(corpus, CorpusLike):
            raise _explain_no_corpus(corpus)
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
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in DATABASES)
    return f". For SQL name the database alone, without the other tables: {files[0]}" * bool(files)


def _serves(info: CorpusInfo, cls: type[Task[Any]]) -> bool:
    """Return whether a corpus serves a task; a user's own data serves any for which it has all."""
    served = any(name in info.tasks for name in fitting_tasks(cls))
    return served or (info.any_task and cls.answer != "sql")


def drop_repeated(pairs: Iterable[tuple[str, CorpusLike]]) -> list[tuple[str, CorpusLike]]:
    """Return the pairs without repeated ones; two datasets in memory are never the same."""
    kept: dict[tuple[str, Any], tuple[str, CorpusLike]] = {}
    for task, corpus in pairs:
        key = id(corpus) if isinstance(corpus, Dataset) else name_of(corpus)
        kept.setdefault((task, key), (task, corpus))
    return list(kept.values())
