"""The rows of a database table, read when they are asked for and never all at once.

Nothing is kept open: each reading opens the file and closes it, so rows can be pickled, sent to
another process and held by the thousand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, overload

from target_bench.core.errors import DataError
from target_bench.core.schema import Cell
from target_bench.data.databases.connection import is_duckdb, opened
from target_bench.data.formats.cells import cells

BATCH = 1000
"""How many rows are read at a time."""

Row = Sequence[Cell]


@dataclass(frozen=True, repr=False, eq=False)
class LazyRows(Sequence[Row]):
    """The rows of one table of a SQLite or DuckDB file, in storage order.

    A slice is a view of the same kind. Like a list, they are equal to any sequence of equal rows.

    Args:
        path: the database file.
        source: the table as SQL writes it.
        version: what tells this state of the database from any other, such as its SHA-256.
        start: the first row of the view.
        limit: how many rows the view has at most; None for all.

    Raises (when they are read):
        DataError: the file is gone, locked or damaged, or a value has no form as a cell.
    """

    advised: ClassVar[int] = 1000
    """How many rows are worth indexing; what ``rows=auto`` of a serializer means."""

    path: Path
    source: str
    version: str
    start: int = 0
    limit: int | None = None

    @property
    def content(self) -> list[Any]:
        """Representation of the rows where their content is hashed."""
        return [self.version, self.source, self.start, self.limit]

    def __repr__(self) -> str:
        return f"LazyRows({str(self.path)!r}, {self.source!r})"

    @cached_property
    def _length(self) -> int:
        if self.limit is None and not self.start:
            counted = self.source
        else:
            counted = f"(SELECT 1 FROM {self.source}{self._window(self.start, self.limit)})"  # noqa: S608 (quoted)
        with opened(self.path) as database:
            (n,) = database.execute(f"SELECT count(*) FROM {counted}").fetchone()  # noqa: S608 (names are quoted)
        return int(n)

    def __len__(self) -> int:
        return self._length

    def __bool__(self) -> bool:
        """Return whether there is a row; cheaper than counting them."""
        if "_length" in vars(self):
            return self._length > 0
        return bool(list(self._read(self.start, 1 if self.limit is None else min(1, self.limit))))

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self._batches(self.start, self.limit))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return self._slice(index)
        place = index if index >= 0 else index + len(self)
        if place < 0 or (self.limit is not None and place >= self.limit):
            raise IndexError(f"row {index} of {len(self)}")
        return self._row(place, index)

    def _row(self, place: int, asked: int) -> Row:
        ahead: tuple[int, list[Row]] = vars(self).get("_ahead", (0, []))
        first, batch = ahead
        if not first <= place < first + len(batch):
            left = BATCH if self.limit is None else min(BATCH, self.limit - place)
            first, batch = place, list(self._read(self.start + place, left))
            vars(self)["_ahead"] = (first, batch)
            if not batch:
                raise IndexError(f"row {asked} of {len(self)}")
        return batch[place - first]

    def _slice(self, index: slice) -> Sequence[Row]:
        start, stop, step = index.start or 0, index.stop, index.step
        if step not in (None, 1):
            return [self[i] for i in range(*index.indices(len(self)))]
        if start < 0 or stop is None or stop < 0:  # its end is not known without counting
            start, stop, _ = index.indices(len(self))
        elif self.limit is not None:
            stop = min(stop, self.limit)
        return replace(self, start=self.start + start, limit=max(0, stop - start))

    def _read(self, start: int, limit: int | None) -> Iterator[Row]:
        return chain.from_iterable(self._batches(start, limit))

    def _batches(self, start: int, limit: int | None) -> Iterator[list[Row]]:
        with opened(self.path) as database:
            cursor = database.execute(f"SELECT * FROM {self.source}{self._window(start, limit)}")  # noqa: S608 (names are quoted)
            while found := cursor.fetchmany(BATCH):
                yield [self._cells(row) for row in found]

    def _window(self, start: int, limit: int | None) -> str:
        if limit is not None:
            return f" LIMIT {limit} OFFSET {start}"
        if not start:
            return ""
        return f" OFFSET {start}" if is_duckdb(self.path) else f" LIMIT -1 OFFSET {start}"

    def _cells(self, row: tuple[Any, ...]) -> Row:
        try:
            return list(cells(row))
        except TypeError as error:
            raise DataError(f"{self.path}, table {self.source}: {error}") from error

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyRows) and (self.path, self.content) == (other.path, other.content):
            return True
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(map(_equal, self, other))

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_ahead"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def _equal(one: Row, other: object) -> bool:
    return isinstance(other, Sequence) and list(one) == list(other)
