"""Retrievers and generators: what each is, how it is asked, which answers are valid.

Fewer tables than asked, or none, is an answer. None, NaN, an unknown id, a repeated table, more
than k tables or an exception is a fault, recorded as the error of that one query.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence, Set, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from math import isfinite, nan
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, get_args, get_type_hints

import numpy as np

from target_bench.core.credentials import without_secrets
from target_bench.core.errors import (
    PASSED_ON,
    ConfigError,
    DataError,
    PluginError,
    TargetBenchError,
)
from target_bench.core.observer import Observer
from target_bench.core.ranking import (
    Listed,
    Ranked,
    Ranking,
    sort_arrays,
    sort_by_score,
    to_lists,
)
from target_bench.core.registry import class_name, is_own_code
from target_bench.core.schema import (
    Corpus,
    Generation,
    GenerationRequest,
    Query,
    Retrieval,
    TableId,
)
from target_bench.core.user_code import (
    describe_exception,
    message,
    place,
    process_restored,
    show_value,
    whole_traceback,
)

T = TypeVar("T")


@contextmanager
def plugin_errors(name: str, during: str, advice: str = "") -> Iterator[None]:
    """Raise errors of a plug-in as ``PluginError``; those of this package pass."""
    try:
        yield
    except (*PASSED_ON, TargetBenchError):
        raise
    except BaseException as error:
        raise plugin_error(error, name, during, advice) from error


def guard_plugin(kind: str, plugin: object, during: str) -> AbstractContextManager[None]:
    """``plugin_errors`` where code of a task or a metric runs, unless it is of this package."""
    if is_own_code(type(plugin)):
        return nullcontext()
    return plugin_errors(f"{kind} {class_name(type(plugin))}", during)


def plugin_error(error: BaseException, name: str, during: str, advice: str = "") -> PluginError:
    """Return the error for what a plug-in raised; arguments as for ``plugin_errors``."""
    problem = f"{name} raised {type(error).__name__} in {during}: {message(error)}{advice}"
    return PluginError(problem + place(error))


def iterate_guarded(items: Iterable[T], name: str, during: str, advice: str = "") -> Iterator[T]:
    """Iterate over the items of a plug-in, with ``plugin_errors`` around its code alone."""
    with plugin_errors(name, during, advice):
        left = iter(items)
    while True:
        with plugin_errors(name, during, advice):
            try:
                item = next(left)
            except StopIteration:
                return
        yield item  # outside: a reader that stops early is no fault of the plug-in


def get_constructor_arguments(plugin: object) -> dict[str, Any]:
    """Return the constructor arguments that an object keeps under their own names."""
    parameters = inspect.signature(type(plugin)).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise AttributeError("its constructor takes *args or **kwargs")
    for name in (p.name for p in parameters):
        # A parameter may well be called config, as a method of the contract is.
        if inspect.ismethod(getattr(plugin, name)) and name not in getattr(plugin, "__dict__", {}):
            raise AttributeError(
                f"it does not keep its constructor argument {name}: write self.{name} = {name}, "
                f"as now self.{name} is the method {type(plugin).__name__}.{name}"
            )
    return {p.name: getattr(plugin, p.name) for p in parameters}


class Retriever(ABC):
    """A retriever of tables for a query. Two methods make one; the others have defaults.

    ```python
    from target_bench import Retriever, evaluate

    class First(Retriever):
        def embed_corpus(self, corpus):
            self.ids = list(corpus.ids)

        def retrieve(self, query, top_k):
            return self.ids[:top_k]

    print(evaluate(First(), "mini")["First"]["recall@10"])  # .064 [.042, .098]
    ```

    Keep constructor arguments under their own names and do the work in ``embed_corpus``: then the
    settings of a run are recorded without any code of yours.

    Attributes:
        VERSION: of a retriever of this package; raised when a ranking can be another one than
            before, so that stored runs are not reused. Your own is identified by its source files.
        packages: distributions whose versions can change the ranking; recorded with every run.
        queries_at_once: how many ``retrieve_batch`` is given, and are written to disk, at a time.
        reads_gold: whether it is given whole queries, their gold tables included, in place of their
            texts: a bound, and no system; read once, before the run, and part of its identity.
        returns_sets: whether it chooses how many tables to return: then its sets are scored, too
            (``set_precision``, ``complete_recall`` ...).
    """

    VERSION: ClassVar[str] = "1"
    packages: tuple[str, ...] = ()
    reads_gold: ClassVar[bool] = False
    returns_sets: bool = False
    queries_at_once: ClassVar[int] = 128

    @abstractmethod
    def embed_corpus(self, corpus: Corpus) -> None:
        """Index the tables, before any query; a second call begins again from nothing."""

    @abstractmethod
    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query, best first, at most ``top_k``."""

    def retrieve_batch(self, queries: Sequence[str], top_k: int) -> Sequence[Ranking]:
        """Return the rankings of several queries, in their order. Default: one call per query."""
        return [self.retrieve(query, top_k) for query in queries]

    def config(self) -> Mapping[str, Any]:
        """Return the settings that determine its results, as JSON.

        Default: constructor arguments.
        """
        return get_constructor_arguments(self)

    def parts(self) -> Mapping[str, object]:
        """Return name -> plug-in of its parts, which belong to its identity. Default: none.

        A part that is a constructor argument goes under the name of the argument.
        """
        return {}

    def notes(self) -> Sequence[str]:
        """Return notes for the user about the work so far, shown at the end. Default: nothing."""
        return ()

    def save(self, folder: Path) -> None:
        """Write the index into an existing, empty folder. Default: ``NotImplementedError``.

        Called by ``TableSearch.save``, which records retriever and corpus beside it.
        """
        raise NotImplementedError

    def load(self, folder: Path, corpus: Corpus) -> None:
        """Read the files of ``save`` in place of ``embed_corpus``. Default: NotImplementedError.

        Called by ``TableSearch.load``, which has checked that the index is of this corpus.
        """
        raise NotImplementedError


