"""The identity of a plug-in: what tells whether two of them rank, encode or answer alike.

It is the name of the class, its settings, the content of the files that these name, and the code:
a class of this package declares a ``VERSION``; of any other class the source files are hashed, its
own and the local ones that it imports. Versions of packages are no part of it: a run records those
that it used (``used_packages``), and a note says where they are others now.
"""

import ast
import hashlib
import inspect
import json
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import FunctionType
from typing import Any

from target_bench import contrib
from target_bench.core.contract import constructor_arguments
from target_bench.core.errors import ANY_ERROR, ConfigError
from target_bench.core.files import digest
from target_bench.core.registry import DISTRIBUTION, class_name, installed_version, is_own_code
from target_bench.core.settings import marks, masked, note_secrets
from target_bench.core.typed_code import TypedCode, is_typed
from target_bench.core.version import __version__

PACKAGE = Path(__file__).parents[1]
"""The folder of this package."""

_INSTALLED = {"site-packages", "dist-packages"}

_MOST_FILES = 10_000
"""Files of a folder that a setting may name: more are no model, and no settings."""

_LONGEST_PATH = 1024  # characters of a setting that may be a path


def plugin_identity(plugin: object) -> tuple[dict[str, Any], str | None]:
    """Return what identifies a plug-in and its parts, as JSON.

    Returns:
        The identity, and a warning if the plug-in cannot be identified: then the identity is
        unique, so its results are kept but never reused.

    Raises:
        ConfigError: a model that it names is not there.
    """
    cls = type(plugin)
    identity: dict[str, Any] = {"class": class_name(cls)}
    try:
        parts = _parts(plugin)
        settings = _settings(plugin, parts)
        identity["config"] = masked(settings)
        if marked := dict(marks(settings)):
            identity["masked"] = marked
        if hasattr(cls, "VERSION"):
            identity["version"] = str(cls.VERSION)
        if not is_own_code(cls):
            identity["code"] = code_hash(cls)
        revision = getattr(plugin, "revision", None)
        if callable(revision):
            identity["revision"] = revision()
        files = _files_named(settings, identity.get("revision") is not None, is_own_code(cls))
        if files:
            identity["files"] = files
        for name, part in parts.items():
            described, warning = plugin_identity(part)
            if warning:
                raise TypeError(warning)
            identity.setdefault("parts", {})[name] = described
    except ConfigError:
        raise
    except ANY_ERROR as error:
        identity["unique"] = uuid.uuid4().hex
        return identity, (
            f"{cls.__name__} cannot be identified ({error}), so this run will never be reused. "
            "Keep constructor arguments as attributes of the same names with JSON values, or "
            "define config(); define the class in a file."
        )
    return identity, None


def reads_gold(identity: Mapping[str, Any]) -> bool:
    """Whether results come from the gold, by the identity of the retriever or generator.

    So they do of a retriever that declares ``reads_gold``, as ``oracle``, and of answers ``gold``.
    """
    return bool(identity.get("reads_gold")) or identity.get("mode") == "gold"


def is_no_context(identity: Mapping[str, Any]) -> bool:
    """Whether a retriever with this identity is ``no-context``, whose rankings are all empty."""
    return identity.get("class") == "NoContext"


def is_bound(identity: Mapping[str, Any]) -> bool:
    """Whether a retriever or generator with this identity is a bound, and no system to choose."""
    return reads_gold(identity) or is_no_context(identity) or identity.get("mode") == "empty"


def used_packages(*plugins: object) -> dict[str, str]:
    """Return package -> version of those that plug-ins and their parts declare to use.

    This package is among them. What is not installed is left out.
    """
    names = {name for plugin in plugins for name in _declared(plugin)}
    versions = {name: installed_version(name) for name in sorted(names)}
    installed = {name: version for name, version in versions.items() if version is not None}
    return {DISTRIBUTION: __version__, **installed}


def made_with_others(made_with: Mapping[str, str], installed: Mapping[str, str]) -> str | None:
    """Return "made with ...; installed now: ..." where versions of packages differ, else None.

    Args:
        made_with: package -> version, as it was recorded (``used_packages``).
        installed: package -> version now.
    """
    both = made_with.keys() & installed.keys()
    changed = sorted(name for name in both if made_with[name] != installed[name])
    if not changed:
        return None
    then, now = (
        ", ".join(f"{name} {versions[name]}" for name in changed)
        for versions in (made_with, installed)
    )
    return f"made with {then}; installed now: {now}"


