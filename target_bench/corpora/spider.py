"""Spider: questions over many databases, with the SQL that answers them (Yu et al. 2018)."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from target_bench.core.errors import DataError
from target_bench.core.release import Release, field
from target_bench.core.schema import CorpusInfo, Query
from target_bench.data.databases.releases import Schema, SQLRelease, read_schemas, target_copies

_QUESTIONS = {
    "validation": ("dev.json",),
    "train": ("train_spider.json", "train_others.json"),
    "test": ("test.json",),
}
_GOLD = {"validation": "dev_gold.sql", "train": "train_gold.sql", "test": "test_gold.sql"}
_SCHEMAS = {"validation": "tables.json", "train": "tables.json", "test": "test_tables.json"}


class Spider(SQLRelease):
    """Questions with gold SQL; the corpus is the tables of all databases of the split.

    A question's id is its place in the file, from 0. Its metadata holds ``hardness`` (easy, medium,
    hard or extra, by Spider's own rules) and ``index`` (the same place). Gold tables are those that
    the gold SQL reads.

    The databases of a split are those its questions or its gold file name; the databases of
    ``train``, where both are missing, those of ``tables.json`` that validation does not name. A
    database whose file is not here has tables without rows.
    """

    info = CorpusInfo(
        name="spider",
        title="Spider",
        tasks=("retrieval", "text_to_sql"),
        splits=("validation", "train", "test"),
        licence="CC BY-SA 4.0 (data), Apache-2.0 (repository)",
        citation="Yu et al., Spider: A Large-Scale Human-Labeled Dataset for Complex and "
        "Cross-Domain Semantic Parsing and Text-to-SQL Task, EMNLP 2018",
        source="https://yale-lily.github.io/spider",
        files=(
            "dev.json, tables.json and database/<db>/<db>.sqlite",
            "train_spider.json and train_others.json for the split train",
            "test.json, test_tables.json and test_database/ for the split test",
        ),
        data={
            "validation": target_copies(
                "spider", "validation", queries="b0a9545f2f6cca84a3af9015fb60c80813eeee1b"
            ),
            "train": target_copies(
                "spider", "train", "c34f052df7fee92ee827cc9ca3b78ccc459199c2", "381842a"
            ),
            "test": target_copies("spider", "test", "0a79688", "5b68726"),
        },
    )
    folders: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "validation": ("database",),
        "train": ("database",),
        "test": ("test_database", "database"),
    }
    archives = ("database", "train_databases_distractors", "test_database", "spider_data", "spider")

    def read_questions(self, release: Release, split: str) -> Iterator[tuple[str, Query]]:
        """Yield (place, question) of the split's questions, file after file."""
        known = read_schemas(release, release.require(_SCHEMAS[split]))
        for index, (place, record) in enumerate(_read_records(release, split)):
            sql = field(record, "query", str, place)
            name = field(record, "db_id", str, place)
            if name not in known:
                raise DataError(f"{place}: db_id {name!r} is not in {_SCHEMAS[split]}")
            metadata = {"hardness": _rate_hardness(sql, place), "index": index}
            text = field(record, "question", str, place)
            yield place, Query(str(index), text, (), sql, name, metadata)

    def read_schemas(self, release: Release, split: str) -> Mapping[str, Schema]:
        """Return the schemas of the split's databases, in the order of their file."""
        path = release.require(_SCHEMAS[split])
        known = read_schemas(release, path)
        names = _list_database_ids(release, split)
        if names is None:
            if split != "train":
                release.require(*_QUESTIONS[split], _GOLD[split])
            others = _list_database_ids(release, "validation") or set()
            return {name: schema for name, schema in known.items() if name not in others}
        missing = sorted(names - known.keys())
        if missing:
            raise DataError(
                f"{path}: no schema of database {missing[0]!r}, which questions are about"
            )
        return {name: schema for name, schema in known.items() if name in names}


def _rate_hardness(sql: str, place: str) -> str:
    from target_bench.sql.hardness import hardness

    try:
        return hardness(sql)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error


def _list_database_ids(release: Release, split: str) -> set[str] | None:
    """Return the ids of the databases that a split is about, or None where nothing here says so."""
    if all(release.find(name) for name in _QUESTIONS[split]):
        return {field(r, "db_id", str, place) for place, r in _read_records(release, split)}
    path = release.find(_GOLD[split])
    if path is None:
        return None
    lines = (line for line in release.text(path).splitlines() if line.strip())
    return {line.rpartition("\t")[2].strip() for line in lines}


def _read_records(release: Release, split: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in _QUESTIONS[split]:
        yield from release.json_list(release.require(name), "question")
