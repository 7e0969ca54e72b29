"""Name -> plug-in: built-in, contributed, entry points, ``module:Class``, ``path/file.py:Class``.

Names of built-ins stand in ``built_in``. Targets are strings, imported when asked for.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from target_bench import contrib
from target_bench.core.built_in import BUILT_IN as BUILT_IN
from target_bench.core.built_in import METRIC_MODULES, UNLISTED
from target_bench.core.built_in import Kind as Kind
from target_bench.core.credentials import masked, masked_settings, note_secrets, without_secrets
from target_bench.core.errors import (
    PASSED_ON,
    ConfigError,
    MissingExtraError,
    PluginError,
    unknown_name,
)
from target_bench.core.plugin_files import FILE_MODULE
from target_bench.core.settings import parse_settings
from target_bench.core.user_code import described, place

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
    known = [*built_in(kind), *contributed(kind)]
    return [*known, *sorted(set(_entry_points(kind)) - set(known))]


def built_in(kind: Kind) -> Mapping[str, str]:
    """Return name -> ``module:Class`` of the built-in plug-ins of a kind, in their order."""
    if kind != "metric":
        return BUILT_IN[kind]
    return {name: where for module in METRIC_MODULES for name, where in _metrics(module).items()}


def built_in_metric(name: str) -> str | None:
    """Return ``module:name`` of a built-in metric; None of any other."""
    imported_first = sorted(METRIC_MODULES, key=lambda module: module not in sys.modules)
    return next((m[name] for m in map(_metrics, imported_first) if name in m), None)


@cache
def _metrics(module: str) -> dict[str, str]:
    """Return name -> ``module:name`` of the metrics that a module declares."""
    declared = importlib.import_module(module).DEFINITIONS
    return {name: f"{module}:{name}" for name in declared}


def contributed(kind: Kind) -> list[str]:
    """Return the names of the contributed plug-ins of a kind, sorted."""
    return list(_contributed(kind))


def contributed_file(kind: Kind, name: str) -> str | None:
    """Return the file of a contributed plug-in, as in ``corpora/wtq.py``; None for any other."""
    module = _find(kind, name) if name not in built_in(kind) else None
    if module not in _contributed(kind).values():
        return None
    return "/".join(str(module).split(".")[-2:]) + ".py"


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
    name, _, rest = text.partition(":")
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
    settings_as_written: dict[str, Any],
    other_names: Iterable[str] = (),
    text: str | None = None,
) -> Any:
    """Build a plug-in from its name and its settings; errors as for ``create``."""
    note_secrets(settings_as_written)
    cls = resolve(kind, target, other_names)
    named = _as_named(target)
    text = (text or target).replace(target, named, 1)
    settings = _checked(cls, settings_as_written, f"{kind} {named}")
    try:
        return cls(**settings)
    except (*PASSED_ON, MissingExtraError):
        raise
    except BaseException as error:
        is_ours = isinstance(error, ConfigError)
        problem = str(error) if is_ours else described(error) + place(error)
        named, shown = masked_settings(text), without_secrets(problem)
        if is_ours or is_own_code(cls):
            raise ConfigError(f"{kind} {named!r}: {shown}") from error
        raise PluginError(f"{kind} {named} cannot be made: {shown}") from error


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
    path = _find(kind, target)
    if path is not None:
        return _import(path, target)
    if _FILE.fullmatch(target):
        from target_bench.core.plugin_files import module_of

        file_name, _, attribute = target.rpartition(":")
        module = module_of(Path(file_name).resolve(), target)
        return _attribute(module, attribute, target, only_callable)
    if ":" in target:
        return _import(target, target, only_callable)
    if target in other_names:
        raise ConfigError(f"the {kind} {target} has no settings")
    aliases = [a for n in names(kind) for a in _aliases(n)] if kind == "task" else []
    message = unknown_name(kind, target, [*names(kind), *other_names], aliases)
    others = [
        f" {target} is a{'n' * (other[0] in 'ei')} {other}."
        for other in _GROUPS
        if other != kind and is_known(other, target)
    ]
    raise ConfigError("".join([message, *others]))


def is_known(kind: Kind, name: str) -> bool:
    """Return whether a plug-in is registered under this name, in any spelling."""
    return _find(kind, name) is not None


def canonical(kind: Kind, name: str) -> str:
    """Return the registered spelling of a name (``OTT-QA`` -> ``ottqa``); other names as they are.

    A task is also known by its title and its aliases (``QA`` -> its short name).
    """
    if _find_exact(kind, name):
        return name
    plain = normalise(name)
    known = [*names(kind), *UNLISTED.get(kind, ())]
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
    return _find_exact(kind, name) or _find_exact(kind, canonical(kind, name))


def _find_exact(kind: Kind, name: str) -> str | None:
    known = {} if kind == "metric" else BUILT_IN[kind] | UNLISTED.get(kind, {})
    where = built_in_metric(name) if kind == "metric" else known.get(name)
    if where is not None:
        return where
    if name in _contributed(kind):
        return _contributed(kind)[name]
    entry = _entry_points(kind).get(name)
    return entry.value if entry else None


def _contributed(kind: Kind) -> dict[str, str]:
    """Return name -> module of the contributed plug-ins of a kind."""
    return contrib.modules(_CONTRIBUTED[kind]) if kind in _CONTRIBUTED else {}


def _entry_points(kind: Kind) -> dict[str, "EntryPoint"]:
    entries: dict[str, EntryPoint] = {}
    for entry in _installed(_GROUPS[kind], tuple(sys.path)) if kind in _GROUPS else ():
        other = entries.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise ConfigError(
                f"two installed packages offer a {kind} named {entry.name!r}: "
                f"{other.value} and {entry.value}. Name the class instead: {entry.value}"
            )
    return entries


@cache
def _installed(group: str, _path: tuple[str, ...]) -> tuple["EntryPoint", ...]:
    """Return the entry points of a group; scanning every installed package takes a while."""
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


def _import(path: str, target: str, only_callable: bool = True) -> Any:
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and module_name.startswith(error.name):
            raise ConfigError(f"{target!r}: there is no module {error.name!r}") from error
        raise ConfigError(
            f"{target!r}: importing {module_name} failed: {error}{place(error)}"
        ) from error
    except (*PASSED_ON, MissingExtraError):
        raise
    except BaseException as error:
        raise ConfigError(
            f"{target!r}: importing {module_name} raised {described(error)}{place(error)}"
        ) from error
    if not attribute:
        return _only_class(module, target)
    return _attribute(module, attribute, target, only_callable)


def _only_class(module: Any, target: str) -> type:
    """Return the plug-in of a contributed file: the one public class that is defined there."""
    own = [
        value
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and name[0] != "_"
    ]
    if len(own) != 1:
        defined = ", ".join(cls.__name__ for cls in own) or "none"
        raise ConfigError(
            f"{target!r}: {module.__file__} defines the public classes {defined}. A contributed "
            "plug-in is the one class of its file whose name does not begin with an underscore"
        )
    return own[0]


def _as_named(target: str) -> str:
    """Return a class of a file by the file's name, for messages; other names as they are."""
    module, _, name = target.rpartition(":")
    if not module.startswith(FILE_MODULE):
        return target
    return f"{Path(sys.modules[module].__file__ or module).name}:{name}"


