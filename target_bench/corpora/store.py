"""Corpora held in memory, and the checks that every loaded split goes through."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from target_bench.errors import DataError
from target_bench.interfaces import Corpus, Dataset
from target_bench.schema import CorpusInfo, Query, Table, TableId


class MemoryCorpus(Corpus):
    """A corpus whose tables all lie in memory.

    Args:
        tables: the tables, in corpus order.

    Raises:
        DataError: two tables have the same id, a table has no header, or a row is not as long as
            its header.
    """

    def __init__(self, tables: Iterable[Table]) -> None:
        self._tables = tuple(tables)
        self._ids = tuple(table.id for table in self._tables)
        self._positions: dict[tuple[str, str], int] = {t: i for i, t in enumerate(self._ids)}
        self._check()

    def _check(self) -> None:
        if len(self._positions) != len(self._ids):
            table_id, n = Counter(self._ids).most_common(1)[0]
            raise DataError(f"table {table_id} occurs {n} times; ids must be unique")
        for table in self._tables:
            width = len(table.header)
            if width == 0:
                raise DataError(f"table {table.id} has no header; give every column a name")
            if not all(isinstance(name, str) for name in table.header):
                raise DataError(f"table {table.id}: a column name is no text: {table.header!r:.80}")
            for number, row in enumerate(table.rows, start=1):
                if len(row) != width:
                    raise DataError(
                        f"table {table.id}, row {number}: {len(row)} cells under {width} columns"
                    )

    def __len__(self) -> int:
        return len(self._tables)

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables)

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self._tables[self._positions[table_id]]

    @property
    def ids(self) -> Sequence[TableId]:
        return self._ids

    @property
    def positions(self) -> Mapping[tuple[str, str], int]:
        return self._positions

    @cached_property
    def _digests(self) -> list[bytes]:
        return [_digest([table.header, table.rows]) for table in self._tables]

    @cached_property
    def fingerprint(self) -> str:
        whole = hashlib.sha256()
        for table, digest in zip(self._tables, self._digests, strict=True):
            whole.update(_digest([table.id, dict(table.context)]) + digest)
        return whole.hexdigest()

    @cached_property
    def groups(self) -> Sequence[int]:
        first: dict[bytes, int] = {}
        return [first.setdefault(digest, i) for i, digest in enumerate(self._digests)]


def dataset(
    info: CorpusInfo,
    split: str,
    tables: Iterable[Table],
    queries: Iterable[Query],
    files: Mapping[str, str],
) -> Dataset:
    """A checked split.

    Raises:
        DataError: the faults that ``MemoryCorpus`` refuses, a repeated query id, a query without
            gold table, or a gold table that is not in the corpus; the message names the files.
    """
    where = f"corpus {info.name}, split {split}{_from_files(list(files))}"
    try:
        corpus = MemoryCorpus(tables)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    checked = tuple(queries)
    if not corpus or not checked:
        raise DataError(f"{where}: {len(corpus)} tables and {len(checked)} queries; both are needed")
    _check_queries(checked, corpus, where)
    return Dataset(info, split, corpus, checked, dict(files), tuple(_notes(corpus, checked)))


def _from_files(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 3} more files" if len(names) > 3 else ""
    return f" (from {', '.join(names[:3])}{more})"


def _check_queries(queries: Sequence[Query], corpus: Corpus, where: str) -> None:
    seen = set()
    for query in queries:
        if query.id in seen:
            raise DataError(f"{where}: query id {query.id!r} occurs twice; ids must be unique")
        seen.add(query.id)
        if not query.gold:
            raise DataError(f"{where}: query {query.id!r} names no gold table")
        for table_id in query.gold:
            if table_id not in corpus:
                raise DataError(
                    f"{where}: query {query.id!r} has gold table {table_id}, which is not among "
                    f"the {len(corpus)} tables"
                )


def _notes(corpus: Corpus, queries: Sequence[Query]) -> Iterator[str]:
    rowless = sum(1 for table in corpus if not table.rows)
    nameless = sum(1 for table in corpus if not any(name.strip() for name in table.header))
    silent = sum(1 for query in queries if not query.text.strip())
    if rowless:
        yield f"{rowless} of {len(corpus)} tables have no rows"
    if nameless:
        yield f"{nameless} of {len(corpus)} tables have only empty column names"
    if silent:
        yield f"{silent} of {len(queries)} queries are empty"


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(_ENCODE(value).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _bytes_as_hex(value: object) -> Any:
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    raise TypeError(f"a cell cannot be {type(value).__name__}")


_ENCODE = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=_bytes_as_hex).encode
