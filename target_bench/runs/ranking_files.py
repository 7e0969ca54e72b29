"""Rankings in files: TREC runs and JSON lines of other systems are read, TREC's are written.

In TREC's files a table or query is one word: white space, control characters, ``%``, ``{``,
byte-order marks and lone surrogates are percent-encoded.
"""

import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from target_bench.core.contract import read_ranking
from target_bench.core.errors import DataError, StoreError
from target_bench.core.release import Release, field
from target_bench.core.schema import Dataset, Query, Retrieval, TableId
from target_bench.core.text_tables import count_noun
from target_bench.core.unicode_text import compose
from target_bench.metrics.retrieval import read_grades
from target_bench.runs.manifest import queries_fingerprint
from target_bench.runs.record_log import RANKINGS, write_file
from target_bench.runs.result import Result

TAG = "target-bench"

_FEWEST = 3  # rankings whose scores rise with the rank before they are taken for distances


class RunFile(NamedTuple):
    """A file of rankings."""

    path: Path  # the file
    retrievals: Mapping[str, Retrieval]  # query id -> its ranking, as deep as the file has it
    sha256: str  # of the file
    # why a query that the file lacks counts as failed, or None: then it counts as answered
    # without any table (a TREC run cannot say that nothing was found)
    missing: str | None

    def rank(self, query: Query, k: int) -> Retrieval:
        """Return the first k tables of a query."""
        ranking = self.retrievals.get(query.id)
        if ranking is None:
            return Retrieval(query.id, (), error=self.missing)
        # A file of k tables may have been cut there: whether the next one ties is unknown.
        return replace(ranking, cut=None).take_first(k)

    def notes(self, queries: Sequence[Query]) -> list[str]:
        """Return the notes for a user who scores these queries."""
        absent = sum(1 for query in queries if query.id not in self.retrievals)
        note = f"{self.path} has no ranking for {absent} of {len(queries)} queries; they score 0"
        return [note] if absent else []


# Read


def read(path: Path, dataset: Dataset) -> RunFile:
    """Read a file of rankings, plain or gzipped.

    In a TREC run a table is its id, or ``database/table`` where there are databases. JSON lines are
    read as the log of a run: a ranking replaces a recorded error of the same query. In both, tables
    are ordered by their scores, as those of a retriever: the rank column and the order of lines do
    not break ties.
    """
    if not path.is_file():
        raise DataError(f"--run {path}: there is no such file (of a run folder: retrieval.jsonl)")
    release = Release(path.parent, str(path))
    with release.open(path) as file:
        is_json = file.read(1024).removeprefix(BOM_UTF8).lstrip().startswith(b"{")
    names = _Names(dataset, is_encoded=not is_json)
    parse = _parse_json_lines if is_json else _parse_trec
    retrievals: dict[str, Retrieval] = {}
    for where, retrieval in parse(release, path, names):
        earlier = retrievals.get(retrieval.query_id)
        if earlier is not None and earlier.error is None:
            raise DataError(f"{where}: query {retrieval.query_id!r} has two rankings")
        retrievals[retrieval.query_id] = retrieval
    if not retrievals:
        raise DataError(f"{path}: the file holds no ranking")
    if names.n_scored >= _FEWEST and names.n_rising == names.n_scored:
        raise DataError(
            f"{path}: in all {count_noun(names.n_scored, 'ranking')} with scores the first table "
            "has the lowest one, as if they were distances, and tables are ordered by the highest. "
            "Write similarities (a distance times -1), or no scores"
        )
    (sha256,) = release.hashes.values()
    return RunFile(path, retrievals, sha256, f"not in {path.name}" if is_json else None)


