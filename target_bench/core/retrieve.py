"""Ask a retriever for rankings, and check them.

A ranking may have fewer tables than were asked for, or none. None, NaN, an unknown id, a repeated
table, more than k tables or an exception is a fault, recorded as the error of that one query.
"""

from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence, Set, Sized
from functools import partial
from itertools import islice
from math import isfinite, nan
from operator import getitem
from typing import Any

import numpy as np

from target_bench.core.contract import Retriever, RetrieverLike
from target_bench.core.credentials import without_secrets
from target_bench.core.errors import PASSED_ON, DataError
from target_bench.core.ranking import (
    ListedRanking,
    Ranked,
    list_rankings,
    sort_arrays,
    sort_by_score,
)
from target_bench.core.schema import Corpus, Query, Retrieval, TableId
from target_bench.core.user_code import (
    describe_with_line,
    format_traceback,
    restore_process,
    show_value,
)

_LOOP_BATCH = 16  # queries between two writes to disk, of a retriever that is asked one by one
_UNORDERED = (Set, Mapping, MappingView)
_NOT_NUMBERS = (str, bytes, bytearray, bool, np.bool_)


class Fault(Exception):  # noqa: N818 (of the plug-in; it leaves this module as a recorded error)
    """A breach of the retriever's contract on one query."""


def get_batch_size(retriever: RetrieverLike) -> int:
    """Return the number of queries to ask at a time, after which rankings are written to disk."""
    if not _has_batch(retriever):
        return _LOOP_BATCH
    size: int = getattr(retriever, "queries_at_once", Retriever.queries_at_once)
    return size


def _has_batch(retriever: RetrieverLike) -> bool:
    method = getattr(type(retriever), "retrieve_batch", Retriever.retrieve_batch)
    return method is not Retriever.retrieve_batch


@restore_process()
def retrieve_tables(
    retriever: Any,
    queries: Sequence[Query],
    top_k: int,
    corpus: Corpus,
    most_failures: int | None = None,
    reads_gold: bool = False,
) -> list[Retrieval]:
    """Return the retrievals of a batch of queries, in their order.

    Args:
        retriever: any object with the two methods.
        queries: the batch.
        top_k: the most tables that a ranking may have.
        corpus: the tables, in the order that the retriever got them (``Corpus.shuffled``).
        most_failures: stop if this many queries, asked one by one, all failed.
        reads_gold: ask with whole queries in place of their texts (``Retriever.reads_gold``).

    Returns:
        One retrieval for each query; only the first ``most_failures`` where these all failed.
    """
    questions: list[Any] = list(queries) if reads_gold else [query.text for query in queries]
    if _has_batch(retriever):
        batch = _retrieve_batch(retriever, queries, questions, top_k, corpus)
        if batch is not None:
            return batch
    retrievals: list[Retrieval] = []
    for query, question in zip(queries, questions, strict=True):
        ask = partial(_ask_one, retriever, question, top_k)
        retrievals.append(_read_answer(query.id, ask, top_k, corpus))
        n = len(retrievals)
        if n == most_failures and all(retrieval.error is not None for retrieval in retrievals):
            break
    return retrievals


def _retrieve_batch(
    retriever: Any, queries: Sequence[Query], questions: list[Any], top_k: int, corpus: Corpus
) -> list[Retrieval] | None:
    """Ask all queries in one call; None if it raises: asked one by one, only some of them fail."""
    try:
        answers = _ask_batch(retriever, questions, top_k)
    except Fault as fault:
        return [Retrieval(query.id, (), error=str(fault)) for query in queries]
    except PASSED_ON:
        raise
    except BaseException:
        return None
    arrays = sort_arrays(answers, top_k, corpus.ids) if isinstance(answers, Ranked) else None
    if arrays is not None:  # the fast way; invalid arrays are read one by one, to name the fault
        rankings = list_rankings(arrays, (arrays.rows >= 0).sum(axis=1).tolist())
        pairs = zip(queries, rankings, strict=True)
        return [_to_retrieval(query.id, ranking, corpus) for query, ranking in pairs]
    return [
        _read_answer(query.id, partial(getitem, answers, i), top_k, corpus)
        for i, query in enumerate(queries)
    ]


def _ask_batch(retriever: Any, questions: list[Any], top_k: int) -> Any:
    answers = retriever.retrieve_batch(list(questions), top_k)  # a copy: it may change its list
    if isinstance(answers, _UNORDERED) or not hasattr(answers, "__len__"):
        kind = "None" if answers is None else type(answers).__name__
        raise Fault(f"retrieve_batch returned {kind}, not a list with a ranking for each query")
    if len(answers) != len(questions):
        raise Fault(f"retrieve_batch returned {len(answers)} rankings for {len(questions)} queries")
    return answers


