"""Calls of a retriever, and validation of its answers against the contract.

Fewer tables than asked, or none, is an answer. None, NaN, an unknown id, a repeated table, more
than k tables or an exception is a fault, recorded as the error of that one query.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.interfaces import Corpus, Ranked, Ranking, Retriever
from target_bench.core.ranking import Settled, settled
from target_bench.core.redaction import without_secrets
from target_bench.core.schema import Query, Retrieval, TableId

_LOOP_BATCH = 16


class RetrieverLike(Protocol):
    """The two methods that make any object a retriever."""

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index the tables."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query, best first."""


class Fault(Exception):  # noqa: N818 (a fault of the plug-in, recorded and seldom raised)
    """A retriever's breach of its contract on one query."""


def check_methods(retriever: object) -> RetrieverLike:
    """Return the object, if it has the two methods of a retriever.

    Raises:
        ConfigError: it lacks one, or is a class in place of an object.
    """
    if isinstance(retriever, type):
        name = retriever.__name__
        raise ConfigError(f"{name} is a class; pass an object of it, as in run({name}())")
    for method in ("embed_corpus", "retrieve"):
        if not callable(getattr(retriever, method, None)):
            raise ConfigError(
                f"{type(retriever).__name__} is not a retriever: it has no method {method}. "
                "A retriever has embed_corpus(corpus) and retrieve(query, top_k)."
            )
    return retriever  # type: ignore[return-value]  # just checked


def batch_size(retriever: RetrieverLike) -> int:
    """Return the number of queries to hand over, and to write to disk, at a time."""
    own: int = getattr(retriever, "queries_at_once", Retriever.queries_at_once)
    return own if _has_batch(retriever) else _LOOP_BATCH


def _has_batch(retriever: RetrieverLike) -> bool:
    own = getattr(type(retriever), "retrieve_batch", Retriever.retrieve_batch)
    return own is not Retriever.retrieve_batch


def retrieve(
    retriever: RetrieverLike, queries: Sequence[Query], top_k: int, corpus: Corpus, stop: bool
) -> list[Retrieval]:
    """Return the retrievals of a batch of queries, in their order.

    A batch call that raises is repeated one query at a time, so that a fault costs one query and
    carries its name. Scored tables are put in the order of their scores, by ``ranking.settled``.

    Args:
        retriever: any object with the two methods.
        queries: the batch.
        top_k: the most tables a ranking may hold.
        corpus: the tables.
        stop: ask no query after one that raised; the retrievals end with it.
    """
    texts = [query.text for query in queries]
    answers = _batch_answers(retriever, texts, top_k) if _has_batch(retriever) else None
    if answers is None:
        answers = list(_single_answers(retriever, texts, top_k, stop))
    checked: Sequence[_Ranking | Fault] | None = None
    if isinstance(answers, Ranked):
        checked = _from_arrays(answers, top_k, len(corpus))
    if checked is None:
        answers = [_item(answers, i) for i in range(len(answers))]
        read = [_checked(answer, top_k, corpus.positions) for answer in answers]
        scored = [isinstance(c, _Ranking) and bool(c.scores) for c in read]
        ordered = iter(_in_order([c for c in read if isinstance(c, _Ranking) and c.scores]))
        checked = [next(ordered) if yes else c for c, yes in zip(read, scored, strict=True)]
    return [_retrieval(q.id, c, corpus) for q, c in zip(queries, checked, strict=False)]


def given(query_id: str, ranking: Any, top_k: int, corpus: Corpus) -> Retrieval:
    """Return an existing ranking as the retrieval of a query, cut after ``top_k`` tables.

    Args:
        query_id: the query.
        ranking: ids of tables, best first, or pairs of an id and a score.
        top_k: the most tables that are kept.
        corpus: the tables.

    Raises:
        DataError: it names a table that is not in the corpus, or one twice, or is not a ranking.
    """
    checked = _checked(ranking, len(corpus), corpus.positions)
    if isinstance(checked, Fault):
        fault = str(checked).replace("returned", "holds", 1)
        raise DataError(f"query {query_id!r}: its ranking {fault}")
    if checked.scores:
        (checked,) = _in_order([checked])
    whole = _retrieval(query_id, checked, corpus)
    return replace(whole, tables=whole.tables[:top_k], scores=whole.scores[:top_k])


