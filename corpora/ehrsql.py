# SPDX-License-Identifier: Apache-2.0
"""EHRSQL: questions of hospital staff, of which a third has no answer in the databases."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from target_bench import CorpusInfo, CorpusLoader, DataError, Query, Release, Table, TableId
from target_bench.plugin_tools import field, texts

_DATABASES = ("mimic_iii", "eicu")
_FILES = {"test": "test", "validation": "valid"}
_READ = re.compile(r"'[^']*'|\b(?:from|join)\s+(\w+)", re.IGNORECASE)
"""A text, or a table in the gold SQL, which names no other relation; some of it cannot be run."""


class EHRSQL(CorpusLoader):
    """Questions about patients' records, over the tables of MIMIC-III and eICU in one pool.

    The release has schemas and no rows, so retrieval is all that can be asked. Gold tables are
    those that the gold SQL reads, which is the answer; a question that the release calls impossible
    is ``unanswerable``. The metadata hold ``template``, ``para_type`` and ``importance`` where
    there are such.
    """

    info = CorpusInfo(
        name="ehrsql",
        title="EHRSQL",
        tasks=("retrieval",),
        splits=("test", "validation"),
        licence="CC-BY-4.0",
        citation="Lee et al., EHRSQL: A Practical Text-to-SQL Benchmark for Electronic Health "
        "Records, NeurIPS 2022",
        source="https://github.com/glee4810/EHRSQL",
        files=(
            "tables.json of dataset/ehrsql",
            *(f"{database}.{split}.json" for database in _DATABASES for split in _FILES.values()),
        ),
    )
    cached = False

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables of MIMIC-III, then those of eICU."""
        for database, name, columns in _schemas(release):
            yield Table(TableId(database, name), columns, ())

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the questions of each database in the order of its file."""
        names = {(database, name.lower()): name for database, name, _ in _schemas(release)}
        for database in _DATABASES:
            path = release.require(f"{database}.{_FILES[split]}.json")
            for number, record in enumerate(release.json(path), start=1):
                place = f"{path}, question {number}"
                impossible = field(record, "is_impossible", bool, place)
                sql = "" if impossible else field(record, "query", str, place)
                read = dict.fromkeys(
                    (database, name.lower()) for name in _READ.findall(sql) if name
                )
                if not impossible and not (read and names.keys() >= read.keys()):
                    raise DataError(f"{place}: query reads other tables than those of {database}")
                known = ("template", "para_type", "importance")
                metadata = {name: record[name] for name in known if record.get(name)}
                yield Query(
                    id=field(record, "id", str, place),
                    text=field(record, "question", str, place),
                    gold=tuple(TableId(database, names[table]) for table in read),
                    answer=sql,
                    database_id=database,
                    metadata={**metadata, **({"unanswerable": True} if impossible else {})},
                )


def _schemas(release: Release) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield database, table and columns, from a file in Spider's form."""
    path = release.require("tables.json")
    for record in release.json(path):
        database = field(record, "db_id", str, str(path))
        columns = field(record, "column_names_original", list, f"{path}, {database}")
        for i, name in enumerate(texts(record, "table_names_original", f"{path}, {database}")):
            yield database, name, [column for table, column in columns if table == i]
