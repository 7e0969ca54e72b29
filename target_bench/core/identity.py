"""Identity of plug-ins: the source code and the package versions behind results."""

import hashlib
import inspect
import json
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from target_bench.core import (
    built_in,
    code_tree,
    contract,
    faults,
    ranking,
    registry,
    release,
    schema,
)
from target_bench.core.contract import constructor_arguments
from target_bench.core.errors import ConfigError
from target_bench.core.plugin_files import FILE_MODULE
from target_bench.core.registry import installed_version
from target_bench.core.settings import is_secret

_NAME = __name__.partition(".")[0]
_PACKAGE = Path(sys.modules[_NAME].__path__[0])


def _files_of(*modules: ModuleType) -> frozenset[Path]:
    return frozenset(Path(module.__file__ or "") for module in modules)


def _file_of(name: str) -> Path:
    found = find_spec(name.partition(":")[0])
    return Path((found and found.origin) or "")


_SERIALIZER = "target_bench.components.table_text:Serializer"
_SHARED = _files_of(contract, faults, ranking, release, schema) | {_file_of(_SERIALIZER)}
"""Modules that change what any plug-in gives, whether it imports them or not."""

_NAMING = _files_of(built_in, registry, code_tree, sys.modules[__name__])
"""Modules that find and identify plug-ins: what they find is identified itself."""


def plugin_identity(plugin: object) -> tuple[dict[str, Any], str | None]:
    """Return class, settings, code hash and package versions of a plug-in and of its parts.

    Returns:
        The identity, and a warning if the plug-in cannot be identified: then the identity is
        unique, so its results are kept but never reused.

    Raises:
        ConfigError: a model that it names is not there.
    """
    cls = type(plugin)
    identity: dict[str, Any] = {
        "class": class_name(cls),
        "packages": {name: installed_version(name) for name in getattr(cls, "packages", ())},
    }
    try:
        parts = _parts(plugin)
        identity["config"] = _config(plugin, parts)
        identity["code"] = code_hash(cls)
        revision = getattr(plugin, "revision", None)
        if callable(revision):
            identity["revision"] = revision()
        for name, part in parts.items():
            found, warning = plugin_identity(part)
            if warning:
                raise TypeError(warning)
            identity.setdefault("parts", {})[name] = found
    except ConfigError:
        raise
    except Exception as error:
        identity["unique"] = uuid.uuid4().hex
        return identity, (
            f"{cls.__name__} cannot be identified ({error}), so this run will never be reused. "
            "Keep constructor arguments as attributes of the same names with JSON values, or "
            "define config(); define the class in a file."
        )
    return identity, None


def is_own_code(thing: type) -> bool:
    """Return whether a class is of this package."""
    return thing.__module__.partition(".")[0] == _NAME


def class_name(thing: type | FunctionType) -> str:
    """Return the name of a class or function in an identity.

    Returns:
        ``BM25`` for one of this package, wherever it lies in it; ``mine.py:Mine`` for one of a
        plug-in that was named by its file; else ``module:Class``.
    """
    module, name = thing.__module__, thing.__qualname__
    if module.partition(".")[0] == _NAME:
        return name
    if module.startswith(FILE_MODULE):
        module = Path(sys.modules[module].__file__ or "").name
    return f"{module}:{name}"


def _parts(plugin: object) -> Mapping[str, object]:
    own = getattr(plugin, "parts", None)  # optional; users' own may lack it
    return own() if callable(own) else {}


def _config(plugin: object, parts: Mapping[str, object]) -> Any:
    """Return the settings; one that is a part is described among the parts."""
    own = getattr(plugin, "config", None)
    config = own() if callable(own) else constructor_arguments(plugin)
    own_settings = {name: value for name, value in config.items() if name not in parts}
    try:
        return _masked(json.loads(json.dumps(own_settings, sort_keys=True)))
    except TypeError as error:
        raise TypeError(f"its settings are not JSON: {error}") from error


def _masked(value: Any) -> Any:
    """Return JSON without the values of settings named like secrets, at any depth."""
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: "***" if is_secret(name) else _masked(item) for name, item in value.items()}


