"""The contracts between the harness and what plugs into it."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from target_bench.core.observer import Observer
from target_bench.core.release import Release
from target_bench.core.schema import (
    CorpusInfo,
    Generation,
    GenerationRequest,
    Query,
    Table,
    TableId,
)

Ranking = Sequence[TableId] | Sequence[tuple[TableId, float]]
"""Tables best first, each alone or with its score. Fewer than asked is fine.

Higher is better, on any scale; equal scores leave the order to the corpus.
"""


class Ranked(Sequence[Ranking]):
    """Rankings of a batch as arrays, straight from an index; reads as a list of scored rankings.

    Args:
        ids: the tables' ids, in corpus order.
        rows: (n, k) places in the corpus, best first; -1 after the last table of a ranking.
        scores: (n, k) scores, higher is better.

    Raises:
        ValueError: rows and scores are not two-dimensional, or not of the same shape.
    """

    def __init__(
        self, ids: Sequence[TableId], rows: NDArray[np.integer], scores: NDArray[np.floating]
    ) -> None:
        if np.ndim(rows) != 2 or np.shape(rows) != np.shape(scores):
            raise ValueError(f"rows {np.shape(rows)} and scores {np.shape(scores)} must be (n, k)")
        self.ids = ids
        self.rows = rows
        self.scores = scores

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Ranking: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Ranking]: ...
    def __getitem__(self, index: int | slice) -> Ranking | Sequence[Ranking]:
        if isinstance(index, slice):
            return Ranked(self.ids, self.rows[index], self.scores[index])
        pairs = zip(self.rows[index].tolist(), self.scores[index].tolist(), strict=True)
        return [(self.ids[row], score) for row, score in pairs if row >= 0]


class Corpus(ABC):
    """The tables a retriever searches: sized, iterable, addressable, with a fixed order.

    It shows tables and nothing else: no question, no gold label, no dataset name.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Table]: ...

    @abstractmethod
    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        """Return the table with this id; raises ``KeyError`` for an unknown one."""

    @property
    @abstractmethod
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in corpus order: the order that breaks ties."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of the content: ids, headers, rows, context and their order."""

    @property
    @abstractmethod
    def positions(self) -> Mapping[tuple[str, str], int]:
        """Table id -> its place in corpus order."""

    @property
    @abstractmethod
    def groups(self) -> Sequence[int]:
        """For each table the place of the first table with the same header and rows."""

    def __contains__(self, table_id: object) -> bool:
        return table_id in self.positions

    def batches(self, n: int) -> Iterator[list[Table]]:
        """Yield the tables in corpus order, ``n`` at a time (the last batch may be shorter)."""
        if n < 1:
            raise ValueError(f"a batch holds at least one table, not {n}")
        batch: list[Table] = []
        for table in self:
            batch.append(table)
            if len(batch) == n:
                yield batch
                batch = []
        if batch:
            yield batch


