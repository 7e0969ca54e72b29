"""Read rankings of other systems, as TREC runs or JSON lines, and write TREC runs.

In a TREC file the name of a table or query is one word: white space, control characters, ``%``,
``{``, byte-order marks and lone surrogates are percent-encoded.
"""

import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from target_bench.core.errors import DataError, StoreError
from target_bench.core.release import Release, field
from target_bench.core.retrieve import read_ranking
from target_bench.core.schema import Corpus, Dataset, Query, Retrieval, TableId
from target_bench.core.text_tables import count_noun
from target_bench.core.unicode_text import compose
from target_bench.metrics.retrieval import read_grades
from target_bench.runs.manifest import queries_fingerprint
from target_bench.runs.record_log import RANKINGS, write_file
from target_bench.runs.result import Result

TAG = "target-bench"

_FEWEST = 3  # rankings with rising scores that are taken for distances


class RunFile(NamedTuple):
    """A file of rankings."""

    path: Path
    retrievals: Mapping[str, Retrieval]  # query id -> its ranking, as deep as the file has it
    sha256: str  # of the file
    # The error of queries that the file lacks. None for a TREC run, which has no line for a query
    # without any table: they are no failures.
    missing_error: str | None

    def rank(self, query: Query, k: int) -> Retrieval:
        """Return the first k tables of a query."""
        ranking = self.retrievals.get(query.id)
        if ranking is None:
            return Retrieval(query.id, (), error=self.missing_error)
        # A file of k tables may have been cut there: whether the next one ties is unknown.
        return replace(ranking, divides_ties=None).take_cutoff(k)

    def notes(self, queries: Sequence[Query]) -> list[str]:
        """Return the notes for a user who scores these queries."""
        missing = sum(query.id not in self.retrievals for query in queries)
        note = f"{self.path} has no ranking for {missing} of {len(queries)} queries; they score 0"
        return [note] if missing else []


# Read


class _Entry(NamedTuple):
    """The ranking of a query as a file has it."""

    where: str  # file and line, for errors
    query_id: str
    tables: Sequence[TableId] = ()  # in the order of the file
    scores: Sequence[float] = ()
    error: str | None = None
    at: Mapping[int, tuple[TableId, ...]] = MappingProxyType({})  # as in ``Retrieval``


def read_run_file(path: Path, dataset: Dataset) -> RunFile:
    """Read a file of rankings, plain or gzipped.

    In a TREC run a table is its id, or ``database/table`` where there are databases. JSON lines are
    read as the log of a run, which asks a query again that failed, and ranks it at smaller cutoffs
    too (``at``) once rankings turn out to depend on k: the line of the second time counts. In both
    forms tables are ordered by their scores, as those of a retriever: the rank column and the order
    of lines do not break ties.
    """
    if not path.is_file():
        raise DataError(f"--run {path}: there is no such file (in a run folder: retrieval.jsonl)")
    release = Release(path.parent, str(path))
    with release.open(path) as file:
        is_json = file.read(1024).removeprefix(BOM_UTF8).lstrip().startswith(b"{")
    names = _Names(dataset, is_encoded=not is_json)
    parse = _parse_json_lines if is_json else _parse_trec
    retrievals: dict[str, Retrieval] = {}
    n_scored = n_rising = 0
    for entry in parse(release, path, names):
        earlier = retrievals.get(entry.query_id)
        # A run asks again after a failure, and for the smaller cutoffs, where a query may fail too;
        # a second ranking of another kind is a fault of the file.
        was_asked_again = earlier is not None and (
            earlier.error is not None
            or (not earlier.at and (bool(entry.at) or entry.error is not None))
        )
        if earlier is not None and not was_asked_again:
            raise DataError(f"{entry.where}: query {entry.query_id!r} has two rankings")
        retrievals[entry.query_id] = _to_retrieval(entry, dataset.corpus)
        if len(set(entry.scores)) > 1:
            n_scored += 1
            n_rising += list(entry.scores) == sorted(entry.scores)
    if not retrievals:
        raise DataError(f"{path}: the file holds no ranking")
    if n_scored >= _FEWEST and n_rising == n_scored:
        raise DataError(
            f"{path}: in all {count_noun(n_scored, 'ranking')} with scores the first table "
            "has the lowest one, as if they were distances, and tables are ordered by the highest. "
            "Write similarities (a distance times -1), or no scores"
        )
    (sha256,) = release.hashes.values()
    return RunFile(path, retrievals, sha256, f"not in {path.name}" if is_json else None)


def _to_retrieval(entry: _Entry, corpus: Corpus) -> Retrieval:
    if not entry.scores:
        return Retrieval(entry.query_id, tuple(entry.tables), error=entry.error, at=entry.at)
    scored = list(zip(entry.tables, entry.scores, strict=True))
    return replace(read_ranking(entry.query_id, scored, len(scored), corpus), at=entry.at)