class Generator(ABC):
    """Answers a request. One method makes one; the others have defaults.

    ```python
    from target_bench import GenerationRequest, Generator

    class Echo(Generator):
        def generate(self, request):
            return request.query

    print(Echo().generate(GenerationRequest("q1", "qa", (), "Who won?")))  # Who won?
    ```

    Keep constructor arguments under their own names, as for a ``Retriever``. A failed answer is a
    ``Generation`` with its ``error`` set, or an exception: either costs one query and no more.

    Attributes:
        VERSION: of a generator of this package; raised when an answer can be another one than
            before. Your own is identified by its source files.
        packages: distributions whose versions can change an answer; recorded with every run.
        paid: whether asking may cost money; the command line then asks before it starts.
        converses: whether it reads the messages of a request, so that it can be asked again with
            what was wrong with its first answer.
        follows_schema: whether it has its model answer in JSON of a request's ``answer_schema``.
    """

    VERSION: ClassVar[str] = "1"
    packages: tuple[str, ...] = ()
    paid: bool = False
    converses: ClassVar[bool] = False
    follows_schema: ClassVar[bool] = False

    @abstractmethod
    def generate(self, request: GenerationRequest) -> Generation | str:
        """Return the answer to one request, or its text alone."""

    def generate_many(
        self,
        requests: Iterable[GenerationRequest],
        observer: "Observer",  # noqa: ARG002 (for those that wait)
    ) -> Iterator[Generation]:
        """Yield the answers to many requests, as they are finished, in any order.

        Override it where requests can be answered at the same time, and draw them only as they
        are needed. Default: the harness calls ``generate`` once a request.

        Args:
            requests: drawn one by one.
            observer: gets warnings, and is notified of waiting (``observer.waiting``).
        """
        for request in requests:
            answer = self.generate(request)
            yield Generation(request.query_id, answer) if isinstance(answer, str) else answer

    def unanswered(self, requests: Iterable[GenerationRequest]) -> Iterator[GenerationRequest]:
        """Yield the requests that would have to be sent. Default: all."""
        yield from requests

    def estimated_cost(
        self,
        n_requests: int,  # noqa: ARG002 (for those that cost something)
        input_tokens: int,  # noqa: ARG002 (the contract's argument)
    ) -> float | None:
        """Return the estimated cost of this many requests and input tokens; None where unknown."""
        return None

    def config(self) -> Mapping[str, Any]:
        """Return the settings that determine its answers, as JSON.

        Default: constructor arguments.
        """
        return get_constructor_arguments(self)


