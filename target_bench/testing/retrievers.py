"""The contract of a retriever as checks, on tables and queries of ``samples``."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import isclose
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import SkipTest

from target_bench.core import contract, index_store
from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.schema import Corpus, Query, Retrieval
from target_bench.testing import samples
from target_bench.testing.checks import (
    Check,
    CheckError,
    Contract,
    Report,
    calling,
    checks_of,
    expect,
    expect_identity,
    maker,
    run,
)
from target_bench.testing.samples import QUERIES, Sample

TOLERANCE = 1e-4
"""More than the order of additions changes in single precision."""


def check_retriever(retriever: Callable[..., Any] | str, **options: Any) -> Report:
    """Run ``retriever_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(retriever, retriever_checks(retriever, **options)).raise_failures()


def retriever_checks(
    retriever: Callable[..., Any] | str,
    *,
    skip: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
) -> list[Check]:
    """Return the checks of a retriever, one by one.

    Args:
        retriever: its class, a function that makes one, or a name with settings as on the command
            line (``bm25:k1=0.9``, ``my_file.py:Mine``).
        skip: names of checks to leave out, each with the reason, which the report shows.
        tolerance: how far two scores of one query and table may lie apart, as a share of the
            larger one, or as they are where that is below 1. Raise it for half precision.

    Raises:
        ConfigError: an unknown name, or an object in place of a class. The first check raises it
            for an unknown setting, a missing method, a model or extra that is not there, or a
            bound, which is not checked.
    """
    make = maker("retriever", retriever)
    return checks_of(RetrieverContract(make, tolerance), skip)


