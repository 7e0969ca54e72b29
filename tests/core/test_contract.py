"""Answers of a retriever, held to the contract."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from target_bench.core.contract import Retriever, check_retriever
from target_bench.core.errors import ConfigError
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.retrieve import retrieve_tables
from target_bench.core.schema import Corpus, Query, Retrieval, Table, TableId
from target_bench.core.user_code import split_user_line
from target_bench.data.tables import MemoryCorpus

CORPUS = MemoryCorpus(Table(TableId("db", f"t{i}"), ("a",), ((str(i),),)) for i in range(6))
A, B, C, D, E, F = CORPUS.ids
K = 4

Answer = Callable[[str], Any]


class Plain:
    """Two methods and no base class."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def embed_corpus(self, corpus: Corpus) -> None:
        """Nothing to do."""

    def retrieve(self, query: str, top_k: int) -> Any:
        return self.answer(query)


class Based(Retriever):
    """With the base class, and no batch call of its own."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def embed_corpus(self, corpus: Corpus) -> None:
        """Nothing to do."""

    def retrieve(self, query: str, top_k: int) -> Any:
        return self.answer(query)


class Batched(Based):
    """A batch call of its own."""

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> list[Any]:
        return [self.answer(query) for query in queries]


KINDS = [Plain, Based, Batched]


def _ask(retriever: Any, *texts: str) -> list[Retrieval]:
    queries = [Query(f"id of {text}", text, (A,)) for text in texts]
    return retrieve_tables(retriever, queries, K, CORPUS)


class NoScalar:
    """Like a tensor of several numbers."""

    def __float__(self) -> float:
        raise RuntimeError("not one number")


NOT_AN_ID = "which is not the id of a table"
NO_ORDER = "which has no order"
NAN, INF = float("nan"), float("inf")

FAULTS: list[tuple[Any, str]] = [
    (None, "returned None; an empty list says that nothing was found"),
    *((text, f"returned {type(text).__name__}, not a list of tables") for text in ("t1", b"t1", 3)),
    ({A: 1.0}, f"returned dict, {NO_ORDER}"),
    ({A, B}, f"returned set, {NO_ORDER}"),
    (frozenset([A]), f"returned frozenset, {NO_ORDER}"),
    (dict.fromkeys([A, B]).keys(), f"returned dict_keys, {NO_ORDER}"),
    (dict.fromkeys([A, B]).values(), f"returned dict_values, {NO_ORDER}"),
    ([(A, 1.0), (B, INF)], "returned the score inf for table db/t1"),
    *(([(A, score)], f"returned the score {score} for table db/t0") for score in (NAN, -INF, None)),
    *(([(A, s)], f"returned the score {s!r} for table db/t0") for s in ("0.9", "high", [1.0, 2.0])),
    ([(A, np.float32("nan"))], "for table db/t0"),
    ([(A, NoScalar())], "for table db/t0"),
    ([(A, 10**400)], "for table db/t0"),
    ([(A, np.True_)], "returned the score"),
    ([(A, 1.0), (B, True)], "returned the score True for table db/t1"),
    ([TableId("db", "zz")], f"returned db/zz, {NOT_AN_ID} in the corpus"),
    ([A, ("t1", "db")], f"returned ('t1', 'db'), {NOT_AN_ID}"),
    ([(("db", "zz"), 1.0)], f"returned ('db', 'zz'), {NOT_AN_ID}"),
    ([1.5, 2.5], f"returned 1.5, {NOT_AN_ID}"),
    *(([i], f"returned {i!r}, {NOT_AN_ID}") for i in ("t1", "", 1, None, (), ("db", "t1", 0.5))),
    *(([item], NOT_AN_ID) for item in (["db", "zz"], {"id": A}, CORPUS[A])),
    ([(A, 1.0, "why")], "a table is an id or a pair (id, score)"),
    ([(A,)], "a table is an id or a pair (id, score)"),
    ([A, B, A], "returned the table db/t0 twice"),
    ([(A, 2.0), (A, 1.0)], "returned the table db/t0 twice"),
    ([A, ["db", "t0"]], "twice"),
    ([A, B, C, D, E], "returned 5 tables where at most 4 were asked for"),
    ([(t, 1.0) for t in (A, B, C, D, E)], "returned 5 tables where at most 4"),
    (range(10**12), "returned 1000000000000 tables where at most 4 were asked for"),
    ([(A, 1.0), B], "returned some tables with a score and some without"),
    ([A, (B, 1.0)], "returned some tables with a score and some without"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("answer", "fault"), FAULTS)
def test_faults(answer: Any, fault: str, kind: type[Any]) -> None:
    """Each is the error of its query and of no other."""
    retriever = kind(lambda query: answer if query == "bad" else [B])
    before, bad, after = _ask(retriever, "fine", "bad", "good")
    assert bad.query_id == "id of bad"
    assert fault in (bad.error or "")
    assert (bad.tables, bad.scores) == ((), ())
    assert before == Retrieval("id of fine", (B,))
    assert after == Retrieval("id of good", (B,))


def _errors(retrievals: Sequence[Retrieval]) -> list[str | None]:
    """Return the errors without the lines of this file that they end with."""
    return [None if r.error is None else split_user_line(r.error)[0] for r in retrievals]


def _yields(error: BaseException) -> Any:
    yield A
    raise error


def _raises(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [_raises, _yields])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (LookupError("no such word"), "raised LookupError: no such word"),
        (SystemExit(0), "raised SystemExit: 0"),  # must not end the run as if it had gone well
        (LookupError("wrong key: a-key-for-nobody-1"), "raised LookupError: wrong key: ***"),
    ],
)
def test_one_query_of_a_batch_raises(
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Any],
    how: Callable[[BaseException], Any],
    error: BaseException,
    message: str,
) -> None:
    """At once, or while the answer is read; it may raise what a server said, with the key."""
    monkeypatch.setenv("MY_API_KEY", "a-key-for-nobody-1")
    retrievals = _ask(kind(lambda query: how(error) if query == "bad" else [C]), "a", "bad", "b")
    assert _errors(retrievals) == [None, message, None]
    assert [r.tables for r in retrievals] == [(C,), (), (C,)]
    assert "for-nobody" not in f"{retrievals[1].error}{retrievals[1].traceback}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("most", "n_asked"), [(None, 3), (1, 1), (2, 2), (3, 3)])
def test_no_query_is_asked_after_so_many_faults(
    kind: type[Any], most: int | None, n_asked: int
) -> None:
    asked: list[str] = []

    def answer(query: str) -> Any:
        asked.append(query)
        return [C] if query == "good" else _raises(LookupError("no such word"))

    queries = [Query(text, text, (A,)) for text in ("bad", "worse", "good")]
    retrievals = retrieve_tables(kind(answer), queries, K, CORPUS, most)
    assert len(retrievals) == n_asked
    assert ("good" in asked) == (n_asked == 3)


@pytest.mark.parametrize("kind", KINDS)
def test_interrupts_are_not_faults(kind: type[Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        _ask(kind(lambda _query: _raises(KeyboardInterrupt())), "a")


@pytest.mark.parametrize(
    ("returned", "fault"),
    [
        (None, "retrieve_batch returned None, not a list with a ranking for each query"),
        ([], "retrieve_batch returned 0 rankings for 2 queries"),
        ([[A], [B], [C]], "retrieve_batch returned 3 rankings for 2 queries"),
        ([[A]], "retrieve_batch returned 1 rankings for 2 queries"),
        (7, "retrieve_batch returned int, not a list"),
        ({(A,), (B,)}, "retrieve_batch returned set, not a list"),
        (iter([[A], [B]]), "retrieve_batch returned list_iterator, not a list"),
    ],
)
def test_batch_of_the_wrong_length(returned: Any, fault: str) -> None:
    class Odd(Batched):
        def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Any:
            return returned

    retrievals = _ask(Odd(lambda _query: [A]), "a", "b")
    assert [fault in (r.error or "") for r in retrievals] == [True, True]


Scored = tuple[tuple[TableId, ...], tuple[float, ...], bool]
ANSWERS: list[tuple[Callable[[], Any], Scored]] = [
    (lambda: [], ((), (), False)),
    (lambda: [F], ((F,), (), False)),
    (lambda: (C, A, B), ((C, A, B), (), False)),
    (lambda: [("db", "t3"), ("db", "t0")], ((D, A), (), False)),
    (lambda: [["db", "t3"], ["db", "t0"]], ((D, A), (), False)),
    (lambda: iter([D, A]), ((D, A), (), False)),
    (lambda: [(B, 2.0), (A, 1.0)], ((B, A), (2.0, 1.0), False)),
    (lambda: [(B, 1.0), (A, 2.0)], ((A, B), (2.0, 1.0), True)),
    (lambda: [(B, 1), (A, -1)], ((B, A), (1.0, -1.0), False)),
    (lambda: [(C, 1.0), (A, 1.0), (B, 1.0)], ((A, B, C), (1.0, 1.0, 1.0), False)),
    (lambda: [(C, 1 + 2**-52), (A, 1.0)], ((C, A), (1 + 2**-52, 1.0), False)),
    (lambda: [(A, 1.0), (C, 1 + 2**-49)], ((C, A), (1.0, 1.0), True)),
    (lambda: [(B, 2e-12), (C, 1e-12), (A, 3e-12)], ((A, B, C), (3e-12, 2e-12, 1e-12), True)),
    (lambda: [(C, np.float32(0.1)), (A, np.float32(0.1) + 2**-27)], ((A, C), (0.1, 0.1), True)),
    (lambda: [[("db", "t1"), 2.0], [["db", "t0"], 1.0]], ((B, A), (2.0, 1.0), False)),
    (lambda: [(B, np.float32(0.5)), (A, np.array(0))], ((B, A), (0.5, 0.0), False)),
    (lambda: [(A, 0.0), (B, -1e308)], ((A, B), (0.0, -1e308), False)),
]
"""What is returned -> tables, scores and whether they came in another order than scores say."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
def test_answers(answer: Callable[[], Any], expected: Scored, kind: type[Any]) -> None:
    """Fewer than asked for, or none; by score, ties by table order; without scores as they are."""
    tables, scores, resorted = expected
    (retrieval,) = _ask(kind(lambda _query: answer()), "q")
    assert (retrieval.tables, retrieval.resorted, retrieval.error) == (tables, resorted, None)
    assert retrieval.scores == pytest.approx(scores)
    assert all(type(score) is float for score in retrieval.scores)
    assert all(type(table) is TableId for table in retrieval.tables)