@dataclass(frozen=True, slots=True)
class Distractors:
    """Tables of another corpus, or of another split, that were mixed into one.

    Attributes:
        spec: how they were asked for, e.g. ``ottqa:split=train,n=1000,seed=7``.
        ids: the tables, as they are called in the mixed corpus, in its order.
        notes: what a user should know about them.
    """

    spec: str
    ids: tuple[TableId, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """One split of a corpus plug-in, loaded.

    Attributes:
        info: what the corpus declares about itself.
        split: the split's full name.
        corpus: the tables, as retrievers see them.
        queries: the questions with their gold tables and reference answers.
        files: SHA-256 of every source file, by its path in the data folder.
        notes: what a user should know about this data (empty tables, empty questions, ...).
        distractors: what was mixed in.
        databases: database id -> SQLite or DuckDB file, for the task text-to-SQL. Databases that
            queries name and that are not here were missing.
        apart: short name of a task -> its own queries, which are not among ``queries``.
    """

    info: CorpusInfo
    split: str
    corpus: Corpus
    queries: tuple[Query, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    distractors: tuple[Distractors, ...] = ()
    databases: Mapping[str, Path] = field(default_factory=dict)
    apart: Mapping[str, tuple[Query, ...]] = field(default_factory=dict)


class CorpusLoader(ABC):
    """A corpus plug-in: what it declares, and how its release files are read.

    Tables and queries are read apart: distractors need the tables alone, and a corpus that does
    not fit in memory is read as a stream.

    Attributes:
        info: the declaration.
        embedded: the folder that holds the data when it ships with the plug-in.
        subfolders: places inside the data folder where files may lie, as in the authors'
            repository.
        cached: whether what was read goes into the Arrow cache; small corpora need none.
    """

    info: CorpusInfo
    embedded: Path | None = None
    subfolders: ClassVar[tuple[str, ...]] = ()
    cached: ClassVar[bool] = True

    @abstractmethod
    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """Return the tables of a split, in a fixed order.

        Args:
            release: the folder of release files; everything is read through it.
            split: one of ``info.splits``.

        Raises:
            DataError: a file is missing or broken; the message names file, record and field.
        """

    @abstractmethod
    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Return the queries of a split; arguments and errors as for ``tables``."""

    def databases(
        self,
        release: Release,  # noqa: ARG002 (for corpora of databases)
        split: str,  # noqa: ARG002 (the contract's argument)
    ) -> Mapping[str, Path]:
        """Return database id -> SQLite or DuckDB file of a split, where there is one.

        Default: none.
        """
        return {}

    def apart(self, split: str) -> Mapping[str, Iterable[Query]]:  # noqa: ARG002 (the contract's)
        """Return short name of a task -> its own queries, which no retriever is asked.

        For tasks that retrieve nothing, so that rankings do not depend on whether there are such
        queries. Default: none.
        """
        return {}


def constructor_arguments(plugin: object) -> dict[str, Any]:
    """Return the settings of an object that keeps its constructor arguments under their own names.

    Raises:
        AttributeError: the object does not keep one of them.
    """
    parameters = inspect.signature(type(plugin)).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise AttributeError("its constructor takes *args or **kwargs")
    return {p.name: getattr(plugin, p.name) for p in parameters}


class Retriever(ABC):
    """A retriever of tables for a query. Two methods make one; the others have defaults.

    Keep constructor arguments under their own names and do the work in ``embed_corpus``: then the
    settings of a run are recorded without any code of yours.

    Attributes:
        packages: distributions whose versions can change the ranking; recorded with every run.
        queries_at_once: how many ``retrieve_batch`` is given, and are written to disk, at a time.
    """

    packages: ClassVar[tuple[str, ...]] = ()
    queries_at_once: ClassVar[int] = 128

    @abstractmethod
    def embed_corpus(self, corpus: Corpus) -> None:
        """Index the tables, before any query; a second call begins again from nothing."""

    @abstractmethod
    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query, best first, at most ``top_k``."""

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, in their order. Default: one call a query."""
        return [self.retrieve(query, top_k) for query in queries]

    def config(self) -> Mapping[str, Any]:
        """Return the settings that determine its results, as JSON.

        Default: constructor arguments.
        """
        return constructor_arguments(self)

    def parts(self) -> Mapping[str, object]:
        """Return name -> plug-in of its parts, which belong to its identity. Default: none.

        A part that is a constructor argument goes under the name of the argument.
        """
        return {}

    def notes(self) -> Sequence[str]:
        """Return notes for the user about the work so far, shown at the end. Default: nothing."""
        return ()

    def limit_memory(self, n_bytes: int) -> None:
        """Hold no more than about this much; called before ``embed_corpus``, changes no result.

        Default: ``NotImplementedError``, which the harness turns into a warning.
        """
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write the index into an existing, empty folder. Default: ``NotImplementedError``.

        Called by ``save_index``, which records retriever and corpus beside it.
        """
        raise NotImplementedError

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read what ``save`` wrote, in place of ``embed_corpus``. Default: ``NotImplementedError``.

        Called by ``load_index``, which has checked that the index is of this corpus.
        """
        raise NotImplementedError


class Generator(ABC):
    """Answers a request. One method makes one; the others have defaults.

    Keep constructor arguments under their own names, as for a ``Retriever``. A failed answer is a
    ``Generation`` with its ``error`` set, or an exception: either costs one query and no more.

    Attributes:
        packages: distributions whose versions can change an answer; recorded with every run.
        paid: whether asking may cost money; the command line then asks before it starts.
        converses: whether it reads the messages of a request, so that it can be asked again with
            what was wrong with its first answer.
        follows_schema: whether it has its model answer in JSON of a request's ``answer_schema``.
    """

    packages: ClassVar[tuple[str, ...]] = ()
    paid: ClassVar[bool] = False
    converses: ClassVar[bool] = False
    follows_schema: ClassVar[bool] = False

    @abstractmethod
    def generate(self, request: GenerationRequest) -> Generation | str:
        """Return the answer to one request, or its text alone."""

    def generate_many(
        self,
        requests: Iterable[GenerationRequest],
        observer: "Observer",  # noqa: ARG002 (for those that wait)
    ) -> Iterator[Generation]:
        """Yield the answers to many requests, as they are finished, in any order.

        Override it where requests can be answered at the same time, and draw them only as they
        are needed. Default: the harness calls ``generate`` once a request.

        Args:
            requests: drawn one by one.
            observer: is notified of waiting (``observer.waiting``).
        """
        for request in requests:
            answer = self.generate(request)
            yield Generation(request.query_id, answer) if isinstance(answer, str) else answer

    def unanswered(self, requests: Iterable[GenerationRequest]) -> Iterator[GenerationRequest]:
        """Yield the requests that would have to be sent. Default: all."""
        yield from requests

    def estimated_cost(
        self,
        n_requests: int,  # noqa: ARG002 (for those that cost something)
        input_tokens: int,  # noqa: ARG002 (the contract's argument)
    ) -> float | None:
        """Return the estimated cost of this many requests and input tokens; None where unknown."""
        return None

    def config(self) -> Mapping[str, Any]:
        """Return the settings that determine its answers, as JSON.

        Default: constructor arguments.
        """
        return constructor_arguments(self)