class RetrieverContract(Contract):
    """The checks of a retriever.

    Loading a model may take longer than a check, so checks that change nothing share ``_first``.
    """

    def __init__(self, make: Callable[[], Any], tolerance: float) -> None:
        self._make, self._tolerance = make, tolerance

    def basics(self) -> None:
        """It can be made, has both methods, and ranks ordinary tables for usual queries."""
        retriever = contract.check_methods(self._make())
        if getattr(retriever, "reads_gold", False):
            name = type(retriever).__name__
            raise ConfigError(
                f"{name} declares reads_gold: it is a bound and no system, and the checks have no "
                "gold tables. Run it: target-bench run mini --retriever NAME"
            )
        assert self._rankings

    def top_k(self) -> None:
        """It returns at most `top_k` tables, also for 1 and for more than there are."""
        for k in (1, 2, 9, 11, 1000):
            ranked(self._first, samples.ordinary(), QUERIES[:3], k)

    def best_first(self) -> None:
        """Tables with scores come best first: higher is better.

        The harness sorts by score: sort before you cut at top_k, and return -distance where a small
        number is good.
        """
        for query, ranking in zip(QUERIES, self._rankings, strict=True):
            is_sorted = not ranking.resorted
            expect(is_sorted, f"the tables for {query!r} are in another order than their scores")

    def determinism(self) -> None:
        """Two fresh ones rank alike.

        Seed what is random with a setting, and sort sets before you walk through them.
        """
        again = ranked(self._indexed(samples.ordinary()), samples.ordinary())
        self._expect_same(again, "from another one that is made the same way", self._rankings)

    def independence(self) -> None:
        """A ranking does not depend on what was asked before, or how often.

        A query is answered from its text and the tables alone: keep nothing of earlier ones.
        """
        sample, before = samples.ordinary(), self._rankings
        ranked(self._first, sample, ("zebra", *QUERIES[:2]), k=1)
        backwards = ranked(self._first, sample, QUERIES[::-1])[::-1]
        self._expect_same(backwards, "when asked again in another order", before)

    def prefix(self) -> None:
        """The first tables of a longer ranking are those of a shorter one.

        Every smaller k is read from the ranking for the largest one: rank before you cut at top_k.
        Where an approximate search cannot promise that, skip this check.
        """
        for k in (1, 3, 9):
            shorter = ranked(self._first, samples.ordinary(), k=k)
            head = [Retrieval(r.query_id, r.tables[:k], r.scores[:k]) for r in self._rankings]
            self._expect_same(shorter, f"with top_k={k} than at the head of top_k=10", head)

    def batch(self) -> None:
        """`retrieve_batch` answers as `retrieve` does, query by query.

        Rankings come in the order of the queries, and no query changes that of another one.
        """
        if not _overrides(self._first, "retrieve_batch"):
            raise SkipTest("it has no retrieve_batch; the harness calls retrieve for each query")
        sample, mixed = samples.ordinary(), (*QUERIES, "zebra", *QUERIES[::-1])
        for texts, k in ((mixed, 10), (mixed, 3), (mixed[:1], 3)):
            together = ranked(self._first, sample, texts, k, together=True)
            alone = ranked(self._first, sample, texts, k)
            self._expect_same(together, "from retrieve_batch than from retrieve", alone, texts)

    def queries(self) -> None:
        """Any text is a query: other scripts, operators of search engines, empty, very long."""
        texts = (*samples.TEXTS, *samples.LONG_TEXTS)
        ranked(self._first, samples.ordinary(), texts)
        if _overrides(self._first, "retrieve_batch"):
            ranked(self._first, samples.ordinary(), texts, together=True)

    def tables(self) -> None:
        """Any table is indexed, alone, without rows, of any cells, and returned under its id."""
        for sample in (samples.odd(), samples.single()):
            ranked(self._indexed(sample), sample, k=12)

    def copies(self) -> None:
        """Tables of one content, and of one name in several databases, are found each by its id.

        Key tables by table.id as a whole, the pair (database_id, table_id), not by text, title or
        place.
        """
        sample, groups = samples.copies()
        rankings = ranked(self._indexed(sample), sample)
        for query, ranking in zip(sample.queries, rankings, strict=True):
            scores = ranking.scores or range(len(ranking.tables), 0, -1)
            for group in groups:
                held = [s for t, s in zip(ranking.tables, scores, strict=True) if t in group]
                may_be_cut = bool(held) and held[-1] == scores[-1]  # by one that stops early
                expect(
                    may_be_cut or len(held) in (0, len(group)),
                    f"{query!r} found {len(held)} tables of the same content, and worse ones, but "
                    f"not all of {', '.join(map(str, group))}",
                )

    def corpora(self) -> None:
        """`embed_corpus` with another corpus replaces the first, and no other one's index.

        Keep the index on self, not on the class, in the module or in a shared folder, and begin
        embed_corpus with an empty one.
        """
        sample, other = samples.ordinary(), samples.other()
        retriever = self._indexed(sample)
        before, expected = ranked(retriever, sample), ranked(self._indexed(other), other)
        again = ranked(retriever, sample)
        self._expect_same(again, "after another one indexed another corpus", before)
        again = ranked(_index(retriever, other), other)
        self._expect_same(again, "after a second embed_corpus", expected, other.queries)

    def no_label_leak(self) -> None:
        """It uses nothing of a corpus but what `Corpus` promises, and reads no labels.

        A retriever is shown tables: no queries, no gold labels, no name of the data.
        """
        retriever, read = self._make(), list[str]()
        with calling("embed_corpus on a corpus that shows tables and nothing else"):
            retriever.embed_corpus(_guarded(samples.ordinary().corpus, read))
        expect(not read, f"it looked for corpus.{', corpus.'.join(read)}")

    def opaque_ids(self) -> None:
        """Rankings do not change when tables get other ids.

        Ids can tell what data this is, and labels with it. Leave them out of what you index and of
        how you break ties; if you index them on purpose, skip this check and say why.
        """
        plain, renamed = samples.ordinary(), samples.ordinary(telling_ids=True)
        ids = dict(zip(renamed.corpus.ids, plain.corpus.ids, strict=True))
        as_plain = [
            Retrieval(r.query_id, tuple(map(ids.__getitem__, r.tables)), r.scores)
            for r in ranked(self._indexed(renamed), renamed)
        ]
        self._expect_same(as_plain, "when the ids hold words of queries", self._rankings)

    def identity(self) -> None:
        """Class, settings and code are known, and its work does not change them.

        Keep what is random or learned under other names than settings.
        """
        sample = samples.ordinary()
        expect_identity(self._make, lambda retriever: ranked(_index(retriever, sample), sample))

    def save_load(self) -> None:
        """A saved index, loaded by a fresh one, ranks as before.

        Write all that retrieve needs into the folder of save, which is renamed afterwards.
        """
        own = [name for name in ("save", "load") if _overrides(self._first, name)]
        if not own:
            raise SkipTest("it has no save and load, so its index is built again in each run")
        expect(len(own) == 2, f"it has {own[0]} alone; save and load go together")
        sample, fresh = samples.ordinary(), self._make()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                index_store.save_index(self._indexed(sample), sample.corpus, Path(folder) / "index")
                self._indexed(samples.other())  # what is not in the folder is overwritten by now
                index_store.load_index(fresh, sample.corpus, Path(folder) / "index")
            except ConfigError as error:  # it does not promise to
                raise SkipTest(str(error)) from error
            self._expect_same(ranked(fresh, sample), "from a loaded index", self._rankings)

    def _indexed(self, sample: Sample) -> Any:
        """Return a fresh one that has indexed a sample."""
        return _index(self._make(), sample)

    @cached_property
    def _first(self) -> Any:
        """One that has indexed the ordinary tables."""
        return self._indexed(samples.ordinary())

    @cached_property
    def _rankings(self) -> list[Retrieval]:
        """How it ranked the ordinary tables at first."""
        return ranked(self._first, samples.ordinary())

    def _expect_same(
        self,
        rankings: Sequence[Retrieval],
        when: str,
        expected: Sequence[Retrieval],
        queries: Sequence[str] = QUERIES,
    ) -> None:
        """Fail unless rankings are as expected, but for scores within the tolerance."""
        for query, ranking, other in zip(queries, rankings, expected, strict=True):
            if not _same(ranking, other, self._tolerance):
                pairs = enumerate(zip(ranking.tables, other.tables, strict=False))
                start = next((i for i, (a, b) in pairs if a != b), 0)
                raise CheckError(
                    f"{_quoted(query)} got other tables or scores {when}:\n"
                    f"  {_shown(ranking, start)}, in place of\n  {_shown(other, start)}"
                )