class RetrieverLike(Protocol):
    """The two methods that make any object a retriever."""

    def embed_corpus(self, corpus: Corpus) -> None:
        """Index the tables."""

    def retrieve(self, query: str, top_k: int) -> Ranking:
        """Return the tables for one query, best first."""


def check_methods(retriever: object) -> RetrieverLike:
    """Return the object, if it has the two methods of a retriever."""
    methods = {"embed_corpus": "embed_corpus(corpus)", "retrieve": "retrieve(query, top_k)"}
    _check("retriever", retriever, methods)
    return retriever  # type: ignore[return-value]  # just checked


def check_generator(generator: Any) -> Any:
    """Return the object itself, if it has the method of a generator.

    ```python
    from target_bench import ConfigError
    from target_bench.plugin_tools import check_generator

    try:
        check_generator("openai")
    except ConfigError as error:
        print(error)
        # str is not a generator: it has no method generate. A generator has generate(request),
        #   which returns text or a Generation.
    ```
    """
    methods = {"generate": "generate(request), which returns text or a Generation"}
    _check("generator", generator, methods)
    return generator


def _check(kind: str, plugin: object, methods: Mapping[str, str]) -> None:
    if isinstance(plugin, type):
        name = plugin.__name__
        raise ConfigError(f"{name} is a class; pass an object of it, as in {kind}={name}()")
    label = f"{kind} {class_name(type(plugin))}"
    with plugin_errors(label, "reading its attributes"):
        for method in methods:
            if not callable(getattr(plugin, method, None)):
                raise ConfigError(
                    f"{type(plugin).__name__} is not a {kind}: it has no method {method}. "
                    f"A {kind} has {' and '.join(methods.values())}."
                )
        for name, (is_valid, expected) in _ATTRIBUTES.items():
            value = getattr(plugin, name, None)
            if value is not None and not is_valid(value):
                raise PluginError(
                    f"{label}: its {name} is {show_value(value)}; expected {expected}"
                )
        is_paid(plugin)  # fails here where parts() fails, and not in the middle of a run


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value > 0


_TRUTH = (lambda value: isinstance(value, bool), "True or False")
_ATTRIBUTES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "packages": (_are_names, "a tuple of names of distributions"),
    "queries_at_once": (_is_count, "a whole number from 1"),
    "paid": _TRUTH,
    "reads_gold": _TRUTH,
    "returns_sets": _TRUTH,
    "converses": _TRUTH,
    "follows_schema": _TRUTH,
}


def get_parts(plugin: object) -> Mapping[str, object]:
    """Return name -> plug-in of the parts of a plug-in; users' own may lack the method."""
    parts = getattr(plugin, "parts", None)
    return parts() if callable(parts) else {}


def batch_size(retriever: RetrieverLike) -> int:
    """Return the number of queries to hand over, and to write to disk, at a time."""
    if not _has_batch(retriever):
        return _LOOP_BATCH
    size: int = getattr(retriever, "queries_at_once", Retriever.queries_at_once)
    return size


_LOOP_BATCH = 16


def _has_batch(retriever: RetrieverLike) -> bool:
    method = getattr(type(retriever), "retrieve_batch", Retriever.retrieve_batch)
    return method is not Retriever.retrieve_batch


