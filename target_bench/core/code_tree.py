"""Hashes of source code by its syntax tree: wording, layout and positions do not count.

A hash is the same under every version of Python that reads the source: fields of the tree that are
empty or say nothing of what runs are left out, and constants are written in ASCII.
"""

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError

_SILENT_FIELDS = frozenset(("ctx", "kind", "type_comment", "type_ignores"))
"""Fields of a tree that change nothing of what runs, or repeat what stands around them."""

_DOCUMENTATION = frozenset(("__doc__", "getdoc", "getsource", "getsourcelines", "getcomments"))

_NO_READERS_OF_DOCSTRINGS = frozenset(
    (
        *("bm25s", "duckdb", "faiss", "hnswlib", "httpx", "joblib", "model2vec", "networkx"),
        *("nltk", "numba", "numpy", "openai", "orjson", "pandas", "polars", "pyarrow", "pytest"),
        *("qdrant_client", "rank_bm25", "rapidfuzz", "regex", "requests", "scipy"),
        *("sentence_transformers", "sklearn", "sqlglot", "Stemmer", "target_bench"),
        *("target_benchmark", "torch", "tqdm", "yaml"),
    )
)
"""Packages that make nothing of docstrings; others may send them to a model, as pydantic does."""


@dataclass(frozen=True, slots=True)
class Import:
    """A name that an import statement binds.

    Attributes:
        module: the module that is named, with dots; empty in ``from . import name``.
        name: what is taken from it; None if the module itself is imported.
        alias: the name that is bound.
        level: the number of dots before the module; 0 if it is named in full.
    """

    module: str
    name: str | None
    alias: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """The significant parts of a source file.

    Attributes:
        code: the hash of its tree without docstrings, in hexadecimal.
        documented: the hash of its tree with docstrings; of a package that was named, without.
        imports: all names that it imports when it runs, inside of functions too.
        files: the files of the package that it imports, if a package was named.
        reads_documentation: whether a docstring may change what its code does: it reads some, or
            imports a package that may.
    """

    code: str
    documented: str
    imports: tuple[Import, ...]
    files: frozenset[Path]
    reads_documentation: bool


_known: dict[tuple[bytes, Path | None], Source] = {}
"""Sources by content: reading a file takes a fraction of the time of parsing it."""


def read(file: Path, package: Path | None = None) -> Source:
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
    if package is not None:  # whose docstrings never count
        files = filter(None, (imported_file(found, package) for found in imports))
        return Source(code, code, imports, frozenset(files), reads_documentation=False)
    documented = _Writer(bindings, docstrings=True).hash(tree)
    return Source(code, documented, imports, frozenset(), _reads_documentation(tree, imports))


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


def _reads_documentation(tree: ast.Module, imports: tuple[Import, ...]) -> bool:
    roots = {found.module.partition(".")[0] for found in imports if not found.level}
    if not roots <= sys.stdlib_module_names | _NO_READERS_OF_DOCSTRINGS:
        return True
    words = (getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(tree))
    return any(word in _DOCUMENTATION for word in words)


def module_file(folder: Path, module: str) -> Path | None:
    """Find the file of a module.

    Args:
        folder: where modules are looked for.
        module: its name, with dots.

    Returns:
        The file of the module, or of its package; None if there is none in the folder.
    """
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
        package: the folder of the package; None to bind nothing.
        modules: names of its modules; ``ranking.RULE`` counts as ``RULE`` does.
        names: other names -> what each is called where it is defined.
    """

    package: Path | None
    modules: frozenset[str]
    names: Mapping[str, str]

    def leave_out(self, node: ast.AST) -> bool:
        """Tell whether a statement imports parts of the package, or only serves type checks."""
        if self.package is None:
            return False
        if isinstance(node, ast.If) and _is_type_checking(node.test) and not node.orelse:
            body = [inner for inner in node.body if not _is_text(inner)]
            return all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in body)
        if isinstance(node, ast.Assign):
            return any(getattr(target, "id", None) == "__all__" for target in node.targets)
        found = list(_bound(node))
        return bool(found) and all(imported_file(one, self.package) for one in found)


def _bindings(imports: tuple[Import, ...], package: Path | None) -> _Bindings:
    if package is None:
        return _Bindings(None, frozenset(), {})
    own = [found for found in imports if imported_file(found, package)]
    modules = {found.alias for found in own if _submodule(found, package)}
    names = {found.alias: found.name for found in own if found.name}
    return _Bindings(package, frozenset(modules), names)


def _is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))


def _is_text(node: ast.AST) -> bool:
    """Tell whether a statement is a text, such as a docstring."""
    value = getattr(node.value, "value", None) if isinstance(node, ast.Expr) else None
    return isinstance(value, str)


class _Mark(str):
    """A part of the text that is not a constant of the tree."""

    __slots__ = ()


_END = _Mark(")")


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
        stack: list[Any] = [tree]
        while stack:
            item = stack.pop()
            if isinstance(item, _Mark):
                yield item
            elif isinstance(item, ast.AST):
                item = self._as_defined(item)
                yield f"{type(item).__name__}("
                stack += reversed((*self._fields(item), _END))
            elif isinstance(item, list):
                yield "("
                stack += reversed((*item, _END))
            else:
                yield f"{type(item).__name__} {item!a},"

    def _fields(self, node: ast.AST) -> Iterator[Any]:
        """Yield name and value of every field that is not empty."""
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                value = [item for item in value if not self._is_silent(item)] or None
            if value is not None and name not in _SILENT_FIELDS:
                yield _Mark(f"{name}=")
                yield value

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
