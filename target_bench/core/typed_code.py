"""Code typed into a notebook or an interpreter: its source, and a hash of it and what it uses.

Such code has no file. IPython, and Python from 3.13 on, keep the source of each cell in
``linecache``. Other cells may define what a class uses, so the hash covers the functions, classes
and constants that it names, wherever they were typed, and the files of modules that are not
installed packages.
"""

import __future__

import ast
import dis
import hashlib
import inspect
import json
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

_INSTALLED = {"site-packages", "dist-packages"}
_PACKAGE = Path(__file__).parents[1]
_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
_SCALARS = (str, bytes, bool, int, float, complex, type(None), Path, re.Pattern)

Typed = type | FunctionType


def is_typed(thing: Typed) -> bool:
    """Return whether a class or function was typed in."""
    return _cell(thing) is not None


@dataclass(frozen=True, slots=True)
class TypedCode:
    """Hashes code that was typed in.

    Attributes:
        hash_files: (module, its file) -> hashes of the file and of the local ones it imports.
    """

    hash_files: Callable[[str, Path], Sequence[str]]
    _found: dict[str, Any] = field(default_factory=dict)

    def hash(self, thing: Typed) -> str:
        """Hash a class or function and what it uses: SHA-256 in hexadecimal.

        Raises:
            OSError: it stands inside of a function, or uses a variable whose value is unknown.
        """
        self._add_code(thing)
        text = json.dumps(self._found, sort_keys=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def _add_code(self, thing: Typed) -> None:
        name = thing.__qualname__.partition(".")[0]
        if f"code {name}" in self._found:
            return
        statement, source = _statement(thing)
        tree = ast.Module([statement], type_ignores=[])
        self._found[f"code {name}"] = source
        code = compile(tree, "<cell>", "exec", __future__.annotations.compiler_flag)
        functions = list(_functions(thing))
        names = functions[0].__globals__
        for used in sorted(set(_loaded(code)) & names.keys()):
            self._add(used, names[used])
        for module, file in _imported(tree):
            self._add_module(module, file)
        for function in functions:  # one of them may have been set later, in another cell
            if is_typed(function) and _cell(function) != _cell(thing):
                self._add_code(function)

    def _add(self, name: str, value: Any) -> None:
        if isinstance(value, FunctionType | type) and is_typed(value):
            self._add_code(value)
            return
        module = _home(value)
        if module is None:
            self._found[f"value {name}"] = _constant(name, value)
            return
        file = getattr(module, "__file__", None)
        self._add_module(module.__name__, None if file is None else Path(file))

    def _add_module(self, module: str, file: Path | None) -> None:
        if _is_installed(module, file or Path()):
            return
        if file is None:
            raise OSError(f"it uses {module}, which has no file")
        if file.suffix == ".py":
            self._found[f"module {module}"] = list(self.hash_files(module, file))


def _functions(thing: Typed) -> Iterator[FunctionType]:
    """Yield a function, or the functions of a class."""
    for value in [thing] if isinstance(thing, FunctionType) else vars(thing).values():
        found = getattr(value, "fget", None) or getattr(value, "__func__", value)
        found = inspect.unwrap(found) if callable(found) else found
        if isinstance(found, FunctionType):
            yield found


def _cell(thing: Typed) -> str | None:
    """Return the name under which ``linecache`` may have the source; None for a file's code."""
    if thing.__module__ != "__main__":
        return None
    own = [f for f in _functions(thing) if f.__qualname__.startswith(thing.__qualname__)]
    names = {function.__code__.co_filename for function in own} - {"<string>"}  # as of dataclasses
    if not names or any(Path(name).is_file() for name in names):
        return None
    return max(names, key=lambda name: bool(linecache.getlines(name)))


def _statement(thing: Typed) -> tuple[ast.stmt, str]:
    """Return the statement of the cell that defines a class or function, and its source."""
    name = thing.__qualname__.partition(".")[0]
    source = "".join(linecache.getlines(_cell(thing) or ""))
    if not source:
        raise OSError(f"the source of {name}, which was typed in, is not known")
    body = ast.parse(source).body
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    found = [one for one in body if isinstance(one, kinds) and one.name == name]
    if not found or "<locals>" in thing.__qualname__:
        raise OSError(f"{thing.__qualname__} is not defined at the top level of its cell")
    statement = found[-1]
    first = min([statement.lineno, *(one.lineno for one in statement.decorator_list)])
    return statement, "".join(source.splitlines(keepends=True)[first - 1 : statement.end_lineno])


def _is_installed(module: str, file: Path) -> bool:
    """Return whether a module belongs to Python, to this package or to an installed package."""
    standard = module.partition(".")[0] in sys.stdlib_module_names
    return standard or file.is_relative_to(_PACKAGE) or bool(_INSTALLED & set(file.parts))


def _loaded(code: CodeType) -> Iterator[str]:
    """Yield the global names that code reads, at any depth."""
    for step in dis.get_instructions(code):
        if step.opname in _GLOBALS:
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _loaded(constant)


def _imported(tree: ast.Module) -> Iterator[tuple[str, Path | None]]:
    """Yield name and file of each module that is imported, as inside of a method."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    for name in sorted(names):
        try:
            spec = find_spec(name)
        except (ImportError, ValueError, AttributeError):
            continue  # a function of a module, or a module that is not there
        if spec is not None:
            yield name, Path(spec.origin) if spec.has_location and spec.origin else None


def _home(value: Any) -> ModuleType | None:
    """Return the module that a value is, or is defined in by its name; None for other values."""
    if isinstance(value, ModuleType):
        return value
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        return module
    named = getattr(value, "__name__", None)
    found = isinstance(named, str) and getattr(module, named, None) is value
    return module if found else None


def _constant(name: str, value: Any) -> Any:
    """Return a value as JSON that is equal for equal values only.

    Raises:
        OSError: it is neither a constant nor a collection of constants.
    """
    kind = type(value).__name__
    if isinstance(value, re.Pattern):
        return [kind, repr(value.pattern), value.flags]
    if isinstance(value, _SCALARS):
        return [kind, ascii(value)]
    if isinstance(value, dict):
        pairs = [[_constant(name, key), _constant(name, one)] for key, one in value.items()]
        return [kind, *pairs]
    if isinstance(value, list | tuple):
        return [kind, *(_constant(name, one) for one in value)]
    if isinstance(value, set | frozenset):
        return [kind, *sorted((_constant(name, one) for one in value), key=json.dumps)]
    raise OSError(
        f"it uses the variable {name!r}, a {kind}, which is not identified; make it an argument of "
        "the constructor"
    )
