"""BEIR's layout (Thakur et al. 2021): ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/``."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from target_bench.corpora import own
from target_bench.errors import DataError
from target_bench.interfaces import CorpusLoader
from target_bench.release import Release, field
from target_bench.schema import Query, Table, TableId

_SPLITS = {"dev": "validation", "val": "validation"}
_HEADER = ["query-id", "corpus-id", "score"]


class BeirFolder(CorpusLoader):
    """A folder in BEIR's layout.

    A document becomes a table: its ``table`` (rows of cells, the header first) where it or its
    ``metadata`` has one, else one column ``text`` with a row a line. Its title is the table's
    title. Every document that the qrels give a score above 0 is a gold table.

    Args:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.embedded = folder
        self.info = own.info(folder, _qrels(Release(folder, str(folder))))

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Whether a folder has this layout."""
        release = Release(folder, "")
        return release.find("corpus.jsonl") is not None and (folder / "qrels").is_dir()

    def tables(self, release: Release, split: str) -> Iterable[Table]:
        """A table a document, the same ones for every split."""
        for place, record in release.json_lines(release.require("corpus.jsonl")):
            grid = _grid(place, record)
            yield Table(
                id=TableId("0", _id(record, place)),
                header=[str(name) for name in grid[0]],
                rows=grid[1:],
                context={"title": str(record.get("title") or "")},
            )

    def queries(self, release: Release, split: str) -> Iterable[Query]:
        """The queries that the qrels of the split judge."""
        gold = _gold(release, _qrels(release)[split])
        ids = {_id(r, place) for place, r in release.json_lines(release.require("corpus.jsonl"))}
        texts = dict(_texts(release))
        for query_id, judged in gold.items():
            place = judged[0][0]
            if query_id not in texts:
                raise DataError(f"{place}: query-id {query_id!r} is not in queries.jsonl")
            for line, table_id in judged:
                if table_id not in ids:
                    raise DataError(f"{line}: corpus-id {table_id!r} is not in corpus.jsonl")
            text, metadata = texts[query_id]
            gold_ids = tuple(TableId("0", table_id) for _, table_id in judged)
            yield Query(query_id, text, gold_ids, metadata=metadata)


def _qrels(release: Release) -> dict[str, Path]:
    """Split -> its file of judgements."""
    return {_SPLITS.get(path.stem, path.stem): path for path in release.matching("qrels/*.tsv")}


def _gold(release: Release, path: Path) -> dict[str, list[tuple[str, str]]]:
    """Query id -> (place, table id) of what is relevant to it."""
    lines = csv.reader(io.StringIO(release.text(path), newline=""), delimiter="\t", quoting=3)
    gold: dict[str, list[tuple[str, str]]] = {}
    for number, line in enumerate(lines, start=1):
        place = f"{path}, line {number}"
        if not line or (number == 1 and line == _HEADER):
            continue
        try:
            query_id, table_id, score = line
            relevant = int(score) > 0
        except ValueError as error:
            raise DataError(
                f"{place}: expected query-id, corpus-id and a whole-number score with tabs "
                f"between, found {line!r:.80}"
            ) from error
        if relevant:
            gold.setdefault(query_id, []).append((place, table_id))
    return gold


def _texts(release: Release) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    for place, record in release.json_lines(release.require("queries.jsonl")):
        metadata = record.get("metadata") if isinstance(record, dict) else None
        found = metadata if isinstance(metadata, dict) else {}
        yield _id(record, place), (field(record, "text", str, place), found)


def _id(record: Any, place: str) -> str:
    return own.identifier(field(record, "_id", object, place), "_id", place)


def _grid(place: str, record: Any) -> list[list[Any]]:
    text = field(record, "text", str, place)
    metadata = record.get("metadata")
    grid = record.get("table") or (metadata.get("table") if isinstance(metadata, dict) else None)
    if grid is None:
        return [["text"], *([line] for line in text.splitlines() if line.strip())]
    if not isinstance(grid, list) or not grid or not all(isinstance(row, list) for row in grid):
        raise DataError(f"{place}: field 'table' should be a list of rows, the header first")
    return grid