def _ask_one(retriever: Any, question: Any, top_k: int) -> Any:
    if _has_batch(retriever):
        return _ask_batch(retriever, [question], top_k)[0]
    return retriever.retrieve(question, top_k)


def read_ranking(query_id: str, ranking: Any, top_k: int, corpus: Corpus) -> Retrieval:
    """Return the ranking of another system as the retrieval of a query, cut after ``top_k``."""
    # The order of ``shuffled`` breaks ties.
    whole = _read_answer(query_id, lambda: ranking, len(corpus), corpus.shuffled)
    if whole.error is not None:
        fault = whole.error.replace("returned", "holds", 1)
        raise DataError(f"query {query_id!r}: its ranking {fault}")
    return whole.take_cutoff(top_k)


def _read_answer(query_id: str, ask: Callable[[], Any], top_k: int, corpus: Corpus) -> Retrieval:
    """Ask for a ranking and check it; a fault or an exception is the error of the query."""
    try:
        return _to_retrieval(query_id, _check_ranking(ask(), top_k, corpus.positions), corpus)
    except PASSED_ON:
        raise
    except Fault as fault:
        return Retrieval(query_id, (), error=without_secrets(str(fault)))
    except BaseException as error:
        problem = without_secrets(f"raised {describe_with_line(error)}")
        trace = without_secrets(format_traceback(error))
        return Retrieval(query_id, (), error=problem, traceback=trace)


def _to_retrieval(query_id: str, ranking: ListedRanking, corpus: Corpus) -> Retrieval:
    tables = tuple(map(corpus.ids.__getitem__, ranking.positions))
    scores = tuple(ranking.scores)
    return Retrieval(query_id, tables, scores, resorted=ranking.moved, tied=ranking.tied)


def _check_ranking(
    answer: Any, top_k: int, positions: Mapping[tuple[str, str], int]
) -> ListedRanking:
    """Return what a retriever returned as a ranking by its scores, or raise its ``Fault``."""
    if answer is None:
        raise Fault("returned None; an empty list says that nothing was found")
    if isinstance(answer, _UNORDERED):
        raise Fault(f"returned {type(answer).__name__}, which has no order; a ranking is a list")
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise Fault(f"returned {type(answer).__name__}, not a list of tables")
    items = list(islice(answer, top_k + 1))  # it may yield for ever
    if len(items) > top_k:
        n = f"{len(answer)}" if isinstance(answer, Sized) else f"more than {top_k}"
        raise Fault(f"returned {n} tables where at most {top_k} were asked for")
    tables, scores = _split_scores(items)
    found = [_find_position(table, positions) for table in tables]
    if len(set(found)) < len(found):
        repeated = next(t for i, t in enumerate(tables) if found[i] in found[:i])
        raise Fault(f"returned the table {_show_table(repeated)} twice")
    if not scores:
        return ListedRanking(found, [])
    arrays = sort_by_score(np.array([found]), np.array([scores]))
    (ranking,) = list_rankings(arrays, [len(found)])
    return ranking


def _split_scores(items: list[Any]) -> tuple[Sequence[Any], list[float]]:
    """Return the tables and scores of a ranking; no scores for ids alone."""
    try:
        are_ids = {isinstance(item[0], str) for item in items}  # an id is a pair of texts
    except (TypeError, LookupError):
        return items, []  # no ids either: the look-up of positions raises the fault
    if are_ids == {True, False}:
        raise Fault("returned some tables with a score and some without")
    if False not in are_ids:
        return items, []
    try:
        tables, scores = zip(*items, strict=True)
    except ValueError:
        raise Fault(
            f"returned {show_value(items[0])}; a table is an id or a pair (id, score)"
        ) from None
    return tables, list(map(_read_score, tables, scores))


def _read_score(table: Any, score: Any) -> float:
    try:
        value = nan if isinstance(score, _NOT_NUMBERS) else float(score)
    except Exception:  # of any object, as of a tensor of several numbers
        value = nan
    if not isfinite(value):
        raise Fault(
            f"returned the score {show_value(score)} for table {_show_table(table)}; expected a "
            "finite number"
        )
    return value


def _find_position(table: Any, positions: Mapping[tuple[str, str], int]) -> int:
    try:
        return positions[tuple(table) if isinstance(table, list) else table]
    except (KeyError, TypeError):
        raise Fault(
            f"returned {_show_table(table)}, which is not the id of a table in the corpus; an id "
            "is a pair (database_id, table_id), as in table.id"
        ) from None


def _show_table(table: Any) -> str:
    return str(table) if isinstance(table, TableId) else show_value(table)
