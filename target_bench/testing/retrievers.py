"""The contract of a retriever as checks, on tables and queries of ``samples``."""

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any
from unittest import SkipTest

from target_bench.core import contract, index_store, registry
from target_bench.core.errors import ANY_ERROR, ConfigError
from target_bench.core.schema import Corpus, Query, Retrieval, Table, TableId
from target_bench.testing import samples
from target_bench.testing.checks import (
    Check,
    CheckError,
    Contract,
    Report,
    calling,
    expect_identity,
    maker,
    name_of,
    remade,
    run,
)
from target_bench.testing.samples import Sample

TOLERANCE = 1e-4
"""More than the order of additions changes in single precision."""

_MEMORY = 256 * 2**20
_SHOWN = 5  # tables of a ranking in a message

_INCREASING: Mapping[str, Callable[[float], float]] = {
    "times 1e-8": lambda score: score * 1e-8,
    "times 1e6": lambda score: score * 1e6,
    "through a sigmoid": lambda score: 1 / (1 + exp(-score)),
}
"""Functions of scores, from -1 to 1, that change no order."""

_TELLING = re.compile(
    r"(answer|dataset|file|folder|gold|info|label|name|path|qrel|quer(y|ie)|question|source|split|"
    r"task)s?"
)
"""Parts of the names of attributes that could hold labels or identify the data."""


def check_retriever(retriever: Callable[..., Any] | str, **options: Any) -> Report:
    """Test whether a retriever keeps the contract; arguments and errors as ``retriever_checks``.

    Returns:
        What passed and what was skipped; ``print`` shows it.

    Raises:
        CheckError: a check failed; the message names all that did and how to fix them.
    """
    return run(name_of(retriever), retriever_checks(retriever, **options)).raise_failures()


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
    made = maker("retriever", "embed_corpus", retriever, settings)
    if _reads_gold(retriever):
        raise ConfigError(
            f"{name_of(retriever)} declares reads_gold: it is a bound and no system, and is not "
            "checked, as the checks have no gold tables. Run it: target-bench run mini"
        )
    return RETRIEVER.checks(RetrieverCase(made, tolerance), skip)


class RetrieverCase:
    """A retriever under test.

    Loading a model may take longer than a check, so checks that change nothing share one.

    Args:
        make: makes one.
        tolerance: as for ``check_retriever``.
    """

    def __init__(self, make: Callable[[], Any], tolerance: float) -> None:
        self.make, self.tolerance = make, tolerance
        self._first: tuple[Any, list[Retrieval]] | None = None

    def indexed(self, sample: Sample) -> Any:
        """Return a fresh one that has indexed a sample."""
        retriever = self.make()
        self.index(retriever, sample)
        return retriever

    def index(self, retriever: Any, sample: Sample) -> None:
        """Index a sample; what that raises fails the check."""
        hint = "The contract allows such a corpus, and real ones are like it."
        with calling(f"embed_corpus on {sample.name}", hint):
            retriever.embed_corpus(sample.corpus)

    def first(self) -> tuple[Any, list[Retrieval]]:
        """Return one that has indexed the ordinary tables, and how it ranked them at first."""
        if self._first is None:
            retriever, sample = self.indexed(samples.ordinary()), samples.ordinary()
            self._first = retriever, ranked(retriever, sample)
        return self._first

    def expect_same(
        self,
        sample: Sample,
        found: Iterable[Retrieval],
        expected: Iterable[Retrieval],
        labels: tuple[str, str],
        hint: str,
        queries: Iterable[str] | None = None,
    ) -> None:
        """Fail unless two lists of rankings are the same, but for scores within the tolerance.

        Args:
            sample: the tables.
            found: one ranking per query.
            expected: one ranking per query.
            labels: where the two come from, for the message.
            hint: how to fix a difference.
            queries: what was asked; default: the queries of the sample.
        """
        asked = sample.queries if queries is None else queries
        for query, one, other in zip(asked, found, expected, strict=True):
            if not _same(one, other, self.tolerance):
                raise CheckError(
                    f"{_quoted(query)} on {sample.name} got\n"
                    f"  {_shown(one, other)}  {labels[0]}, and\n"
                    f"  {_shown(other, one)}  {labels[1]}.\n{hint}"
                )