def _attribute(module: Any, attribute: str, target: str, only_callable: bool) -> Any:
    plugin = getattr(module, "DEFINITIONS", {}).get(attribute) or getattr(module, attribute, None)
    if plugin is None or (only_callable and not callable(plugin)):
        own = [
            name
            for name, value in vars(module).items()
            if callable(value)
            and not inspect.isbuiltin(value)
            and getattr(value, "__module__", None) == module.__name__
        ]
        raise ConfigError(
            f"{target!r}: no {attribute!r} in {target.rpartition(':')[0]}. Classes and functions "
            f"there: {', '.join(own) or 'none'}"
        )
    return plugin


def _checked(cls: Any, settings: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the settings, each converted to the type its constructor argument declares."""
    parameters = _constructor(cls, what).parameters.values()
    named = {p.name: p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for key in settings:
        if key not in named and not open_ended:
            problem = unknown_name("setting", key, named)
            raise ConfigError(f"{what}: {problem}{_quoted(key, settings, problem)}")
    for name, parameter in named.items():
        if parameter.default is parameter.empty and name not in settings:
            raise ConfigError(f"{what}: needs the setting {name}, as in {name}=...")
    return {
        key: _converted(
            value, named[key].annotation, f"{what}: setting {key}={masked(value, key)!r}"
        )
        if key in named
        else value
        for key, value in settings.items()
    }


def _quoted(key: str, settings: Mapping[str, Any], problem: str) -> str:
    """Return advice on quotes, where an unknown setting may be one of an earlier plug-in."""
    for name, value in settings.items():
        if isinstance(value, str) and ":" in value and "Did you mean" not in problem:
            return (
                f" Settings of {name} go into quotes: {name}='{masked_settings(value)},{key}=...'."
            )
    return ""


def _constructor(cls: Any, what: str) -> inspect.Signature:
    try:
        return inspect.signature(cls, eval_str=True)
    except NameError:  # a type hint that exists for type checkers only
        return inspect.signature(cls)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{what}: its constructor cannot be read: {error}") from error


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
