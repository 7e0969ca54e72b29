"""The identity of a plug-in: what tells whether two of them rank, encode or answer alike.

It is the name of the class, its settings, the content of the files that these name, and the code:
a class of this package declares a ``VERSION``; of any other class the source files are hashed, its
own and the local ones that it imports. Versions of packages are no part of it: a run records those
that it used (``used_packages``).
"""

import ast
import builtins
import hashlib
import inspect
import json
import linecache
import re
import symtable
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial, partialmethod
from itertools import islice
from pathlib import Path
from pprint import pformat
from types import FunctionType, ModuleType
from typing import Any, get_args, get_origin

from target_bench import contrib
from target_bench.core.contract import get_constructor_arguments, get_parts, list_used_plugins
from target_bench.core.credentials import mask_config, note_secrets
from target_bench.core.errors import ANY_ERROR, ConfigError
from target_bench.core.files import digest
from target_bench.core.registry import DISTRIBUTION, class_name, installed_version, is_package_code
from target_bench.core.user_code import is_installed
from target_bench.core.version import __version__

PACKAGE = Path(__file__).parents[1]
"""The folder of this package."""

_MOST_FILES = 10_000
"""Files of a folder that a setting may name: more are no model, and no settings."""

_LONGEST_SETTING = 60  # characters of a value in a label

_PLAIN = re.compile(r"[\w.+~/\\][\w.+~/\\@:-]*")
"""Text that is written without quotes."""


def plugin_identity(plugin: object) -> tuple[dict[str, Any], str | None]:
    """Return what identifies a plug-in and its parts, as JSON.

    ```python
    from target_bench.plugin_tools import make_part, plugin_identity

    identity, warning = plugin_identity(make_part("retriever", "bm25:k1=0.9"))
    print(identity["class"], identity["config"]["k1"], warning)  # BM25 0.9 None
    ```

    Returns:
        The identity, and a warning if the plug-in cannot be identified: then the identity is
        unique, so its results are kept but never reused.

    Raises:
        ConfigError: a model that it names is not there.
    """
    cls = type(plugin)
    identity: dict[str, Any] = {"class": class_name(cls)}
    try:
        parts = get_parts(plugin)
        settings = _settings(plugin, parts)
        identity["config"] = mask_config(settings)
        if hasattr(cls, "VERSION"):
            identity["version"] = str(cls.VERSION)
        if not (is_package_code(cls) and _is_found(cls)):
            identity["code"] = code_hash(cls)
        revision = getattr(plugin, "revision", None)
        if callable(revision):
            identity["revision"] = revision()
        paths = {name: _path(text, is_package_code(cls)) for name, text in _texts(settings)}
        files = {
            name: hash_content(path)
            for name, path in paths.items()
            # Folders of a plug-in that says the revision of its weights are not read twice.
            if path is not None and (identity.get("revision") is None or path.is_file())
        }
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


def object_label(plugin: object, identity: Mapping[str, Any]) -> str:
    """Return what an object is called: ``Mine:alpha=0.5``, as it would be written as text.

    Settings that have their default are left out, and the end of a long value is a hash.

    Args:
        plugin: the object.
        identity: what identifies it.
    """
    cls, config = type(plugin), dict(identity.get("config") or {})
    config |= {
        name: getattr(plugin, name) for name in identity.get("parts", {}) if hasattr(plugin, name)
    }
    written = []
    for name, parameter in sorted(inspect.signature(cls).parameters.items()) if config else ():
        default, value = (
            _setting_text(mask_config({name: value})[name])  # of a secret nothing is told
            for value in (parameter.default, config.get(name, parameter.default))
        )
        if value != default:
            written.append(f"{name}={value}")
    return f"{cls.__name__}:{','.join(written)}" if written else cls.__name__


