"""The contract of a retriever as checks, on tables and queries of ``samples``."""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import SkipTest

from target_bench.core import contract, index_store
from target_bench.core.errors import ANY_ERROR, ConfigError
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
from target_bench.testing.samples import Sample

TOLERANCE = 1e-4
"""More than the order of additions changes in single precision."""


def check_retriever(retriever: Callable[..., Any] | str, **options: Any) -> Report:
    """Run ``retriever_checks``: return the report, or raise one ``CheckError`` of all faults."""
    return run(retriever, retriever_checks(retriever, **options)).raise_failures()


def retriever_checks(
    retriever: Callable[..., Any] | str,
    *,
    settings: Mapping[str, Any] | None = None,
    skip: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
) -> list[Check]:
    """Return the checks of a retriever, one by one.

    Args:
        retriever: its class, a function that makes one, or a name with settings as on the command
            line (``bm25:k1=0.9``, ``my_file.py:Mine``).
        settings: arguments for the class or function.
        skip: names of checks to leave out, each with the reason, which the report shows.
        tolerance: how far two scores of one query and table may lie apart, as a share of the
            larger one, or as they are where that is below 1. Raise it for half precision.

    Raises:
        ConfigError: an unknown name or setting, an object in place of a class, a model or
            extra that is not there, or a bound, which is not checked.
    """
    make = maker("retriever", "embed_corpus", retriever, settings)
    return checks_of(RETRIEVER, RetrieverCase(make, tolerance), skip)


class RetrieverCase:
    """A retriever under test: how to make one, and the tolerance of its scores.

    Loading a model may take longer than a check, so checks that change nothing share ``first``.
    """

    def __init__(self, make: Callable[[], Any], tolerance: float) -> None:
        self.make, self.tolerance = make, tolerance

    def indexed(self, sample: Sample) -> Any:
        """Return a fresh one that has indexed a sample."""
        return _index(self.make(), sample)

    @cached_property
    def first(self) -> Any:
        """One that has indexed the ordinary tables."""
        return self.indexed(samples.ordinary())

    @cached_property
    def rankings(self) -> list[Retrieval]:
        """How it ranked the ordinary tables at first."""
        return ranked(self.first, samples.ordinary())

    def expect_same(
        self,
        rankings: Iterable[Retrieval],
        when: str,
        hint: str,
        expected: Iterable[Retrieval] | None = None,
        queries: Iterable[str] = samples.QUERIES,
    ) -> None:
        """Fail unless rankings are as expected, but for scores within the tolerance.

        Args:
            rankings: one per query.
            when: where they come from, and in contrast to what, for the message.
            hint: how to fix a difference.
            expected: one per query; default: ``rankings``, those of the ordinary tables.
            queries: the queries.
        """
        expected_rankings = self.rankings if expected is None else expected
        for query, ranking, other in zip(queries, rankings, expected_rankings, strict=True):
            same = [a == b for a, b in zip(ranking.tables, other.tables, strict=False)]
            start = same.index(False) if False in same else 0
            expect(
                _same(ranking, other, self.tolerance),
                f"{_quoted(query)} got other tables or scores {when}:\n"
                f"  {_shown(ranking, start)}, in place of\n  {_shown(other, start)}.\n{hint}",
            )


def basics(case: RetrieverCase) -> None:
    """It can be made, has both methods, and ranks ordinary tables for usual queries."""
    retriever = case.make()
    try:
        contract.check_methods(retriever)
    except ConfigError as error:
        raise CheckError(str(error)) from error
    if getattr(retriever, "reads_gold", False) is True:
        raise ConfigError(
            f"{type(retriever).__name__} declares reads_gold: it is a bound and no system, and is "
            "not checked, as the checks have no gold tables. Run it: target-bench run mini"
        )
    if isinstance(packages := getattr(retriever, "packages", ()), str):
        raise CheckError(f"packages is a text; write a tuple of names, as in ({packages!r},)")
    try:
        assert case.rankings
    except CheckError as error:
        if isinstance(error.__cause__, ConfigError):  # no such model, an extra that is missing
            raise error.__cause__ from error
        raise


