"""Corpora as values: tables in memory, their digests, and checks of every table and query."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from target_bench.core.errors import DataError, did_you_mean
from target_bench.core.grid import CellGrid
from target_bench.core.release import Release
from target_bench.core.schema import NO_DATABASE, Cell, Corpus, Query, Table, TableId, own_copy
from target_bench.core.unicode_text import compose
from target_bench.data.databases.stored_tables import LazyRows
from target_bench.data.formats.cells import PLAIN

DIGEST_BYTES = 16

Grid = tuple[Sequence[str], Sequence[Sequence[Cell]]]
"""Header and rows."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Hashes of one table, 16 bytes each.

    Attributes:
        content: of header and rows; equal for copies.
        context: of what the source says about the table.
    """

    content: bytes
    context: bytes


class HashedCorpus(Corpus):
    """A corpus that knows the digests of its tables; fingerprint and groups follow from them."""

    @property
    @abstractmethod
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def shuffled(self) -> Corpus:
        """The same tables in the order that breaks ties (``ranking.tie_order``)."""
        return ShuffledCorpus(self)

    def handed_out(self) -> Corpus:
        """Return the tables as a retriever gets them; the object is its own, to set things on."""
        corpus = copy(self.shuffled)
        vars(corpus).pop("positions", None)  # a dict; made again if it is asked for
        return corpus

    @cached_property
    def positions(self) -> Mapping[tuple[str, str], int]:
        """Table id -> its place in corpus order."""
        return {table_id: i for i, table_id in enumerate(self.ids)}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the ids, headers, rows and context of all tables, and of their order."""
        return fingerprint(self.ids, self.digests)

    @cached_property
    def groups(self) -> Sequence[int]:
        """For each table the place of the first table with the same header and rows."""
        first: dict[bytes, int] = {}
        return tuple(first.setdefault(digest.content, i) for i, digest in enumerate(self.digests))


class MemoryCorpus(HashedCorpus):
    """A corpus whose tables all lie in memory. It gives away copies of them.

    Args:
        tables: the tables, in corpus order.

    Raises:
        DataError: two tables have the same id, a table has no header, or a row is not as long as
            its header.
    """

    def __init__(self, tables: Iterable[Table]) -> None:
        self._tables = tuple(checked(tables))
        self._ids = tuple(table.id for table in self._tables)

    def __iter__(self) -> Iterator[Table]:
        return map(_own_table, self._tables)

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self.at(self.positions[table_id])

    def at(self, place: int) -> Table:
        """Return the table at a place of the corpus."""
        return _own_table(self._tables[place])

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in corpus order."""
        return self._ids

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""
        return tuple(map(digest_of, self._tables))


class CorpusView(HashedCorpus):
    """Tables of other corpora in an order of their own, which are read when they are asked for.

    Args:
        parts: the corpora.
        places: of each table its corpus, by its place among them, and its place in that corpus.
        ids: how the tables are called here.
    """

    def __init__(
        self,
        parts: Sequence[Corpus],
        places: Sequence[tuple[int, int]],
        ids: Iterable[TableId],
    ) -> None:
        self._parts = parts
        self._places = places
        self._ids = tuple(ids)

    def __iter__(self) -> Iterator[Table]:
        return map(self.at, range(len(self._ids)))

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self.at(self.positions[table_id])

    def at(self, place: int) -> Table:
        """Return the table at a place of the corpus."""
        part, i = self._places[place]
        table = self._parts[part].at(i)
        own = self._ids[place]
        return table if own == table.id else replace(table, id=own)

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in corpus order."""
        return self._ids

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""
        digests = [digests_of(part) for part in self._parts]
        return [digests[part][i] for part, i in self._places]


class ShuffledCorpus(HashedCorpus):
    """The tables of a corpus in the order that breaks ties.

    Args:
        base: the corpus.
    """

    def __init__(self, base: HashedCorpus) -> None:
        from target_bench.core.ranking import tie_order

        self._base = base
        self._order = tie_order(base.ids).tolist()
        self._ids = tuple(map(base.ids.__getitem__, self._order))

    def __iter__(self) -> Iterator[Table]:
        return map(self._base.at, self._order)

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self.at(self.positions[table_id])

    def at(self, place: int) -> Table:
        """Return the table at a place of the corpus."""
        return self._base.at(self._order[place])

    @property
    def shuffled(self) -> Corpus:
        """The corpus itself."""
        return self

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in the order that breaks ties."""
        return self._ids

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One a table, in the order that breaks ties."""
        return list(map(self._base.digests.__getitem__, self._order))