class _Names:
    """Find queries and tables of a dataset by their names in a file; count rankings with scores."""

    def __init__(self, dataset: Dataset, is_encoded: bool) -> None:
        self.n_scored = self.n_rising = 0
        self.corpus, ids = dataset.corpus, dataset.corpus.ids
        self._where = f"{dataset.info.name} {dataset.split}"
        self._queries = {query.id: query.id for query in dataset.queries}
        self._tables = {t.table_id: t for t in ids if t.database_id == "0"}
        if is_encoded:  # by our own export; other tools write names as they are
            # A mark after an escape composes with its last letter, as in %1F and a dot above.
            self._queries |= {compose(to_word(query_id)): query_id for query_id in [*self._queries]}
            self._tables |= {compose(name): t for t, name in to_words(ids).items()}

    def find_query(self, name: str, where: str) -> str:
        name = compose(name)
        if name in self._queries:
            return self._queries[name]
        raise DataError(
            f"{where}: query {name!r} is not in {self._where}. Name the split the run is of with "
            "--split."
        )

    def find_table(self, name: Any, where: str) -> TableId:
        """Return the id of a table: its id or word, ``database__table``, or a pair of ids."""
        name = compose(name)
        if isinstance(name, str) and name in self._tables:
            return self._tables[name]
        names = name.partition("__")[::2] if isinstance(name, str) else name  # as others write it
        pair = tuple(map(str, names)) if isinstance(names, list | tuple) else ()
        if len(pair) == 2 and pair in self.corpus.positions:
            return self.corpus.ids[self.corpus.positions[pair]]
        example = next(iter(self._tables), None) or list(self.corpus.ids[0])
        raise DataError(
            f"{where}: table {name!r} is not in {self._where}; its tables are called like "
            f"{example!r}"
        )

    def rank(self, query_id: str, scored: Sequence[tuple[TableId, float]]) -> Retrieval:
        """Order tables by their scores; count whether their own order is the reverse."""
        scores = [score for _, score in scored]
        if len({*scores}) > 1:
            self.n_scored += 1
            self.n_rising += scores == sorted(scores)
        return read_ranking(query_id, scored, len(scored), self.corpus)


def _parse_trec(release: Release, path: Path, names: _Names) -> Iterator[tuple[str, Retrieval]]:
    rows: dict[str, dict[TableId, tuple[int, float]]] = {}
    for number, line in enumerate(release.text(path).split("\n"), start=1):
        if not (words := line.split()):
            continue
        where = f"{path}, line {number}"
        try:
            query, _, name, rank, score, _ = words
            row = int(rank), float(score)
        except ValueError as error:
            raise DataError(
                f"{where}: expected 'query Q0 table rank score tag', found "
                f"{' '.join(words)[:120]!r}"
            ) from error
        if not math.isfinite(row[1]):
            raise DataError(f"{where}: the score is {score}")
        query_id, table = names.find_query(query, where), names.find_table(name, where)
        ranking = rows.setdefault(query_id, {})
        if table in ranking:
            raise DataError(f"{where}: query {query_id!r} has table {table} a second time")
        ranking[table] = row
    for query_id, ranking in rows.items():
        # Tools that do not count ranks write one number on all lines.
        in_order = sorted(ranking, key=lambda table: (ranking[table][0], -ranking[table][1]))
        yield str(path), names.rank(query_id, [(table, ranking[table][1]) for table in in_order])


def _parse_json_lines(
    release: Release, path: Path, names: _Names
) -> Iterator[tuple[str, Retrieval]]:
    for where, record in release.json_lines(path):
        query_id = names.find_query(str(field(record, "query_id", object, where)), where)
        tables = tuple(names.find_table(t, where) for t in field(record, "tables", list, where))
        if len(set(tables)) < len(tables):
            raise DataError(f"{where}: query {query_id!r} has a table twice")
        error = record.get("error")
        if error is not None:
            yield where, Retrieval(query_id, (), error=str(error))
            continue
        scores = _read_numbers(record.get("scores") or [], len(tables), where)
        ranking = Retrieval(query_id, tables)
        if scores:
            ranking = names.rank(query_id, list(zip(tables, scores, strict=True)))
        at = {
            int(k): tuple(names.find_table(t, where) for t in ids)
            for k, ids in (record.get("at") or {}).items()
        }
        yield where, replace(ranking, at=at)


def _read_numbers(written: Any, n_tables: int, where: str) -> tuple[float, ...]:
    if written == []:
        return ()
    kinds = set(map(type, written)) if isinstance(written, list) else {None}
    if kinds <= {int, float} and len(written) == n_tables:
        with suppress(OverflowError):
            scores = tuple(map(float, written))
            if all(map(math.isfinite, scores)):
                return scores
    raise DataError(f"{where}: {n_tables} tables need as many numbers in 'scores'")


# Write