def _setting_text(value: Any) -> str:
    """Return a value of a setting as it is written in YAML; a long one is cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_name)
    if isinstance(value, str) and not _PLAIN.fullmatch(value):
        text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _LONGEST_SETTING:
        return text
    whole = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[: _LONGEST_SETTING - 10]}…{whole[:6]}"


def _name(part: object) -> str:
    return str(part) if isinstance(part, Path) else object_label(part, plugin_identity(part)[0])


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
    """Return package -> version of those that plug-ins, and those they use, declare to use.

    This package is among them. What is not installed is left out.
    """
    names = sorted({name for plugin in plugins for name in _list_packages(plugin)})
    versions = {name: installed_version(name) for name in names}
    installed = {name: version for name, version in versions.items() if version is not None}
    return {DISTRIBUTION: __version__, **installed}


def _list_packages(plugin: object) -> Iterator[str]:
    yield from getattr(plugin, "packages", ())
    for used in list_used_plugins(plugin):
        yield from _list_packages(used)


def _settings(plugin: object, parts: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings as JSON; one that is a part is described among the parts."""
    own = getattr(plugin, "config", None)
    config = own() if callable(own) else get_constructor_arguments(plugin)
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


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted name and value of each text in settings."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping | list):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _texts(inner, f"{name}.{key}".removeprefix("."))


def _path(text: str, of_this_package: bool) -> Path | None:
    """Return the file or folder that a setting names, or None.

    A plain word in a setting of this package's own plug-ins (``english``, ``minilm``) is a name:
    a folder that happens to be called so changes nothing.
    """
    if not any(map(str.isalnum, text)):  # "/" may be a separator
        return None
    if of_this_package and not any(sign in text for sign in "/\\."):
        return None
    try:
        path = Path(text).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):  # no path at all, or ~ of nobody
        return None