def _own_table(table: Table) -> Table:
    """Return a table whose context and lists are its own: who changes them changes no other's."""
    rows = table.rows  # of another kind, such as those in a database, they cannot be changed
    if isinstance(rows, list):
        rows = list(map(_own_row, rows))
    elif isinstance(rows, tuple):
        rows = tuple(map(_own_row, rows))
    return Table(table.id, _own_row(table.header), rows, own_copy(table.context), table.grid)


def _own_row(row: Sequence[Any]) -> Sequence[Any]:
    return row.copy() if isinstance(row, list) else row


def digests_of(corpus: Corpus) -> Sequence[Digest]:
    """Return the digests of any corpus's tables, in its order."""
    return corpus.digests if isinstance(corpus, HashedCorpus) else list(map(digest_of, corpus))


def digest_of(table: Table) -> Digest:
    """Return the digest of a table; rows in a database are not read, its version counts."""
    if isinstance(table.rows, LazyRows):
        return digest(_encode([table.header, table.rows.content]), encoded_context(table))
    return digest(encoded_body(table), encoded_context(table))


def fingerprint(ids: Iterable[TableId], digests: Iterable[Digest]) -> str:
    """Return the fingerprint of a corpus with these tables in this order."""
    whole = hashlib.sha256()
    for table_id, hashes in zip(ids, digests, strict=True):
        whole.update(_encode(table_id) + hashes.context + hashes.content)
    return whole.hexdigest()


def checked(tables: Iterable[Table]) -> Iterator[Table]:
    """Yield the same tables, with texts in NFC, each checked as it passes.

    Raises:
        DataError: two tables have the same id, a table has no header, a column name is not text, a
            row is not as long as its header, or a cell is of a type no cell can have.
    """
    seen: set[TableId] = set()
    for table in tables:
        _check_id(table)
        table = _composed(table)
        if table.id in seen:
            raise DataError(f"table {table.id} occurs twice; ids must be unique")
        seen.add(table.id)
        try:
            _check_grid(table)
        except TypeError as error:
            raise DataError(
                f"table {table.id}: header and rows should be lists of cells: {error}"
            ) from error
        yield table


def _composed(table: Table) -> Table:
    grid = table.grid
    return Table(
        TableId(*compose(tuple(table.id))),
        compose(table.header),
        compose(table.rows),
        compose(table.context),
        CellGrid.from_json(compose(grid.to_json())) if isinstance(grid, CellGrid) else grid,
    )


def _check_id(table: Table) -> None:
    if not isinstance(table, Table):
        raise TypeError(f"expected Table, found {type(table).__name__}")
    if not isinstance(table.id, TableId) or not _is_id(table.id):
        raise DataError(
            f"a table's id should be a TableId of two texts, but is {table.id!r:.80}; write "
            'Table(TableId("0", "t1"), ...) where there are no databases'
        )


def _check_grid(table: Table) -> None:
    if not isinstance(table.grid, CellGrid | None):
        raise DataError(f"table {table.id}: grid should be a CellGrid, not {table.grid!r:.80}")
    width = len(table.header)
    if width == 0:
        raise DataError(f"table {table.id} has no header; give every column a name")
    if isinstance(table.header, str) or not all(isinstance(name, str) for name in table.header):
        raise DataError(f"table {table.id}: a column name is not text: {table.header!r:.80}")
    if isinstance(table.rows, LazyRows):  # a database keeps them in shape
        return
    for number, row in enumerate(table.rows, start=1):
        fault = ""
        if len(row) != width:
            fault = f"{len(row)} cells under {width} columns"
        elif isinstance(row, str | bytes):
            fault = f"expected a list of cells, found {row!r:.80}"
        elif not PLAIN.issuperset(map(type, row)):
            values: Iterable[Any] = row
            for cell in values:
                if not isinstance(cell, str | int | float | bytes | None):
                    what = f"{type(cell).__name__} ({cell!r:.40})"
                    fault = f"a cell cannot be {what}; cells are text, numbers, bytes or None"
        if fault:
            raise DataError(f"table {table.id}, row {number}: {fault}")


def encoded_body(table: Table) -> bytes:
    """Return header, rows and the grid if there is one as JSON; ``body_of`` reads it back.

    Raises:
        DataError: a cell is of a type no cell can have, or a number of too many digits.
    """
    try:
        rows = list(table.rows) if isinstance(table.rows, LazyRows) else table.rows
        grid = [] if table.grid is None else [table.grid.to_json()]
        return _encode([table.header, rows, *grid])
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"table {table.id}: {error}") from error


