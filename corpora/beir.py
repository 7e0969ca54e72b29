# SPDX-License-Identifier: Apache-2.0
"""BEIR's layout (Thakur et al. 2021): corpus.jsonl, queries.jsonl, qrels/<split>.tsv."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from target_bench import CorpusInfo, CorpusLoader, DataError, Query, Release, Table, TableId
from target_bench.plugin_tools import field

_SPLITS = ("test", "validation", "train")
_SPLIT_NAMES = {"dev": "validation", "val": "validation"}
_MOST_NAMED = 5
_BETWEEN = "__"  # database and table, in ids that name both
_BELOW_HEADER = re.compile(r"\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?)?\s*")
_BAR = re.compile(r"(?<!\\)\|")


class BEIR(CorpusLoader):
    """A folder of this layout: a document is a table, a judgement above 0 makes it a gold table.

    A document is its ``table`` (rows of cells, the header first) where it or its ``metadata`` has
    one, or its text where that is a table in Markdown and nothing else; else one column ``text``
    with one row per line. Where the scores of a query's gold tables are not all 1, they are its
    ``grades``.

    Where every id has the form ``database__table``, as in Snowflake's SQL-Schema-Retrieval, the
    table lies in this database, and so does a query whose gold tables do.

    Args:
        folder: the folder; a path of one is recognised without this.
    """

    def __init__(self, folder: str = "") -> None:
        name, source = "beir", "https://github.com/beir-cellar/beir"
        splits: tuple[str, ...] = _SPLITS
        if folder:
            self.embedded = Path(folder)
            there = _list_qrels(Release(self.embedded, folder))
            splits = tuple(sorted(there, key=_rank_split)) or ("test",)
            name = re.sub(r"[\W_]+", "-", self.embedded.resolve().name.lower()).strip("-")
            source = str(self.embedded.resolve())
        self.info = CorpusInfo(
            name or "beir",
            splits=splits,
            licence="your own",
            citation="your own",
            source=source,
            files=("corpus.jsonl, queries.jsonl, qrels/<split>.tsv",),
            any_task=True,
        )

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield one table per document, the same ones for every split."""
        path = release.require("corpus.jsonl")
        in_databases = _are_in_databases(release)
        if in_databases:
            release.notes.append(f"the ids of {path.name} are read as database__table")
        for place, record in release.json_lines(path):
            names, *rows = _read_grid(place, record)
            table_id = _table_id(_read_id(record, place), in_databases)
            title = "" if record.get("title") is None else field(record, "title", str, place)
            if in_databases and not title.strip():
                title = " / ".join(table_id.table_id.split(_BETWEEN))
            header = ["" if name is None else str(name) for name in names]
            yield Table(table_id, header, rows, {"title": title})

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """Yield the queries for which the qrels of the split name a relevant document."""
        path = _list_qrels(release).get(split)
        if path is None:
            raise DataError(f"{release.folder / 'qrels'}: no {split}.tsv (nor .tsv.gz)")
        gold = _read_gold(release, path)
        in_databases = _are_in_databases(release)
        texts: dict[str, tuple[str, Mapping[str, Any]]] = {}
        file = release.require("queries.jsonl")
        for place, record in release.json_lines(file):
            query_id, text = _read_id(record, place), field(record, "text", str, place)
            if query_id in texts:
                raise DataError(f"{place}: _id {query_id!r} occurs twice")
            texts[query_id] = text, _read_metadata(record)
        if missing := [query_id for query_id in gold if query_id not in texts]:
            named = ", ".join(missing[:_MOST_NAMED])
            raise DataError(
                f"{gold[missing[0]][0][0]}: query-ids that are not in {file.name}: "
                f"{len(missing):,} ({named}). Add the queries, or remove these lines."
            )
        for query_id, judged in gold.items():
            text, metadata = texts[query_id]
            gold_ids = tuple(_table_id(table_id, in_databases) for _, table_id, _ in judged)
            grades = [score for _, _, score in judged]
            if set(grades) != {1.0}:
                metadata = {**metadata, "grades": grades}
            databases = {table_id.database_id for table_id in gold_ids}
            if len(databases) > 1:
                release.remark(_OF_SEVERAL, judged[0][0], query_id)
            database = databases.pop() if len(databases) == 1 else "0"
            yield Query(query_id, text, gold_ids, database_id=database, metadata=metadata)


