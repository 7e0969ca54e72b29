"""Answers of a retriever, held to the contract."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from target_bench.core.contract import Retriever, check_methods, retrieve
from target_bench.core.errors import ConfigError
from target_bench.core.identity import plugin_identity
from target_bench.core.ranking import Ranked, Ranking
from target_bench.core.schema import Corpus, Query, Retrieval, Table, TableId
from target_bench.core.user_code import split_place
from target_bench.data.tables import MemoryCorpus

CORPUS = MemoryCorpus(Table(TableId("db", f"t{i}"), ("a",), ((str(i),),)) for i in range(6))
A, B, C, D, E, F = CORPUS.ids
K = 4

Answer = Callable[[str], Any]


class Plain:
    """Two methods and no base class."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def embed_corpus(self, corpus: Corpus) -> None:
        """Nothing to do."""

    def retrieve(self, query: str, top_k: int) -> Any:
        self.asked.append(query)
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


def _queries(*texts: str) -> list[Query]:
    return [Query(f"id of {text}", text, (A,)) for text in texts]


def _ask(retriever: Any, *texts: str, stop: bool = False) -> list[Retrieval]:
    return retrieve(retriever, _queries(*texts), K, CORPUS, stop)


def _one(answer: Any, kind: type[Any] = Plain) -> Retrieval:
    (retrieval,) = _ask(kind(lambda _query: answer), "q")
    return retrieval


class NoScalar:
    """Like a tensor of several numbers."""

    def __float__(self) -> float:
        raise RuntimeError("not one number")


