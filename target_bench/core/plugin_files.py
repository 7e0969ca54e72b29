"""Import of a plug-in that is named by its file: ``path/file.py:Class``.

The file may import the modules and packages beside it, as a script may. Each file is a module of a
name of its own, so that files of one name in two folders are two modules; ``sys.path`` is not
changed.
"""

import builtins
import hashlib
import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from target_bench.core.errors import PASSED_ON, ConfigError
from target_bench.core.user_code import describe_with_line

FILE_MODULE = "_target_bench_plugin_"
"""How the name of a module begins that is a plug-in named by its file, or lies beside one."""

_places: dict[str, Path] = {}
"""Name of such a module, not of one within a package -> its file, or the folder of its package."""


def import_file(path: Path, target: str) -> ModuleType:
    """Import a file as a module; ``target`` is what an error message quotes.

    It and the modules beside it are executed again once one of them has changed.
    """
    if not path.is_file():
        raise ConfigError(f"{target!r}: there is no file {path}")
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    places = {name: _places.get(name.partition(".")[0], Path()) for name in sys.modules}
    loaded = [name for name, place in places.items() if place.parent == path.parent]
    changed = any(_has_changed(name) for name in loaded)
    old = {name: sys.modules.pop(name) for name in loaded} if changed else {}
    try:
        return importlib.import_module(_name(path))
    except PASSED_ON:
        raise
    except BaseException as error:
        problem = f"{path} raised {describe_with_line(error)}"
        raise ConfigError(f"{target!r}: {problem}") from error
    finally:
        for name, module in old.items():  # objects of theirs are still about
            loader = module.__loader__
            if sys.modules.setdefault(name, module) is module and isinstance(loader, _Loader):
                loader.content = None


def _name(place: Path) -> str:
    """Return the name of a module, and note its place."""
    digest = hashlib.sha256(str(place).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    name = FILE_MODULE + re.sub(r"\W", "_", place.stem) + f"_{digest}"
    _places[name] = place
    return name


def _has_changed(name: str) -> bool:
    """Return whether the file of a module is another than the one that was executed."""
    loader = getattr(sys.modules[name], "__loader__", None)
    try:
        return isinstance(loader, _Loader) and loader.get_data(loader.path) != loader.content
    except OSError:
        return True


class _Loader(SourceFileLoader):
    """Executes a file, whose import statements find what lies beside the plug-in."""

    content: bytes | None = None  # of a module that is to be executed again

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 (the argument of importlib)
        # No compiled file is read or left: it would be taken for one that is edited in a second.
        self.content = self.get_data(self.path)
        return self.source_to_code(self.content, self.path)

    def exec_module(self, module: ModuleType) -> None:
        place = _places[module.__name__.partition(".")[0]]
        own = {**vars(builtins), "__import__": partial(_import, place)}
        vars(module)["__builtins__"] = own
        super().exec_module(module)


class _Finder:
    """Finds these modules, and those within packages that lie beside a plug-in."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        place = _places.get(name.partition(".")[0])
        if place is None:
            return None
        if path is not None:
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and isinstance(spec.loader, SourceFileLoader):
                spec.loader = _Loader(name, spec.loader.path)
            return spec
        file = place / "__init__.py" if place.is_dir() else place
        if file.is_file():
            return spec_from_file_location(name, file, loader=_Loader(name, str(file)))
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec


def _import(
    place: Path,
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Import as a statement in a file at this place does; arguments of ``__import__``."""
    root, dot, rest = name.partition(".")
    beside = None if level else _beside(place, root)
    if beside is None:
        return builtins.__import__(name, globals, locals, fromlist, level)
    own = _name(beside)
    importlib.import_module(own)
    return builtins.__import__(own + dot + rest, globals, locals, fromlist, 0)


def _beside(place: Path, root: str) -> Path | None:
    """Find a module or package beside a place; a file that has the name of a library can use it."""
    package, file = place.with_name(root), place.with_name(f"{root}.py")
    if root in sys.stdlib_module_names or file == place:
        return None
    if (package / "__init__.py").is_file():
        return package
    if file.is_file():
        return file
    return package if package.is_dir() and find_spec(root) is None else None