def _reads_gold(retriever: Callable[..., Any] | str) -> bool:
    """Whether its class declares ``reads_gold`` as it should; ``basics`` finds another value."""
    if isinstance(retriever, str):
        retriever = registry.resolve("retriever", registry.parse("retriever", retriever).target)
    return getattr(retriever, "reads_gold", False) is True


RETRIEVER: Contract[RetrieverCase] = Contract()

_STEADY = "basics determinism top_k independence"


@RETRIEVER.check()
def basics(case: RetrieverCase) -> None:
    """It can be made, has both methods, and ranks ordinary tables for usual queries."""
    retriever = case.make()
    try:
        contract.check_methods(retriever)
    except ConfigError as error:
        raise CheckError(str(error)) from error
    if isinstance(packages := getattr(retriever, "packages", ()), str):
        raise CheckError(f"packages is a text; write a tuple of names, as in ({packages!r},)")
    try:
        case.first()
    except CheckError as error:
        if isinstance(error.__cause__, ConfigError):  # no such model, an extra that is missing
            raise error.__cause__ from error
        raise


@RETRIEVER.check("basics")
def top_k(case: RetrieverCase) -> None:
    """It returns at most `top_k` tables, also for 1 and for more than there are."""
    sample, (retriever, _) = samples.ordinary(), case.first()
    for k in (1, 2, sample.n - 1, sample.n, sample.n + 1, 1000):
        ranked(retriever, sample, sample.queries[:3], k)


@RETRIEVER.check("basics")
def best_first(case: RetrieverCase) -> None:
    """Tables with scores come best first: higher is better."""
    sample = samples.ordinary()
    for query, found in zip(sample.queries, case.first()[1], strict=True):
        if found.resorted:
            raise CheckError(
                f"retrieve({query!r}, {sample.n}) on {sample.name} returned its tables in another "
                "order than their scores say. The harness sorts them by score, higher first: sort "
                "before you cut at top_k, and return -distance where a small number is good."
            )


@RETRIEVER.check("basics")
def determinism(case: RetrieverCase) -> None:
    """Two fresh ones rank alike."""
    sample = samples.ordinary()
    again = ranked(case.indexed(sample), sample)
    labels = "from one", "from another one made the same way"
    hint = "Seed what is random with a setting, and sort sets before you walk through them."
    case.expect_same(sample, case.first()[1], again, labels, hint)


@RETRIEVER.check("basics determinism top_k")
def independence(case: RetrieverCase) -> None:
    """A ranking does not depend on what was asked before, or how often."""
    sample, (retriever, before) = samples.ordinary(), case.first()
    ranked(retriever, sample, ("zebra", *sample.queries[:2]), k=1)
    backwards = ranked(retriever, sample, sample.queries[::-1])[::-1]
    labels = "when asked again in another order", "the first time"
    hint = "A query is answered from its text and the tables alone: keep nothing of earlier ones."
    case.expect_same(sample, backwards, before, labels, hint)


@RETRIEVER.check(f"{_STEADY} best_first")
def prefix(case: RetrieverCase) -> None:
    """The first tables of a longer ranking are those of a shorter one."""
    sample, (retriever, long) = samples.ordinary(), case.first()
    for k in (1, 3, sample.n - 1):
        first = [Retrieval(r.query_id, r.tables[:k], r.scores[:k]) for r in long]
        labels = f"with top_k={k}", f"as the first {k} with top_k={sample.n}"
        hint = (
            "The harness asks once, for the largest k, and every smaller k is read from that "
            "ranking: its figures would change with --top-k. Rank before you cut at top_k; where "
            "an approximate search cannot promise that, skip this check and give that reason."
        )
        case.expect_same(sample, ranked(retriever, sample, k=k), first, labels, hint)


