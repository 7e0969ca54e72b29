# SPDX-License-Identifier: Apache-2.0
"""Retrievers written for the original TARGET package (``target-benchmark`` on PyPI).

Their classes run unchanged: ``embed_corpus(dataset_name, corpus)`` gets batches of tables as
dictionaries of columns, and ``retrieve(query, dataset_name, top_k)`` gives pairs of ids; or
``embed_corpus(dataset_name, corpus_entry)`` and ``embed_query(query, dataset_name)`` give vectors,
and the nearest by cosine are found here. ``TARGET`` is the class that runs them there.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench import (
    ConfigError,
    Corpus,
    MissingExtraError,
    PluginError,
    Ranked,
    Results,
    Retriever,
    Table,
    TableId,
    evaluate,
)
from target_bench.plugin_tools import (
    Ranking,
    RowLimit,
    best_cosines,
    first_rows,
    make_part,
    pair_with_corpora,
    plugin_identity,
)

_Batch = dict[str, list[Any]]  # column -> one value per table
_Vectors = NDArray[np.float64]
_QUERIES = 256  # that are compared with all vectors at a time

_CORPORA = {
    "spider-test": ("spider", "test"),
    "spider-train": ("spider", "train"),
    "spider-validation": ("spider", "validation"),
    "bird-validation": ("bird", "validation"),
    "infiagentda": ("infiagent", None),
}
"""A name of the original package -> the corpus, and its split if the name has one."""


def TARGET(*tasks: Any, downstream_tasks: Any = None, **options: Any) -> "_Benchmark":  # noqa: N802 (the original's name)
    """Make a benchmark, as the class of the original package does.

    ```python
    from target_bench.contrib.retrievers.compat import TARGET

    TARGET(("Table Retrieval Task", "mini")).run("bm25", split="test", top_k=10)
    ```

    Args:
        tasks: a task (``"Table Retrieval Task"``) for all corpora that serve it, or a pair of a
            task and a corpus or list of corpora. A list of tasks is as good as several. Default:
            table retrieval.
        downstream_tasks: more tasks.
        options: of ``evaluate``, as ``data_dir``, ``out`` and ``observer``.

    Raises:
        ConfigError: an unknown task or corpus, or a corpus that does not serve the task.
    """
    return _Benchmark([*tasks, downstream_tasks or []], options)


class _Benchmark:
    """Tasks with their corpora.

    Args:
        tasks: as for ``TARGET``; lists are several tasks.
        options: of ``evaluate``.
    """

    def __init__(self, tasks: Sequence[Any], options: Mapping[str, Any]) -> None:
        given = [task for each in tasks for task in (each if isinstance(each, list) else [each])]
        self._options = options
        self._parts: list[tuple[str, Any, str | None]] = []
        for task in given or ["retrieval"]:
            corpora = _corpora(task)
            splits = [split for _, split in corpora or ()]
            if corpora is None:
                pairs = pair_with_corpora(task)
            else:
                pairs = pair_with_corpora(task[0], [corpus for corpus, _ in corpora])
            for (text, corpus), split in zip(pairs, splits or [None] * len(pairs), strict=True):
                if (text, corpus, split) not in self._parts:
                    self._parts.append((text, corpus, split))

    def run(
        self,
        retriever: Any = None,
        split: str | None = None,
        top_k: int | Sequence[int] = 10,
        **options: Any,
    ) -> Results:
        """Evaluate a retriever, or several, and perhaps a ``generator``, on every pair.

        Arguments and errors are those of ``evaluate``.
        """
        results = Results(())
        for task, corpus, own in self._parts:
            chosen = {"split": own or split, "top_k": top_k, **self._options, **options}
            results += evaluate(retriever, corpus, task=task, **chosen)
        return results


def _corpora(task: Any) -> list[tuple[Any, str | None]] | None:
    """Return the corpora that are named with a task, under their names here, and their splits."""
    if not (isinstance(task, tuple) and len(task) == 2):
        return None
    corpora = task[1] if isinstance(task[1], list | tuple | set) else [task[1]]
    return [
        _CORPORA.get(corpus.lower().replace("_", "-"), (corpus, None))
        if isinstance(corpus, str)
        else (corpus, None)
        for corpus in corpora
    ]


class Compat(Retriever):
    """Asks a retriever of the original TARGET package.

    Needs: a class of yours, and the package target-benchmark if it imports that.

    It gets an opaque name in place of the dataset's: another one for another corpus, other
    settings or other source code, so that what it keeps on disk under that name stays right. It
    sees no query id and no gold table. What is printed, it prints itself.

    Args:
        target: the object, or ``path/file.py:Class`` or ``module:Class`` with its settings.
        batch_size: how many tables a batch holds.
        rows: how many rows of each table to hand over, as for ``bm25``.

    Raises:
        ConfigError: there is no such class, it cannot be made, or it is not a retriever of either
            kind.
    """

    packages = ("target-benchmark", "numpy")

    def __init__(self, target: Any, batch_size: int = 64, rows: RowLimit = "auto") -> None:
        if batch_size < 1:
            raise ConfigError(f"batch_size={batch_size}: at least 1 is needed")
        self.target = make_part("retriever", target)
        self.batch_size = batch_size
        self.rows = rows
        self._finds = _finds_itself(self.target)
        self._convert = _converter(self.target)

    def parts(self) -> Mapping[str, object]:
        """Return the original retriever."""
        return {"target": self.target}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Hand over the tables, in batches or one by one."""
        self._ids = corpus.ids
        self._name = self._opaque_name(corpus)
        if self._finds:
            self.target.embed_corpus(self._name, self._batches(corpus))
            return
        vectors = [
            self._vector_of(batch, i)
            for batch in self._batches(corpus)
            for i in range(len(batch["table_id"]))
        ]
        self._vectors = _unit_rows(_matrix(vectors, self._ids))

    def _opaque_name(self, corpus: Corpus) -> str:
        """Return the dataset's name as given to the class; valid for files and collections."""
        whole = json.dumps([corpus.fingerprint, plugin_identity(self)[0]], sort_keys=True)
        return f"corpus_{hashlib.sha256(whole.encode()).hexdigest()[:16]}"

    def _batches(self, corpus: Corpus) -> Iterator[_Batch]:
        for tables in corpus.batches(self.batch_size):
            yield {
                "database_id": [table.id.database_id for table in tables],
                "table_id": [table.id.table_id for table in tables],
                "table": [self._convert(self._array(table)) for table in tables],
                "context": [dict(table.context) for table in tables],
            }

    def _array(self, table: Table) -> list[list[Any]]:
        """Return header and rows."""
        return [list(table.header), *map(list, first_rows(table, self.rows))]

    def _vector_of(self, batch: _Batch, place: int) -> _Vectors:
        entry = {column: values[place] for column, values in batch.items()}
        vector = self.target.embed_corpus(self._name, entry)
        return _vector(vector, f"embed_corpus, table {entry['table_id']!r}")

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query."""
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, in their order."""
        if not self._finds:
            return self._nearest(queries, top_k)
        if _own_batch(self.target):
            return self._by_own_batch(queries, top_k)
        return [_pairs(self.target.retrieve(query, self._name, top_k)) for query in queries]

    def notes(self) -> Sequence[str]:
        """Return a note if a method of the class is not used."""
        if self._finds or not _own_batch(self.target):
            return ()
        return (
            f"{_class_name(self.target)}: its own retrieve_batch is not called; the nearest "
            "vectors are found here",
        )

    def _by_own_batch(self, queries: Sequence[str], top_k: int) -> list[Ranking]:
        """Rank through the class's own ``retrieve_batch``, which gets no gold table."""
        columns = {
            "query_id": [str(number) for number in range(len(queries))],
            "query": list(queries),
            "table_id": [[] for _ in queries],
            "database_id": [[] for _ in queries],
        }
        results = self.target.retrieve_batch(columns, self._name, top_k)
        return [_pairs(result.retrieval_results) for result in results]

    def _nearest(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        if not queries:
            return []
        vectors = [_vector(self.target.embed_query(q, self._name), "embed_query") for q in queries]
        points = _unit_rows(np.array(vectors))
        if points.shape[1] != self._vectors.shape[1]:
            raise PluginError(
                f"{_class_name(self.target)}: embed_query gives vectors of {points.shape[1]} "
                f"numbers, embed_corpus of {self._vectors.shape[1]}"
            )
        blocks = [
            best_cosines(points[start : start + _QUERIES] @ self._vectors.T, top_k)
            for start in range(0, len(points), _QUERIES)
        ]
        return Ranked(self._ids, *map(np.concatenate, zip(*blocks, strict=True)))


def _finds_itself(target: object) -> bool:
    """Return whether a retriever finds tables itself (else it makes vectors).

    Raises:
        ConfigError: it does neither.
    """
    if isinstance(target, type):
        name = target.__name__
        raise ConfigError(f"target: {name} is a class; pass an object of it, as in {name}()")
    if not callable(getattr(target, "embed_corpus", None)):
        raise ConfigError(f"{_class_name(target)} has no method embed_corpus(dataset_name, corpus)")
    if callable(getattr(target, "retrieve", None)):
        return True
    if callable(getattr(target, "embed_query", None)):
        return False
    if _own_batch(target):
        return True
    raise ConfigError(
        f"{_class_name(target)} has neither retrieve(query, dataset_name, top_k) nor "
        "embed_query(query, dataset_name)"
    )


def _own_batch(target: object) -> bool:
    """Return whether a class has a ``retrieve_batch`` that is not the original package's."""
    owner = next((c for c in type(target).__mro__ if "retrieve_batch" in vars(c)), None)
    return owner is not None and owner.__module__.split(".")[0] != "target_benchmark"


def _converter(target: object) -> Callable[[list[list[Any]]], Any]:
    """Return the function that turns a nested array into the format that a class expects.

    Raises:
        ConfigError: it expects something unheard of.
    """
    layout = str(getattr(target, "expected_corpus_format", "nested array")).lower()
    forms: tuple[tuple[tuple[str, ...], Callable[[list[list[Any]]], Any]], ...] = (
        (("array", "list"), lambda array: array),
        (("dataframe", "pandas", "df"), _frame),
        (("json", "dict"), _records),
    )
    for words, convert in forms:
        if any(word in layout for word in words):
            return convert
    raise ConfigError(
        f"{_class_name(target)}: expected_corpus_format={layout!r} is none of nested array, "
        "dataframe, dictionary"
    )


def _frame(array: list[list[Any]]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        what = "a retriever that expects dataframes"
        raise MissingExtraError("pandas", "pandas", what) from error
    return pd.DataFrame(data=array[1:], columns=array[0])


def _records(array: list[list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(array[0], row, strict=False)) for row in array[1:]]


def _pairs(ranking: Any) -> Any:
    """Return the pairs of ids, which may be numbers; anything else is left for the contract."""
    if ranking is None or isinstance(ranking, str):
        return ranking
    return [TableId(str(item[0]), str(item[1])) if _is_pair(item) else item for item in ranking]


def _is_pair(item: Any) -> bool:
    ids = (str, int, np.integer)
    return (
        isinstance(item, tuple | list) and len(item) == 2 and all(isinstance(i, ids) for i in item)
    )


def _vector(embedding: Any, where: str) -> _Vectors:
    try:
        vector = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise PluginError(f"{where}: gave no vector of numbers: {error}") from error
    vector = vector[0] if vector.ndim == 2 and len(vector) == 1 else vector
    if vector.ndim != 1 or not vector.size:
        raise PluginError(f"{where}: gave an array of shape {vector.shape}, not a vector")
    if not np.isfinite(vector).all():
        raise PluginError(f"{where}: gave a vector with NaN or infinity")
    return vector


def _matrix(vectors: list[_Vectors], ids: Sequence[TableId]) -> _Vectors:
    for table_id, vector in zip(ids, vectors, strict=True):
        if len(vector) != len(vectors[0]):
            raise PluginError(
                f"embed_corpus gave a vector of {len(vector)} numbers for table {table_id}, of "
                f"{len(vectors[0])} for table {ids[0]}"
            )
    return np.array(vectors)


def _unit_rows(rows: _Vectors) -> _Vectors:
    """Scale rows to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _class_name(target: object) -> str:
    return type(target).__name__