def _declared(plugin: object) -> Iterator[str]:
    yield from getattr(plugin, "packages", ())
    for part in _parts(plugin).values():
        yield from _declared(part)


def _parts(plugin: object) -> Mapping[str, object]:
    own = getattr(plugin, "parts", None)  # optional; users' own may lack it
    return own() if callable(own) else {}


def _settings(plugin: object, parts: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings as JSON; one that is a part is described among the parts."""
    own = getattr(plugin, "config", None)
    config = own() if callable(own) else constructor_arguments(plugin)
    note_secrets({**getattr(plugin, "__dict__", {}), **config})
    plain = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in config.items()
        if name not in parts
    }
    try:
        settings: dict[str, Any] = json.loads(json.dumps(plain, sort_keys=True))
    except TypeError as error:
        raise TypeError(f"its settings are not JSON: {error}") from error
    return settings


# Files that settings name


def _files_named(settings: Any, has_revision: bool, of_this_package: bool) -> dict[str, str]:
    """Return setting -> hash of the content, of each that names a file or folder that is there.

    Folders of a plug-in that says the revision of its weights are not read twice.
    """
    found = {}
    for name, text in _texts(settings):
        path = _path(text, of_this_package)
        if path is not None and not (has_revision and path.is_dir()):
            found[name] = content_hash(path)
    return found


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted name and value of each text in settings."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, f"{name}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{name}.{place}")


def _path(text: str, of_this_package: bool) -> Path | None:
    """Return the file or folder that a setting names, or None.

    A plain word in a setting of this package's own plug-ins (``english``, ``minilm``) is a name:
    a folder that happens to be called so changes nothing.
    """
    if len(text) > _LONGEST_PATH or not any(map(str.isalnum, text)):  # "/" may be a separator
        return None
    if of_this_package and not any(sign in text for sign in "/\\."):
        return None
    try:
        path = Path(text).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):  # no path at all, or ~ of nobody
        return None


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file's content; of a folder, of all names and contents in it.

    Hidden files do not count. A file is read again only if its state has changed.

    Raises:
        OSError: it cannot be read, or the folder holds more than 10,000 files.
    """
    if path.is_file():
        return digest(path)
    entries = list(islice(path.rglob("*"), _MOST_FILES + 1))
    if len(entries) > _MOST_FILES:
        raise OSError(
            f"the folder {path} in its settings holds over {_MOST_FILES:,} files; if they change "
            "no result, leave the setting out of config()"
        )
    whole = hashlib.sha256()
    for file in sorted(entries):
        name = file.relative_to(path)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            whole.update(f"{json.dumps(name.as_posix())} {digest(file)}\n".encode())
    return whole.hexdigest()


# Code of users


def code_hash(thing: type | FunctionType) -> str:
    """Hash the source of a class or function: SHA-256 over files, in hexadecimal.

    These are its file, those of its bases, and the local modules that they import, directly or
    through others: modules that belong neither to Python, nor to this package, nor to another
    installed package. What is imported by a computed name is not seen. Of this package's own bases
    the declared versions count, of a contributed plug-in its one file. Of code typed into a
    notebook, see ``core/typed_code.py``.

    Raises:
        ConfigError: a file is not valid Python.
        OSError: its source, or a value that it uses, is not known.
        TypeError: it is neither a class nor a function.
    """
    thing = getattr(thing, "__func__", thing)  # of a method
    if not isinstance(thing, type | FunctionType):
        raise TypeError(f"neither a class nor a function: {thing!r:.80}")
    hashes: set[str] = set()
    files: set[Path] = set()
    for base in getattr(thing, "__mro__", (thing,)):
        if base.__module__.partition(".")[0] in sys.stdlib_module_names:
            continue
        if is_own_code(base):
            hashes.add(f"{base.__qualname__} {getattr(base, 'VERSION', '')}")
        elif base.__module__ == "__main__" and is_typed(base):
            hashes.add(TypedCode(local_code).hash(base))
        elif contrib.is_contributed(base):
            files.add(_source_file(base))
        elif base is thing or not _is_installed(_source_file(base)):
            files |= local_modules(_source_file(base), base.__module__)
    hashes |= {digest(file) for file in files}
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()


def local_code(module: str, file: Path) -> list[str]:
    """Return the hashes of a module and of the local ones that it imports, sorted."""
    return sorted(digest(found) for found in local_modules(file, module))


def local_modules(file: Path, module: str) -> set[Path]:
    """Find the file of a module, and those of all local modules that it imports.

    Args:
        file: its file.
        module: its name, which tells the folder of the package that it is in.

    Raises:
        ConfigError: a file is not valid Python.
    """
    root = _root(file, module)
    package = module.partition(".")[0] if _is_installed(file) else None
    modules: set[Path] = set()
    new = {file}
    while new:
        modules |= new
        imported = {
            path for module_file in new for path in _imported_files(module_file, root, package)
        }
        around = {path for module_file in new for path in _packages_around(module_file, root)}
        new = (imported | around) - modules
    return modules


def _packages_around(file: Path, root: Path) -> Iterator[Path]:
    """Yield the files of the packages that a module lies in, which Python runs before it."""
    for folder in file.parents:
        if folder == root or not (folder / "__init__.py").is_file():
            return
        yield folder / "__init__.py"


def _root(file: Path, module: str) -> Path:
    """Return the folder in which a module's top-level package lies; of a script, its own."""
    packages = module.split(".")
    if file.name != "__init__.py":
        packages.pop()
    depth = len(packages)
    if file.parts[len(file.parts) - 1 - depth : -1] != tuple(packages):
        return file.parent
    return file.parents[depth]


def _imported_files(file: Path, root: Path, package: str | None) -> Iterator[Path]:
    """Yield the local files that import statements name, anywhere in a file.

    Args:
        file: the file.
        root: the folder that the names of modules are looked for in.
        package: the only one that is local, of an installed plug-in; None: all but installed ones.
    """
    for level, name in _imports(digest(file), file):
        top = name.partition(".")[0]
        if level:
            folders: Iterable[Path] = (file.parents[level - 1],)
        elif top in sys.stdlib_module_names or top == PACKAGE.name:
            continue
        elif package is not None:
            folders = (root,) if top == package else ()
        else:
            folders = (file.parent, root, *_elsewhere(top, tuple(sys.path)))
        for folder in folders:
            files = [path for path in _module_files(folder, name) if _is_local(path, package)]
            yield from files
            if files:
                break


@cache
def _imports(content: str, file: Path) -> tuple[tuple[int, str], ...]:  # noqa: ARG001 (a key)
    """Return level and dotted name of all that a file imports; ``content`` is its hash."""
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:  # ValueError: null bytes, before Python 3.12
        raise ConfigError(
            f"{file}: not valid Python ({error}), so its code cannot be identified. If it was "
            "edited after it was imported, correct it and run again."
        ) from error
    names: dict[tuple[int, str], None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            inner = (f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)
            names |= dict.fromkeys((node.level, name) for name in inner)
    return tuple(names)


def _module_files(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files of a module and of the packages around it, as far as they are in a folder."""
    place = folder
    for word in name.split("."):
        place = place / word
        for path in (place / "__init__.py", place.with_name(f"{word}.py")):
            if path.is_file():
                yield path


@cache
def _elsewhere(package: str, _path: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the folders that an imported package lies in; none of an installed one."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError, AttributeError):
        return ()
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    paths = [Path(place) for place in places if place and Path(place).is_absolute()]
    return tuple(
        path.parent.parent if path.name == "__init__.py" else path.parent
        for path in paths
        if not _is_installed(path)
    )


def _is_local(path: Path, package: str | None) -> bool:
    return not path.is_relative_to(PACKAGE) and (package is not None or not _is_installed(path))


def _is_installed(path: Path) -> bool:
    return bool(_INSTALLED & set(path.parts))


def _source_file(thing: type | FunctionType) -> Path:
    try:
        name = inspect.getsourcefile(thing)
    except TypeError as error:
        raise OSError(f"no source file for {thing.__name__}: {error}") from error
    if name is None or not Path(name).is_file():
        raise OSError(f"no source file for {thing.__name__}")
    return Path(name)