@RETRIEVER.check("basics best_first")
def scores(case: RetrieverCase) -> None:
    """Scores rank alike on any scale and through a sigmoid: tables stay distinct."""
    sample, (retriever, _) = samples.ordinary(), case.first()
    queries = (*sample.queries, " ".join(sample.queries), " ".join(sample.queries[::3]))
    found = zip(queries, ranked(retriever, sample, queries), strict=True)
    scored = [(query, r) for query, r in found if r.scores and len(r.tables) > 1]
    if all(len(set(r.scores)) == 1 for _, r in scored):
        raise SkipTest("no ranking has scores that differ: the order alone is the ranking")
    for query, retrieval in scored:
        largest = max(map(abs, retrieval.scores)) or 1.0
        for name, change in _INCREASING.items():
            changed = [change(score / largest) for score in retrieval.scores]
            pairs = list(zip(retrieval.tables, changed, strict=True))
            (again,) = read([pairs], [query], sample.n, sample, f"scores {name}")
            if again.tables != retrieval.tables:
                i = _first_difference(retrieval.tables, again.tables)
                raise CheckError(
                    f"retrieve({query[:60]!r}, {sample.n}) on {sample.name}: the scores of "
                    f"{retrieval.tables[i]} ({retrieval.scores[i]!r}) and a table near it are so "
                    f"close that they rank otherwise {name}. Return scores that tell tables "
                    "apart: as they are before any sigmoid, and in double precision."
                )


@RETRIEVER.check(_STEADY)
def batch(case: RetrieverCase) -> None:
    """`retrieve_batch` answers as `retrieve` does, query by query."""
    sample, (retriever, _) = samples.ordinary(), case.first()
    if not _overrides(retriever, "retrieve_batch"):
        raise SkipTest("it has no retrieve_batch; the harness calls retrieve for each query")
    mixed = (*sample.queries, "zebra", *sample.queries[::-1])
    for queries in (mixed, mixed[:1]):
        for k in (3, sample.n):
            together = _ranked_together(retriever, sample, queries, k)
            alone = ranked(retriever, sample, queries, k)
            labels = "from retrieve_batch", "from retrieve"
            hint = (
                "The rankings of a batch come in the order of its queries, and no query changes "
                "the ranking of another one."
            )
            case.expect_same(sample, together, alone, labels, hint, queries)


@RETRIEVER.check("basics")
def queries(case: RetrieverCase) -> None:
    """Any text is a query: other scripts, operators of search engines, empty, very long."""
    sample, (retriever, _) = samples.ordinary(), case.first()
    asked = (*samples.SCRIPTS, *samples.OPERATORS, *samples.LENGTHS)
    ranked(retriever, sample, asked)
    if _overrides(retriever, "retrieve_batch"):
        _ranked_together(retriever, sample, asked, sample.n)


@RETRIEVER.check("basics")
def tables(case: RetrieverCase) -> None:
    """Any table is indexed: alone, without rows, empty or repeated names, cells of any type."""
    for sample in (samples.odd(), samples.single()):
        ranked(case.indexed(sample), sample, k=max(5, sample.n))


@RETRIEVER.check("basics")
def ids(case: RetrieverCase) -> None:
    """Tables come back under the ids they have, however those look."""
    sample = samples.awkward_ids()
    ranked(case.indexed(sample), sample)


@RETRIEVER.check("basics")
def copies(case: RetrieverCase) -> None:
    """Tables of one content, and of one name in several databases, are found each by its id."""
    for sample, groups in (samples.copies(), samples.databases()):
        found = ranked(case.indexed(sample), sample)
        for query, retrieval in zip(sample.queries, found, strict=True):
            for group in groups:
                _expect_whole_group(query, retrieval, sample, group)


def _expect_whole_group(
    query: str, found: Retrieval, sample: Sample, group: Sequence[TableId]
) -> None:
    """Fail where one of equal tables is found, and a worse table, but not the others."""
    present = [table for table in group if table in found.tables]
    missing = [table for table in group if table not in found.tables]
    if not present or not missing:
        return
    if found.scores:  # equal tables deserve equal places: one that stops early loses none
        goes_on = found.scores[-1] < found.scores[found.tables.index(present[0])]
    else:
        goes_on = len(found.tables) + len(missing) == sample.n
    if goes_on:
        raise CheckError(
            f"retrieve({query!r}, {sample.n}) on {sample.name} found {present[0]} and worse "
            f"tables, but not {' or '.join(map(str, missing))}, of the same content. Key tables by "
            "table.id as a whole, the pair (database_id, table_id), not by text, title or place."
        )


