"""Rankings that were made elsewhere: a TREC run, or JSON lines as ``retrieval.jsonl`` has them."""

import math
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from target_bench.errors import DataError
from target_bench.interfaces import Dataset
from target_bench.release import Release, field
from target_bench.runs.trec import word, words_of
from target_bench.schema import Query, Retrieval, TableId


@dataclass(frozen=True)
class RunFile:
    """A run file, read.

    Attributes:
        path: where it lies.
        retrievals: query id -> its ranking, as deep as the file has it.
        sha256: of the file.
        missing: why a query that the file lacks counts as failed, or None: then it counts as
            answered without any table (a TREC run cannot say that nothing was found).
    """

    path: Path
    retrievals: Mapping[str, Retrieval]
    sha256: str
    missing: str | None

    def rank(self, query: Query, k: int) -> Retrieval:
        """The first k tables of a query."""
        found = self.retrievals.get(query.id)
        if found is None:
            return Retrieval(query.id, (), error=self.missing)
        return replace(found, tables=found.tables[:k], scores=found.scores[:k])

    def notes(self, queries: Sequence[Query]) -> list[str]:
        """What a user should know about it who has these queries scored."""
        absent = sum(1 for query in queries if query.id not in self.retrievals)
        note = f"{self.path} has no ranking for {absent} of {len(queries)} queries; they score 0"
        return [note] if absent else []


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
    with release.open(path) as file:
        json_lines = file.read(1024).removeprefix(BOM_UTF8).lstrip().startswith(b"{")
    names = _Names(dataset, encoded=not json_lines)
    parse = _from_json_lines if json_lines else _from_trec
    retrievals: dict[str, Retrieval] = {}
    for place, retrieval in parse(release, path, names):
        if retrieval.query_id in retrievals:
            raise DataError(f"{place}: query {retrieval.query_id!r} has two rankings")
        retrievals[retrieval.query_id] = retrieval
    if not retrievals:
        raise DataError(f"{path}: the file holds no ranking")
    (sha256,) = release.hashes.values()
    return RunFile(path, retrievals, sha256, f"not in {path.name}" if json_lines else None)


class _Names:
    """Names in a run file -> queries and tables of a dataset.

    Args:
        dataset: the dataset.
        encoded: whether names are words as ``trec`` makes them; a name that is none is then read
            as it stands, as other tools write it.
    """

    def __init__(self, dataset: Dataset, encoded: bool) -> None:
        self._corpus = dataset.corpus
        self._where = f"{dataset.info.name} {dataset.split}"
        self._queries = {query.id: query.id for query in dataset.queries}
        self._tables = {t.table_id: t for t in dataset.corpus.ids if t.database_id == "0"}
        if encoded:
            self._queries |= {word(query.id): query.id for query in dataset.queries}
            self._tables |= {name: t for t, name in words_of(dataset.corpus.ids).items()}

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
        if isinstance(name, str) and name in self._tables:
            return self._tables[name]
        pair = tuple(map(str, name)) if isinstance(name, list) else ()
        if len(pair) == 2 and pair in self._corpus.positions:
            return self._corpus.ids[self._corpus.positions[pair]]
        known = next(iter(self._tables), None) or list(self._corpus.ids[0])
        raise DataError(
            f"{place}: table {name!r} is not in {self._where}; its tables are called like {known!r}"
        )


def _from_trec(release: Release, path: Path, names: _Names) -> Iterator[tuple[str, Retrieval]]:
    rows: dict[str, dict[TableId, tuple[float, int]]] = {}
    for number, line in enumerate(release.text(path).split("\n"), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            query_id, table, row = _trec_row(line.split(), place, names)
            ranking = rows.setdefault(query_id, {})
            if table in ranking:
                raise DataError(f"{place}: query {query_id!r} has table {table} a second time")
            ranking[table] = row
    for query_id, ranking in rows.items():
        ordered = sorted(ranking.items(), key=lambda item: (-item[1][0], item[1][1]))
        scores = tuple(score for _, (score, _) in ordered)
        ranks = [rank for _, (_, rank) in ordered]
        tables = tuple(table for table, _ in ordered)
        yield str(path), Retrieval(query_id, tables, scores, resorted=ranks != sorted(ranks))


def _trec_row(
    words: list[str], place: str, names: _Names
) -> tuple[str, TableId, tuple[float, int]]:
    try:
        query, _, table, rank, score, _ = words
        value = float(score)
        position = int(rank)
    except ValueError as error:
        raise DataError(
            f"{place}: expected 'query Q0 table rank score tag', found {' '.join(words)[:120]!r}"
        ) from error
    if not math.isfinite(value):
        raise DataError(f"{place}: the score is {score}")
    return names.query(query, place), names.table(table, place), (value, position)


def _from_json_lines(
    release: Release, path: Path, names: _Names
) -> Iterator[tuple[str, Retrieval]]:
    for place, record in release.json_lines(path):
        query_id = names.query(str(field(record, "query_id", object, place)), place)
        tables = tuple(names.table(t, place) for t in field(record, "tables", list, place))
        if len(set(tables)) < len(tables):
            raise DataError(f"{place}: query {query_id!r} has a table twice")
        error = record.get("error")
        if error is not None:
            yield place, Retrieval(query_id, (), error=str(error))
            continue
        scores = _scores(record.get("scores") or [], len(tables), place)
        yield place, Retrieval(query_id, tables, scores, resorted=record.get("resorted") is True)


def _scores(found: Any, n_tables: int, place: str) -> tuple[float, ...]:
    if found == []:
        return ()
    kinds = set(map(type, found)) if isinstance(found, list) else {None}
    if kinds <= {int, float} and len(found) == n_tables:
        with suppress(OverflowError):
            scores = tuple(map(float, found))
            if all(map(math.isfinite, scores)):
                return scores
    raise DataError(f"{place}: {n_tables} tables need as many numbers in 'scores'")
