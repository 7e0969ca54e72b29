"""Identity of plug-ins: the source code and the package versions behind results.

Source code is hashed by its syntax tree: wording, layout and positions do not count. A hash is the
same under every version of Python that reads the source: fields of the tree that are empty or say
nothing of what runs are left out, and constants are written in ASCII.
"""

import ast
import hashlib
import inspect
import json
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from target_bench.core import (
    built_in,
    contract,
    faults,
    html_view,
    plugin_sources,
    ranking,
    registry,
    release,
    schema,
)
from target_bench.core.contract import constructor_arguments
from target_bench.core.errors import ANY_ERROR, ConfigError
from target_bench.core.plugin_sources import PACKAGE, Import, Source
from target_bench.core.registry import class_name, installed_version
from target_bench.core.settings import masked
from target_bench.core.typed_code import TypedCode, is_typed


def _files_of(*modules: ModuleType) -> frozenset[Path]:
    return frozenset(Path(module.__file__ or "") for module in modules)


_SERIALIZER = "target_bench.components.table_text:Serializer"
_SHARED = _files_of(contract, faults, ranking, release, schema) | {
    Path(getattr(find_spec(_SERIALIZER.partition(":")[0]), "origin", None) or "")
}
"""Modules that change what any plug-in gives, whether it imports them or not."""

_NAMING = _files_of(built_in, html_view, registry, plugin_sources, sys.modules[__name__])
"""Modules that find, identify and show: they change nothing that a plug-in gives."""


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
    except ANY_ERROR as error:
        identity["unique"] = uuid.uuid4().hex
        return identity, (
            f"{cls.__name__} cannot be identified ({error}), so this run will never be reused. "
            "Keep constructor arguments as attributes of the same names with JSON values, or "
            "define config(); define the class in a file."
        )
    return identity, None


def _parts(plugin: object) -> Mapping[str, object]:
    own = getattr(plugin, "parts", None)  # optional; users' own may lack it
    return own() if callable(own) else {}


def _config(plugin: object, parts: Mapping[str, object]) -> Any:
    """Return the settings; one that is a part is described among the parts."""
    own = getattr(plugin, "config", None)
    config = own() if callable(own) else constructor_arguments(plugin)
    own_settings = {name: value for name, value in config.items() if name not in parts}
    try:
        return masked(json.loads(json.dumps(own_settings, sort_keys=True)))
    except TypeError as error:
        raise TypeError(f"its settings are not JSON: {error}") from error


def code_hash(thing: type | FunctionType) -> str:
    """Hash the code of a class or function, that of its bases, and what these import.

    Of this package all modules count that a module imports, but for those that name and identify
    plug-ins; docstrings do not, nor does where a module lies. Of other code those files count that
    are imported from its package or folder, and docstrings do if one of these files may read them.
    Of code typed into a notebook, see ``core/typed_code.py``.

    Raises:
        ConfigError: a file is not valid Python.
        OSError: its source, or a value that it uses, is not known.
        TypeError: it is neither a class nor a function.
    """
    thing = getattr(thing, "__func__", thing)  # of a method
    if not isinstance(thing, type | FunctionType):
        raise TypeError(f"neither a class nor a function: {thing!r:.80}")
    read = plugin_sources.PluginSources(read_source, module_file)
    own: set[Path] = set()
    others: list[tuple[Path, ModuleType | None]] = []
    theirs: list[str] = []
    for base in getattr(thing, "__mro__", (thing,)):
        if base.__module__.split(".")[0] in sys.stdlib_module_names:
            continue
        if base.__module__ == "__main__" and is_typed(base):
            theirs.append(TypedCode(_hash_with_texts, read.hashes).hash(base))
        elif (file := _source_file(base)).is_relative_to(PACKAGE):
            own |= _SHARED | own_files([file])
        else:
            others.append((file, sys.modules.get(base.__module__)))
    theirs += read.hashes(others) if others else []
    return _together([*theirs, *(read_source(file, PACKAGE).code for file in own)])


