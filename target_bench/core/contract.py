"""The contracts of retrievers and generators, and the checks that an object keeps one."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from types import UnionType
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from target_bench.core.errors import ConfigError, PluginError
from target_bench.core.observer import Observer
from target_bench.core.plugin_errors import plugin_errors
from target_bench.core.ranking import Ranking
from target_bench.core.registry import class_name
from target_bench.core.schema import Corpus, Generation, GenerationRequest
from target_bench.core.task import Task
from target_bench.core.user_code import describe_with_line, format_traceback, show_value

T = TypeVar("T")


def get_constructor_arguments(plugin: object) -> dict[str, Any]:
    """Return all constructor arguments, which an object keeps as attributes of their names.

    Raises:
        AttributeError: one of them is not kept.
    """
    parameters = inspect.signature(type(plugin)).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise AttributeError("its constructor takes *args or **kwargs")
    names = [p.name for p in parameters]
    for name in names:
        # An argument may be called config, as a method of the contract is.
        if inspect.ismethod(getattr(plugin, name)) and name not in getattr(plugin, "__dict__", {}):
            raise AttributeError(
                f"it does not keep its constructor argument {name}: write self.{name} = {name}, "
                f"as now self.{name} is the method {type(plugin).__name__}.{name}"
            )
    return {name: getattr(plugin, name) for name in names}


class Retriever(ABC):
    """Finds tables for a query. Two methods make a retriever; the others have defaults.

    ```python
    from target_bench import Retriever, evaluate

    class First(Retriever):
        def embed_corpus(self, corpus):
            self.ids = list(corpus.ids)

        def retrieve(self, query, top_k):
            return self.ids[:top_k]

    print(evaluate(First(), "mini")["First"]["recall@10"])  # .064 [.042, .098]
    ```

    Keep each constructor argument as an attribute of its name, and do the work in
    ``embed_corpus``: then runs record its settings without any code of yours.

    Attributes:
        VERSION: for retrievers of this package: raised with every change that can change a ranking,
            so that no earlier run is reused. Your own is identified by its source files.
        packages: distributions whose versions can change a ranking; recorded with every run.
        queries_at_once: the largest batch of ``retrieve_batch``; rankings are written to disk after
            each batch.
        reads_gold: whether it gets whole queries, gold tables included, in place of their texts: an
            upper bound, and no system. Read once, before the run; part of its identity.
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
        """Index the tables; called before any query. A second call replaces the index."""

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
        """Return name -> plug-in that it uses, which becomes part of its identity. Default: none.

        Use the name of a constructor argument as the key of its plug-in: it is then left out of the
        settings.
        """
        return {}

    def notes(self) -> Sequence[str]:
        """Return warnings about the work so far, which the user sees at the end. Default: none."""
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
    """Answers requests. One method makes a generator; the others have defaults.

    ```python
    from target_bench import GenerationRequest, Generator

    class Echo(Generator):
        def generate(self, request):
            return request.query

    print(Echo().generate(GenerationRequest("q1", "qa", (), "Who won?")))  # Who won?
    ```

    Keep constructor arguments as attributes, as for a ``Retriever``. A failed answer is a
    ``Generation`` with its ``error`` set, or an exception of ``generate``: only that query fails. A
    ``TargetBenchError``, and whatever ``generate_many`` raises, ends the run.

    Attributes:
        VERSION: as of a ``Retriever``.
        packages: distributions whose versions can change an answer; recorded with every run.
        paid: whether a request may cost money: the command line asks the user before the first.
        converses: whether it reads the messages of a request, so that it can be told in a further
            message what is wrong with its answer.
        follows_schema: whether its model is made to answer in JSON of ``answer_schema``.
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
        observer: Observer,  # noqa: ARG002 (for those that wait)
    ) -> Iterator[Generation]:
        """Yield the answers to many requests, in any order. Default: one call each.

        Override it to answer several requests at the same time.

        Args:
            requests: an iterator, each item of which makes a prompt: take one when you need it.
            observer: to be told of warnings and of waiting (``observer.waiting``).
        """
        for request in requests:
            answer = self.generate(request)
            yield Generation(request.query_id, answer) if isinstance(answer, str) else answer

    def find_unanswered(self, requests: Iterable[GenerationRequest]) -> Iterator[GenerationRequest]:
        """Yield the requests whose answers are not recorded and would be sent. Default: all."""
        yield from requests

    def estimate_cost(
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


class _Rule(NamedTuple):
    """The values that an attribute may have."""

    is_valid: Callable[[Any], bool]
    expected: str  # for the message


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_BOOLEAN = _Rule(lambda value: isinstance(value, bool), "True or False")
_ATTRIBUTES = {
    "packages": _Rule(_are_names, "a tuple of names of distributions"),
    "queries_at_once": _Rule(_is_count, "a whole number from 1"),
    "paid": _BOOLEAN,
    "reads_gold": _BOOLEAN,
    "returns_sets": _BOOLEAN,
    "converses": _BOOLEAN,
    "follows_schema": _BOOLEAN,
}


def check_retriever(retriever: Any) -> RetrieverLike:
    """Return the object; raise ``ConfigError`` unless it has the methods of a retriever."""
    methods = {"embed_corpus": "embed_corpus(corpus)", "retrieve": "retrieve(query, top_k)"}
    _check("retriever", retriever, methods)
    checked: RetrieverLike = retriever
    return checked


def check_generator(generator: Any) -> Any:
    """Return the object; raise ``ConfigError`` unless it has the method of a generator.

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
    """Check methods and attributes; ``methods`` maps a name to how it is written."""
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
        for name, rule in _ATTRIBUTES.items():
            if hasattr(plugin, name) and not rule.is_valid(getattr(plugin, name)):
                value = show_value(getattr(plugin, name))
                raise PluginError(f"{label}: its {name} is {value}; expected {rule.expected}")
        is_paid(plugin)  # calls parts(), which may raise: here, and not in the middle of a run


