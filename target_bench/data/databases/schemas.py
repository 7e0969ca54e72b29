"""Schemas as Spider and BIRD publish them: ``tables.json``, one record per database."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import Release, field
from target_bench.sql.databases import quoted

_SQL_TYPES = {"number": "NUMERIC", "time": "TEXT", "others": "", "boolean": "BOOLEAN"}
"""Spider's types that are not types of SQL."""

_OWN = "sqlite_"
"""How the names of SQLite's own tables begin; no one else can create those."""


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column: its name, the name as people say it, and its type in the file's words."""

    name: str
    title: str
    type: str


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table of a schema: its name, the name as people say it, its columns and keys."""

    name: str
    title: str
    columns: tuple[SchemaColumn, ...]
    primary_key: tuple[str, ...]
    foreign_keys: tuple[tuple[str, str, str], ...]  # column, table, column there

    @property
    def context(self) -> dict[str, Any]:
        """Keys, types and statement as a table's context has them; what is empty is left out."""
        entries = {
            "primary_key": list(self.primary_key),
            "foreign_keys": [[column, f"{t}.{to}"] for column, t, to in self.foreign_keys],
            "column_types": [column.type for column in self.columns],
            "schema": self.statement,
        }
        return {name: value for name, value in entries.items() if value}

    @property
    def statement(self) -> str:
        """CREATE TABLE with columns and keys."""
        columns = {column.name.lower(): column for column in reversed(self.columns)}
        lines = [
            f"{quoted(column.name)} {_SQL_TYPES.get(column.type, column.type.upper())}".rstrip()
            for column in self.columns
            if columns[column.name.lower()] is column  # a name twice would be refused
        ]
        if self.primary_key:
            lines.append(f"PRIMARY KEY ({', '.join(map(quoted, self.primary_key))})")
        lines += [
            f"FOREIGN KEY ({quoted(column)}) REFERENCES {quoted(table)} ({quoted(to)})"
            for column, table, to in self.foreign_keys
        ]
        inner = ",\n".join(f"  {line}" for line in lines)
        return f"CREATE TABLE {quoted(self.name)} (\n{inner}\n)"


@dataclass(frozen=True)
class Schema:
    """The schema of a database: its id and its tables."""

    id: str
    tables: tuple[TableSchema, ...]

    @cached_property
    def script(self) -> str:
        """The SQL text of the database without rows."""
        return ";\n".join(table.statement for table in self.tables) + ";\n"


def schemas(release: Release, path: Path) -> dict[str, Schema]:
    """Return the schemas of a ``tables.json`` by database id, in the order of the file.

    Raises:
        DataError: a record is broken; the message names file, database and field.
    """
    by_id: dict[str, Schema] = {}
    for place, record in release.json_list(path, "schema"):
        name = field(record, "db_id", str, place)
        if name in by_id:
            raise DataError(f"{place}: db_id {name!r} occurs twice")
        by_id[name] = _schema(name, record, f"{path}, database {name}")
    return by_id


def _schema(name: str, record: Mapping[str, Any], place: str) -> Schema:
    names = field(record, "table_names_original", list, place)
    titles = field(record, "table_names", list, place)
    originals = field(record, "column_names_original", list, place)
    readable = field(record, "column_names", list, place)
    types = field(record, "column_types", list, place)
    primary = field(record, "primary_keys", list, place)
    foreign = field(record, "foreign_keys", list, place)
    if len(names) != len(titles) or not len(originals) == len(readable) == len(types):
        raise DataError(
            f"{place}: {len(names)} table_names_original, {len(titles)} table_names; "
            f"{len(originals)} column_names_original, {len(readable)} column_names, "
            f"{len(types)} column_types: they should be as many"
        )
    try:
        columns = [
            (owner, SchemaColumn(str(original), str(title), str(kind)))
            for (owner, original), (_, title), kind in zip(originals, readable, types, strict=True)
        ]
        keys = {i for key in primary for i in (key if isinstance(key, list) else [key])}
        return Schema(
            name,
            tuple(
                TableSchema(
                    str(table),
                    str(title),
                    tuple(column for owner, column in columns if owner == number),
                    tuple(columns[i][1].name for i in sorted(keys) if columns[i][0] == number),
                    tuple(
                        (columns[i][1].name, str(names[columns[j][0]]), columns[j][1].name)
                        for i, j in foreign
                        if columns[i][0] == number
                    ),
                )
                for number, (table, title) in enumerate(zip(names, titles, strict=True))
                if not str(table).lower().startswith(_OWN)
            ),
        )
    except (TypeError, ValueError, IndexError) as error:
        raise DataError(f"{place}: columns and keys make no schema: {error}") from error
