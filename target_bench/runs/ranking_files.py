"""Rankings that were made elsewhere: a TREC run, or JSON lines as ``retrieval.jsonl`` has them."""

import math
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.contract import read_ranking
from target_bench.core.errors import DataError
from target_bench.core.release import Release, field
from target_bench.core.schema import Dataset, Query, Retrieval, TableId
from target_bench.core.text_tables import counted
from target_bench.core.unicode_text import compose
from target_bench.runs.trec import word, words_of

_FEWEST = 3
"""Rankings whose scores rise with the rank before they are taken for distances."""


class RunFile(NamedTuple):
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
        """Return the first k tables of a query."""
        ranking = self.retrievals.get(query.id)
        if ranking is None:
            return Retrieval(query.id, (), error=self.missing)
        scores = ranking.scores
        # A file of k tables may have been cut there, so what would come next is not known.
        cut = scores[k - 1] == scores[k] if len(scores) > k else None
        return replace(ranking, tables=ranking.tables[:k], scores=scores[:k], cut=cut)

    def notes(self, queries: Sequence[Query]) -> list[str]:
        """Return the notes for a user who scores these queries."""
        absent = sum(1 for query in queries if query.id not in self.retrievals)
        note = f"{self.path} has no ranking for {absent} of {len(queries)} queries; they score 0"
        return [note] if absent else []


def read(path: Path, dataset: Dataset) -> RunFile:
    """Read a run file, plain or gzipped.

    In a TREC run a table is its id, or ``database/table`` where there are databases, with white
    space percent-encoded (``export --format trec`` writes it so). JSON lines are
    read as the log of a run: a ranking replaces a recorded error of the same query, and half a
    last line is left out. In both, tables are ordered by their scores, as those of a retriever
    (``ranking.settled``): the rank column and the order of lines do not break ties.

    Raises:
        DataError: the file cannot be read, a line is none of its format, a table or query is not
            in the corpus, a query has a table twice, or scores are distances.
    """
    if not path.is_file():
        raise DataError(f"--run {path}: there is no such file (of a run folder: retrieval.jsonl)")
    release = Release(path.parent, str(path))
    with release.open(path) as file:
        json_lines = file.read(1024).removeprefix(BOM_UTF8).lstrip().startswith(b"{")
    names = _Names(dataset, encoded=not json_lines)
    parse = _from_json_lines if json_lines else _from_trec
    retrievals: dict[str, Retrieval] = {}
    for place, retrieval in parse(release, path, names):
        earlier = retrievals.get(retrieval.query_id)
        if earlier is not None and earlier.error is None:
            raise DataError(f"{place}: query {retrieval.query_id!r} has two rankings")
        retrievals[retrieval.query_id] = retrieval
    if not retrievals:
        raise DataError(f"{path}: the file holds no ranking")
    if names.n_scored >= _FEWEST and names.n_rising == names.n_scored:
        raise DataError(
            f"{path}: in all {counted(names.n_scored, 'ranking')} with scores the first table has "
            "the lowest one, as if they were distances, and tables are ordered by the highest. "
            "Write similarities (a distance times -1), or no scores"
        )
    (sha256,) = release.hashes.values()
    return RunFile(path, retrievals, sha256, f"not in {path.name}" if json_lines else None)


class _Names:
    """Names in a run file -> queries and tables of a dataset; counts rankings with scores.

    Args:
        dataset: the dataset.
        encoded: whether the file is a TREC run, which ``export`` writes with words (``trec.word``);
            other tools write names as they are.
    """

    def __init__(self, dataset: Dataset, encoded: bool) -> None:
        self.n_scored = self.n_rising = 0
        self.corpus, ids = dataset.corpus, dataset.corpus.ids
        self._where = f"{dataset.info.name} {dataset.split}"
        self._queries = {query.id: query.id for query in dataset.queries}
        self._tables = {t.table_id: t for t in ids if t.database_id == "0"}
        if encoded:
            # A mark after an escape composes with its last letter, as in %1F and a dot above.
            self._queries |= {compose(word(query_id)): query_id for query_id in [*self._queries]}
            self._tables |= {compose(name): t for t, name in words_of(ids).items()}

    def query(self, name: str, place: str) -> str:
        """Return the id of a query."""
        name = compose(name)
        if name in self._queries:
            return self._queries[name]
        raise DataError(
            f"{place}: query {name!r} is not in {self._where}. Name the split the run is of with "
            "--split."
        )

    def table(self, name: Any, place: str) -> TableId:
        """Return the id of a table: its id or word, ``database__table``, or a pair of ids."""
        name = compose(name)
        if isinstance(name, str) and name in self._tables:
            return self._tables[name]
        names = name.partition("__")[::2] if isinstance(name, str) else name  # as others write it
        pair = tuple(map(str, names)) if isinstance(names, list | tuple) else ()
        if len(pair) == 2 and pair in self.corpus.positions:
            return self.corpus.ids[self.corpus.positions[pair]]
        known = next(iter(self._tables), None) or list(self.corpus.ids[0])
        raise DataError(
            f"{place}: table {name!r} is not in {self._where}; its tables are called like {known!r}"
        )


def _from_trec(release: Release, path: Path, names: _Names) -> Iterator[tuple[str, Retrieval]]:
    rows: dict[str, dict[TableId, tuple[int, float]]] = {}
    for number, line in enumerate(release.text(path).split("\n"), start=1):
        if not (words := line.split()):
            continue
        place = f"{path}, line {number}"
        try:
            query, _, name, rank, score, _ = words
            row = int(rank), float(score)
        except ValueError as error:
            raise DataError(
                f"{place}: expected 'query Q0 table rank score tag', found "
                f"{' '.join(words)[:120]!r}"
            ) from error
        if not math.isfinite(row[1]):
            raise DataError(f"{place}: the score is {score}")
        query_id, table = names.query(query, place), names.table(name, place)
        ranking = rows.setdefault(query_id, {})
        if table in ranking:
            raise DataError(f"{place}: query {query_id!r} has table {table} a second time")
        ranking[table] = row
    for query_id, ranking in rows.items():
        # Tools that do not count ranks write one number on all lines.
        given = sorted(ranking, key=lambda table: (ranking[table][0], -ranking[table][1]))
        scored = [(table, ranking[table][1]) for table in given]
        yield str(path), _scored_ranking(query_id, scored, names)


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
        ranking = Retrieval(query_id, tables)
        if scores:
            ranking = _scored_ranking(query_id, list(zip(tables, scores, strict=True)), names)
        shallow = record.get("at") or {}
        at = {int(k): tuple(names.table(t, place) for t in ids) for k, ids in shallow.items()}
        yield place, replace(ranking, at=at)


def _scored_ranking(
    query_id: str, scored: Sequence[tuple[TableId, float]], names: _Names
) -> Retrieval:
    """Order tables by their scores; ``names`` counts whether their own order is the reverse."""
    scores = [score for _, score in scored]
    if len({*scores}) > 1:
        names.n_scored += 1
        names.n_rising += scores == sorted(scores)
    return read_ranking(query_id, scored, len(scored), names.corpus)


def _scores(written: Any, n_tables: int, place: str) -> tuple[float, ...]:
    if written == []:
        return ()
    kinds = set(map(type, written)) if isinstance(written, list) else {None}
    if kinds <= {int, float} and len(written) == n_tables:
        with suppress(OverflowError):
            scores = tuple(map(float, written))
            if all(map(math.isfinite, scores)):
                return scores
    raise DataError(f"{place}: {n_tables} tables need as many numbers in 'scores'")
