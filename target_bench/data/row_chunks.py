"""Tables divided into chunks of rows: each has the header and context of its table."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from target_bench.core.schema import Cell, Corpus, RowLimit, Table, TableId
from target_bench.data.table_text import first_rows
from target_bench.data.tables import Digest, HashedCorpus, digest_of

Counts = NDArray[np.int64]


class RowChunks(HashedCorpus):
    """The chunks of all tables of a corpus, as a corpus of smaller tables.

    Chunks are in the order of their tables, and within a table in the order of its rows; the last
    chunk of a table may be shorter. A table without rows is one chunk. The first chunk keeps the
    id of its table. Tables are read when they are needed.

    Args:
        corpus: the tables.
        rows: how many rows a chunk has.
        limit: how many rows of each table are divided, from the first.
        counts: (tables,) how many chunks each table has, where known; else every table is read.

    Attributes:
        tables: (chunks,) the place of each chunk's table in the corpus.
        counts: (tables,) how many chunks each table has.
        n_cut: how many tables have rows behind the limit; 0 where ``counts`` was given.
    """

    def __init__(
        self, corpus: Corpus, rows: int, limit: RowLimit, counts: Counts | None = None
    ) -> None:
        self._corpus = corpus
        self._rows = rows
        self._limit = limit
        self.n_cut = 0
        self.counts = self._counted() if counts is None else counts
        self.tables = np.repeat(np.arange(len(self.counts)), self.counts)

    def _counted(self) -> Counts:
        counts = []
        for table in self._corpus:
            n_rows = len(self._used(table))
            self.n_cut += n_rows < len(table.rows)
            counts.append(max(1, -(-n_rows // self._rows)))
        return np.array(counts, dtype=np.int64)

    def _used(self, table: Table) -> Sequence[Sequence[Cell]]:
        return first_rows(table, self._limit)

    @cached_property
    def ids(self) -> Sequence[TableId]:
        """The ids of all chunks, in their order."""
        taken = set(self._corpus.ids)
        return [
            chunk
            for table, n in zip(self._corpus.ids, self.counts.tolist(), strict=True)
            for chunk in (table, *(_named(table, number, taken) for number in range(2, n + 1)))
        ]

    def __iter__(self) -> Iterator[Table]:
        ids = iter(self.ids)
        for table, n in zip(self._corpus, self.counts.tolist(), strict=True):
            used = self._used(table)
            for number in range(n):
                yield self._chunk(table, used, next(ids), number)

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        place = self.positions[table_id]
        owner = int(self.tables[place])
        table = self._corpus[self._corpus.ids[owner]]
        number = place - int(np.searchsorted(self.tables, owner))
        return self._chunk(table, self._used(table), self.ids[place], number)

    def _chunk(self, table: Table, used: Sequence[Any], name: TableId, number: int) -> Table:
        rows = used[number * self._rows : (number + 1) * self._rows]
        return replace(table, id=name, rows=rows, grid=None)

    @cached_property
    def digests(self) -> Sequence[Digest]:
        """One per chunk, in their order."""
        return [digest_of(chunk) for chunk in self]


def _named(table: TableId, number: int, taken: set[TableId]) -> TableId:
    """Return an id that no table has."""
    name = TableId(table.database_id, f"{table.table_id} ({number})")
    while name in taken:
        name = TableId(table.database_id, f"{name.table_id} ")
    taken.add(name)
    return name
