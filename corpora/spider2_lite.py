# SPDX-License-Identifier: Apache-2.0
"""Spider 2.0-lite: questions over the schemas of cloud databases (Lei et al. 2024)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from target_bench import CorpusInfo, CorpusLoader, DataError, Query, Release, Table, TableId
from target_bench.plugin_tools import field, texts

_DATABASES = "resource/databases"


class Spider2Lite(CorpusLoader):
    """Questions with the tables they need; the corpus is the tables of all databases.

    The release has schemas and sample rows, so retrieval is all that can be asked. A table is
    called by its full name, and has no rows: the few samples are not its content. Tables of
    several engines lie under one database id where their databases have one name.

    Gold tables are looked for in the question's database, in any case of their names. A question
    for Snowflake may have the gold tables of the same question for BigQuery alone; then the table
    with this schema and name is meant. Where neither is there, databases whose names differ in
    case are searched. Gold tables that are not found are left out, a question whose gold tables
    are all unknown is asked and not scored; notes name both.
    """

    info = CorpusInfo(
        name="spider2-lite",
        title="Spider 2.0-lite",
        tasks=("retrieval",),
        splits=("test",),
        licence="MIT",
        citation="Lei et al., Spider 2.0: Evaluating Language Models on Real-World Enterprise "
        "Text-to-SQL Workflows, ICLR 2025",
        source="https://github.com/xlang-ai/Spider2",
        files=(
            "spider2-lite.jsonl, spider2-lite-gold-tables.jsonl (from spider2-lite/)",
            "resource/databases/<engine>/<db>/<schema>/<table>.json, or databases.zip of that",
        ),
    )
    subfolders = ("spider2-lite", "methods/gold-tables")

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables in the order of their files."""
        for place, table_id, record in _read_schemas(release):
            columns = texts(record, "column_names", place)
            types = field(record, "column_types", list, place)
            described = zip(columns, record.get("description") or [], strict=False)
            context = {
                "column_types": types,
                "column_descriptions": {name: text for name, text in described if text},
            }
            known = {name: value for name, value in context.items() if value}
            yield Table(table_id, columns, (), known)

    def queries(self, release: Release, split: str) -> Iterable[Query]:  # noqa: ARG002 (the contract's argument)
        """Yield the questions in the order of their file."""
        there = _Names(table_id for _, table_id, _ in _read_schemas(release))
        gold = _read_gold(release)
        for place, record in release.json_lines(release.require("spider2-lite.jsonl")):
            name = field(record, "instance_id", str, place)
            database = field(record, "db", str, place)
            if database.lower() not in there.databases:
                release.remark(_NO_DATABASE, place, f"{name} ({database})")
            tables = gold.get(name, gold.get(name.removeprefix("sf_")))
            if tables is None:
                release.remark("questions without a line of gold tables", place, name)
            named = {table.lower(): there.find(database, table.lower()) for table in tables or ()}
            gold_ids = tuple(dict.fromkeys(table_id for table_id in named.values() if table_id))
            if None in named.values() and database.lower() in there.databases:
                release.remark(_UNRESOLVED if gold_ids else _NONE_RESOLVED, place, name)
            if database in there.names and any(
                gold_id.database_id != database for gold_id in gold_ids
            ):
                release.remark("questions with gold tables of another database", place, name)
            yield Query(
                id=name,
                text=field(record, "question", str, place),
                gold=gold_ids,
                database_id=gold_ids[0].database_id if gold_ids else database,
                metadata={"external_knowledge": record.get("external_knowledge")},
            )


_NO_DATABASE = "questions about a database that is not here, which are not scored"
_UNRESOLVED = "questions with gold tables that are not here, which are left out"
_NONE_RESOLVED = "questions without a gold table that is here, which are not scored"


class _Names:
    """The tables of a release by the names that gold tables go by, all in lower case.

    Attributes:
        names: database -> full name -> its table.
        short: database -> schema and name -> the table, where there is one.
        databases: database in lower case -> full name -> its table.
    """

    def __init__(self, ids: Iterable[TableId]) -> None:
        self.names: dict[str, dict[str, TableId]] = defaultdict(dict)
        self.short: dict[str, dict[str, TableId | None]] = defaultdict(dict)
        self.databases: dict[str, dict[str, TableId]] = defaultdict(dict)
        for table_id in ids:
            database, name = table_id.database_id, table_id.table_id.lower()
            self.names[database][name] = table_id
            self.databases[database.lower()][name] = table_id
            short, known = _shorten(name), self.short[database]
            known[short] = None if short in known else table_id

    def find(self, database: str, table: str) -> TableId | None:
        """Return the table of a database, or of one whose name differs in case."""
        exact = self.names.get(database, {}).get(table)
        near = self.short.get(database, {}).get(_shorten(table))
        return exact or near or self.databases.get(database.lower(), {}).get(table)


def _shorten(table: str) -> str:
    return ".".join(table.rsplit(".", 2)[-2:])


def _read_schemas(release: Release) -> Iterator[tuple[str, TableId, Any]]:
    """Yield (place, id, record) of every table."""
    for place, name, content in release.bundled("databases", _DATABASES):
        parts = PurePosixPath(name).parts
        if not name.endswith(".json"):
            continue
        if len(parts) < 5:
            raise DataError(f"{place}: expected {_DATABASES}/<engine>/<database>/.../<table>.json")
        record = release.json_of(content, place)
        yield place, TableId(parts[3], field(record, "table_fullname", str, place)), record


def _read_gold(release: Release) -> Mapping[str, list[str]]:
    """Return question id -> the full names of its gold tables."""
    gold: dict[str, list[str]] = {}
    for place, record in release.json_lines(release.require("spider2-lite-gold-tables.jsonl")):
        name = field(record, "instance_id", str, place)
        if name in gold:
            raise DataError(f"{place}: gold tables of {name} for the second time; keep one line")
        gold[name] = texts(record, "gold_tables", place)
    return gold