@dataclass(slots=True)
class _Ranking:
    """Places in the corpus, and scores if the retriever gave them; the rest as in ``Retrieval``."""

    places: list[int]
    scores: list[float]
    resorted: bool = False
    tied: bool = False


def _retrieval(query_id: str, checked: "_Ranking | Fault", corpus: Corpus) -> Retrieval:
    if isinstance(checked, Fault):
        return Retrieval(query_id, (), error=without_secrets(str(checked)))
    tables = tuple(map(corpus.ids.__getitem__, checked.places))
    return Retrieval(
        query_id,
        tables,
        tuple(checked.scores),
        resorted=checked.resorted,
        tied=checked.tied,
    )


def _from_arrays(answers: Ranked, top_k: int, n_tables: int) -> list[_Ranking] | None:
    """Return the rankings, or None if one is invalid: the general way then says which, and why."""
    found = settled_arrays(answers, top_k, n_tables)
    if found is None:
        return None
    return _rankings(found, (found.rows >= 0).sum(axis=1).tolist())


def settled_arrays(answers: Ranked, top_k: int, n_tables: int) -> Settled | None:
    """Return rankings given as arrays, sorted by their scores; None if one is invalid."""
    rows, scores = np.asarray(answers.rows, dtype=np.int64), np.asarray(answers.scores)
    if rows.shape != scores.shape or rows.shape[1] > top_k or (rows >= n_tables).any():
        return None
    filled = rows >= 0
    places = np.sort(rows, axis=1)
    repeated = (places[:, 1:] == places[:, :-1]) & (places[:, 1:] >= 0)
    gaps = filled[:, 1:] & ~filled[:, :-1]
    if repeated.any() or gaps.any() or not np.isfinite(scores[filled]).all():
        return None
    return settled(rows, scores)


def _rankings(found: Settled, lengths: Iterable[int]) -> list[_Ranking]:
    arrays = (found.rows, found.scores, found.moved, found.tied)
    return [
        _Ranking(places[:n], scores[:n], *flags)
        for n, places, scores, *flags in zip(lengths, *(a.tolist() for a in arrays), strict=True)
    ]


def _in_order(rankings: list[_Ranking]) -> list[_Ranking]:
    """Return scored rankings, each sorted by its scores."""
    lengths = [len(ranking.places) for ranking in rankings]
    rows = np.full((len(rankings), max(lengths, default=0)), -1, dtype=np.int64)
    filled = np.arange(rows.shape[1]) < np.array(lengths, dtype=np.int64)[:, None]
    rows[filled] = [place for ranking in rankings for place in ranking.places]
    scores = np.zeros(rows.shape)
    scores[filled] = [score for ranking in rankings for score in ranking.scores]
    return _rankings(settled(rows, scores), lengths)


def _batch_answers(retriever: RetrieverLike, texts: list[str], top_k: int) -> Sequence[Any] | None:
    """Return the answer of the batch call, or None if it raises.

    Single queries then show which one fails.
    """
    try:
        return _ask(retriever, texts, top_k)
    except Fault as fault:
        return [fault] * len(texts)
    except (Exception, SystemExit):
        return None


def _single_answers(
    retriever: RetrieverLike, texts: list[str], top_k: int, stop: bool
) -> Iterator[Any]:
    for text in texts:
        try:
            answer = _ask(retriever, [text], top_k)[0]
        except Fault as fault:
            answer = fault
        except (Exception, SystemExit) as error:
            answer = Fault(f"raised {type(error).__name__}: {error}")
        yield answer
        if stop and isinstance(answer, Fault):
            return