@process_restored()
def retrieve(
    retriever: Any,
    queries: Sequence[Query],
    top_k: int,
    corpus: Corpus,
    most_failures: int | None = None,
    reads_gold: bool = False,
) -> list[Retrieval]:
    """Return the retrievals of a batch of queries, in their order.

    A batch call that raises is repeated one query at a time, so that a fault costs one query and
    carries its name. Scored tables are sorted by ``ranking.sort_by_score``.

    Args:
        retriever: any object with the two methods.
        queries: the batch.
        top_k: the most tables a ranking may hold.
        corpus: the tables, in the order that the retriever got them (``Corpus.shuffled``).
        most_failures: ask no query after so many faults without an answer; the retrievals end with
            them.
        reads_gold: give it whole queries, as its identity says that it is a bound.
    """
    questions: list[Any] = list(queries) if reads_gold else [query.text for query in queries]
    if not _has_batch(retriever):
        calls = [lambda q=question: retriever.retrieve(q, top_k) for question in questions]
    else:
        try:
            answers = _ask_batch(retriever, questions, top_k)
        except Fault as fault:
            return [Retrieval(query.id, (), error=str(fault)) for query in queries]
        except PASSED_ON:
            raise
        except BaseException:  # single queries show which one fails
            calls = [lambda q=text: _ask_batch(retriever, [q], top_k)[0] for text in questions]
        else:
            if isinstance(answers, Ranked) and (arrays := sort_arrays(answers, top_k, len(corpus))):
                rankings = to_lists(arrays, (arrays.rows >= 0).sum(axis=1).tolist())
                pairs = zip(queries, rankings, strict=True)
                return [_to_retrieval(query.id, ranking, corpus) for query, ranking in pairs]
            most_failures = None  # all are asked
            calls = [lambda i=i: answers[i] for i in range(len(queries))]
    retrievals: list[Retrieval] = []
    for query, call in zip(queries, calls, strict=True):
        retrievals.append(_read(query.id, call, top_k, corpus))
        failed = all(retrieval.error is not None for retrieval in retrievals)
        if failed and len(retrievals) == most_failures:
            break
    return retrievals


def read_ranking(query_id: str, ranking: Any, top_k: int, corpus: Corpus) -> Retrieval:
    """Return an existing ranking as the retrieval of a query, cut after ``top_k`` tables."""
    whole = _read(query_id, lambda: ranking, len(corpus), corpus.shuffled)
    if whole.error is not None:
        fault = whole.error.replace("returned", "holds", 1)
        raise DataError(f"query {query_id!r}: its ranking {fault}")
    return replace(whole, tables=whole.tables[:top_k], scores=whole.scores[:top_k])


def _ask_batch(retriever: Any, questions: list[Any], top_k: int) -> Any:
    answers = retriever.retrieve_batch(list(questions), top_k)  # a copy: it may change its list
    if isinstance(answers, _UNORDERED) or not hasattr(answers, "__len__"):
        kind = "None" if answers is None else type(answers).__name__
        raise Fault(f"retrieve_batch returned {kind}, not a list with a ranking for each query")
    if len(answers) != len(questions):
        raise Fault(f"retrieve_batch returned {len(answers)} rankings for {len(questions)} queries")
    return answers


def _read(query_id: str, call: Callable[[], Any], top_k: int, corpus: Corpus) -> Retrieval:
    """Read what a retriever gives for a query; a fault or an exception is the query's error."""
    try:
        return _to_retrieval(query_id, _rank(call(), top_k, corpus.positions), corpus)
    except PASSED_ON:
        raise
    except Fault as fault:
        return Retrieval(query_id, (), error=without_secrets(str(fault)))
    except BaseException as error:
        problem = without_secrets(f"raised {describe_exception(error)}{place(error)}")
        trace = without_secrets(whole_traceback(error))
        return Retrieval(query_id, (), error=problem, traceback=trace)


def _to_retrieval(query_id: str, ranking: Listed, corpus: Corpus) -> Retrieval:
    positions, scores, resorted, tied = ranking
    tables = tuple(map(corpus.ids.__getitem__, positions))
    return Retrieval(query_id, tables, tuple(scores), resorted=resorted, tied=tied)


def is_paid(plugin: object) -> bool:
    """Return whether a plug-in, or one that it is made of, may cost money."""
    return bool(getattr(plugin, "paid", False)) or any(map(is_paid, get_parts(plugin).values()))


def ask_if_paid(
    plugin: object, confirm: Callable[[T], bool] | None, estimate: Callable[[], T | None]
) -> None:
    """Ask before requests to a plug-in that may cost money, if there are any by the estimate.

    Without ``confirm`` they are sent without a question.
    """
    if confirm is None or not is_paid(plugin):
        return
    estimated = estimate()
    if estimated is not None and not confirm(estimated):
        raise ConfigError("nothing was sent: you did not confirm the requests")