def export_trec(run: Result, dataset: Dataset, out: Path) -> tuple[Path, Path]:
    """Write ``run.trec`` and ``qrels.trec``: the rankings, and the gold tables of their queries.

    ir-measures and trec_eval (with ``-c``, so that queries without any table count) score the two
    to the figures in ``scores.json``. A run file has one ranking a query: of a retriever whose
    ranking depends on how many tables are asked for, the one at the largest cutoff.
    """
    identity = run.identity
    if not (run.folder / RANKINGS.file).exists():
        raise StoreError(f"{run.folder}: holds no rankings; name the folder of a retrieval run")
    rankings = run.run.rankings
    queries = [query for query in dataset.queries if query.id in rankings]
    data = (dataset.corpus.fingerprint, queries_fingerprint(queries))
    if data != (identity.corpus_fingerprint, identity.queries_fingerprint):
        raise DataError(
            f"{run.folder}: the rankings are of other tables, queries or gold tables than "
            f"{dataset.info.name} {dataset.split} has now. Name the data of the run with "
            "--data-dir or --corpus, or run the same command again."
        )
    failed = sum(ranking.error is not None for ranking in rankings.values())
    # Failed queries that were asked again have other scores, which a killed process did not write.
    if not run.run.is_scored or run.stored.counts.failed != failed:
        raise StoreError(f"{run.folder}: the run is not finished; run the same command again")
    words = to_words(dataset.corpus.ids)
    lines = "".join(run_lines((rankings[query.id] for query in queries), words))
    paths = out / "run.trec", out / "qrels.trec"
    for path, text in zip(paths, (lines, "".join(qrels_lines(queries, words))), strict=True):
        write_file(path, text.encode("utf-8", "surrogatepass"), "-o")
    return paths


_UNSAFE = re.compile(r"[\s%{\x00-\x1f\x7f\ud800-\udfff\ufeff]")
_EMPTY = "%-"


def to_word(text: str) -> str:
    """Return a text as one word: characters that would end it or change the file are encoded."""
    return _UNSAFE.sub(lambda m: quote(m[0], safe="", errors="surrogatepass"), text) or _EMPTY


def to_words(table_ids: Iterable[TableId]) -> dict[TableId, str]:
    """Return the mapping table id -> its word, no two alike.

    The table's own id where there are no databases, else ``database/table``.
    """
    ids = list(table_ids)
    if all(table_id.database_id == "0" for table_id in ids):
        return {table_id: to_word(table_id.table_id) for table_id in ids}
    return {t: f"{to_word(t.database_id).replace('/', '%2F')}/{to_word(t.table_id)}" for t in ids}


def run_lines(retrievals: Iterable[Retrieval], words: Mapping[TableId, str]) -> Iterator[str]:
    """Yield the lines of a run: ``query Q0 table rank score tag``.

    A ranking without scores gets 1/rank.
    """
    for retrieval in retrievals:
        query = to_word(retrieval.query_id)
        scores = retrieval.scores or [1 / (i + 1) for i in range(len(retrieval.tables))]
        rows = zip(retrieval.tables, _to_falling_texts(scores), strict=True)
        for rank, (table_id, score) in enumerate(rows, start=1):
            yield f"{query} Q0 {words[table_id]} {rank} {score} {TAG}\n"


_FINITE = (np.finfo(np.float32).min / 2, np.finfo(np.float32).max / 2)


def _to_falling_texts(scores: Sequence[float]) -> list[str]:
    """Write scores as numbers that fall strictly in single precision.

    trec_eval ignores the rank and reads scores in single precision, so a tie is broken by the
    smallest step there is.
    """
    lowest = np.float32(-np.inf)
    texts = []
    above = np.float32(np.inf)
    for score in scores:
        with np.errstate(over="ignore"):
            value = np.clip(np.float32(score), *_FINITE)
        above = value if value < above else np.nextafter(above, lowest)
        texts.append(f"{above:.9g}")
    return texts


def qrels_lines(queries: Iterable[Query], words: Mapping[TableId, str]) -> Iterator[str]:
    """Yield the lines of the judgements: ``query 0 table grade``, the grade 1 without any."""
    for query in queries:
        for table_id, grade in read_grades(query).items():
            if not grade.is_integer():
                raise DataError(
                    f"query {query.id!r}: the grade of {table_id} is {grade:g}, and TREC's "
                    "judgements are whole numbers"
                )
            yield f"{to_word(query.id)} 0 {words[table_id]} {grade:.0f}\n"
