"""Corpora as values: tables in memory or in an order of their own, digests, and JSON."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.grid import CellGrid
from target_bench.core.schema import Cell, Corpus, Table, TableId, copy_json
from target_bench.data.checks import check_tables
from target_bench.data.databases.stored_tables import LazyRows

DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Digest:
    """Hashes of one table, 16 bytes each."""

    content: bytes  # of header and rows; equal for copies
    context: bytes  # of what the source says about the table


class HashedCorpus(Corpus):
    """A corpus that knows the digests of its tables; fingerprint and groups follow from them.

    Subclasses set ``_ids``.
    """

    _ids: tuple[TableId, ...]
    _is_shuffled = False

    @abstractmethod
    def at(self, place: int) -> Table:
        """Return the table at a place of the corpus."""

    @property
    @abstractmethod
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in corpus order."""
        return self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Table]:
        return map(self.at, range(len(self._ids)))

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self.at(self.positions[table_id])

    @property
    def shuffled(self) -> Corpus:
        """The same tables in the order that breaks ties (``ranking.tie_order``)."""
        return self if self._is_shuffled else self._in_tie_order

    @cached_property
    def _in_tie_order(self) -> Corpus:
        from target_bench.core.ranking import tie_order

        order = tie_order(self._ids).tolist()
        view = CorpusView([self], [(0, i) for i in order], [self._ids[i] for i in order])
        view._is_shuffled = True
        return view

    def copy_for_retriever(self) -> Corpus:
        """Return the tables as a retriever gets them; the object is its own, to set things on."""
        corpus = copy(self.shuffled)
        vars(corpus).pop("positions", None)  # a dict; made again if it is asked for
        return corpus

    @cached_property
    def positions(self) -> Mapping[tuple[str, str], int]:
        """Table id -> its place in corpus order."""
        return {table_id: i for i, table_id in enumerate(self._ids)}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the ids, headers, rows and context of all tables, and of their order."""
        whole = hashlib.sha256()
        for table_id, hashes in zip(self._ids, self.digests, strict=True):
            whole.update(_encode(table_id) + hashes.context + hashes.content)
        return whole.hexdigest()

    @cached_property
    def groups(self) -> Sequence[int]:
        """For each table the place of the first table with the same header and rows."""
        first: dict[bytes, int] = {}
        return tuple(first.setdefault(digest.content, i) for i, digest in enumerate(self.digests))


class MemoryCorpus(HashedCorpus):
    """A corpus whose tables all lie in memory. It gives away copies of them.

    ```python
    from target_bench import Table, TableId
    from target_bench.data.tables import MemoryCorpus

    corpus = MemoryCorpus([Table(TableId("0", "moons"), ["planet"], [["Mars"]])])
    print(corpus["0", "moons"].rows)  # [['Mars']]
    ```
    """

    def __init__(self, tables: Iterable[Table], notes: list[str] | None = None) -> None:
        self._tables = tuple(check_tables(tables, notes=notes))
        self._ids = tuple(table.id for table in self._tables)

    def at(self, place: int) -> Table:
        """Return a copy of the table: who changes its lists or its context changes no other's."""
        table = self._tables[place]
        rows = table.rows  # of another kind, such as those in a database, they cannot be changed
        if isinstance(rows, list | tuple):
            rows = [*map(_copy_row, rows)] if isinstance(rows, list) else (*map(_copy_row, rows),)
        return Table(table.id, _copy_row(table.header), rows, copy_json(table.context), table.grid)

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""
        return tuple(map(digest_table, self._tables))


def _copy_row(row: Sequence[Any]) -> Sequence[Any]:
    return row.copy() if isinstance(row, list) else row


class CorpusView(HashedCorpus):
    """Tables of other corpora in an order of their own, which are read when they are asked for."""

    def __init__(
        self,
        parts: Sequence[Corpus],
        places: Sequence[tuple[int, int]],  # corpus, and place in that corpus, of each table
        ids: Iterable[TableId],  # how the tables are called here
    ) -> None:
        self._parts = parts
        self._places = places
        self._ids = tuple(ids)

    def at(self, place: int) -> Table:
        """Return the table at a place of the corpus."""
        part, i = self._places[place]
        table = self._parts[part].at(i)
        own = self._ids[place]
        return table if own == table.id else replace(table, id=own)

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""
        digests = [digest_corpus(part) for part in self._parts]
        return [digests[part][i] for part, i in self._places]


def digest_corpus(corpus: Corpus) -> Sequence[Digest]:
    """Return the digests of any corpus's tables, in its order."""
    return corpus.digests if isinstance(corpus, HashedCorpus) else list(map(digest_table, corpus))


def digest_table(table: Table) -> Digest:
    """Return the digest of a table; rows in a database are not read, its version counts."""
    if isinstance(table.rows, LazyRows):
        body = _encode([table.header, table.rows.content])
    else:
        body = encode_body(table)
    return digest(body, encode_context(table))


def digest(body: bytes, context: bytes) -> Digest:
    """Return the digest of a table from its two encoded parts."""
    return Digest(_hash(body), _hash(context))


def _hash(encoded: bytes) -> bytes:
    return hashlib.blake2b(encoded, digest_size=DIGEST_BYTES).digest()


# JSON that keeps every type of a cell, bytes included


def encode_body(table: Table) -> bytes:
    """Return header, rows and the grid if there is one as JSON; ``decode_body`` reads it back."""
    try:
        rows = list(table.rows) if isinstance(table.rows, LazyRows) else table.rows
        grid = [] if table.grid is None else [table.grid.to_json()]
        return _encode([table.header, rows, *grid])
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"table {table.id}: {error}") from error


def decode_body(encoded: bytes) -> tuple[list[str], list[list[Cell]], CellGrid | None]:
    """Return header, rows and grid that ``encode_body`` wrote."""
    header, rows, *grid = decode_json(encoded)
    return header, rows, CellGrid.from_json(grid[0]) if grid else None


def encode_context(table: Table) -> bytes:
    """Return the context as JSON."""
    try:
        return encode_json(dict(table.context))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"table {table.id}, context: {error}") from error


def encode_json(value: Any) -> bytes:
    """Return a value as JSON, bytes included."""
    text = _encode(value)
    return _encode(_escape(value)) if _BYTES.encode() in text else text


def decode_json(encoded: bytes) -> Any:
    """Decode JSON that ``encode_body`` or ``encode_json`` wrote."""
    text = encoded.decode("utf-8", "surrogatepass")
    return json.loads(text, object_hook=_unescape if _BYTES in text else None)


_BYTES = "$bytes"
"""The one key of an object that stands for bytes; a real key like it gets one more ``$``."""


def _encode(value: Any) -> bytes:
    return _encoder(value).encode("utf-8", "surrogatepass")


def _bytes_as_hex(value: object) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: value.hex()}
    raise TypeError(f"{type(value).__name__} ({value!r:.40}) is not text, number, bytes or None")


def _escape(value: Any) -> Any:
    if isinstance(value, dict):
        names = {name: f"{name}$" if str(name).startswith(_BYTES) else name for name in value}
        return {names[name]: _escape(inner) for name, inner in value.items()}
    return [_escape(inner) for inner in value] if isinstance(value, list | tuple) else value


def _unescape(record: dict[str, Any]) -> Any:
    if len(record) == 1 and _BYTES in record:
        return bytes.fromhex(record[_BYTES])
    if any(name.startswith(_BYTES) for name in record):
        return {n.removesuffix("$") if n.startswith(_BYTES) else n: v for n, v in record.items()}
    return record


_encoder = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=_bytes_as_hex).encode