def make_failed_generation(query_id: str, error: BaseException) -> Generation:
    """Return the answer to a request for which a generator raised, with the line of its file."""
    problem = f"raised: {describe_exception(error)}{place(error)}"
    return Generation(query_id, "", error=problem, traceback=whole_traceback(error))


_TYPES = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(Generation).items()}


def find_fault(generation: Generation) -> str | None:
    """Return the first field of an answer with an invalid type or value, or None.

    An answer comes from code of others, or from a file that may have been edited.
    """
    for name, kinds in _TYPES.items():
        value = getattr(generation, name)
        if not isinstance(value, (*kinds, int) if float in kinds else kinds):
            return f"its {name} is {type(value).__name__}"
        if isinstance(value, float) and not isfinite(value):
            return f"its {name} is {value}"
        if isinstance(value, int | float) and value < 0:
            return f"its {name} is {value}, less than 0"
    return None


_UNORDERED = (Set, Mapping, MappingView)
_NOT_NUMBERS = (str, bytes, bytearray, bool, np.bool_)


class Fault(Exception):  # noqa: N818 (a fault of the plug-in, recorded and seldom raised)
    """A retriever's breach of its contract on one query."""


def _rank(answer: Any, top_k: int, positions: Mapping[tuple[str, str], int]) -> Listed:
    """Return the positions of a ranking's tables in the corpus, by their scores."""
    if answer is None:
        raise Fault("returned None; an empty list says that nothing was found")
    if isinstance(answer, _UNORDERED):
        raise Fault(f"returned {type(answer).__name__}, which has no order; a ranking is a list")
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise Fault(f"returned {type(answer).__name__}, not a list of tables")
    items = list(islice(answer, top_k + 1))  # it may yield for ever
    if len(items) > top_k:
        n = f"{len(answer)}" if isinstance(answer, Sized) else f"more than {top_k}"
        raise Fault(f"returned {n} tables where at most {top_k} were asked for")
    tables, scores = _split(items)
    found = [_find_position(table, positions) for table in tables]
    if len(set(found)) < len(found):
        repeated = next(t for i, t in enumerate(tables) if found[i] in found[:i])
        raise Fault(f"returned the table {_show_table(repeated)} twice")
    if not scores:
        return found, [], False, False
    (ranking,) = to_lists(sort_by_score(np.array([found]), np.array([scores])), [len(found)])
    return ranking


def _split(items: list[Any]) -> tuple[Sequence[Any], list[float]]:
    """Return the tables and scores of a ranking; no scores where it holds bare ids."""
    try:
        bare = {isinstance(item[0], str) for item in items}
    except (TypeError, LookupError):
        return items, []  # one of them is not an id, which the look-up names
    if bare == {True, False}:
        raise Fault("returned some tables with a score and some without")
    if False not in bare:
        return items, []
    try:
        tables, scores = zip(*items, strict=True)
    except ValueError:
        raise Fault(
            f"returned {show_value(items[0])}; a table is an id or a pair (id, score)"
        ) from None
    return tables, list(map(_read_score, tables, scores))


def _read_score(table: Any, score: Any) -> float:
    try:
        value = nan if isinstance(score, _NOT_NUMBERS) else float(score)
    except Exception:  # of any object, as of a tensor of several numbers
        value = nan
    if not isfinite(value):
        raise Fault(
            f"returned the score {show_value(score)} for table {_show_table(table)}; a score is a "
            "number"
        )
    return value


def _find_position(table: Any, positions: Mapping[tuple[str, str], int]) -> int:
    try:
        return positions[tuple(table) if isinstance(table, list) else table]
    except (KeyError, TypeError):
        raise Fault(
            f"returned {_show_table(table)}, which is not the id of a table in the corpus; an id "
            "is a pair (database_id, table_id), as in table.id"
        ) from None


def _show_table(table: Any) -> str:
    return str(table) if isinstance(table, TableId) else show_value(table)
