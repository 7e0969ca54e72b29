"""Asking a retriever as the harness does, and telling whether two answers are the same."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import SkipTest

from target_bench.core import contract
from target_bench.core.schema import Corpus, Query, Retrieval
from target_bench.testing import samples
from target_bench.testing.checks import CheckError, Maker, calling
from target_bench.testing.samples import Sample

_ANY = "The contract allows such a corpus, and real ones are like it."
_SHOWN = 5


def embedded(make: Maker, sample: Sample) -> Any:
    """Return a fresh retriever that has indexed a sample."""
    retriever = make()
    embed(retriever, sample.corpus, sample.name)
    return retriever


@contextmanager
def indexed(make: Maker) -> Iterator[Any]:
    """Give a retriever that has indexed the ordinary tables: the same until a check fails.

    For checks that index nothing else, before any other corpus is indexed.
    """
    if "indexed" not in make.known:
        make.known["indexed"] = embedded(make, samples.ordinary())
    try:
        yield make.known["indexed"]
    except SkipTest:
        raise
    except BaseException:
        del make.known["indexed"]
        raise


def ranked_at_first(make: Maker) -> list[Retrieval]:
    """Return how a fresh retriever ranks the ordinary tables; it is asked once for all checks."""
    if "ranked" not in make.known:
        sample = samples.ordinary()
        retriever = embedded(make, sample)
        make.known["ranked"] = ranked(retriever, sample)
        make.known.setdefault("indexed", retriever)
    found: list[Retrieval] = make.known["ranked"]
    return found


def embed(retriever: Any, corpus: Corpus, what: str, hint: str = _ANY) -> None:
    """Have a retriever index a corpus; what it raises fails the check with the hint."""
    with calling(f"embed_corpus on {what}", hint):
        retriever.embed_corpus(corpus)


def ranked(
    retriever: Any, sample: Sample, queries: Iterable[str] | None = None, k: int | None = None
) -> list[Retrieval]:
    """Return the results of ``retrieve``, one query at a time.

    Args:
        retriever: has indexed the sample.
        sample: its tables.
        queries: what to ask. None: the sample's own.
        k: the most tables to ask for. None: all there are.
    """
    k = k or sample.n
    found = []
    for query in sample.queries if queries is None else queries:
        where = f"retrieve({_quoted(query)}, {k}) on {sample.name}"
        with calling(where):
            answer = retriever.retrieve(query, k)
        found += read([answer], [query], k, sample, where)
    return found


def has_batch(retriever: Any) -> bool:
    """Return whether it has a ``retrieve_batch`` of its own, not that of the base class."""
    return overrides(retriever, "retrieve_batch")


def overrides(retriever: Any, name: str) -> bool:
    """Return whether it has a method of this name that is not that of the base class."""
    own = getattr(retriever, name, None)
    inherited = getattr(type(retriever), name, None) is getattr(contract.Retriever, name)
    return callable(own) and not inherited


def ranked_together(
    retriever: Any, sample: Sample, queries: Sequence[str], k: int | None = None
) -> list[Retrieval]:
    """Return the results of ``retrieve_batch``; arguments as for ``ranked``."""
    k = k or sample.n
    where = f"retrieve_batch of {len(queries)} queries with top_k={k} on {sample.name}"
    with calling(where):
        answers = retriever.retrieve_batch(list(queries), k)
    return read(answers, queries, k, sample, where)


class _Given:
    """Answers that were given before, in the form in which the harness asks for them."""

    def __init__(self, answers: Any) -> None:
        self._answers = answers

    def embed_corpus(self, corpus: Corpus) -> None: ...

    def retrieve(self, query: str, top_k: int) -> Any: ...

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Any:  # noqa: ARG002 (the contract's argument)
        return self._answers


def read(
    answers: Any, queries: Sequence[str], k: int, sample: Sample, where: str
) -> list[Retrieval]:
    """Return the answers as the harness reads and ranks them; a fault fails the check.

    Args:
        answers: one a query.
        queries: what was asked.
        k: the most tables that were asked for.
        sample: the tables.
        where: where the answers come from, for messages.
    """
    with calling(f"reading what came of {where}"):
        asked = [Query(str(i), text, ()) for i, text in enumerate(queries)]
        found = contract.retrieve(_Given(answers), asked, k, sample.corpus, stop=False)
    for query, retrieval in zip(queries, found, strict=True):
        if retrieval.error is not None:
            about = "" if _quoted(query) in where else f" for {_quoted(query)}"
            raise CheckError(f"{where}{about} {retrieval.error}")
    return found


def expect_same(
    sample: Sample,
    queries: Iterable[str],
    found: Iterable[Retrieval],
    expected: Iterable[Retrieval],
    labels: tuple[str, str],
    tolerance: float,
    hint: str,
) -> None:
    """Fail unless two lists of rankings are the same.

    Tables may change places where their scores are equal within the tolerance.

    Args:
        sample: the tables.
        queries: what was asked.
        found: one ranking per query.
        expected: one ranking per query.
        labels: where the two come from, for the message.
        tolerance: see ``Maker``.
        hint: how to fix a difference.
    """
    for query, one, other in zip(queries, found, expected, strict=True):
        if not _same(one, other, tolerance):
            raise CheckError(
                f"{_quoted(query)} on {sample.name} got\n"
                f"  {_shown(one, other)}  {labels[0]}, and\n"
                f"  {_shown(other, one)}  {labels[1]}.\n{hint}"
            )


def _same(one: Retrieval, other: Retrieval, tolerance: float) -> bool:
    scored = bool(one.scores and other.scores)
    if one.tables == other.tables and not scored:
        return True
    if not scored or len(one.tables) != len(other.tables):
        return False

    def near(a: float, b: float) -> bool:
        return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))

    if not all(map(near, one.scores, other.scores)):
        return False
    for mine, theirs in ((one, other), (other, one)):
        scores = dict(zip(theirs.tables, theirs.scores, strict=True))
        last = theirs.scores[-1]  # what is missing there may be cut off in a tie
        own = zip(mine.tables, mine.scores, strict=True)
        if not all(near(score, scores.get(table, last)) for table, score in own):
            return False
    return True


def _shown(retrieval: Retrieval, beside: Retrieval) -> str:
    """Return a ranking; with scores if the other one has the same tables."""
    tables = [f"{table!s:.60}" for table in retrieval.tables]
    if retrieval.scores and retrieval.tables == beside.tables:
        tables = [f"{t} ({s:g})" for t, s in zip(tables, retrieval.scores, strict=True)]
    different = next(
        (
            i
            for i, (a, b) in enumerate(zip(_pairs(retrieval), _pairs(beside), strict=False))
            if a != b
        ),
        min(len(tables), len(beside.tables)),
    )
    start = max(0, different - 1)
    shown = tables[start : start + _SHOWN]
    before = ["..."] if start else []
    after = ["..."] if start + _SHOWN < len(tables) else []
    return f"[{', '.join([*before, *shown, *after])}]"


def _pairs(retrieval: Retrieval) -> list[tuple[Any, Any]]:
    scores = retrieval.scores or (None,) * len(retrieval.tables)
    return list(zip(retrieval.tables, scores, strict=True))


def _quoted(query: str) -> str:
    return repr(query) if len(query) <= 60 else f"{query[:40]!r}... ({len(query):,} characters)"