def top_k(case: RetrieverCase) -> None:
    """It returns at most `top_k` tables, also for 1 and for more than there are."""
    sample = samples.ordinary()
    for k in (1, 2, sample.n - 1, sample.n, sample.n + 1, 1000):
        ranked(case.first, sample, sample.queries[:3], k)


def best_first(case: RetrieverCase) -> None:
    """Tables with scores come best first: higher is better."""
    for query, ranking in zip(samples.QUERIES, case.rankings, strict=True):
        expect(
            not ranking.resorted,
            f"retrieve({query!r}, {len(samples.QUERIES)}) returned its tables in another order "
            "than their scores say. The harness sorts them by score, higher first: sort before "
            "you cut at top_k, and return -distance where a small number is good.",
        )


def determinism(case: RetrieverCase) -> None:
    """Two fresh ones rank alike."""
    again = ranked(case.indexed(samples.ordinary()), samples.ordinary())
    hint = "Seed what is random with a setting, and sort sets before you walk through them."
    case.expect_same(again, "from another one that is made the same way", hint)


def independence(case: RetrieverCase) -> None:
    """A ranking does not depend on what was asked before, or how often."""
    sample, before = samples.ordinary(), case.rankings
    ranked(case.first, sample, ("zebra", *sample.queries[:2]), k=1)
    backwards = ranked(case.first, sample, sample.queries[::-1])[::-1]
    hint = "A query is answered from its text and the tables alone: keep nothing of earlier ones."
    case.expect_same(backwards, "when asked again in another order", hint, before)


def prefix(case: RetrieverCase) -> None:
    """The first tables of a longer ranking are those of a shorter one."""
    sample = samples.ordinary()
    hint = (
        "The harness asks once, for the largest k, and every smaller k is read from that "
        "ranking: its figures would change with --top-k. Rank before you cut at top_k; where "
        "an approximate search cannot promise that, skip this check and give that reason."
    )
    for k in (1, 3, sample.n - 1):
        head = [Retrieval(r.query_id, r.tables[:k], r.scores[:k]) for r in case.rankings]
        when = f"with top_k={k} than at the head of top_k={sample.n}"
        case.expect_same(ranked(case.first, sample, k=k), when, hint, head)


def batch(case: RetrieverCase) -> None:
    """`retrieve_batch` answers as `retrieve` does, query by query."""
    sample = samples.ordinary()
    if not _overrides(case.first, "retrieve_batch"):
        raise SkipTest("it has no retrieve_batch; the harness calls retrieve for each query")
    mixed = (*sample.queries, "zebra", *sample.queries[::-1])
    hint = (
        "The rankings of a batch come in the order of its queries, and no query changes "
        "the ranking of another one."
    )
    for queries in (mixed, mixed[:1]):
        for k in (3, sample.n):
            together = ranked(case.first, sample, queries, k, together=True)
            alone = ranked(case.first, sample, queries, k)
            case.expect_same(
                together, "from retrieve_batch than from retrieve", hint, alone, queries
            )


def queries(case: RetrieverCase) -> None:
    """Any text is a query: other scripts, operators of search engines, empty, very long."""
    sample, texts = samples.ordinary(), (*samples.TEXTS, *samples.LONG_TEXTS)
    ranked(case.first, sample, texts)
    if _overrides(case.first, "retrieve_batch"):
        ranked(case.first, sample, texts, together=True)


def tables(case: RetrieverCase) -> None:
    """Any table is indexed: alone, without rows, empty or repeated names, cells of any type."""
    for sample in (samples.odd(), samples.single()):
        ranked(case.indexed(sample), sample, k=max(5, sample.n))