# Rankings as arrays


class Indexed(Retriever):
    """Answers with arrays; a query names its row."""

    def __init__(self, rows: list[list[int]], scores: list[list[float]]) -> None:
        self.rows, self.scores = np.array(rows), np.array(scores)

    def embed_corpus(self, corpus: Corpus) -> None:
        """Nothing to do."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return self.retrieve_batch([query], top_k)[0]

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Ranked:
        chosen = [int(query) for query in queries]
        return Ranked(CORPUS.ids, self.rows[chosen], self.scores[chosen])


def test_arrays() -> None:
    """-1 ends a ranking; the order is that of any scored ranking."""
    retriever = Indexed([[1, 0, -1], [-1, -1, -1], [2, 0, 3]], [[1, 2, 0], [9, 9, 9], [1, 1, 1]])
    retrievals = _ask(retriever, "0", "1", "2")
    assert [r.tables for r in retrievals] == [(A, B), (), (A, C, D)]
    assert [r.scores for r in retrievals] == [(2.0, 1.0), (), (1.0, 1.0, 1.0)]
    assert [r.resorted for r in retrievals] == [True, False, False]


@pytest.mark.parametrize(
    ("row", "scores", "fault"),
    [
        ([1, 1], [2, 1], "returned the table db/t1 twice"),
        ([0, 1], [2, NAN], "returned the score nan for table db/t1"),
        ([0, 6], [2, 1], ""),
        ([0, 600], [2, 1], ""),
    ],
)
def test_faults_in_arrays(row: list[int], scores: list[float], fault: str) -> None:
    """One ranking is at fault, the others of the batch stand."""
    retriever = Indexed([[0, 1], row, [2, 3]], [[2, 1], scores, [2, 1]])
    retrievals = _ask(retriever, "0", "1", "2")
    assert [r.error is None for r in retrievals] == [True, False, True]
    assert fault in (retrievals[1].error or "")


@pytest.mark.parametrize("score", [9e10, 9e300, 9e-300])
def test_tied_scores_in_arrays_keep_the_order_of_the_tables(score: float) -> None:
    (retrieval,) = _ask(Indexed([[2, 0, 1]], [[score] * 3]), "0")
    assert retrieval.tables == tuple(CORPUS.ids[:3])
    assert retrieval.tied


def test_arrays_with_ids_of_another_order() -> None:
    """The ids that they come with say which tables they are."""

    class Backwards(Indexed):
        def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Ranked:
            return Ranked(CORPUS.ids[::-1], self.rows, self.scores)

    (retrieval,) = _ask(Backwards([[0, 1]], [[2, 1]]), "0")
    assert retrieval.tables == tuple(CORPUS.ids[:-3:-1])


# What makes one object per retriever


def test_what_is_no_retriever() -> None:
    for kind in KINDS:
        retriever = kind(lambda _query: [])
        assert check_retriever(retriever) is retriever
    with pytest.raises(ConfigError, match=r"Plain is a class; .* as in retriever=Plain\(\)"):
        check_retriever(Plain)
    for missing in ("embed_corpus", "retrieve"):
        methods = {"embed_corpus": print, "retrieve": print, missing: None}
        with pytest.raises(ConfigError, match=f"Half is not a retriever: it has no met.*{missing}"):
            check_retriever(type("Half", (), methods)())
