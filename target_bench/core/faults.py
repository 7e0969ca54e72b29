"""Reading of a retriever's answer one table at a time: what it breaks of the contract, in words."""

import math
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MappingView,
    Sequence,
    Set,
    Sized,
)
from itertools import islice
from typing import Any

import numpy as np

from target_bench.core.errors import PASSED_ON
from target_bench.core.ranking import CheckedRanking, listed, settled
from target_bench.core.schema import TableId
from target_bench.core.user_code import described, place, shown, whole_traceback

_UNORDERED = (Set, Mapping, MappingView)
_NO_NUMBERS = (str, bytes, bytearray, bool, np.bool_)


class Fault(Exception):  # noqa: N818 (a fault of the plug-in, recorded and seldom raised)
    """A retriever's breach of its contract on one query.

    Attributes:
        traceback: of what its code raised; None where it raised nothing.
    """

    traceback: str | None = None


def raised(error: BaseException) -> Fault:
    """Return what a retriever raised as its fault, with the line of its file."""
    fault = Fault(f"raised {described(error)}{place(error)}")
    fault.traceback = whole_traceback(error)
    return fault


def all_checked(
    answers: Sequence[Any], top_k: int, positions: Mapping[tuple[str, str], int]
) -> list[CheckedRanking | Fault]:
    """Return the rankings of a batch, each sorted by its scores, or its first fault."""
    read = [checked(_item(answers, i), top_k, positions) for i in range(len(answers))]
    scored = [isinstance(c, CheckedRanking) and bool(c.scores) for c in read]
    ordered = iter(in_order([c for c in read if isinstance(c, CheckedRanking) and c.scores]))
    return [next(ordered) if yes else c for c, yes in zip(read, scored, strict=True)]


def _item(answers: Sequence[Any], i: int) -> Any:
    try:
        return answers[i]
    except PASSED_ON:
        raise
    except BaseException as error:
        fault = Fault(f"returned a ranking that cannot be read: {described(error)}{place(error)}")
        fault.traceback = whole_traceback(error)
        return fault


def checked(
    answer: Any, top_k: int, positions: Mapping[tuple[str, str], int]
) -> CheckedRanking | Fault:
    """Return the places of a ranking's tables in the corpus, or its first fault.

    Args:
        answer: what the retriever gave; a fault is returned as it is.
        top_k: the most tables it may hold.
        positions: table id -> its place in the corpus.
    """
    if isinstance(answer, Fault):
        return answer
    try:
        tables, scores = _split(answer, top_k)
        places = _places(tables, positions)
        if len(set(places)) < len(places):
            repeated = next(t for i, t in enumerate(tables) if places[i] in places[:i])
            raise Fault(f"returned the table {_shown(repeated)} twice")
    except Fault as fault:
        return fault
    except PASSED_ON:
        raise
    except BaseException as error:  # of an item with a __hash__ or a __repr__ of its own, say
        return raised(error)
    return CheckedRanking(places, scores)


def _split(answer: Any, top_k: int) -> tuple[Sequence[Any], list[float]]:
    """Return tables and scores of a ranking; no scores when it holds bare ids."""
    if answer is None:
        raise Fault("returned None; an empty list says that nothing was found")
    if isinstance(answer, _UNORDERED):
        raise Fault(f"returned {type(answer).__name__}, which has no order; a ranking is a list")
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise Fault(f"returned {type(answer).__name__}, not a list of tables")
    try:
        items = list(islice(answer, top_k + 1))  # it may yield for ever
        if len(items) > top_k:
            n = f"{len(answer)}" if isinstance(answer, Sized) else f"more than {top_k}"
            raise Fault(f"returned {n} tables where at most {top_k} were asked for")
    except (*PASSED_ON, Fault):
        raise
    except BaseException as error:
        raise raised(error) from error
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
        raise Fault(f"returned {shown(items[0])}; a table is an id or a pair (id, score)") from None
    return tables, _finite(tables, scores)


def _finite(tables: Sequence[Any], scores: Sequence[Any]) -> list[float]:
    try:
        values = [float(score) for score in scores]
        no_number = any(issubclass(kind, _NO_NUMBERS) for kind in {*map(type, scores)})
        if math.isfinite(sum(values)) and not no_number:
            return values
    except Exception:  # noqa: S110 (a score is any object; the look at each one names it)
        pass
    return [_score(table, score) for table, score in zip(tables, scores, strict=True)]


def _score(table: Any, score: Any) -> float:
    try:
        value = math.nan if isinstance(score, _NO_NUMBERS) else float(score)
    except Exception:
        value = math.nan
    if not math.isfinite(value):
        raise Fault(
            f"returned the score {shown(score)} for table {_shown(table)}; a score is a number"
        )
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
    return str(table) if isinstance(table, TableId) else shown(table)


def in_order(rankings: list[CheckedRanking]) -> list[CheckedRanking]:
    """Return scored rankings, each sorted by its scores."""
    lengths = [len(ranking.places) for ranking in rankings]
    rows = np.full((len(rankings), max(lengths, default=0)), -1, dtype=np.int64)
    filled = np.arange(rows.shape[1]) < np.array(lengths, dtype=np.int64)[:, None]
    rows[filled] = [place for ranking in rankings for place in ranking.places]
    scores = np.zeros(rows.shape)
    scores[filled] = [score for ranking in rankings for score in ranking.scores]
    return listed(settled(rows, scores), lengths)


def single_answers(ask: Callable[[str], Any], texts: list[str], stop: bool) -> Iterator[Any]:
    """Ask for one ranking after the other; yield each, or the fault of one that raised.

    Args:
        ask: query -> what the retriever gives.
        texts: the queries.
        stop: ask nothing after a fault.
    """
    for text in texts:
        try:
            answer = ask(text)
        except Fault as fault:
            answer = fault
        except PASSED_ON:
            raise
        except BaseException as error:
            answer = raised(error)
        yield answer
        if stop and isinstance(answer, Fault):
            return