@RETRIEVER.check(_STEADY)
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
        found = ranked(retriever, second)
    case.expect_same(second, found, expected, ("after a second embed_corpus", "fresh"), hint)


@RETRIEVER.check("basics determinism")
def no_label_leak(case: RetrieverCase) -> None:
    """It uses nothing of a corpus but what `Corpus` promises, and reads no labels."""
    sample = samples.ordinary()
    guarded, retriever = _Guarded(sample.corpus), case.make()
    hint = "Other corpora have only what target_bench.Corpus declares."
    with calling("embed_corpus on a corpus that shows tables and nothing else", hint):
        retriever.embed_corpus(guarded)
    found = ranked(retriever, sample)
    asked = dict.fromkeys(guarded.asked)
    telling = [n for n in asked if any(map(_TELLING.fullmatch, n.lower().split("_")))]
    if telling:
        raise CheckError(
            f"it looked for corpus.{', corpus.'.join(telling)}. A retriever is shown tables and "
            "nothing else: no queries, no gold labels, no name of the data."
        )
    labels = "from a corpus that shows tables and nothing else", "from a corpus in memory"
    case.expect_same(sample, found, case.first()[1], labels, hint)


@RETRIEVER.check("basics determinism ids")
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
    case.expect_same(plain, as_plain, case.first()[1], labels, hint)


@RETRIEVER.check("basics")
def identity(case: RetrieverCase) -> None:
    """Class, settings and code are known, and its work does not change them."""

    def work(retriever: Any) -> None:
        case.index(retriever, samples.ordinary())
        ranked(retriever, samples.ordinary())

    expect_identity(case.make, work)


@RETRIEVER.check("basics determinism identity")
def settings(case: RetrieverCase) -> None:
    """Its settings, as JSON, make one that ranks alike."""
    sample, again = samples.ordinary(), remade(case.make())
    case.index(again, sample)
    labels = "from one that is made from its settings", "from itself"
    hint = "Show in config() all that changes a ranking; by default it shows the constructor's."
    case.expect_same(sample, ranked(again, sample), case.first()[1], labels, hint)