def ids(case: RetrieverCase) -> None:
    """Tables come back under the ids they have, however those look."""
    ranked(case.indexed(samples.awkward_ids()), samples.awkward_ids())


def copies(case: RetrieverCase) -> None:
    """Tables of one content, and of one name in several databases, are found each by its id."""
    sample, groups = samples.copies()
    for query, ranking in zip(sample.queries, ranked(case.indexed(sample), sample), strict=True):
        for group in groups:
            missing = [table for table in group if table not in ranking.tables]
            places = [ranking.tables.index(table) for table in group if table not in missing]
            if not missing or not places:
                continue
            if ranking.scores:  # equal tables, equal places: one that stops early loses none
                ranked_worse = ranking.scores[-1] < ranking.scores[places[0]]
            else:
                ranked_worse = len(ranking.tables) + len(missing) == sample.n
            expect(
                not ranked_worse,
                f"retrieve({query!r}, {sample.n}) found {group[0]} and worse tables, but not "
                f"{' or '.join(map(str, missing))}, of the same content. Key tables by table.id "
                "as a whole, the pair (database_id, table_id), not by text, title or place.",
            )


def corpora(case: RetrieverCase) -> None:
    """`embed_corpus` with another corpus replaces the first, and no other one's index."""
    first, second = samples.ordinary(), samples.other()
    retriever = case.indexed(first)
    before = ranked(retriever, first)
    expected = ranked(case.indexed(second), second)
    hint = "Keep the index on self, not on the class, in the module or in a shared folder."
    with calling("asking again after another one had indexed another corpus", hint):
        after = ranked(retriever, first)
    case.expect_same(after, "after another one indexed another corpus", hint, before)
    hint = "Begin embed_corpus with an empty index: one retriever may run on several corpora."
    with calling("a second embed_corpus, on another corpus", hint):
        retriever.embed_corpus(second.corpus)
        again = ranked(retriever, second)
    case.expect_same(again, "after a second embed_corpus", hint, expected, second.queries)


def no_label_leak(case: RetrieverCase) -> None:
    """It uses nothing of a corpus but what `Corpus` promises, and reads no labels."""
    sample, retriever, names = samples.ordinary(), case.make(), list[str]()
    hint = "Other corpora have only what target_bench.Corpus declares."
    with calling("embed_corpus on a corpus that shows tables and nothing else", hint):
        retriever.embed_corpus(_guarded(sample.corpus, names))
    rankings = ranked(retriever, sample)
    expect(
        not names,
        f"it looked for corpus.{', corpus.'.join(names)}. A retriever is shown tables and nothing "
        "else: no queries, no gold labels, no name of the data.",
    )
    case.expect_same(rankings, "from a corpus that shows tables and nothing else", hint)


def opaque_ids(case: RetrieverCase) -> None:
    """Rankings do not change when tables get other ids."""
    plain, renamed = samples.ordinary(), samples.ordinary(telling_ids=True)
    place = renamed.corpus.positions
    as_plain = [
        Retrieval(r.query_id, tuple(plain.corpus.ids[place[t]] for t in r.tables), r.scores)
        for r in ranked(case.indexed(renamed), renamed)
    ]
    hint = (
        "Ids can tell what data this is, and labels with it. Leave them out of what you index and "
        "of how you break ties; if you index them on purpose, skip this check and say why: "
        "skip={'opaque_ids': 'indexes ids'}."
    )
    case.expect_same(as_plain, "when the ids hold words of queries", hint)


def identity(case: RetrieverCase) -> None:
    """Class, settings and code are known, and its work does not change them."""
    sample = samples.ordinary()
    expect_identity(case.make, lambda retriever: ranked(_index(retriever, sample), sample))