def hash_content(path: Path, ignored: str | None = None) -> str:
    """Return the SHA-256 of a file's content; of a folder, of all names and contents in it.

    Hidden files do not count. A file is read again only if its state has changed.

    Args:
        path: the file or folder.
        ignored: the suffix of files that do not count.

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
        hidden = any(part.startswith(".") for part in name.parts)
        if file.is_file() and file.suffix != ignored and not hidden:
            whole.update(f"{json.dumps(name.as_posix())} {digest(file)}\n".encode())
    return whole.hexdigest()


# Code of users


def code_hash(thing: type | FunctionType) -> str:
    """Hash the source of a class or function: SHA-256 in hexadecimal.

    It covers its file, those of its bases, and the local modules that they import, directly or
    through others: modules that belong neither to Python, nor to this package, nor to an installed
    package. What is imported by a computed name is not seen. Of an installed plug-in all files of
    its package count, of this package's own bases the declared versions, of a contributed plug-in
    its one file. Of code typed into a notebook its source counts, and that of the functions,
    classes and modules that it names.

    Raises:
        ConfigError: a file is not valid Python.
        OSError: it, or a value that typed code names, has no source: as a class that ``type()`` or
            ``make_dataclass`` made in another module's name, or a variable of a notebook.
        TypeError: it is neither a class nor a function.
    """
    thing = getattr(thing, "__func__", thing)  # of a method
    if not isinstance(thing, type | FunctionType):
        raise TypeError(f"neither a class nor a function: {thing!r:.80}")
    hashes: set[str] = set()
    for base in getattr(thing, "__mro__", (thing,)):
        is_found = _is_found(base)
        if is_found and base.__module__.partition(".")[0] in sys.stdlib_module_names:
            continue
        if is_found and is_package_code(base):
            hashes.add(f"{base.__qualname__} {getattr(base, 'VERSION', '')}")
        elif _is_typed(base):
            sources: dict[Any, Any] = {}
            _add_typed(base, sources)
            written = json.dumps(list(sources.values()))
            hashes.add(hashlib.sha256(written.encode()).hexdigest())
        else:
            file = _source_file(base)
            if is_found and base is not thing and is_installed(file):
                continue
            if not (is_found or _has_statement(base)):
                raise OSError(
                    f"no source for {base.__qualname__}: no class statement in {file.name} makes it"
                )
            one_file = contrib.is_contributed(base)
            hashes.update([digest(file)] if one_file else _module_hashes(file, base.__module__))
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()


def _is_found(thing: type | FunctionType) -> bool:
    """Return whether the module that a class or function names holds it.

    ``type()``, ``make_dataclass`` and ``types.new_class`` name modules that do not.
    """
    if isinstance(thing, FunctionType):
        module = sys.modules.get(thing.__module__ or "")
        return thing.__code__.co_filename == getattr(module, "__file__", "")
    value: object = sys.modules.get(thing.__module__)
    for name in thing.__qualname__.split("."):
        value = getattr(value, name, None)
    return value is thing


def _has_statement(thing: type | FunctionType) -> bool:
    """Return whether a class has a class statement in its file, as within a function."""
    if isinstance(thing, FunctionType):
        return True
    try:
        return bool(inspect.getsource(thing))
    except (OSError, TypeError):
        return False


_COMPUTES = re.compile(
    r"target_bench\.(metrics|tables|sql|search|retrievers|generators|models|tasks)\."
    r"|target_bench\.(core\.ranking|data\.table_text|data\.languages)$"
)
"""Modules of this package in which rankings, answers and scores are computed."""


def source_hash(modules: Iterable[str]) -> str:
    """Hash the source of modules of this package and of those they use that compute something.

    It is recorded with the scores of a metric, which are computed again where it has changed.

    Args:
        modules: their names; they are imported.
    """
    new, known = [*modules], set[str]()
    while new:
        module = sys.modules.get(name := new.pop())
        if name in known or module is None:
            continue
        known.add(name)
        # What a package holds depends on what else was imported.
        for value in () if hasattr(module, "__path__") else vars(module).values():
            used = value.__name__ if isinstance(value, ModuleType) else _name_module(value)
            if _COMPUTES.match(used):
                new.append(used)
    hashes = sorted(f"{name} {digest(_source_file(sys.modules[name]))}" for name in known)
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:16]


def source_files(*plugins: object) -> list[Path]:
    """Return the user's own source files of plug-ins and those they use, the first's in front.

    Files of Python, of this package and of installed packages are none.
    """
    files: dict[Path, str] = {}
    for plugin in plugins:
        function = inspect.unwrap(plugin) if callable(plugin) else None  # a metric wraps its own
        is_function = isinstance(function, FunctionType)
        classes: Iterable[Any] = (function,) if is_function else type(plugin).__mro__
        for thing in classes:
            if is_package_code(thing) or contrib.is_contributed(thing) or thing is object:
                continue
            with suppress(OSError, KeyError):  # typed in, or made by ``type()``
                file, module = _source_file(thing), sys.modules[thing.__module__]
                if not _is_library(module) and not is_installed(file):
                    files |= _local_files([file], _import_root(file, thing.__module__))
        for part in [] if is_function else list_used_plugins(plugin):
            files |= dict.fromkeys(source_files(part), "")
    return list(files)


def list_outside_reads(plugin: object) -> list[str]:
    """List where the code of a user's plug-in reads files or the environment.

    Each as ``mine.py, line 4: read_text``. What it reads is no part of its identity, but for files
    that settings name.
    """
    found = []
    for base in type(plugin).__mro__:
        if is_package_code(base) or contrib.is_contributed(base) or base is object:
            continue
        with suppress(OSError, SyntaxError, ValueError):
            file = _source_file(base)
            if not is_installed(file) and not _is_library(sys.modules[base.__module__]):
                tree = ast.parse(file.read_bytes())
                found += [f"{file.name}, line {line}: {name}" for line, name in _reads(tree)]
    for part in get_parts(plugin).values():
        found += list_outside_reads(part)
    return list(dict.fromkeys(found))


def _reads(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of calls of ``open`` and ``read_...``, and of the environment."""
    for node in ast.walk(tree):
        part = node.func if isinstance(node, ast.Call) else node
        if not isinstance(part, ast.Name | ast.Attribute):
            continue
        name = part.id if isinstance(part, ast.Name) else part.attr
        reads = isinstance(node, ast.Call) and (
            name.startswith("read_") or (name == "open" and not _is_written(node, part))
        )
        if reads or (part is node and name in ("environ", "getenv")):
            yield part.lineno, name


