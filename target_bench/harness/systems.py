"""``System``: a retriever or generator as a run knows it, with what identifies it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from target_bench.core import ranking
from target_bench.core.built_in import BOUNDS
from target_bench.core.contract import RetrieverLike, check_generator, check_retriever
from target_bench.core.credentials import mask_settings
from target_bench.core.identity import (
    object_label,
    plugin_identity,
    reads_gold,
    used_packages,
)
from target_bench.core.observer import Observer
from target_bench.core.plugin_errors import plugin_errors
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import Generation, GenerationRequest, Query
from target_bench.core.settings import split_name
from target_bench.core.task import Task, has_reference
from target_bench.models.original_classes import adapt_plugin, create_plugin


class GeneratorLike(Protocol):
    """The one method that makes any object a generator."""

    def generate(self, request: GenerationRequest) -> Generation | str:
        """Return the answer to one request."""


@dataclass(frozen=True)
class System:
    """Hold a retriever or generator with what a run records of it.

    Attributes:
        label: the plug-in as it was asked for, or the name of a file.
        identity: all of it that can change a ranking or answer.
        plugin: the plug-in; None for gold and empty answers, and for those of a stored run.
        look_up: query -> its ranking or answer, where these are stored; the plug-in, if there is
            one, is then not asked. None: it is asked.
        prompt: what identifies the prompt of stored answers; None: it is the prompt of this run.
        name: what the user calls it; None without a name.
        packages: package -> version of those that it uses.
    """

    label: str
    identity: Mapping[str, Any]
    plugin: Any = None
    look_up: Callable[[Query], Any] | None = None
    prompt: Mapping[str, Any] | None = None
    name: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def reads_gold(self) -> bool:
        """Whether it is given whole queries in place of their texts."""
        return reads_gold(self.identity)

    @property
    def returns_sets(self) -> bool:
        """Whether it chooses how many tables to return."""
        return bool(self.identity.get("returns_sets"))

    @property
    def is_of_package(self) -> bool:
        """Whether it is a plug-in of this package, also where only its records are here."""
        name = self.identity.get("class")
        return name is not None and ":" not in name  # others are called module:Class

    @property
    def is_gold(self) -> bool:
        """Whether the reference answers are its answers."""
        return self.identity == {"mode": GOLD}


@dataclass(frozen=True, slots=True)
class AnswerMode:
    """Answers without a generator: what they are for, and where they come from."""

    description: str
    answer: Callable[[Task[Any], Query], Generation]


def _answer_gold(task: Task[Any], query: Query) -> Generation:
    return Generation(query.id, query.references[0] if has_reference(task, query) else "")


def _answer_nothing(_: Task[Any], query: Query) -> Generation:
    return Generation(query.id, "")


GOLD = "gold"

ANSWER_MODES = {
    GOLD: AnswerMode("The reference answers: upper bound.", _answer_gold),
    "empty": AnswerMode("No answer: lower bound.", _answer_nothing),
}


def make_retriever(
    retriever: RetrieverLike | str, observer: Observer, name: str | None = None
) -> System:
    """Make the system of a retriever: one that a text names, or an object.

    Its identity says for good whether it reads gold or returns sets: later the object could say
    otherwise.
    """
    system = _make_system("retriever", retriever, name, BOUNDS, check_retriever, observer)
    marks = ("reads_gold", "returns_sets")
    marked = {mark: True for mark in marks if getattr(system.plugin, mark, False)}
    return replace(system, identity={**system.identity, "ranking": ranking.RULE, **marked})


def make_generator(
    generator: GeneratorLike | str, task: Task[Any], config: RunConfig, observer: Observer
) -> System:
    """Make the system of a task's answers: a generator that a text names, an object, or a mode."""
    name, generator = split_name(generator)
    converses = False
    if isinstance(generator, str) and generator in ANSWER_MODES:
        mode = ANSWER_MODES[generator]
        system = System(
            generator,
            {"mode": generator},
            look_up=lambda q: mode.answer(task, q),
            name=name,
            packages=used_packages(task),
        )
    else:
        system = _make_system(
            "generator", generator, name, ANSWER_MODES, check_generator, observer, task
        )
        converses = getattr(system.plugin, "converses", False)
    if config.prompt is not None and not converses:
        observer.warning(
            f"{system.label} does not declare that it reads prompts (converses = True), so "
            f"{config.prompt} may have no effect"
        )
    return system


def _make_system(
    kind: Literal["retriever", "generator"],
    given: Any,
    name: str | None,
    other_names: Iterable[str],
    check: Callable[[Any], Any],
    observer: Observer,
    *also_used: object,
) -> System:
    """Make and identify a plug-in; ``other_names``: those that a misspelled one may have meant."""
    text = given if isinstance(given, str) else None
    label = text or type(given).__name__
    if text is not None:
        plugin = create_plugin(kind, text, other_names=other_names)
    else:
        plugin = adapt_plugin(kind, given)
    check(plugin)
    with plugin_errors(f"{kind} {mask_settings(label)}", "what identifies it"):
        identity, warning = plugin_identity(plugin)
        label = text or object_label(given, identity)
    if warning:
        observer.warning(warning)
    packages = used_packages(plugin, *also_used)
    return System(mask_settings(label), identity, plugin, name=name, packages=packages)