def encoded_context(table: Table) -> bytes:
    """Return the context as JSON.

    Raises:
        DataError: a value in it is not JSON.
    """
    try:
        return encoded(dict(table.context))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"table {table.id}, context: {error}") from error


def encoded(value: Any) -> bytes:
    """Return a value as JSON, bytes included.

    Raises:
        TypeError, ValueError, RecursionError: it has no such form.
    """
    text = _encode(value)
    return _encode(_escaped(value)) if _BYTES.encode() in text else text


def decoded(encoded: bytes) -> Any:
    """Decode JSON that ``encoded_body`` or ``encoded`` wrote."""
    text = encoded.decode("utf-8", "surrogatepass")
    return json.loads(text, object_hook=_unescaped if _BYTES in text else None)


def body_of(encoded: bytes) -> tuple[list[str], list[list[Cell]], CellGrid | None]:
    """Return header, rows and grid that ``encoded_body`` wrote.

    Raises:
        ValueError: it wrote something else.
    """
    header, rows, *grid = decoded(encoded)
    return header, rows, CellGrid.from_json(grid[0]) if grid else None


def digest(body: bytes, context: bytes) -> Digest:
    """Return the digest of a table from its two encoded parts."""
    return Digest(_hash(body), _hash(context))


def _hash(encoded: bytes) -> bytes:
    return hashlib.blake2b(encoded, digest_size=DIGEST_BYTES).digest()


_BYTES = "$bytes"
"""The one key of an object that stands for bytes; a real key like it gets one more ``$``."""


def _encode(value: Any) -> bytes:
    return _encoder(value).encode("utf-8", "surrogatepass")


def _bytes_as_hex(value: object) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: value.hex()}
    raise TypeError(f"{type(value).__name__} ({value!r:.40}) is not text, number, bytes or None")


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        names = {name: f"{name}$" if str(name).startswith(_BYTES) else name for name in value}
        return {names[name]: _escaped(inner) for name, inner in value.items()}
    return [_escaped(inner) for inner in value] if isinstance(value, list | tuple) else value


def _unescaped(record: dict[str, Any]) -> Any:
    if len(record) == 1 and _BYTES in record:
        return bytes.fromhex(record[_BYTES])
    if any(name.startswith(_BYTES) for name in record):
        return {n.removesuffix("$") if n.startswith(_BYTES) else n: v for n, v in record.items()}
    return record


_encoder = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=_bytes_as_hex).encode


def _is_id(value: Any) -> bool:
    if not (isinstance(value, tuple) and len(value) == 2):
        return False
    return isinstance(value[0], str) and isinstance(value[1], str)


def table_notes(tables: Iterable[Table]) -> list[str]:
    """Return notes for the user about these tables."""
    notes: list[str] = []
    for _ in noting(tables, notes):
        pass
    return notes


def noting(tables: Iterable[Table], notes: list[str]) -> Iterator[Table]:
    """Yield the same tables; what is peculiar about them is in ``notes`` after the last one."""
    n, counts = 0, dict.fromkeys(_PECULIAR, 0)
    for table in tables:
        n += 1
        for what, is_so in _PECULIAR.items():
            counts[what] += is_so(table)
        yield table
    notes += [f"{count} of {n} tables {what}" for what, count in counts.items() if count]


def _named(table: Table) -> list[bool]:
    return [bool(name.strip()) for name in table.header]


_PECULIAR: Mapping[str, Callable[[Table], bool]] = {
    "have no rows": lambda table: not table.rows,
    "have only empty column names": lambda table: not any(_named(table)),
    "have some empty column names": lambda table: len(set(_named(table))) == 2,
    "have a single column with ; or a tab in its name (is a comma the separator?)": lambda table: (
        len(table.header) == 1 and bool({";", "\t"} & {*table.header[0]})
    ),
    # of a database, its declaration says what is a BLOB
    "have cells of bytes, which are read as hexadecimal (is it text? store it so)": lambda table: (
        not isinstance(table.rows, LazyRows) and any(bytes in map(type, row) for row in table.rows)
    ),
    "have no title, and no retriever reads their ids (where an id is a name, give it as title)": (
        lambda table: not has_title(table)
    ),
}
"""What is said of tables -> whether it is true of one."""


def is_peculiarity(note: str) -> bool:
    """Whether a note says what tables are like, and not that anything is damaged or left out.

    What was to be left out is no damage either.
    """
    return note.partition(" tables ")[2] in _PECULIAR