class _Names:
    """Find queries and tables of a dataset by their names in a file."""

    def __init__(self, dataset: Dataset, is_encoded: bool) -> None:
        self._corpus, ids = dataset.corpus, dataset.corpus.ids
        self._where = f"{dataset.info.name} {dataset.split}"
        self._queries = {query.id: query.id for query in dataset.queries}
        self._tables = {t.table_id: t for t in ids if t.database_id == "0"}
        if is_encoded:  # by our own export; other tools write names as they are
            # Names in the file are composed, also across an escape: the F of %1F and an accent that
            # follows it become one character.
            self._queries |= {compose(to_word(query_id)): query_id for query_id in [*self._queries]}
            self._tables |= {compose(name): t for t, name in to_words(ids).items()}

    def find_query(self, name: str, where: str) -> str:
        name = compose(name)
        if name in self._queries:
            return self._queries[name]
        raise DataError(
            f"{where}: query {name!r} is not in {self._where}. Name the split of the run with "
            "--split."
        )

    def find_table(self, name: Any, where: str) -> TableId:
        """Return the table with an id, a word, two ids with ``__`` or ``/`` between, or a pair."""
        name = compose(name)  # of a pair, both texts
        if isinstance(name, str) and name in self._tables:
            return self._tables[name]
        pairs: list[tuple[str, ...]] = []
        if isinstance(name, str):  # as other tools write it; both names may have the mark in them
            marks = re.finditer("(?=(__|/))", name)
            pairs = [(name[: m.start()], name[m.end(1) :]) for m in marks]
        elif isinstance(name, list | tuple):
            pairs = [tuple(map(str, name))]
        positions = self._corpus.positions
        found = [positions[pair] for pair in pairs if len(pair) == 2 and pair in positions]
        if len(found) == 1:
            return self._corpus.ids[found[0]]
        if found:
            first, second, *_ = (self._corpus.ids[position] for position in found)
            raise DataError(
                f"{where}: table {name!r} is ambiguous: {list(first)} or {list(second)}"
            )
        example = next(iter(self._tables), None) or list(self._corpus.ids[0])
        raise DataError(
            f"{where}: table {name!r} is not in {self._where}; its table ids look like {example!r}"
        )


def _parse_trec(release: Release, path: Path, names: _Names) -> Iterator[_Entry]:
    rankings: dict[str, dict[TableId, tuple[int, float]]] = {}
    for number, line in enumerate(release.text(path).split("\n"), start=1):
        words = line.split()
        if not words:
            continue
        where = f"{path}, line {number}"
        try:
            query, _, name, written_rank, written_score, _ = words
            rank, score = int(written_rank), float(written_score)
        except ValueError as error:
            raise DataError(
                f"{where}: expected 'query Q0 table rank score tag', found "
                f"{' '.join(words)[:120]!r}"
            ) from error
        if not math.isfinite(score):
            raise DataError(f"{where}: expected a finite score, found {written_score}")
        query_id, table = names.find_query(query, where), names.find_table(name, where)
        ranking = rankings.setdefault(query_id, {})
        if table in ranking:
            raise DataError(f"{where}: query {query_id!r} has table {table} a second time")
        ranking[table] = (rank, -score)  # a tool that counts no ranks writes 1 on every line
    for query_id, ranking in rankings.items():
        # By the rank column, so that rising scores are recognized as distances; ``_to_retrieval``
        # then sorts by score.
        tables = sorted(ranking, key=ranking.__getitem__)
        yield _Entry(str(path), query_id, tables, [-ranking[table][1] for table in tables])


def _parse_json_lines(release: Release, path: Path, names: _Names) -> Iterator[_Entry]:
    for where, record in release.json_lines(path):
        query_id = names.find_query(str(field(record, "query_id", object, where)), where)
        tables = tuple(names.find_table(t, where) for t in field(record, "tables", list, where))
        if len(set(tables)) < len(tables):
            raise DataError(f"{where}: query {query_id!r} has a table twice")
        error = record.get("error")
        if error is not None:
            yield _Entry(where, query_id, error=str(error))
            continue
        scores = _read_numbers(record.get("scores") or [], len(tables), where)
        at = _read_cutoffs(record.get("at") or {}, names, where)
        yield _Entry(where, query_id, tables, scores, at=at)


def _read_cutoffs(written: Any, names: _Names, where: str) -> dict[int, tuple[TableId, ...]]:
    """Read the rankings at smaller cutoffs, as in ``Retrieval.at``."""
    if not isinstance(written, dict) or not all(
        k.isdecimal() and isinstance(tables, list) for k, tables in written.items()
    ):
        raise DataError(
            f"{where}: 'at': expected an object of cutoffs and their tables, as in "
            f'{{"1": ["a"]}}, found {written!r:.80}'
        )
    return {
        int(k): tuple(names.find_table(table, where) for table in tables)
        for k, tables in written.items()
    }


