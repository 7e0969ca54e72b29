"""Plug-ins by name: ``create("retriever", "bm25:k1=0.9")``.

A name is looked up in this order: built-in (``built_in``), contributed (a file in the folders
``retrievers/``, ``generators/``, ``corpora/``), entry point of an installed package. What is no
name is ``module:Class`` or ``path/file.py:Class``. Nothing is imported before it is asked for.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

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
from target_bench.core.user_code import describe_with_line, restore_process

if TYPE_CHECKING:
    from target_bench.core.task import Task

DISTRIBUTION = "target-bench"

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
_COLON_IN_NAME = re.compile(r"[A-Za-z]:[\\/]|hf:")  # a drive of Windows, a data set of the hub


class Spec(NamedTuple):
    """A plug-in as users write it: a name or the place of a class, and settings."""

    target: str
    settings: dict[str, Any]


# A plug-in from what a user wrote


def create(kind: Kind, text: str, other_names: Iterable[str] = ()) -> Any:
    """Make the plug-in that a text names; settings are checked against its constructor.

    ```python
    from target_bench.core.registry import create

    print(create("retriever", "bm25:k1=0.9").k1)  # 0.9
    ```
    """
    target, settings = parse(kind, text)
    return build(kind, target, settings, other_names, text)


def build(
    kind: Kind,
    target: str,
    settings: dict[str, Any],
    other_names: Iterable[str] = (),
    text: str | None = None,
) -> Any:
    """Make a plug-in from its name and its settings; ``text``, which errors quote, has both."""
    note_secrets(settings)
    cls = resolve(kind, target, other_names)
    arguments = _convert_settings(cls, settings, f"{kind} {target}")
    try:
        with restore_process():
            return cls(**arguments)
    except (*PASSED_ON, MissingExtraError):
        raise
    except BaseException as error:
        is_ours, shown = isinstance(error, ConfigError), mask_settings(text or target)
        problem = without_secrets(str(error) if is_ours else describe_with_line(error))
        if is_ours or is_package_code(cls):
            raise ConfigError(f"{kind} {shown!r}: {problem}") from error
        raise PluginError(f"{kind} {shown} cannot be made: {problem}") from error


def make_part(kind: Kind, value: Any) -> Any:
    """Make the plug-in that a setting names; return an object as it is.

    ```python
    from target_bench.plugin_tools import make_part

    retriever = make_part("retriever", "bm25:k1=0.9")
    print(retriever.k1, make_part("retriever", retriever) is retriever)  # 0.9 True
    ```
    """
    return create(kind, value) if isinstance(value, str) else value


def make_task(text: str) -> "Task[Any]":
    """Make a task from any of its names, with settings."""
    find_task(text)
    task: Task[Any] = create("task", text)
    task.asked_as = spell_task(text)
    return task


def find_task(text: str) -> "type[Task[Any]]":
    """Return the class of a task, from any of its names in any case, with or without settings."""
    from target_bench.core.task import Task

    target = parse("task", text).target
    cls = resolve("task", target)
    if not (isinstance(cls, type) and issubclass(cls, Task)):
        raise ConfigError(f"{target} is not a task: it does not inherit target_bench.Task")
    for attribute in ("name", "title"):
        if not isinstance(getattr(cls, attribute, None), str):
            raise ConfigError(f"{target} is not a task: it has no attribute `{attribute}`")
    return cls


def spell_task(text: str) -> str:
    """Return a task with its settings in the registered spelling, as from any folder."""
    target = parse("task", text).target
    return make_absolute(spell_name("task", target)) + text[len(target) :]


def parse(kind: Kind, text: str) -> Spec:
    """Read ``name``, ``name:key=value,...``, ``module:Class[:...]`` or ``file.py:Class[:...]``."""
    target, settings = split_settings(kind, text)
    return Spec(target, parse_settings(settings, text))


def split_settings(kind: Kind, text: str) -> tuple[str, str]:
    """Divide a text into the name or the place of a class, and its settings unread."""
    match = _COLON_IN_NAME.match(text)
    start = match.end() if match else 0
    name, _, settings = text[start:].partition(":")
    name = text[:start] + name
    if settings and _find(kind, name) is None:
        located = _FILE.fullmatch(text) or _MODULE.fullmatch(text)
        if located:
            return located["target"], located["settings"] or ""
    return name, settings


def make_absolute(target: str) -> str:
    """Return a target as it is named from any folder: with the whole path of a file."""
    if not _FILE.fullmatch(target):
        return target
    path, _, name = target.rpartition(":")
    return f"{Path(path).resolve()}:{name}"


def resolve(
    kind: Kind, target: str, other_names: Iterable[str] = (), only_callable: bool = True
) -> Any:
    """Return the class behind a name, ``module:Class`` or ``path/file.py:Class``.

    ``other_names`` are words that the caller reads without a plug-in, such as ``oracle``: they take
    no settings, and a misspelled name may have meant them. With ``only_callable`` false, any other
    object of a module or file may be named, too.
    """
    where = _find(kind, target)
    if where is None and ":" not in target:
        if target in other_names:
            raise ConfigError(f"the {kind} {target} has no settings")
        aliases = [a for n in names(kind) for a in _list_aliases(n)] if kind == "task" else []
        raise ConfigError(unknown_name(kind, target, [*names(kind), *other_names], aliases))
    module_name, _, attribute = (where or target).rpartition(":")
    if where is None and _FILE.fullmatch(target):
        from target_bench.core.plugin_files import import_file

        module = import_file(Path(module_name).resolve(), target)
    else:  # the module of a contributed plug-in stands alone
        module = _import_module(module_name or attribute, target)
    if module_name:
        return _get_attribute(module, attribute, target, only_callable)
    return _get_only_class(module, target)


# Names


def names(kind: Kind) -> list[str]:
    """List all names of a kind: built-ins in their order, contributed ones, installed ones."""
    return [name for name in _map_names(kind) if name not in UNLISTED.get(kind, ())]


def list_importable(kind: Kind) -> list[str]:
    """List all names of a kind without the contributed ones whose file cannot be imported."""
    importable = names(kind)
    for name in _map_contributed(kind):
        try:
            resolve(kind, name)
        except (ConfigError, MissingExtraError):  # raised where the plug-in itself is asked for
            importable.remove(name)
    return importable


def is_known(kind: Kind, name: str) -> bool:
    """Return whether a plug-in is registered under this name, in any spelling."""
    return _find(kind, name) is not None


def spell_name(kind: Kind, name: str) -> str:
    """Return the registered spelling of a name (``OTT-QA`` -> ``ottqa``); other names as they are.

    A task is also known by its title and its aliases (``QA`` -> its short name).
    """
    if kind == "metric" and built_in_metric(name):
        return name  # without importing the modules of all metrics
    known = _map_names(kind)
    if name in known:
        return name
    plain = normalise(name)
    for registered in known:
        if normalise(registered) == plain:
            return registered
    for registered in known if kind == "task" else ():
        if plain in map(normalise, _list_aliases(registered, "title")):
            return registered
    return name


def normalise(name: str) -> str:
    """Return the form in which names are compared: lower case, letters, digits and ``+`` only."""
    return re.sub(r"[^\w+]+|_", "", name.lower())  # BM25+ and chrF++ are other formulas


def built_in_metric(name: str) -> str | None:
    """Return ``module:name`` of a built-in metric; None of any other."""
    # Importing all modules of metrics is slow: those that are imported already come first.
    modules = sorted(METRIC_MODULES, key=lambda module: module not in sys.modules)
    return next((m[name] for m in map(_map_metrics, modules) if name in m), None)


def contributed_file(kind: Kind, name: str) -> str | None:
    """Return the file of a contributed plug-in, as in ``corpora/wtq.py``; None for any other."""
    module = _find(kind, name) or ""
    if module not in _map_contributed(kind).values():
        return None
    return "/".join(module.split(".")[-2:]) + ".py"


def _find(kind: Kind, name: str) -> str | None:
    """Return ``module:Class`` of a name in any spelling; of a contributed plug-in its module."""
    if kind == "metric" and (where := built_in_metric(name)):
        return where
    return _map_names(kind).get(spell_name(kind, name))


def _map_names(kind: Kind) -> dict[str, str]:
    """Return name -> ``module:Class``, or the module of a contributed plug-in, in their order."""
    built_in = BUILT_IN.get(kind) or {
        name: where for module in METRIC_MODULES for name, where in _map_metrics(module).items()
    }
    ours = built_in | UNLISTED.get(kind, {}) | _map_contributed(kind)
    installed = _map_installed(_GROUPS[kind], tuple(sys.path))
    return {**ours, **installed, **ours}  # a name of ours stays ours


def _map_contributed(kind: Kind) -> dict[str, str]:
    return contrib.modules(_CONTRIBUTED[kind]) if kind in _CONTRIBUTED else {}


@cache
def _map_metrics(module: str) -> dict[str, str]:
    return {name: f"{module}:{name}" for name in importlib.import_module(module).DEFINITIONS}


@cache
def _map_installed(group: str, path: tuple[str, ...]) -> dict[str, str]:
    """Return the entry points of a group: name -> value."""
    found: dict[str, str] = {}
    for entry in sorted(_scan_entry_points(path).select(group=group)):
        other = found.setdefault(entry.name, entry.value)
        if other != entry.value:
            raise ConfigError(
                f"two installed packages offer {entry.name!r} as one of {group}: {other} and "
                f"{entry.value}. Name the class instead: {entry.value}"
            )
    return found


@cache  # for all groups: every installed package is looked at, which takes 6 ms or more
def _scan_entry_points(_path: tuple[str, ...]) -> Any:  # Python 3.11 and 3.12 have two types
    """Read the entry points of all installed packages."""
    from importlib.metadata import entry_points

    return entry_points()


def _list_aliases(task: str, *more: str) -> list[str]:
    """Return the aliases of a task and more of its attributes; none of a broken plug-in."""
    try:
        cls = resolve("task", task)
    except ConfigError:  # raised where the plug-in itself is asked for
        return []
    return [*getattr(cls, "aliases", ()), *(getattr(cls, name, "") for name in more)]


# Imports


def _import_module(name: str, target: str) -> Any:
    try:
        return importlib.import_module(name)
    except (*PASSED_ON, MissingExtraError):
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and name.startswith(error.name or " "):
            raise ConfigError(f"{target!r}: there is no module {error.name!r}") from error
        raise ConfigError(
            f"{target!r}: importing {name} raised {describe_with_line(error)}"
        ) from error


def _map_defined(module: Any) -> dict[str, Any]:
    """Return the classes and functions that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if callable(value)
        and not inspect.isbuiltin(value)
        and getattr(value, "__module__", None) == module.__name__
    }


