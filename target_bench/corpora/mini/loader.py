"""The embedded corpus ``mini``: a folder in the layout that users have for their own data."""

import csv
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from target_bench.core.release import CorpusLoader, Release
from target_bench.core.schema import CorpusInfo, Query, Table, TableId
from target_bench.data.databases.built_files import build_sqlite
from target_bench.data.databases.stored_tables import LazyRows, read_stored_tables
from target_bench.data.formats.queries import read_query, read_split


class Mini(CorpusLoader):
    """120 web tables in families of look-alikes, and three databases; both splits ask about all.

    The databases ship as SQL text and are built into the cache folder when they are first used.
    The metadata of a query says in ``task`` what it is about; a question on a database also has
    ``hardness`` (Spider's), ``difficulty`` (in BIRD's words) and ``evidence``. Those answered with
    tables have a ``format``, sentences about cells have ``highlighted_cells``; neither is ranked.
    Changed tables beside their reference have a ``rank``, which is our own rating: no task asks
    about them, benchmarks/table_metrics does.
    """

    info = CorpusInfo(
        name="mini",
        title="target-bench mini",
        tasks=(
            "retrieval",
            "question_answering",
            "fact_verification",
            "text_to_sql",
            "text_to_table",
            "table_to_text",
        ),
        splits=("test", "validation"),
        licence="Apache-2.0, written for this project from public facts",
        citation="The target-bench authors",
        source="this package",
    )
    cached = False

    embedded = Path(__file__).parent / "data"

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the web tables, then the tables of each database."""
        for _, context in release.json_lines(release.require("tables.jsonl")):
            name = context.pop("table_id")
            text = release.text(release.require(f"tables/{name}.csv"))
            header, *rows = csv.reader(text.splitlines())
            yield Table(TableId("0", name), header, rows, context)
        for name, script in _read_scripts(release).items():
            path = build_sqlite(name, script)
            version = hashlib.sha256(script.encode()).hexdigest()
            for table in read_stored_tables(path):
                yield Table(
                    TableId(name, table.name),
                    table.header,
                    LazyRows(path, table.source, version),
                    {
                        "title": _add_spaces(table.name),
                        "columns": [_add_spaces(column) for column in table.header],
                        **table.context,
                    },
                )

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the queries about web tables and databases, then those that no ranking has."""
        for name in _QUERIES:
            for place, record in release.json_lines(release.require(name)):
                if read_split(record, place) == split:
                    yield read_query(record, place)

    def databases(self, release: Release, split: str) -> Mapping[str, Path]:  # noqa: ARG002 (the contract's argument)
        """Return the three databases."""
        return {name: build_sqlite(name, script) for name, script in _read_scripts(release).items()}


_QUERIES = (
    "queries.jsonl",
    "tables_as_answers.jsonl",
    "table_to_text.jsonl",
    "rated_tables.jsonl",
)


def _read_scripts(release: Release) -> dict[str, str]:
    """Return the SQL text of each database, by its id."""
    return {path.stem: release.text(path) for path in release.matching("databases/*.sql")}


def _add_spaces(name: str) -> str:
    return name.replace("_", " ")
