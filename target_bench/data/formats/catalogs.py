"""A warehouse by its catalog: dbt's ``manifest.json`` and ``catalog.json``, or a CSV of columns.

Tables have names, columns, types, descriptions and keys, and no rows.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import Release, field
from target_bench.core.schema import NO_DATABASE, Table, TableId
from target_bench.data.formats.csv_files import read_csv
from target_bench.data.formats.queries import OwnCorpus
from target_bench.data.formats.records import read_csv_records

MANIFEST, CATALOG = "manifest.json", "catalog.json"
"""dbt's files: what its project declares, and the columns that the warehouse has."""

_MADE_BY_DBT = ("model", "seed", "snapshot", "source")
_COLUMNLESS = "tables without a known column, which are left out (dbt docs generate lists them)"
_OF_THE_SYSTEM = ("information_schema", "pg_catalog")

_SPELLINGS = {
    "database": ("table_catalog", "database_name", "table_database", "catalog_name"),
    "schema": ("table_schema", "schema_name", "dataset_name", "owner"),
    "table": ("table_name",),
    "column": ("field_path", "column_name"),
    "type": ("data_type", "column_type", "full_data_type"),
    "description": ("comment", "column_comment", "description", "column_description", "remarks"),
    "table_description": ("table_comment", "table_description"),
    "key": ("column_key", "constraint_type"),
    "position": ("ordinal_position", "column_index", "column_id"),
}
"""What is known of a column -> its names in Snowflake, BigQuery, Postgres, DuckDB, MySQL, Oracle.

``field_path`` names the fields of a nested column of BigQuery one by one.
"""


Column = tuple[str, str, str]
"""Name, type and description of a column; empty where there is none."""