_OF_SEVERAL = (
    "queries with gold tables of several databases, which are read as about none, so nothing is "
    "measured or searched by database"
)


def _rank_split(split: str) -> tuple[int, str]:
    """Sort the test split before the training split."""
    order = {name: i for i, name in enumerate(("test", "validation", "", "train"))}
    return order.get(split, order[""]), split


def _list_qrels(release: Release) -> dict[str, Path]:
    """Return split -> its file of judgements."""
    files: dict[str, Path] = {}
    for path in (*release.matching("qrels/*.tsv"), *release.matching("qrels/*.tsv.gz")):
        name = path.name.partition(".")[0].strip()
        split = _SPLIT_NAMES.get(name.lower(), name.lower() if name.lower() in _SPLITS else name)
        if split in files:
            raise DataError(f"{path}: {files[split].name} is the same split; keep one of them")
        files[split] = path
    return files


def _read_gold(release: Release, path: Path) -> dict[str, list[tuple[str, str, float]]]:
    """Return query id -> (place, table id, score) of the documents relevant to it."""
    gold: dict[str, list[tuple[str, str, float]]] = {}
    scores: dict[tuple[str, str], float] = {}
    lines = normalize("NFC", release.text(path)).split("\n")
    for number, line in enumerate((line.removesuffix("\r") for line in lines), start=1):
        place = f"{path}, line {number}"
        if not line.strip() or (number == 1 and line == "query-id\tcorpus-id\tscore"):
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


def _are_in_databases(release: Release) -> bool:
    """Return whether every id has the form ``database__table``, with several databases."""
    databases = set()
    for place, record in release.json_lines(release.require("corpus.jsonl")):
        database, _, table = _read_id(record, place).partition(_BETWEEN)
        if not database or not table:
            return False
        databases.add(database)
    return len(databases) > 1


def _table_id(name: str, in_database: bool) -> TableId:
    database, _, table = name.partition(_BETWEEN) if in_database else ("0", "", name)
    return TableId(database, table)


def _read_id(record: Any, place: str) -> str:
    value = field(record, "_id", object, place)
    if isinstance(value, str):
        return normalize("NFC", value)
    if type(value) is int:
        return str(value)
    raise DataError(f"{place}: field '_id' should be text or a whole number, but is {value!r:.80}")


def _read_metadata(record: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = record.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _read_grid(place: str, record: Any) -> Sequence[Sequence[Any]]:
    text = field(record, "text", str, place)
    for holder in (record, _read_metadata(record)):
        grid = holder.get("table")
        if grid is not None:
            if not isinstance(grid, list) or not grid or not all(isinstance(r, list) for r in grid):
                raise DataError(f"{place}: field 'table' should be a list of rows: {grid!r:.80}")
            return [[*map(_read_cell, row)] for row in grid]
    lines = [line for line in text.splitlines() if line.strip()]
    has_bars = len(lines) > 1 and all(line.lstrip().startswith("|") for line in lines)
    if has_bars and _BELOW_HEADER.fullmatch(lines[1].strip()):  # one table in Markdown
        return [list(_split_line(line)) for line in (lines[0], *lines[2:])]
    return [["text"], *([line] for line in lines)]


def _read_cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _split_line(line: str) -> Iterator[str]:
    """Yield the cells of a line of Markdown."""
    for cell in _BAR.split(line.strip().removeprefix("|").removesuffix("|")):
        yield cell.strip().replace("\\|", "|")
