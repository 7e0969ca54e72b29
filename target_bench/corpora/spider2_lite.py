"""Spider 2.0-lite: questions over the schemas of cloud databases (Lei et al. 2024)."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import CorpusInfo, Query, Table, TableId

_DATABASES = "resource/databases"


class Spider2Lite(CorpusLoader):
    """Questions with the tables they need; the corpus is the tables of all databases.

    The release has schemas and sample rows, so retrieval is all that can be asked. A table is
    called by its full name, and has no rows: the few samples are not its content. Names are
    compared in any case. Tables of several engines lie under one database id where their
    databases have one name. Gold tables that are in no folder are left out, a question whose gold
    tables are all unknown is asked and not scored; notes name both.
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
        for place, table_id, record in _schemas(release):
            columns = field(record, "column_names", list, place)
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
        there = {_key(*table_id): table_id for _, table_id, _ in _schemas(release)}
        databases = {database for database, _ in there}
        gold = _gold(release)
        for place, record in release.json_lines(release.require("spider2-lite.jsonl")):
            name = field(record, "instance_id", str, place)
            database = field(record, "db", str, place)
            if database.lower() not in databases:
                release.remark(_NO_DATABASE, place, f"{name} ({database})")
            wanted = gold.get(name, gold.get(name.removeprefix("sf_")))
            if wanted is None:
                release.remark("questions without a line of gold tables", place, name)
            keys = [_key(database, table) for table in dict.fromkeys(wanted or ())]
            found = tuple(dict.fromkeys(there[key] for key in keys if key in there))
            if len(found) < len(keys) and database.lower() in databases:
                release.remark(_UNRESOLVED if found else _NONE_RESOLVED, place, name)
            yield Query(
                id=name,
                text=field(record, "question", str, place),
                gold=found,
                database_id=found[0].database_id if found else database,
                metadata={"external_knowledge": record.get("external_knowledge")},
            )


_NO_DATABASE = "questions about a database that is not here, which are not scored"
_UNRESOLVED = "questions with gold tables that are not here, which are left out"
_NONE_RESOLVED = "questions without a gold table that is here, which are not scored"


def _key(database: str, table: str) -> tuple[str, str]:
    return database.lower(), table.lower()


def _schemas(release: Release) -> Iterator[tuple[str, TableId, Any]]:
    """Yield (place, id, record) of every table."""
    for place, name, content in release.bundled("databases", _DATABASES):
        parts = PurePosixPath(name).parts
        if not name.endswith(".json"):
            continue
        if len(parts) < 5:
            raise DataError(f"{place}: expected {_DATABASES}/<engine>/<database>/.../<table>.json")
        record = release.json_of(content, place)
        yield place, TableId(parts[3], field(record, "table_fullname", str, place)), record


def _gold(release: Release) -> Mapping[str, list[str]]:
    """Return question id -> the full names of its gold tables."""
    path = release.require("spider2-lite-gold-tables.jsonl")
    return {
        field(record, "instance_id", str, place): field(record, "gold_tables", list, place)
        for place, record in release.json_lines(path)
    }