@RETRIEVER.check(f"{_STEADY} identity")
def save_load(case: RetrieverCase) -> None:
    """A saved index, loaded by a fresh one, ranks as before."""
    sample, (retriever, expected) = samples.ordinary(), case.first()
    own = [name for name in ("save", "load") if _overrides(retriever, name)]
    if not own:
        raise SkipTest("it has no save and load, so its index is built again in each run")
    if len(own) == 1:
        raise CheckError(f"it has {own[0]} alone; save and load go together")
    hint = (
        "Write all that retrieve needs into the folder that save is given, and nothing into "
        "another place: the folder is renamed afterwards."
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        index, fresh = Path(folder) / "index", case.make()
        saved = case.indexed(sample)
        _expect_hook("save", lambda: index_store.save_index(saved, sample.corpus, index))
        case.indexed(samples.other())  # what is not in the folder is overwritten by now
        _expect_hook("load", lambda: index_store.load_index(fresh, sample.corpus, index))
        with calling("asking after load", hint):
            found = ranked(fresh, sample)
    case.expect_same(sample, found, expected, ("from a loaded index", "before it was saved"), hint)


def _expect_hook(name: str, call: Callable[[], None]) -> None:
    try:
        call()
    except ConfigError as error:  # it does not promise to
        raise SkipTest(str(error)) from error
    except ANY_ERROR as error:
        raise CheckError(f"{name}: {error}") from error


@RETRIEVER.check("basics determinism")
def memory(case: RetrieverCase) -> None:
    """A limit of memory changes no ranking."""
    retriever = case.make()
    if not _overrides(retriever, "limit_memory"):
        raise SkipTest("it has no limit_memory, so a run with a budget warns that it keeps none")
    try:
        retriever.limit_memory(_MEMORY)
    except (NotImplementedError, ConfigError) as reason:
        why = str(reason) or "not with these settings"
        raise SkipTest(f"limit_memory of 256 MB: {why}") from reason
    sample = samples.ordinary()
    case.index(retriever, sample)
    hint = "limit_memory may change how fast the work goes, never what is found."
    labels = "within 256 MB", "without a limit"
    case.expect_same(sample, ranked(retriever, sample), case.first()[1], labels, hint)


# Asking as the harness does


def ranked(
    retriever: Any, sample: Sample, queries: Iterable[str] | None = None, k: int | None = None
) -> list[Retrieval]:
    """Return the results of ``retrieve``, one query at a time; a fault fails the check.

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


def _ranked_together(
    retriever: Any, sample: Sample, queries: Sequence[str], k: int
) -> list[Retrieval]:
    where = f"retrieve_batch of {len(queries)} queries with top_k={k} on {sample.name}"
    with calling(where):
        answers = retriever.retrieve_batch(list(queries), k)
    return read(answers, queries, k, sample, where)


def read(
    answers: Any, queries: Sequence[str], k: int, sample: Sample, where: str
) -> list[Retrieval]:
    """Return answers, one a query, as the harness reads and ranks them; a fault fails the check."""

    class Given:
        def embed_corpus(self, corpus: Corpus) -> None: ...

        def retrieve(self, query: str, top_k: int) -> Any: ...

        def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Any:  # noqa: ARG002
            return answers

    with calling(f"reading what came of {where}"):
        asked = [Query(str(i), text, ()) for i, text in enumerate(queries)]
        found = contract.retrieve(Given(), asked, k, sample.corpus, stop=False)
    for query, retrieval in zip(queries, found, strict=True):
        if retrieval.error is not None:
            of_query = "" if _quoted(query) in where else f" for {_quoted(query)}"
            raise CheckError(f"{where}{of_query} {retrieval.error}")
    return found


def _overrides(retriever: Any, name: str) -> bool:
    """Return whether it has a method of this name that is not that of the base class."""
    own = getattr(retriever, name, None)
    inherited = getattr(type(retriever), name, None) is getattr(contract.Retriever, name)
    return callable(own) and not inherited


def _same(one: Retrieval, other: Retrieval, tolerance: float) -> bool:
    """Return whether two rankings are the same, but for tables of scores within the tolerance."""
    if not (one.scores and other.scores):
        return one.tables == other.tables

    def near(a: float, b: float) -> bool:
        return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))

    if len(one.tables) != len(other.tables) or not all(map(near, one.scores, other.scores)):
        return False
    for mine, theirs in ((one, other), (other, one)):
        known = dict(zip(theirs.tables, theirs.scores, strict=True))
        last = theirs.scores[-1]  # what is missing there may be cut off in a tie
        own = zip(mine.tables, mine.scores, strict=True)
        if not all(near(score, known.get(table, last)) for table, score in own):
            return False
    return True


def _shown(retrieval: Retrieval, beside: Retrieval) -> str:
    """Return a ranking around the first difference; with scores if the tables are the same."""
    shown = [f"{table!s:.60}" for table in retrieval.tables]
    start = _first_difference(retrieval.tables, beside.tables)
    if retrieval.scores and retrieval.tables == beside.tables:
        shown = [f"{t} ({s:g})" for t, s in zip(shown, retrieval.scores, strict=True)]
        start = _first_difference(retrieval.scores, beside.scores)
    start = max(0, start - 1)
    part = shown[start : start + _SHOWN]
    after = ["..."] if start + _SHOWN < len(shown) else []
    return f"[{', '.join([*(['...'] if start else []), *part, *after])}]"


def _first_difference(one: Sequence[Any], other: Sequence[Any]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _quoted(query: str) -> str:
    return repr(query) if len(query) <= 60 else f"{query[:40]!r}... ({len(query):,} characters)"


class _Guarded(Corpus):
    """The tables of another corpus and nothing else of it; ``asked``: what else was asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self.asked: list[str] = []
        self.__corpus = corpus

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self.asked.append(name)
        raise AttributeError(f"a corpus promises no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.__corpus)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.__corpus)

    def __getitem__(self, table_id: tuple[str, str]) -> Table:
        return self.__corpus[table_id]

    @property
    def ids(self) -> Sequence[TableId]:
        return self.__corpus.ids

    @property
    def fingerprint(self) -> str:
        return self.__corpus.fingerprint

    @property
    def positions(self) -> Mapping[tuple[str, str], int]:
        return self.__corpus.positions

    @property
    def groups(self) -> Sequence[int]:
        return self.__corpus.groups
