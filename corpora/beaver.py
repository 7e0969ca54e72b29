# SPDX-License-Identifier: Apache-2.0
"""BEAVER: questions over the databases of enterprises (Chen et al. 2024)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from target_bench import CorpusInfo, CorpusLoader, DataError, Query, Release, Table, TableId
from target_bench.plugin_tools import field, texts

_SOURCES = ("dw", "nw")
_BETWEEN = "#sep#"
"""What stands between database and table in the names of the release."""

_UNKNOWN = "gold tables that are not among the tables, which are left out"


class Beaver(CorpusLoader):
    """Questions with the set of tables they need; the corpus is the tables of all six databases.

    The release has schemas and no rows, so retrieval is all that can be asked. Gold tables are
    found in any case of their names, which differs from that of the schemas for 88 questions.
    A question's id is its source and its place in that file, from 0; its answer is the gold SQL,
    its metadata are ``source``, ``join_keys`` and, for ``dw``, ``mapping`` (phrase -> columns).
    The keys of ``dw_join_keys.json`` are not read: they were collected from the gold SQL.
    """

    info = CorpusInfo(
        name="beaver",
        title="BEAVER",
        tasks=("retrieval",),
        splits=("validation",),
        licence="MIT",
        citation="Chen et al., BEAVER: An Enterprise Benchmark for Text-to-SQL, arXiv:2409.02038, "
        "2024",
        source="https://github.com/peterbaile/beaver",
        files=("dev_dw.json, dev_nw.json, dev_tables.json",),
    )
    cached = False

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables in the order of ``dev_tables.json``."""
        for key, (place, record) in _read_schemas(release).items():
            columns = texts(record, "column_names_original", place)
            database, name = _split_key(key, place)
            context = {
                "primary_key": record.get("primary_key"),
                "foreign_keys": _read_foreign_keys(place, record),
                "column_types": field(record, "column_types", list, place),
            }
            known = {name: value for name, value in context.items() if value}
            yield Table(TableId(database, name), columns, (), known)

    def queries(self, release: Release, split: str) -> Iterable[Query]:  # noqa: ARG002 (the contract's argument)
        """Yield the questions of ``dw``, then those of ``nw``."""
        schemas = _read_schemas(release)
        there = {key.lower(): _split_key(key, place) for key, (place, _) in schemas.items()}
        for source in _SOURCES:
            path = release.require(f"dev_{source}.json")
            for number, record in enumerate(_check_list(release.json(path), str(path))):
                place = f"{path}, question {number + 1}"
                yield _read_query(release, place, f"{source}-{number}", record, there)


def _read_query(
    release: Release,
    place: str,
    query_id: str,
    record: Any,
    there: Mapping[str, TableId],
) -> Query:
    named = texts(record, "gold_tables", place)
    for name in named:
        if name.lower() not in there:
            release.remark(_UNKNOWN, place, f"{name} of {query_id}")
    metadata = {"source": query_id.partition("-")[0], "join_keys": record.get("join_keys")}
    if "mapping" in record:
        metadata["mapping"] = field(record, "mapping", dict, place)
    return Query(
        id=query_id,
        text=field(record, "question", str, place),
        gold=tuple(there[name.lower()] for name in named if name.lower() in there),
        answer=field(record, "sql", str, place),
        database_id=field(record, "db_id", str, place),
        metadata=metadata,
    )


def _read_schemas(release: Release) -> dict[str, tuple[str, Any]]:
    """Return ``<database>#sep#<table>`` -> (place, record)."""
    path = release.require("dev_tables.json")
    records = release.json(path)
    if not isinstance(records, dict):
        raise DataError(f"{path}: expected an object keyed by database and table")
    return {key: (f"{path}, table {key}", record) for key, record in records.items()}


def _split_key(key: str, place: str) -> TableId:
    database, separator, name = key.partition(_BETWEEN)
    if not separator:
        raise DataError(f"{place}: expected the name <database>{_BETWEEN}<table>")
    return TableId(database, name)


def _read_foreign_keys(place: str, record: Any) -> list[list[str]]:
    """Return (column, ``table.column`` it refers to)."""
    keys = []
    for key in record.get("foreign_key") or ():
        table = _split_key(field(key, "referenced_table_name", str, place), place).table_id
        there = field(key, "referenced_column_name", str, place)
        keys.append([field(key, "column_name", str, place), f"{table}.{there}"])
    return keys


def _check_list(value: Any, place: str) -> Iterator[Any]:
    if not isinstance(value, list):
        raise DataError(f"{place}: expected a list, found {type(value).__name__}")
    return iter(value)