def save_load(case: RetrieverCase) -> None:
    """A saved index, loaded by a fresh one, ranks as before."""
    sample = samples.ordinary()
    own = [name for name in ("save", "load") if _overrides(case.first, name)]
    if not own:
        raise SkipTest("it has no save and load, so its index is built again in each run")
    expect(len(own) == 2, f"it has {own[0]} alone; save and load go together")
    hint = (
        "Write all that retrieve needs into the folder that save is given, and nothing into "
        "another place: the folder is renamed afterwards."
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        index, fresh, saved = Path(folder) / "index", case.make(), case.indexed(sample)
        try:
            index_store.save_index(saved, sample.corpus, index)
            case.indexed(samples.other())  # what is not in the folder is overwritten by now
            index_store.load_index(fresh, sample.corpus, index)
        except ConfigError as error:  # it does not promise to
            raise SkipTest(str(error)) from error
        except CheckError:
            raise
        except ANY_ERROR as error:
            raise CheckError(f"save, then load: {error}") from error
        with calling("asking after load", hint):
            again = ranked(fresh, sample)
    case.expect_same(again, "from a loaded index", hint)


RETRIEVER: Contract = (
    basics,
    top_k,
    best_first,
    determinism,
    independence,
    prefix,
    batch,
    queries,
    tables,
    ids,
    copies,
    corpora,
    no_label_leak,
    opaque_ids,
    identity,
    save_load,
)


def _index(retriever: Any, sample: Sample) -> Any:
    hint = "The contract allows such a corpus, and real ones are like it."
    with calling(f"embed_corpus on {sample.name}", hint):
        retriever.embed_corpus(sample.corpus)
    return retriever


def ranked(
    retriever: Any,
    sample: Sample,
    queries: Sequence[str] | None = None,
    k: int | None = None,
    together: bool = False,
) -> list[Retrieval]:
    """Return the rankings of queries, read as the harness reads them; a fault fails the check.

    Args:
        retriever: has indexed the sample.
        sample: its tables.
        queries: what to ask. None: the sample's own.
        k: the most tables to ask for. None: all there are.
        together: by one ``retrieve_batch`` in place of a ``retrieve`` each.
    """
    texts, k = list(sample.queries if queries is None else queries), k or sample.n
    if together:
        call = f"retrieve_batch of {len(texts)} queries with top_k={k} on {sample.name}"
        with calling(call):
            answers = retriever.retrieve_batch(list(texts), k)
        return _read(answers, texts, k, sample, call)
    rankings = []
    for text in texts:
        call = f"retrieve({_quoted(text)}, {k}) on {sample.name}"
        with calling(call):
            answers = [retriever.retrieve(text, k)]
        rankings += _read(answers, [text], k, sample, call)
    return rankings


def _read(answers: Any, texts: Sequence[str], k: int, sample: Sample, call: str) -> list[Retrieval]:
    class GivenRankings:
        def embed_corpus(self, corpus: Corpus) -> None: ...

        def retrieve(self, query: str, top_k: int) -> Any: ...

        def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Any:  # noqa: ARG002
            return answers

    with calling(f"reading what came of {call}"):
        queries = [Query(str(i), text, ()) for i, text in enumerate(texts)]
        rankings = contract.retrieve(GivenRankings(), queries, k, sample.corpus, stop=False)
    for ranking in rankings:
        expect(ranking.error is None, f"{call} {ranking.error}")
    return rankings


def _overrides(retriever: Any, name: str) -> bool:
    """Return whether it has a method of this name that is not that of the base class."""
    inherited = getattr(type(retriever), name, None) is getattr(contract.Retriever, name)
    return callable(getattr(retriever, name, None)) and not inherited


def _same(ranking: Retrieval, expected: Retrieval, tolerance: float) -> bool:
    """Return whether two rankings are the same, but for tables of scores within the tolerance."""
    if not (ranking.scores and expected.scores):
        return ranking.tables == expected.tables

    def near(a: float, b: float) -> bool:
        return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))

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
            if not name.startswith("__"):
                names.append(name)
            raise AttributeError(f"a corpus promises no attribute {name!r}")

    return Guarded()