def _hash_with_texts(tree: ast.Module) -> str:
    return _Writer(_bindings((), None), docstrings=True).hash(tree)


def own_files(
    modules: Iterable[Path],
    folders: Sequence[Path] = (PACKAGE,),
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
        files = frozenset().union(*(read_source(file, PACKAGE).files for file in new))
        new = {f for f in files - found - left_out if any(f.is_relative_to(p) for p in folders)}
    return found


def own_hash(files: Iterable[Path]) -> str:
    """Hash files of this package by their syntax trees, wherever they lie.

    Raises:
        ConfigError: a file is not valid Python.
    """
    return _together(read_source(file, PACKAGE).code for file in files)


def _together(hashes: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(hashes)).encode("ascii")).hexdigest()


def _source_file(thing: type | FunctionType) -> Path:
    try:
        name = inspect.getsourcefile(thing)
    except TypeError as error:
        raise OSError(f"no source file for {thing.__name__}: {error}") from error
    if name is None or not Path(name).is_file():
        raise OSError(f"no source file for {thing.__name__}")
    return Path(name)


_SILENT_FIELDS = frozenset(("ctx", "kind", "type_comment", "type_ignores"))
"""Fields of a tree that change nothing of what runs, or repeat what stands around them."""


_known: dict[tuple[bytes, Path | None], Source] = {}
"""Sources by content: reading a file takes a fraction of the time of parsing it."""


def read_source(file: Path, package: Path | None = None) -> Source:
    """Read a source file; each content is parsed once in a process.

    Args:
        file: the source file.
        package: the folder of the package that the file belongs to, where the places of that
            package's modules are not to count: its import statements are left out, and what they
            bind counts under the name that it has where it is defined. So is ``__all__``.

    Raises:
        ConfigError: it is not valid Python.
        OSError: it cannot be read.
    """
    content = file.read_bytes()
    key = hashlib.sha256(content).digest(), package
    if key not in _known:
        _known[key] = _source(_parsed(content, file), package)
    return _known[key]


def _parsed(content: bytes, file: Path) -> ast.Module:
    try:
        return ast.parse(content, str(file))
    except (SyntaxError, ValueError) as error:  # ValueError: null bytes, before Python 3.12
        raise ConfigError(
            f"{file}: not valid Python ({error}), so its code cannot be identified. If it was "
            "edited after it was imported, correct it and run again."
        ) from error


def _source(tree: ast.Module, package: Path | None) -> Source:
    imports = tuple(found for node in _statements(tree) for found in _bound(node))
    bindings = _bindings(imports, package)
    code = _Writer(bindings, docstrings=False).hash(tree)
    if bindings.file is not None:  # of the package, whose docstrings never count
        files = filter(None, map(bindings.file, imports))
        return Source(code, code, imports, frozenset(files), reads_documentation=False)
    documented = _Writer(bindings, docstrings=True).hash(tree)
    reads = plugin_sources.reads_documentation(tree, imports)
    return Source(code, documented, imports, frozenset(), reads)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements that may run, at any depth."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        inner: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            inner = node.orelse
        stack += (n for n in inner if isinstance(n, ast.stmt | ast.excepthandler | ast.match_case))
        yield node


def _bound(node: ast.AST) -> Iterator[Import]:
    """Yield the names that a node binds, if it is an import statement."""
    if isinstance(node, ast.Import):
        for found in node.names:
            yield Import(found.name, None, found.asname or found.name.partition(".")[0])
    elif isinstance(node, ast.ImportFrom):
        for found in node.names:
            alias = found.asname or found.name
            yield Import(node.module or "", found.name, alias, node.level)