def _ask(retriever: RetrieverLike, texts: list[str], top_k: int) -> Sequence[Any]:
    batch = getattr(retriever, "retrieve_batch", None)
    if batch is None:
        return [retriever.retrieve(text, top_k) for text in texts]
    answers = batch(texts, top_k)
    if answers is None or len(answers) != len(texts):
        n = "None" if answers is None else f"{len(answers)} rankings"
        raise Fault(f"retrieve_batch returned {n} for {len(texts)} queries")
    return answers if isinstance(answers, Ranked) else list(answers)


def _item(answers: Sequence[Any], i: int) -> Any:
    try:
        return answers[i]
    except Exception as error:
        return Fault(f"returned a ranking that cannot be read: {type(error).__name__}: {error}")


def _checked(
    answer: Any, top_k: int, positions: Mapping[tuple[str, str], int]
) -> "_Ranking | Fault":
    if isinstance(answer, Fault):
        return answer
    try:
        tables, scores = _split(answer)
        if len(tables) > top_k:
            raise Fault(f"returned {len(tables)} tables where at most {top_k} were asked for")
        places = _places(tables, positions)
        if len(set(places)) < len(places):
            repeated = next(t for i, t in enumerate(tables) if places[i] in places[:i])
            raise Fault(f"returned the table {_shown(repeated)} twice")
    except Fault as fault:
        return fault
    return _Ranking(places, scores)


def _split(answer: Any) -> tuple[Sequence[Any], list[float]]:
    """Return tables and scores of a ranking; no scores when it holds bare ids."""
    if answer is None:
        raise Fault("returned None; an empty list says that nothing was found")
    if isinstance(answer, str | Mapping) or not isinstance(answer, Iterable):
        raise Fault(f"returned {type(answer).__name__}, not a list of tables")
    try:
        items = list(answer)
    except Exception as error:
        raise Fault(f"raised {type(error).__name__}: {error}") from error
    try:
        bare = {issubclass(kind, str) for kind in {type(item[0]) for item in items}}
    except (TypeError, LookupError):
        return items, []  # one of them is not an id, which the look-up names
    if bare == {True, False}:
        raise Fault("returned some tables with a score and some without")
    if False not in bare:
        return items, []
    try:
        tables, scores = zip(*items, strict=True)
    except ValueError:
        raise Fault(f"returned {items[0]!r:.100}; a table is an id or a pair (id, score)") from None
    return tables, _finite(tables, scores)


def _finite(tables: Sequence[Any], scores: Sequence[Any]) -> list[float]:
    try:
        values = [float(score) for score in scores]
        if math.isfinite(sum(values)):
            return values
    except Exception:  # noqa: S110 (a score is any object; the look at each one names it)
        pass
    return [_score(table, score) for table, score in zip(tables, scores, strict=True)]


def _score(table: Any, score: Any) -> float:
    try:
        value = float(score)
    except Exception:
        value = math.nan
    if not math.isfinite(value):
        raise Fault(f"returned the score {score!r} for table {_shown(table)}")
    return value


def _places(tables: Sequence[Any], positions: Mapping[tuple[str, str], int]) -> list[int]:
    try:
        return list(map(positions.__getitem__, tables))
    except (KeyError, TypeError):
        return [_place(table, positions) for table in tables]


def _place(table: Any, positions: Mapping[tuple[str, str], int]) -> int:
    try:
        return positions[table]
    except (KeyError, TypeError):
        pass
    if isinstance(table, list) and len(table) == 2:
        return _place(tuple(table), positions)
    raise Fault(
        f"returned {_shown(table)}, which is not the id of a table in the corpus; an id is a pair "
        "(database_id, table_id), as in table.id"
    )


def _shown(table: Any) -> str:
    return str(table) if isinstance(table, TableId) else repr(table)


def is_paid(plugin: object) -> bool:
    """Return whether a plug-in, or one that it is made of, may cost money."""
    parts = getattr(plugin, "parts", None)
    inner = parts().values() if callable(parts) else ()
    return bool(getattr(plugin, "paid", False)) or any(map(is_paid, inner))
