"""Calling a retriever and holding its answers to the contract.

Fewer tables than asked, or none, is an answer. None, NaN, an unknown id, a repeated table, more
than k tables or an exception is a fault, recorded as the error of that one query.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from target_bench.errors import ConfigError
from target_bench.interfaces import Corpus, Ranked, Ranking, Retriever
from target_bench.ranking import DECIMALS, ranking_order, rounded
from target_bench.schema import Query, Retrieval, TableId
from target_bench.secrets import without_secrets

_LOOP_BATCH = 16


class RetrieverLike(Protocol):
    """The two methods that make any object a retriever."""

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index the tables."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """The tables for one query, best first."""


class Fault(Exception):  # noqa: N818 (a fault of the plug-in, recorded and seldom raised)
    """What a retriever did wrong on one query."""


def check_methods(retriever: object) -> RetrieverLike:
    """The object itself, if it has the two methods of a retriever.

    Raises:
        ConfigError: it lacks one, or is a class in place of an object.
    """
    if isinstance(retriever, type):
        name = retriever.__name__
        raise ConfigError(f"{name} is a class; pass an object of it, as in run({name}())")
    for method in ("embed_corpus", "retrieve"):
        if not callable(getattr(retriever, method, None)):
            raise ConfigError(
                f"{type(retriever).__name__} is no retriever: it has no method {method}. "
                "A retriever has embed_corpus(corpus) and retrieve(query, top_k)."
            )
    return retriever  # type: ignore[return-value]  # just checked


def batch_size(retriever: RetrieverLike) -> int:
    """How many queries to hand over, and to write to disk, at a time."""
    own: int = getattr(retriever, "queries_at_once", Retriever.queries_at_once)
    return own if _has_batch(retriever) else _LOOP_BATCH


def _has_batch(retriever: RetrieverLike) -> bool:
    own = getattr(type(retriever), "retrieve_batch", Retriever.retrieve_batch)
    return own is not Retriever.retrieve_batch


def retrieve(
    retriever: RetrieverLike, queries: Sequence[Query], top_k: int, corpus: Corpus, stop: bool
) -> list[Retrieval]:
    """The retrievals of a batch of queries, in their order.

    A batch call that raises is repeated one query at a time, so that a fault costs one query and
    carries its name. Scored tables are put in the order of their rounded scores.

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
        checked = [_checked(answer, top_k, corpus.positions) for answer in answers]
        _put_in_order([c for c in checked if isinstance(c, _Ranking) and c.scores])
    return [_retrieval(q.id, c, corpus) for q, c in zip(queries, checked, strict=False)]


@dataclass(slots=True)
class _Ranking:
    """Places in the corpus, and scores if the retriever gave them."""

    places: list[int]
    scores: list[float]
    resorted: bool = False


def _retrieval(query_id: str, checked: "_Ranking | Fault", corpus: Corpus) -> Retrieval:
    if isinstance(checked, Fault):
        return Retrieval(query_id, (), error=without_secrets(str(checked)))
    tables = tuple(map(corpus.ids.__getitem__, checked.places))
    return Retrieval(query_id, tables, tuple(checked.scores), resorted=checked.resorted)


def _from_arrays(answers: Ranked, top_k: int, n_tables: int) -> list[_Ranking] | None:
    """The rankings, or None if any is at fault or out of order: the general way then sees to it."""
    rows, scores = np.asarray(answers.rows), rounded(np.asarray(answers.scores))
    if rows.shape != scores.shape or rows.shape[1] > top_k or (rows >= n_tables).any():
        return None
    filled = rows >= 0
    sorted_places = np.sort(rows, axis=1)
    repeated = (sorted_places[:, 1:] == sorted_places[:, :-1]) & (sorted_places[:, 1:] >= 0)
    falls = scores[:, :-1] > scores[:, 1:]
    tied = (scores[:, :-1] == scores[:, 1:]) & (rows[:, :-1] < rows[:, 1:])
    ordered = falls | tied | ~filled[:, 1:]
    gaps = filled[:, 1:] & ~filled[:, :-1]
    if repeated.any() or gaps.any() or not ordered.all() or not np.isfinite(scores[filled]).all():
        return None
    lengths = filled.sum(axis=1).tolist()
    values = (scores / 10**DECIMALS).tolist()
    return [
        _Ranking(places[:n], stored[:n])
        for places, stored, n in zip(rows.tolist(), values, lengths, strict=True)
    ]


def _put_in_order(rankings: list[_Ranking]) -> None:
    """Sort every ranking by rounded score, then place in the corpus."""
    lengths = [len(ranking.places) for ranking in rankings]
    scores = np.array([s for ranking in rankings for s in ranking.scores], dtype=np.float64)
    places = np.array([p for ranking in rankings for p in ranking.places], dtype=np.int64)
    lists = np.repeat(np.arange(len(rankings)), lengths)
    with np.errstate(over="ignore"):  # a score of 1e308 masks a table; it needs no fifth decimal
        order = ranking_order(scores, places, lists)
        given = rounded(scores)
    ranked = given[order]
    stored = np.where(np.isfinite(ranked), ranked / 10**DECIMALS, scores[order])
    sorted_places, sorted_scores = places[order].tolist(), stored.tolist()
    moved = set(lists[given != ranked].tolist())
    stop = 0
    for i, (ranking, length) in enumerate(zip(rankings, lengths, strict=True)):
        start, stop = stop, stop + length
        ranking.places = sorted_places[start:stop]
        ranking.scores = sorted_scores[start:stop]
        ranking.resorted = i in moved


def _batch_answers(retriever: RetrieverLike, texts: list[str], top_k: int) -> Sequence[Any] | None:
    """What the batch call returns, or None if it raises: single queries then say which fails."""
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
    """Tables and scores of a ranking; no scores when it holds bare ids."""
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
        return items, []  # one of them is no id, which the look-up names
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
        f"returned {_shown(table)}, which is no id of a table in the corpus; an id is a pair "
        "(database_id, table_id), as in table.id"
    )


def _shown(table: Any) -> str:
    return str(table) if isinstance(table, TableId) else repr(table)
