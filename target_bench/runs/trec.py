"""TREC's formats: a run exported; tables and queries as words without spaces, lines of both."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from target_bench.core.errors import DataError, StoreError
from target_bench.core.schema import Dataset, Query, Retrieval, TableId
from target_bench.metrics.retrieval import read_grades
from target_bench.runs.manifest import queries_fingerprint
from target_bench.runs.record_log import RANKINGS, write_file
from target_bench.runs.result import Result

TAG = "target-bench"

_UNSAFE = re.compile(r"[\s%{\x00-\x1f\x7f\ud800-\udfff\ufeff]")
_EMPTY = "%-"


def export(run: Result, dataset: Dataset, out: Path) -> tuple[Path, Path]:
    """Write ``run.trec`` and ``qrels.trec``: the rankings, and the gold tables of their queries.

    ir-measures and trec_eval (with ``-c``, so that queries without any table count) score the two
    to the figures in ``scores.json``. A run file has one ranking a query: of a retriever whose
    ranking depends on how many tables are asked for, the one at the largest cutoff.

    Args:
        run: a finished run of rankings.
        dataset: what the run was of, distractors included.
        out: where the files go; made if it is not there.

    Returns:
        The paths of run and judgements.

    Raises:
        DataError: the dataset is not what the run was of.
        StoreError: the run is not finished, or a file cannot be read or written.
    """
    identity = run.identity
    if not (run.folder / RANKINGS.file).exists():
        raise StoreError(f"{run.folder}: holds no rankings; name the folder of a retrieval run")
    rankings = run.rankings
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
    if not run.is_scored or run.counts.failed != failed:
        raise StoreError(f"{run.folder}: the run is not finished; run the same command again")
    words = words_of(dataset.corpus.ids)
    lines = "".join(run_lines((rankings[query.id] for query in queries), words))
    paths = out / "run.trec", out / "qrels.trec"
    for path, text in zip(paths, (lines, "".join(qrels_lines(queries, words))), strict=True):
        write_file(path, text.encode("utf-8", "surrogatepass"), "-o")
    return paths


def word(text: str) -> str:
    """Return a text as one word: characters that would end it or change the file are encoded.

    That is white space, control characters, ``%``, ``{``, byte-order marks and lone surrogates.
    """
    return _UNSAFE.sub(lambda m: quote(m[0], safe="", errors="surrogatepass"), text) or _EMPTY


def words_of(table_ids: Iterable[TableId]) -> dict[TableId, str]:
    """Return the mapping table id -> its word, no two alike.

    The table's own id where there are no databases, else ``database/table``.
    """
    ids = list(table_ids)
    if all(table_id.database_id == "0" for table_id in ids):
        return {table_id: word(table_id.table_id) for table_id in ids}
    return {t: f"{word(t.database_id).replace('/', '%2F')}/{word(t.table_id)}" for t in ids}


def run_lines(retrievals: Iterable[Retrieval], words: Mapping[TableId, str]) -> Iterator[str]:
    """Yield the lines of a run: ``query Q0 table rank score tag``.

    trec_eval ignores the rank and keeps scores in single precision, so scores are written strictly
    descending in that precision: a tie is broken by the smallest step there is. A ranking without
    scores gets 1/rank.
    """
    for retrieval in retrievals:
        query = word(retrieval.query_id)
        scores = _descending(
            retrieval.scores or [1 / (i + 1) for i in range(len(retrieval.tables))]
        )
        for rank, (table_id, score) in enumerate(
            zip(retrieval.tables, scores, strict=True), start=1
        ):
            yield f"{query} Q0 {words[table_id]} {rank} {score} {TAG}\n"


def qrels_lines(queries: Iterable[Query], words: Mapping[TableId, str]) -> Iterator[str]:
    """Yield the lines of the judgements: ``query 0 table grade``, the grade 1 without any.

    Raises:
        DataError: a grade is no whole number, which trec_eval would cut off.
    """
    for query in queries:
        for table_id, grade in read_grades(query).items():
            if not grade.is_integer():
                raise DataError(
                    f"query {query.id!r}: the grade of {table_id} is {grade:g}, and TREC's "
                    "judgements are whole numbers"
                )
            yield f"{word(query.id)} 0 {words[table_id]} {grade:.0f}\n"


def _descending(scores: Sequence[float]) -> list[str]:
    """Return scores as text that single precision reads as strictly descending numbers."""
    least = np.float32(-np.inf)
    texts = []
    above = np.float32(np.inf)
    for score in scores:
        with np.errstate(over="ignore"):
            value = np.clip(np.float32(score), *_FINITE)
        above = value if value < above else np.nextafter(above, least)
        texts.append(f"{above:.9g}")
    return texts


_FINITE = (np.finfo(np.float32).min / 2, np.finfo(np.float32).max / 2)