def has_title(table: Table) -> bool:
    """Return whether its context has a title that is not blank."""
    return bool(str(table.context.get("title") or "").strip())


_RAGGED = (
    "rows are not as long as their header: short ones got empty cells, for long ones the header "
    "got columns without a name"
)


def rectangular(
    release: Release,
    header: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    place: Callable[[int], str],
    advice: str = "",
) -> Grid:
    """Return header and rows, all of one length; every cell keeps its row and its column.

    A short row ends in empty cells: empty text in a table of text alone, else None. Where a row is
    longer than the header, the header ends in empty names. A table without a header, or with rows
    that are not lists, stays as it is: the check of tables refuses it.

    Args:
        release: keeps the note of how many there were, and where the first was.
        header: the names of the columns.
        rows: the rows.
        place: the number of a row, from 0 -> where it is.
        advice: what may be wrong, for the note.
    """
    width = len(header)
    if not width or not all(isinstance(row, list | tuple) for row in rows):
        return header, rows
    ragged = [number for number, row in enumerate(rows) if len(row) != width]
    if not ragged:
        return header, rows
    for number in ragged:
        release.remark(
            _RAGGED, f"{place(number)}: {len(rows[number])} cells under {width} columns{advice}"
        )
    widest = max(width, *(len(rows[number]) for number in ragged))
    of_text = all(isinstance(cell, str) for row in rows for cell in row)
    empty: Cell = "" if of_text else None
    return (
        [*header, *[""] * (widest - width)],
        [row if len(row) == widest else [*row, *[empty] * (widest - len(row))] for row in rows],
    )


def sound(release: Release, table: Table) -> Table:
    """Return the table with rows as long as its header; in a database, its name is its title.

    There the id of a table is the name that SQL calls it by. The id of any other table may be a
    number, a hash or a path in somebody's archive: it is a key, which no retriever reads, so that
    rankings do not depend on it. A loader that knows a table's name puts it into the context.
    """
    _check_id(table)
    if not isinstance(table.rows, LazyRows):
        header, rows = rectangular(
            release, table.header, table.rows, lambda number: f"table {table.id}, row {number + 1}"
        )
        if rows is not table.rows:
            table = replace(table, header=header, rows=rows)
    if table.id.database_id != NO_DATABASE and not has_title(table):
        table = replace(table, context={**table.context, "title": table.id.table_id})
    return table


def check_query(query: Query) -> Query:
    """Return a query whose fields have the types that they should have, with its texts in NFC.

    Raises:
        DataError: id, text or answer is not text, or a gold table is not a pair of texts.
    """
    if not isinstance(query, Query):
        raise TypeError(f"expected Query, found {type(query).__name__}")
    answers = query.answer if isinstance(query.answer, tuple) else (query.answer,)
    faults = {
        "id should be text": (query.id, isinstance(query.id, str)),
        "text should be text": (query.text, isinstance(query.text, str)),
        "database_id should be text": (query.database_id, isinstance(query.database_id, str)),
        "gold should be a tuple of TableId": (
            query.gold,
            isinstance(query.gold, tuple) and all(map(_is_id, query.gold)),
        ),
        "answer should be text or a tuple of texts": (
            query.answer,
            all(isinstance(answer, str) for answer in answers),
        ),
    }
    for what, (value, is_so) in faults.items():
        if not is_so:
            raise DataError(f"query {query.id!r}: {what}, not {value!r:.80}")
    gold = tuple(TableId(*compose(tuple(table_id))) for table_id in query.gold)
    return replace(
        query,
        id=compose(query.id),
        text=compose(query.text),
        gold=gold,
        answer=compose(query.answer),
        database_id=compose(query.database_id),
        metadata=compose(query.metadata),
    )


def check_queries(queries: Sequence[Query], corpus: Corpus, where: str) -> None:
    """Check queries against their corpus.

    Raises:
        DataError: an id occurs twice, or a gold table is not in the corpus.
    """
    seen = set()
    for query in queries:
        try:
            check_query(query)
        except DataError as error:
            raise DataError(f"{where}: {error}") from error
        if query.id in seen:
            raise DataError(f"{where}: query id {query.id!r} occurs twice; ids must be unique")
        seen.add(query.id)
        for table_id in query.gold:
            if table_id not in corpus.positions:
                names = (name for _, name in corpus.ids)
                raise DataError(
                    f"{where}: query {query.id!r} has gold table {table_id}, which is not among "
                    f"the {len(corpus)} tables.{did_you_mean(table_id.table_id, names)}"
                )