def _is_written(call: ast.Call, function: ast.Name | ast.Attribute) -> bool:
    """Return whether a call of ``open`` names a mode that only writes, as in ``path.open("w")``."""
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes += call.args[0 if isinstance(function, ast.Attribute) else 1 :][:1]
    texts = [str(mode.value) for mode in modes if isinstance(mode, ast.Constant)]
    return any(re.fullmatch(r"[wax][bt]*", text) for text in texts)


def _name_module(value: object) -> str:
    """Return the name of the module in which a class or function was made; else nothing."""
    is_code = isinstance(value, type | FunctionType)
    return str(getattr(value, "__module__", "")) if is_code else ""


def _source_file(thing: type | FunctionType | ModuleType) -> Path:
    try:
        file = Path(inspect.getsourcefile(thing) or "")
    except TypeError as error:
        raise OSError(f"no source file for {thing.__name__}: {error}") from error
    if not file.is_file():
        raise OSError(f"no source file for {thing.__name__}")
    return file


def _import_root(file: Path, module: str) -> Path:
    """Return the folder in which the top-level package of a module lies."""
    parents = module.split(".")[: None if file.name == "__init__.py" else -1]
    n = len(parents)
    inside = list(file.parts[len(file.parts) - 1 - n : -1]) == parents  # else it is a script
    return file.parents[n if inside else 0]


def _module_hashes(file: Path, module: str) -> list[str]:
    """Return the hashes of the file of a module and of what it imports."""
    folder = _import_root(file, module)
    if is_installed(file):
        package = folder / module.partition(".")[0]
        return [digest(path) for path in package.rglob("*.py")] or [digest(file)]
    return sorted(_local_files([file, *_module_files(folder, module)], folder).values())


def _local_files(files: Iterable[Path], root: Path) -> dict[Path, str]:
    """Return the hashes of files and of all local ones that they import.

    Args:
        files: the files.
        root: the folder in which their top-level packages lie.

    Raises:
        ConfigError: a file is not valid Python.
    """
    new, known = list(files), dict[Path, str]()
    while new:
        file = new.pop()
        if file in known:
            continue
        known[file] = digest(file)
        for level, name in _imports_of_file(known[file], file):
            if level:
                new += _module_files(file.parents[level - 1], name)
            else:
                new += _imported_files(name, (file.parent, root))
    return known


def _imported_files(name: str, folders: Iterable[Path]) -> list[Path]:
    """Return the local files that an import runs: of the first folder with one, or Python's path.

    An absolute import, that is: names of Python's own modules and of this package are not local.
    """
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == PACKAGE.name:
        return []
    modules = (list(_module_files(folder, name)) for folder in (*folders, *map(Path, sys.path)))
    return next((files for files in modules if files and not is_installed(files[0])), [])