def get_parts(plugin: object) -> Mapping[str, object]:
    """Return the parts of a plug-in by name; none where it has no method ``parts``."""
    parts = getattr(plugin, "parts", None)
    return parts() if callable(parts) else {}


def list_used_plugins(plugin: object) -> list[object]:
    """Return the parts of a plug-in, and of a task also its judge, if that is another object."""
    judge: object = plugin.judge if isinstance(plugin, Task) else None
    return [*get_parts(plugin).values(), *([] if judge in (None, plugin) else [judge])]


def is_paid(plugin: object) -> bool:
    """Return whether a plug-in, or one that it uses, may cost money."""
    return bool(getattr(plugin, "paid", False)) or any(map(is_paid, list_used_plugins(plugin)))


def ask_if_paid(
    plugin: object, confirm: Callable[[T], bool] | None, estimate: Callable[[], T | None]
) -> None:
    """Ask the user before requests to a plug-in that may cost money.

    Args:
        plugin: the plug-in.
        confirm: shows an estimate and returns whether to go on; None: do not ask.
        estimate: returns the estimate, None if there is no request to send.
    """
    if confirm is None or not is_paid(plugin):
        return
    estimated = estimate()
    if estimated is not None and not confirm(estimated):
        raise ConfigError("nothing was sent: you did not confirm the requests")


def make_failed_generation(query_id: str, error: BaseException) -> Generation:
    """Return the answer to a request for which a generator raised."""
    problem = f"raised: {describe_with_line(error)}"
    return Generation(query_id, "", error=problem, traceback=format_traceback(error))


_FIELD_TYPES = {
    name: get_args(hint) if isinstance(hint, UnionType) else (get_origin(hint) or hint,)
    for name, hint in get_type_hints(Generation).items()
}


def find_invalid_field(generation: Generation) -> str | None:
    """Return the fault of the first invalid field of an answer, as ``its text is int``, or None.

    An answer comes from a user's plug-in, or from a file that may have been edited.
    """
    for name, kinds in _FIELD_TYPES.items():
        value = getattr(generation, name)
        is_valid = isinstance(value, (*kinds, int) if float in kinds else kinds)
        if not is_valid or (isinstance(value, bool) and bool not in kinds):  # a bool is an int
            return f"its {name} is {type(value).__name__}"
        if isinstance(value, float) and not isfinite(value):
            return f"its {name} is {value}"
        if isinstance(value, int | float) and value < 0:
            return f"its {name} is {value}, less than 0"
    return None
