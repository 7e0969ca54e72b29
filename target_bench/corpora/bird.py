"""BIRD: questions over large, real databases, with evidence and the SQL (Li et al. 2023)."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from target_bench.core.errors import DataError
from target_bench.core.release import Release, field
from target_bench.core.schema import CorpusInfo, Query
from target_bench.data.databases.releases import (
    DatabaseFolder,
    Schema,
    SQLRelease,
    read_schemas,
    target_copies,
)

_DESCRIPTIONS = "database_description.json"
_QUESTIONS = {"validation": "dev.json", "mini_dev": "mini_dev_sqlite.json"}


class Bird(SQLRelease):
    """Questions with gold SQL; the corpus is the tables of all databases of the split.

    A question's id is its ``question_id``. Mini-dev uses two of them twice: the second question
    with an id gets its place in the file after it, as in ``137#412``. The metadata of a question
    holds ``difficulty`` (simple, moderate or challenging), ``evidence`` (what its authors say about
    values and formulas) and ``index`` (its place in the file, from 0, by which predictions go).

    Descriptions of columns come from ``database_description/<table>.csv`` beside a database, which
    need not be UTF-8, or from ``database_description.json``. A database whose file is not here has
    tables without rows.
    """

    info = CorpusInfo(
        name="bird",
        title="BIRD",
        tasks=("retrieval", "text_to_sql"),
        splits=("validation", "mini_dev"),
        licence="CC BY-SA 4.0",
        citation="Li et al., Can LLM Already Serve as A Database Interface? A BIg Bench for "
        "Large-Scale Database Grounded Text-to-SQLs, NeurIPS 2023",
        source="https://bird-bench.github.io",
        files=(
            "dev.json, dev_tables.json",
            "dev_databases/<db>/<db>.sqlite and dev_databases/<db>/database_description/*.csv",
            "mini_dev_sqlite.json for the split mini_dev",
        ),
        data={
            "validation": target_copies(
                "bird", "validation", "f9ff528e4bec050982f3112d7857d6ea0c27846a"
            )
        },
    )
    folders: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
        ("validation", "mini_dev"), ("dev_databases",)
    )
    archives = ("dev_databases",)

    def read_questions(self, release: Release, split: str) -> Iterator[tuple[str, Query]]:
        """Yield (place, question) of the split's questions."""
        times: Counter[str] = Counter()
        for index, (place, record) in enumerate(_read_records(release, split)):
            query_id = str(field(record, "question_id", int, place))
            times[query_id] += 1
            yield (
                place,
                Query(
                    id=query_id if times[query_id] == 1 else f"{query_id}#{index}",
                    text=field(record, "question", str, place),
                    gold=(),
                    answer=field(record, "SQL", str, place),
                    database_id=field(record, "db_id", str, place),
                    metadata={
                        "difficulty": field(record, "difficulty", str, place),
                        "evidence": field(record, "evidence", str, place),
                        "index": index,
                    },
                ),
            )

    def read_schemas(self, release: Release, split: str) -> Mapping[str, Schema]:
        """Return the schemas of the databases that the split asks about, as their file has them."""
        path = release.require("dev_tables.json")
        known = read_schemas(release, path)
        asked = {field(r, "db_id", str, place): place for place, r in _read_records(release, split)}
        for name, place in asked.items():
            if name not in known:
                raise DataError(f"{place}: db_id {name!r} is not in {path.name}")
        return {name: schema for name, schema in known.items() if name in asked}

    def describe_columns(
        self, release: Release, databases: DatabaseFolder, name: str
    ) -> Mapping[str, Mapping[str, str]]:
        """Return table -> column -> text for one database, names in lower case."""
        by_table = {
            table.strip().lower(): _join_texts(_read_csv(content, place), place)
            for place, table, content in databases.descriptions(name)
        }
        return by_table or _read_descriptions(release, name)


def _read_records(release: Release, split: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return release.json_list(release.require(_QUESTIONS[split]), "question")


def _read_csv(content: bytes, place: str) -> Iterator[Mapping[str, Any]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [name.strip() for name in next(reader, [])]
        for row in reader:
            yield dict(zip(header, row, strict=False))  # a stray comma makes a row longer
    except csv.Error as error:
        raise DataError(f"{place}, line {reader.line_num}: {error}") from error


def _read_descriptions(release: Release, name: str) -> dict[str, dict[str, str]]:
    path = release.find(_DESCRIPTIONS)
    if path is None:
        return {}
    databases = release.json(path)
    if not isinstance(databases, dict):
        raise DataError(f"{path}: expected an object keyed by database id")
    tables = databases.get(name) or {}
    if not isinstance(tables, dict):
        raise DataError(f"{path}, database {name}: expected an object keyed by table")
    return {
        table.strip().lower(): _join_texts(
            field(tables, table, list, f"{path}, database {name}"), f"{path}, table {table}"
        )
        for table in tables
    }


def _join_texts(records: Any, place: str) -> dict[str, str]:
    """Return column -> its readable name, its description and that of its values, as one text."""
    texts: dict[str, str] = {}
    for record in records:
        if not isinstance(record, dict):
            raise DataError(f"{place}: expected one object per column, found {record!r:.80}")
        original = record.get("original_column_name") or record.get("column_name") or ""
        parts = (record.get(n) for n in ("column_name", "column_description", "value_description"))
        lines = [" ".join(str(part).split()) for part in parts if part]
        kept = [part for part in dict.fromkeys(lines) if part.lower() != original.strip().lower()]
        if original.strip() and kept:
            texts[original.strip().lower()] = "; ".join(kept)
    return texts
