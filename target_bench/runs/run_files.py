"""Rankings that were made elsewhere: a TREC run, or JSON lines as ``retrieval.jsonl`` has them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from target_bench.errors import DataError
from target_bench.interfaces import Dataset
from target_bench.release import Release, decode, field
from target_bench.runs.trec import word, words_of
from target_bench.schema import Query, Retrieval, TableId


@dataclass(frozen=True)
class RunFile:
    """A run file, read.

    Attributes:
        retrievals: query id -> its ranking, as deep as the file has it.
        sha256: of the file.
        notes: what a user should know about it.
        missing: why a query that the file lacks counts as failed, or None: then it counts as
            answered without any table (a TREC run cannot say that nothing was found).
    """

    retrievals: Mapping[str, Retrieval]
    sha256: str
    notes: tuple[str, ...]
    missing: str | None

    def rank(self, query: Query, k: int) -> Retrieval:
        """The first k tables of a query."""
        found = self.retrievals.get(query.id)
        if found is None:
            return Retrieval(query.id, (), error=self.missing)
        return replace(found, tables=found.tables[:k], scores=found.scores[:k])


def read(path: Path, dataset: Dataset) -> RunFile:
    """Read a run file, plain or gzipped.

    In a TREC run a table is its id, or ``database/table`` where there are databases, with white
    space percent-encoded (``export --format trec`` writes it so). Tables are ordered by score;
    equal scores keep the order of the rank column.

    Raises:
        DataError: the file cannot be read, a line is none of its format, a table or query is not
            in the corpus, or a query has a table twice.
    """
    if not path.is_file():
        raise DataError(f"--run {path}: there is no such file")
    release = Release(path.parent, str(path))
    names = _Names(dataset)
    with release.open(path) as file:
        json_lines = file.read(1024).lstrip().startswith(b"{")
    found = (
        _from_json_lines(release, path, names) if json_lines else _from_trec(release, path, names)
    )
    retrievals: dict[str, Retrieval] = {}
    for place, retrieval in found:
        if retrieval.query_id in retrievals:
            raise DataError(f"{place}: query {retrieval.query_id!r} has two rankings")
        retrievals[retrieval.query_id] = retrieval
    if not retrievals:
        raise DataError(f"{path}: the file holds no ranking")
    absent = sum(1 for query in dataset.queries if query.id not in retrievals)
    note = f"{path} has no ranking for {absent} of {len(dataset.queries)} queries; they score 0"
    return RunFile(
        retrievals,
        next(iter(release.hashes.values())),
        (note,) if absent else (),
        f"not in {path.name}" if json_lines else None,
    )


class _Names:
    """Words of a run file -> queries and tables of a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._corpus = dataset.corpus
        self._where = f"{dataset.info.name} {dataset.split}"
        self._queries = {word(query.id): query.id for query in dataset.queries}
        self._queries |= {query.id: query.id for query in dataset.queries}
        self._tables = {name: t for t, name in words_of(dataset.corpus.ids).items()}

    def query(self, name: str, place: str) -> str:
        """The id of a query.

        Raises:
            DataError: there is none of this name.
        """
        if name not in self._queries:
            raise DataError(
                f"{place}: query {name!r} is not in {self._where}. Name the split the run is of "
                "with --split."
            )
        return self._queries[name]

    def table(self, name: Any, place: str) -> TableId:
        """The id of a table, from a word or a pair (database id, table id).

        Raises:
            DataError: there is none of this name.
        """
        pair = tuple(name) if isinstance(name, list) else None
        found = self._tables.get(name) if isinstance(name, str) else None
        if found is None and pair is not None and pair in self._corpus.positions:
            found = self._corpus.ids[self._corpus.positions[pair]]
        if found is None:
            raise DataError(
                f"{place}: table {name!r} is not in {self._where}; its tables are called like "
                f"{next(iter(self._tables))!r}"
            )
        return found


def _from_trec(release: Release, path: Path, names: _Names) -> Iterator[tuple[str, Retrieval]]:
    rows: dict[str, list[tuple[float, int, TableId, str]]] = {}
    with release.open(path) as file:
        for number, raw in enumerate(file, start=1):
            if raw.strip():
                place = f"{path}, line {number}"
                query_id, row = _trec_row(decode(raw, place).split(), place, names)
                rows.setdefault(query_id, []).append((*row, place))
    for query_id, given in rows.items():
        ordered = sorted(given, key=lambda row: (-row[0], row[1]))
        tables = tuple(table for *_, table, _ in ordered)
        if len(set(tables)) < len(tables):
            repeated = next(t for i, t in enumerate(tables) if t in tables[:i])
            raise DataError(f"{path}: query {query_id!r} has table {repeated} twice")
        yield (
            given[0][3],
            Retrieval(
                query_id,
                tables,
                tuple(score for score, *_ in ordered),
                resorted=[row[1] for row in ordered] != sorted(row[1] for row in ordered),
            ),
        )


def _trec_row(
    words: list[str], place: str, names: _Names
) -> tuple[str, tuple[float, int, TableId]]:
    try:
        query, _, table, rank, score, *_ = words
        value = float(score)
        position = int(rank)
    except ValueError as error:
        raise DataError(
            f"{place}: expected 'query Q0 table rank score tag', found {' '.join(words)[:120]!r}"
        ) from error
    if not math.isfinite(value):
        raise DataError(f"{place}: the score is {score}")
    return names.query(query, place), (value, position, names.table(table, place))


def _from_json_lines(
    release: Release, path: Path, names: _Names
) -> Iterator[tuple[str, Retrieval]]:
    for place, record in release.json_lines(path):
        query_id = names.query(str(field(record, "query_id", object, place)), place)
        tables = tuple(names.table(t, place) for t in field(record, "tables", list, place))
        if len(set(tables)) < len(tables):
            raise DataError(f"{place}: query {query_id!r} has a table twice")
        scores = record.get("scores") or ()
        if scores and (len(scores) != len(tables) or not all(map(_is_score, scores))):
            raise DataError(f"{place}: {len(tables)} tables need as many numbers in 'scores'")
        yield place, Retrieval(query_id, tables, tuple(map(float, scores)), record.get("error"))


def _is_score(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