def _module_files(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files of a module and of the packages around it, as far as they are in a folder."""
    for word in name.split("."):
        folder = folder / word
        yield from filter(Path.is_file, (folder / "__init__.py", folder.with_name(f"{word}.py")))


@cache
def _imports_of_file(content: str, file: Path) -> list[tuple[int, str]]:  # noqa: ARG001 (a key)
    """Return level and dotted name of all that a file imports; ``content`` is its hash."""
    try:
        return _imports(ast.parse(file.read_bytes(), str(file)))
    except (SyntaxError, ValueError) as error:  # ValueError: null bytes, before Python 3.12
        raise ConfigError(
            f"{file}: not valid Python ({error}), so its code cannot be identified. If it was "
            "edited after it was imported, correct it and run again."
        ) from error


def _imports(tree: ast.AST) -> list[tuple[int, str]]:
    names: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inner = (f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)
            names += [(node.level, name) for name in inner]
    return names


# Code typed into a notebook: IPython keeps its source


def _is_typed(thing: Any) -> bool:
    """Return whether a class or function was typed in: none of its own code is in a file."""
    thing = thing if isinstance(thing, type) else inspect.unwrap(thing)
    if not isinstance(thing, type | FunctionType) or thing.__module__ != "__main__":
        return False
    files = [Path(function.__code__.co_filename) for function in _list_own(thing)]
    is_interactive = not hasattr(sys.modules["__main__"], "__file__")
    return not any(map(Path.is_file, files)) if files else is_interactive


def _list_functions(value: Any) -> list[FunctionType]:
    """List the functions in a value: itself, and what wrappers and descriptors hold."""
    if isinstance(value, type | partial | partialmethod):
        return []
    inner = [getattr(value, name, None) for name in ("__wrapped__", "func", "fget", "fset", "fdel")]
    functions = [each for each in inner if isinstance(each, FunctionType | type(cache(len)))]
    inside = [each for function in functions for each in _list_functions(function)]
    return [value, *inside] if isinstance(value, FunctionType) else inside


def _list_own(thing: type | FunctionType) -> list[FunctionType]:
    """List the functions that the statement of a class or function makes."""
    values = vars(thing).values() if isinstance(thing, type) else [thing]
    functions = [function for value in values for function in _list_functions(value)]
    # Not by their __qualname__: attrs sets it in "<attrs generated methods ...>".
    name = thing.__qualname__
    return [each for each in functions if each.__code__.co_qualname.partition(".")[0] == name]


def _add_typed(thing: Any, sources: dict[Any, Any]) -> int:
    """Add what identifies typed code, and what it names, and return its number among them."""
    if thing in sources:
        return list(sources).index(thing)
    core = thing if isinstance(thing, type) else inspect.unwrap(thing)
    name, own = core.__qualname__, _list_own(core)
    statements = {ast.unparse(each): each for each in _find_statements(name, own)}
    if len(statements) != 1:
        why = "its methods are of several" if statements else "no function in it is of one"
        raise OSError(f"{name} is not made by one class or def of its own in a cell: {why}")
    ((source, statement),) = statements.items()
    used = sources[thing] = {"": source}  # before the rest: it may name itself
    names = _list_globals(source, known := own[0].__globals__)
    values = {f"it uses {each}": known.get(each) for each in names}
    bases = getattr(thing, "__mro__", ())[1:]
    values |= {f"its base {n} is {base.__name__}": base for n, base in enumerate(bases, 1)}
    used |= {each: _identify_value(each, value, sources) for each, value in values.items()}
    tables = symtable.symtable(source, "<typed>", "exec").get_children()
    symbols = [each for table in tables for each in table.get_symbols()]
    bound = {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}
    fields = vars(thing) if isinstance(thing, type) else {"": thing}
    for each, value in fields.items():
        path = f"{name}.{each}".removesuffix(".")
        used[path] = _identify_attribute(path, value, each in bound, own, sources)
    imports = [module for level, module in _imports(statement) if not level]
    files = [file for module in imports for file in _imported_files(module, [Path.cwd()])]
    used["import"] = sorted(_local_files(files, Path.cwd()).values())
    return list(sources).index(thing)


def _find_statements(name: str, functions: Iterable[FunctionType]) -> Iterator[ast.AST]:
    """Yield the statement around each function (``inspect.getsource`` finds no class of a cell)."""
    for code in (function.__code__ for function in functions):
        for node in ast.walk(ast.parse("".join(linecache.getlines(code.co_filename)))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = min(each.lineno for each in (node, *node.decorator_list))
                if node.name == name and first <= code.co_firstlineno <= (node.end_lineno or 0):
                    yield node
                    break


def _identify_attribute(
    path: str, value: Any, is_bound: bool, own: list[FunctionType], sources: dict[Any, Any]
) -> Any:
    """Return what identifies an attribute, which may be set after the statement ran, as JSON."""
    functions, name = _list_functions(value), path.rpartition(".")[2]
    is_inner = getattr(value, "__qualname__", "") == path
    is_dunder = name.startswith("__")
    if isinstance(value, type) and is_inner:
        inner = [each for field in vars(value).values() for each in _list_functions(field)]
        file = own[0].__code__.co_filename
        own = [*own, *(each for each in inner if each.__code__.co_filename == file)]
        fields = {f"{path}.{field}": each for field, each in vars(value).items()}
        return {f: _identify_attribute(f, each, True, own, sources) for f, each in fields.items()}
    if isinstance(value, type) and _is_typed(value):
        return _add_typed(value, sources)
    if functions:
        # Of methods that a decorator writes, as ``dataclass`` and attrs do, the source says so.
        written = ("<string>", "<attrs generated ") if is_inner else ()
        codes = {each: each.__code__ for each in functions if each not in own}
        others = [each for each in codes if not codes[each].co_filename.startswith(written)]
        modules = sorted({str(each.__globals__.get("__name__")) for each in others})
        if not others or ("__main__" not in modules and (is_bound or is_inner or is_dunder)):
            used = [_identify_value(path, sys.modules.get(each), sources) for each in modules]
            cells = [cell.cell_contents for each in others for cell in each.__closure__ or ()]
            shown = [_show(each) for each in (*map(vars, functions), *cells)]
            return [type(value).__name__, [f.__code__.co_qualname for f in functions], used, shown]
    elif is_dunder or name == "_abc_impl" or inspect.ismemberdescriptor(value):
        return None
    else:
        with suppress(TypeError, ValueError):
            if is_bound or json.dumps(value):
                return _show(value)
    raise OSError(
        f"its source does not say what {path} ({type(value).__name__}) is; write it into the "
        "class or function, without a function of a cell around it, or make it a setting"
    )


def _show(value: Any) -> str:
    """Return a value as text: sets sorted, without addresses, arrays whole."""
    text = re.sub(r" at 0x\w+", "", pformat(value, width=1, sort_dicts=False))
    with suppress(TypeError, ValueError, BufferError):
        text += hashlib.sha256(value).hexdigest()
    return text


def _list_globals(source: str, known: Mapping[str, Any]) -> list[str]:
    """List the global names that code uses, but Python's own."""
    tables = [symtable.symtable(source, "<typed>", "exec")]
    for table in tables:
        tables += table.get_children()
    symbols = [symbol for table in tables for symbol in table.get_symbols() if symbol.is_global()]
    names = {s.get_name() for s in symbols if s.is_referenced() or s.is_declared_global()}
    return sorted(name for name in names if name in known or not hasattr(builtins, name))


def _identify_value(name: str, value: Any, sources: dict[str, Any]) -> Any:
    """Return what identifies a global value that typed code names, as JSON."""
    if _is_typed(value):
        return _add_typed(value, sources)
    if get_origin(value) is not None:  # an alias, as list[str]
        inner = (get_origin(value), *get_args(value))
        kept = [each for each in inner if _is_typed(each) or get_origin(each) is not None]
        return [repr(value), *(_identify_value(name, each, sources) for each in kept)]
    is_module, label = isinstance(value, ModuleType), str(getattr(value, "__name__", ""))
    module = value if is_module else sys.modules.get(str(getattr(value, "__module__", "")))
    if module is None or not (is_module or getattr(module, label, None) is value):
        raise OSError(
            f"{name} ({type(value).__name__}), which is a variable or not defined; make it a "
            "setting, or write it, or its import, into the class or function"
        )
    if _is_library(module):
        return [module.__name__, label]
    inside = [each for each in sys.modules if f"{each}.".startswith(f"{module.__name__}.")]
    return [label, *(_module_hashes(_source_file(sys.modules[n]), n) for n in sorted(inside))]


def _is_library(module: ModuleType) -> bool:
    """Return whether a module belongs to Python, to this package or to an installed package."""
    if module.__name__.partition(".")[0] in sys.stdlib_module_names:
        return True
    file = Path(getattr(module, "__file__", None) or "")
    return file.is_relative_to(PACKAGE) or is_installed(file)
