"""The contract of a retriever as checks, on tables and queries of ``samples``."""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import exp
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
    remade,
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
        sample: Sample,
        rankings: Iterable[Retrieval],
        expected: Iterable[Retrieval],
        labels: tuple[str, str],
        hint: str,
        queries: Iterable[str] | None = None,
    ) -> None:
        """Fail unless two lists of rankings are the same, but for scores within the tolerance.

        Args:
            sample: the tables.
            rankings: one per query.
            expected: one per query.
            labels: where the two come from, for the message.
            hint: how to fix a difference.
            queries: default: the queries of the sample.
        """
        texts = sample.queries if queries is None else queries
        for query, ranking, expected_ranking in zip(texts, rankings, expected, strict=True):
            expect(
                _same(ranking, expected_ranking, self.tolerance),
                f"{_quoted(query)} on {sample.name} got\n"
                f"  {_shown(ranking, expected_ranking)}  {labels[0]}, and\n"
                f"  {_shown(expected_ranking, ranking)}  {labels[1]}.\n{hint}",
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
    sample = samples.ordinary()
    for query, ranking in zip(sample.queries, case.rankings, strict=True):
        expect(
            not ranking.resorted,
            f"retrieve({query!r}, {sample.n}) on {sample.name} returned its tables in another "
            "order than their scores say. The harness sorts them by score, higher first: sort "
            "before you cut at top_k, and return -distance where a small number is good.",
        )


def determinism(case: RetrieverCase) -> None:
    """Two fresh ones rank alike."""
    sample = samples.ordinary()
    again = ranked(case.indexed(sample), sample)
    labels = "from one", "from another one made the same way"
    hint = "Seed what is random with a setting, and sort sets before you walk through them."
    case.expect_same(sample, case.rankings, again, labels, hint)


def independence(case: RetrieverCase) -> None:
    """A ranking does not depend on what was asked before, or how often."""
    sample, before = samples.ordinary(), case.rankings
    ranked(case.first, sample, ("zebra", *sample.queries[:2]), k=1)
    backwards = ranked(case.first, sample, sample.queries[::-1])[::-1]
    labels = "when asked again in another order", "the first time"
    hint = "A query is answered from its text and the tables alone: keep nothing of earlier ones."
    case.expect_same(sample, backwards, before, labels, hint)


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
        labels = f"with top_k={k}", f"as the first {k} with top_k={sample.n}"
        case.expect_same(sample, ranked(case.first, sample, k=k), head, labels, hint)


_INCREASING: Mapping[str, Callable[[float], float]] = {
    "times 1e-8": lambda score: score * 1e-8,
    "times 1e6": lambda score: score * 1e6,
    "through a sigmoid": lambda score: 1 / (1 + exp(-score)),
}
"""Functions of scores, from -1 to 1, that change no order."""


def scores(case: RetrieverCase) -> None:
    """Scores rank alike on any scale and through a sigmoid: tables stay distinct."""
    sample = samples.ordinary()
    queries = (*sample.queries, " ".join(sample.queries), " ".join(sample.queries[::3]))
    rankings = zip(queries, ranked(case.first, sample, queries), strict=True)
    scored = [(query, r) for query, r in rankings if r.scores and len(r.tables) > 1]
    if all(len(set(r.scores)) == 1 for _, r in scored):
        raise SkipTest("no ranking has scores that differ: the order alone is the ranking")
    for query, ranking in scored:
        largest = max(map(abs, ranking.scores)) or 1.0
        for name, change in _INCREASING.items():
            changed = [change(score / largest) for score in ranking.scores]
            pairs = list(zip(ranking.tables, changed, strict=True))
            (again,) = _as_ranked([pairs], [query], sample.n, sample, f"scores {name}")
            if again.tables != ranking.tables:
                i = _first_difference(ranking.tables, again.tables)
                raise CheckError(
                    f"retrieve({query[:60]!r}, {sample.n}) on {sample.name}: the scores of "
                    f"{ranking.tables[i]} ({ranking.scores[i]!r}) and a table near it are so "
                    f"close that they rank otherwise {name}. Return scores that tell tables "
                    "apart: as they are before any sigmoid, and in double precision."
                )


def batch(case: RetrieverCase) -> None:
    """`retrieve_batch` answers as `retrieve` does, query by query."""
    sample = samples.ordinary()
    if not _overrides(case.first, "retrieve_batch"):
        raise SkipTest("it has no retrieve_batch; the harness calls retrieve for each query")
    mixed = (*sample.queries, "zebra", *sample.queries[::-1])
    labels = "from retrieve_batch", "from retrieve"
    hint = (
        "The rankings of a batch come in the order of its queries, and no query changes "
        "the ranking of another one."
    )
    for queries in (mixed, mixed[:1]):
        for k in (3, sample.n):
            together = ranked(case.first, sample, queries, k, together=True)
            alone = ranked(case.first, sample, queries, k)
            case.expect_same(sample, together, alone, labels, hint, queries)


def queries(case: RetrieverCase) -> None:
    """Any text is a query: other scripts, operators of search engines, empty, very long."""
    sample, texts = samples.ordinary(), (*samples.SCRIPTS, *samples.OPERATORS, *samples.LENGTHS)
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
    for sample, groups in (samples.copies(), samples.databases()):
        rankings = ranked(case.indexed(sample), sample)
        for query, ranking in zip(sample.queries, rankings, strict=True):
            for group in groups:
                present = [table for table in group if table in ranking.tables]
                missing = [table for table in group if table not in ranking.tables]
                if not present or not missing:
                    continue
                if ranking.scores:  # equal tables, equal places: one that stops early loses none
                    worse = ranking.scores[-1] < ranking.scores[ranking.tables.index(present[0])]
                else:
                    worse = len(ranking.tables) + len(missing) == sample.n
                expect(
                    not worse,
                    f"retrieve({query!r}, {sample.n}) on {sample.name} found {present[0]} and "
                    f"worse tables, but not {' or '.join(map(str, missing))}, of the same content. "
                    "Key tables by table.id as a whole, the pair (database_id, table_id), not by "
                    "text, title or place.",
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
    case.expect_same(first, after, before, ("after another one indexed", "before"), hint)
    hint = "Begin embed_corpus with an empty index: one retriever may run on several corpora."
    with calling("a second embed_corpus, on another corpus", hint):
        retriever.embed_corpus(second.corpus)
        again = ranked(retriever, second)
    case.expect_same(second, again, expected, ("after a second embed_corpus", "fresh"), hint)


_TELLING = re.compile(
    r"(answer|dataset|file|folder|gold|info|label|name|path|qrel|quer(y|ie)|question|source|split|"
    r"task)s?"
)
"""Parts of the names of attributes that could hold labels or identify the data."""


def no_label_leak(case: RetrieverCase) -> None:
    """It uses nothing of a corpus but what `Corpus` promises, and reads no labels."""
    sample, retriever, attributes_read = samples.ordinary(), case.make(), list[str]()
    hint = "Other corpora have only what target_bench.Corpus declares."
    with calling("embed_corpus on a corpus that shows tables and nothing else", hint):
        retriever.embed_corpus(_guarded(sample.corpus, attributes_read))
    rankings = ranked(retriever, sample)
    parts = {name: name.lower().split("_") for name in attributes_read}
    telling = [name for name in parts if any(map(_TELLING.fullmatch, parts[name]))]
    expect(
        not telling,
        f"it looked for corpus.{', corpus.'.join(telling)}. A retriever is shown tables and "
        "nothing else: no queries, no gold labels, no name of the data.",
    )
    labels = "from a corpus that shows tables and nothing else", "from a corpus in memory"
    case.expect_same(sample, rankings, case.rankings, labels, hint)


def opaque_ids(case: RetrieverCase) -> None:
    """Rankings do not change when tables get other ids."""
    plain, renamed = samples.ordinary(), samples.ordinary(telling_ids=True)
    place = renamed.corpus.positions
    as_plain = [
        Retrieval(r.query_id, tuple(plain.corpus.ids[place[t]] for t in r.tables), r.scores)
        for r in ranked(case.indexed(renamed), renamed)
    ]
    labels = "when the ids hold words of queries", "when they are numbers"
    hint = (
        "Ids can tell what data this is, and labels with it. Leave them out of what you index and "
        "of how you break ties; if you index them on purpose, skip this check and say why: "
        "skip={'opaque_ids': 'indexes ids'}."
    )
    case.expect_same(plain, as_plain, case.rankings, labels, hint)


def identity(case: RetrieverCase) -> None:
    """Class, settings and code are known, and its work does not change them."""
    sample = samples.ordinary()
    expect_identity(case.make, lambda retriever: ranked(_index(retriever, sample), sample))


def settings(case: RetrieverCase) -> None:
    """Its settings, as JSON, make one that ranks alike."""
    sample = samples.ordinary()
    again = ranked(_index(remade(case.make()), sample), sample)
    labels = "from one that is made from its settings", "from itself"
    hint = "Show in config() all that changes a ranking; by default it shows the constructor's."
    case.expect_same(sample, again, case.rankings, labels, hint)


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
    labels = "from a loaded index", "before it was saved"
    case.expect_same(sample, again, case.rankings, labels, hint)


def memory(case: RetrieverCase) -> None:
    """A limit of memory changes no ranking."""
    retriever, sample = case.make(), samples.ordinary()
    if not _overrides(retriever, "limit_memory"):
        raise SkipTest("it has no limit_memory, so a run with a budget warns that it keeps none")
    try:
        retriever.limit_memory(256 * 2**20)
    except (NotImplementedError, ConfigError) as reason:
        why = str(reason) or "not with these settings"
        raise SkipTest(f"limit_memory of 256 MB: {why}") from reason
    limited = ranked(_index(retriever, sample), sample)
    hint = "limit_memory may change how fast the work goes, never what is found."
    case.expect_same(sample, limited, case.rankings, ("within 256 MB", "without a limit"), hint)


_STEADY = "basics determinism top_k independence"

RETRIEVER: Contract = {
    basics: "",
    top_k: "basics",
    best_first: "basics",
    determinism: "basics",
    independence: "basics determinism top_k",
    prefix: f"{_STEADY} best_first",
    scores: "basics best_first",
    batch: _STEADY,
    queries: "basics",
    tables: "basics",
    ids: "basics",
    copies: "basics",
    corpora: _STEADY,
    no_label_leak: "basics determinism",
    opaque_ids: "basics determinism ids",
    identity: "basics",
    settings: "basics determinism identity",
    save_load: f"{_STEADY} identity",
    memory: "basics determinism",
}


# Asking as the harness does


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
        where = f"retrieve_batch of {len(texts)} queries with top_k={k} on {sample.name}"
        with calling(where):
            answers = retriever.retrieve_batch(list(texts), k)
        return _as_ranked(answers, texts, k, sample, where)
    rankings = []
    for text in texts:
        where = f"retrieve({_quoted(text)}, {k}) on {sample.name}"
        with calling(where):
            answers = [retriever.retrieve(text, k)]
        rankings += _as_ranked(answers, [text], k, sample, where)
    return rankings


def _as_ranked(
    answers: Any, queries: Sequence[str], k: int, sample: Sample, where: str
) -> list[Retrieval]:
    class GivenRankings:
        def embed_corpus(self, corpus: Corpus) -> None: ...

        def retrieve(self, query: str, top_k: int) -> Any: ...

        def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Any:  # noqa: ARG002
            return answers

    with calling(f"reading what came of {where}"):
        as_queries = [Query(str(i), text, ()) for i, text in enumerate(queries)]
        rankings = contract.retrieve(GivenRankings(), as_queries, k, sample.corpus, stop=False)
    for query, ranking in zip(queries, rankings, strict=True):
        of_query = "" if _quoted(query) in where else f" for {_quoted(query)}"
        expect(ranking.error is None, f"{where}{of_query} {ranking.error}")
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

    def scored_in(mine: Retrieval, theirs: Retrieval) -> bool:
        known = dict(zip(theirs.tables, theirs.scores, strict=True))
        last = theirs.scores[-1]  # what is missing there may be cut off in a tie
        pairs = zip(mine.tables, mine.scores, strict=True)
        return all(near(score, known.get(table, last)) for table, score in pairs)

    same_scores = all(map(near, ranking.scores, expected.scores))
    alike = len(ranking.tables) == len(expected.tables) and same_scores
    return alike and scored_in(ranking, expected) and scored_in(expected, ranking)


def _shown(ranking: Retrieval, beside: Retrieval, most: int = 5) -> str:
    """Return a ranking around the first difference; with scores if the tables are the same."""
    shown = [f"{table!s:.60}" for table in ranking.tables]
    start = _first_difference(ranking.tables, beside.tables)
    if ranking.scores and ranking.tables == beside.tables:
        shown = [f"{t} ({s:g})" for t, s in zip(shown, ranking.scores, strict=True)]
        start = _first_difference(ranking.scores, beside.scores)
    start = max(0, start - 1)
    dots = ["..."]
    after = dots if start + most < len(shown) else []
    return f"[{', '.join([*(dots if start else []), *shown[start : start + most], *after])}]"


def _first_difference(left: Sequence[Any], right: Sequence[Any]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))


def _quoted(query: str) -> str:
    return repr(query) if len(query) <= 60 else f"{query[:40]!r}... ({len(query):,} characters)"


def _guarded(corpus: Corpus, wanted: list[str]) -> Corpus:
    """Return the tables of a corpus and nothing else of it; ``wanted`` gets what else is read."""

    def promised(name: str) -> Any:
        if isinstance(getattr(Corpus, name), property):
            return property(lambda _self: getattr(corpus, name))
        return lambda _self, *given: getattr(corpus, name)(*given)

    def missing(_self: object, name: str) -> Any:
        if not name.startswith("__"):
            wanted.append(name)
        raise AttributeError(f"a corpus promises no attribute {name!r}")

    members = {name: promised(name) for name in Corpus.__abstractmethods__}
    guarded: Corpus = type("Guarded", (Corpus,), {**members, "__getattr__": missing})()
    return guarded