def _read_numbers(written: Any, n_tables: int, where: str) -> list[float]:
    if written == []:
        return []
    # type() and not isinstance: True is no score
    if isinstance(written, list) and all(type(number) in (int, float) for number in written):
        with suppress(OverflowError):
            scores = [float(number) for number in written]
            if len(scores) == n_tables and all(map(math.isfinite, scores)):
                return scores
    raise DataError(f"{where}: 'scores': expected a finite number per table ({n_tables} in all)")


# Write


def export_trec(result: Result, dataset: Dataset, out: Path) -> tuple[Path, Path]:
    """Write ``run.trec`` and ``qrels.trec``: the rankings, and the gold tables of their queries.

    ir-measures and trec_eval (with ``-c``, so that queries without any table count) score the two
    to the figures in ``scores.json``. A run file has one ranking a query: of a retriever whose
    ranking depends on how many tables are asked for, the one at the largest cutoff.
    """
    identity = result.identity
    if not (result.folder / RANKINGS.file).exists():
        raise StoreError(f"{result.folder}: holds no rankings; name the folder of a retrieval run")
    rankings = result.run.rankings
    queries = [query for query in dataset.queries if query.id in rankings]
    data = (dataset.corpus.fingerprint, queries_fingerprint(queries))
    if data != (identity.corpus_fingerprint, identity.queries_fingerprint):
        raise DataError(
            f"{result.folder}: the rankings are of other tables, queries or gold tables than "
            f"{dataset.info.name} {dataset.split} has now. Name the data of the run with "
            "--data-dir or --corpus, or run the same command again."
        )
    failed = sum(ranking.error is not None for ranking in rankings.values())
    # A process that asked failed queries again, and was killed, left the scores of the first one.
    if not result.run.is_scored or result.stored.counts.failed != failed:
        raise StoreError(
            f"{result.folder}: the run is not finished; finish it with the command that began it"
        )
    words = to_words(dataset.corpus.ids)
    run_text = "".join(format_run((rankings[query.id] for query in queries), words))
    qrels_text = "".join(format_qrels(queries, words))
    paths = out / "run.trec", out / "qrels.trec"
    for path, text in zip(paths, (run_text, qrels_text), strict=True):
        write_file(path, text.encode("utf-8", "surrogatepass"), "-o")
    return paths


_UNSAFE = re.compile(r"[\s%{\x00-\x1f\x7f\ud800-\udfff\ufeff]")
_EMPTY = "%-"


def to_word(text: str) -> str:
    """Return a text as one word, with the characters encoded that are none of a word."""
    return _UNSAFE.sub(lambda m: quote(m[0], safe="", errors="surrogatepass"), text) or _EMPTY


def to_words(table_ids: Iterable[TableId]) -> dict[TableId, str]:
    """Return table id -> its word, no two alike.

    It is ``database/table``, or the table alone if there are no databases.
    """
    ids = list(table_ids)
    if all(table_id.database_id == "0" for table_id in ids):
        return {table_id: to_word(table_id.table_id) for table_id in ids}
    return {t: f"{to_word(t.database_id).replace('/', '%2F')}/{to_word(t.table_id)}" for t in ids}


def format_run(retrievals: Iterable[Retrieval], words: Mapping[TableId, str]) -> Iterator[str]:
    """Yield the lines ``query Q0 table rank score tag``; the score is 1/rank if there is none."""
    for retrieval in retrievals:
        query = to_word(retrieval.query_id)
        scores = retrieval.scores or [1 / (i + 1) for i in range(len(retrieval.tables))]
        rows = zip(retrieval.tables, _to_falling_texts(scores), strict=True)
        for rank, (table_id, score) in enumerate(rows, start=1):
            yield f"{query} Q0 {words[table_id]} {rank} {score} {TAG}\n"


_BOUNDS = (np.finfo(np.float32).min / 2, np.finfo(np.float32).max / 2)  # far from infinity


def _to_falling_texts(scores: Sequence[float]) -> list[str]:
    """Write scores as numbers that fall strictly in single precision.

    trec_eval ignores the rank and reads scores in single precision, so a tie is broken by the
    smallest step there is.
    """
    texts = []
    last = np.float32(np.inf)
    for score in scores:
        with np.errstate(over="ignore"):
            value = np.clip(np.float32(score), *_BOUNDS)
        last = value if value < last else np.nextafter(last, np.float32(-np.inf))
        texts.append(f"{last:.9g}")
    return texts


def format_qrels(queries: Iterable[Query], words: Mapping[TableId, str]) -> Iterator[str]:
    """Yield the lines of the judgements: ``query 0 table grade``; the grade is 1 by default."""
    for query in queries:
        for table_id, grade in read_grades(query).items():
            if not grade.is_integer():
                raise DataError(
                    f"query {query.id!r}: the grade of {table_id} is {grade:g}, and TREC's "
                    "judgements are whole numbers"
                )
            yield f"{to_word(query.id)} 0 {words[table_id]} {grade:.0f}\n"
