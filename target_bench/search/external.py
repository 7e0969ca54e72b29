"""Base of retrievers of other packages: preparing them and reading their results."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from inspect import isclass
from typing import Any, ClassVar

from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.identity import code_hash
from target_bench.core.model_description import Description
from target_bench.core.model_objects import Foreign, called, found_at, n_required
from target_bench.core.ranking import Ranking
from target_bench.core.registry import class_name
from target_bench.core.schema import NO_DATABASE, Corpus, Field, Format, RowLimit, Table, TableId
from target_bench.data.table_text import Serializer


@dataclass(frozen=True, slots=True)
class Hit:
    """Result of another package.

    Attributes:
        metadata: of the text; names the table.
        score: higher is better; None if there is none.
    """

    metadata: Mapping[str, Any]
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of the table in the metadata of a text.

    Args:
        table: the key of the table's id.
        database: the key of its database's id, which may be missing where no two tables have the
            same id.
    """

    table: str = "table_id"
    database: str = "database_id"

    def metadata(self, table_id: TableId) -> dict[str, Any]:
        """Return the metadata of a text that we write."""
        return {self.database: table_id.database_id, self.table: table_id.table_id}


class WrappedRetriever(Retriever):
    """A retriever that asks an object of another package.

    Args:
        retriever: the object, filled already or to be filled, or where to find it; or a function
            that makes one from texts.
        filled: classes of objects that are filled already, perhaps by a function.
        fillable: classes of objects that we fill.
        table_key: the key of a text's metadata that holds the id of its table.
        database_key: the key that holds the id of its database.
        fields: the parts of a table to write into a text.
        rows: how many rows of each table to write.
        format: how header and rows are written.
        fetch: how many texts to ask for, as a multiple of ``top_k``.
        version: what tells what a filled object holds from what others of its class do.
        concurrency: how many queries are under way at most.

    Raises:
        ConfigError: there is no such object, or a setting is invalid.
    """

    noun: ClassVar[str]
    """The package's name of its texts."""

    def __init__(
        self,
        retriever: object,
        filled: tuple[type, ...],
        fillable: tuple[type, ...],
        *,
        table_key: str,
        database_key: str,
        fields: Sequence[Field],
        rows: RowLimit,
        format: Format,
        fetch: int,
        version: str | None,
        concurrency: int,
    ) -> None:
        for name, number in (("fetch", fetch), ("concurrency", concurrency)):
            if number < 1:
                raise ConfigError(f"{name}={number}: at least 1 is needed")
        self.retriever = retriever
        self.table_key = table_key
        self.database_key = database_key
        self.fields = fields
        self.rows = rows
        self.format = format
        self.fetch = fetch
        self.version = version
        self.concurrency = concurrency
        self._serializer = Serializer(fields, format, rows)
        self._keys = Keys(table_key, database_key)
        self._filled = filled
        self._fillable = fillable
        self._notes: dict[str, None] = {}
        self._factory = self._factory_of(retriever)
        self._given: Foreign | None = None
        if self._factory is None:
            self._given = Foreign(retriever, "retriever", *filled, *fillable)
            self.packages = (*self.packages, *self._given.packages)
        self._used = False
        self._sized: tuple[int, Any, Any] | None = None

    def _factory_of(self, given: object) -> Any:
        """Return the function that makes a retriever from texts, if it is one."""
        found: Any = found_at(given, "retriever") if isinstance(given, str) else given
        if isinstance(found, self._filled + self._fillable) or not callable(found):
            return None
        if isclass(found) and issubclass(found, self._filled + self._fillable):
            raise ConfigError(
                f"retriever: {found.__name__} is a class; pass an object of it, or name a function "
                f"that gives one, or that makes one from a list of {self.noun}"
            )
        n = n_required(found)
        if n == 1:
            return found
        if n == 0 and isinstance(given, str):
            return None  # called for an object
        raise ConfigError(
            f"retriever: {getattr(found, '__qualname__', found)} needs {n} arguments; expected a "
            f"function of one, a list of {self.noun}"
        )

    def config(self) -> Mapping[str, Any]:
        """Return class, version and settings of the object, and how it is filled and asked.

        Raises:
            TypeError: nothing tells what it holds; ``version`` would.
        """
        settings: dict[str, Any] = {
            "fetch": self.fetch,
            "version": self.version,
            "keys": [self._keys.table, self._keys.database],
        }
        if self._given is not None and isinstance(self._given.object, self._filled):
            return settings | {"retriever": self._of_filled(self._given)}
        texts = self._serializer
        filling = {"fields": list(texts.fields), "format": texts.format, "rows": texts.rows}
        found = self._given.config() if self._given is not None else self._of_factory()
        return settings | filling | dict(found)

    def _of_filled(self, given: Foreign) -> Any:
        kind = type(given.object)
        if self.version is None:
            raise TypeError(
                f"nothing tells what the {kind.__name__} holds; give version=, any text that "
                "changes with its content"
            )
        return class_name(kind)

    def _of_factory(self) -> Mapping[str, Any]:
        if isinstance(self.retriever, str):
            try:
                return {"made_by": self.retriever, "source": code_hash(self._factory)}
            except OSError as error:
                raise TypeError(f"{self.retriever} has no source file") from error
        described = Description(self._factory)
        if described.problem is not None:
            raise TypeError(f"{described.problem}; name a function of a file instead")
        return {"made_by": described.settings}

    def embed_corpus(self, corpus: Corpus) -> None:
        """Have the object filled, if it is not; learn which tables there are."""
        self._names = _Names(corpus.ids, self._keys, self.noun)
        if self._given is None:
            made = called(self._factory, "retriever", self._texts(corpus))
            if not isinstance(made, self._filled + self._fillable):
                expected = " or ".join(cls.__name__ for cls in self._filled + self._fillable)
                raise PluginError(
                    f"retriever: the function gave a {type(made).__name__}; expected a {expected}"
                )
            self._asked: Any = made
        else:
            if self._used and self._given.maker is not None:
                self._given.object = self._given.made()
            self._asked = self._given.object
            if isinstance(self._asked, self._fillable):
                self._fill(self._asked, self._texts(corpus))
        self._used = True

    def _texts(self, corpus: Corpus) -> list[Any]:
        return [
            self._text(table, self._serializer(table), place) for place, table in enumerate(corpus)
        ]

    @abstractmethod
    def _text(self, table: Table, text: str, place: int) -> Any:
        """Return a table as the package wants it."""

    def _fill(self, store: Any, texts: list[Any]) -> None:
        """Put texts into an object that is to be filled."""
        raise NotImplementedError

    def _asking(self, n: int) -> Any:
        """Return the object, asking for ``n`` texts."""
        if self._sized is None or self._sized[0] != n or self._sized[1] is not self._asked:
            self._sized = n, self._asked, self._of_size(self._asked, n)
        return self._sized[2]

    @abstractmethod
    def _of_size(self, asked: Any, n: int) -> Any:
        """Return an object like this one that gives ``n`` texts."""

    @abstractmethod
    def _search(self, query: str, n: int) -> Iterable[Hit]:
        """Return the results of the package, best first."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables of the texts found; one that has several counts by its best.

        Raises:
            PluginError: the metadata of a text do not name its table.
        """
        return self._names.ranking(self._search(query, top_k * self.fetch), top_k)

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, ``concurrency`` of them at a time."""
        if self.concurrency == 1:
            return [self.retrieve(query, top_k) for query in queries]
        with ThreadPoolExecutor(self.concurrency, "target-bench-queries") as pool:
            contexts = [copy_context() for _ in queries]
            return list(
                pool.map(lambda c, query: c.run(self.retrieve, query, top_k), contexts, queries)
            )

    def notes(self) -> Sequence[str]:
        """Return the notes about options that the object does not support."""
        return list(self._notes)

    def _note(self, note: str) -> None:
        self._notes[note] = None


class _Names:
    """Return the table of a text."""

    def __init__(self, ids: Sequence[TableId], keys: Keys, noun: str) -> None:
        self._keys = keys
        self._noun = noun
        self._alone: dict[str, TableId | None] = {}
        for table_id in ids:
            repeated = table_id.table_id in self._alone
            self._alone[table_id.table_id] = None if repeated else table_id

    def ranking(self, hits: Iterable[Hit], k: int) -> Ranking:
        best: dict[TableId, float | None] = {}
        for hit in hits:
            best.setdefault(self._of(hit.metadata), hit.score)
        first = list(best.items())[:k]
        scored = [(table_id, score) for table_id, score in first if score is not None]
        return scored if len(scored) == len(first) else [table_id for table_id, _ in first]

    def _of(self, metadata: Mapping[str, Any]) -> TableId:
        table, database = metadata.get(self._keys.table), metadata.get(self._keys.database)
        if table is None:
            only = f"only {', '.join(map(repr, metadata))}" if metadata else "and nothing else"
            raise PluginError(
                f"metadata of one of the {self._noun} found have no {self._keys.table!r}, "
                f"{only}; say which key holds the id of the table (table_key)"
            )
        if database is not None:
            return TableId(str(database), str(table))
        alone = self._alone.get(str(table), TableId(NO_DATABASE, str(table)))
        if alone is None:
            raise PluginError(
                f"several databases have a table {table!r}, and the metadata have no "
                f"{self._keys.database!r}; say which key holds the id of its database "
                "(database_key)"
            )
        return alone