def code_hash(thing: type | FunctionType) -> str:
    """Hash the code of a class or function, that of its bases, and what these import.

    Files count by their syntax trees (``syntax``): neither wording nor layout changes the hash.
    Of this package all modules count that a module imports, but for those that name and identify
    plug-ins; docstrings do not, nor does where a module lies. Of other code those files count that
    are imported from its folder or below, and docstrings do if one of these files may read them.

    Raises:
        ConfigError: a file is not valid Python.
        OSError: there is no source file (it was typed into an interpreter).
        TypeError: it is neither a class nor a function.
    """
    thing = getattr(thing, "__func__", thing)  # of a method
    if not isinstance(thing, type | FunctionType):
        raise TypeError(f"neither a class nor a function: {thing!r:.80}")
    own: set[Path] = set()
    others: set[Path] = set()
    for base in getattr(thing, "__mro__", (thing,)):
        if base.__module__.split(".")[0] in sys.stdlib_module_names:
            continue
        file = _source_file(base)
        if file.is_relative_to(_PACKAGE):
            own |= _SHARED | own_files([file])
        else:
            _add_with_imports(file, sys.modules.get(base.__module__), file.parent, others)
    return _together([*_hashes(others), *(code_tree.read(file, _PACKAGE).code for file in own)])


def _hashes(files: Iterable[Path]) -> list[str]:
    """Return the hashes of files that are not of this package."""
    sources = [code_tree.read(file) for file in files]
    if any(source.reads_documentation for source in sources):
        return [source.documented for source in sources]
    return [source.code for source in sources]


def own_files(
    modules: Iterable[Path],
    folders: Sequence[Path] = (_PACKAGE,),
    left_out: Set[Path] = _NAMING,
) -> set[Path]:
    """Find the files of this package that its modules use.

    Args:
        modules: the files to begin with.
        folders: where files have to lie that are imported.
        left_out: files that are not followed.

    Raises:
        ConfigError: a file is not valid Python.
    """
    found: set[Path] = set()
    new = set(modules)
    while new:
        found |= new
        files = frozenset().union(*(code_tree.read(file, _PACKAGE).files for file in new))
        files -= found | left_out
        new = {file for file in files if any(file.is_relative_to(place) for place in folders)}
    return found


def own_hash(files: Iterable[Path]) -> str:
    """Hash files of this package by their syntax trees, wherever they lie.

    Raises:
        ConfigError: a file is not valid Python.
    """
    return _together(code_tree.read(file, _PACKAGE).code for file in files)


def _together(hashes: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(hashes)).encode("ascii")).hexdigest()


def _add_with_imports(
    file: Path, module: ModuleType | None, folder: Path, files: set[Path]
) -> None:
    """Add a file and those that it imports from a folder or below."""
    if file in files:
        return
    files.add(file)
    for value in list(vars(module).values()) if module else ():
        name = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
        imported = sys.modules.get(name)
        found = Path(getattr(imported, "__file__", None) or "")
        if _counts(found, folder):
            _add_with_imports(found, imported, folder, files)
    for found in _beside(file, folder):
        if _counts(found, folder):
            _add_with_imports(found, None, folder, files)


def _beside(file: Path, folder: Path) -> Iterator[Path]:
    """Yield the files that import statements name.

    Those from which only constants are taken are among them.
    """
    for one in code_tree.read(file).imports:
        place = file.parents[one.level - 1] if one.level else folder
        names = [*one.module.split("."), one.name or ""]
        ends = range(1, len(names) + 1)
        found = (code_tree.module_file(place, ".".join(names[:end]).strip(".")) for end in ends)
        yield from filter(None, found)


def _counts(file: Path, folder: Path) -> bool:
    """Return whether an imported file is part of the code of a plug-in in this folder."""
    return (
        file.suffix == ".py"
        and file.is_relative_to(folder)
        and not file.is_relative_to(_PACKAGE)
        and not {"site-packages", "dist-packages"} & set(file.parts)
    )


def _module_of(value: object) -> str:
    name = getattr(value, "__module__", None)
    return name if isinstance(name, str) else ""


def _source_file(thing: type | FunctionType) -> Path:
    try:
        name = inspect.getsourcefile(thing)
    except TypeError as error:
        raise OSError(f"no source file for {thing.__name__}: {error}") from error
    if name is None or not Path(name).is_file():
        raise OSError(f"no source file for {thing.__name__}")
    return Path(name)
