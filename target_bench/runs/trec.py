"""TREC's formats: tables and queries as words without spaces, run lines and qrels lines."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

import numpy as np

from target_bench.core.schema import Query, Retrieval, TableId

TAG = "target-bench"

_UNSAFE = re.compile(r"[\s%{\x00-\x1f\x7f\ud800-\udfff\ufeff]")
_EMPTY = "%-"


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
        scores = _descending(retrieval.scores or _reciprocal(len(retrieval.tables)))
        for rank, (table_id, score) in enumerate(
            zip(retrieval.tables, scores, strict=True), start=1
        ):
            yield f"{query} Q0 {words[table_id]} {rank} {score} {TAG}\n"


def qrels_lines(queries: Iterable[Query], words: Mapping[TableId, str]) -> Iterator[str]:
    """Yield the lines of the judgements: ``query 0 table 1``."""
    for query in queries:
        for table_id in dict.fromkeys(query.gold):
            yield f"{word(query.id)} 0 {words[table_id]} 1\n"


def _reciprocal(n: int) -> list[float]:
    return [1 / rank for rank in range(1, n + 1)]


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