def ranked(
    retriever: Any,
    sample: Sample,
    queries: Sequence[str] = (),
    k: int | None = None,
    together: bool = False,
) -> list[Retrieval]:
    """Return the rankings of queries, read as the harness reads them; a fault is an error.

    Args:
        retriever: has indexed the sample.
        sample: its tables.
        queries: what to ask. Empty: the sample's own.
        k: the most tables to ask for. None: all there are.
        together: by one ``retrieve_batch`` in place of a ``retrieve`` each.
    """
    texts, k = list(queries or sample.queries), k or len(sample.corpus)
    answering: Any = SimpleNamespace(retrieve=retriever.retrieve)
    if together:
        with calling(f"retrieve_batch of {len(texts)} queries with top_k={k} on {sample.name}"):
            answers = retriever.retrieve_batch(list(texts), k)
        answering = type("Answers", (), {"retrieve_batch": lambda *_: answers})()
    batch = [Query(str(i), text, ()) for i, text in enumerate(texts)]
    rankings = contract.retrieve(answering, batch, k, sample.corpus, stop=False)
    for text, ranking in zip(texts, rankings, strict=True):
        call = f"retrieve{'_batch' * together}({_quoted(text)}, {k}) on {sample.name}"
        if ranking.error is not None:
            raise PluginError(f"{call} {ranking.error}")
    return rankings


def _index(retriever: Any, sample: Sample) -> Any:
    with calling(f"embed_corpus on {sample.name}"):
        retriever.embed_corpus(sample.corpus)
    return retriever


def _overrides(retriever: Any, name: str) -> bool:
    """Return whether it has a method of this name that is not that of the base class."""
    inherited = getattr(type(retriever), name, None) is getattr(contract.Retriever, name)
    return callable(getattr(retriever, name, None)) and not inherited


def _same(ranking: Retrieval, expected: Retrieval, tolerance: float) -> bool:
    """Return whether two rankings are the same, but for tables of scores within the tolerance."""
    if not (ranking.scores and expected.scores):
        return ranking.tables == expected.tables
    near = partial(isclose, rel_tol=tolerance, abs_tol=tolerance)
    scores = dict(zip(expected.tables, expected.scores, strict=True))
    last = expected.scores[-1]  # what is missing may be cut off in a tie
    return len(ranking.tables) == len(expected.tables) and all(
        near(score, other) and near(score, scores.get(table, last))
        for table, score, other in zip(ranking.tables, ranking.scores, expected.scores, strict=True)
    )


def _shown(ranking: Retrieval, start: int) -> str:
    """Return five tables of a ranking with their scores, from some place on."""
    scores = [f" ({score:g})" for score in ranking.scores] or [""] * len(ranking.tables)
    pairs = [f"{table!s:.60}{score}" for table, score in zip(ranking.tables, scores, strict=True)]
    return f"[{'..., ' if start else ''}{', '.join(pairs[start : start + 5])}]"


def _quoted(query: str) -> str:
    return repr(query) if len(query) <= 60 else f"{query[:40]!r}... ({len(query):,} characters)"


def _guarded(corpus: Corpus, names: list[str]) -> Corpus:
    """Return the tables of a corpus and nothing else of it; ``names`` gets what else is read."""

    class Guarded(Corpus):
        __len__, __iter__ = corpus.__len__, corpus.__iter__
        __getitem__ = corpus.__getitem__
        ids, fingerprint = corpus.ids, corpus.fingerprint
        positions, groups = corpus.positions, corpus.groups

        def __getattr__(self, name: str) -> Any:
            names.append(name)
            raise AttributeError(f"a corpus promises no attribute {name!r}")

    return Guarded()
