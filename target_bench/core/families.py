"""Families: shards (``events_20210101``) and versions (``orders_v2``) of a database's table."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator

from target_bench.core.schema import NO_DATABASE, Query, Table, TableId
from target_bench.core.text_tables import count_noun

_SHARD = re.compile(r"\d{4,}")  # a date, a year or the number of a part
_VERSION = re.compile(r"[_-]v\d+(?![^\W_])")

NOTE = "are shards or versions of"


def fold_name(table: TableId) -> TableId:
    """Remove dates, numbers and versions from an id: all shards of a table get one id."""
    return TableId(table.database_id, _VERSION.sub("", _SHARD.sub("#", table.table_id.lower())))


def find_family(table: Table) -> Hashable:
    """Return what the tables of a family have in common: database, folded name and header.

    Tables of web pages are no families: those of 2016 and 2020 hold other facts.
    """
    if table.id.database_id == NO_DATABASE:
        return table.id
    return fold_name(table.id), tuple(table.header)


def has_table_families(queries: Iterable[Query]) -> bool:
    """Return whether several gold tables of a query may be of one family, by their names."""
    return any(
        len(set(map(fold_name, query.gold))) < len(query.gold)
        for query in queries
        if all(table.database_id != NO_DATABASE for table in query.gold)
    )


def note_families(tables: Iterable[Table], notes: list[str]) -> Iterator[Table]:
    """Yield the same tables; after the last one, ``notes`` says how many are in families."""
    counts: Counter[int] = Counter()
    n = 0
    for table in tables:
        n += 1
        if table.id.database_id != NO_DATABASE:
            counts[hash(find_family(table))] += 1  # a header a table would fill the memory
        yield table
    sizes = [size for size in counts.values() if size > 1]
    if sizes:
        notes.append(
            f"{sum(sizes)} of {n} tables {NOTE} {count_noun(len(sizes), 'table')}: their names "
            "differ by dates, numbers of four digits or _v2 alone (recall[family] counts a family "
            "once)"
        )