class Catalog(OwnCorpus):
    """The tables of a catalog (dbt's two files, one of them, or a CSV of columns).

    A table's database is that of the warehouse, its id its schema and name, and the description of
    the table its ``section_title``, so that retrievers read it.
    """

    cached = False

    def __init__(self, path: Path, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(path, settings)
        self.path = path

    @classmethod
    def is_in(cls, path: Path) -> bool:
        """Return whether a path is a catalog, or a folder with dbt's files."""
        if path.is_dir():
            return any(map(_is_of_dbt, (path / MANIFEST, path / CATALOG)))
        return _is_of_dbt(path) or _is_column_list(path)

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables in the order of the catalog."""
        if self.path.is_dir() or self.path.suffix == ".json":
            return _read_dbt(release)
        return _read_column_list(release, self.path)


def _is_of_dbt(path: Path) -> bool:
    """Return whether a file is one of dbt's; a run of this package has a manifest.json as well."""
    if path.name not in (MANIFEST, CATALOG) or not path.is_file():
        return False
    with path.open("rb") as file:
        return b"dbt_schema_version" in file.read(4096)


def _is_column_list(path: Path) -> bool:
    if not path.name.removesuffix(".gz").endswith(".csv") or not path.is_file():
        return False
    try:
        (table,) = read_csv(Release(path.parent, str(path)), path)
    except DataError:
        return False
    names = _name_fields(table.header)
    return "table" in names and "column" in names


def _name_fields(header: Iterable[str]) -> dict[str, str]:
    """Return what is known of a column -> how the header spells it."""
    there = {name.strip().lower(): name for name in header}
    found = {
        meaning: next((there[name] for name in names if name in there), None)
        for meaning, names in _SPELLINGS.items()
    }
    return {meaning: name for meaning, name in found.items() if name is not None}


def _read_column_list(release: Release, path: Path) -> Iterator[Table]:
    """Yield the tables of a list of columns, in the order of their first ones."""
    columns: dict[TableId, list[tuple[float, Column]]] = {}
    contexts: dict[TableId, dict[str, Any]] = {}
    for place, record in read_csv_records(release, path):
        names = _name_fields(record)
        cells = {meaning: (record[name] or "").strip() for meaning, name in names.items()}
        known = {meaning: cell for meaning, cell in cells.items() if cell}
        if "table" not in known or "column" not in known:
            raise DataError(f"{place}: a row needs the name of a table and that of a column")
        if known.get("schema", "").lower() in _OF_THE_SYSTEM:
            release.remark("columns of the catalog itself, which are left out", place)
            continue
        table = _make_id(known.get("database"), known.get("schema"), known["table"])
        column = (known["column"], known.get("type", ""), known.get("description", ""))
        try:
            position = float(known.get("position", 0))
        except ValueError as error:
            raise DataError(
                f"{place}: {names['position']} is {known['position']!r:.40}; expected a number"
            ) from error
        columns.setdefault(table, []).append((position, column))
        context = contexts.setdefault(table, {})
        if "table_description" in known:
            context["section_title"] = known["table_description"]
        if known.get("key", "").upper() in ("PRI", "PRIMARY KEY"):
            context.setdefault("primary_key", []).append(column[0])
    for table, numbered in columns.items():
        in_order = [column for _, column in sorted(numbered, key=lambda pair: pair[0])]
        yield _make_table(table, in_order, contexts[table])


def _make_id(database: str | None, schema: str | None, name: str) -> TableId:
    return TableId(database or NO_DATABASE, f"{schema}.{name}" if schema else name)


def _make_table(table: TableId, columns: Sequence[Column], context: Mapping[str, Any]) -> Table:
    types = [kind for _, kind, _ in columns]
    more = {
        "title": table.table_id,
        "column_types": types if any(types) else [],
        "column_descriptions": {name: text for name, _, text in columns if text},
        **context,
    }
    known = {name: value for name, value in more.items() if value}
    return Table(table, [name for name, *_ in columns], (), known)


def _read_dbt(release: Release) -> Iterator[Table]:
    """Yield models, seeds, snapshots and sources; columns are those of both files."""
    manifest, catalog = (_read_document(release, name) for name in (MANIFEST, CATALOG))
    declared, stored = (
        {**document.get("nodes", {}), **document.get("sources", {})}
        for document in (manifest, catalog)
    )
    names = list(filter(lambda name: _is_table(declared[name]), declared)) if manifest else stored
    ids: dict[str, TableId] = {}
    for name in names:
        with _explain_node(release, name):
            ids[name] = _identify(declared.get(name, {}), stored.get(name))
    references = _find_references(declared.values(), ids)
    read: set[TableId] = set()
    for name, table in ids.items():
        if table in read:  # a seed or model that is declared as a source, too
            release.remark("tables that are a source and made by dbt, read once", str(table))
            continue
        read.add(table)
        node, relation = declared.get(name, {}), stored.get(name, {})
        with _explain_node(release, name):
            columns = list(_join_columns(node.get("columns") or {}, relation.get("columns") or {}))
            comment = relation.get("metadata", {}).get("comment")
            context = {
                "section_title": node.get("description") or comment,
                "primary_key": node.get("primary_key") or _find_primary_key(node),
                "foreign_keys": references.get(name),
                "used_by": [
                    exposure.get("name")
                    for exposure in manifest.get("exposures", {}).values()
                    if name in exposure.get("depends_on", {}).get("nodes", ())
                ],
            }
        if columns:
            yield _make_table(table, columns, context)
        else:
            release.remark(_COLUMNLESS, str(release.folder), str(table))


@contextmanager
def _explain_node(release: Release, name: str) -> Iterator[None]:
    """Raise what a node with missing or other entries causes as an error that names it."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{release.folder}: {name!r} of {MANIFEST} or {CATALOG} is not as dbt writes it "
            f"({error!r}): write both files again with dbt docs generate"
        ) from error


def _read_document(release: Release, name: str) -> Mapping[str, Any]:
    path = release.find(name)
    document: dict[str, Any] = {} if path is None else release.json(path)
    for part in ("nodes", "sources") if path else ():
        for node_name in field(document, part, dict, str(path)):
            field(document[part], node_name, dict, str(path))
    return document


def _is_table(node: Mapping[str, Any]) -> bool:
    is_stored = (node.get("config") or {}).get("materialized") != "ephemeral"
    return is_stored and node.get("resource_type") in _MADE_BY_DBT


def _identify(node: Mapping[str, Any], relation: Mapping[str, Any] | None) -> TableId:
    """Return the id of a table: as the warehouse spells it, where that is known."""
    if relation is not None:
        names = relation["metadata"]
        return _make_id(names.get("database"), names.get("schema"), names["name"])
    name = node.get("identifier") or node.get("alias") or node["name"]
    return _make_id(node.get("database"), node.get("schema"), name)


def _join_columns(declared: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[Column]:
    """Yield the columns that the warehouse has, in its order, then those that only dbt declares."""
    known = {name.lower(): column for name, column in declared.items()}
    for name, column in sorted(stored.items(), key=lambda pair: pair[1].get("index", 0)):
        own = known.pop(name.lower(), {})
        kind = column.get("type") or own.get("data_type") or ""
        yield name, kind, own.get("description") or column.get("comment") or ""
    for own in known.values():
        yield own["name"], own.get("data_type") or "", own.get("description") or ""


def _find_primary_key(node: Mapping[str, Any]) -> list[str]:
    whole = [
        name
        for constraint in node.get("constraints") or ()
        if constraint.get("type") == "primary_key"
        for name in constraint.get("columns") or ()
    ]
    return whole or [
        name
        for name, column in (node.get("columns") or {}).items()
        if any(own.get("type") == "primary_key" for own in column.get("constraints") or ())
    ]


def _find_references(
    nodes: Iterable[Mapping[str, Any]], ids: Mapping[str, TableId]
) -> dict[str, list[list[str]]]:
    """Return table -> (column, ``table.column`` it refers to), by dbt's tests of relationships."""
    references: dict[str, list[list[str]]] = {}
    for test in nodes:
        about = test.get("test_metadata") or {}
        if about.get("name") != "relationships":
            continue
        column = test.get("column_name") or about.get("kwargs", {}).get("column_name")
        there = about.get("kwargs", {}).get("field")
        parents = test.get("depends_on", {}).get("nodes") or [None]
        # Manifests before version 12 have no attached_node: the table referred to comes first.
        own = test.get("attached_node") or parents[-1]
        other = next((node for node in parents if node != own), own)
        if column and there and own in ids and other in ids:
            references.setdefault(own, []).append([column, f"{ids[other].table_id}.{there}"])
    return references