def _get_attribute(module: Any, name: str, target: str, only_callable: bool) -> Any:
    plugin = getattr(module, "DEFINITIONS", {}).get(name) or getattr(module, name, None)
    if plugin is None or (only_callable and not callable(plugin)):
        raise ConfigError(
            f"{target!r}: no {name!r} in {target.rpartition(':')[0]}. Classes and functions "
            f"there: {', '.join(_map_defined(module)) or 'none'}"
        )
    return plugin


def _get_only_class(module: Any, target: str) -> Any:
    defined = _map_defined(module)
    public = [n for n, value in defined.items() if inspect.isclass(value) and n[0] != "_"]
    if len(public) == 1:
        return defined[public[0]]
    raise ConfigError(
        f"{target!r}: {module.__file__} defines the public classes {', '.join(public) or 'none'}. "
        "A contributed plug-in is the one class of its file whose name does not begin with an "
        "underscore"
    )


# Settings


def _convert_settings(cls: Any, settings: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the settings, each converted to the type that its constructor argument declares."""
    try:
        parameters = inspect.signature(cls, eval_str=True).parameters.values()
    except NameError:  # a type hint that exists for type checkers only
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{what}: its constructor cannot be read: {error}") from error
    declared = {p.name: p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for key in settings:
        if key not in declared and not takes_any:
            advice = _advise_quotes(settings, key)
            raise ConfigError(f"{what}: {unknown_name('setting', key, declared)}{advice}")
    for name, parameter in declared.items():
        if parameter.default is parameter.empty and name not in settings:
            raise ConfigError(f"{what}: needs the setting {name}, as in {name}=...")
    converted = {}
    for key, value in settings.items():
        annotation = declared[key].annotation if key in declared else inspect.Parameter.empty
        shown = f"{what}: setting {key}={mask_config(value, key)!r}"
        converted[key] = _convert(value, annotation, shown)
    return converted


def _advise_quotes(settings: dict[str, Any], key: str) -> str:
    """Return what to write where a comma ended the settings of a part.

    In ``rerank:retriever=bm25:k1=1,b=2`` the setting ``b`` is one of ``rerank``.
    """
    for name, value in settings.items():
        if isinstance(value, str) and ":" in value:
            quoted = f"{name}='{mask_settings(value)},{key}=...'"
            return f" Put the settings of {name} in quotes: {quoted}."
    return ""


def _convert(value: Any, annotation: Any, what: str) -> Any:
    from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return value
    try:
        return TypeAdapter(annotation).validate_python(value)
    except PydanticSchemaGenerationError:
        return value
    except ValidationError as error:
        messages = (e["msg"].partition(", unable to parse")[0] for e in error.errors())
        expected = (text.replace("Input should be", "expected") for text in messages)
        problems = "; or ".join(dict.fromkeys(expected))
        if "valid string" in problems:
            problems += ". Put text that looks like something else in quotes, as in '42'"
        hints = (hint for hint in getattr(annotation, "__metadata__", ()) if isinstance(hint, str))
        raise ConfigError(f"{what}: {'. '.join([problems, *hints])}") from error


# Whose code it is


def is_package_code(thing: type | FunctionType) -> bool:
    """Return whether a class or function is of this package, and not contributed."""
    is_ours = thing.__module__.partition(".")[0] == "target_bench"
    return is_ours and not contrib.is_contributed(thing)


def class_name(thing: type | FunctionType) -> str:
    """Return the name of a class or function in an identity."""
    # BM25 of this package, wherever it lies in it; mine.py:Mine of a file; else module:Class
    module, name = thing.__module__, thing.__qualname__
    if is_package_code(thing):
        return name
    if module.startswith(FILE_MODULE):
        module = Path(sys.modules[module].__file__ or "").name
    return f"{module}:{name}"


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
