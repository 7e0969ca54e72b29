"""BEIR's layout (Thakur et al. 2021): corpus.jsonl, queries.jsonl, qrels/<split>.tsv."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader, Release, field
from target_bench.core.schema import NO_DATABASE, Cell, Query, Table, TableId
from target_bench.core.text_tables import first_of
from target_bench.core.unicode_text import compose
from target_bench.data.formats import records
from target_bench.tables.plain_formats import read_pipe_tables

_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"
_MOST_NAMED = 5
_HEADER = "query-id\tcorpus-id\tscore"

_BETWEEN = "__"
"""What stands between database and table, and table and column, in ids that name them."""

_BELOW_HEADER = re.compile(r"\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?)?\s*")


class BeirFolder(CorpusLoader):
    """A folder in this layout.

    A document becomes a table: its ``table`` (rows of cells, the header first) where it or its
    ``metadata`` has one, or its text where that is a table in Markdown and nothing else; else one
    column ``text`` with one row per line. Its title is the table's title. Every document that the
    qrels give a score above 0 is a gold table; where the scores of a query's gold tables are not
    all 1, they are its ``grades`` (``metrics.retrieval.GRADES``).

    Where every document's id has the form ``database__table``, as in Snowflake's
    SQL-Schema-Retrieval, it is read as that: the table lies in this database, and so does a query
    whose gold tables do. A document without a title is then called by its name in the database.

    Args:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.embedded = folder
        self.info = records.info(folder, _qrels(Release(folder, str(folder))))

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether a folder has this layout."""
        return Release(folder, "").find(_CORPUS) is not None and (folder / "qrels").is_dir()

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield one table per document, the same ones for every split."""
        path = release.require(_CORPUS)
        in_databases = _are_in_databases(_ids(release, path))
        if in_databases:
            release.notes.append(f"the ids of {path.name} are read as database__table")
        for place, record in release.json_lines(path):
            names, *rows = _grid(place, record)
            table_id = _table_id(_id(record, place), in_databases)
            title = "" if record.get("title") is None else field(record, "title", str, place)
            if in_databases and not title.strip():
                title = " / ".join(table_id.table_id.split(_BETWEEN))
            yield Table(table_id, records.header(names), rows, {"title": title})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the queries for which the qrels of the split name a relevant document."""
        path = _qrels(release).get(split)
        if path is None:
            raise DataError(f"{release.folder / 'qrels'}: no {split}.tsv (nor .tsv.gz)")
        gold = _gold(release, path)
        in_databases = _are_in_databases(_ids(release, release.require(_CORPUS)))
        file = release.require(_QUERIES)
        texts = _texts(release, file)
        if missing := [query_id for query_id in gold if query_id not in texts]:
            place = gold[missing[0]][0][0]
            raise DataError(
                f"{place}: query-ids that are not in {file.name}: {len(missing):,} "
                f"({first_of(missing, _MOST_NAMED)}). Add the queries, or remove these lines."
            )
        for query_id, judged in gold.items():
            place = judged[0][0]
            text, metadata = texts[query_id]
            gold_ids = tuple(_table_id(table_id, in_databases) for _, table_id, _ in judged)
            grades = [score for _, _, score in judged]
            if set(grades) != {1.0}:
                metadata = {**metadata, "grades": grades}
            databases = {table_id.database_id for table_id in gold_ids}
            if len(databases) > 1:
                release.remark(_OF_SEVERAL, place, query_id)
            database = NO_DATABASE if len(databases) > 1 else databases.pop()
            yield Query(query_id, text, gold_ids, database_id=database, metadata=metadata)


_OF_SEVERAL = (
    "queries with gold tables of several databases, which are read as about none, so nothing is "
    "measured or searched by database"
)


def _ids(release: Release, path: Path) -> Iterator[str]:
    return (_id(record, place) for place, record in release.json_lines(path))


def _are_in_databases(ids: Iterable[str]) -> bool:
    """Return whether every id has the form ``database__table``, with several databases."""
    databases = set()
    for each in ids:
        database, _, table = each.partition(_BETWEEN)
        if not database or not table:
            return False
        databases.add(database)
    return len(databases) > 1


def _table_id(name: str, in_database: bool) -> TableId:
    if not in_database:
        return TableId(NO_DATABASE, name)
    database, _, table = name.partition(_BETWEEN)
    return TableId(database, table)


def _qrels(release: Release) -> dict[str, Path]:
    """Return split -> its file of judgements."""
    files: dict[str, Path] = {}
    for path in (*release.matching("qrels/*.tsv"), *release.matching("qrels/*.tsv.gz")):
        name = path.name.partition(".")[0]
        split = records.canonical_split(name)
        if split in files:
            raise DataError(f"{path}: {files[split].name} is the same split; keep one of them")
        files[split] = path
    return files


def _gold(release: Release, path: Path) -> dict[str, list[tuple[str, str, float]]]:
    """Return query id -> (place, table id, score) of the documents relevant to it."""
    gold: dict[str, list[tuple[str, str, float]]] = {}
    scores: dict[tuple[str, str], float] = {}
    for number, text in enumerate(compose(release.text(path)).split("\n"), start=1):
        place, line = f"{path}, line {number}", text.removesuffix("\r")
        if not line.strip() or (number == 1 and line == _HEADER):
            continue
        try:
            query_id, table_id, written = line.split("\t")
            score = float(written)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise DataError(
                f"{place}: expected query-id, corpus-id and a number as score with tabs between, "
                f"found {line!r:.80}"
            )
        before = scores.setdefault((query_id, table_id), score)
        if before != score:
            raise DataError(
                f"{place}: {query_id!r} and {table_id!r} have the score {score:g}, but {before:g} "
                "above"
            )
        if score > 0 and table_id not in (t for _, t, _ in gold.get(query_id, ())):
            gold.setdefault(query_id, []).append((place, table_id, score))
    irrelevant = {query_id for query_id, _ in scores} - gold.keys()
    if irrelevant:
        release.notes.append(
            f"{len(irrelevant)} queries of {release.relative(path)} have no score above "
            "0 and are left out: no table is right for them (BEIR's own evaluation gives them 0)"
        )
    return gold


def _texts(release: Release, path: Path) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return query id -> (text, metadata)."""
    texts: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for place, record in release.json_lines(path):
        query_id, text = _id(record, place), field(record, "text", str, place)
        if query_id in texts:
            raise DataError(f"{place}: _id {query_id!r} occurs twice")
        texts[query_id] = text, _metadata(record)
    return texts


def _metadata(record: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = record.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _id(record: Any, place: str) -> str:
    return records.identifier(field(record, "_id", object, place), "_id", place)


def _grid(place: str, record: Any) -> Sequence[Sequence[Cell]]:
    text = field(record, "text", str, place)
    grid = next(
        (r["table"] for r in (record, _metadata(record)) if r.get("table") is not None), None
    )
    if grid is not None:
        return records.grid(grid, place)
    lines = [line for line in text.splitlines() if line.strip()]
    with_bars = len(lines) > 1 and all(line.lstrip().startswith("|") for line in lines)
    if with_bars and _BELOW_HEADER.fullmatch(lines[1].strip()):  # one table in Markdown
        return read_pipe_tables("\n".join(lines)).tables[0].rows
    return [["text"], *([line] for line in lines)]