FAULTS: list[tuple[Any, str]] = [
    (None, "returned None; an empty list says that nothing was found"),
    ("t1", "returned str, not a list of tables"),
    ({A: 1.0}, "returned dict, which has no order"),
    (3, "returned int, not a list of tables"),
    ([(A, float("nan"))], "returned the score nan for table db/t0"),
    ([(A, 1.0), (B, float("inf"))], "returned the score inf for table db/t1"),
    ([(A, float("-inf"))], "returned the score -inf for table db/t0"),
    ([(A, float("inf")), (B, float("-inf"))], "returned the score inf for table db/t0"),
    ([(A, np.float32("nan"))], "for table db/t0"),
    ([(A, None)], "returned the score None for table db/t0"),
    ([(A, "high")], "returned the score 'high' for table db/t0"),
    ([(A, [1.0, 2.0])], "returned the score [1.0, 2.0] for table db/t0"),
    ([(A, NoScalar())], "for table db/t0"),
    ([(A, 10**400)], "for table db/t0"),
    ([TableId("db", "zz")], "returned db/zz, which is not the id of a table in the corpus"),
    ([("db", "zz")], "returned ('db', 'zz'), which is not the id of a table"),
    ([A, ("t1", "db")], "returned ('t1', 'db'), which is not the id of a table"),
    ([(("db", "zz"), 1.0)], "returned ('db', 'zz'), which is not the id of a table"),
    ([["db", "zz"]], "which is not the id of a table"),
    (["t1"], "returned 't1', which is not the id of a table"),
    ([""], "returned '', which is not the id of a table"),
    ([1], "returned 1, which is not the id of a table"),
    ([1.5, 2.5], "returned 1.5, which is not the id of a table"),
    ([None], "returned None, which is not the id of a table"),
    ([{"id": A}], "which is not the id of a table"),
    ([CORPUS[A]], "which is not the id of a table"),
    ([()], "returned (), which is not the id of a table"),
    ([("db", "t1", 0.5)], "returned ('db', 't1', 0.5), which is not the id of a table"),
    ([(A, 1.0, "why")], "a table is an id or a pair (id, score)"),
    ([(A,)], "a table is an id or a pair (id, score)"),
    ([A, B, A], "returned the table db/t0 twice"),
    ([(A, 2.0), (A, 1.0)], "returned the table db/t0 twice"),
    ([A, ["db", "t0"]], "twice"),
    ([A, B, C, D, E], "returned 5 tables where at most 4 were asked for"),
    ([(t, 1.0) for t in (A, B, C, D, E)], "returned 5 tables where at most 4"),
    ({A, B}, "returned set, which has no order"),
    (frozenset([A]), "returned frozenset, which has no order"),
    (dict.fromkeys([A, B]).keys(), "returned dict_keys, which has no order"),
    (dict.fromkeys([A, B]).values(), "returned dict_values, which has no order"),
    (b"t1", "returned bytes, not a list of tables"),
    ([(A, "0.9")], "returned the score '0.9' for table db/t0; a score is a number"),
    ([(A, 1.0), (B, True)], "returned the score True for table db/t1"),
    ([(A, np.True_)], "returned the score"),
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


def _said(found: Sequence[Retrieval]) -> list[str | None]:
    """Return the errors without the lines of this file that they end with."""
    return [None if r.error is None else split_place(r.error)[0] for r in found]


def _raise_on_bad(query: str) -> list[TableId]:
    if query == "bad":
        raise LookupError("no such word")
    return [C]


@pytest.mark.parametrize("kind", KINDS)
def test_one_query_of_a_batch_raises(kind: type[Any]) -> None:
    found = _ask(kind(_raise_on_bad), "a", "bad", "b")
    assert _said(found) == [None, "raised LookupError: no such word", None]
    assert [r.tables for r in found] == [(C,), (), (C,)]


@pytest.mark.parametrize("kind", KINDS)
def test_generator_that_raises(kind: type[Any]) -> None:
    """The exception comes while the answer is read, and is a fault all the same."""

    def answer(query: str) -> Any:
        yield A
        if query == "bad":
            raise LookupError("no such word")

    found = _ask(kind(answer), "a", "bad", "b")
    assert _said(found) == [None, "raised LookupError: no such word", None]


def test_interrupts_are_not_faults() -> None:
    def answer(query: str) -> Any:
        raise KeyboardInterrupt

    for kind in KINDS:
        with pytest.raises(KeyboardInterrupt):
            _ask(kind(answer), "a")


def test_exit_is_a_fault() -> None:
    """A plug-in that calls sys.exit must not end the run as if it had gone well."""

    def answer(query: str) -> Any:
        raise SystemExit(0)

    for kind in KINDS:
        (found,) = _ask(kind(answer), "a")
        assert _said([found]) == ["raised SystemExit: 0"]


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

    found = _ask(Odd(lambda _query: [A]), "a", "b")
    assert len(found) == 2
    assert all(fault in (r.error or "") for r in found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("answer", "tables"),
    [
        (lambda: [], ()),
        (lambda: (), ()),
        (lambda: [F], (F,)),
        (lambda: [C, A, B], (C, A, B)),
        (lambda: (D, A), (D, A)),
        (lambda: [("db", "t3"), ("db", "t0")], (D, A)),
        (lambda: [["db", "t3"], ["db", "t0"]], (D, A)),
        (lambda: iter([D, A]), (D, A)),
    ],
)
def test_unscored_answers(
    answer: Callable[[], Any], tables: tuple[TableId, ...], kind: type[Any]
) -> None:
    """Fewer than asked for, or none; the order is kept."""
    (found,) = _ask(kind(lambda _query: answer()), "q")
    assert found == Retrieval("id of q", tables)
    assert all(type(table) is TableId for table in found.tables)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([(B, 2.0), (A, 1.0)], ((B, A), (2.0, 1.0), False)),
        ([(B, 1.0), (A, 2.0)], ((A, B), (2.0, 1.0), True)),
        ([(B, 1), (A, -1)], ((B, A), (1.0, -1.0), False)),
        ([(C, 1.0), (A, 1.0), (B, 1.0)], ((A, B, C), (1.0, 1.0, 1.0), False)),
        ([(C, 1 + 2**-52), (A, 1.0)], ((C, A), (1 + 2**-52, 1.0), False)),
        ([(A, 1.0), (C, 1 + 2**-49)], ((C, A), (1.0, 1.0), True)),
        ([(B, 2e-12), (C, 1e-12), (A, 3e-12)], ((A, B, C), (3e-12, 2e-12, 1e-12), True)),
        ([(C, np.float32(0.1)), (A, np.float32(0.1) + 2**-27)], ((A, C), (0.1, 0.1), True)),
        ([(D, 3.0), (C, 1.0), (A, 2.0)], ((D, A, C), (3.0, 2.0, 1.0), True)),
        ([(["db", "t1"], 2.0), (["db", "t0"], 1.0)], ((B, A), (2.0, 1.0), False)),
        ([[("db", "t1"), 2.0], [("db", "t0"), 1.0]], ((B, A), (2.0, 1.0), False)),
        ([(B, np.float32(0.5)), (A, np.int64(0))], ((B, A), (0.5, 0.0), False)),
        ([(B, np.array(0.5)), (A, np.float64(0.25))], ((B, A), (0.5, 0.25), False)),
        ([(A, 0.0), (B, -1e308)], ((A, B), (0.0, -1e308), False)),
    ],
)
def test_scored_answers(
    answer: Any, expected: tuple[tuple[TableId, ...], tuple[float, ...], bool], kind: type[Any]
) -> None:
    """By score, ties by table order; another order than the scores say is flagged."""
    tables, scores, resorted = expected
    found = _one(answer, kind)
    assert (found.tables, found.resorted, found.error) == (tables, resorted, None)
    assert found.scores == pytest.approx(scores)
    assert all(type(score) is float for score in found.scores)
    assert all(type(table) is TableId for table in found.tables)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_are_taken_out_of_errors(monkeypatch: pytest.MonkeyPatch, kind: type[Any]) -> None:
    """A retriever may raise what a server said, and a server may repeat the key."""
    monkeypatch.setenv("MY_API_KEY", "a-key-for-nobody-1")

    def answer(_: str) -> Any:
        raise LookupError("wrong key: a-key-for-nobody-1")

    (found,) = _ask(kind(answer), "a")
    assert _said([found]) == ["raised LookupError: wrong key: ***"]
    assert "wrong key: ***" in (found.traceback or "")
    assert "for-nobody" not in f"{found.error}{found.traceback}"


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
    found = _ask(retriever, "0", "1", "2")
    assert [r.tables for r in found] == [(A, B), (), (A, C, D)]
    assert [r.scores for r in found] == [(2.0, 1.0), (), (1.0, 1.0, 1.0)]
    assert [r.resorted for r in found] == [True, False, False]


