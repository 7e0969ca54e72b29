"""Corpora in a memory-mapped Arrow file: tables are decoded one at a time, when asked for.

A row holds a table's ids, its digests, and header, rows, grid and context as JSON, which keeps the
type of every cell. Opening the file costs the ids and digests; the rest stays on disk.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from target_bench.core.errors import DataError
from target_bench.core.schema import Table, TableId
from target_bench.data.tables import (
    DIGEST_BYTES,
    Digest,
    HashedCorpus,
    body_of,
    decoded,
    digest,
    encoded_body,
    encoded_context,
)

if TYPE_CHECKING:
    import pyarrow

_BATCH_BYTES = 4 << 20
_BATCH_TABLES = 1024


class ArrowCorpus(HashedCorpus):
    """The tables of a file that ``write_tables`` wrote.

    Args:
        path: the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a whole Arrow file of tables.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._batches = _batches(path)
        self._starts: list[int] = []
        n = 0
        for batch in self._batches:
            self._starts.append(n)
            n += batch.num_rows
        self._ids = tuple(_ids(self._batches))

    def __iter__(self) -> Iterator[Table]:
        ids = iter(self._ids)
        for batch in self._batches:
            bodies, contexts = batch.column(3), batch.column(4)
            for i in range(batch.num_rows):
                yield self._table(next(ids), bodies[i], contexts[i])

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self.at(self.positions[table_id])

    def at(self, place: int) -> Table:
        """Return the table at a place in corpus order."""
        number = bisect_right(self._starts, place) - 1
        batch, i = self._batches[number], place - self._starts[number]
        return self._table(self._ids[place], batch.column(3)[i], batch.column(4)[i])

    def _table(self, table_id: TableId, body: Any, context: Any) -> Table:
        try:
            header, rows, grid = body_of(body.as_py())
            return Table(table_id, header, rows, decoded(context.as_py()), grid)
        except (ValueError, TypeError) as error:
            raise DataError(
                f"{self._path}, table {table_id}: damaged ({error}). Remove the cache with: "
                "target-bench data cache clear"
            ) from error

    @property
    def ids(self) -> Sequence[TableId]:
        """The ids of all tables, in corpus order."""
        return self._ids

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One a table, in corpus order."""
        both = (value for batch in self._batches for value in batch.column(2).to_pylist())
        return [Digest(value[:DIGEST_BYTES], value[DIGEST_BYTES:]) for value in both]


def _batches(path: Path) -> "list[pyarrow.RecordBatch]":
    import pyarrow

    try:
        with pyarrow.memory_map(str(path)) as source:
            reader = pyarrow.ipc.open_file(source)
            if reader.schema != _schema():
                raise ValueError(f"its columns are {reader.schema.names}")
            batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
        for batch in batches:
            batch.validate(full=True)  # no offset leads out of the file
            if any(column.null_count for column in batch.columns):
                raise ValueError("it holds nulls")
    except pyarrow.ArrowException as error:
        raise ValueError(str(error)) from error
    return batches


def write_tables(path: Path, tables: Iterable[Table]) -> None:
    """Write tables into an Arrow file, a batch at a time."""
    import pyarrow

    schema = _schema()
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, schema) as writer:
        for columns in _column_batches(tables):
            arrays = [pyarrow.array(c, t) for c, t in zip(columns, schema.types, strict=True)]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))


def _column_batches(tables: Iterable[Table]) -> Iterator[list[list[Any]]]:
    columns: list[list[Any]] = [[] for _ in range(5)]
    size = 0
    for table in tables:
        body, context = encoded_body(table), encoded_context(table)
        hashes = digest(body, context)
        row = (
            _bytes(table.id.database_id),
            _bytes(table.id.table_id),
            hashes.content + hashes.context,
            body,
            context,
        )
        for column, value in zip(columns, row, strict=True):
            column.append(value)
        size += len(body) + len(context)
        if size >= _BATCH_BYTES or len(columns[0]) >= _BATCH_TABLES:
            yield columns
            columns, size = [[] for _ in range(5)], 0
    if columns[0]:
        yield columns


def _schema() -> "pyarrow.Schema":
    import pyarrow

    return pyarrow.schema(
        {
            "database_id": pyarrow.binary(),
            "table_id": pyarrow.binary(),
            "digest": pyarrow.binary(2 * DIGEST_BYTES),
            "body": pyarrow.large_binary(),
            "context": pyarrow.binary(),
        }
    )


def _ids(batches: "Iterable[pyarrow.RecordBatch]") -> Iterator[TableId]:
    databases: dict[bytes, str] = _Texts()
    for batch in batches:
        pairs = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        for database_id, table_id in pairs:
            yield TableId(databases[database_id], _text(table_id))


class _Texts(dict[bytes, str]):
    """Encoded text -> the text, made once."""

    def __missing__(self, encoded: bytes) -> str:
        text = self[encoded] = _text(encoded)
        return text


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "surrogatepass")