def module_file(folder: Path, module: str) -> Path | None:
    """Find the file of a module, or of a package, that is named with dots; None if not there."""
    place = folder.joinpath(*module.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def imported_file(found: Import, package: Path) -> Path | None:
    """Find the file of a package that an import names; None if it names no part of it."""
    if found.level or found.module.partition(".")[0] != package.name:
        return None
    return _submodule(found, package) or module_file(package.parent, found.module)


def _submodule(found: Import, package: Path) -> Path | None:
    """Return the file of a module that is imported as such, in either way."""
    module = f"{found.module}.{found.name}" if found.name else found.module
    return module_file(package.parent, module)


@dataclass(frozen=True, slots=True)
class _Bindings:
    """Names bound by the import statements of a package's file.

    Attributes:
        file: finds the package's file that an import names, if any; None to bind nothing.
        modules: names of its modules; ``ranking.RULE`` counts as ``RULE`` does.
        names: other names -> what each is called where it is defined.
    """

    file: Callable[[Import], Path | None] | None
    modules: frozenset[str]
    names: Mapping[str, str]

    def leave_out(self, node: ast.AST) -> bool:
        """Tell whether a statement imports parts of the package, or only serves type checks."""
        if self.file is None:
            return False
        if isinstance(node, ast.If) and _is_type_checking(node.test) and not node.orelse:
            body = [inner for inner in node.body if not _is_text(inner)]
            return all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in body)
        if isinstance(node, ast.Assign):
            return any(getattr(target, "id", None) == "__all__" for target in node.targets)
        found = list(_bound(node))
        return bool(found) and all(map(self.file, found))


def _bindings(imports: tuple[Import, ...], package: Path | None) -> _Bindings:
    if package is None:
        return _Bindings(None, frozenset(), {})
    file = cache(partial(imported_file, package=package))
    own = [found for found in imports if file(found)]
    modules = {found.alias for found in own if _submodule(found, package)}
    names = {found.alias: found.name for found in own if found.name}
    return _Bindings(file, frozenset(modules), names)


def _is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))


def _is_text(node: ast.AST) -> bool:
    """Tell whether a statement is a text, such as a docstring."""
    value = getattr(node.value, "value", None) if isinstance(node, ast.Expr) else None
    return isinstance(value, str)


@dataclass(frozen=True, slots=True)
class _Writer:
    """A tree as text: equal for trees of equal meaning.

    Attributes:
        bindings: what is left out, or counts under another name.
        docstrings: whether texts that stand as statements count.
    """

    bindings: _Bindings
    docstrings: bool

    def hash(self, tree: ast.Module) -> str:
        """Hash a tree: SHA-256 in hexadecimal."""
        return hashlib.sha256("".join(self._words(tree)).encode("ascii")).hexdigest()

    def _words(self, tree: ast.Module) -> Iterator[str]:
        """Yield the text in parts; without recursion, as expressions may be nested deeply."""
        stack: list[str | ast.AST] = [tree]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                yield item
            else:
                stack += reversed(self._parts(self._as_defined(item)))

    def _parts(self, node: ast.AST) -> list[str | ast.AST]:
        """Return a node without its empty fields: texts, and the nodes between them."""
        parts: list[str | ast.AST] = []
        text = f"{type(node).__name__}("
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None or name in _SILENT_FIELDS:
                continue
            if isinstance(value, ast.AST):
                parts += (f"{text}{name}=", value)
                text = ""
            elif not isinstance(value, list):
                text += f"{name}={_constant(value)}"
            elif kept := [item for item in value if not self._is_silent(item)]:
                parts.append(f"{text}{name}=(")
                parts += [one if isinstance(one, ast.AST) else _constant(one) for one in kept]
                text = ")"
        parts.append(f"{text})")
        return parts

    def _as_defined(self, node: ast.AST) -> ast.AST:
        """Return the defining name of a name that was imported from the package."""
        if isinstance(node, ast.Name) and node.id in self.bindings.names:
            return ast.Name(self.bindings.names[node.id])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return ast.Name(node.attr) if node.value.id in self.bindings.modules else node
        return node

    def _is_silent(self, node: Any) -> bool:
        """Tell whether a statement does nothing, or nothing that counts."""
        if not isinstance(node, ast.stmt):
            return False
        if _is_text(node):
            return not self.docstrings
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Constant)  # such as ...
        return isinstance(node, ast.Pass) or self.bindings.leave_out(node)


def _constant(value: Any) -> str:
    return f"{type(value).__name__} {value!a},"
