"""Name -> plug-in: built-in, contributed, entry points, ``module:Class``, ``path/file.py:Class``.

Names of built-ins stand in ``built_in``. Targets are strings, imported when asked for.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from target_bench import contrib
from target_bench.core.built_in import BUILT_IN as BUILT_IN
from target_bench.core.built_in import METRIC_MODULES, UNLISTED
from target_bench.core.built_in import Kind as Kind
from target_bench.core.credentials import mask_config, mask_settings, note_secrets, without_secrets
from target_bench.core.errors import (
    PASSED_ON,
    ConfigError,
    MissingExtraError,
    PluginError,
    unknown_name,
)
from target_bench.core.plugin_files import FILE_MODULE
from target_bench.core.settings import parse_settings
from target_bench.core.user_code import described, place, process_restored

DISTRIBUTION = "target-bench"

_NAME = __name__.partition(".")[0]

BASELINES = ("bm25", "tfidf", "lsa", "random")
"""Retrievers without a model: what is compared if nothing is named."""

_GROUPS: dict[Kind, str] = {
    "retriever": "target_bench.retrievers",
    "generator": "target_bench.generators",
    "corpus": "target_bench.corpora",
    "task": "target_bench.tasks",
    "encoder": "target_bench.encoders",
    "index": "target_bench.vector_indexes",
    "metric": "target_bench.metrics",
}

_CONTRIBUTED: dict[Kind, str] = {
    "retriever": "retrievers",
    "generator": "generators",
    "corpus": "corpora",
}

_FILE = re.compile(r"(?P<target>[^=]+?\.py:[^\W\d]\w*)(?::(?P<settings>.*))?", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")  # of a path of Windows
_MODULE = re.compile(r"(?P<target>[^\W\d][\w.]*:[^\W\d]\w*)(?::(?P<settings>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spec:
    """A plug-in as users write it: a target and its settings."""

    target: str
    settings: dict[str, Any]


def normalise(name: str) -> str:
    """Return the form in which names are compared: lower case, letters, digits and ``+`` only.

    A plus is part of a name: BM25+ and chrF++ are other formulas than BM25 and chrF.
    """
    return re.sub(r"[^\w+]+|_", "", name.lower())


def names(kind: Kind) -> list[str]:
    """Return all names of a kind: built-ins in their order, contributed ones, installed ones."""
    return [name for name in _places(kind) if name not in UNLISTED.get(kind, ())]


def built_in_metric(name: str) -> str | None:
    """Return ``module:name`` of a built-in metric; None of any other."""
    imported_first = sorted(METRIC_MODULES, key=lambda module: module not in sys.modules)
    return next((m[name] for m in map(_metrics, imported_first) if name in m), None)


@cache
def _metrics(module: str) -> dict[str, str]:
    """Return name -> ``module:name`` of the metrics that a module declares."""
    declared = importlib.import_module(module).DEFINITIONS
    return {name: f"{module}:{name}" for name in declared}


def contributed_file(kind: Kind, name: str) -> str | None:
    """Return the file of a contributed plug-in, as in ``corpora/wtq.py``; None for any other."""
    module = _find(kind, name) or ""
    if module not in _contributed(kind).values():
        return None
    return "/".join(module.split(".")[-2:]) + ".py"


def working(kind: Kind) -> list[str]:
    """Return all names of a kind without the contributed ones whose file cannot be imported."""
    working = names(kind)
    for name in _contributed(kind):
        try:
            resolve(kind, name)
        except (ConfigError, MissingExtraError):  # raised where the plug-in itself is asked for
            working.remove(name)
    return working


def parse(kind: Kind, text: str) -> Spec:
    """Read ``name``, ``name:key=value,...``, ``module:Class[:...]`` or ``file.py:Class[:...]``.

    Raises:
        ConfigError: the settings are not ``key=value`` pairs with values in YAML flow style.
    """
    target, settings = divided(kind, text)
    return Spec(target, parse_settings(settings, text))


def divided(kind: Kind, text: str) -> tuple[str, str]:
    """Return what ``parse`` reads as the name or place of the class, and its settings unread."""
    prefix = text[:2] if _DRIVE.match(text) else "hf:" if text.startswith("hf:") else ""
    name, _, rest = text.removeprefix(prefix).partition(":")
    name = prefix + name
    if rest and _find(kind, name) is None:
        match = _FILE.fullmatch(text) or _MODULE.fullmatch(text)
        if match:
            return match["target"], match["settings"] or ""
    return name, rest


def create(kind: Kind, text: str, other_names: Iterable[str] = ()) -> Any:
    """Build the plug-in that ``text`` names, with its settings checked against its constructor.

    Args:
        kind: what to build.
        text: a name with settings, as ``parse`` reads it.
        other_names: names other than plug-ins that a message about an unknown one should show.

    Raises:
        ConfigError: an unknown name (with near misses), an unknown setting, a value of the wrong
            type, or a module or class that cannot be imported.
        PluginError: the constructor of a class that is not of this package raised.
    """
    spec = parse(kind, text)
    return build(kind, spec.target, spec.settings, other_names, text)


def build(
    kind: Kind,
    target: str,
    settings: dict[str, Any],
    other_names: Iterable[str] = (),
    text: str | None = None,
) -> Any:
    """Build a plug-in from its name and its settings; ``text``, which errors quote, has both."""
    note_secrets(settings)
    cls = resolve(kind, target, other_names)
    checked = _checked(cls, settings, f"{kind} {target}")
    try:
        with process_restored():
            return cls(**checked)
    except (*PASSED_ON, MissingExtraError):
        raise
    except BaseException as error:
        is_ours, named = isinstance(error, ConfigError), mask_settings(text or target)
        problem = without_secrets(str(error) if is_ours else described(error) + place(error))
        if is_ours or is_own_code(cls):
            raise ConfigError(f"{kind} {named!r}: {problem}") from error
        raise PluginError(f"{kind} {named} cannot be made: {problem}") from error


def part(kind: Kind, value: Any) -> Any:
    """Return the plug-in that a setting of another one names; an object is that plug-in itself.

    Raises:
        ConfigError: as for ``create``.
    """
    return create(kind, value) if isinstance(value, str) else value


def resolve(
    kind: Kind, target: str, other_names: Iterable[str] = (), only_callable: bool = True
) -> Any:
    """Return the class behind a name, ``module:Class`` or ``path/file.py:Class``.

    With ``only_callable`` false, any other object of a module or file may be named, too.
    """
    where = _find(kind, target)
    if where is None and ":" not in target:
        if target in other_names:
            raise ConfigError(f"the {kind} {target} has no settings")
        aliases = [a for n in names(kind) for a in _aliases(n)] if kind == "task" else []
        raise ConfigError(unknown_name(kind, target, [*names(kind), *other_names], aliases))
    module_name, _, attribute = (where or target).rpartition(":")
    if where is None and _FILE.fullmatch(target):
        from target_bench.core.plugin_files import module_of

        module = module_of(Path(module_name).resolve(), target)
    else:  # the module of a contributed plug-in stands alone
        module = _imported(module_name or attribute, target)
    return _attribute(module, attribute if module_name else "", target, only_callable)


def is_known(kind: Kind, name: str) -> bool:
    """Return whether a plug-in is registered under this name, in any spelling."""
    return _find(kind, name) is not None


def canonical(kind: Kind, name: str) -> str:
    """Return the registered spelling of a name (``OTT-QA`` -> ``ottqa``); other names as they are.

    A task is also known by its title and its aliases (``QA`` -> its short name).
    """
    if kind == "metric" and built_in_metric(name):
        return name  # without importing the modules of all metrics
    known = _places(kind)
    if name in known:
        return name
    plain = normalise(name)
    registered = next((short for short in known if normalise(short) == plain), None)
    if registered is None and kind == "task":
        of_tasks = ((short, map(normalise, _aliases(short, "title"))) for short in known)
        registered = next((short for short, others in of_tasks if plain in others), None)
    return registered or name


def _aliases(task: str, *more: str) -> list[str]:
    """Return the aliases of a task and more of its attributes; none of a broken plug-in."""
    try:
        cls = resolve("task", task)
    except ConfigError:  # raised where the plug-in itself is asked for
        return []
    return [*getattr(cls, "aliases", ()), *(getattr(cls, name, "") for name in more)]


def anywhere(target: str) -> str:
    """Return a target as it can be named from any folder: the path of a file is absolute."""
    if not _FILE.fullmatch(target):
        return target
    path, _, name = target.rpartition(":")
    return f"{Path(path).resolve()}:{name}"


def _find(kind: Kind, name: str) -> str | None:
    """Return where the plug-in of a name in any spelling is, as ``module:Class``."""
    if kind == "metric" and (where := built_in_metric(name)):
        return where
    return _places(kind).get(canonical(kind, name))


def _places(kind: Kind) -> dict[str, str]:
    """Return name -> ``module:Class``, or the module of a contributed plug-in, of all of a kind."""
    built_in = BUILT_IN.get(kind) or {
        name: where for module in METRIC_MODULES for name, where in _metrics(module).items()
    }
    own = built_in | UNLISTED.get(kind, {}) | _contributed(kind)
    installed = _installed(_GROUPS[kind], tuple(sys.path))
    return own | {name: where for name, where in installed.items() if name not in own}


def _contributed(kind: Kind) -> dict[str, str]:
    """Return name -> module of the contributed plug-ins of a kind."""
    return contrib.modules(_CONTRIBUTED[kind]) if kind in _CONTRIBUTED else {}


@cache
def _installed(group: str, _path: tuple[str, ...]) -> dict[str, str]:
    """Return the entry points of a group; scanning every installed package takes a while."""
    from importlib.metadata import entry_points

    places: dict[str, str] = {}
    for entry in sorted(entry_points(group=group)):
        other = places.setdefault(entry.name, entry.value)
        if other != entry.value:
            raise ConfigError(
                f"two installed packages offer {entry.name!r} as one of {group}: {other} and "
                f"{entry.value}. Name the class instead: {entry.value}"
            )
    return places


def _imported(name: str, target: str) -> Any:
    try:
        return importlib.import_module(name)
    except (*PASSED_ON, MissingExtraError):
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and name.startswith(error.name or " "):
            raise ConfigError(f"{target!r}: there is no module {error.name!r}") from error
        raise ConfigError(
            f"{target!r}: importing {name} raised {described(error)}{place(error)}"
        ) from error


def _attribute(module: Any, attribute: str, target: str, only_callable: bool) -> Any:
    """Return an object of a module; without a name, the only public class that it defines."""
    own = {
        name: value
        for name, value in vars(module).items()
        if callable(value)
        and not inspect.isbuiltin(value)
        and getattr(value, "__module__", None) == module.__name__
    }
    if not attribute:
        public = [n for n, value in own.items() if inspect.isclass(value) and n[0] != "_"]
        if len(public) == 1:
            return own[public[0]]
        raise ConfigError(
            f"{target!r}: {module.__file__} defines the public classes "
            f"{', '.join(public) or 'none'}. A contributed plug-in is the one class of its file "
            "whose name does not begin with an underscore"
        )
    plugin = getattr(module, "DEFINITIONS", {}).get(attribute) or getattr(module, attribute, None)
    if plugin is None or (only_callable and not callable(plugin)):
        raise ConfigError(
            f"{target!r}: no {attribute!r} in {target.rpartition(':')[0]}. Classes and functions "
            f"there: {', '.join(own) or 'none'}"
        )
    return plugin


def _checked(cls: Any, settings: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the settings, each converted to the type its constructor argument declares."""
    try:
        parameters = inspect.signature(cls, eval_str=True).parameters.values()
    except NameError:  # a type hint that exists for type checkers only
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{what}: its constructor cannot be read: {error}") from error
    named = {p.name: p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    nested = [n for n, value in settings.items() if isinstance(value, str) and ":" in value]
    for key in settings:
        if key not in named and not open_ended:
            advice = ""
            if nested:  # its commas end it: rerank:retriever=bm25:k1=1,b=2
                quoted = f"{nested[0]}='{mask_settings(settings[nested[0]])},{key}=...'"
                advice = f" Settings of {nested[0]} go into quotes: {quoted}."
            raise ConfigError(f"{what}: {unknown_name('setting', key, named)}{advice}")
    for name, parameter in named.items():
        if parameter.default is parameter.empty and name not in settings:
            raise ConfigError(f"{what}: needs the setting {name}, as in {name}=...")
    converted = {}
    for key, value in settings.items():
        annotation = named[key].annotation if key in named else inspect.Parameter.empty
        shown = f"{what}: setting {key}={mask_config(value, key)!r}"
        converted[key] = _converted(value, annotation, shown)
    return converted


def _converted(value: Any, annotation: Any, what: str) -> Any:
    from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return value
    try:
        return TypeAdapter(annotation).validate_python(value)
    except PydanticSchemaGenerationError:
        return value
    except ValidationError as error:
        problems = "; or ".join(dict.fromkeys(e["msg"] for e in error.errors()))
        if "valid string" in problems:
            problems += ". Text that looks like something else is put into quotes, as in '42'"
        hints = (hint for hint in getattr(annotation, "__metadata__", ()) if isinstance(hint, str))
        problems = ". ".join([problems, *hints])
        raise ConfigError(f"{what}: {problems}") from error


@cache
def installed_version(package: str) -> str | None:
    """Return the version of an installed package, or None; looked up once a process."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = distribution(package)
    except PackageNotFoundError:
        return None
    # ``installed.version`` parses the whole of the metadata, README included: milliseconds.
    head = (installed.read_text("METADATA") or "").partition("\n\n")[0]
    version = re.search(r"^Version: *(\S+)$", head, re.MULTILINE)
    return version[1] if version else installed.version


def is_own_code(thing: type | FunctionType) -> bool:
    """Return whether a class or function is of this package, and not contributed."""
    return thing.__module__.partition(".")[0] == _NAME and not contrib.is_contributed(thing)


def class_name(thing: type | FunctionType) -> str:
    """Return the name of a class or function in an identity.

    Returns:
        ``BM25`` for one of this package, wherever it lies in it; ``mine.py:Mine`` for one of a
        plug-in that was named by its file; else ``module:Class``.
    """
    module, name = thing.__module__, thing.__qualname__
    if is_own_code(thing):
        return name
    if module.startswith(FILE_MODULE):
        module = Path(sys.modules[module].__file__ or "").name
    return f"{module}:{name}"
