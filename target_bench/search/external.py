"""Base of retrievers of other packages, such as LangChain: fill an object, ask it, read results."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isclass
from typing import Any, ClassVar, NamedTuple

from target_bench.core.contract import Retriever
from target_bench.core.errors import ConfigError, PluginError, check_at_least_one
from target_bench.core.identity import code_hash
from target_bench.core.model_objects import (
    ExternalObject,
    ModelDescription,
    call,
    count_required,
    load_object,
)
from target_bench.core.ranking import Ranking
from target_bench.core.registry import class_name
from target_bench.core.schema import NO_DATABASE, Corpus, Field, Format, RowLimit, Table, TableId
from target_bench.data.table_text import Serializer


class Hit(NamedTuple):
    """A text that another package found."""

    metadata: Mapping[str, Any]  # they name its table
    score: float | None = None  # None where the package gives none


@dataclass(eq=False, repr=False)
class ExternalRetriever(Retriever):
    """A retriever that asks an object of another package.

    Args:
        retriever: the object, filled or empty, or a function that makes one from a list of texts;
            or the name of either, or of a function without arguments that returns the object:
            ``module:name`` or ``path/file.py:name``.
        table_key: the key of a text's metadata that holds the id of its table.
        database_key: the key that holds the id of its database; it may be missing from metadata
            if no two tables have the same id.
        fields: the parts of a table to write into a text. With a filled retriever, fields, rows
            and format change nothing.
        rows: how many rows of each table to write, as for ``bm25``.
        format: how header and rows are written.
        fetch: how many texts to ask for, as a multiple of ``top_k``, where a table has several.
        version: any text that changes with the content of a filled retriever; without it no run of
            such a retriever is reused.

    Raises:
        ConfigError: there is no such object, or a setting is invalid.
        MissingExtraError: the other package is not installed.
    """

    noun: ClassVar[str]
    """The package's word for texts: documents, nodes."""

    retriever: object
    table_key: str = "table_id"
    database_key: str = "database_id"
    fields: Sequence[Field] = ("title", "section", "header", "rows")
    rows: RowLimit = "auto"
    format: Format = "text"
    fetch: int = 1
    version: str | None = None

    def __post_init__(self) -> None:
        check_at_least_one(fetch=self.fetch)
        self._serializer = Serializer(self.fields, self.format, self.rows)
        self._filled, self._fillable = self._load_classes()
        self._notes: dict[str, None] = {}
        self._factory = self._find_factory(self.retriever)
        self._foreign: ExternalObject | None = None  # None where a function makes the object
        if self._factory is None:
            kinds = self._filled + self._fillable
            self._foreign = ExternalObject(self.retriever, "retriever", *kinds)
            self.packages = (*self.packages, *self._foreign.packages)
        self._is_used = False

    @abstractmethod
    def _load_classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        """Import the classes of filled objects, and of those that ``embed_corpus`` fills."""

    @abstractmethod
    def _make_text(self, table: Table, text: str, metadata: dict[str, str], position: int) -> Any:
        """Make the package's object for the text of a table."""

    def _fill(self, store: Any, texts: list[Any]) -> None:
        raise NotImplementedError

    @abstractmethod
    def _resize(self, source: Any, n: int) -> Any:
        """Return a copy of an object that returns ``n`` texts."""

    @abstractmethod
    def _search(self, query: str, n: int) -> Iterable[Hit]:
        """Return the results of the package, best first; higher scores are better."""

    def _get_sized(self, n: int) -> Any:
        if n not in self._sized:
            self._sized[n] = self._resize(self._object, n)
        return self._sized[n]

    def _note(self, note: str) -> None:
        self._notes[note] = None

    def _find_factory(self, setting: object) -> Any:
        """Return the function that makes a retriever from texts; None for an object."""
        source: Any = load_object(setting, "retriever") if isinstance(setting, str) else setting
        if isinstance(source, self._filled + self._fillable) or not callable(source):
            return None
        n = count_required(source)
        if n == 0 and isinstance(setting, str):
            return None  # ``ExternalObject`` calls it
        if n != 1 or isclass(source):
            name = getattr(source, "__name__", source)
            raise ConfigError(
                f"retriever: {name} is not an object, nor a function that makes one from a list of "
                f"{self.noun}"
            )
        return source

    def config(self) -> Mapping[str, Any]:
        """Return class, version and settings of the object, and how it is filled and asked.

        Raises:
            TypeError: the content of the object is unknown, as ``version`` is missing.
        """
        keys = [self.table_key, self.database_key]
        settings: dict[str, Any] = {"fetch": self.fetch, "version": self.version, "keys": keys}
        if self._foreign is not None and isinstance(self._foreign.object, self._filled):
            kind = type(self._foreign.object)
            if self.version is None:
                raise TypeError(
                    f"the content of the {kind.__name__} is unknown; set version= to any text that "
                    "changes with it"
                )
            return settings | {"retriever": class_name(kind)}
        settings |= {"fields": list(self.fields), "format": self.format, "rows": self.rows}
        if self._foreign is not None:
            return settings | dict(self._foreign.config())
        if not isinstance(self.retriever, str):
            description = ModelDescription(self._factory)
            if description.problem is not None:
                raise TypeError(f"{description.problem}; name a function of a file instead")
            return settings | {"made_by": description.settings}
        try:
            return settings | {"made_by": self.retriever, "source": code_hash(self._factory)}
        except OSError as error:
            raise TypeError(f"{self.retriever} has no source file") from error

    def embed_corpus(self, corpus: Corpus) -> None:
        """Fill the object, if it is not filled; keep the ids of the tables."""
        self._sized: dict[int, Any] = {}
        self._by_name: dict[str, TableId | None] = {}  # None: several databases have this table
        for table_id in corpus.ids:
            repeated = table_id.table_id in self._by_name
            self._by_name[table_id.table_id] = None if repeated else table_id
        if self._foreign is None:
            self._object: Any = call(self._factory, "retriever", self._write_texts(corpus))
            if not isinstance(self._object, self._filled + self._fillable):
                expected = " or ".join(cls.__name__ for cls in self._filled + self._fillable)
                made = type(self._object).__name__
                raise PluginError(f"retriever: the function gave a {made}; expected a {expected}")
        else:
            if self._is_used and self._foreign.is_made:
                self._foreign.make_another()
            self._object = self._foreign.object
            if isinstance(self._object, self._fillable):
                self._fill(self._object, self._write_texts(corpus))
        self._is_used = True

    def _write_texts(self, corpus: Corpus) -> list[Any]:
        texts = []
        for position, table in enumerate(corpus):
            names = {self.database_key: table.id.database_id, self.table_key: table.id.table_id}
            texts.append(self._make_text(table, self._serializer(table), names, position))
        return texts

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables of the texts; a table with several has the score of the best.

        Raises:
            PluginError: the metadata of a text do not name its table.
        """
        best: dict[TableId, float | None] = {}
        for metadata, score in self._search(query, top_k * self.fetch):
            best.setdefault(self._read_table_id(metadata), score)
        first = list(best.items())[:top_k]
        scored = [(table_id, score) for table_id, score in first if score is not None]
        return scored if len(scored) == len(first) else [table_id for table_id, _ in first]

    def _read_table_id(self, metadata: Mapping[str, Any]) -> TableId:
        table, database = metadata.get(self.table_key), metadata.get(self.database_key)
        if table is None:
            raise PluginError(
                f"metadata of one of the {self.noun} have no {self.table_key!r}, only "
                f"{', '.join(map(repr, metadata)) or 'nothing'}; say which key holds the id of the "
                "table (table_key)"
            )
        if database is not None:
            return TableId(str(database), str(table))
        table_id = self._by_name.get(str(table), TableId(NO_DATABASE, str(table)))
        if table_id is None:
            raise PluginError(
                f"several databases have a table {table!r}, and the metadata have no "
                f"{self.database_key!r}; say which key holds the id of its database (database_key)"
            )
        return table_id

    def notes(self) -> Sequence[str]:
        """Return the notes about options that the object does not support."""
        return list(self._notes)