@pytest.mark.parametrize(
    ("row", "scores", "fault"),
    [
        ([1, 1], [2, 1], "returned the table db/t1 twice"),
        ([0, 1], [2, float("nan")], "returned the score nan for table db/t1"),
        ([0, 6], [2, 1], ""),
        ([0, 600], [2, 1], ""),
    ],
)
def test_faults_in_arrays(row: list[int], scores: list[float], fault: str) -> None:
    """One ranking is at fault, the others of the batch stand."""
    retriever = Indexed([[0, 1], row, [2, 3]], [[2, 1], scores, [2, 1]])
    found = _ask(retriever, "0", "1", "2")
    assert [r.query_id for r in found] == ["id of 0", "id of 1", "id of 2"]
    assert [r.error is None for r in found] == [True, False, True]
    assert fault in (found[1].error or "")


@pytest.mark.parametrize("score", [9e10, 9e300, 9e-300])
def test_tied_scores_in_arrays_keep_the_order_of_the_tables(score: float) -> None:
    (found,) = _ask(Indexed([[2, 0, 1]], [[score] * 3]), "0")
    assert found.tables == tuple(CORPUS.ids[:3])
    assert found.tied


# What makes one object per retriever


def test_objects_with_two_methods() -> None:
    for kind in KINDS:
        retriever = kind(lambda _query: [])
        assert check_methods(retriever) is retriever


def test_class_in_place_of_an_object() -> None:
    with pytest.raises(ConfigError, match=r"Plain is a class; .* as in run\(Plain\(\)\)"):
        check_methods(Plain)


@pytest.mark.parametrize("missing", ["embed_corpus", "retrieve"])
def test_missing_method(missing: str) -> None:
    methods = {"embed_corpus": print, "retrieve": print, missing: None}
    with pytest.raises(ConfigError, match=f"Half is not a retriever: it has no method {missing}"):
        check_methods(type("Half", (), methods)())
    with pytest.raises(ConfigError, match="has no method embed_corpus"):
        check_methods(object())


class _Settings(Retriever):
    """Sound but for its settings."""

    def embed_corpus(self, corpus: Corpus) -> None: ...

    def retrieve(self, query: str, top_k: int) -> Ranking:
        return []


class Forgets(_Settings):
    def __init__(self, config: str = "cfg.json") -> None:
        self._path = config


class Keeps(_Settings):
    def __init__(self, config: str = "cfg.json") -> None:
        self.config = config  # type: ignore[assignment,method-assign]


def test_a_setting_called_config_that_is_not_kept() -> None:
    _, warning = plugin_identity(Forgets())
    assert warning is not None
    assert "write self.config = config, as now self.config is the method Forgets.config" in warning
    assert plugin_identity(Keeps())[0]["config"] == {"config": "cfg.json"}
